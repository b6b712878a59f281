/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APART_H
#define APART_H

/*
 * Runs the server of a pair in another thread or process than the test, so that each side polls
 * only its own engine. The counts of the server's side in 'struct pair' are not visible to the
 * test, and the server answers requests as they arrive.
 */

#include "pair.h"

/*
 * Starts the thread or process that runs the server. 'word' is "threads" or "processes". Returns
 * false for any other word. A test program must call this function before it creates threads,
 * because a process with threads must not fork.
 */
bool apart_begin(const char *word);
bool apart_is_on(void);
/*
 * Starts the pair's server, with the profile and address of 'pair'. When this function returns, the
 * server listens.
 */
void apart_server_start(const struct pair *pair);
void apart_server_stop(void);
/* Ends the thread or process of the server. Returns true if the server ended without an error. */
bool apart_end(void);

#endif
