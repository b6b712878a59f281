/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OWNER_H
#define OWNER_H

/*
 * The owner of an engine is the thread that first polled it. A build with -Dthread_checks=enabled
 * (default in builds of type 'debug') checks at each entry point of the library that the owner
 * calls. Other builds have no such code.
 *
 * The ownership ends with the thread, so that another thread can destroy the engine after it has
 * joined the owner. weir_engine_disown() ends it earlier.
 */

#include <stdbool.h>

#include "engine.h"

/* Makes the calling thread the owner, if there is none. */
void engine_own(struct weir_engine *engine);

/* Returns whether a thread other than the owner calls 'function'. If so, logs this and sets errno
 * to EPERM. 'engine' can be NULL: a request whose engine was destroyed belongs to no thread. */
bool engine_is_called_wrongly(const struct weir_engine *engine, const char *function);

/* The same for a thread other than the one for which engine_owner_self() returned 'creator', while
 * that thread exists. engine_owner_self() returns the calling thread; NULL: there is no memory, and
 * each thread is allowed. */
const struct engine_owner *engine_owner_self(void);
bool engine_creator_is_other(const struct engine_owner *creator, const char *function);

#ifdef WEIR_THREAD_CHECKS
#define OWN(engine)	     engine_own(engine)
#define OTHER_THREAD(engine) engine_is_called_wrongly(engine, __func__)
#define CREATOR()	     engine_owner_self()
#define OTHER_CREATOR(of)    engine_creator_is_other((of)->creator, __func__)
#else
#define OWN(engine)	     ((void)0)
#define OTHER_THREAD(engine) false
#define CREATOR()	     NULL
#define OTHER_CREATOR(of)    false
#endif

#endif
