/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_QUOTA_H
#define ENGINE_QUOTA_H

/*
 * Quotas: how much of a pool one connection and one peer may hold.
 *
 * A peer can hold buffers for a long time: it need not accept its replies, or let its calls be
 * pulled. So that such a peer cannot hold all of a pool, a connection takes from a pool only while
 * the connection and its peer hold little compared with the units that are free (dynamic
 * thresholds, Choudhury and Hahne 1998). After a request has taken the units that it needs,
 *
 * - its peer holds at most as much as is free, and
 * - its connection holds at most twice what its peer could still take.
 *
 * Thus one peer holds at most half of a pool, and one connection two fifths. If n other peers want
 * as much as possible, they have half of what they would have without a peer that stalls. The
 * engine need not know which peers are active and which ones stall.
 *
 * A peer that holds nothing is allowed more, so that large requests are possible, too: always one
 * unit, and n units if at least n / 2 units remain for others. If nobody holds anything, a request
 * needs only that the pool has enough units. The caller checks this case.
 *
 * A request that is not allowed to take its units waits, and so do later requests of its
 * connection. Requests of other connections overtake it.
 */

#include <stdbool.h>
#include <stdint.h>

/* The resources that are counted for each connection of a responder and for each peer. */
enum engine_quota {
	ENGINE_QUOTA_BULK, /* buffers of the engine's bulk_pool */
	/* bytes in Read chunks that are being pulled, limited by the profile's pull_bytes */
	ENGINE_QUOTA_PULLED,
	/* waiters for buffers (wait_queue.h), limited by the profile's waiting_requests */
	ENGINE_QUOTA_WAITERS,
	/* Replies that are queued or posted. Each one holds a request and a send buffer or a bulk
	 * buffer. */
	ENGINE_QUOTA_REPLIES,
	/* entries of the duplicate request cache whose calls are in progress, limited by the
	 * profile's replay_entries */
	ENGINE_QUOTA_REPLAYS,
	ENGINE_QUOTAS
};

/* How many units of each resource are held. */
struct engine_quota_use {
	uint64_t n[ENGINE_QUOTAS];
};

/* Returns whether a connection may take 'need' of the 'free' units of a pool. The connection holds
 * 'conn' units, and its peer holds 'peer' units, which include 'conn'. */
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
