/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that the owner of an engine calls the library. owner.h describes this. */
#include "owner.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <unistd.h>

#include "compiler.h"
#include "forked.h"
#include "log.h"

#define LINES_MAX 10u /* log lines about wrong threads, per process */

/* Returns whether a thread with this ID still runs in this process. */
static bool is_running(pid_t thread)
{
	return tgkill(getpid(), thread, 0) == 0;
}

void engine_own(struct weir_engine *engine)
{
	pid_t owner = atomic_load(&engine->owner);

	if (owner == 0 || (owner != gettid() && !is_running(owner)))
		atomic_store(&engine->owner, gettid());
}

static cold_code void log_wrong_thread(const char *function, pid_t owner)
{
	static _Atomic uint32_t nlines;

	if (atomic_fetch_add(&nlines, 1) < LINES_MAX)
		LOG(ENGINE, ERROR,
		    "%s() was called on thread %d, but thread %d owns the engine: call it there, "
		    "for instance in a function that weir_engine_post() runs",
		    function, (int)gettid(), (int)owner);
}

bool engine_is_called_wrongly(const struct weir_engine *engine, const char *function)
{
	pid_t owner;

	/* In a child of fork(2), all threads have other IDs, and forked.h applies. */
	if (!engine || engine_is_forked(engine))
		return false;
	owner = atomic_load(&engine->owner);
	if (owner == 0 || owner == gettid() || !is_running(owner))
		return false;
	log_wrong_thread(function, owner);
	errno = EPERM;
	return true;
}

void weir_engine_disown(struct weir_engine *engine)
{
	if (!OTHER_THREAD(engine))
		atomic_store(&engine->owner, 0);
}
