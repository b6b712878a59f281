/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Encodes and decodes the arguments and results of MOUNT version 3 in XDR, with filters of
 * libtirpc. Each filter both encodes and decodes. It returns FALSE if the stream ends or if a limit
 * is exceeded.
 */
#include "mount3.h"

#include <string.h>

/* Filters a string in an array of 'max' + 1 bytes. A string with a NUL inside fails. */
static bool_t xdr_text(XDR *xdrs, char *text, u_int max)
{
	u_int len = xdrs->x_op == XDR_DECODE ? 0 : (u_int)strnlen(text, max);

	/* XDR_FREE has no effect, because nothing was allocated. */
	if (xdrs->x_op == XDR_FREE)
		return TRUE;
	if (!xdr_u_int(xdrs, &len) || len > max || !xdr_opaque(xdrs, text, len))
		return FALSE;
	text[len] = '\0';
	return strlen(text) == len;
}

bool_t mount3_xdr_path(XDR *xdrs, struct mount3_path *path)
{
	return xdr_text(xdrs, path->path, MOUNT3_PATH_MAX);
}

bool_t mount3_xdr_mnt_res(XDR *xdrs, struct mount3_mnt_res *res)
{
	if (xdrs->x_op == XDR_FREE)
		return TRUE;
	if (!xdr_uint32_t(xdrs, &res->status))
		return FALSE;
	if (res->status != MOUNT3_OK)
		return TRUE;
	if (!xdr_uint32_t(xdrs, &res->fh.len_bytes) || res->fh.len_bytes > NFS3_FH_MAX ||
	    !xdr_opaque(xdrs, (char *)res->fh.data, res->fh.len_bytes))
		return FALSE;
	if (!xdr_uint32_t(xdrs, &res->nflavors) || res->nflavors > MOUNT3_FLAVORS_MAX)
		return FALSE;
	for (uint32_t i = 0; i < res->nflavors; i++)
		if (!xdr_uint32_t(xdrs, &res->flavors[i]))
			return FALSE;
	return TRUE;
}

/*
 * Filters the boolean word that precedes each entry of a list and ends the list. 'i' is the index
 * of the entry. *more becomes true if the entry follows. *n is the number of entries: given when
 * encoding, and counted when decoding. Returns FALSE if the list has more than MOUNT3_LIST_MAX
 * entries.
 */
static bool_t xdr_next(XDR *xdrs, uint32_t i, uint32_t *n, bool_t *more)
{
	*more = i < *n;
	if (!xdr_bool(xdrs, more))
		return FALSE;
	if (xdrs->x_op == XDR_DECODE)
		*n = i + (*more ? 1u : 0u);
	return *n <= MOUNT3_LIST_MAX;
}

/*
 * Filters a list of *n entries, which are in 'res'. The function 'entry' filters the entry with the
 * index 'i'.
 */
static bool_t xdr_list(XDR *xdrs, uint32_t *n, void *res,
		       bool_t (*entry)(XDR *xdrs, void *res, uint32_t i))
{
	bool_t more = TRUE;

	if (xdrs->x_op == XDR_FREE)
		return TRUE;
	for (uint32_t i = 0; more; i++) {
		if (!xdr_next(xdrs, i, n, &more))
			return FALSE;
		if (more && !entry(xdrs, res, i))
			return FALSE;
	}
	return TRUE;
}

static bool_t xdr_mount(XDR *xdrs, void *list, uint32_t i)
{
	struct mount3_dump_res *res = list;

	return xdr_text(xdrs, res->mounts[i].host, MOUNT3_NAME_MAX) &&
	       xdr_text(xdrs, res->mounts[i].path, MOUNT3_PATH_MAX);
}

bool_t mount3_xdr_dump_res(XDR *xdrs, struct mount3_dump_res *res)
{
	return xdr_list(xdrs, &res->n, res, xdr_mount);
}

/*
 * Filters the list of the groups that may mount an export. An empty list is encoded. Decoded groups
 * are discarded.
 */
static bool_t xdr_groups(XDR *xdrs)
{
	char group[MOUNT3_NAME_MAX + 1];
	bool_t more = FALSE;

	for (uint32_t i = 0; i <= MOUNT3_LIST_MAX; i++) {
		if (!xdr_bool(xdrs, &more))
			return FALSE;
		if (!more)
			return TRUE;
		if (!xdr_text(xdrs, group, MOUNT3_NAME_MAX))
			return FALSE;
	}
	return FALSE;
}

static bool_t xdr_export(XDR *xdrs, void *list, uint32_t i)
{
	struct mount3_export_res *res = list;

	return mount3_xdr_path(xdrs, &res->exports[i]) && xdr_groups(xdrs);
}

bool_t mount3_xdr_export_res(XDR *xdrs, struct mount3_export_res *res)
{
	return xdr_list(xdrs, &res->n, res, xdr_export);
}
