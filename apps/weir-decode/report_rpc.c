/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports the headers of RPC calls and replies (RFC 5531), which are the same after any transport
 * header.
 */
#include "report.h"
#include "rpc_msg.h"

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

static void report_auth_sys(struct emit *e, const struct weir_rpc_auth *auth)
{
	struct weir_rpc_auth_sys sys;

	if (weir_rpc_auth_sys_decode(auth, &sys) != 0) {
		emit_none(e, "auth_sys"); /* the body of the credential or verifier is not a valid
					     AUTH_SYS body */
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

/*
 * Reports the authentication of a call. 'rc' is above 0 if the authentication is invalid. 'rc' is
 * then the auth_stat of the AUTH_ERROR that the engine answers, and only this auth_stat is
 * reported.
 */
static void report_call_auth(struct emit *e, const struct weir_rpc_call_header *hdr, int rc)
{
	if (rc > 0) {
		emit_string(e, "auth_error",
			    name_in(auth_stats, COUNT_OF(auth_stats), (uint32_t)rc));
		return;
	}
	report_auth(e, "cred", &hdr->cred);
	report_auth(e, "verf", &hdr->verf);
	emit_bool(e, "may_reduce", !rpc_auth_forbids_reduction(&hdr->cred));
}

static int report_call(struct emit *e, struct weir_xdr_in *in)
{
	struct weir_rpc_call_header hdr;
	int rc = rpc_call_decode(in, &hdr);

	if (rc < 0)
		return rc;
	emit_object(e, "rpc");
	emit_string(e, "type", "CALL");
	emit_hex(e, "xid", hdr.xid, 8);
	emit_u64(e, "rpcvers", hdr.rpcvers);
	if (hdr.rpcvers == WEIR_RPC_VERSION) {
		emit_u64(e, "prog", hdr.prog);
		emit_u64(e, "vers", hdr.vers);
		emit_u64(e, "proc", hdr.proc);
		report_call_auth(e, &hdr, rc);
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
		emit_string(e, "accept_stat",
			    name_in(accept_stats, COUNT_OF(accept_stats), hdr.accept_stat));
		if (hdr.accept_stat == WEIR_RPC_PROG_MISMATCH)
			report_range(e, &hdr);
	} else {
		emit_string(e, "reject_stat",
			    name_in(reject_stats, COUNT_OF(reject_stats), hdr.reject_stat));
		if (hdr.reject_stat == WEIR_RPC_MISMATCH)
			report_range(e, &hdr);
		else
			emit_string(e, "auth_stat",
				    name_in(auth_stats, COUNT_OF(auth_stats), hdr.auth_stat));
	}
	return 0;
}

void report_rpc(struct emit *e, const uint8_t *msg, uint32_t len, enum rdma1_direction direction)
{
	struct weir_xdr_in in;
	int rc;

	weir_xdr_in_init(&in, msg, len);
	rc = direction == RDMA1_CALL ? report_call(e, &in) : report_reply(e, &in);
	if (rc != 0) {
		emit_object(e, "rpc");
		emit_string(e, "error",
			    direction == RDMA1_CALL ? "not an RPC call header"
						    : "not an RPC reply header");
	} else {
		emit_u64(e, "inline_bytes_after", weir_xdr_remaining(&in));
	}
	emit_close(e);
}

bool is_rpc_header(const uint8_t *msg, uint32_t len, enum rdma1_direction direction)
{
	struct weir_rpc_reply_header reply;
	struct weir_rpc_call_header call;
	struct weir_xdr_in in;

	weir_xdr_in_init(&in, msg, len);
	return direction == RDMA1_CALL ? rpc_call_decode(&in, &call) >= 0
				       : rpc_reply_decode(&in, &reply) == 0;
}
