/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and destroys engines. The poll loop is in poll.c. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <rte_lcore.h>
#include <rte_ring.h>

#include "alloc.h"
#include "eal.h"
#include "engine.h"
#include "exposure.h"
#include "forked.h"
#include "inquiry.h"
#include "latency.h"
#include "limit.h"
#include "log.h"
#include "mailbox.h"
#include "owner.h"
#include "peer.h"
#include "pools.h"
#include "profile_keys.h"
#include "regions.h"
#include "shared_recv.h"

/* log lines about weir_engine_destroy() in callbacks, per process */
#define REFUSED_LINES_MAX 10u

/*
 * The slots in the key tables of regions (struct weir_region) that are taken. Each bit stands for
 * one slot, and thus for one engine of this process.
 */
static _Atomic uint64_t slots_used;

_Static_assert(MEM_SLOTS_MAX == 64, "slots_used has a bit for each");

/*
 * Takes the lowest free slot. Returns 0 and sets *slot, or returns -EBUSY if all slots are taken.
 */
static int slot_take(uint32_t *slot)
{
	uint64_t used = atomic_load(&slots_used);

	for (;;) {
		if (used == UINT64_MAX)
			return -EBUSY;
		*slot = (uint32_t)__builtin_ctzll(~used);
		if (atomic_compare_exchange_weak(&slots_used, &used, used | 1ull << *slot))
			return 0;
	}
}

static void slot_put(uint32_t slot)
{
	atomic_fetch_and(&slots_used, ~(1ull << slot));
}

/* Returns the value of engine->small_bytes: the length of the longest message that fits inline, and
 * that also fits in a long buffer after its headroom. */
static uint32_t small_bytes(const struct weir_engine *engine)
{
	uint64_t long_bytes = engine->profile.long_buffer_bytes;

	if (long_bytes < ENGINE_HEADROOM)
		return 0;
	return long_bytes - ENGINE_HEADROOM < engine->msg_bytes
		       ? (uint32_t)(long_bytes - ENGINE_HEADROOM)
		       : engine->msg_bytes;
}

static void limits_from_profile(const struct weir_profile *p, struct rdma1_limits *limits)
{
	*limits = (struct rdma1_limits){
		.read_segments_max = p->read_segments,
		.read_chunks_max = p->read_chunks,
		.write_chunks_max = p->write_chunks,
		.segments_per_chunk_max = p->segments_per_chunk,
		.read_bytes_max = p->read_bytes > p->inline_bytes ? p->read_bytes : p->inline_bytes,
		.write_bytes_max = p->write_bytes,
	};
}

/* Sets engine->recv_bytes, the length of a receive. Returns 0. Returns -EINVAL, after a log line,
 * if receives have targets and the device cannot send or receive messages of this length. */
static int size_receives(struct weir_engine *engine)
{
	const struct fabric_dev_attr *attr = &engine->dev->attr;

	engine->recv_bytes = engine_recv_bytes(&engine->profile, attr);
	if (!engine_places(&engine->profile, attr) || engine->recv_bytes <= attr->max_msg_bytes)
		return 0;
	LOG(ENGINE, ERROR,
	    "driver %s: messages have at most %u bytes, and those with targets would have %u: "
	    "lower targets or target_bytes in the profile's [connection]",
	    engine->ops->name, attr->max_msg_bytes, engine->recv_bytes);
	return -EINVAL;
}

uint32_t engine_count(void)
{
	return (uint32_t)__builtin_popcountll(atomic_load(&slots_used));
}

/* Returns how many transmissions per message the engine accepts, at least 1. A bulk buffer must
 * hold all transmissions of a message, because data that continues in the next transmission is
 * joined in a bulk buffer. */
static uint32_t group_max(const struct weir_engine *engine)
{
	const struct weir_profile *p = &engine->profile;
	uint64_t fit = p->bulk_buffer_bytes / engine->recv_bytes;

	if (!version_extends(p, WEIR_EXTENSION_CONTINUATION) || fit == 0)
		return 1;
	return fit < p->transmissions ? (uint32_t)fit : p->transmissions;
}

/* Returns the value of engine->chunk_bytes: that of the profile or, if the profile leaves the
 * choice to the driver, that of the device. The device's value does not apply if each chunk needs a
 * memory window, or if each connection is a protection domain. */
