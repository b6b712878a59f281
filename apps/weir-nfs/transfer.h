/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRANSFER_H
#define TRANSFER_H

/*
 * Transfers of whole files, with several READs or WRITEs in flight. Each READ or WRITE has a slot,
 * which is an op and a part of the session's memory. Data are placed in this memory or taken from
 * it directly. If the server transfers fewer bytes than requested, the slot's op is sent again for
 * the rest.
 */

#include "local.h"
#include "tree.h"

struct progress {
	const char *name;
	bool is_shown;
	uint64_t total;	   /* bytes of the file; 0 if unknown */
	uint64_t done;	   /* bytes transferred so far */
	uint64_t begin_ns; /* start of the transfer, on the session's clock */
	uint64_t shown_ns; /* time when the progress was last printed */
};

struct transfer_slot {
	struct op op;
	struct transfer *transfer;
	uint8_t *data;	 /* the memory of the slot */
	uint64_t offset; /* offset of the slot's data in the file */
	uint32_t want;	 /* bytes that the slot transfers */
	uint32_t got;	 /* bytes that are transferred so far */
	bool is_busy;
	bool is_end; /* the file ends with the data of this slot */
};

struct transfer {
	struct session *session;
	struct nfs3_fh fh;
	uint32_t nslots;
	struct transfer_slot *slots;
	uint32_t read_bytes;  /* bytes of one READ */
	uint32_t write_bytes; /* bytes of one WRITE */
	uint32_t in_flight;
	uint64_t next_offset; /* offset in the file of the next slot that is issued */
	int error;	 /* the first error of the transfer, like that of session_call(); 0: none */
	int local_error; /* -errno of a local file, if 'error' is -ECANCELED */
	struct progress progress;

	/*
	 * The next four members are for a fetch. The slots are a ring. They are written to the
	 * local file in the order of their offsets.
	 */
	uint64_t size;	   /* bytes of the file, as the server reported them */
	uint64_t nissued;  /* number of slots that were issued so far */
	uint64_t nwritten; /* number of slots that were written to the local file so far */
	bool is_at_end;	   /* the end of the file was written */

	/* The members below are for a store. */
	enum nfs3_stable stable;
	bool has_verf;	      /* 'verf' is set */
	bool is_verf_changed; /* the server returned different verifiers, so it has lost data */
	bool needs_commit;    /* some data are not stable yet */
	uint8_t verf[NFS3_VERF_BYTES];
};

/*
 * Makes the slots, as many as the session has slots of memory. Asks the server for the sizes of a
 * READ and a WRITE (FSINFO), which the options can override. Returns 0, or an error like
 * session_call().
 */
int transfer_init(struct transfer *transfer, struct session *session);
void transfer_fini(struct transfer *transfer);

/*
 * Copies the remote file 'node' to 'file', up to its end. 'name' is for the progress line. Returns
 * 0, an error like session_call(), or -ECANCELED with the reason in transfer->local_error if the
 * local file cannot be written.
 */
int transfer_fetch(struct transfer *transfer, const struct node *node, struct local_file *file,
		   const char *name);

/*
 * Copies the data of 'fd' to the remote file 'fh', which is empty, and makes them stable. If the
 * server lost data before the COMMIT, a regular file is sent again. Data that cannot be read twice
 * are written with FILE_SYNC. Returns the same as transfer_fetch().
 */
int transfer_store(struct transfer *transfer, const struct nfs3_fh *fh, int fd, const char *name);

/*
 * progress.c: these functions print a line with the progress of a transfer, if standard error is a
 * terminal.
 */
void progress_begin(struct progress *progress, const struct session *session, const char *name,
		    uint64_t total);
void progress_show(struct progress *progress, uint64_t now_ns);
void progress_end(struct progress *progress);

#endif
