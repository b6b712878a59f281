/* SPDX-License-Identifier: BSD-3-Clause */
/* The exported directory itself: how it is opened, and the identity that handles are bound to. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "dir.h"

#define UUID_BYTES 16u

/* XFS tells its device's number in f_fsid, which another disk may have tomorrow. Its UUID is what stays. */
#define XFS_MAGIC 0x58465342

struct xfs_geometry {
	uint32_t sizes[8];
	uint64_t blocks[4];
	uint8_t uuid[UUID_BYTES];
	uint32_t rest[7];
};

#define XFS_GEOMETRY _IOR('X', 100, struct xfs_geometry)

_Static_assert(sizeof(struct xfs_geometry) == 112, "the kernel's xfs_fsop_geom_v1");

/* What tells one exported directory from all others, on this file system and on others. */
struct identity {
	uint64_t type; /* of the file system */
	uint8_t uuid[UUID_BYTES];
	uint8_t fsid[8];
	struct handle_id root;
};

static int identify_fs(int fd, struct identity *identity)
{
	struct xfs_geometry geometry;
	struct statfs st;

	if (fstatfs(fd, &st) != 0)
		return -errno;
	identity->type = htobe64((uint64_t)st.f_type);
	if (st.f_type == XFS_MAGIC && ioctl(fd, XFS_GEOMETRY, &geometry) == 0)
		memcpy(identity->uuid, geometry.uuid, UUID_BYTES);
	else
		memcpy(identity->fsid, &st.f_fsid, sizeof(identity->fsid));
	return 0;
}

/*
 * The kernel's handle of the directory has the number of its inode and its generation: a directory that takes its place, or
 * even its number, has another one. The file system's identity tells two disks apart whose roots have the same handle.
 */
static int bind_handles(struct dir_fs *fs)
{
	struct identity identity;
	int rc;

	/* All of it is hashed, padding included. */
	memset(&identity, 0, sizeof(identity));
	rc = identify_fs(fs->root_fd, &identity);
	if (rc != 0)
		return rc;
	identity.root.len_bytes = htobe32(fs->root_id.len_bytes);
	memcpy(identity.root.data, fs->root_id.data, fs->root_id.len_bytes);
	fs->export->bound = handle_bind(&fs->server->key, &identity, sizeof(identity));
	return 0;
}

int dir_root_open(struct dir_fs *fs)
{
	struct stat st;
	int fd, rc;

	fs->root_fd = open(fs->export->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fs->root_fd < 0 || fstat(fs->root_fd, &st) != 0)
		return -errno;
	fs->dev = st.st_dev;
	fs->root_ino = st.st_ino;
	rc = dir_id_of(fs->root_fd, "", &fs->root_id);
	if (rc != 0)
		return rc;
	/* It must work the other way, too. */
	fd = dir_open_id(fs, &fs->root_id, O_PATH);
	if (fd < 0)
		return fd;
	close(fd);
	return bind_handles(fs);
}

void dir_root_close(struct dir_fs *fs)
{
	if (fs->root_fd >= 0)
		close(fs->root_fd);
}
