/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRANSFER_H
#define TRANSFER_H

/*
 * Whole files, with several READs or WRITEs in flight. Each has a slot: a piece of the session's
 * memory that data are placed in or taken from directly, and the op. A slot that comes back short
 * goes out again for what is missing.
 */

#include "local.h"
#include "tree.h"

struct progress {
	const char *name;
	bool is_shown;
	uint64_t total; /* 0: unknown */
	uint64_t done;
	uint64_t begin_ns;
	uint64_t shown_ns;
};

struct transfer_slot {
	struct op op;
	struct transfer *transfer;
	uint8_t *data;
	uint64_t offset;
	uint32_t want;
	uint32_t got;
	bool is_busy;
	bool is_end; /* the file ends with it */
};

struct transfer {
	struct session *session;
	struct nfs3_fh fh;
	uint32_t nslots;
	struct transfer_slot *slots;
	uint32_t read_bytes; /* of one READ, WRITE */
	uint32_t write_bytes;
	uint32_t in_flight;
	uint64_t next_offset;
	int error;	 /* the first: as session_call() */
	int local_error; /* -errno */
	struct progress progress;

	/* fetching: slots are written out in order, as a ring */
	uint64_t size;
	uint64_t nissued;
	uint64_t nwritten;
	bool is_at_end;

	/* storing */
	enum nfs3_stable stable;
	bool has_verf;
	bool is_verf_changed;
	bool needs_commit;
	uint8_t verf[NFS3_VERF_BYTES];
};

/* Slots over the session's slots, with the sizes that the server (FSINFO) and the options want. 0;
 * or as session_call(). */
int transfer_init(struct transfer *transfer, struct session *session);
void transfer_fini(struct transfer *transfer);

/* Copy the file at 'node' to 'file', up to its end. 0; or as session_call(); -ECANCELED: see
 * local_error. */
int transfer_fetch(struct transfer *transfer, const struct node *node, struct local_file *file,
		   const char *name);

/* Copy 'fd' to the file 'fh', which is empty, and have it on stable storage. A regular file is sent
 * again when the server lost what it had not committed; what can't be read twice is written
 * FILE_SYNC. Results as above. */
int transfer_store(struct transfer *transfer, const struct nfs3_fh *fh, int fd, const char *name);

/* progress.c: a line on the terminal, if standard error is one. */
void progress_begin(struct progress *progress, const struct session *session, const char *name,
		    uint64_t total);
void progress_show(struct progress *progress, uint64_t now_ns);
void progress_end(struct progress *progress);

#endif
