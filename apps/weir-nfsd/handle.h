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
 *   then         8 bytes of SipHash-2-4 over all preceding bytes, under the server's secret
 *
 * A client cannot forge a handle. A handle of another epoch is stale, not bad: its secret may no
 * longer exist, so its hash cannot be checked. A handle that was issued while the export's name led
 * to another directory is also stale, because the identity of the directory that it is bound to
 * differs.
 */

#include "export.h"
#include "nfs3_types.h"

#define HANDLE_FORMAT 2u
#define HANDLE_ID_MAX 40u /* NFS3_FH_MAX less the other parts */
#define SECRET_BYTES  16u

/* The bytes by which a back end identifies a file. */
struct handle_id {
	uint32_t len_bytes;
	uint8_t data[HANDLE_ID_MAX];
};

struct handle_key {
	uint8_t secret[SECRET_BYTES];
	uint64_t epoch; /* for back ends whose files end with the server; others use 0 */
};

/*
 * Computes export->bound, to which handles of the export are bound: a hash of the bytes that
 * identify the exported directory, under the secret of 'key'. May run on any thread.
 */
uint64_t handle_bind(const struct handle_key *key, const void *identity, uint32_t len_bytes);

/* Makes a handle of 'export'. */
void handle_make(const struct handle_key *key, const struct export *export,
		 const struct handle_id *id, struct nfs3_fh *fh);

/* Checks a handle. Returns NFS3_OK with *export and *id set, NFS3ERR_BADHANDLE or NFS3ERR_STALE. */
enum nfs3_status handle_check(const struct handle_key *key, struct exports *exports,
			      const struct nfs3_fh *fh, struct export **export,
			      struct handle_id *id);

/* Makes a new secret, which is valid for this start only. */
void handle_key_init(struct handle_key *key);

/*
 * Loads the secret from the file 'secret' in the directory 'state', so that handles outlive the
 * server. Creates the directory and the file if they do not exist. Returns 0, or -errno after it
 * has printed the reason and the remedy on standard error. The error is -EPERM in these cases:
 *
 * - other users can read or change the file, or can change the directory
 * - the file or the directory is a symbolic link
 */
int handle_key_load(struct handle_key *key, const char *state);

#endif
