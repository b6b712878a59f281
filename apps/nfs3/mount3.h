/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MOUNT3_H
#define MOUNT3_H

/*
 * The types of MOUNT version 3 (RFC 1813 appendix I), which uses TCP, and their XDR filters for
 * libtirpc, which have the type xdrproc_t. A filter decodes into the caller's structure and checks
 * all bounds. It returns FALSE if the data are malformed or exceed a limit below. It allocates
 * nothing, so nothing has to be freed.
 */

#include <rpc/rpc.h>

#include "nfs3_xdr.h"

#define MOUNT3_PROGRAM 100005u
#define MOUNT3_VERSION 3u
/*
 * The limits of paths, host names, group names and flavors are in bytes, bytes, bytes and entries.
 */
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
	char path[MOUNT3_PATH_MAX +
		  1]; /* NUL-terminated; decoding a path with a NUL inside fails */
};

/*
 * The results of MNT: the handle of a directory, and the flavors of authentication that it accepts.
 */
struct mount3_mnt_res {
	uint32_t status;
	/* 'fh', 'nflavors' and 'flavors' are valid only if 'status' is MOUNT3_OK */
	struct nfs3_fh fh;
	uint32_t nflavors;
	uint32_t flavors[MOUNT3_FLAVORS_MAX];
};

/* An entry of DUMP: a client and the path that it mounted. */
struct mount3_mount {
	char host[MOUNT3_NAME_MAX + 1];
	char path[MOUNT3_PATH_MAX + 1];
};

/* The results of DUMP. */
struct mount3_dump_res {
	uint32_t n; /* number of 'mounts'; decoding a list with more than MOUNT3_LIST_MAX entries
		       fails */
	struct mount3_mount mounts[MOUNT3_LIST_MAX];
};

/*
 * The results of EXPORT: the paths of the exports. The groups that may mount an export are not
 * stored. They are encoded as an empty list, which means that everyone may mount it.
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
