/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include "rpc_msg.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static const char *name_in(const char *const *names, size_t n, uint32_t value)
{
	return value < n && names[value] ? names[value] : "unknown";
}

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

static const char *const flavors[] = {
	[WEIR_RPC_AUTH_NONE] = "AUTH_NONE",   [WEIR_RPC_AUTH_SYS] = "AUTH_SYS",
	[WEIR_RPC_AUTH_SHORT] = "AUTH_SHORT", [WEIR_RPC_AUTH_DH] = "AUTH_DH",
	[WEIR_RPC_AUTH_GSS] = "RPCSEC_GSS",   [WEIR_RPC_AUTH_TLS] = "AUTH_TLS",
};

static const char *const reply_stats[] = {
	[WEIR_RPC_MSG_ACCEPTED] = "MSG_ACCEPTED",
	[WEIR_RPC_MSG_DENIED] = "MSG_DENIED",
};

static const char *const accept_stats[] = {
	[WEIR_RPC_SUCCESS] = "SUCCESS",
	[WEIR_RPC_PROG_UNAVAIL] = "PROG_UNAVAIL",
	[WEIR_RPC_PROG_MISMATCH] = "PROG_MISMATCH",
	[WEIR_RPC_PROC_UNAVAIL] = "PROC_UNAVAIL",
	[WEIR_RPC_GARBAGE_ARGS] = "GARBAGE_ARGS",
	[WEIR_RPC_SYSTEM_ERR] = "SYSTEM_ERR",
};

static const char *const reject_stats[] = {
	[WEIR_RPC_MISMATCH] = "RPC_MISMATCH",
	[WEIR_RPC_AUTH_ERROR] = "AUTH_ERROR",
};

