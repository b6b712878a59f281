/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIXTURE_H
#define FIXTURE_H

/* The start of most test programs: a server, and a client that is connected to it. Each program
 * includes this file once, because its variables are static. */

#include "client.h"

static struct client *c;
static struct nfs3_fh root; /* of the first export */

/* Starts a server and connects to it. 'args' has the form of client_start(). */
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

/* The test itself starts the server. */
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
