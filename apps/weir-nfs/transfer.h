/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRANSFER_H
#define TRANSFER_H

/*
 * Transfers of whole files, with several READs or WRITEs in flight. Each has a slot: an op, and a
 * part of the session's memory that data are placed in or taken from directly. After a short result
 * a slot is sent again for the rest.
 */

#include "local.h"
#include "tree.h"

struct progress {
	const char *name;
	bool is_shown;
	uint64_t total; /* 0 if unknown */
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
	bool is_end; /* the file ends with this slot */
};

struct transfer {
	struct session *session;
	struct nfs3_fh fh;
	uint32_t nslots;
	struct transfer_slot *slots;
	uint32_t read_bytes; /* size of one READ, and of one WRITE */
	uint32_t write_bytes;
	uint32_t in_flight;
	uint64_t next_offset;
	int error;	 /* the first error, like session_call() */
	int local_error; /* -errno */
	struct progress progress;

	/* For a fetch. The slots are a ring and are written to the local file in order. */
	uint64_t size;
	uint64_t nissued;
	uint64_t nwritten;
	bool is_at_end;

	/* For a store. */
	enum nfs3_stable stable;
	bool has_verf;
	bool is_verf_changed;
	bool needs_commit;
	uint8_t verf[NFS3_VERF_BYTES];
};

/*
 * Makes slots for those of the session. Their sizes depend on the server (FSINFO) and on the
 * options. Returns 0, or an error like session_call().
 */
int transfer_init(struct transfer *transfer, struct session *session);
void transfer_fini(struct transfer *transfer);

/*
 * Copies the file at 'node' to 'file', up to its end. Returns 0, an error like session_call(), or
 * -ECANCELED if local_error is the reason.
 */
int transfer_fetch(struct transfer *transfer, const struct node *node, struct local_file *file,
		   const char *name);

/*
 * Copies 'fd' to the file 'fh', which is empty, and makes it stable. A regular file is sent again
 * if the server lost data before the COMMIT. Data that cannot be read twice are written FILE_SYNC.
 * Returns the same as transfer_fetch().
 */
int transfer_store(struct transfer *transfer, const struct nfs3_fh *fh, int fd, const char *name);

/* progress.c: a progress line, if standard error is a terminal */
void progress_begin(struct progress *progress, const struct session *session, const char *name,
		    uint64_t total);
void progress_show(struct progress *progress, uint64_t now_ns);
void progress_end(struct progress *progress);

#endif
