/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the transport header of a received message of version 1, once and in full (RFC 8166
 * section 4.5). */
#include "request.h"

#include "compiler.h"

/* Checks a message with chunks, or with a header that the fast checks do not accept. Returns BEGIN,
 * DROP, ERR_VERS or ERR_CHUNK. */
static out_of_line enum request_next judge_listed(struct weir_request *req,
						  struct weir_engine *engine)
{
	enum rdma1_verdict verdict;
	enum rdma1_reason reason;

	verdict = rdma1_decode_chunked(req->msg->data, req->msg_bytes, RDMA1_CALL, &engine->limits,
				       &req->hdr, &reason);
	if (likely(verdict == RDMA1_V_OK)) {
		req->flags.can_reply_fast = true;
		return REQUEST_BEGIN;
	}
	request_note_invalid(req, reason);
	if (verdict == RDMA1_V_DROP)
		return REQUEST_DROP;
	return verdict == RDMA1_V_ERR_VERS ? REQUEST_ERR_VERS : REQUEST_ERR_CHUNK;
}

/* Checks a message whose lists are not all empty. It is most often an NFS READ, whose call has a
 * Write chunk and no Read list, or an NFS WRITE, whose call has a Read list. Returns SHAPED if the
 * message has only one Write chunk of one segment, otherwise the result of judge_listed(). */
static out_of_line enum request_next judge_chunked(struct weir_request *req,
						   struct weir_engine *engine)
{
	const uint8_t *msg = req->msg->data;

	if (req->msg_bytes < RDMA1_HEADER_MIN || wire_raw_u32(msg + RDMA1_FIXED_SIZE) != 0 ||
	    !rdma1_is_one_write_msg(msg, req->msg_bytes, RDMA1_CALL, &engine->limits))
		return judge_listed(req, engine);
	rdma1_decode_one_write_msg(msg, &req->hdr);
	req->flags.can_reply_fast = true;
	return REQUEST_SHAPED;
}

enum request_next request_judge(struct weir_request *req)
{
	const uint8_t *msg = req->msg->data;

	if (unlikely(!rdma1_is_short(msg, req->msg_bytes, RDMA1_CALL)))
		return judge_chunked(req, req->responder->engine);
	rdma1_decode_short(msg, &req->hdr);
	req->flags = (struct request_flags){.can_reply_fast = true, .is_short = true};
	return REQUEST_SHAPED;
}
