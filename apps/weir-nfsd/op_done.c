/* SPDX-License-Identifier: BSD-3-Clause */
/* Encodes the results of a call and sends the reply. */
#include <stdlib.h>
#include <string.h>

#include "nfs3_list.h"
#include "op.h"
#include "op_table.h"
#include "server.h"

/*
 * Maximum bytes of READDIR's results that are not entries: the attributes of the directory, the
 * verifier, and the end of the list. The status is not included.
 */
#define ENTRIES_REST (NFS3_POST_OP_ATTR_MAX_BYTES + NFS3_VERF_BYTES + 8u)

void op_make_fh(const struct op *op, const struct handle_id *id, struct nfs3_fh *fh)
{
	handle_make(&op->server->key, op->export, id, fh);
}

enum nfs3_status op_entries_begin(struct op *op)
{
	uint32_t max = op->args.readdir.maxcount;

	if (max > op->server->readdir_max)
		max = op->server->readdir_max;
	if (max < ENTRIES_REST)
		return NFS3ERR_TOOSMALL;
	op->entries_left = max - ENTRIES_REST;
	op->names_left = op->proc == NFS3_READDIRPLUS ? op->args.readdir.dircount : UINT32_MAX;
	op->entries_buf = malloc(op->entries_left + 1);
	if (!op->entries_buf)
		return NFS3ERR_SERVERFAULT;
	weir_xdr_out_init(&op->entries, op->entries_buf, op->entries_left);
	return NFS3_OK;
}

bool op_entry(struct op *op, const struct nfs3_entryplus *entry)
{
	bool plus = op->proc == NFS3_READDIRPLUS;
	uint32_t names = 8 + 4 + entry->name.len_bytes + weir_xdr_pad(entry->name.len_bytes) + 8;
	uint32_t bytes = nfs3_list_entry_bytes(entry, plus);

	/*
	 * The first entry is always sent, even if it exceeds 'dircount', which is only a hint of
	 * the client.
	 */
	if (bytes > op->entries_left ||
	    (names > op->names_left && weir_xdr_out_len(&op->entries) > 0))
		return false;
	nfs3_list_put(&op->entries, entry, plus);
	op->entries_left -= bytes;
	op->names_left -= names < op->names_left ? names : op->names_left;
	return true;
}

/* Fills in the results of FSINFO and PATHCONF, which are the same for all files of a back end. */
static void fill_constants(struct op *op)
{
	const struct fs_ops *ops = op->export->ops;
	struct fs *fs = op->export->fs;

	if (op->proc == NFS3_FSINFO) {
		struct nfs3_fsinfo_res *res = &op->res.fsinfo;
		uint32_t max = op->server->transfer_max;

		if (max > ops->transfer_max(fs))
			max = ops->transfer_max(fs);
		res->rtmax = res->rtpref = res->wtmax = res->wtpref = max;
		res->rtmult = res->wtmult = 4096;
		res->dtpref = op->server->readdir_max;
		res->maxfilesize = ops->file_max(fs);
		res->time_delta = (struct nfs3_time){0, 1};
		res->properties = NFS3_FSF_LINK | NFS3_FSF_SYMLINK | NFS3_FSF_HOMOGENEOUS |
				  NFS3_FSF_CANSETTIME;
	} else if (op->proc == NFS3_PATHCONF) {
		struct nfs3_pathconf_res *res = &op->res.pathconf;

		res->linkmax = ops->link_max(fs);
		res->name_max = NFS3_NAME_MAX;
		res->no_trunc = true;
		res->chown_restricted = true;
		res->case_preserving = true;
	}
}

/* Sets the item of READ or READLINK in the results. An empty item has no region. */
static void set_item(const struct op *op, struct weir_xdr_item *item)
{
	item->data = op->item;
	item->len_bytes = op->item_bytes;
	item->region = op->item_bytes > 0 ? op->region : NULL;
}

/* Replies the entries of READDIR or READDIRPLUS. Returns 0 or -ENOBUFS. */
static int reply_entries(struct op *op)
{
	uint32_t len = (uint32_t)weir_xdr_out_len(&op->entries);
	struct weir_xdr_out *out = weir_request_results(op->req, NFS3_RESULTS_XDR_MAX + len);
	uint8_t *at;

	if (!out)
		return -ENOBUFS;
	nfs3_readdir_head_put(out, &op->res.readdir);
	at = weir_xdr_reserve(out, len);
	if (at && len > 0)
		memcpy(at, op->entries_buf, len);
	nfs3_list_put_end(out, op->eof);
	weir_request_reply(op->req);
	return 0;
}

/* Returns 0, -ENOBUFS if no buffer is free, or another error if weir refuses the results. */
static int op_send_results(struct op *op)
{
	if (op->res.status == NFS3_OK) {
		switch (op->proc) {
		case NFS3_READ:
			set_item(op, &op->res.read.data);
			break;
		case NFS3_READLINK:
			set_item(op, &op->res.readlink.path);
			break;
		case NFS3_READDIR:
		case NFS3_READDIRPLUS:
			return reply_entries(op);
		default:
			break;
		}
	}
	return op_procs[op->proc].reply(op->req, &op->res);
}

/*
 * Releases the memory of a reply that has been sent. Runs at home if the memory belongs to another
 * poller.
 */
static void on_sent_away(void *arg)
{
	struct op *op = arg;

	/*
	 * After all pollers have stopped, one thread does the work of all, so no message is needed.
	 */
	if (op->server->is_single) {
		op->on_sent(op->on_sent_arg);
		op_free(op);
		return;
	}
	poller_send(op->home, op->export->owner, op, op->on_sent_mail, op->on_sent_arg);
}

void op_reply(struct op *op)
{
	/* The op must exist until the reply no longer refers to the owner's memory. */
	bool waits = op->is_away && op->on_sent;
	int rc;

	/*
	 * The status means "try again later". The duplicate request cache must not give this answer
	 * to a retransmitted call.
	 */
	if (op->res.status == NFS3ERR_JUKEBOX)
		weir_request_skip_replay_cache(op->req);
	if (waits)
		weir_request_on_sent(op->req, on_sent_away, op);
	else if (op->on_sent)
		weir_request_on_sent(op->req, op->on_sent, op->on_sent_arg);
	rc = op_send_results(op);
	if (rc == -ENOBUFS) {
		/*
		 * No buffer is free. The call has been carried out and cannot be undone, so
		 * op_handle() runs again for this op when a buffer is free.
		 */
		weir_request_set_user(op->req, op);
		weir_request_release_args(op->req);
		if (weir_request_retry_when_buffers(op->req) == 0)
			return;
	}
	if (rc != 0)
		weir_request_reply_error(op->req, WEIR_RPC_SYSTEM_ERR);
	if (!waits)
		op_free(op);
}

void op_returned(struct weir_engine *engine, void *arg)
{
	struct op *op = arg;

	(void)engine;
	op->home->naway--;
	op_reply(op);
}

void op_done(struct op *op)
{
	if (op->entries_buf && op->res.status == NFS3_OK && !op->eof &&
	    weir_xdr_out_len(&op->entries) == 0)
		op->res.status = NFS3ERR_TOOSMALL;
	if (op->res.status == NFS3_OK)
		fill_constants(op);
	if (op->is_away)
		poller_send(op->export->owner, op->home, op, op_returned, op);
	else
		op_reply(op);
}

void op_fail(struct op *op, enum nfs3_status status)
{
	memset(&op->res, 0, sizeof(op->res));
	op->res.status = status;
	op_done(op);
}