static const char *const auth_stats[] = {
	[WEIR_RPC_AUTH_OK] = "AUTH_OK",
	[WEIR_RPC_AUTH_BADCRED] = "AUTH_BADCRED",
	[WEIR_RPC_AUTH_REJECTEDCRED] = "AUTH_REJECTEDCRED",
	[WEIR_RPC_AUTH_BADVERF] = "AUTH_BADVERF",
	[WEIR_RPC_AUTH_REJECTEDVERF] = "AUTH_REJECTEDVERF",
	[WEIR_RPC_AUTH_TOOWEAK] = "AUTH_TOOWEAK",
	[WEIR_RPC_AUTH_INVALIDRESP] = "AUTH_INVALIDRESP",
	[WEIR_RPC_AUTH_FAILED] = "AUTH_FAILED",
	[WEIR_RPC_AUTH_KERB_GENERIC] = "AUTH_KERB_GENERIC",
	[WEIR_RPC_AUTH_TIMEEXPIRE] = "AUTH_TIMEEXPIRE",
	[WEIR_RPC_AUTH_TKT_FILE] = "AUTH_TKT_FILE",
	[WEIR_RPC_AUTH_DECODE] = "AUTH_DECODE",
	[WEIR_RPC_AUTH_NET_ADDR] = "AUTH_NET_ADDR",
	[WEIR_RPC_GSS_CREDPROBLEM] = "RPCSEC_GSS_CREDPROBLEM",
	[WEIR_RPC_GSS_CTXPROBLEM] = "RPCSEC_GSS_CTXPROBLEM",
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

/* ---- RPC header ---- */

static void report_auth_sys(struct emit *e, const struct weir_rpc_auth *auth)
{
	struct weir_rpc_auth_sys sys;

	if (weir_rpc_auth_sys_decode(auth, &sys) != 0) {
		emit_none(e, "auth_sys"); /* a body that is none */
		return;
	}
	emit_object(e, "auth_sys");
	emit_u64(e, "stamp", sys.stamp);
	emit_bytes(e, "machine_name", sys.name, sys.name_len_bytes);
	emit_u64(e, "uid", sys.uid);
	emit_u64(e, "gid", sys.gid);
	emit_list(e, "gids");
	for (uint32_t i = 0; i < sys.ngids; i++)
		emit_u64(e, NULL, sys.gids[i]);
	emit_close(e);
	emit_close(e);
}

static void report_auth(struct emit *e, const char *name, const struct weir_rpc_auth *auth)
{
	emit_object(e, name);
	emit_u64(e, "flavor", auth->flavor);
	emit_string(e, "flavor_name", name_in(flavors, COUNT_OF(flavors), auth->flavor));
	emit_u64(e, "body_bytes", auth->len_bytes);
	if (auth->flavor == WEIR_RPC_AUTH_SYS)
		report_auth_sys(e, auth);
	emit_close(e);
}

static int report_call(struct emit *e, struct weir_xdr_in *in)
{
	struct weir_rpc_call_header hdr;

	if (rpc_call_decode(in, &hdr) != 0)
		return -EBADMSG;
	emit_object(e, "rpc");
	emit_string(e, "type", "CALL");
	emit_hex(e, "xid", hdr.xid, 8);
	emit_u64(e, "rpcvers", hdr.rpcvers);
	if (hdr.rpcvers == WEIR_RPC_VERSION) {
		emit_u64(e, "prog", hdr.prog);
		emit_u64(e, "vers", hdr.vers);
		emit_u64(e, "proc", hdr.proc);
		report_auth(e, "cred", &hdr.cred);
		report_auth(e, "verf", &hdr.verf);
		emit_bool(e, "may_reduce", !rpc_auth_forbids_reduction(&hdr.cred));
	}
	return 0;
}

static void report_range(struct emit *e, const struct weir_rpc_reply_header *hdr)
{
	emit_u64(e, "low", hdr->low);
	emit_u64(e, "high", hdr->high);
}

static int report_reply(struct emit *e, struct weir_xdr_in *in)
{
	struct weir_rpc_reply_header hdr;

	if (rpc_reply_decode(in, &hdr) != 0)
		return -EBADMSG;
	emit_object(e, "rpc");
	emit_string(e, "type", "REPLY");
	emit_hex(e, "xid", hdr.xid, 8);
	emit_string(e, "reply_stat", name_in(reply_stats, COUNT_OF(reply_stats), hdr.reply_stat));
	if (hdr.reply_stat == WEIR_RPC_MSG_ACCEPTED) {
		report_auth(e, "verf", &hdr.verf);
		emit_string(e, "accept_stat", name_in(accept_stats, COUNT_OF(accept_stats), hdr.accept_stat));
		if (hdr.accept_stat == WEIR_RPC_PROG_MISMATCH)
			report_range(e, &hdr);
	} else {
		emit_string(e, "reject_stat", name_in(reject_stats, COUNT_OF(reject_stats), hdr.reject_stat));
		if (hdr.reject_stat == WEIR_RPC_MISMATCH)
			report_range(e, &hdr);
		else
			emit_string(e, "auth_stat", name_in(auth_stats, COUNT_OF(auth_stats), hdr.auth_stat));
	}
	return 0;
}

static void report_rpc(struct emit *e, const uint8_t *msg, uint32_t len, enum rdma1_direction direction)
{
	struct weir_xdr_in in;
	int rc;

	weir_xdr_in_init(&in, msg, len);
	rc = direction == RDMA1_CALL ? report_call(e, &in) : report_reply(e, &in);
	if (rc != 0) {
		emit_object(e, "rpc");
		emit_string(e, "error",
			    direction == RDMA1_CALL ? "not an RPC call header" : "not an RPC reply header");
	} else {
		emit_u64(e, "inline_bytes_after", weir_xdr_remaining(&in));
	}
	emit_close(e);
}

/* The RPC header is judged, too, where it came inline. A responder answers ERR_CHUNK when it is none of a call
 * (RFC 8166 section 4.5.2); a requester knows by the XID whose reply it is, and ends that call. */
static void judge_rpc(const uint8_t *msg, uint32_t len, enum rdma1_direction direction,
		      enum rdma1_verdict *verdict, enum rdma1_reason *reason)
{
	struct weir_rpc_reply_header reply;
	struct weir_rpc_call_header call;
	struct weir_xdr_in in;

	weir_xdr_in_init(&in, msg, len);
	if (direction == RDMA1_CALL ? rpc_call_decode(&in, &call) == 0 : rpc_reply_decode(&in, &reply) == 0)
		return;
	*reason = RDMA1_R_RPC_HEADER;
	if (direction == RDMA1_CALL)
		*verdict = RDMA1_V_ERR_CHUNK;
}

void report_message(struct emit *e, const uint8_t *msg, uint32_t len, enum rdma1_direction direction)
{
	enum rdma1_verdict verdict;
	enum rdma1_reason reason;
	struct rdma1_header hdr;
	bool accepted, has_rpc;

	verdict = rdma1_decode(msg, len, direction, &rdma1_limits_default, &hdr, &reason);
	accepted = verdict == RDMA1_V_OK;
	has_rpc = accepted && hdr.proc == RDMA1_MSG;
	if (has_rpc)
		judge_rpc(msg + hdr.header_bytes, len - hdr.header_bytes, direction, &verdict, &reason);
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
