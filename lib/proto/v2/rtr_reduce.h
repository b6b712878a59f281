/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_REDUCE_H
#define RTR_REDUCE_H

/*
 * The reducer for the extension's operations (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 sections 7.3
 * and 7.4): what the base protocol has in Read chunks are items of Transmit Request, each by its
 * displacement, which is what a chunk's position is; what it has in Write chunks are directions for
 * results, each answered by an entry of Transmit Response. Other than a Write chunk, a direction
 * has a minimum: shorter results come inline. What is left of the payload goes in as many
 * transmissions as there may be; displacements are of the whole message (section 6.2).
 *
 * Items and results go by explicit RDMA, or lie in targets of the receiver's buffers, of all
 * transmissions: then in those of rtr_layout_plan(), each from a target of its own on, in their
 * order.
 */

#include "reduce.h"
#include "rtr_directions.h"
#include "rtr_group.h"
#include "rtr_place.h"

/* ---- calls ---- */

struct rtr_reduce_call {
	/* its thresholds are those of whole messages, headers included */
	const struct reduce_call_in *in;
	const struct reduce_call_plan *plan; /* by reduce_call_plan(): not LONG, without a Reply
						chunk, and something is reduced or to be placed */
	uint32_t min_bytes;		     /* shorter results are to come inline; 0: none */
	uint32_t base;			     /* RTR_BASE_* */
	/* Of the items, which are those that the plan reduces: they are placed so; NULL: they are
	 * to be read. */
	const struct rtr_layout *layout;
	/* What is asked for results that have memory; 0 is RTR_EXRW. With RTR_TBSN no memory is
	 * named. */
	enum rtr_type results_by;
	uint32_t dsdov;	      /* with RTR_BYSIZE: results up to this come by Send */
	uint32_t own_targets; /* with RTR_TBSN and RTR_BYSIZE: of this side's, that results may take
			       */
	/* For several transmissions: how the payload is split over them, and their number; NULL and
	 * 0: there is one. */
	const struct rtr_split *split;
	uint32_t count;
	uint32_t reply_count; /* that the reply may have; 0: one */
};

/* The header's length; 0: header and payload, or the longest reply's, are too long for one
 * transmission. */
uint32_t rtr_reduce_call_size(const struct rtr_reduce_call *call);

/* The same, of the first of as many transmissions as it takes. */
uint32_t rtr_reduce_call_header(const struct rtr_reduce_call *call);

/* The longest reply: the header of its first transmission, and its payload, which results in
 * targets are no part of. */
void rtr_reduce_reply_max(const struct rtr_reduce_call *call, uint32_t *header_bytes,
			  uint64_t *payload_bytes);

/* Write the header, of rtr_reduce_call_header() bytes, with a set for each range that results have:
 * one, the whole call, where none is of an operation. */
void rtr_reduce_call_encode(const struct rtr_reduce_call *call, uint32_t xid, uint32_t credit,
			    uint8_t *buf);

/* What an accepted Transmit Response says of the results that were offered, those with memory by
 * 'results_by': item_bytes has an entry for each, bytes that were written, 0 for one that does not
 * exist, or RTR_REDUCE_INLINE: it came with the reply, in a target or not, where nothing bounds it.
 * False: that is no answer to those directions. Where it says that its items lie, rtr_place()
 * judges. */
#define RTR_REDUCE_INLINE UINT32_MAX
bool rtr_reduce_results(const struct rtr_header *reply, const struct reduce_result *results,
			uint32_t nresults, enum rtr_type results_by, uint32_t *item_bytes);

/* ---- replies ---- */

struct rtr_reduce_reply {
	const struct rtr_header *request; /* as accepted, with at most RTR_DIRECT_SETS_MAX sets */
	const struct piece *pieces; /* an item without an lkey is one that does not exist: nothing
				       is placed for it */
	uint32_t npieces;
	uint32_t args_at; /* where in the request its arguments begin: what the pieces' 'op' counts
			     from */
	uint32_t inline_bytes; /* of a whole message */
	uint32_t credit;
	bool may_reduce;
	uint32_t first_xfer; /* list transfers from this one on */
	/* The requester's buffer, where results may be placed in its targets; NULL: they may not.
	 */
	const struct rtr_buffer *targets;
	uint32_t count_max; /* transmissions that it may have; 0: one */
};

/* What a reply is made of, besides what its plan says. */
struct rtr_reduce_form {
	uint32_t placed; /* which pieces, of those that the plan has as reduced, lie in targets */
	uint32_t count;	 /* transmissions */
	struct rtr_split split; /* of the payload over them */
};

/* As reduce_reply(): 0; -EMSGSIZE: it does not fit, or a direction leaves no way for its result;
 * -ENOSPC; -EINVAL. The plan's inline_bytes are of all transmissions. */
int rtr_reduce_reply(const struct rtr_reduce_reply *in, uint8_t *buf, uint32_t size,
		     struct reduce_xfer *xfers, uint32_t max_xfers, struct reduce_reply_plan *plan,
		     struct rtr_reduce_form *form);

#endif
