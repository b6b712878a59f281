/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HANDLE_H
#define HANDLE_H

/*
 * File handles. A handle holds, in big-endian order:
 *
 *   byte  0      format
 *   byte  1      length of the back end's part
 *   byte  2      1 if the files end with the server, otherwise 0
 *   byte  3      0
 *   bytes 4-7    the export's id
 *   bytes 8-15   what the handle is bound to: the server's epoch, or the identity of the exported
 *                directory
 *   then         the back end's part
 *   then         8 bytes of SipHash-2-4 over all of that, under the server's secret
 *
 * A client cannot make up a handle that the server has not given out. A handle of another epoch is
 * stale, not bad: its secret may be gone, so that its hash cannot be checked. A handle that was
 * given out while the export's name led to another directory is stale as well, because the identity
 * of the directory that it is bound to differs.
 */

#include "export.h"
#include "nfs3_types.h"

#define HANDLE_FORMAT 2u
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

/*
 * Compute export->bound, which handles of the export are bound to: a hash of the bytes that
 * identify the exported directory, under the secret of 'key'. Any thread.
 */
uint64_t handle_bind(const struct handle_key *key, const void *identity, uint32_t len_bytes);

/* Handles of 'export'. */
void handle_make(const struct handle_key *key, const struct export *export,
		 const struct handle_id *id, struct nfs3_fh *fh);

/* NFS3_OK with *export and *id set, NFS3ERR_BADHANDLE or NFS3ERR_STALE. */
enum nfs3_status handle_check(const struct handle_key *key, struct exports *exports,
			      const struct nfs3_fh *fh, struct export **export,
			      struct handle_id *id);

/* A secret of this start alone. */
void handle_key_init(struct handle_key *key);

/*
 * Load the secret from the file 'secret' in the directory 'state', so that handles outlive the
 * server. The function creates the directory and the file if they do not exist. Returns 0, or
 * -errno, for which the reason and the remedy were printed on standard error: -EPERM if other users
 * can read or change the file or the directory, or if one of them is a symbolic link.
 */
int handle_key_load(struct handle_key *key, const char *state);

#endif
