/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores whole files with WRITE UNSTABLE and COMMIT. If the verifiers in the answers differ, the
 * server has lost data, and the file is sent again (RFC 1813 section 4.8).
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "transfer.h"

/* Number of times that a file is sent in total, if the server loses data each time. */
#define PASSES_MAX 5u

static void on_written(struct op *op);

static void write_rest(struct transfer_slot *slot)
{
	struct transfer *transfer = slot->transfer;

	slot->op.proc = NFS3_WRITE;
	slot->op.args.write = (struct nfs3_write_args){
		.fh = transfer->fh,
		.offset = slot->offset + slot->got,
		.count = slot->want - slot->got,
		.stable = transfer->stable,
	};
	slot->op.item = slot->data + slot->got;
	slot->op.item_bytes = slot->want - slot->got;
	slot->op.done = on_written;
	slot->op.arg = slot;
	slot->is_busy = true;
	transfer->in_flight++;
	session_submit(transfer->session, &slot->op);
}

/*
 * Records the write verifier of an answer. The verifier must be the same for all data that are not
 * stable. If it differs, sets is_verf_changed.
 */
static void check_verf(struct transfer *transfer, const uint8_t verf[NFS3_VERF_BYTES])
{
	if (!transfer->has_verf)
		memcpy(transfer->verf, verf, NFS3_VERF_BYTES);
	else if (memcmp(transfer->verf, verf, NFS3_VERF_BYTES) != 0)
		transfer->is_verf_changed = true;
	transfer->has_verf = true;
}

static void on_written(struct op *op)
{
	struct transfer_slot *slot = op->arg;
	struct transfer *transfer = slot->transfer;
	const struct nfs3_write_res *res = &op->res.write;

	slot->is_busy = false;
	transfer->in_flight--;
	if (op_result(op) != 0) {
		transfer->error = transfer->error ? transfer->error : op_result(op);
		return;
	}
	if (res->committed != NFS3_FILE_SYNC) {
		transfer->needs_commit = true;
		check_verf(transfer, res->verf);
	}
	slot->got += res->count;
	transfer->progress.done += res->count;
	if (slot->got < slot->want && transfer->error == 0)
		write_rest(slot);
}

/*
 * Fills a free slot with data of 'fd' and sends it. Returns false if 'fd' is at its end or cannot
 * be read.
 */
static bool issue_write(struct transfer *transfer, struct transfer_slot *slot, int fd,
			bool is_seekable)
{
	ssize_t n = local_read(fd, slot->data, transfer->write_bytes,
			       is_seekable ? (int64_t)transfer->next_offset : -1);

	if (n < 0) {
		transfer->local_error = (int)n;
		transfer->error = -ECANCELED;
	}
	if (n <= 0)
		return false;
	slot->offset = transfer->next_offset;
	slot->want = (uint32_t)n;
	slot->got = 0;
	transfer->next_offset += (uint64_t)n;
	write_rest(slot);
	return true;
}

static int commit(struct transfer *transfer)
{
	struct op op = {.proc = NFS3_COMMIT, .args.commit = {.fh = transfer->fh}};
	int rc = session_call(transfer->session, &op);

	if (rc == 0)
		check_verf(transfer, op.res.commit.verf);
	return rc;
}

/*
 * Sends the whole file once, and commits it if necessary. Returns 0 or an error. If is_verf_changed
 * is set after 0, the server has lost data.
 */
static int pass(struct transfer *transfer, int fd, bool is_seekable)
{
	bool more = true;

	transfer->next_offset = 0;
	transfer->error = 0;
	transfer->has_verf = false;
	transfer->is_verf_changed = false;
	transfer->needs_commit = false;
	while (more && transfer->error == 0 && !transfer->is_verf_changed) {
		for (uint32_t i = 0; i < transfer->nslots && more && transfer->error == 0; i++)
			if (!transfer->slots[i].is_busy)
				more = issue_write(transfer, &transfer->slots[i], fd, is_seekable);
		session_poll(transfer->session);
		progress_show(&transfer->progress, transfer->session->now_ns);
	}
	while (transfer->in_flight > 0) {
		session_poll(transfer->session);
		progress_show(&transfer->progress, transfer->session->now_ns);
	}
	if (transfer->error == 0 && transfer->needs_commit && !transfer->is_verf_changed)
		transfer->error = commit(transfer);
	return transfer->error;
}

int transfer_store(struct transfer *transfer, const struct nfs3_fh *fh, int fd, const char *name)
{
	bool is_seekable, quiet = transfer->session->options->quiet;
	struct stat st;
	int rc;

	if (fstat(fd, &st) != 0) {
		transfer->local_error = -errno;
		return -ECANCELED;
	}
	is_seekable = S_ISREG(st.st_mode);
	transfer->fh = *fh;
	transfer->stable = NFS3_UNSTABLE;
	if (!is_seekable || transfer->session->options->flags & FLAG_SYNC)
		transfer->stable = NFS3_FILE_SYNC;
	progress_begin(&transfer->progress, transfer->session, name,
		       is_seekable ? (uint64_t)st.st_size : 0);
	for (uint32_t i = 0; i < PASSES_MAX; i++) {
		transfer->progress.done = 0;
		rc = pass(transfer, fd, is_seekable);
		if (rc != 0 || !transfer->is_verf_changed)
			break;
		if (!quiet)
			fprintf(stderr,
				"weir-nfs: the server restarted and lost data: sending again\n");
		rc = NFS3ERR_IO;
	}
	progress_end(&transfer->progress);
	return rc;
}
