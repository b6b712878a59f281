/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens the exported directory, and determines the identity to which handles are bound.
 *
 * open_tree() makes a mount of the directory that is attached nowhere. This mount does not include
 * the mounts that the host has below the directory. It never gets such a mount, because its
 * propagation is private. If a mount covers a directory on the host, a client sees the directory
 * below that mount, which is usually empty. The same holds for the kernel's server without the
 * option 'crossmnt'. The exported directory is the root of the private mount, so the kernel does
 * not open ".." beyond it.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "dir.h"

/*
 * Descriptors that are opened before the process gives up CAP_SYS_ADMIN, which a private mount
 * needs.
 */
struct dir_root {
	int host_fd;  /* the directory on the host's mount; the descriptor keeps the file system
			 mounted */
	int mount_fd; /* the directory on the private mount, or -errno if there is no private mount
		       */
};

#define UUID_BYTES 16u

/* The f_fsid of XFS is the number of its device, which can change. The UUID stays the same. */
#define XFS_MAGIC 0x58465342

#define TMPFS_MAGIC 0x01021994

/*
 * File systems on this host's disks or in its memory, whose fstat() never waits. All others are
 * treated as remote.
 */
static const uint32_t local_types[] = {
	0xef53,				     /* ext2, ext3, ext4 */
	XFS_MAGIC,  TMPFS_MAGIC, 0x9123683e, /* btrfs */
	0xf2f52010,			     /* F2FS */
	0xca451a4e,			     /* bcachefs */
	0x2fc12fc1,			     /* ZFS */
	0x858458f6,			     /* ramfs */
	0x4d44,				     /* FAT */
	0x2011bab0,			     /* exFAT */
	0xe0f5e1e2,			     /* EROFS */
	0x73717368,			     /* SquashFS */
	0x9660,				     /* ISO 9660 */
};

struct xfs_geometry {
	uint32_t sizes[8];
	uint64_t blocks[4];
	uint8_t uuid[UUID_BYTES];
	uint32_t rest[7];
};

#define XFS_GEOMETRY _IOR('X', 100, struct xfs_geometry)

_Static_assert(sizeof(struct xfs_geometry) == 112, "the kernel's xfs_fsop_geom_v1");

/* The bytes that distinguish an exported directory from every other directory. */
struct identity {
	uint64_t type; /* type of the file system, from statfs() */
	uint8_t uuid[UUID_BYTES];
	uint8_t fsid[8];
	struct handle_id root;
};

static bool is_remote(const struct statfs *st)
{
	for (size_t i = 0; i < sizeof(local_types) / sizeof(local_types[0]); i++)
		if ((uint32_t)st->f_type == local_types[i])
			return false;
	return true;
}

bool dir_tmpfs_is_steady(const char *release)
{
	unsigned major, minor;

	if (sscanf(release, "%u.%u", &major, &minor) != 2)
		return false;
	return major > 6 || (major == 6 && minor >= 6);
}

static int identify_fs(struct dir_fs *fs, struct identity *identity)
{
	struct xfs_geometry geometry;
	struct utsname host;
	struct statfs st;

	if (fstatfs(fs->root_fd, &st) != 0 || uname(&host) != 0)
		return -errno;
	fs->is_unsteady = st.f_type == TMPFS_MAGIC && !dir_tmpfs_is_steady(host.release);
	fs->is_remote = is_remote(&st);
	identity->type = htobe64((uint64_t)st.f_type);
	if (st.f_type == XFS_MAGIC && ioctl(fs->root_fd, XFS_GEOMETRY, &geometry) == 0)
		memcpy(identity->uuid, geometry.uuid, UUID_BYTES);
	else
		memcpy(identity->fsid, &st.f_fsid, sizeof(identity->fsid));
	return 0;
}

/*
 * Computes the value to which the export's handles are bound. Returns 0 or -errno. The kernel's
 * handle of the directory contains its inode number and generation. Another directory of the same
 * name, or even with the same inode number, has another handle. The file system's identity
 * distinguishes two disks whose roots have the same handle.
 */
