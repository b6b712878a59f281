/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HANDLE_H
#define HANDLE_H

/*
 * File handles. One holds, big-endian: a byte of format, the length of the back end's part, two zero bytes, the export's id,
 * the epoch in which it is good, the back end's part, and 8 bytes of SipHash-2-4 over all that, under the server's secret.
 * Nobody can make up a handle that the server has not given out. A handle of an earlier epoch, one whose server kept its
 * files in memory, is stale, not bad: its hash can't be checked any more.
 */

#include "export.h"
#include "nfs3_types.h"

#define HANDLE_FORMAT 1u
#define HANDLE_ID_MAX 40u /* NFS3_FH_MAX less the rest */
#define SECRET_BYTES  16u

/* What a back end knows a file by. */
struct handle_id {
	uint32_t len_bytes;
	uint8_t data[HANDLE_ID_MAX];
};

struct handle_key {
	uint8_t secret[SECRET_BYTES];
	uint64_t epoch; /* of back ends whose files end with the server; others have 0 */
};

/* Handles of 'export'. */
void handle_make(const struct handle_key *key, const struct export *export, const struct handle_id *id,
		 struct nfs3_fh *fh);

/* NFS3_OK with *export and *id set, NFS3ERR_BADHANDLE or NFS3ERR_STALE. */
enum nfs3_status handle_check(const struct handle_key *key, struct exports *exports, const struct nfs3_fh *fh,
			      struct export **export, struct handle_id *id);

/* A secret of this start alone. */
void handle_key_init(struct handle_key *key);

/* The secret of 'path', made when there is none, so that handles outlive the server. 0 or -errno. */
int handle_key_load(struct handle_key *key, const char *path);

#endif
