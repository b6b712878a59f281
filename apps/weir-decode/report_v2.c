/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports messages of version 2, with the names of their fields in
 * draft-cel-nfsv4-rpcrdma-version-two-03.
 */
#include "report_v2.h"

static const char *const verdicts[] = {
	[RDMA2_V_OK] = "ok",
	[RDMA2_V_DROP] = "drop",
	[RDMA2_V_ERR_VERS] = "err_vers",
	[RDMA2_V_ERR_BAD_XDR] = "err_bad_xdr",
	[RDMA2_V_ERR_INVAL_PROC] = "err_inval_proc",
	[RDMA2_V_ERR_INVAL_OPTION] = "err_inval_option",
	[RDMA2_V_ERR_SYSTEM] = "err_system",
};

static const char *const procs[] = {
	[RDMA2_MSG] = "RDMA2_MSG",	     [RDMA2_NOMSG] = "RDMA2_NOMSG",
	[RDMA2_ERROR] = "RDMA2_ERROR",	     [RDMA2_OPTIONAL] = "RDMA2_OPTIONAL",
	[RDMA2_CONNPROP] = "RDMA2_CONNPROP", [RDMA2_REQPROP] = "RDMA2_REQPROP",
	[RDMA2_RESPROP] = "RDMA2_RESPROP",   [RDMA2_UPDPROP] = "RDMA2_UPDPROP",
};

static const char *const errors[] = {
	[RDMA2_ERR_VERS] = "RDMA2_ERR_VERS",
	[RDMA2_ERR_BAD_XDR] = "RDMA2_ERR_BAD_XDR",
	[RDMA2_ERR_REPLY_RESOURCE] = "RDMA2_ERR_REPLY_RESOURCE",
	[RDMA2_ERR_INVAL_PROC] = "RDMA2_ERR_INVAL_PROC",
	[RDMA2_ERR_INVAL_OPTION] = "RDMA2_ERR_INVAL_OPTION",
	[RDMA2_ERR_SYSTEM] = "RDMA2_ERR_SYSTEM",
};

/* A message and the result of its decoding. */
struct decoded {
	const uint8_t *msg;
	uint32_t len;
	struct rdma2_header hdr;
	struct rtr_header rtr;
	enum rdma2_verdict verdict;
	uint32_t reason;
	bool is_header;	  /* the header of the base protocol was accepted */
	bool is_rtr;	  /* the header of the extension rtrext-01 was accepted as well */
	uint32_t rpc_at;  /* offset of an RPC message in 'msg'; 0: the message contains none */
	uint32_t rpc_len; /* bytes of the RPC message in this transmission */
};

const char *direction_name(enum rdma1_direction direction)
{
	return direction == RDMA1_CALL ? "CALL" : "REPLY";
}

/* Sets 'rpc_at' and 'rpc_len' if the message contains an RPC message, or the start of one. */
static void find_rpc(struct decoded *d)
{
	if (d->is_header && d->hdr.lists.proc == RDMA2_MSG) {
		d->rpc_at = d->hdr.lists.header_bytes;
		d->rpc_len = d->len - d->rpc_at;
	} else if (d->is_rtr && d->rtr.op <= RTR_XMTRESP && d->rtr.pslen >= 8 &&
		   d->rtr.pslen <= d->rtr.room) {
		d->rpc_at = d->rtr.header_bytes;
		d->rpc_len = d->rtr.pslen;
	}
}

/*
 * Checks the RPC header and changes the reason and the verdict, as judge_rpc() does for version 1.
 * If a group of several transmissions carries the RPC message, the RPC header might continue in the
 * next transmission. An incomplete header of such a group is therefore not rejected.
 */
static void v2_judge_rpc(struct decoded *d)
{
	if (d->rpc_at == 0 || is_rpc_header(d->msg + d->rpc_at, d->rpc_len, d->hdr.direction) ||
	    (d->is_rtr && d->rtr.count > 1))
		return;
	d->reason = RDMA1_R_RPC_HEADER;
	if (d->hdr.direction == RDMA1_CALL)
		d->verdict = RDMA2_V_ERR_BAD_XDR;
}

static void v2_decode(struct decoded *d)
{
	d->verdict = rdma2_decode(d->msg, d->len, &rdma1_limits_default, &d->hdr, &d->reason);
	d->is_header = d->verdict == RDMA2_V_OK;
	if (d->is_header && d->hdr.lists.proc == RDMA2_OPTIONAL) {
		d->verdict = rtr_decode(d->msg, d->len, &d->hdr, &rtr_limits_default, &d->rtr,
					&d->reason);
		d->is_rtr = d->verdict == RDMA2_V_OK;
	}
	find_rpc(d);
	v2_judge_rpc(d);
}

