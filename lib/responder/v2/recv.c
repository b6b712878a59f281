/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the messages that arrive on a connection which can use version 2
 * (draft-cel-nfsv4-rpcrdma-version-two-03 section 6.2), and processes messages with properties.
 * Calls are then processed like those of version 1, with the additional contents of their
 * headers. */
#include "request_ext.h"

#include "compiler.h"
#include "wire.h"

#define VERS_AT 4u

/* Returns whether the message has version 1, and the profile allows this version. */
static bool is_version_1(const struct weir_request *req)
{
	enum weir_protocol protocol = req->responder->engine->profile.protocol;

	return protocol != WEIR_PROTOCOL_V2 && req->msg_bytes >= RDMA1_FIXED_SIZE &&
	       wire_get_u32(req->msg->data + VERS_AT) == RDMA1_VERSION;
}

/* Stores an error with the range of supported versions as its values. Returns REFUSED. */
static enum request_next reply_error(struct weir_request *req, enum rdma2_err err)
{
	uint32_t low, high;

	conn_v2_versions(req->responder->conn, &low, &high);
	return request_refuse_v2(req, err, low, high);
}

enum request_next request_judge_v2(struct weir_request *req, struct rdma2_header *hdr,
				   bool *breaks_group)
{
	struct weir_engine *engine = req->responder->engine;
	struct weir_conn *conn = req->responder->conn;
	enum rdma2_verdict verdict;
	uint32_t reason;

	if (is_version_1(req)) {
		if (unlikely(conn->v2->group.is_open))
			*breaks_group = conn_group_break(conn);
		if (conn->vers != RDMA1_VERSION)
			conn_set_version(conn, RDMA1_VERSION);
		return REQUEST_BASE;
	}
	verdict = rdma2_decode(req->msg->data, req->msg_bytes, &engine->limits, hdr, &reason);
	req->hdr = hdr->lists;
	req->inv_handle = 0;
	if (verdict != RDMA2_V_OK)
		*breaks_group = conn_group_break(conn);
	if (verdict == RDMA2_V_DROP)
		return REQUEST_DROP;
	if (hdr->lists.vers == RDMA2_VERSION && conn->vers != RDMA2_VERSION)
		conn_set_version(conn, RDMA2_VERSION);
	if (verdict == RDMA2_V_OK)
		return REQUEST_GO_ON;
	request_note_invalid_v2(req, reason);
	return reply_error(req, rdma2_verdict_err(verdict));
}

enum request_next request_accept_v2(struct weir_request *req, const struct rdma2_header *hdr)
{
	switch (hdr->lists.proc) {
	case RDMA2_MSG:
	case RDMA2_NOMSG:
		if (hdr->direction == RDMA1_REPLY)
			return REQUEST_DROP; /* dropped, because a responder makes no calls */
		req->inv_handle = hdr->may_invalidate ? hdr->inv_handle : 0;
		return REQUEST_BEGIN;
	case RDMA2_OPTIONAL: /* the connection has no extension */
		return hdr->direction == RDMA1_REPLY ? REQUEST_DROP
						     : reply_error(req, RDMA2_ERR_INVAL_OPTION);
	case RDMA2_ERROR:
		return REQUEST_DROP;
	default:
		conn_on_properties(req->responder->conn, hdr);
		return REQUEST_END;
	}
}
