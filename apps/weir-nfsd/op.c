/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes a call, checks its handles and names, and passes it to the back end. */
#include "op.h"

#include <string.h>

#include "op_name.h"
#include "op_table.h"
#include "server.h"

/*
 * Returns the poller whose engine received this request. Most servers have one lcore and none has
 * many, so a linear search is enough.
 */
static struct poller *home_of(struct server *server, const struct weir_request *req)
{
	const struct weir_engine *engine = weir_request_engine(req);
	uint32_t i = 0;

	while (server->pollers[i].engine != engine)
		i++;
	return &server->pollers[i];
}

static struct op *begin(struct poller *home, struct caller *caller, struct weir_request *req)
{
	struct op *op = op_take(home, caller);

	if (!op)
		return NULL;
	op->is_away = false;
	op->req = req;
	op->proc = weir_request_header(req)->proc;
	op->export = NULL;
	op->is_read_only = false;
	op->data = NULL;
	op->data_bytes = 0;
	return op;
}

/*
 * Decodes the arguments. Bulk arguments stay in the request's memory. Returns 0, or -1 if the
 * arguments are invalid.
 */
static int get_args(struct op *op)
{
	if (op_procs[op->proc].get(weir_request_args(op->req), &op->args) != 0)
		return -1;
	if (op->proc == NFS3_WRITE) {
		op->data = op->args.write.data.data;
		op->data_bytes = op->args.write.data.len_bytes;
	} else if (op->proc == NFS3_SYMLINK) {
		op->data = op->args.symlink.path.data;
		op->data_bytes = op->args.symlink.path.len_bytes;
	}
	/*
	 * The arguments of WRITE contain the count twice (RFC 1813 section 3.3.7). If the two
	 * numbers differ, the arguments are invalid.
	 */
	if (op->proc == NFS3_WRITE && op->args.write.count != op->data_bytes)
		return -1;
	return 0;
}

void op_conn_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	(void)error;
	(void)arg;
	if (event != WEIR_CONN_CLOSED)
		return;
	caller_closed(conn);
}

/*
 * Finds the rules by which the client may use the export. A handle alone gives no access. If the
 * client may not mount the export, returns NFS3ERR_STALE, as the kernel's server does, and leaves
 * *rules as it is.
 */
static enum nfs3_status check_rules(struct op *op, const struct client *client,
				    const struct export_rules **rules)
{
	const struct export_rules *own = client_rules(client, &op->server->exports, op->export);

	if (!own)
		return NFS3ERR_STALE;
	op->is_read_only = own->is_read_only;
	*rules = own;
	return NFS3_OK;
}

static enum nfs3_status check_handles(struct op *op)
{
	struct server *server = op->server;
	const struct nfs3_fh *second = NULL;
	enum nfs3_status status;
	struct export *export;

	status = handle_check(&server->key, &server->exports, &op->args.fh, &op->export, &op->id);
	if (op->proc == NFS3_RENAME)
		second = &op->args.rename.to.dir;
	else if (op->proc == NFS3_LINK)
		second = &op->args.link.link.dir;
	if (status != NFS3_OK || !second)
		return status;
	status = handle_check(&server->key, &server->exports, second, &export, &op->id2);
	if (status == NFS3_OK && export != op->export)
		status = NFS3ERR_XDEV;
	return status;
}

/* Runs on the owner's thread. */
static void op_run(struct op *op)
{
	op->export->ops->start(op->export->fs, op);
}

static void on_handed_over(struct weir_engine *engine, void *arg)
{
	(void)engine;
	op_run(arg);
}

static void carry_out(struct op *op)
{
	struct poller *owner = op->export->owner;

	if (owner == op->home) {
		op_run(op);
		return;
	}
	op->is_away = true;
	op->home->naway++;
	poller_send(op->home, owner, op, on_handed_over, op);
}

/*
 * Answers NFS3ERR_JUKEBOX, so that the client tries again later. The reason is that the client has
 * its share of ops, or that there is no memory for one more op. If no buffer for the reply is free,
 * the request waits for a buffer, without an op and without the call's arguments.
 */
