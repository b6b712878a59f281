/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides whether a request for a connection (a newcomer) is accepted, waits or is refused. This
 * code runs on the engine that will have the connection. A connection needs room: the profile
 * limits the number of connections, and each connection takes receives and descriptors.
 *
 * A peer that uses all of the room must not keep other peers out. If there is no room, the peer of
 * the newcomer is compared with the peer that holds the most connections. If the newcomer's peer
 * holds at least two connections fewer, the connection of the other peer that was idle for the
 * longest time ends, and the newcomer waits until that connection is freed. If a difference of one
 * were enough, two peers would take the last connection from each other for ever.
 *
 * Many peers that hold one connection each must not keep others out either: one user can have many
 * UIDs, and one host many addresses. Therefore, a newcomer whose peer holds no connection replaces
 * the connection that was idle for the longest time of all, if no call arrived on that connection
 * for IDLE_MIN_NS. Two peers that compete for the last connection can thus take it from each other
 * only once in that time. If neither rule applies, the newcomer is refused.
 */
#include "responder.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "alloc.h"
#include "limit.h"

/* The time for which a newcomer waits for room. Over shm, a connection whose peer is writing to
 * this side's memory takes two seconds to end. */
#define ARRIVAL_WAIT_NS 5000000000u
/* The time in ns without a call after which a connection can be replaced by a newcomer whose peer
 * holds none. A peer thus does not lose its only connection because of a shorter pause between two
 * calls. doc/limits.rst names this time. */
#define IDLE_MIN_NS 10000000000u
/* The maximum number of connections that a search for an idle connection visits. The search moves
 * connections that are not idle to the end of their lists. */
#define LOOKS_MAX 16u

/* A newcomer that waits for room. The number of waiting newcomers is limited and divided among
 * peers: a newcomer whose peer holds fewer displaces a newcomer of another peer. */
struct arrival {
	struct engine_endpoint ep;
	/* member of the engine's 'arrivals'; the address of 'account' identifies the peer there */
	struct backlog_entry waiting;
	struct responder_handover handover;
	struct engine_peer *account;
	/* the time at which the newcomer is refused if there is still no room */
	uint64_t deadline_ns;
	uint32_t nfreed; /* nfreed of the engine at the latest attempt to accept */
	int why;	 /* the error of the first attempt to accept */
	bool is_over;	 /* the newcomer was accepted or refused, and only has to be freed */
};

/*
 * Returns whether 'rc' is an error of try_accept() that the end of another connection can remove.
 */
static bool lacks_room(int rc)
{
	return rc == -EBUSY || rc == -ENOBUFS || rc == -EMFILE;
}

static const char *why_refused(int rc)
{
	switch (rc) {
	case -EMFILE:
		return "this process has few descriptors left: raise its limit (ulimit -n)";
	case -EBUSY:
		return "all [limits] connections of the profile are in use";
	case -ENOBUFS:
		return "no receives are left: see recv_buffers in the profile's [memory]";
	case -EDQUOT:
		return "calls of earlier connections of its peer hold all that one peer may have";
	case -EUSERS:
		return "its peer has as many connections as the profile's [limits] "
		       "connections_peer allows";
	default:
		return strerror(-rc);
	}
}

void responder_refuse(struct weir_engine *engine, const struct responder_handover *handover,
		      const char *why)
{
	engine->stats.connections_refused++;
	engine_log_peer(engine, &engine->refusals, "connection from %s refused: %s",
			handover->event.peer.address, why);
	engine->ops->reject(engine->dev, handover->event.req, NULL, 0);
}

static void refuse_for(struct weir_engine *engine, const struct responder_handover *handover,
		       int rc)
{
	engine->stats.quota_refusals += rc == -EDQUOT;
	mem_explain_limit(rc);
	responder_refuse(engine, handover, why_refused(rc));
}

/*
 * Accepts the request for a connection. Returns 0 if the request needs no further processing.
 * Otherwise, nothing was done, and the result is one of these errors:
 * - -EBUSY or -ENOBUFS if there is no room
 * - -EDQUOT if calls of the peer's earlier connections hold too many receives
 * - -ENOMEM if there is no memory
 * - any other error of conn_create()
 */
static int try_accept(struct weir_engine *engine, const struct responder_handover *handover,
		      struct engine_peer *account)
{
	uint32_t credits = engine->profile.credits;
	struct responder *responder;
	struct weir_conn *conn;
	int rc;

	if (!conn_share_may_join(engine, account))
		return -EDQUOT;
	responder = responder_create(engine, responder_role.protocol(engine), credits,
				     handover->programs, handover->drc, account);
	if (!responder)
		return -ENOMEM;
	rc = conn_create(engine, account, credits, 0, &responder_role, responder, &conn);
	if (rc != 0) {
		responder_free(responder);
		return rc;
	}
	responder->conn = conn;
	conn->may_invalidate = engine_may_invalidate(engine);
	conn->on_event = handover->on_event;
	conn->arg = handover->arg;
	rc = conn_accept(conn, handover->event.req, &handover->event);
	if (rc != 0)
		conn_fail(conn, rc);
	return 0;
}

