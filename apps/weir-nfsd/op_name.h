/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OP_NAME_H
#define OP_NAME_H

#include "op.h"

/*
 * Returns NFS3_OK, NFS3ERR_NAMETOOLONG, or NFS3ERR_INVAL for a name that is empty or contains '/'
 * or NUL.
 */
enum nfs3_status name_check(const struct nfs3_name *name);

/*
 * Checks all names of an op, including the rules for "." and "..". Its procedure has at least one
 * name.
 */
enum nfs3_status name_check_op(const struct op *op);

/*
 * Copies the next name of a path and sets *path to the byte after it. Returns:
 *
 * - NFS3_OK; at the end of the path the name is empty
 * - NFS3ERR_NOENT for "." and "..", which this walk does not support
 * - NFS3ERR_NAMETOOLONG
 */
enum nfs3_status name_next(const char **path, struct nfs3_name *name);

#endif
