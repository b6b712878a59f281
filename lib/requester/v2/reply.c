/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages to a requester that may speak version 2, except those of the extension. call.c handles
 * replies and errors like those of version 1. This file handles properties, and messages that
 * draft-cel-nfsv4-rpcrdma-version-two-03 requires every receiver to answer. A call in reverse
 * direction is dropped, because the properties of this side say that it accepts none.
 */
#include "call_ext.h"

#include "compiler.h"
#include "rdma2.h"

/* Processes properties of the peer. Returns REPLY_SHRUNK if the peer accepts only shorter messages
 * than before, otherwise REPLY_NONE. */
static enum reply_kind on_properties(struct weir_conn *conn, const struct rdma2_header *hdr)
{
	uint32_t before = conn->send_inline;

	conn_on_properties(conn, hdr);
	return conn->send_inline < before ? REPLY_SHRUNK : REPLY_NONE;
}

static bool is_properties(uint32_t proc)
{
	return proc >= RDMA2_CONNPROP && proc <= RDMA2_UPDPROP;
}

enum reply_kind requester_receive_other(struct weir_conn *conn, enum rdma2_verdict verdict,
					const struct rdma2_header *hdr)
{
	if (verdict == RDMA2_V_DROP)
		return REPLY_MESSAGE;
	if (verdict == RDMA2_V_OK && is_properties(hdr->lists.proc))
		return on_properties(conn, hdr);
	if (verdict == RDMA2_V_OK &&
	    (hdr->lists.proc != RDMA2_OPTIONAL || hdr->direction != RDMA1_CALL))
		return REPLY_MESSAGE;
	conn_send_error(conn, hdr,
			verdict == RDMA2_V_OK ? RDMA2_ERR_INVAL_OPTION
					      : rdma2_verdict_err(verdict));
	return REPLY_NONE;
}

/* Returns whether the message is the answer to the RDMA2_CONNPROP by which this side asked for
 * version 2. The answer is late, because version 1 was already chosen. */
static bool is_late_answer(const struct weir_conn *conn, const struct mem_buf *buf, uint32_t len)
{
	struct rdma2_header hdr;
	uint32_t reason;

	return rdma2_decode(buf->data, len, &conn->ep.engine->limits, &hdr, &reason) ==
		       RDMA2_V_OK &&
	       hdr.lists.xid == conn->v2->xid &&
	       (hdr.lists.proc == RDMA2_CONNPROP || hdr.lists.proc == RDMA2_ERROR);
}

/* A responder refuses a call if it does not know the operation of the call, or knows it by another
 * number: the draft has two tables of operation numbers (draft-dnoveck-nfsv4-rpcrdma-rtrext-01
 * sections 9.1 and 9.2). Therefore later calls use the number of the other table. If the responder
 * also refuses that number, the extension is no longer used. */
bool requester_is_refusal(struct weir_conn *conn, struct reply_in *in)
{
	const struct rdma1_header *hdr = &in->hdr;
	struct weir_call *call = call_find(requester_of(conn), hdr->xid);
	struct conn_v2 *v2 = conn->v2;

	if (hdr->proc != RDMA2_ERROR || hdr->err != RDMA2_ERR_INVAL_OPTION || !call ||
	    !call->extension)
		return false;
	if (v2->rtr_base == call->extension && v2->rtr_base == RTR_BASE_TABLE) {
		v2->rtr_base = RTR_BASE_XDR;
	} else if (v2->rtr_base == call->extension) {
		v2->is_extension_refused = true;
		v2->extends = v2->directs = v2->asks = false;
	}
	in->call = call;
	return true;
}

bool requester_receive_v1(struct weir_conn *conn, const struct mem_buf *buf, uint32_t len,
			  struct reply_in *in)
{
	bool is_late = conn->v2->is_late && is_late_answer(conn, buf, len);
	enum rdma1_reason reason;

	conn->v2->is_late &= !is_late;
	in->verdict = rdma1_decode(buf->data, len, RDMA1_REPLY, &conn->ep.engine->limits, &in->hdr,
				   &reason);
	return is_late;
}