static int bind_handles(struct dir_fs *fs)
{
	struct identity identity;
	int rc;

	/* The padding is set to zero, because it is part of the hash. */
	memset(&identity, 0, sizeof(identity));
	rc = identify_fs(fs, &identity);
	if (rc != 0)
		return rc;
	identity.root.len_bytes = htobe32(fs->root_id.len_bytes);
	memcpy(identity.root.data, fs->root_id.data, fs->root_id.len_bytes);
	fs->export->bound = handle_bind(&fs->server->key, &identity, sizeof(identity));
	return 0;
}

/*
 * Makes a mount of the directory 'dir' that only this process has, without the mounts below 'dir'.
 * Returns its descriptor, or -errno.
 */
static int make_private(int dir)
{
	const struct mount_attr attr = {.propagation = MS_PRIVATE};
	long fd = syscall(SYS_open_tree, dir, "",
			  AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (fd < 0)
		return -errno;
	/*
	 * A clone of a shared mount would receive every mount that the host makes below the
	 * directory later.
	 */
	if (syscall(SYS_mount_setattr, (int)fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) != 0) {
		int rc = -errno;

		close((int)fd);
		return rc;
	}
	return (int)fd;
}

int dir_root_prepare(struct export *export)
{
	struct dir_root *root = calloc(1, sizeof(*root));
	int rc = root ? 0 : -ENOMEM;

	if (rc == 0) {
		root->host_fd = open(export->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		rc = root->host_fd < 0 ? -errno : 0;
	}
	if (rc != 0) {
		fprintf(stderr, "weir-nfsd: export %s: can't open the directory %s: %s\n",
			export->name, export->path, strerror(-rc));
		free(root);
		return rc;
	}
	root->mount_fd = make_private(root->host_fd);
	if (root->mount_fd < 0)
		fprintf(stderr,
			"weir-nfsd: export %s: can't make a private mount of %s (%s). Names with a "
			"mount on them will be refused, and clients keep access to directories "
			"that are moved out of the export. To avoid both, start the server with "
			"CAP_SYS_ADMIN on Linux 5.12 or later\n",
			export->name, export->path, strerror(-root->mount_fd));
	export->root = root;
	return 0;
}

int dir_root_open(struct dir_fs *fs)
{
	const struct dir_root *root = fs->export->root;
	struct file_handle none = {.handle_bytes = 0};
	struct stat st;
	int fd, rc;

	fs->is_private = root->mount_fd >= 0;
	fs->root_fd = openat(fs->is_private ? root->mount_fd : root->host_fd, ".",
			     O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fs->root_fd < 0 || fstat(fs->root_fd, &st) != 0)
		return -errno;
	fs->dev = st.st_dev;
	fs->root_ino = st.st_ino;
	/*
	 * The call fails with EOVERFLOW, because 'none' has no memory for the handle. Nevertheless
	 * it sets the ID of the mount.
	 */
	if (name_to_handle_at(fs->root_fd, "", &none, &fs->mount_id, AT_EMPTY_PATH) != 0 &&
	    errno != EOVERFLOW)
		return -errno;
	rc = dir_id_of(fs, fs->root_fd, "", &fs->root_id);
	if (rc != 0)
		return rc;
	/*
	 * The kernel might lack faccessat2(), which decides on callers' rights, or a filter might
	 * refuse it.
	 */
	rc = dir_ask(fs->root_fd, 0);
	if (rc != 0) {
		fprintf(stderr,
			"weir-nfsd: export %s: faccessat2(2), which checks callers' rights, fails "
			"(%s). It needs Linux 5.8 or later, and a seccomp filter of the container "
			"or service that allows it\n",
			fs->export->name, strerror(-rc));
		return rc;
	}
	/* The file system must also support opening files by their handles. */
	fd = dir_open_id(fs, &fs->root_id, O_PATH);
	if (fd < 0)
		return fd;
	close(fd);
	return bind_handles(fs);
}

void dir_root_close(struct dir_fs *fs)
{
	struct dir_root *root = fs->export->root;

	if (fs->root_fd >= 0)
		close(fs->root_fd);
	if (root->mount_fd >= 0)
		close(root->mount_fd);
	close(root->host_fd);
	free(root);
	fs->export->root = NULL;
}
