/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_QUOTA_H
#define ENGINE_QUOTA_H

/*
 * Quotas: how much of a pool one connection and one peer may hold. A peer that does not take its
 * replies, or does not let its calls be pulled, holds what those have. So that it cannot hold all
 * of a pool, a connection takes from a pool only while it and its peer hold little compared with
 * what is free (dynamic thresholds, Choudhury and Hahne 1998). After a request has taken what it
 * needs,
 *
 *   - its peer holds at most as much as is free, and
 *   - its connection holds at most twice what its peer could still take.
 *
 * So one peer holds at most half of a pool, and one connection two fifths. If n other peers want
 * all that they can get, they have half of what they would have without the peer that stalls.
 * Nobody has to know who is active or who stalls.
 *
 * A peer that holds nothing may take more, so that large requests go on, too: one of what there is
 * always, and several if half as many are left for others. A request that finds nothing taken by
 * anybody needs only that there is enough (its caller looks).
 *
 * A request that may not take waits, as do later ones of its connection. Requests of others
 * overtake it.
 */

#include <stdbool.h>
#include <stdint.h>

/* What is counted for each connection of a responder, and for each peer. */
enum engine_quota {
	ENGINE_QUOTA_BULK,    /* buffers of bulk_pool */
	ENGINE_QUOTA_PULLED,  /* bytes of pull_bytes */
	ENGINE_QUOTA_WAITERS, /* of waiting_requests */
	ENGINE_QUOTA_REPLIES, /* that are queued or posted: each holds a request and a send or a
				 bulk buffer */
	ENGINE_QUOTA_REPLAYS, /* replay_entries whose calls are being carried out */
	ENGINE_QUOTAS
};

struct engine_quota_use {
	uint64_t n[ENGINE_QUOTAS];
};

/* Whether a connection that holds 'conn' of a pool, as part of 'peer', may take 'need' of the
 * 'free' ones. */
static inline bool engine_quota_allows(uint64_t conn, uint64_t peer, uint64_t free, uint64_t need)
{
	uint64_t left = free - need;

	if (need > free)
		return false;
	if (peer == 0)
		return need <= 1 || need <= 2 * left;
	peer += need;
	return peer <= left && (conn == 0 || conn + need <= 2 * (left - peer));
}

#endif
