/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MOUNT3_H
#define MOUNT3_H

/*
 * MOUNT version 3 (RFC 1813 appendix I), which uses TCP: XDR filters for libtirpc, of the type
 * xdrproc_t. Filters decode into the caller's structure and check all bounds. They allocate
 * nothing, so nothing has to be freed.
 */

#include <rpc/rpc.h>

#include "nfs3_types.h"

#define MOUNT3_PROGRAM	   100005u
#define MOUNT3_VERSION	   3u
#define MOUNT3_PATH_MAX	   1024u
#define MOUNT3_NAME_MAX	   255u
#define MOUNT3_FLAVORS_MAX 8u
#define MOUNT3_LIST_MAX	   64u /* maximum entries of a list */

enum mount3_proc {
	MOUNT3_NULL,
	MOUNT3_MNT,
	MOUNT3_DUMP,
	MOUNT3_UMNT,
	MOUNT3_UMNTALL,
	MOUNT3_EXPORT,
};

enum mount3_status {
	MOUNT3_OK = 0,
	MOUNT3ERR_PERM = 1,
	MOUNT3ERR_NOENT = 2,
	MOUNT3ERR_IO = 5,
	MOUNT3ERR_ACCES = 13,
	MOUNT3ERR_NOTDIR = 20,
	MOUNT3ERR_INVAL = 22,
	MOUNT3ERR_NAMETOOLONG = 63,
	MOUNT3ERR_NOTSUPP = 10004,
	MOUNT3ERR_SERVERFAULT = 10006,
};

/* The arguments of MNT and UMNT. */
struct mount3_path {
	char path[MOUNT3_PATH_MAX + 1]; /* NUL-terminated; a path with a NUL inside is refused */
};

struct mount3_mnt_res {
	uint32_t status;
	struct nfs3_fh fh; /* this member and the flavors are valid with MOUNT3_OK */
	uint32_t nflavors;
	uint32_t flavors[MOUNT3_FLAVORS_MAX];
};

/* An entry of DUMP: a client and the path that it mounted. */
struct mount3_mount {
	char host[MOUNT3_NAME_MAX + 1];
	char path[MOUNT3_PATH_MAX + 1];
};

struct mount3_dump_res {
	uint32_t n; /* a list of more than MOUNT3_LIST_MAX entries is refused */
	struct mount3_mount mounts[MOUNT3_LIST_MAX];
};

/*
 * The results of EXPORT. The groups of an export are not stored. They are encoded as an empty list,
 * which means everyone.
 */
struct mount3_export_res {
	uint32_t n;
	struct mount3_path exports[MOUNT3_LIST_MAX];
};

bool_t mount3_xdr_path(XDR *xdrs, struct mount3_path *path);
bool_t mount3_xdr_mnt_res(XDR *xdrs, struct mount3_mnt_res *res);
bool_t mount3_xdr_dump_res(XDR *xdrs, struct mount3_dump_res *res);
bool_t mount3_xdr_export_res(XDR *xdrs, struct mount3_export_res *res);

#endif
