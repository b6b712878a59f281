/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_DIRECTIONS_H
#define RTR_DIRECTIONS_H

/*
 * Response direction control (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 7.4). A direction is an
 * xmddp_rsditem, by which a request says how one result should be sent. These functions find the
 * direction for each result and choose how a responder sends the result. They also check the answer
 * for a requester.
 */

#include "rtr.h"

#define RTR_DIRECT_SETS_MAX 32u

/* The directions of one request. used[i] is the number of directions of set i that were assigned to
 * results. */
struct rtr_directions {
	const struct rtr_header *request;
	uint32_t used[RTR_DIRECT_SETS_MAX];
};

/* Initialises 'direct' for an accepted XMTREQ, which must stay valid as long as 'direct' is in use.
 * Returns 0, or -E2BIG if the request has more than RTR_DIRECT_SETS_MAX sets. */
int rtr_directions_init(struct rtr_directions *direct, const struct rtr_header *request);

/* Finds the direction for the next result of the operation at 'position', which is the operation's
 * displacement in the whole request. Stores the direction in *item, and its index among all
 * directions of the request in *index. The entry of the reply for this direction has the same
 * index. Returns false if there is no direction. In this case the result is sent inline, and the
 * reply has no entry for it. */
bool rtr_directions_next(struct rtr_directions *direct, uint32_t position, struct rtr_rsditem *item,
			 uint32_t *index);

/* Returns the number of directions of the request, which is the number of entries of the reply. */
uint32_t rtr_directions_count(const struct rtr_header *request);

/*
 * Chooses how a result of 'length' bytes is sent. 'can_place' says whether a Send can place the
 * result in targets. 'prefers_exrw' says whether explicit RDMA is chosen if the direction permits
 * both. (For the type BYSIZE, the direction's dsdov decides instead.) Returns one of these values:
 *
 * - RTR_EXRW: by explicit RDMA
 * - RTR_TBSN: in targets, by a Send
 * - RTR_TOOSHORT: inline
 * - 0: the direction permits no possible way, and the caller answers with RDMA2_ERR_REPLY_RESOURCE
 */
uint32_t rtr_directions_choose(const struct rtr_rsditem *item, uint32_t length, bool can_place,
			       bool prefers_exrw);

/* Returns whether an entry of type 'got' in a reply is a permitted answer to a direction of type
 * 'asked' (Table 2). *deregisters is set to whether the direction named memory, which the requester
 * must deregister. */
bool rtr_directions_result(enum rtr_type asked, enum rtr_type got, bool *deregisters);

#endif
