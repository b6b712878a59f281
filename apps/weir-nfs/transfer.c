/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes, and fetching. */
#include "transfer.h"

#include <stdlib.h>
#include <string.h>

/* When a server says nothing useful. */
#define BLOCK_FALLBACK 4096u

/* What the server prefers, within what it can and what the options and our memory allow. */
static uint32_t block_bytes(const struct session *session, uint32_t preferred, uint32_t max)
{
	uint32_t bytes = session->options->block_bytes ? session->options->block_bytes : preferred;

	if (max > 0 && bytes > max)
		bytes = max;
	if (bytes == 0)
		bytes = max ? max : BLOCK_FALLBACK;
	return bytes < session->slot_bytes ? bytes : session->slot_bytes;
}

int transfer_init(struct transfer *transfer, struct session *session)
{
	struct op op = {.proc = NFS3_FSINFO, .args.fh = session->root};
	const struct nfs3_fsinfo_res *res = &op.res.fsinfo;
	int rc = session_call(session, &op);

	*transfer = (struct transfer){.session = session, .nlanes = session->nslots};
	if (rc != 0)
		return rc;
	transfer->read_bytes = block_bytes(session, res->rtpref, res->rtmax);
	transfer->write_bytes = block_bytes(session, res->wtpref, res->wtmax);
	transfer->lanes = calloc(transfer->nlanes, sizeof(transfer->lanes[0]));
	if (!transfer->lanes)
		return -ENOMEM;
	for (uint32_t i = 0; i < transfer->nlanes; i++) {
		transfer->lanes[i].transfer = transfer;
		transfer->lanes[i].data = session->slots + (size_t)i * session->slot_bytes;
	}
	return 0;
}

void transfer_fini(struct transfer *transfer)
{
	free(transfer->lanes);
	transfer->lanes = NULL;
}

static void fail(struct transfer *transfer, int error)
{
	if (transfer->error == 0)
		transfer->error = error;
}

static void on_read(struct op *op);

static void read_rest(struct lane *lane)
{
	struct transfer *transfer = lane->transfer;

	lane->op.proc = NFS3_READ;
	lane->op.args.read = (struct nfs3_read_args){
		.fh = transfer->fh,
		.offset = lane->offset + lane->got,
		.count = lane->want - lane->got,
	};
	lane->op.item = lane->data + lane->got;
	lane->op.item_bytes = lane->want - lane->got;
	lane->op.done = on_read;
	lane->op.arg = lane;
	lane->is_busy = true;
	transfer->in_flight++;
	session_submit(transfer->session, &lane->op);
}

static void on_read(struct op *op)
{
	struct lane *lane = op->arg;
	struct transfer *transfer = lane->transfer;

	lane->is_busy = false;
	transfer->in_flight--;
	if (op_result(op) != 0) {
		fail(transfer, op_result(op));
		return;
	}
	lane->got += op->res.read.count;
	transfer->progress.done += op->res.read.count;
	lane->is_end = op->res.read.eof;
	if (!lane->is_end && lane->got < lane->want && transfer->error == 0)
		read_rest(lane);
}

/* READs for what the file was said to have; then, one by one, until the server says that this is its end. */
static void issue_reads(struct transfer *transfer)
{
	while (transfer->nissued - transfer->nwritten < transfer->nlanes && transfer->error == 0) {
		bool is_beyond = transfer->next_offset >= transfer->size;
		uint64_t left = is_beyond ? UINT64_MAX : transfer->size - transfer->next_offset;
		struct lane *lane = &transfer->lanes[transfer->nissued % transfer->nlanes];

		if (is_beyond && transfer->nissued != transfer->nwritten)
			return;
		if (transfer->next_offset > (uint64_t)INT64_MAX - transfer->read_bytes) {
			fail(transfer, NFS3ERR_FBIG);
			return;
		}
		lane->offset = transfer->next_offset;
		lane->want = left < transfer->read_bytes ? (uint32_t)left : transfer->read_bytes;
		lane->got = 0;
		lane->is_end = false;
		transfer->next_offset += lane->want;
		transfer->nissued++;
		read_rest(lane);
	}
}

static void write_out(struct transfer *transfer, struct local_file *file)
{
	while (transfer->nwritten < transfer->nissued && !transfer->is_at_end && transfer->error == 0) {
		struct lane *lane = &transfer->lanes[transfer->nwritten % transfer->nlanes];

		if (lane->is_busy)
			return;
		transfer->local_error = local_write(file, lane->data, lane->got);
		if (transfer->local_error != 0) {
			fail(transfer, -ECANCELED);
			return;
		}
		transfer->nwritten++;
		transfer->is_at_end = lane->is_end;
	}
}

int transfer_fetch(struct transfer *transfer, const struct node *node, struct local_file *file,
		   const char *name)
{
	transfer->fh = node->fh;
	transfer->size = node->attr.size;
	transfer->next_offset = 0;
	transfer->nissued = 0;
	transfer->nwritten = 0;
	transfer->is_at_end = false;
	transfer->error = 0;
	progress_begin(&transfer->progress, transfer->session, name, transfer->size);
	while (!transfer->is_at_end && transfer->error == 0) {
		issue_reads(transfer);
		session_poll(transfer->session);
		write_out(transfer, file);
		progress_show(&transfer->progress, transfer->session->now_ns);
	}
	/* What is in flight names our memory. */
	while (transfer->in_flight > 0)
		session_poll(transfer->session);
	progress_end(&transfer->progress);
	return transfer->error;
}
