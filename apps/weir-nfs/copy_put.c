/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies files and trees to the server. Symbolic links in a local tree are copied, not followed. A
 * link that the user names is followed.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy.h"

int copy_put_fd(struct transfer *transfer, int fd, uint32_t mode, const struct nfs3_fh *dir,
		const char *remote_name, const char *path)
{
	const struct nfs3_sattr attr = {.set_mode = true, .mode = mode & 07777, .set_size = true};
	struct node node;
	int rc = tree_create(transfer->session, dir, remote_name, &attr, &node);

	if (rc == 0 && node.attr.type != NFS3_REG)
		rc = NFS3ERR_INVAL;
	if (rc == 0)
		rc = transfer_store(transfer, &node.fh, fd, path);
	if (rc == -ECANCELED && transfer->local_error)
		return local_complain(path, transfer->local_error);
	return rc == 0 ? EXIT_OK : tree_report_error("put", path, rc);
}

static int put_file(struct transfer *transfer, int dir_fd, const char *name, int open_flags,
		    uint32_t mode, const struct nfs3_fh *dir, const char *remote_name,
		    const char *path)
{
	/*
	 * O_NONBLOCK is needed because another process might have replaced the object by a FIFO
	 * after its type was checked.
	 */
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | open_flags), status;

	if (fd < 0)
		return local_complain(path, -errno);
	status = copy_put_fd(transfer, fd, mode, dir, remote_name, path);
	close(fd);
	return status;
}

static int put_link(struct session *session, int dir_fd, const char *name,
		    const struct nfs3_fh *dir, const char *remote_name, const char *path)
{
	char target[NFS3_PATH_MAX + 1];
	ssize_t n = readlinkat(dir_fd, name, target, sizeof(target) - 1);
	int rc;

	if (n < 0)
		return local_complain(path, -errno);
	target[n] = '\0';
	rc = tree_symlink(session, dir, remote_name, target);
	if (rc == NFS3ERR_EXIST) {
		rc = tree_remove(session, dir, remote_name, false);
		rc = rc == 0 ? tree_symlink(session, dir, remote_name, target) : rc;
	}
	return rc == 0 ? EXIT_OK : tree_report_error("put", path, rc);
}

static int put_entries(struct transfer *transfer, DIR *entries, const struct nfs3_fh *dir,
		       const char *path, uint32_t level)
{
	int status = EXIT_OK;
	struct dirent *entry;

	while (copy_can_go_on(transfer->session) && (entry = readdir(entries))) {
		char text[PATH_BYTES_MAX];

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(text, sizeof(text), "%s/%s", path, entry->d_name);
		status = copy_worse(status, copy_put(transfer, dirfd(entries), entry->d_name, dir,
						     entry->d_name, text, level + 1));
	}
	return status;
}

static int put_dir(struct transfer *transfer, int dir_fd, const char *name, uint32_t mode,
		   const struct nfs3_fh *dir, const char *remote_name, const char *path,
		   uint32_t level)
{
	struct session *session = transfer->session;
	struct node node = {.fh = *dir};
	DIR *entries;
	int fd, status, rc;

	if (level == COPY_LEVELS_MAX)
		return local_complain(path, -ENAMETOOLONG);
	/* If 'remote_name' is empty, the directory's entries are copied to 'dir' itself. */
	rc = remote_name[0] == '\0' ? 0 : tree_mkdir(session, dir, remote_name, mode | 0700, &node);
	if (rc == NFS3ERR_EXIST) {
		rc = tree_lookup(session, dir, remote_name, &node);
		rc = rc == 0 && node.attr.type != NFS3_DIR ? NFS3ERR_NOTDIR : rc;
	}
	if (rc != 0)
		return tree_report_error("mkdir", path, rc);
	fd = openat(dir_fd, name,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC | (level > 0 ? O_NOFOLLOW : 0));
	entries = fd < 0 ? NULL : fdopendir(fd);
	if (!entries) {
		status = local_complain(path, -errno);
		if (fd >= 0)
			close(fd);
		return status;
	}
	status = put_entries(transfer, entries, &node.fh, path, level);
	closedir(entries);
	return status;
}

int copy_put(struct transfer *transfer, int dir_fd, const char *name, const struct nfs3_fh *dir,
	     const char *remote_name, const char *path, uint32_t level)
{
	struct stat st;
	uint32_t mode;

	if (fstatat(dir_fd, name, &st, level > 0 ? AT_SYMLINK_NOFOLLOW : 0) != 0)
		return local_complain(path, -errno);
	mode = st.st_mode & 07777;
	if (S_ISREG(st.st_mode))
		return put_file(transfer, dir_fd, name, level > 0 ? O_NOFOLLOW : 0, mode, dir,
				remote_name, path);
	if (S_ISDIR(st.st_mode))
		return put_dir(transfer, dir_fd, name, mode, dir, remote_name, path, level);
	if (S_ISLNK(st.st_mode))
		return put_link(transfer->session, dir_fd, name, dir, remote_name, path);
	return copy_left_out("put", path);
}
