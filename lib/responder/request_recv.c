/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks a received message once and in full (RFC 8166 section 4.5). */
#include "request.h"

#include "compiler.h"

/* Checks a message with chunks or of a form that the fast checks do not accept. */
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
	request_count_refused(engine, reason);
	if (verdict == RDMA1_V_DROP)
		return REQUEST_DROP;
	return verdict == RDMA1_V_ERR_VERS ? REQUEST_ERR_VERS : REQUEST_ERR_CHUNK;
}

/* Checks a message that is not a short one. The call of a READ has a Write chunk and no Read list.
 * The call of a WRITE has a Read list. */
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
