/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HOLDS_H
#define HOLDS_H

/*
 * What calls hold of a pool, by connection and peer, so that a peer that does not take its replies
 * leaves enough to others. The rule is that of the engine's own pools (doc/limits.rst): after a
 * call has taken what it needs, its peer holds at most as much as is free, and its connection at
 * most twice what its peer could still take. A peer that holds nothing needs only that there is
 * enough. For one thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "client_rules.h"

struct weir_conn;

/* Who made a call. */
struct holder {
	const struct weir_conn *conn; /* is only compared: the connection may be gone */
	struct client_key client;
};

struct hold {
	LIST_ENTRY(hold) entry;
	struct holder holder;
	uint32_t n;
};

LIST_HEAD(holds, hold);

/* Whether 'holder' may take 'need' more, where 'free' of 'total' are free. Looks at all holds if a
 * quarter or more is in use. */
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
