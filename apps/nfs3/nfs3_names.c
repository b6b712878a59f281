/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the names of procedures, and the texts and errnos of statuses. */
#include "nfs3_names.h"

#include <errno.h>
#include <string.h>

#include "nfs3_rpc.h"

#define PREFIX "NFS3_" /* of the names of procedures in nfs3.x */

static const struct {
	uint32_t status;
	int error;
	const char *text;
} statuses[] = {
	{NFS3_OK, 0, "success"},
	{NFS3ERR_PERM, EPERM, "not owner"},
	{NFS3ERR_NOENT, ENOENT, "no such file or directory"},
	{NFS3ERR_IO, EIO, "I/O error"},
	{NFS3ERR_NXIO, ENXIO, "no such device or address"},
	{NFS3ERR_ACCES, EACCES, "permission denied"},
	{NFS3ERR_EXIST, EEXIST, "file exists"},
	{NFS3ERR_XDEV, EXDEV, "link across file systems"},
	{NFS3ERR_NODEV, ENODEV, "no such device"},
	{NFS3ERR_NOTDIR, ENOTDIR, "not a directory"},
	{NFS3ERR_ISDIR, EISDIR, "is a directory"},
	{NFS3ERR_INVAL, EINVAL, "invalid argument"},
	{NFS3ERR_FBIG, EFBIG, "file too large"},
	{NFS3ERR_NOSPC, ENOSPC, "no space left"},
	{NFS3ERR_ROFS, EROFS, "read-only file system"},
	{NFS3ERR_MLINK, EMLINK, "too many links"},
	{NFS3ERR_NAMETOOLONG, ENAMETOOLONG, "name too long"},
	{NFS3ERR_NOTEMPTY, ENOTEMPTY, "directory not empty"},
	{NFS3ERR_DQUOT, EDQUOT, "quota exceeded"},
	{NFS3ERR_STALE, ESTALE, "stale file handle"},
	{NFS3ERR_REMOTE, EREMOTE, "too many levels of remote"},
	{NFS3ERR_BADHANDLE, EBADF, "bad file handle"},
	{NFS3ERR_NOT_SYNC, EAGAIN, "the object changed meanwhile"},
	{NFS3ERR_BAD_COOKIE, EINVAL, "stale directory cookie"},
	{NFS3ERR_NOTSUPP, EOPNOTSUPP, "not supported"},
	{NFS3ERR_TOOSMALL, ENOBUFS, "buffer too small"},
	{NFS3ERR_SERVERFAULT, EREMOTEIO, "server fault"},
	{NFS3ERR_BADTYPE, EINVAL, "type not supported"},
	{NFS3ERR_JUKEBOX, EAGAIN, "try again later"},
};

#define NSTATUSES (sizeof(statuses) / sizeof(statuses[0]))

const char *nfs3_proc_name(uint32_t proc)
{
	const char *name = nfs3_v3_proc_name(proc);

	return strncmp(name, PREFIX, strlen(PREFIX)) == 0 ? name + strlen(PREFIX) : name;
}

/* Returns the index of a status in the table, or NSTATUSES. */
static uint32_t find(uint32_t status)
{
	uint32_t i = 0;

	while (i < NSTATUSES && statuses[i].status != status)
		i++;
	return i;
}

const char *nfs3_status_text(uint32_t status)
{
	uint32_t i = find(status);

	return i < NSTATUSES ? statuses[i].text : "unknown status";
}

bool nfs3_status_is_known(uint32_t status)
{
	return find(status) < NSTATUSES;
}

int nfs3_status_errno(uint32_t status)
{
	uint32_t i = find(status);

	return i < NSTATUSES ? statuses[i].error : EIO;
}
