/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EXPOSURE_H
#define EXPOSURE_H

/*
 * The exposure policy of an engine's device: which memory peers can access, and when (RFC 8166
 * section 8.1). The profile's key 'policy' chooses it: 'window', 'pool', or 'auto'.
 *
 * window: Regions have no remote key. Each call binds memory windows over the memory that it names,
 * for its connection only. The windows are invalidated before the call ends. The engine's windows
 * are a stack. They are allocated when the first connection is made, because an engine that is only
 * a responder needs none.
 *
 * pool: Regions that are not private have remote keys. The peer of every connection of the engine
 * can use these keys while the region is registered. With 'protection = connection', each
 * connection that makes calls has keys of its own, which are valid on this connection only.
 */

#include "engine.h"

#define ENGINE_WINDOWS_MIN 64u /* no call needs more windows than this */

/* Returns the policy of the profile. For 'auto', returns 'window' if the device revokes access when
 * a key is invalidated, because only then a window protects memory after its call. Otherwise
 * returns 'pool'. */
static inline enum weir_exposure exposure_policy(const struct weir_profile *profile,
						 const struct fabric_dev_attr *attr)
{
	if (profile->exposure != WEIR_EXPOSURE_AUTO)
		return profile->exposure;
	return attr->revokes_access ? WEIR_EXPOSURE_WINDOW : WEIR_EXPOSURE_POOL;
}

/* Sets the exposure policy of the engine, which it chooses if the profile has 'auto', and the
 * protection domains. If the policy protects less than a user might expect, the consequences are
 * logged. The caller must call this function before anything is registered. Returns
 *
 *    0         on success,
 *   -EINVAL    if the protection does not go with shared receives; this is logged,
 *   -errno     of the device in other cases. */
int engine_exposure_choose(struct weir_engine *engine);

/* Allocates memory windows, before the first connection that makes calls. It allocates as many as
 * the profile says, or fewer if the device has no more. Each error is logged. Returns
 *
 *    0           on success,
 *   -EOPNOTSUPP  if the device has no memory windows,
 *   -errno       such as -ENOMEM or -ENOSPC, if fewer than ENGINE_WINDOWS_MIN are available. */
int engine_windows_create(struct weir_engine *engine);
void engine_windows_destroy(struct weir_engine *engine);

/* Takes a window that is not bound from the stack and returns it. The caller ensures that
 * nwindows_free is not 0, and runs on the engine's thread. */
static inline struct fabric_mw *engine_window_get(struct weir_engine *engine)
{
	return engine->windows_free[--engine->nwindows_free];
}

/* Puts a window back on the stack. The window must not be bound any more, or its queue pair must be
 * destroyed. */
static inline void engine_window_put(struct weir_engine *engine, struct fabric_mw *mw)
{
	engine->windows_free[engine->nwindows_free++] = mw;
}

#endif
