/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies files and trees from the server, and removes trees there. */
#include "copy.h"
#include "terminal.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int copy_worse(int a, int b)
{
	static const int weights[] = {
		[EXIT_OK] = 0, [EXIT_NFS] = 1, [EXIT_LOCAL] = 2, [EXIT_TRANSPORT] = 3};

	return weights[a] >= weights[b] ? a : b;
}

bool copy_can_go_on(const struct session *session)
{
	return session->error == 0;
}

int copy_left_out(const char *what, const char *path)
{
	char text[PATH_BYTES_MAX];

	terminal_text(path, text, sizeof(text));
	fprintf(stderr,
		"weir-nfs: %s %s: not copied, because it is neither a file, a directory nor a "
		"symbolic link\n",
		what, text);
	return EXIT_OK;
}

/* Writes "PATH/NAME" to 'text', and truncates it if it does not fit. */
static void join(char text[PATH_BYTES_MAX], const char *path, const char *name)
{
	snprintf(text, PATH_BYTES_MAX, "%s/%s", path, name);
}

static int get_file(struct transfer *transfer, const struct node *node, int dir_fd,
		    const char *name, const char *path)
{
	struct local_file file;
	int rc = local_begin(&file, dir_fd, name);

	if (rc != 0)
		return local_complain(name, rc);
	rc = transfer_fetch(transfer, node, &file, path);
	if (rc != 0) {
		local_abandon(&file);
		return transfer->error == -ECANCELED && transfer->local_error
			       ? local_complain(name, transfer->local_error)
			       : tree_report_error("get", path, rc);
	}
	rc = local_finish(&file, node->attr.mode);
	return rc == 0 ? EXIT_OK : local_complain(name, rc);
}

static int get_link(struct transfer *transfer, const struct node *node, int dir_fd,
		    const char *name, const char *path)
{
	char target[NFS3_PATH_MAX + 1];
	int rc = tree_readlink(transfer->session, &node->fh, target);

	if (rc != 0)
		return tree_report_error("readlink", path, rc);
	/*
	 * As a file would, the link replaces an existing object of this name, except a directory.
	 */
	if (unlinkat(dir_fd, name, 0) != 0 && errno != ENOENT)
		return local_complain(name, -errno);
	return symlinkat(target, dir_fd, name) == 0 ? EXIT_OK : local_complain(name, -errno);
}

static int complain_dir(int dir_fd, const char *name, int error)
{
	char text[PATH_BYTES_MAX];
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISLNK(st.st_mode))
		return local_complain(name, -error);
	terminal_text(name, text, sizeof(text));
	fprintf(stderr, "weir-nfs: %s: a symbolic link, which get -r does not follow: remove it\n",
		text);
	return EXIT_LOCAL;
}

/*
 * Calls 'each' for all entries of the directory 'dir', whose path is 'path'. Returns the worst exit
 * status of these calls and of the listing.
 */
static int for_each(struct session *session, const struct node *dir, const char *path,
		    int (*each)(void *arg, const struct node *child, const char *name,
				const char *path),
		    void *arg)
{
	char text[PATH_BYTES_MAX];
	struct dir_list list;
	int status = EXIT_OK;
	int rc = dir_list(session, &dir->fh, &list, false);

	if (rc != 0)
		status = tree_report_error("ls", path, rc);
	for (uint32_t i = 0; i < list.n && copy_can_go_on(session); i++) {
		struct node child;

		join(text, path, list.entries[i].name);
		rc = dir_entry_node(session, &dir->fh, &list.entries[i], &child);
		status =
			copy_worse(status, rc != 0 ? tree_report_error("lookup", text, rc)
						   : each(arg, &child, list.entries[i].name, text));
	}
	dir_list_free(&list);
	return status;
}

struct get {
	struct transfer *transfer;
	int dir_fd;
	uint32_t level;
};

static int get_child(void *arg, const struct node *child, const char *name, const char *path)
{
	const struct get *get = arg;

	return copy_get(get->transfer, child, get->dir_fd, name, path, get->level);
}

static int get_dir(struct transfer *transfer, const struct node *node, int dir_fd, const char *name,
		   const char *path, uint32_t level)
{
	struct get get = {.transfer = transfer, .level = level + 1};
	int status;

	if (level == COPY_LEVELS_MAX)
		return tree_report_error("get", path, NFS3ERR_NAMETOOLONG);
	if (mkdirat(dir_fd, name, 0777) != 0 && errno != EEXIST)
		return local_complain(name, -errno);
	/*
	 * O_NOFOLLOW is needed because the server might have caused this client to create a
	 * symbolic link of this name, in this copy or an earlier one.
	 */
	get.dir_fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (get.dir_fd < 0)
		return complain_dir(dir_fd, name, errno);
	status = for_each(transfer->session, node, path, get_child, &get);
	close(get.dir_fd);
	return status;
}

int copy_get(struct transfer *transfer, const struct node *node, int dir_fd, const char *name,
	     const char *path, uint32_t level)
{
	switch (node->attr.type) {
	case NFS3_REG:
		return get_file(transfer, node, dir_fd, name, path);
	case NFS3_DIR:
		return get_dir(transfer, node, dir_fd, name, path, level);
	case NFS3_LNK:
		return get_link(transfer, node, dir_fd, name, path);
	default:
		return copy_left_out("get", path);
	}
}

struct removal {
	struct session *session;
	const struct nfs3_fh *dir;
	uint32_t level;
};

static int remove_child(void *arg, const struct node *child, const char *name, const char *path)
{
	const struct removal *removal = arg;

	return copy_remove(removal->session, removal->dir, name, child, path, removal->level);
}

/* Removes the entries of the directory 'node'. Returns the worst exit status. */
static int remove_content(struct session *session, const struct node *node, const char *path,
			  uint32_t level)
{
	struct removal removal = {.session = session, .dir = &node->fh, .level = level + 1};

	if (level == COPY_LEVELS_MAX)
		return tree_report_error("rm", path, NFS3ERR_NAMETOOLONG);
	return for_each(session, node, path, remove_child, &removal);
}

int copy_remove(struct session *session, const struct nfs3_fh *dir, const char *name,
		const struct node *node, const char *path, uint32_t level)
{
	bool is_dir = node->attr.type == NFS3_DIR;
	int status = is_dir ? remove_content(session, node, path, level) : EXIT_OK;
	int rc;

	if (status != EXIT_OK)
		return status;
	rc = tree_remove(session, dir, name, is_dir);
	return rc == 0 ? EXIT_OK : tree_report_error("rm", path, rc);
}