static void report_segment(struct emit *e, const struct rdma1_segment *seg)
{
	emit_hex(e, "rdma_handle", seg->handle, 8);
	emit_u64(e, "rdma_length", seg->length);
	emit_hex(e, "rdma_offset", seg->offset, 16);
}

void report_segments2(struct emit *e, const char *name, struct rdma1_segment_iter segments)
{
	struct rdma1_segment seg;

	emit_list(e, name);
	while (rdma1_segments_next(&segments, &seg)) {
		emit_row(e, NULL);
		report_segment(e, &seg);
		emit_close(e);
	}
	emit_close(e);
}

static void report_chunks(struct emit *e, const struct rdma2_header *hdr)
{
	struct rdma1_segment_iter chunk;
	struct rdma1_write_iter writes;
	struct rdma1_read_segment read;
	struct rdma1_read_iter reads;

	emit_string(e, "rdma_direction", direction_name(hdr->direction));
	emit_hex(e, "rdma_inv_handle", hdr->inv_handle, 8);
	emit_bool(e, "may_invalidate", hdr->may_invalidate);
	rdma1_reads_begin(&hdr->lists, &reads);
	emit_list(e, "rdma_reads");
	while (rdma1_reads_next(&reads, &read)) {
		emit_row(e, NULL);
		emit_u64(e, "rdma_position", read.position);
		report_segment(e, &read.target);
		emit_close(e);
	}
	emit_close(e);
	rdma1_writes_begin(&hdr->lists, &writes);
	emit_list(e, "rdma_writes");
	while (rdma1_writes_next(&writes, &chunk))
		report_segments2(e, NULL, chunk);
	emit_close(e);
	rdma1_reply_begin(&hdr->lists, &chunk);
	if (hdr->lists.has_reply_chunk)
		report_segments2(e, "rdma_reply", chunk);
	else
		emit_none(e, "rdma_reply");
}

static void v2_report_error(struct emit *e, const struct rdma2_header *hdr)
{
	emit_u64(e, "rdma_err", hdr->lists.err);
	emit_string(e, "rdma_err_name", name_in(errors, COUNT_OF(errors), hdr->lists.err));
	if (hdr->lists.err == RDMA2_ERR_VERS) {
		emit_u64(e, "rdma_vers_low", hdr->lists.vers_low);
		emit_u64(e, "rdma_vers_high", hdr->lists.vers_high);
	} else if (hdr->lists.err == RDMA2_ERR_REPLY_RESOURCE) {
		emit_u64(e, "rdma_segment_index", hdr->segment_index);
		emit_u64(e, "rdma_length_needed", hdr->length_needed);
	}
}

static void report_optional(struct emit *e, const struct decoded *d)
{
	emit_string(e, "rdma_optdir", direction_name(d->hdr.direction));
	emit_u64(e, "rdma_opttype", d->hdr.opttype);
	emit_u64(e, "rdma_optinfo_bytes", d->hdr.optinfo_bytes);
	if (d->is_rtr)
		report_rtr(e, &d->rtr);
	else
		emit_none(e, "rdma_optinfo");
}

static void report_body(struct emit *e, const struct decoded *d)
{
	emit_u64(e, "header_bytes", d->hdr.lists.header_bytes);
	switch (d->hdr.lists.proc) {
	case RDMA2_MSG:
	case RDMA2_NOMSG:
		report_chunks(e, &d->hdr);
		break;
	case RDMA2_ERROR:
		v2_report_error(e, &d->hdr);
		break;
	case RDMA2_OPTIONAL:
		report_optional(e, d);
		break;
	default:
		report_properties(e, &d->hdr);
	}
}

bool report_version_2(struct emit *e, const uint8_t *msg, uint32_t len)
{
	struct decoded d = {.msg = msg, .len = len};

	if (len < RDMA2_FIXED_SIZE || wire_get_u32(msg + 4) != RDMA2_VERSION)
		return false;
	v2_decode(&d);
	emit_string(e, "verdict", verdicts[d.verdict]);
	emit_string(e, "reason", rdma2_reason_name(d.reason));
	emit_string(e, "reason_text", rdma2_reason_text(d.reason));
	emit_u64(e, "bytes", len);
	emit_object(e, "transport");
	emit_hex(e, "rdma_xid", d.hdr.lists.xid, 8);
	emit_u64(e, "rdma_vers", d.hdr.lists.vers);
	emit_u64(e, "rdma_credit", d.hdr.lists.credit);
	emit_u64(e, "rdma_proc", d.hdr.lists.proc);
	emit_string(e, "rdma_proc_name", name_in(procs, COUNT_OF(procs), d.hdr.lists.proc));
	if (d.is_header)
		report_body(e, &d);
	emit_close(e);
	if (d.rpc_at > 0)
		report_rpc(e, msg + d.rpc_at, d.rpc_len, d.hdr.direction);
	else
		emit_none(e, "rpc");
	return true;
}
