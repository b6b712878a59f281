/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKLOG_H
#define BACKLOG_H

/*
 * Connection requests that wait at a listener, divided among the peers that make them.
 *
 * A listener has a limited number of places for waiting requests. A peer can take all places by
 * making requests faster than they are answered, but it cannot keep other peers out. When all
 * places are taken, a new request displaces an older one:
 *
 * - If some peer has at least two requests more than the peer of the new request, the oldest
 *   request of the peer that has the most is displaced.
 * - Otherwise the oldest request of the peer of the new request is displaced. If that peer has
 *   none, the new request is refused.
 *
 * If a difference of one request were enough, two peers would displace each other for ever.
 *
 * Thus a peer keeps no more than its share of the places when other peers want places, too.
 *
 * The backlog takes no lock and makes no system call. A search examines all entries of the backlog.
 * A search occurs only when a request arrives, and the backlog is short.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

/* The identity of the peer that makes a request. Two peers are the same if both words of 'id' are
 * equal. */
struct backlog_peer {
	uint64_t id[2];
};

struct backlog_entry {
	TAILQ_ENTRY(backlog_entry) entry;
	struct backlog_peer peer;
	bool waits; /* true: the entry is in a backlog */
};

TAILQ_HEAD(backlog_entries, backlog_entry);

struct backlog {
	struct backlog_entries entries; /* the oldest first */
	uint32_t n, max;
};

/**
 * Initializes a backlog without entries.
 * @param max number of places, at least 1
 */
void backlog_init(struct backlog *backlog, uint32_t max);

/**
 * Chooses the request that a new request displaces, when no place is free. The backlog does not
 * change: the caller removes the returned request and adds the new one.
 * @param peer the peer that makes the new request
 * @return a waiting request; NULL: none can be displaced, and the new request is refused
 */
struct backlog_entry *backlog_displaced(const struct backlog *backlog,
					const struct backlog_peer *peer);

/** Returns whether all places are taken. */
static inline bool backlog_is_full(const struct backlog *backlog)
{
	return backlog->n >= backlog->max;
}

/** Returns whether a and b are the same peer. */
static inline bool backlog_is_same(const struct backlog_peer *a, const struct backlog_peer *b)
{
	return a->id[0] == b->id[0] && a->id[1] == b->id[1];
}

/** Adds a request as the newest one. The entry belongs to the caller, and must exist until it is
 * removed. */
void backlog_add(struct backlog *backlog, struct backlog_entry *entry,
		 const struct backlog_peer *peer);

/** Removes a request from any position. Does nothing if the request does not wait. */
void backlog_remove(struct backlog *backlog, struct backlog_entry *entry);

#endif
