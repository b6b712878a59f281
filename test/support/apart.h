/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APART_H
#define APART_H

/*
 * A pair whose server runs in another thread or process than the test. Each side polls its own
 * engine. The test does not see what the server's side of 'struct pair' counts, and requests are
 * answered as they arrive.
 */

#include "pair.h"

/* Runs the server apart. 'word' is "threads" or "processes". Returns false for any other word. Call
 * this function first, so that a process starts without other threads. */
bool apart_begin(const char *word);
bool apart_is_on(void);
/* Starts the pair's server with the profile and at the address of 'pair'. The server listens when
 * this function returns. */
void apart_server_start(const struct pair *pair);
void apart_server_stop(void);
/* Ends the thread or process. Returns whether the other side ended without an error. */
bool apart_end(void);

#endif
