/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HOLDS_H
#define HOLDS_H

/*
 * Accounts for what calls hold of a pool, by connection and peer. A peer that does not take its
 * replies must not exhaust the pool for others. The rule is that of the engine's own pools
 * (doc/limits.rst). After a call has taken what it needs:
 *
 * - its peer holds at most as much as is free
 * - its connection holds at most twice what the peer could still take
 *
 * For a peer that holds nothing, it is enough that the pool has what the call needs. Only one
 * thread may use a struct holds.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "client_rules.h"

struct weir_conn;

/* The connection and the client of a call. */
struct holder {
	const struct weir_conn *conn; /* is only compared, because the connection may have ended */
	struct client_key client;
};

struct hold {
	LIST_ENTRY(hold) entry;
	struct holder holder;
	uint32_t n;
};

LIST_HEAD(holds, hold);

/*
 * Returns true if 'holder' may take 'need' more while 'free' of 'total' are free. It visits all
 * holds if a quarter or more is in use.
 */
bool holds_allow(const struct holds *holds, const struct holder *holder, uint32_t total,
		 uint32_t free, uint32_t need);

static inline void holds_add(struct holds *holds, struct hold *hold, const struct holder *holder,
			     uint32_t n)
{
	hold->holder = *holder;
	hold->n = n;
	LIST_INSERT_HEAD(holds, hold, entry);
}

static inline void holds_remove(struct hold *hold)
{
	LIST_REMOVE(hold, entry);
}

#endif
