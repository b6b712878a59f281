/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that the owner of an engine calls the library. owner.h describes this. */
#include "owner.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "compiler.h"
#include "forked.h"
#include "log.h"

#define LINES_MAX 10u /* log lines about wrong threads, per process */

/* A thread that has owned an engine. It is never freed, so that any thread can look at the owner of
 * an engine at any time. */
struct engine_owner {
	pid_t thread;
	_Atomic bool has_ended;
	struct engine_owner *next;
};

/* all owners: a leak detector reports memory that no pointer reaches */
static _Atomic(struct engine_owner *) all;
static _Thread_local struct engine_owner *self;
static pthread_key_t key;
static bool has_key;

/* Runs on each thread that ends, before pthread_join(3) returns in another thread. */
static void note_end(void *owner)
{
	atomic_store(&((struct engine_owner *)owner)->has_ended, true);
}

static void create_key(void)
{
	has_key = pthread_key_create(&key, note_end) == 0;
}

const struct engine_owner *engine_owner_self(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct engine_owner *owner = self;

	if (owner)
		return owner;
	pthread_once(&once, create_key);
	if (has_key)
		owner = calloc(1, sizeof(*owner));
	if (!owner)
		return NULL;
	owner->thread = gettid();
	owner->next = atomic_load(&all);
	while (!atomic_compare_exchange_weak(&all, &owner->next, owner))
		;
	(void)pthread_setspecific(key, owner);
	self = owner;
	return owner;
}

void engine_own(struct weir_engine *engine)
{
	const struct engine_owner *owner = atomic_load(&engine->owner);

	if (!owner || (owner != self && atomic_load(&owner->has_ended)))
		atomic_store(&engine->owner, engine_owner_self());
}

/* Returns whether another line about a wrong thread may be logged. */
static bool may_log(void)
{
	static _Atomic uint32_t nlines;

	return atomic_fetch_add(&nlines, 1) < LINES_MAX;
}

static cold_code void log_wrong_thread(const char *function, const struct engine_owner *owner)
{
	if (may_log())
		LOG(ENGINE, ERROR,
		    "%s() was called on thread %d, but thread %d owns the engine: call it there, "
		    "for instance in a function that weir_engine_post() runs",
		    function, (int)gettid(), (int)owner->thread);
}

bool engine_creator_is_other(const struct engine_owner *creator, const char *function)
{
	if (!creator || creator == self || atomic_load(&creator->has_ended))
		return false;
	if (may_log())
		LOG(ENGINE, ERROR,
		    "%s() was called on thread %d, but thread %d created the runtime: call it "
		    "there",
		    function, (int)gettid(), (int)creator->thread);
	errno = EPERM;
	return true;
}

bool engine_is_called_wrongly(const struct weir_engine *engine, const char *function)
{
	const struct engine_owner *owner;

	/* In a child of fork(2), forked.h applies. */
	if (!engine || engine_is_forked(engine))
		return false;
	owner = atomic_load(&engine->owner);
	if (!owner || owner == self || atomic_load(&owner->has_ended))
		return false;
	log_wrong_thread(function, owner);
	errno = EPERM;
	return true;
}

void weir_engine_disown(struct weir_engine *engine)
{
	if (!OTHER_THREAD(engine))
		atomic_store(&engine->owner, NULL);
}
