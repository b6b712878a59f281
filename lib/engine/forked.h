/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FORKED_H
#define FORKED_H

/*
 * Engines in a child after fork(2).
 *
 * A child has a copy of the engine's own memory, but the rings, the sockets and the device's
 * contexts are the parent's as well. The child must not touch them: one store to a ring would
 * corrupt the parent's connections. So each engine has a table of driver operations of its own
 * (engine->driver). In the child, a handler of pthread_atfork(3) replaces each table by one whose
 * operations do nothing, before fork() returns there. This costs nothing on the data path, and it
 * holds wherever the engine was when the process forked, also inside a callback.
 *
 * The handler may run while other threads of the parent were in the midst of a change. It follows
 * no list and takes no lock.
 */

#include "compiler.h"
#include "engine.h"

/* Have the handler see the engine. engine->slot is set. 0 or -ENOMEM. */
int engine_fork_watch(struct weir_engine *engine);
void engine_fork_forget(struct weir_engine *engine);

/* Whether this process is a child of the one that made the engine. */
static inline bool engine_is_forked(const struct weir_engine *engine)
{
	return unlikely(engine->is_forked);
}

/* Set errno to ECHILD, and log the cause, the first time in the process. Returns -ECHILD. */
int engine_fork_refuse(void);

#endif
