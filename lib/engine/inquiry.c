/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions about engines that any thread can ask: inquiry.h describes them. */
#include "inquiry.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

#include "engine.h"

#define PAGE_BYTES 4096u

/* The place of an engine among those that can be asked. It is that of engine->slot. */
struct place {
	struct weir_engine *engine; /* NULL: none; guarded by 'lock' */
	uint64_t id;		    /* guarded by 'lock' */
	/* The inquiry that the engine's thread takes next. NULL: there is none. */
	_Atomic(struct inquiry *) waiting;
	atomic_bool is_posted; /* the mailbox of the engine contains answer_posted() */
};

static struct place places[MEM_SLOTS_MAX];
static uint64_t last_id; /* guarded by 'lock' */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER; /* one thread asks at a time */
/* Is posted for each inquiry that ends. Its value can be too large, and is never too small. */
static sem_t ended;

static void lock_for_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void unlock_after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

/* Holds the lock at a fork(2). Otherwise another thread might hold it, and no engine could be
 * created in the child. Nobody asks in the child, so that 'turn' does not matter. */
static void set_up(void)
{
	(void)sem_init(&ended, 0, 0);
	(void)pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
}

void inquiry_join(struct weir_engine *engine)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (engine->profile.telemetry == WEIR_TELEMETRY_OFF)
		return;
	pthread_once(&once, set_up);
	pthread_mutex_lock(&lock);
	places[engine->slot].engine = engine;
	places[engine->slot].id = ++last_id;
	pthread_mutex_unlock(&lock);
}

void inquiry_leave(struct weir_engine *engine)
{
	pthread_mutex_lock(&lock);
	if (places[engine->slot].engine == engine)
		places[engine->slot].engine = NULL;
	pthread_mutex_unlock(&lock);
}

/* Ends an inquiry, which then belongs to its asker. If the asker has given up, frees it. */
static void settle(struct inquiry *inquiry, enum inquiry_result result)
{
	enum inquiry_result pending = INQUIRY_PENDING;

	if (atomic_compare_exchange_strong(&inquiry->state, &pending, result))
		(void)sem_post(&ended);
	else
		free(inquiry);
}

void inquiry_end(struct weir_engine *engine)
{
	struct place *place = &places[engine->slot];
	struct inquiry *inquiry = atomic_exchange(&place->waiting, NULL);

	if (inquiry)
		settle(inquiry, INQUIRY_NO_ENGINE);
	atomic_store(&place->is_posted, false);
}

/*
 * Answers the inquiry that waits. is_posted is cleared first: an inquiry that is set after that is
 * posted anew, and one that was set before is taken here.
 */
static void answer_posted(struct weir_engine *engine, void *arg)
{
	struct place *place = arg;
	struct inquiry *inquiry;

	atomic_store(&place->is_posted, false);
	inquiry = atomic_exchange(&place->waiting, NULL);
	if (!inquiry)
		return;
	inquiry->answer(engine, inquiry);
	settle(inquiry, INQUIRY_ANSWERED);
}

/* Returns the place of an engine, or NULL if there is no such engine. 'lock' must be held. */
static struct place *inquiry_place(uint64_t engine_id)
{
	for (uint32_t i = 0; i < MEM_SLOTS_MAX; i++)
		if (places[i].engine && places[i].id == engine_id)
			return &places[i];
	return NULL;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint32_t inquiry_engines(uint64_t *ids)
{
	uint32_t n = 0;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < MEM_SLOTS_MAX; i++)
		if (places[i].engine)
			ids[n++] = places[i].id;
	pthread_mutex_unlock(&lock);
	qsort(ids, n, sizeof(ids[0]), ascending);
	return n;
}

void *inquiry_new(size_t bytes, uint64_t engine_id,
		  void (*answer)(struct weir_engine *engine, struct inquiry *inquiry))
{
	struct inquiry *inquiry = calloc(1, bytes);

	if (!inquiry)
		return NULL;
	inquiry->engine_id = engine_id;
	inquiry->answer = answer;
	/* The engine's thread would otherwise take the page faults. */
	for (size_t i = PAGE_BYTES; i < bytes; i += PAGE_BYTES)
		((volatile char *)inquiry)[i] = 0;
	return inquiry;
}

/* Passes an inquiry to its engine. Returns its place, or NULL if there is no such engine. */
static struct place *pass(struct inquiry *inquiry)
{
	struct place *place;

	/* The engine is not destroyed while the lock is held, because it leaves first. */
	pthread_mutex_lock(&lock);
	place = inquiry_place(inquiry->engine_id);
	if (place) {
		atomic_store(&place->waiting, inquiry);
		/* If the mailbox is full, the engine is not polled, and the inquiry ends by the
		 * time limit. */
		if (!atomic_exchange(&place->is_posted, true) &&
		    weir_engine_post(place->engine, answer_posted, place) != 0)
			atomic_store(&place->is_posted, false);
	}
	pthread_mutex_unlock(&lock);
	return place;
}

/* Gives an inquiry up, unless it has ended. */
static void give_up(struct place *place, struct inquiry_entry *entry)
{
	struct inquiry *inquiry = entry->inquiry;
	enum inquiry_result result = INQUIRY_PENDING;

	entry->result = INQUIRY_SILENT;
	if (atomic_compare_exchange_strong(&place->waiting, &inquiry, NULL)) {
		free(entry->inquiry);
		entry->inquiry = NULL;
		return;
	}
	/* The engine's thread has the inquiry. */
	if (atomic_compare_exchange_strong(&entry->inquiry->state, &result, INQUIRY_SILENT))
		entry->inquiry = NULL;
	else
		entry->result = result;
}

static bool have_ended(const struct inquiry_entry *entries, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (entries[i].result == INQUIRY_PENDING &&
		    atomic_load(&entries[i].inquiry->state) == INQUIRY_PENDING)
			return false;
	return true;
}

/* Waits until all inquiries have ended, or until the time has passed. */
static void await(const struct inquiry_entry *entries, uint32_t n, uint32_t wait_ms)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += wait_ms / 1000;
	until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	while (!have_ended(entries, n))
		if (sem_clockwait(&ended, CLOCK_MONOTONIC, &until) != 0 && errno != EINTR)
			return;
}

void inquiry_ask(struct inquiry_entry *entries, uint32_t n, uint32_t wait_ms)
{
	struct place *asked[MEM_SLOTS_MAX];

	pthread_mutex_lock(&turn);
	for (uint32_t i = 0; i < n; i++) {
		asked[i] = pass(entries[i].inquiry);
		entries[i].result = asked[i] ? INQUIRY_PENDING : INQUIRY_NO_ENGINE;
	}
	await(entries, n, wait_ms);
	for (uint32_t i = 0; i < n; i++)
		if (asked[i])
			give_up(asked[i], &entries[i]);
	pthread_mutex_unlock(&turn);
}