static uint32_t chunk_bytes(const struct weir_engine *engine)
{
	if (engine->profile.chunk_bytes > 0)
		return engine->profile.chunk_bytes;
	return engine->uses_windows || engine->own_domains ? 0 : engine->dev->attr.chunk_bytes;
}

/* Creates an engine with a profile that was checked. Returns 0 and sets *out. Returns -EBUSY if the
 * process has MEM_SLOTS_MAX engines, or another -errno. */
static int create(const struct weir_profile *profile, struct weir_engine **out)
{
	struct weir_engine *engine;
	struct fabric_dev_config config = {
		.options = profile->driver_options,
		.max_connections = profile->connections,
		.max_requests = ENGINE_REQUESTS_MAX,
		.map_bytes_peer = profile->map_bytes_peer,
		.mappings_peer = profile->mappings_peer,
		/* those of the application, and one for each pool */
		.max_regions = ENGINE_REGIONS_MAX + ENGINE_POOLS,
		.numa_node = -1,
	};
	const struct mem_eal_options eal = {
		.has_telemetry = profile->telemetry == WEIR_TELEMETRY_ON,
	};
	const struct fabric_ops *ops;
	int rc;

	/* not NULL, because profile_read() has found the driver */
	ops = fabric_driver_find(profile->driver);
	rc = mem_eal_start(&eal);
	if (rc != 0)
		return rc;
	telemetry_register();
	engine = mem_zalloc(sizeof(*engine));
	if (!engine)
		return -ENOMEM;
	rc = slot_take(&engine->slot);
	if (rc != 0) {
		mem_free(engine);
		return rc;
	}
	rc = engine_fork_watch(engine);
	if (rc != 0) {
		slot_put(engine->slot);
		mem_free(engine);
		return rc;
	}
	engine->profile = *profile;
	engine->profile.bulk_buffer_bytes = engine_bulk_bytes(profile);
	engine->msg_bytes = engine_msg_bytes(profile);
	engine->small_bytes = small_bytes(engine);
	engine->driver = *ops;
	engine->ops = &engine->driver;
	engine->poll_budget = profile->poll_budget;
	engine->stuck_ns = engine->profile.stuck_call_ms * 1000000ull;
	engine->idle_policy = profile->idle;
	engine->call_timeout_ns =
		profile->call_timeout_ms ? profile->call_timeout_ms * 1000000ull : ENGINE_NEVER_NS;
	limits_from_profile(profile, &engine->limits);
	TAILQ_INIT(&engine->to_flush);
	TAILQ_INIT(&engine->to_reap);
	TAILQ_INIT(&engine->late);
	TAILQ_INIT(&engine->wait_queues);
	TAILQ_INIT(&engine->reserve_queues);
	TAILQ_INIT(&engine->all);
	backlog_init(&engine->arrivals, ENGINE_REQUESTS_MAX);
	TAILQ_INIT(&engine->ticking);
	TAILQ_INIT(&engine->idle);
	TAILQ_INIT(&engine->orphans);
	engine_regions_init(engine);

	rc = ops->open(&config, &engine->dev);
	if (rc == 0) {
		engine->driver = *engine->dev->ops;
		rc = size_receives(engine);
	}
	if (rc == 0)
		engine->group_max = group_max(engine);
	if (rc == 0)
		rc = engine_exposure_choose(engine);
	if (rc == 0)
		engine->chunk_bytes = chunk_bytes(engine);
	if (rc == 0)
		rc = engine_latency_create(engine);
	if (rc == 0)
		rc = engine_peers_create(engine);
	if (rc == 0)
		rc = mailbox_create(engine);
	if (rc == 0)
		rc = engine_pools_create(engine);
	if (rc == 0 && engine_shares(&engine->profile, &engine->dev->attr))
		rc = engine_srq_create(engine);
	if (rc != 0) {
		weir_engine_destroy(engine);
		return rc;
	}
	inquiry_join(engine);
	*out = engine;
	return 0;
}

int weir_engine_create(const struct weir_profile *profile, struct weir_engine **out)
{
	struct weir_profile own;
	char error[400];
	int rc = profile_read(profile, &own, error, sizeof(error));

	if (rc != 0) {
		LOG(ENGINE, ERROR, "%s", error);
		return rc;
	}
	/* Only a runtime knows the CPU of an engine. It has applied the section of the CPU. */
	memset(own.engines, 0, sizeof(own.engines));
	rc = create(&own, out);
	mem_explain_limit(rc);
	return rc;
}

