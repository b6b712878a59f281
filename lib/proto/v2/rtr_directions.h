/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_DIRECTIONS_H
#define RTR_DIRECTIONS_H

/*
 * Response direction control (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 7.4). These functions
 * find the direction of a request for each result, choose what a responder does with the result,
 * and check the answer for a requester.
 */

#include "rtr.h"

#define RTR_DIRECT_SETS_MAX 32u

/* The directions of one request, and the number of directions of each set that results have used.
 */
struct rtr_directions {
	const struct rtr_header *request;
	uint32_t used[RTR_DIRECT_SETS_MAX];
};

/* Initialises 'direct' for an accepted XMTREQ, which must stay valid as long as 'direct'. Returns
 * 0, or -E2BIG if the request has more than RTR_DIRECT_SETS_MAX sets. */
int rtr_directions_init(struct rtr_directions *direct, const struct rtr_header *request);

/* Finds the direction for the next result of the operation at 'position', which is the operation's
 * displacement in the whole request. *index is the index of the direction among all directions of
 * the request. The entry of the reply for this direction has the same index. Returns false if there
 * is no direction. Then the result goes inline, and the reply has no entry for it. */
bool rtr_directions_next(struct rtr_directions *direct, uint32_t position, struct rtr_rsditem *item,
			 uint32_t *index);

/* Returns the number of directions of the request, which is the number of entries of the reply. */
uint32_t rtr_directions_count(const struct rtr_header *request);

/* Chooses how a result of 'length' bytes is sent. 'can_place' says whether it can be sent by TBSN.
 * 'prefers_exrw' is the choice where the direction leaves both open. Returns:
 *
 * - RTR_EXRW or RTR_TBSN
 * - RTR_TOOSHORT: inline
 * - 0: the direction allows no way; the caller answers with RDMA2_ERR_REPLY_RESOURCE */
uint32_t rtr_directions_choose(const struct rtr_rsditem *item, uint32_t length, bool can_place,
			       bool prefers_exrw);

/* Returns whether an entry of type 'got' in a reply may answer a direction of type 'asked' (Table
 * 2). If it may, *deregisters says whether the requester named memory to the peer that must be
 * deregistered. */
bool rtr_directions_result(enum rtr_type asked, enum rtr_type got, bool *deregisters);

#endif