static void op_refuse(struct weir_request *req)
{
	union nfs3_op_res res;
	int rc;

	memset(&res, 0, sizeof(res));
	res.status = NFS3ERR_JUKEBOX;
	weir_request_skip_replay_cache(req);
	rc = op_procs[weir_request_header(req)->proc].reply(req, &res);
	if (rc == 0)
		return;
	weir_request_set_user(req, NULL);
	weir_request_release_args(req);
	if (rc != -ENOBUFS || weir_request_retry_when_buffers(req) != 0)
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
}

void op_handle(struct weir_request *req, void *arg)
{
	/*
	 * An export's rules determine how a credential is interpreted. If there are no rules for
	 * the client, these are enough to refuse a malformed credential.
	 */
	static const struct export_rules no_rules = {.squashes_root = true};
	const struct export_rules *rules = &no_rules;
	struct server *server = arg;
	const struct client *client;
	enum weir_rpc_auth_stat auth;
	enum nfs3_status status;
	struct caller *caller;
	struct op *op;

	if (weir_request_args_released(req)) { /* op_handle() runs again for this request, for which
						  no buffer for the reply was free */
		op = weir_request_user(req);
		if (op)
			op_reply(op);
		else
			op_refuse(req);
		return;
	}
	if (weir_request_header(req)->proc == NFS3_NULL) {
		if (weir_request_results(req, 0) || weir_request_retry_when_buffers(req) != 0)
			weir_request_reply(req);
		return;
	}
	caller = caller_of(req, &server->exports);
	op = caller ? begin(home_of(server, req), caller, req) : NULL;
	if (!op) {
		op_refuse(req);
		return;
	}
	if (get_args(op) != 0) {
		weir_request_reply_error(req, WEIR_RPC_GARBAGE_ARGS);
		op_free(op);
		return;
	}
	client = &caller->client;
	status = server->is_stopping ? NFS3ERR_JUKEBOX : check_handles(op);
	if (status == NFS3_OK)
		status = check_rules(op, client, &rules);
	auth = cred_of(&weir_request_header(req)->cred, client, rules, &op->cred);
	if (auth != WEIR_RPC_AUTH_OK) {
		weir_request_reply_denied(req, auth);
		op_free(op);
		return;
	}
	if (status == NFS3_OK && op_procs[op->proc].changes && op->is_read_only)
		status = NFS3ERR_ROFS;
	if (status == NFS3_OK && (op_procs[op->proc].has_name || op->proc == NFS3_LINK))
		status = name_check_op(op);
	if (status != NFS3_OK)
		op_fail(op, status);
	else
		carry_out(op);
}

int op_place(struct weir_request *req, uint32_t item, uint32_t len_bytes,
	     struct weir_arg_sink *sink, void *arg)
{
	const struct weir_rpc_call_header *header = weir_request_header(req);
	struct weir_xdr_in in = *weir_request_args(req);
	struct server *server = arg;
	const struct export_rules *rules;
	const struct client *client;
	struct nfs3_write_head args;
	struct caller *caller;
	struct export *export;
	struct handle_id id;
	struct cred cred;
	uint32_t count;

	/*
	 * The chunk must have exactly the length of the data. If it contained padding, the padding
	 * would overwrite the bytes that follow in the file.
	 */
	if (header->proc != NFS3_WRITE || item != 0 || nfs3_write_head_get(&in, &args) != 0 ||
	    weir_xdr_get_u32(&in, &count) != 0 || count != args.count || count != len_bytes ||
	    weir_xdr_remaining(&in) != 0)
		return -1;
	if (handle_check(&server->key, &server->exports, &args.fh, &export, &id) != NFS3_OK ||
	    !export->ops->place)
		return -1;
	caller = caller_of(req, &server->exports);
	client = caller ? &caller->client : NULL;
	rules = client ? client_rules(client, &server->exports, export) : NULL;
	if (!rules || rules->is_read_only)
		return -1;
	/*
	 * Only the owner's thread can choose the memory, and this thread cannot wait for the owner.
	 * The owner copies the data from a buffer later.
	 */
	if (export->owner != home_of(server, req))
		return -1;
	if (cred_of(&header->cred, client, rules, &cred) != WEIR_RPC_AUTH_OK)
		return -1;
	return export->ops->place(export->fs, req, &id, &cred, args.offset, len_bytes, sink);
}
