/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HANDLE_H
#define HANDLE_H

/*
 * File handles. A handle holds, in big-endian order:
 *
 *   byte  0      format
 *   byte  1      length of the back end's part
 *   byte  2      1 if the files exist only until the server ends, otherwise 0
 *   byte  3      0
 *   bytes 4-7    the export's id
 *   bytes 8-15   the value to which the handle is bound: the server's epoch, or a hash of the
 *                identity of the exported directory
 *   then         the back end's part, which identifies the file
 *   then         8 bytes of SipHash-2-4 over all preceding bytes, keyed with the server's secret
 *
 * A client cannot forge a handle. A handle of another epoch is stale, and not bad. Its secret might
 * no longer exist, so its hash cannot be checked. A handle is also stale if it was made while the
 * export's name stood for another directory, because it is bound to the identity of that directory.
 */

#include "export.h"
#include "nfs3_xdr.h"

#define HANDLE_FORMAT 2u
#define HANDLE_ID_MAX 40u /* NFS3_FH_MAX less the bytes of the other parts */
#define SECRET_BYTES  16u

/* The id of a file: the bytes by which a back end identifies the file. */
struct handle_id {
	uint32_t len_bytes;
	uint8_t data[HANDLE_ID_MAX];
};

struct handle_key {
	uint8_t secret[SECRET_BYTES];
	uint64_t epoch; /* random number of this start, for back ends whose files exist only until
			   the server ends */
};

/*
 * Computes export->bound, to which handles of the export are bound. This is a hash of the bytes
 * that identify the exported directory, under the secret of 'key'. Any thread is allowed to call
 * this function.
 */
uint64_t handle_bind(const struct handle_key *key, const void *identity, uint32_t len_bytes);

/* Makes the handle of the file 'id' of 'export'. */
void handle_make(const struct handle_key *key, const struct export *export,
		 const struct handle_id *id, struct nfs3_fh *fh);

/*
 * Checks a handle. Returns NFS3_OK with *export and *id set, NFS3ERR_BADHANDLE if the handle is
 * malformed or forged, or NFS3ERR_STALE if it belongs to an earlier start, or to an export that was
 * removed or changed.
 */
enum nfs3_status handle_check(const struct handle_key *key, struct exports *exports,
			      const struct nfs3_fh *fh, struct export **export,
			      struct handle_id *id);

/* Makes a new secret and a new epoch, which are valid only for this start. */
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