static struct weir_conn *conn_of(struct engine_peer_member *member)
{
	return (struct weir_conn *)((uintptr_t)member - offsetof(struct weir_conn, member));
}

/* Returns whether a connection is idle: it has no request, and no message has arrived since its
 * latest tick. */
static bool conn_was_idle(struct weir_conn *conn)
{
	return !conn->got_message && conn->role->is_idle(conn);
}

/* Returns the connection of a peer that was idle for the longest time. If the search finds no idle
 * connection within LOOKS_MAX connections, returns the connection that was active least
 * recently. */
static struct weir_conn *longest_idle(struct weir_engine *engine, struct engine_peer *peer)
{
	for (uint32_t i = 0; i < LOOKS_MAX; i++) {
		struct weir_conn *conn = conn_of(TAILQ_FIRST(&peer->members));

		if (conn_was_idle(conn))
			return conn;
		engine_peer_touch(engine, &conn->member, engine->now_ns);
	}
	return conn_of(TAILQ_FIRST(&peer->members));
}

/* Returns the connection of all peers that was idle for the longest time, or NULL if none was idle
 * for IDLE_MIN_NS. */
static struct weir_conn *long_idle_of_any(struct weir_engine *engine)
{
	for (uint32_t i = 0; i < LOOKS_MAX; i++) {
		struct engine_peer_member *member = engine_peer_oldest(engine);

		if (!member || engine->now_ns - member->active_ns < IDLE_MIN_NS)
			return NULL;
		if (conn_was_idle(conn_of(member)))
			return conn_of(member);
		engine_peer_touch(engine, member, engine->now_ns);
	}
	return NULL;
}

/* Ends a connection to make room for a newcomer of the peer 'newcomer', if one of the two rules
 * above applies. Returns whether it has ended a connection. */
static bool evict_for(struct weir_engine *engine, const struct engine_peer *newcomer)
{
	struct engine_peer *largest = engine_peer_largest(engine);
	struct weir_conn *conn = NULL;

	if (largest && largest->nconnections >= engine_peer_holds(newcomer) + 2)
		conn = longest_idle(engine, largest);
	else if (engine_peer_holds(newcomer) == 0)
		conn = long_idle_of_any(engine);
	if (!conn)
		return false;
	engine->stats.connections_evicted++;
	engine_log_peer(
		engine, &engine->ends,
		"connection to %s ends: it makes room for a peer that has fewer (see connections "
		"and recv_buffers in the profile, and the limit of open descriptors)",
		conn->peer);
	conn_fail(conn, -ETIMEDOUT);
	return true;
}

/* Ends the wait of a newcomer that was accepted or refused. The engine frees it later. */
static void arrival_end(struct arrival *arrival)
{
	struct weir_engine *engine = arrival->ep.engine;

	if (!arrival->is_over)
		engine_want_reap(&arrival->ep);
	arrival->is_over = true;
	arrival->account->narriving--;
	backlog_remove(&engine->arrivals, &arrival->waiting);
}

/* Tries to accept a waiting newcomer when connections were freed since the latest attempt, and
 * refuses it at its deadline. Newcomers that have waited for longer have their ticks first. */
static bool arrival_on_tick(struct engine_endpoint *ep, uint64_t now_ns)
{
	struct arrival *arrival = (struct arrival *)ep;
	struct weir_engine *engine = ep->engine;
	int rc = arrival->why;

	if (arrival->is_over)
		return false;
	if (arrival->nfreed != engine->nfreed) {
		arrival->nfreed = engine->nfreed;
		rc = try_accept(engine, &arrival->handover, arrival->account);
	}
	if (rc == 0) {
		arrival_end(arrival);
	} else if (!lacks_room(rc) || now_ns >= arrival->deadline_ns) {
		refuse_for(engine, &arrival->handover, rc);
		arrival_end(arrival);
	}
	return true;
}

static uint64_t arrival_next_tick(struct engine_endpoint *ep)
{
	const struct arrival *arrival = (const struct arrival *)ep;

	return arrival->nfreed != ep->engine->nfreed ? 0 : arrival->deadline_ns;
}

static void arrival_on_wc(struct engine_endpoint *ep, const struct fabric_wc *wc)
{
	(void)ep;
	(void)wc;
}

static void arrival_on_cm(struct engine_endpoint *ep, const struct fabric_cm_event *event)
{
	(void)ep;
	(void)event;
}

static void arrival_on_flush(struct engine_endpoint *ep)
{
	(void)ep;
}

/* Frees a newcomer. If the engine ends, it is possible that the newcomer is still waiting. It is
 * then refused. */
static void arrival_on_reap(struct engine_endpoint *ep)
{
	struct arrival *arrival = (struct arrival *)ep;
	struct weir_engine *engine = ep->engine;

	if (!arrival->is_over) {
		responder_refuse(engine, &arrival->handover, "the engine ends");
		arrival->is_over = true;
		arrival->account->narriving--;
		backlog_remove(&engine->arrivals, &arrival->waiting);
	}
	engine_remove(engine, ep);
	engine_peer_put(engine, arrival->account);
	program_table_put(arrival->handover.programs);
	mem_free(arrival);
}

