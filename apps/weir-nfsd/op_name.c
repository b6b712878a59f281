/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the names of a procedure (RFC 1813 section 3.2, and the section of each procedure). */
#include <string.h>

#include "op_name.h"

static bool is_dot(const struct nfs3_name *name)
{
	return name->len_bytes == 1 && name->data[0] == '.';
}

static bool is_dot_dot(const struct nfs3_name *name)
{
	return name->len_bytes == 2 && name->data[0] == '.' && name->data[1] == '.';
}

enum nfs3_status name_check(const struct nfs3_name *name)
{
	if (name->len_bytes > NFS3_NAME_MAX)
		return NFS3ERR_NAMETOOLONG;
	if (name->len_bytes == 0 || memchr(name->data, '/', name->len_bytes) ||
	    memchr(name->data, '\0', name->len_bytes))
		return NFS3ERR_INVAL;
	return NFS3_OK;
}

/*
 * Returns the status with which a procedure answers the names "." and "..", or NFS3_OK for any
 * other name.
 */
static enum nfs3_status check_dots(uint32_t proc, const struct nfs3_name *name)
{
	if (!is_dot(name) && !is_dot_dot(name))
		return NFS3_OK;
	switch (proc) {
	case NFS3_LOOKUP:
		return NFS3_OK;
	case NFS3_REMOVE:
		return NFS3ERR_ISDIR;
	case NFS3_RMDIR:
		return is_dot(name) ? NFS3ERR_INVAL : NFS3ERR_EXIST;
	case NFS3_RENAME:
		return NFS3ERR_INVAL;
	default:
		return NFS3ERR_EXIST; /* both names exist in each directory */
	}
}

enum nfs3_status name_check_op(const struct op *op)
{
	const struct nfs3_name *first = &op->args.dirop.name;
	const struct nfs3_name *second = first;
	enum nfs3_status status;

	if (op->proc == NFS3_LINK)
		first = second = &op->args.link.link.name;
	else if (op->proc == NFS3_RENAME)
		second = &op->args.rename.to.name;
	status = name_check(first);
	if (status == NFS3_OK)
		status = name_check(second);
	if (status == NFS3_OK)
		status = check_dots(op->proc, first);
	if (status == NFS3_OK)
		status = check_dots(op->proc, second);
	return status;
}

enum nfs3_status name_next(const char **path, struct nfs3_name *name)
{
	const char *start = *path + strspn(*path, "/");
	size_t len = strcspn(start, "/");

	*path = start + len;
	if (len > NFS3_NAME_MAX)
		return NFS3ERR_NAMETOOLONG;
	name->len_bytes = (uint32_t)len;
	memcpy(name->data, start, len);
	return is_dot(name) || is_dot_dot(name) ? NFS3ERR_NOENT : NFS3_OK;
}
