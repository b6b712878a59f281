/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_DIRECTIONS_H
#define RTR_DIRECTIONS_H

/*
 * Response direction control (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 7.4): which direction
 * of a request is for which result, what a responder does with it, and what a requester makes of
 * the answer.
 */

#include "rtr.h"

#define RTR_DIRECT_SETS_MAX 32u

/* The directions of one request, as far as its results have used them up. */
struct rtr_directions {
	const struct rtr_header *request;
	uint32_t used[RTR_DIRECT_SETS_MAX];
};

/* An accepted XMTREQ of at most RTR_DIRECT_SETS_MAX sets, which stays as long as this. -E2BIG: it
 * has more. */
int rtr_directions_init(struct rtr_directions *direct, const struct rtr_header *request);

/* The direction for the next result of what the request has at 'position': its displacement in the
 * whole request of the operation that yields the result. *index is its place among all directions
 * of the request, which is where the reply's entry about it stands. False: the result goes inline,
 * and no entry is about it. */
bool rtr_directions_next(struct rtr_directions *direct, uint32_t position, struct rtr_rsditem *item,
			 uint32_t *index);

/* How many directions, thus entries of the reply, there are. */
uint32_t rtr_directions_count(const struct rtr_header *request);

/* What to do with a result of 'length' bytes: RTR_EXRW, RTR_TBSN, RTR_TOOSHORT (inline), or 0:
 * there is no way that the direction allows, to be answered by RDMA2_ERR_REPLY_RESOURCE.
 * 'can_place': it can be sent by TBSN; 'prefers_exrw': what to do where the choice is free. */
uint32_t rtr_directions_choose(const struct rtr_rsditem *item, uint32_t length, bool can_place,
			       bool prefers_exrw);

/* A requester's view of an entry of the reply (Table 2): may 'got' answer 'asked'? Then
 * *deregisters says whether memory was named to the peer that now has to be deregistered. */
bool rtr_directions_result(enum rtr_type asked, enum rtr_type got, bool *deregisters);

#endif
