/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OP_NAME_H
#define OP_NAME_H

#include "op.h"

/* NFS3_OK, NFS3ERR_NAMETOOLONG, or NFS3ERR_INVAL: empty, or with '/' or NUL. */
enum nfs3_status name_check(const struct nfs3_name *name);

/* All names of an op whose procedure has any, and the rules for "." and "..". */
enum nfs3_status name_check_op(const struct op *op);

/* The next name in a path, behind which *path is left: NFS3_OK, at the end with a name of no bytes;
 * NFS3ERR_NOENT: "." or "..", which lead nowhere here; NFS3ERR_NAMETOOLONG. */
enum nfs3_status name_next(const char **path, struct nfs3_name *name);

#endif
