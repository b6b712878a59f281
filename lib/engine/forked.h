/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FORKED_H
#define FORKED_H

/*
 * Engines in a child after fork(2).
 *
 * A child has a copy of the engine's own memory, but the rings, the sockets and the device's
 * contexts are shared with the parent. The child must not touch them: one store to a ring would
 * corrupt the parent's connections. Therefore each engine has its own copy of the table of driver
 * operations (engine->driver). In the child, a handler of pthread_atfork(3) overwrites each copy
 * with operations that do nothing, before fork() returns. This costs nothing on the data path. It
 * works at any point of the engine's code at which the process forks, also inside a callback.
 *
 * When the process forks, other threads of the parent might be changing data. Therefore the handler
 * follows no list and takes no lock.
 */

#include "compiler.h"
#include "engine.h"

/* engine_fork_watch() makes the engine known to the handler. engine->slot must be set. It returns
 * 0, or -ENOMEM if the handler could not be installed. engine_fork_forget() makes the engine
 * unknown to the handler. */
int engine_fork_watch(struct weir_engine *engine);
void engine_fork_forget(struct weir_engine *engine);

/* Returns whether this process is a child of the one that created the engine. */
static inline bool engine_is_forked(const struct weir_engine *engine)
{
	return unlikely(engine->is_forked);
}

/* Refuses an operation in a child: sets errno to ECHILD, logs the cause once per process, and
 * returns -ECHILD. */
int engine_fork_refuse(void);

/* Returns whether the engine refuses an operation because this process is a child, after
 * engine_fork_refuse(). */
static inline bool engine_fork_refuses(const struct weir_engine *engine)
{
	return engine_is_forked(engine) && engine_fork_refuse() != 0;
}

#endif
