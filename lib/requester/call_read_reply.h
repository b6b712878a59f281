/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_READ_REPLY_H
#define CALL_READ_REPLY_H

/* How a reply is read: the types that describe a received message and its contents, and the checks
 * that both call.c and call_fast.c need. */

#include "compiler.h"
#include "requester.h"
#include "rpc_msg.h"
#include "seeded_bugs.h"

/* A message that conn_protocol.receive_reply() has decoded. The comments say for which result of
 * that function the members are set. */
struct reply_in {
	/* REPLY_MESSAGE: the header, if the verdict is RDMA1_V_OK */
	struct rdma1_header hdr;
	enum rdma1_verdict verdict;
	/* REPLY_GROUP: the call of the reply; REPLY_REFUSED: the call that is refused */
	struct weir_call *call;
	/* REPLY_GROUP: the chain of all transmissions, and the length of the first one */
	struct mem_buf *chain;
	uint32_t chain_bytes;
};

/* The maximum number of parts of a reply: one for each of its transmissions, one for each result,
 * and one more where a result divides a transmission. */
#define CALL_REPLY_PARTS_MAX (16u + 2 * CALL_ITEMS_MAX)

/* The contents of a sound reply, which 'done' gets by struct weir_result. */
struct call_content {
	struct weir_xdr_in in; /* decoder of the RPC reply */
	uint32_t item_bytes[CALL_ITEMS_MAX];
	struct weir_rpc_reply_header reply;
	struct weir_xdr_part parts[CALL_REPLY_PARTS_MAX]; /* for a reply of several transmissions */
};

/* Checks a reply whose header 'hdr' was accepted, and sets *result, with which the call ends.
 * *result points to *content. Returns false if the reply is not sound: it must then be dropped, and
 * the call waits for another reply. */
bool call_read_reply(struct weir_call *call, const struct rdma1_header *hdr, const uint8_t *msg,
		     uint32_t len, struct call_content *content, struct weir_result *result);

/* Gives back the credits of a call whose reply was accepted, and accepts the grant of the reply. */
static inline void call_accept_grant(struct requester *req, const struct weir_call *call,
				     const struct rdma1_header *hdr)
{
	if (unlikely(call->has_extra) && call->more > 0)
		credit_lost(&req->credits, call->more);
	if (!(SEEDED_BUG(5) && call->state == CALL_ZOMBIE) &&
	    !credit_reply(&req->credits, hdr->credit))
		req->conn->ep.engine->stats.zero_grants++;
}

/* Returns whether 'seg', a segment of a reply, is the segment that the call offered, and is not
 * longer. The call must have offered one Write chunk of one segment. */
static inline bool call_is_one_offered(const struct weir_call *call,
				       const struct rdma1_segment *seg)
{
	return seg->handle == call->results[0].remote.rkey &&
	       seg->offset == call->results[0].remote.raddr &&
	       seg->length <= call->results[0].remote.len;
}

#endif
