/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIXTURE_H
#define FIXTURE_H

/* What most test programs start from: a server, and a client that is connected to it. Each has its
 * own, so included once. */

#include "client.h"

static struct client *c;
static struct nfs3_fh root; /* of the first export */

/* 'args' as client_start() has them. */
static inline void start(const char *const *args)
{
	static struct client client;

	c = &client;
	client_start(c, args);
	root = c->roots[0];
}

static inline int setup(void **state)
{
	(void)state;
	start(NULL);
	return 0;
}

/* The test starts it. */
static inline int setup_none(void **state)
{
	(void)state;
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	client_stop(c);
	return 0;
}

#endif
