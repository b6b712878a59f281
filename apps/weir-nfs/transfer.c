/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers whole files: the slots for both directions, and fetches. */
#include "transfer.h"

#include <stdlib.h>
#include <string.h>

/* The size of a READ or WRITE if neither the options nor the server give one. */
#define BLOCK_FALLBACK 4096u

/*
 * Returns the bytes of a READ or WRITE. This is the size of --block or else the server's preferred
 * size. It is limited by the server's maximum, which is unknown if 'max' is 0, and by the memory of
 * a slot.
 */
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

	*transfer = (struct transfer){.session = session, .nslots = session->nslots};
	if (rc != 0)
		return rc;
	transfer->read_bytes = block_bytes(session, res->rtpref, res->rtmax);
	transfer->write_bytes = block_bytes(session, res->wtpref, res->wtmax);
	transfer->slots = calloc(transfer->nslots, sizeof(transfer->slots[0]));
	if (!transfer->slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < transfer->nslots; i++) {
		transfer->slots[i].transfer = transfer;
		transfer->slots[i].data = session->slots + (size_t)i * session->slot_bytes;
	}
	return 0;
}

void transfer_fini(struct transfer *transfer)
{
	free(transfer->slots);
	transfer->slots = NULL;
}

static void fail(struct transfer *transfer, int error)
{
	if (transfer->error == 0)
		transfer->error = error;
}

static void on_read(struct op *op);

static void read_rest(struct transfer_slot *slot)
{
	struct transfer *transfer = slot->transfer;

	slot->op.proc = NFS3_READ;
	slot->op.args.read = (struct nfs3_read_args){
		.fh = transfer->fh,
		.offset = slot->offset + slot->got,
		.count = slot->want - slot->got,
	};
	slot->op.item = slot->data + slot->got;
	slot->op.item_bytes = slot->want - slot->got;
	slot->op.done = on_read;
	slot->op.arg = slot;
	slot->is_busy = true;
	transfer->in_flight++;
	session_submit(transfer->session, &slot->op);
}

static void on_read(struct op *op)
{
	struct transfer_slot *slot = op->arg;
	struct transfer *transfer = slot->transfer;

	slot->is_busy = false;
	transfer->in_flight--;
	if (op_result(op) != 0) {
		fail(transfer, op_result(op));
		return;
	}
	slot->got += op->res.read.count;
	transfer->progress.done += op->res.read.count;
	slot->is_end = op->res.read.eof;
	if (!slot->is_end && slot->got < slot->want && transfer->error == 0)
		read_rest(slot);
}

/*
 * Sends READs, one per free slot, up to the size of the file that the server reported. After that,
 * sends one READ at a time until the server reports the end.
 */
static void issue_reads(struct transfer *transfer)
{
	while (transfer->nissued - transfer->nwritten < transfer->nslots && transfer->error == 0) {
		bool is_beyond = transfer->next_offset >= transfer->size;
		uint64_t left = is_beyond ? UINT64_MAX : transfer->size - transfer->next_offset;
		struct transfer_slot *slot = &transfer->slots[transfer->nissued % transfer->nslots];

		if (is_beyond && transfer->nissued != transfer->nwritten)
			return;
		if (transfer->next_offset > (uint64_t)INT64_MAX - transfer->read_bytes) {
			fail(transfer, NFS3ERR_FBIG);
			return;
		}
		slot->offset = transfer->next_offset;
		slot->want = left < transfer->read_bytes ? (uint32_t)left : transfer->read_bytes;
		slot->got = 0;
		slot->is_end = false;
		transfer->next_offset += slot->want;
		transfer->nissued++;
		read_rest(slot);
	}
}

static void write_out(struct transfer *transfer, struct local_file *file)
{
	while (transfer->nwritten < transfer->nissued && !transfer->is_at_end &&
	       transfer->error == 0) {
		struct transfer_slot *slot =
			&transfer->slots[transfer->nwritten % transfer->nslots];

		if (slot->is_busy)
			return;
		transfer->local_error = local_write(file, slot->data, slot->got);
		if (transfer->local_error != 0) {
			fail(transfer, -ECANCELED);
			return;
		}
		transfer->nwritten++;
		transfer->is_at_end = slot->is_end;
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
	/* The loop waits for the ops in flight, because they refer to the session's memory. */
	while (transfer->in_flight > 0)
		session_poll(transfer->session);
	progress_end(&transfer->progress);
	return transfer->error;
}
