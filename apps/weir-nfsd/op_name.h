/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OP_NAME_H
#define OP_NAME_H

#include "op.h"

/*
 * Checks one name. Returns NFS3_OK; NFS3ERR_NAMETOOLONG; or NFS3ERR_INVAL if the name is empty or
 * contains '/' or NUL.
 */
enum nfs3_status name_check(const struct nfs3_name *name);

/*
 * Checks all names of an op, including the rules for "." and "..". The op's procedure must have at
 * least one name. Returns NFS3_OK, or the status with which the op fails.
 */
enum nfs3_status name_check_op(const struct op *op);

/*
 * Copies the next name of a path to *name, and sets *path to the byte after the name. Returns:
 *
 * - NFS3_OK; at the end of the path, the name is empty
 * - NFS3ERR_NOENT if the name is "." or "..", which MOUNT does not support in a path
 * - NFS3ERR_NAMETOOLONG
 */
enum nfs3_status name_next(const char **path, struct nfs3_name *name);

#endif
