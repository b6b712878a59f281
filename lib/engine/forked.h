/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FORKED_H
#define FORKED_H

/*
 * Engines in a child after fork(2).
 *
 * A child has a copy of the engine's own memory, but the rings, the sockets and the device's
 * contexts are shared with the parent. The child must not touch them: one store to a ring would
 * corrupt the parent's connections. So each engine has its own table of driver operations
 * (engine->driver). In the child, a handler of pthread_atfork(3) replaces each table by one whose
 * operations do nothing, before fork() returns. This costs nothing on the data path. It works at
 * any point of the engine's code at which the process forks, also inside a callback.
 *
 * The handler may run while other threads of the parent were changing data. So it follows no list
 * and takes no lock.
 */

#include "compiler.h"
#include "engine.h"

/* Makes the engine known to the handler. engine->slot must be set. Returns 0 or -ENOMEM. */
int engine_fork_watch(struct weir_engine *engine);
void engine_fork_forget(struct weir_engine *engine);

/* Returns whether this process is a child of the one that created the engine. */
static inline bool engine_is_forked(const struct weir_engine *engine)
{
	return unlikely(engine->is_forked);
}

/* Sets errno to ECHILD, and logs the cause once per process. Returns -ECHILD. */
int engine_fork_refuse(void);

#endif