/* Ends an engine in a child of fork(2): releases its regions and the memory of its pools.
 * Connections, calls and the engine itself remain allocated, because another thread might have been
 * changing their lists when the process forked. The data of EAL remain for the same reason. */
static void abandon(struct weir_engine *engine)
{
	while (engine->nregions > 0)
		weir_engine_remove_region(engine, engine->regions[0]);
	engine_pools_abandon(engine);
}

/* Refuses to destroy the engine in one of its callbacks. */
static void refuse_destroy(void)
{
	static _Atomic uint32_t nlines;

	if (atomic_fetch_add(&nlines, 1) < REFUSED_LINES_MAX)
		LOG(ENGINE, ERROR,
		    "weir_engine_destroy() was called in a callback of its engine, and does "
		    "nothing there: return from the callback, and destroy the engine then");
	errno = EDEADLK;
}

void weir_engine_destroy(struct weir_engine *engine)
{
	struct engine_orphan *orphan;
	struct engine_endpoint *ep;

	if (OTHER_THREAD(engine))
		return;
	if (!engine)
		return;
	if (engine_is_forked(engine)) {
		abandon(engine);
		return;
	}
	if (engine->in_poll) {
		refuse_destroy();
		return;
	}
	engine->in_poll = true; /* because callbacks run in this function, too */
	engine->is_ending = true;
	inquiry_leave(engine);
	/* Runs the functions in the mailbox, because a connection that another engine passes to
	 * this one must end, too. The number of rounds is limited, because each function can post
	 * another one. */
	for (uint32_t i = 0; engine->mailbox && i < MAILBOX_ROUNDS_MAX && mailbox_poll(engine) > 0;
	     i++)
		;
	/* The end of an endpoint can end other endpoints, so the first element of the list is read
	 * again each time. */
	while ((ep = TAILQ_FIRST(&engine->all))) {
		ep->is_reaping = true;
		ep->on_reap(ep);
	}
	while ((orphan = TAILQ_FIRST(&engine->orphans))) {
		TAILQ_REMOVE(&engine->orphans, orphan, entry);
		orphan->on_destroy(orphan);
	}
	engine_windows_destroy(engine);
	while (engine->nregions > 0)
		weir_engine_remove_region(engine, engine->regions[0]);
	engine_srq_destroy(engine);
	engine_pools_destroy(engine);
	mailbox_destroy(engine);
	inquiry_end(engine);
	engine_peers_destroy(engine);
	/*
	 * If the process forks while the device stops, the child must abandon the device. Therefore
	 * the fork handler knows the engine until the device is stopped, but not until the device
	 * is freed.
	 */
	if (engine->dev && engine->ops->stop)
		engine->ops->stop(engine->dev);
	engine_fork_forget(engine);
	if (engine->dev)
		engine->ops->close(engine->dev);
	fabric_waker_close(&engine->waker);
	engine_latency_destroy(engine);
	slot_put(engine->slot);
	mem_free(engine);
}

void engine_add(struct weir_engine *engine, struct engine_endpoint *ep)
{
	ep->engine = engine;
	TAILQ_INSERT_TAIL(&engine->all, ep, all);
	TAILQ_INSERT_TAIL(&engine->idle, ep, tick);
	engine_tick_begin(ep);
}

void engine_remove(struct weir_engine *engine, struct engine_endpoint *ep)
{
	if (ep->is_flushing)
		TAILQ_REMOVE(&engine->to_flush, ep, flush);
	ep->is_flushing = false;
	if (ep->is_to_reap || ep->is_late)
		TAILQ_REMOVE(ep->is_late ? &engine->late : &engine->to_reap, ep, reap);
	ep->is_to_reap = ep->is_late = false;
	TAILQ_REMOVE(&engine->all, ep, all);
	TAILQ_REMOVE(ep->blockers.is_idle ? &engine->idle : &engine->ticking, ep, tick);
}

uint64_t weir_engine_now(const struct weir_engine *engine)
{
	if (OTHER_THREAD(engine))
		return 0;
	return engine->now_ns;
}

enum weir_exposure weir_engine_exposure(const struct weir_engine *engine)
{
	return engine->uses_windows ? WEIR_EXPOSURE_WINDOW : WEIR_EXPOSURE_POOL;
}
