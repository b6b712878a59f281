/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes a message, and reports the transport header of version 1. */
#include "report.h"

static const char *const verdicts[] = {
	[RDMA1_V_OK] = "ok",
	[RDMA1_V_DROP] = "drop",
	[RDMA1_V_ERR_VERS] = "err_vers",
	[RDMA1_V_ERR_CHUNK] = "err_chunk",
};

static const char *const procs[] = {
	[RDMA1_MSG] = "RDMA_MSG",   [RDMA1_NOMSG] = "RDMA_NOMSG", [RDMA1_MSGP] = "RDMA_MSGP",
	[RDMA1_DONE] = "RDMA_DONE", [RDMA1_ERROR] = "RDMA_ERROR",
};

/* ---- transport header ---- */

static void report_segment_fields(struct emit *e, const struct rdma1_segment *seg)
{
	emit_hex(e, "handle", seg->handle, 8);
	emit_u64(e, "length", seg->length);
	emit_hex(e, "offset", seg->offset, 16);
}

static void report_segments(struct emit *e, const char *name, struct rdma1_segment_iter chunk)
{
	struct rdma1_segment seg;

	emit_list(e, name);
	while (rdma1_segments_next(&chunk, &seg)) {
		emit_row(e, NULL);
		report_segment_fields(e, &seg);
		emit_close(e);
	}
	emit_close(e);
}

static void report_lists(struct emit *e, const struct rdma1_header *hdr)
{
	struct rdma1_segment_iter chunk;
	struct rdma1_write_iter writes;
	struct rdma1_read_segment read;
	struct rdma1_read_iter reads;

	rdma1_reads_begin(hdr, &reads);
	emit_list(e, "read_list");
	while (rdma1_reads_next(&reads, &read)) {
		emit_row(e, NULL);
		emit_u64(e, "position", read.position);
		report_segment_fields(e, &read.target);
		emit_close(e);
	}
	emit_close(e);

	rdma1_writes_begin(hdr, &writes);
	emit_list(e, "write_list");
	while (rdma1_writes_next(&writes, &chunk))
		report_segments(e, NULL, chunk);
	emit_close(e);

	if (hdr->has_reply_chunk) {
		rdma1_reply_begin(hdr, &chunk);
		report_segments(e, "reply_chunk", chunk);
	} else {
		emit_none(e, "reply_chunk");
	}
	emit_u64(e, "read_bytes", hdr->read_bytes);
	emit_u64(e, "write_bytes", hdr->write_bytes);
}

static void report_error(struct emit *e, const struct rdma1_header *hdr)
{
	emit_string(e, "error", hdr->err == RDMA1_ERR_VERS ? "ERR_VERS" : "ERR_CHUNK");
	if (hdr->err == RDMA1_ERR_VERS) {
		emit_u64(e, "vers_low", hdr->vers_low);
		emit_u64(e, "vers_high", hdr->vers_high);
	}
}

static void report_transport(struct emit *e, const struct rdma1_header *hdr, bool accepted)
{
	emit_object(e, "transport");
	emit_hex(e, "xid", hdr->xid, 8);
	emit_u64(e, "vers", hdr->vers);
	emit_u64(e, "credit", hdr->credit);
	emit_u64(e, "proc", hdr->proc);
	emit_string(e, "proc_name", name_in(procs, COUNT_OF(procs), hdr->proc));
	if (accepted) {
		emit_u64(e, "header_bytes", hdr->header_bytes);
		if (hdr->proc == RDMA1_ERROR)
			report_error(e, hdr);
		else
			report_lists(e, hdr);
	}
	emit_close(e);
}

/*
 * Checks the RPC header that follows the transport header. If the header is not valid, changes
 * *reason, and for a call *verdict, to what the engine does. For an invalid call header, a
 * responder answers ERR_CHUNK (RFC 8166 section 4.5.2), or AUTH_ERROR if only the authentication is
 * invalid. For an invalid reply header, a requester finds the call by its XID and ends the call, so
 * the verdict stays the same.
 */
static void judge_rpc(const uint8_t *msg, uint32_t len, enum rdma1_direction direction,
		      enum rdma1_verdict *verdict, enum rdma1_reason *reason)
{
	if (is_rpc_header(msg, len, direction))
		return;
	*reason = RDMA1_R_RPC_HEADER;
	if (direction == RDMA1_CALL)
		*verdict = RDMA1_V_ERR_CHUNK;
}

static void report_version_1(struct emit *e, const uint8_t *msg, uint32_t len,
			     enum rdma1_direction direction)
{
	enum rdma1_verdict verdict;
	enum rdma1_reason reason;
	struct rdma1_header hdr;
	bool accepted, has_rpc;

	verdict = rdma1_decode(msg, len, direction, &rdma1_limits_default, &hdr, &reason);
	accepted = verdict == RDMA1_V_OK;
	has_rpc = accepted && hdr.proc == RDMA1_MSG;
	if (has_rpc)
		judge_rpc(msg + hdr.header_bytes, len - hdr.header_bytes, direction, &verdict,
			  &reason);
	emit_string(e, "verdict", verdicts[verdict]);
	emit_string(e, "reason", rdma1_reason_name(reason));
	emit_string(e, "reason_text", rdma1_reason_text(reason));
	emit_string(e, "direction", direction == RDMA1_CALL ? "call" : "reply");
	emit_u64(e, "bytes", len);
	if (len >= RDMA1_FIXED_SIZE)
		report_transport(e, &hdr, accepted);
	else
		emit_none(e, "transport");
	if (has_rpc)
		report_rpc(e, msg + hdr.header_bytes, len - hdr.header_bytes, direction);
	else
		emit_none(e, "rpc");
}

/*
 * The version of the message selects the decoder. The error ERR_VERS that a responder of version 1
 * sends has the same form in both versions.
 */
void report_message(struct emit *e, const uint8_t *msg, uint32_t len,
		    enum rdma1_direction direction)
{
	if (!report_version_2(e, msg, len))
		report_version_1(e, msg, len, direction);
}
