/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes the header of a call, passes the call to the program, and encodes the reply's header. */
#include "oncrpc_server_call.h"

#include <arpa/inet.h>
#include <string.h>

#include "oncrpc_void.h"

static void reject_version(struct rpc_msg *reply)
{
	reply->rm_reply.rp_stat = MSG_DENIED;
	reply->rjcted_rply.rj_stat = RPC_MISMATCH;
	reply->rjcted_rply.rj_vers.low = RPC_MSG_VERSION;
	reply->rjcted_rply.rj_vers.high = RPC_MSG_VERSION;
}

static void reject_auth(struct rpc_msg *reply, enum auth_stat why)
{
	reply->rm_reply.rp_stat = MSG_DENIED;
	reply->rjcted_rply.rj_stat = AUTH_ERROR;
	reply->rjcted_rply.rj_why = why;
}

/* Checks a credential. Returns AUTH_OK, or the error for the reply (RFC 5531 section 9). */
static enum auth_stat check_auth(const struct weir_rpc_auth *auth)
{
	struct weir_rpc_auth_sys sys;

	if (auth->flavor == AUTH_SYS)
		return weir_rpc_auth_sys_decode(auth, &sys) == 0 ? AUTH_OK : AUTH_BADCRED;
	return auth->flavor == AUTH_NONE ? AUTH_OK : AUTH_REJECTEDCRED;
}

static void accept_reply(struct rpc_msg *reply)
{
	reply->rm_reply.rp_stat = MSG_ACCEPTED;
	reply->acpted_rply.ar_verf = _null_auth;
}

/* Sets the status of an accepted reply. The results are encoded already, behind the header. */
static void set_success(struct rpc_msg *reply)
{
	reply->acpted_rply.ar_stat = SUCCESS;
	reply->acpted_rply.ar_results.proc = (xdrproc_t)oncrpc_void;
}

void oncrpc_begin_results(struct oncrpc_server *tcp)
{
	weir_xdr_out_init(&tcp->results, tcp->reply + MARK_BYTES + WEIR_RPC_REPLY_HEADER_MIN,
			  ONCRPC_SERVER_REPLY_MAX - WEIR_RPC_REPLY_HEADER_MIN);
}

static enum accept_stat handle(struct oncrpc_server *tcp, struct conn *conn, uint32_t proc,
			       const struct weir_rpc_auth *auth, XDR *xdrs)
{
	struct weir_xdr_in args;
	const struct oncrpc_server_call call = {.id = ++tcp->calls,
						.proc = proc,
						.args = &args,
						.results = &tcp->results,
						.peer = &conn->peer,
						.auth = auth};
	const uint32_t at = xdr_getpos(xdrs);
	bool is_later = false;
	enum weir_rpc_accept_stat stat;

	/* All bytes after the header are arguments. */
	weir_xdr_in_init(&args, conn->in + at, conn->record_bytes - at);
	oncrpc_begin_results(tcp);
	stat = tcp->program.handle(tcp->program.arg, &call, &is_later);
	if (stat == WEIR_RPC_SUCCESS && is_later)
		conn->later = call.id;
	return (enum accept_stat)stat; /* libtirpc has the same numbers, which are of RFC 5531 */
}

/* Handles a call whose header is decoded. 'xdrs' is at the start of the arguments. Fills *reply. */
static void accept_call(struct oncrpc_server *tcp, struct conn *conn, const struct call_body *call,
			const struct weir_rpc_auth *auth, XDR *xdrs, struct rpc_msg *reply)
{
	accept_reply(reply);
	if (call->cb_prog != tcp->program.prog) {
		reply->acpted_rply.ar_stat = PROG_UNAVAIL;
	} else if (call->cb_vers != tcp->program.vers) {
		reply->acpted_rply.ar_stat = PROG_MISMATCH;
		reply->acpted_rply.ar_vers.low = tcp->program.vers;
		reply->acpted_rply.ar_vers.high = tcp->program.vers;
	} else {
		reply->acpted_rply.ar_stat = handle(tcp, conn, (uint32_t)call->cb_proc, auth, xdrs);
	}
	/* ar_results and ar_vers are members of one union, so only a success is allowed to set
	 * ar_results. */
	if (reply->acpted_rply.ar_stat == SUCCESS)
		set_success(reply);
}

bool oncrpc_answer(struct oncrpc_server *tcp, struct conn *conn, XDR *xdrs, struct rpc_msg *reply)
{
	char cred[MAX_AUTH_BYTES], verf[MAX_AUTH_BYTES];
	struct rpc_msg msg = {.rm_direction = REPLY, .rm_call.cb_rpcvers = RPC_MSG_VERSION};
	struct weir_rpc_auth auth;
	enum auth_stat why;

	msg.rm_call.cb_cred.oa_base = cred;
	msg.rm_call.cb_verf.oa_base = verf;
	if (!xdr_callmsg(xdrs, &msg) &&
	    (msg.rm_direction != CALL || msg.rm_call.cb_rpcvers == RPC_MSG_VERSION))
		return false;
	*reply = (struct rpc_msg){.rm_xid = msg.rm_xid, .rm_direction = REPLY};
	if (msg.rm_call.cb_rpcvers != RPC_MSG_VERSION) {
		reject_version(reply);
		return true;
	}
	auth = (struct weir_rpc_auth){(uint32_t)msg.rm_call.cb_cred.oa_flavor,
				      msg.rm_call.cb_cred.oa_length, (const uint8_t *)cred};
	why = check_auth(&auth);
	if (why != AUTH_OK)
		reject_auth(reply, why);
	else
		accept_call(tcp, conn, &msg.rm_call, &auth, xdrs, reply);
	return true;
}

struct rpc_msg oncrpc_success(uint32_t xid)
{
	struct rpc_msg reply = {.rm_xid = xid, .rm_direction = REPLY};

	accept_reply(&reply);
	set_success(&reply);
	return reply;
}

static void set_mark(char *out, uint32_t bytes)
{
	uint32_t mark = htonl(LAST_FRAGMENT | bytes);

	memcpy(out, &mark, sizeof(mark));
}

/* Returns true if results follow the header of a reply. */
static bool has_results(const struct rpc_msg *reply)
{
	return reply->rm_reply.rp_stat == MSG_ACCEPTED && reply->acpted_rply.ar_stat == SUCCESS;
}

uint32_t oncrpc_encode(struct oncrpc_server *tcp, struct rpc_msg *reply)
{
	uint32_t bytes;
	XDR xdrs;

	xdrmem_create(&xdrs, tcp->reply + MARK_BYTES, ONCRPC_SERVER_REPLY_MAX, XDR_ENCODE);
	bytes = xdr_replymsg(&xdrs, reply) ? xdr_getpos(&xdrs) : 0;
	xdr_destroy(&xdrs);
	if (bytes > 0 && has_results(reply))
		bytes += (uint32_t)weir_xdr_out_len(&tcp->results);
	set_mark(tcp->reply, bytes);
	return bytes;
}
