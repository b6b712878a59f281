/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_REDUCE_H
#define RTR_REDUCE_H

/*
 * The reducer for the operations of the extension (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 sections
 * 7.3 and 7.4). The extension replaces the chunks of the base protocol:
 *
 * - A Read chunk becomes an item of Transmit Request. Its displacement is the position of the
 *   chunk.
 * - A Write chunk becomes a direction for a result. An entry of Transmit Response answers each
 *   direction. Unlike a Write chunk, a direction has a minimum, and shorter results are sent
 *   inline.
 *
 * The rest of the payload goes in as many transmissions as are allowed. Displacements are offsets
 * in the whole message (section 6.2).
 *
 * Items and results go by explicit RDMA, or are placed in targets of the receiver's buffers, in any
 * transmission. rtr_layout_plan() chooses the targets. Each item starts in a target of its own, and
 * the items keep their order.
 */

#include "reduce.h"
#include "rtr_directions.h"
#include "rtr_group.h"
#include "rtr_place.h"

/* ---- calls ---- */

struct rtr_reduce_call {
	/* The thresholds of 'in' are those of whole messages, with headers. */
	const struct reduce_call_in *in;
	/* A plan by reduce_call_plan() that meets these conditions:
	 *
	 * - It is not LONG.
	 * - It has no Reply chunk.
	 * - Something is reduced or will be placed. */
	const struct reduce_call_plan *plan;
	uint32_t min_bytes; /* shorter results are sent inline; 0 means that there is no minimum */
	uint32_t base;	    /* RTR_BASE_* */
	/* The layout of the items that the plan reduces. NULL if the peer reads them by explicit
	 * RDMA. */
	const struct rtr_layout *layout;
	/* The placement that is requested for results with memory. 0 means RTR_EXRW. With RTR_TBSN
	 * no memory is named. */
	enum rtr_type results_by;
	uint32_t dsdov; /* for RTR_BYSIZE: results up to this size are placed by Send */
	/* For RTR_TBSN and RTR_BYSIZE: the number of targets of this side that results may take. */
	uint32_t own_targets;
	/* For several transmissions: the split of the payload, and the number of transmissions. For
	 * one transmission: NULL and 0. */
	const struct rtr_split *split;
	uint32_t count;
	uint32_t reply_count; /* transmissions that the reply may have; 0 means one */
};

/* Returns the length of the header. Returns 0 if header and payload of the call, or of the longest
 * reply, are too long for one transmission. */
uint32_t rtr_reduce_call_size(const struct rtr_reduce_call *call);

/* Returns the length of the header of the first transmission, for any number of transmissions. */
uint32_t rtr_reduce_call_header(const struct rtr_reduce_call *call);

/* Finds the size of the longest reply: the header of its first transmission, and its payload
 * without results in targets. */
void rtr_reduce_reply_max(const struct rtr_reduce_call *call, uint32_t *header_bytes,
			  uint64_t *payload_bytes);

/* Writes the header, which has rtr_reduce_call_header() bytes. It has a set for each range that
 * results have. If no result belongs to an operation, one set has the range of the whole call. */
void rtr_reduce_call_encode(const struct rtr_reduce_call *call, uint32_t xid, uint32_t credit,
			    uint8_t *buf);

/* Checks the results in an accepted Transmit Response against the results that were offered. The
 * results with memory were offered by 'results_by'. item_bytes has an entry for each result:
 *
 * - the number of bytes that were written
 * - 0 if the result does not exist
 * - RTR_REDUCE_INLINE if the result is in the reply, in a target or not. Its size is not limited.
 *
 * Returns false if the response does not answer these directions. rtr_place() checks the positions
 * of placed results. */
#define RTR_REDUCE_INLINE UINT32_MAX
bool rtr_reduce_results(const struct rtr_header *reply, const struct reduce_result *results,
			uint32_t nresults, enum rtr_type results_by, uint32_t *item_bytes);

/* ---- replies ---- */

struct rtr_reduce_reply {
	const struct rtr_header *request; /* accepted, with at most RTR_DIRECT_SETS_MAX sets */
	/* The pieces of the reply. An item without an lkey does not exist, and nothing is placed
	 * for it. */
	const struct piece *pieces;
	uint32_t npieces;
	/* Offset of the arguments in the request. The member 'op' of a piece is relative to it. */
	uint32_t args_at;
	uint32_t inline_bytes; /* the reply inline threshold of a whole message */
	uint32_t credit;
	bool may_reduce;
	uint32_t first_xfer; /* index of the first transfer to list */
	/* The structure of the requester's buffer, if results may be placed in its targets, and
	 * otherwise NULL. */
	const struct rtr_buffer *targets;
	uint32_t count_max; /* transmissions that the reply may have; 0 means one */
};

/* The form of a reply, which adds to its plan. */
struct rtr_reduce_form {
	uint32_t placed; /* Bit i is set if piece i, which is reduced in the plan, is placed in
			    targets. */
	uint32_t count;	 /* number of transmissions */
	struct rtr_split split; /* split of the payload over the transmissions */
};

/* Does what reduce_reply() does, for the extension. The plan's inline_bytes are those of all
 * transmissions. Returns 0, or one of these errors:
 *
 * - -EMSGSIZE: the reply does not fit, or a direction allows no way for its result.
 * - -ENOSPC: 'buf' is too small.
 * - -EINVAL: the pieces or the request are not valid. */
int rtr_reduce_reply(const struct rtr_reduce_reply *in, uint8_t *buf, uint32_t size,
		     struct reduce_xfer *xfers, uint32_t max_xfers, struct reduce_reply_plan *plan,
		     struct rtr_reduce_form *form);

#endif