void responder_drop_arrivals(struct weir_engine *engine, const struct program_table *programs)
{
	struct engine_endpoint *ep;

	TAILQ_FOREACH(ep, &engine->all, all)
	{
		struct arrival *arrival = (struct arrival *)ep;

		if (ep->on_reap != arrival_on_reap || arrival->is_over ||
		    arrival->handover.programs != programs)
			continue;
		responder_refuse(engine, &arrival->handover, "nobody listens any more");
		arrival_end(arrival);
	}
}

/* Chooses, when no more newcomers are allowed to wait, the waiting newcomer that a newcomer of the
 * peer 'newcomer' displaces. Returns NULL if there is none, because the peer of the one that
 * backlog_displaced() returns does not hold at least two connections more. */
static struct arrival *find_displaced(const struct weir_engine *engine,
				      const struct engine_peer *newcomer,
				      const struct backlog_peer *key)
{
	struct backlog_entry *entry = backlog_displaced(&engine->arrivals, key);
	struct arrival *arrival;

	if (!entry)
		return NULL;
	arrival = (struct arrival *)((uintptr_t)entry - offsetof(struct arrival, waiting));
	return engine_peer_holds(arrival->account) >= engine_peer_holds(newcomer) + 2 ? arrival
										      : NULL;
}

/* Makes a newcomer wait for room, after another connection was ended for it if necessary. 'why' is
 * the reason why the newcomer was not accepted. Returns 0 if the newcomer waits. Otherwise returns
 * 'why', or -ENOMEM. */
static int arrival_wait(struct weir_engine *engine, const struct responder_handover *handover,
			struct engine_peer *account, int why)
{
	const struct backlog_peer key = {{(uintptr_t)account}};
	struct arrival *arrival, *displaced = NULL;
	/* true: more connections are about to be freed than newcomers wait */
	bool has_free = engine->nending > engine->arrivals.n;

	/* A newcomer waits only on the engine that received it, because its wait ends with the
	 * listener. On any other engine, the newcomer is refused, and finds room when its peer
	 * tries again. */
	if (engine != handover->listening) {
		if (!has_free)
			(void)evict_for(engine, account);
		return why;
	}
	if (backlog_is_full(&engine->arrivals)) {
		displaced = find_displaced(engine, account, &key);
		if (!displaced)
			return why;
		/* The newcomer takes the place of the displaced one, so that no more newcomers wait
		 * than before. */
		has_free = engine->nending >= engine->arrivals.n;
	}
	arrival = mem_zalloc(sizeof(*arrival));
	if (!arrival)
		return -ENOMEM;
	if (!has_free && !evict_for(engine, account)) {
		mem_free(arrival);
		return why;
	}
	arrival->ep.on_wc = arrival_on_wc;
	arrival->ep.on_cm = arrival_on_cm;
	arrival->ep.on_tick = arrival_on_tick;
	arrival->ep.next_tick = arrival_next_tick;
	arrival->ep.on_flush = arrival_on_flush;
	arrival->ep.on_reap = arrival_on_reap;
	arrival->handover = *handover;
	arrival->handover.programs->refs++;
	arrival->account = account;
	account->refs++;
	account->narriving++;
	if (displaced) {
		responder_refuse(engine, &displaced->handover,
				 "it makes room for a peer that has fewer");
		arrival_end(displaced);
	}
	backlog_add(&engine->arrivals, &arrival->waiting, &key);
	arrival->nfreed = engine->nfreed;
	arrival->why = why;
	arrival->deadline_ns = engine->now_ns + ARRIVAL_WAIT_NS;
	engine_add(engine, &arrival->ep);
	return 0;
}

/*
 * Accepts a newcomer, or makes it wait for room. Returns 0, or the reason why neither is possible.
 */
static int arrival_admit(struct weir_engine *engine, const struct responder_handover *handover,
			 struct engine_peer *account)
{
	bool is_crowded = handover->event.is_crowded;
	int rc = engine->arrivals.n > 0 ? -EBUSY
		 : is_crowded		? -EMFILE
					: try_accept(engine, handover, account);

	if (lacks_room(rc))
		rc = arrival_wait(engine, handover, account, rc);
	/* If no connection ends for it, a peer without a connection gets one of the last
	 * descriptors. */
	if (rc == -EMFILE && engine_peer_holds(account) == 0)
		rc = try_accept(engine, handover, account);
	return rc;
}

void responder_accept(struct weir_engine *engine, const struct responder_handover *handover)
{
	struct engine_peer *account = engine_peer_get(engine, &handover->event.peer);
	uint32_t most = engine->profile.connections_peer;
	int rc = -ENOMEM;

	if (account && most > 0 && engine_peer_holds(account) >= most) {
		engine->stats.peer_limit_refused++;
		rc = -EUSERS;
	} else if (account && !conn_share_may_join(engine, account)) {
		rc = -EDQUOT; /* This is checked before another connection ends for the newcomer. */
	} else if (account) {
		rc = arrival_admit(engine, handover, account);
	}
	if (rc != 0)
		refuse_for(engine, handover, rc);
	engine_peer_put(engine, account);
}
