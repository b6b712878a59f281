/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the exposure policy and the protection domains of an engine, and allocates its memory
 * windows. exposure.h describes the policies.
 */
#include "exposure.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "alloc.h"
#include "log.h"

/* Warns, once per process, that the profile's policy 'pool' exposes all regions. */
static void log_pool(const struct weir_engine *engine)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (atomic_flag_test_and_set(&said))
		return;
	LOG(ENGINE, WARNING,
	    "exposure policy 'pool', as the profile asks: each connected peer of driver %s can "
	    "read and write all regions that are not private, at any time. Use this policy only if "
	    "all peers are trusted",
	    engine->ops->name);
}

/* Logs, once per process, that the policy 'auto' became 'pool', because the device cannot revoke
 * access. */
static void log_auto(const struct weir_engine *engine)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (atomic_flag_test_and_set(&said))
		return;
	LOG(ENGINE, NOTICE,
	    "driver %s can't take memory back from a peer that has mapped it: exposure policy "
	    "'pool'. Connect only to processes that may read and change this process's data. With "
	    "policy = window, a key is valid for one call only",
	    engine->ops->name);
}

/* Makes each connection a protection domain, if the profile wants this and the policy is 'pool'.
 * With memory windows this is not necessary, because each key is already valid on one connection
 * only. Returns 0, or -errno after a log line. */
static int domains_choose(struct weir_engine *engine)
{
	int rc;

	if (engine->profile.protection != WEIR_PROTECTION_CONNECTION || engine->uses_windows)
		return 0;
	if (engine->profile.shared_receives == WEIR_SHARED_RECEIVES_ON) {
		LOG(ENGINE, ERROR,
		    "a shared receive queue belongs to one protection domain: with "
		    "shared_receives = on, set either 'protection = shared' or 'policy = "
		    "window' in the profile's [exposure]");
		return -EINVAL;
	}
	rc = engine->ops->own_domains(engine->dev);
	if (rc != 0)
		LOG(ENGINE, ERROR, "driver %s: no protection domain for each connection (%s)",
		    engine->ops->name, strerror(-rc));
	engine->own_domains = rc == 0;
	return rc;
}

int engine_exposure_choose(struct weir_engine *engine)
{
	enum weir_exposure policy = exposure_policy(&engine->profile, &engine->dev->attr);

	engine->uses_windows = policy == WEIR_EXPOSURE_WINDOW;
	engine->revokes_access = engine->uses_windows && engine->dev->attr.revokes_access;
	if (engine->profile.exposure == WEIR_EXPOSURE_POOL)
		log_pool(engine);
	else if (!engine->uses_windows)
		log_auto(engine);
	return domains_choose(engine);
}

/* Allocates the memory windows that the profile wants. Returns 0, -ENOMEM, or -errno of the device
 * if it has no more. engine->nwindows is then the number of those that were allocated. */
static int take(struct weir_engine *engine)
{
	uint32_t wanted = engine->profile.windows;

	engine->windows = mem_zalloc(wanted * sizeof(engine->windows[0]));
	engine->windows_free = mem_zalloc(wanted * sizeof(engine->windows_free[0]));
	if (!engine->windows || !engine->windows_free)
		return -ENOMEM;
	while (engine->nwindows < wanted) {
		int rc = engine->ops->mw_alloc(engine->dev, &engine->windows[engine->nwindows]);

		if (rc != 0)
			return rc;
		engine_window_put(engine, &engine->windows[engine->nwindows++]);
	}
	return 0;
}

int engine_windows_create(struct weir_engine *engine)
{
	int rc;

	if (!engine->uses_windows || engine->windows)
		return 0;
	if (!engine->dev->attr.has_mw) {
		LOG(ENGINE, ERROR,
		    "driver %s: this device has no memory windows, so calls can't expose memory "
		    "only until they end. With 'policy = pool' in the profile's [exposure], memory "
		    "is exposed to all peers for as long as it is registered",
		    engine->ops->name);
		return -EOPNOTSUPP;
	}
	rc = take(engine);
	if (rc == 0)
		return 0;
	LOG(ENGINE, NOTICE,
	    "driver %s: %u memory windows rather than %u (%s): see windows in the profile's "
	    "[exposure]",
	    engine->ops->name, engine->nwindows, engine->profile.windows, strerror(-rc));
	if (engine->nwindows >= ENGINE_WINDOWS_MIN)
		return 0;
	engine_windows_destroy(engine);
	return rc;
}

void engine_windows_destroy(struct weir_engine *engine)
{
	while (engine->nwindows > 0)
		engine->ops->mw_free(engine->dev, &engine->windows[--engine->nwindows]);
	engine->nwindows_free = 0;
	mem_free(engine->windows);
	mem_free(engine->windows_free);
	engine->windows = NULL;
	engine->windows_free = NULL;
}
