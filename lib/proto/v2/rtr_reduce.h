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
 * The rest of the payload is sent in one or several transmissions, up to a limit. Displacements are
 * offsets in the whole message (section 6.2).
 *
 * Items and results are sent by explicit RDMA, or are placed in targets of the receiver's buffers,
 * in any transmission. rtr_layout_plan() chooses the targets. Each item starts in a target of its
 * own, and the items keep their order.
 */

#include "reduce.h"
#include "rtr_directions.h"
#include "rtr_group.h"
#include "rtr_place.h"

/* ---- calls ---- */

/* A call to encode, and the choices that were made for it. */
struct rtr_reduce_call {
	/* Its inline thresholds are those of whole messages, with headers. */
	const struct reduce_call_in *in;
	/* A plan by reduce_call_plan() that meets these conditions:
	 *
	 * - It is not LONG.
	 * - It has no Reply chunk.
	 * - Something is reduced or will be placed. */
	const struct reduce_call_plan *plan;
	uint32_t min_bytes; /* shorter results are sent inline; 0 means that there is no minimum */
	uint32_t base;	    /* RTR_BASE_* */
	/* The layout of the items that the plan reduces, in targets of the peer. NULL: the peer
	 * reads the items by explicit RDMA. */
	const struct rtr_layout *layout;
	/* The type of the directions for results with memory. 0 means RTR_EXRW. Directions of the
	 * type RTR_TBSN name no memory. */
	enum rtr_type results_by;
	uint32_t dsdov; /* for RTR_BYSIZE: results up to this size are placed by Send */
	/* For RTR_TBSN and RTR_BYSIZE: limit of the number of this side's targets that results
	 * take. */
	uint32_t own_targets;
	/* For several transmissions: the split of the payload, and the number of transmissions. For
	 * one transmission: NULL and 0. */
	const struct rtr_split *split;
	uint32_t count;
	uint32_t reply_count; /* limit of transmissions of the reply; 0 means one */
};

/* Returns the length of the header of a call in one transmission. Returns 0 if header and payload
 * of the call, or of the longest reply, are too long for one transmission. */
uint32_t rtr_reduce_call_size(const struct rtr_reduce_call *call);

/* Returns the length of the header of the first transmission, for any number of transmissions. */
uint32_t rtr_reduce_call_header(const struct rtr_reduce_call *call);

/* Finds the size of the longest reply: the header of its first transmission, and its payload
 * without results in targets. */
void rtr_reduce_reply_max(const struct rtr_reduce_call *call, uint32_t *header_bytes,
			  uint64_t *payload_bytes);

/* Writes the header of the first transmission, which has rtr_reduce_call_header() bytes. The header
 * has one set for each range of the results. A range that ends at 0 ends at the end of the call. */
void rtr_reduce_call_encode(const struct rtr_reduce_call *call, uint32_t xid, uint32_t credit,
			    uint8_t *buf);

/*
 * Checks the entries of an accepted Transmit Response against the 'nresults' results for which the
 * call had directions. 'results_by' is the type of the directions for results with memory. If the
 * entries are valid, the function returns true and sets item_bytes[i] for each result to one of
 * these values:
 *
 * - the number of bytes that were written
 * - 0: the result does not exist
 * - RTR_REDUCE_INLINE: the result is in the reply, in a target or not; its size is not checked
 *
 * Returns false if the entries do not answer the directions. rtr_place() checks the positions of
 * placed results.
 */
#define RTR_REDUCE_INLINE UINT32_MAX
bool rtr_reduce_results(const struct rtr_header *reply, const struct reduce_result *results,
			uint32_t nresults, enum rtr_type results_by, uint32_t *item_bytes);

/* ---- replies ---- */

struct rtr_reduce_reply {
	const struct rtr_header *request; /* accepted, with at most RTR_DIRECT_SETS_MAX sets */
	/* The pieces of the reply. An item whose lkey is 0 is a result that does not exist. */
	const struct piece *pieces;
	uint32_t npieces;
	/* Offset of the arguments in the request. The member 'op' of a piece is an offset in the
	 * arguments. */
	uint32_t args_at;
	uint32_t inline_bytes; /* the reply inline threshold of a whole message */
	uint32_t credit;       /* the grant */
	bool may_reduce;       /* false: all results are sent inline */
	uint32_t first_xfer;   /* index of the first transfer to list */
	/* The structure of the requester's buffers, if results can be placed in their targets.
	 * Otherwise NULL. */
	const struct rtr_buffer *targets;
	uint32_t count_max; /* limit of transmissions of the reply; 0 means one */
};

/* The parts of a reply's plan that struct reduce_reply_plan does not have. */
struct rtr_reduce_form {
	uint32_t placed; /* Bit i is set if piece i, which is reduced in the plan, is placed in
			    targets. */
	uint32_t count;	 /* number of transmissions */
	struct rtr_split split; /* split of the payload over the transmissions */
};

/*
 * Plans a reply, writes the header of its first transmission to 'buf', and lists its RDMA Writes,
 * like reduce_reply() for the base protocol. plan->inline_bytes counts the payload of all
 * transmissions. Returns 0, or one of these errors:
 *
 * - -EMSGSIZE: the reply does not fit, or a direction permits no way for its result.
 * - -ENOSPC: 'buf' is too small.
 * - -EINVAL: the pieces or the request are not valid.
 */
int rtr_reduce_reply(const struct rtr_reduce_reply *in, uint8_t *buf, uint32_t size,
		     struct reduce_xfer *xfers, uint32_t max_xfers, struct reduce_reply_plan *plan,
		     struct rtr_reduce_form *form);

#endif
