/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIXTURE_H
#define FIXTURE_H

/*
 * The fixture of most test programs: a server, and a client that is connected to it. A program
 * includes this file once, because the variables are static.
 */

#include "client.h"

static struct client *c;
static struct nfs3_fh root; /* the root of the first export */

/* Starts a server and connects to it. client_start() describes 'args'. */
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

/* A setup for tests that start the server themselves. */
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
