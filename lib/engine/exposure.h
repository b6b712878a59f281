/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EXPOSURE_H
#define EXPOSURE_H

/*
 * The exposure policy of an engine's device: the memory that peers may access (RFC 8166 section
 * 8.1). The profile chooses it.
 *
 * window: Regions have no remote key. Each call binds memory windows over the memory that it names,
 * for its connection only. The windows are invalidated before the call ends. The engine's windows
 * are a stack. They are allocated when the first connection is made, because an engine that is only
 * a responder needs none.
 *
 * pool: Regions that are not private have remote keys. Every connection of the engine may use these
 * keys while the region is registered. With 'protection = connection', each connection that makes
 * calls has keys of its own, which are valid only there.
 */

#include "engine.h"

#define ENGINE_WINDOWS_MIN 64u /* no call needs more */

/* Returns the policy of the profile. For 'auto', the device decides: a call can have windows of its
 * own only if the device revokes access. */
static inline enum weir_exposure exposure_policy(const struct weir_profile *profile,
						 const struct fabric_dev_attr *attr)
{
	if (profile->exposure != WEIR_EXPOSURE_AUTO)
		return profile->exposure;
	return attr->revokes_access ? WEIR_EXPOSURE_WINDOW : WEIR_EXPOSURE_POOL;
}

/* Chooses the exposure policy, if the profile has 'auto', and the protection domains. Logs what the
 * policy means if it protects less than a user might expect. It is called before anything is
 * registered. Returns
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

/* Takes a window that is not bound. nwindows_free must not be 0. Owner's thread. */
static inline struct fabric_mw *engine_window_get(struct weir_engine *engine)
{
	return engine->windows_free[--engine->nwindows_free];
}

/* Returns a window that is not bound any more, or whose queue pair was destroyed. */
static inline void engine_window_put(struct weir_engine *engine, struct fabric_mw *mw)
{
	engine->windows_free[engine->nwindows_free++] = mw;
}

#endif
