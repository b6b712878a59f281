/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds directions of a request for results, and applies Table 2 of draft-dnoveck-nfsv4-rpcrdma-
 * rtrext-01. */
#include "rtr_directions.h"

int rtr_directions_init(struct rtr_directions *direct, const struct rtr_header *request)
{
	*direct = (struct rtr_directions){.request = request};
	return request->nsets > RTR_DIRECT_SETS_MAX ? -E2BIG : 0;
}

/* Stores the n-th direction of a set, from 0 on, in *item. The set has more than n directions. */
static void nth(struct rtr_iter items, uint32_t n, struct rtr_rsditem *item)
{
	for (uint32_t i = 0; i <= n; i++)
		(void)rtr_rsditems_next(&items, item);
}

bool rtr_directions_next(struct rtr_directions *direct, uint32_t position, struct rtr_rsditem *item,
			 uint32_t *index)
{
	struct rtr_set set;
	struct rtr_iter it;

	*index = 0;
	rtr_sets_begin(direct->request, &it);
	for (uint32_t n = 0; rtr_sets_next(&it, &set); n++) {
		if (position >= set.begin && position < set.end) {
			if (direct->used[n] == set.items.left)
				return false;
			*index += direct->used[n];
			nth(set.items, direct->used[n]++, item);
			return true;
		}
		*index += set.items.left;
	}
	return false;
}

uint32_t rtr_directions_count(const struct rtr_header *request)
{
	uint32_t count = 0;
	struct rtr_set set;
	struct rtr_iter it;

	rtr_sets_begin(request, &it);
	while (rtr_sets_next(&it, &set))
		count += set.items.left;
	return count;
}

static bool has_room(struct rdma1_segment_iter segments, uint32_t length)
{
	struct rdma1_segment seg;
	uint64_t room = 0;

	while (rdma1_segments_next(&segments, &seg))
		room += seg.length;
	return room >= length;
}

uint32_t rtr_directions_choose(const struct rtr_rsditem *item, uint32_t length, bool can_place,
			       bool prefers_exrw)
{
	bool can_write = item->type != RTR_TBSN && has_room(item->segments, length);

	if (length < item->minlen)
		return RTR_TOOSHORT;
	switch (item->type) {
	case RTR_EXRW:
		return can_write ? RTR_EXRW : 0;
	/* If the responder cannot place the result, Table 2 permits only an inline result. */
	case RTR_TBSN:
		return can_place ? RTR_TBSN : RTR_TOOSHORT;
	case RTR_BYSIZE:
		prefers_exrw = length > item->dsdov;
		break;
	default:
		break;
	}
	if (can_write && (prefers_exrw || !can_place))
		return RTR_EXRW;
	return can_place ? RTR_TBSN : 0;
}

bool rtr_directions_result(enum rtr_type asked, enum rtr_type got, bool *deregisters)
{
	*deregisters = asked != RTR_TBSN;
	switch (got) {
	case RTR_EXRW:
		return asked != RTR_TBSN;
	case RTR_TBSN:
		/* For this answer, Table 2 does not require the requester to deregister memory.
		 * However, directions of the types CHOICE and BYSIZE have named memory. */
		return asked != RTR_EXRW;
	default:
		return true;
	}
}
