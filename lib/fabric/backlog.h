/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKLOG_H
#define BACKLOG_H

/*
 * Requests for connections that wait at a listener, divided among the peers that make them.
 *
 * A listener has a limited number of places. A peer can take all of them by making requests faster
 * than they are answered, but it does not keep others out: when all places are taken, a newcomer
 * displaces the oldest request of the peer that holds the most, if its own peer holds at least two
 * fewer, and otherwise the oldest request of its own peer. (With one fewer, two peers would
 * displace each other for ever.) Thus a peer keeps no more than its share of the places, whatever
 * the others want.
 *
 * Nothing here has a lock or makes a call. The backlog is searched as a whole, but only when a
 * request comes, and it is short.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

/* Who makes a request. It is compared as a whole. */
struct backlog_peer {
	uint64_t id[2];
};

struct backlog_entry {
	TAILQ_ENTRY(backlog_entry) entry;
	struct backlog_peer peer;
	bool waits; /* it is in a backlog */
};

TAILQ_HEAD(backlog_entries, backlog_entry);

struct backlog {
	struct backlog_entries entries; /* the oldest one first */
	uint32_t n, max;
};

/**
 * Begin with no entries.
 * @param max places, at least 1
 */
void backlog_init(struct backlog *backlog, uint32_t max);

/**
 * Decide which request gives way to a newcomer, when there is no place for it. Nothing changes yet:
 * the caller removes what gives way, and adds the newcomer. @param peer who makes the new request
 * @return a request that waits; NULL: none gives way, and the newcomer is refused
 */
struct backlog_entry *backlog_displaced(const struct backlog *backlog,
					const struct backlog_peer *peer);

/** Whether all places are taken. */
static inline bool backlog_is_full(const struct backlog *backlog)
{
	return backlog->n >= backlog->max;
}

/** Whether two requests are, or would be, of the same peer. */
static inline bool backlog_is_same(const struct backlog_peer *a, const struct backlog_peer *b)
{
	return a->id[0] == b->id[0] && a->id[1] == b->id[1];
}

/** Add a request as the newest one. The entry is the caller's, and has to stay until it is removed.
 */
void backlog_add(struct backlog *backlog, struct backlog_entry *entry,
		 const struct backlog_peer *peer);

/** Remove a request, wherever it is. Removing one that does not wait is allowed. */
void backlog_remove(struct backlog *backlog, struct backlog_entry *entry);

#endif
