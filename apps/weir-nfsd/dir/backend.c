/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations of the back end 'dir': starts and stops it, polls it, and walks for MOUNT. */
#include "dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "op_name.h"
#include "server_clock.h"

static void dir_close(struct fs *fs_)
{
	struct dir_fs *fs = (struct dir_fs *)fs_;

	if (!fs)
		return;
	dir_work_stop(fs);
	dir_io_stop(fs);
	dir_root_close(fs);
	free(fs);
}

/*
 * Returns advice for the administrator of the host on an error of the start. 'is_ring' is true if
 * io_uring failed.
 */
static const char *advice(bool is_ring, int rc)
{
	if (is_ring && (rc == -EPERM || rc == -EACCES || rc == -ENOSYS))
		return ". Files are read and written with io_uring, which this process may not "
		       "use: set sysctl kernel.io_uring_disabled to 0, and allow io_uring in the "
		       "seccomp filter of the container or service. The back end ram does not need "
		       "io_uring";
	if (is_ring && rc == -ENOMEM)
		return ". The memory of io_uring must be locked, and the limit of this process is "
		       "too low (RLIMIT_MEMLOCK): 'ulimit -l unlimited', LimitMEMLOCK=infinity of "
		       "a systemd unit, or the capability CAP_IPC_LOCK raises it";
	return rc == -EOPNOTSUPP ? ". Its file system does not support file handles: export a "
				   "directory of another file system"
				 : "";
}

static int dir_open(struct export *export, struct server *server)
{
	bool is_ring = false;

	struct dir_fs *fs = calloc(1, sizeof(*fs));
	int rc;

	if (!fs)
		return -ENOMEM;
	fs->server = server;
	fs->export = export;
	fs->root_fd = -1;
	fs->now_ns = server_now_ns();
	memcpy(fs->write_verf, server->write_verf, sizeof(fs->write_verf));
	dir_users_init(fs);
	TAILQ_INIT(&fs->watched);
	dir_queues_init(fs);
	if (geteuid() != 0) {
		fprintf(stderr,
			"weir-nfsd: export %s: only root may open files by their handles: start "
			"weir-nfsd as root to serve a directory\n",
			export->name);
		dir_close((struct fs *)fs);
		return -EPERM;
	}
	LIST_INIT(&fs->free_ios);
	LIST_INIT(&fs->holds);
	LIST_INIT(&fs->running);
	LIST_INIT(&fs->locks);
	LIST_INIT(&fs->client_calls);
	TAILQ_INIT(&fs->pending_syncs);
	dir_fds_start(fs);
	umask(0); /* the modes of new files are those that clients request */
	rc = dir_root_open(fs);
	if (rc == 0)
		dir_limits_find(fs);
	if (rc == 0)
		rc = dir_io_start(fs);
	if (rc == 0) {
		is_ring = true;
		rc = dir_ring_start(fs);
	}
	if (rc == 0)
		rc = poller_watch(export->owner, fs->ring.ring_fd);
	if (rc == 0) {
		is_ring = false;
		rc = dir_work_start(fs, dir_worked);
	}
	if (rc != 0) {
		fprintf(stderr, "weir-nfsd: export %s: can't serve %s: %s%s%s\n", export->name,
			export->path, is_ring ? "io_uring: " : "", strerror(-rc),
			advice(is_ring, rc));
		dir_close((struct fs *)fs);
		return rc;
	}
	export->fs = (struct fs *)fs;
	return 0;
}

static uint32_t dir_poll(struct fs *fs_, uint64_t now_ns)
{
	struct dir_fs *fs = (struct dir_fs *)fs_;
	uint32_t n;

	/* Polls are rare while the thread sleeps, so the time counts, too. */
	if (++fs->npolls >= DIR_TICK_POLLS || now_ns - fs->now_ns >= DIR_TICK_NS) {
		fs->npolls = 0;
		dir_fds_tick(fs, now_ns);
		dir_watch_tick(fs);
		if (fs->server->is_stopping)
			dir_fds_shrink(fs, fs->nfds);
	}
	n = dir_io_poll(fs);
	return n + dir_wait_retry(fs);
}

static void dir_root(struct fs *fs, struct handle_id *id)
{
	*id = ((struct dir_fs *)fs)->root_id;
}

/*
 * Closes the directory 'dir', and opens the directory at 'path' relative to it. The thread acts as
 * the caller, so that the kernel checks the caller's rights. Returns a descriptor or -errno. If a
 * name in the path is invalid, *status is the error. Otherwise *status is NFS3_OK.
 */
static int walk_as(int dir, const char *path, enum nfs3_status *status)
{
	struct nfs3_name name;

	while (dir >= 0 && (*status = name_next(&path, &name)) == NFS3_OK && name.len_bytes > 0) {
		int next = dir_open_name(dir, &name, O_PATH | O_DIRECTORY, 0);

		close(dir);
		dir = next;
	}
	return dir;
}

/*
 * Finds the directory at 'path' in the export for MOUNT. A walker's thread uses no RDMA device, so
 * it is allowed to act as other users.
 */
static enum nfs3_status dir_walk(struct fs *fs_, const struct cred *cred, const char *path,
				 struct handle_id *id)
{
	struct dir_fs *fs = (struct dir_fs *)fs_;
	int dir = openat(fs->root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC), rc = 0;
	enum nfs3_status status = NFS3_OK;

	if (dir < 0)
		return dir_status(-errno);
	rc = dir_set_creds(cred);
	if (rc == 0) {
		dir = walk_as(dir, path, &status);
		dir_reset_creds();
	}
	if (rc == 0 && status == NFS3_OK)
		rc = dir < 0 ? dir : dir_id_of(fs, dir, "", id);
	if (dir >= 0)
		close(dir);
	return status != NFS3_OK ? status : dir_status(rc);
}

/*
 * Returns true while the back end has work, open files or closes that are not finished. When the
 * server stops, dir_poll() closes open files before the threads end.
 */
static bool dir_is_busy(struct fs *fs_)
{
	struct dir_fs *fs = (struct dir_fs *)fs_;

	return fs->nworking > 0 || fs->nios > 0 || fs->nwaiting > 0 || fs->nfds > 0 ||
	       dir_work_nclosing(fs) > 0;
}

static void dir_stop(struct fs *fs)
{
	dir_work_stop((struct dir_fs *)fs);
}

static uint32_t dir_transfer_max(const struct fs *fs)
{
	(void)fs;
	return BLOCK_POOL_MAX;
}

static uint64_t dir_file_max(const struct fs *fs)
{
	return ((const struct dir_fs *)fs)->file_max;
}

static uint32_t dir_link_max(const struct fs *fs)
{
	return ((const struct dir_fs *)fs)->link_max;
}

const struct fs_ops dir_ops = {
	.name = "dir",
	.prepare = dir_root_prepare,
	.open = dir_open,
	.close = dir_close,
	.root = dir_root,
	.start = dir_start,
	.walk = dir_walk,
	.walk_waits = true,
	.place = dir_place,
	.poll = dir_poll,
	.is_busy = dir_is_busy,
	.stop = dir_stop,
	.transfer_max = dir_transfer_max,
	.file_max = dir_file_max,
	.link_max = dir_link_max,
};
