/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NFS3_NAMES_H
#define NFS3_NAMES_H

/* The names of procedures, and the texts and errnos of statuses. */

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns the name of a procedure for messages, such as "LOOKUP", or "?" if the procedure is
 * unknown.
 */
const char *nfs3_proc_name(uint32_t proc);
/*
 * Returns the text of a status, such as "no such file or directory", or "unknown status" if RFC
 * 1813 does not define the status.
 */
const char *nfs3_status_text(uint32_t status);
/* Returns true if RFC 1813 defines the status. */
bool nfs3_status_is_known(uint32_t status);
/*
 * Returns the positive errno that has the same meaning as a status, or EIO if there is none.
 * Returns 0 for NFS3_OK.
 */
int nfs3_status_errno(uint32_t status);

#endif
