/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_READ_REPLY_H
#define CALL_READ_REPLY_H

#include "compiler.h"
#include "requester.h"
#include "rpc_msg.h"
#include "seeded_bugs.h"

/* A message that conn_protocol.receive_reply() has examined. */
struct reply_in {
	/* MESSAGE: */
	struct rdma1_header hdr;
	enum rdma1_verdict verdict;
	/* GROUP, REFUSED: */
	struct weir_call *call;
	/* GROUP: all transmissions, and the length of the first one */
	struct mem_buf *chain;
	uint32_t chain_bytes;
};

/* The maximum number of parts of a reply: its transmissions, its results, and the parts between
 * results. */
#define CALL_REPLY_PARTS_MAX (16u + 2 * CALL_ITEMS_MAX)

/* The contents of a sound reply for the application. */
struct call_content {
	struct weir_xdr_in in;
	uint32_t item_bytes[CALL_ITEMS_MAX];
	struct weir_rpc_reply_header reply;
	struct weir_xdr_part parts[CALL_REPLY_PARTS_MAX]; /* for a reply of several transmissions */
};

/* Checks a reply, and sets the result with which the call ends. 'result' may point to 'content'.
 * Returns false if the reply is not sound and must be dropped. */
bool call_read_reply(struct weir_call *call, const struct rdma1_header *hdr, const uint8_t *msg,
		     uint32_t len, struct call_content *content, struct weir_result *result);

/* Gives back the credits of a call whose reply was accepted, and accepts the new grant. */
static inline void call_take_credits(struct requester *req, const struct weir_call *call,
				     const struct rdma1_header *hdr)
{
	if (unlikely(call->has_extra) && call->more > 0)
		credit_lost(&req->credits, call->more);
	if (!(SEEDED_BUG(5) && call->state == CALL_ZOMBIE) &&
	    !credit_reply(&req->credits, hdr->credit))
		req->conn->ep.engine->stats.zero_grants++;
}

/* Returns whether 'seg' is the segment that the call offered, and is not longer. The call must have
 * offered one Write chunk of one segment. */
static inline bool call_is_one_offered(const struct weir_call *call,
				       const struct rdma1_segment *seg)
{
	return seg->handle == call->results[0].remote.rkey &&
	       seg->offset == call->results[0].remote.raddr &&
	       seg->length <= call->results[0].remote.len;
}

#endif
