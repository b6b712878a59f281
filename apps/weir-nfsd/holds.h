/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HOLDS_H
#define HOLDS_H

/*
 * Counts what the calls of each connection and each client hold of a pool. A client that does not
 * receive its replies must not use up the pool for others. The rule is that of the engine's own
 * pools (doc/limits.rst). After a call has taken what it needs:
 *
 * - its client holds at most as much as is free
 * - its connection holds at most twice what the client could still take
 *
 * For a client that holds nothing, it is enough that the pool has what the call needs. Only one
 * thread is allowed to use a struct holds.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "client_rules.h"

struct weir_conn;

/* The connection and the client of a call. */
struct holder {
	/* only compared and not accessed, because the connection might have ended */
	const struct weir_conn *conn;
	struct client_key client;
};

/* The part of a pool that one call holds: 'n' units, such as pages or ops. */
struct hold {
	LIST_ENTRY(hold) entry;
	struct holder holder;
	uint32_t n;
};

LIST_HEAD(holds, hold);

/*
 * Returns true if 'holder' is allowed to take 'need' more units while 'free' of 'total' units are
 * free. The function visits all holds if more than a quarter is in use after that.
 */
bool holds_allow(const struct holds *holds, const struct holder *holder, uint32_t total,
		 uint32_t free, uint32_t need);

/* Adds a hold of 'n' units to the list. */
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
