/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EXPOSURE_H
#define EXPOSURE_H

/*
 * What an engine's peers may reach: the exposure policy of its profile, for the device that it has
 * (RFC 8166 section 8.1).
 *
 * window  regions have no key of their own; each call binds windows over what it names, for its one
 *         connection, and they are invalid again before it ends. The engine's windows are a stack,
 *         taken when the first connection is made: an engine that only responds needs none.
 * pool    regions that are not private have keys, which every connection of the engine may use
 *         while the region is registered; or, with 'protection = connection', keys of each
 *         connection that makes calls, for that one.
 */

#include "engine.h"

#define ENGINE_WINDOWS_MIN 64u /* no call needs more */

/* Of what policy 'auto' is on this device; says what it means where that is less than one would
 * think. Before anything is registered. 0; -EINVAL: it does not go with shared receives, logged; or
 * another -errno of the device's. */
int engine_exposure_choose(struct weir_engine *engine);

/* Before a connection that is to make calls: as many as the profile says, or as can be had. 0;
 * -EOPNOTSUPP: the device has none; -ENOMEM, -ENOSPC: not even the fewest that serve. Logged. */
int engine_windows_create(struct weir_engine *engine);
void engine_windows_destroy(struct weir_engine *engine);

/* Owner's thread; one that is not bound. There must be one. */
static inline struct fabric_mw *engine_window_get(struct weir_engine *engine)
{
	return engine->windows_free[--engine->nwindows_free];
}

/* Not bound any more, or its queue pair is gone. */
static inline void engine_window_put(struct weir_engine *engine, struct fabric_mw *mw)
{
	engine->windows_free[engine->nwindows_free++] = mw;
}

#endif
