/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides whether a call is allowed to take more of a pool. */
#include "holds.h"

bool holds_allow(const struct holds *holds, const struct holder *holder, uint32_t total,
		 uint32_t free, uint32_t need)
{
	uint64_t conn = 0, peer = 0, left;
	const struct hold *hold;

	if (need > free)
		return false;
	left = free - need;
	if (4 * (total - left) <= total)
		return true; /* the rule of holds.h is satisfied even if this connection holds
				everything that is in use */
	LIST_FOREACH(hold, holds, entry)
	{
		if (!client_key_equal(&hold->holder.client, &holder->client))
			continue;
		peer += hold->n;
		conn += hold->holder.conn == holder->conn ? hold->n : 0;
	}
	if (peer == 0)
		return true;
	peer += need;
	return peer <= left && (conn == 0 || conn + need <= 2 * (left - peer));
}
