/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APART_H
#define APART_H

/*
 * A pair whose server is in another thread or process than the test: each polls its own engine.
 * What the server's side of 'struct pair' says is not seen by the test then, and the requests are
 * answered as they come.
 */

#include "pair.h"

/* "threads" or "processes"; false: no such word. Before anything else, so that a process begins
 * without threads. */
bool apart_begin(const char *word);
bool apart_is_on(void);
/* The pair's server, by its profile and address; it listens when this is back. */
void apart_server_start(const struct pair *pair);
void apart_server_stop(void);
/* The thread or process ends. Whether it had nothing to complain of. */
bool apart_end(void);

#endif
