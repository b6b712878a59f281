/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands get, cat and put. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "commands.h"
#include "copy.h"
#include "terminal.h"

static int open_transfer(const struct nfs_options *options, struct session **session,
			 struct transfer *transfer)
{
	int status = cmd_open_transfer(options, options->block_bytes, session), rc;

	if (status != EXIT_OK)
		return status;
	rc = transfer_init(transfer, *session);
	if (rc == 0)
		return EXIT_OK;
	return cmd_close(*session, tree_report_error("fsinfo", "/", rc));
}

static bool is_local_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int copy_refuse(const char *what, const char *path, const char *why)
{
	char text[PATH_BYTES_MAX];

	terminal_text(path, text, sizeof(text));
	fprintf(stderr, "weir-nfs: %s %s: %s\n", what, text, why);
	return EXIT_NFS;
}

static int get_to_stdout(struct transfer *transfer, const struct node *node, const char *path)
{
	struct local_file file;
	int rc;

	if (node->attr.type != NFS3_REG)
		return copy_refuse("get", path, "not a regular file");
	local_begin_stdout(&file);
	rc = transfer_fetch(transfer, node, &file, path);
	if (rc == -ECANCELED && transfer->local_error)
		return local_complain("standard output", transfer->local_error);
	return rc == 0 ? EXIT_OK : tree_report_error("get", path, rc);
}

static int get(const struct nfs_options *options, struct transfer *transfer, const char *remote,
	       const char *local)
{
	char text[PATH_BYTES_MAX];
	struct path path;
	struct node node;
	int status = cmd_walk(transfer->session, "get", remote, &node);
	bool is_dir = status == EXIT_OK && node.attr.type == NFS3_DIR;

	if (status != EXIT_OK)
		return status;
	if (strcmp(local, "-") == 0)
		return get_to_stdout(transfer, &node, remote);
	if (node.attr.type == NFS3_LNK && !(options->flags & FLAG_RECURSIVE))
		return copy_refuse("get", remote, "a symbolic link: -L follows it, -r copies it");
	if (is_dir && !(options->flags & FLAG_RECURSIVE))
		return copy_refuse("get", remote, "a directory: -r copies it");
	if (path_parse(remote, &path) == 0 && (path.nnames > 0 || is_dir) && is_local_dir(local)) {
		/*
		 * The user named the directory 'local', so 'local' is allowed to be a symbolic
		 * link. No directory below it is.
		 */
		int n = snprintf(text, sizeof(text), "%s/%s", local,
				 path.nnames > 0 ? cmd_last_name(&path) : ".");

		if (n < 0 || (size_t)n >= sizeof(text))
			return local_complain(local, -ENAMETOOLONG);
		local = text;
	}
	return copy_get(transfer, &node, AT_FDCWD, local, remote, 0);
}

int cmd_get(const struct nfs_options *options)
{
	struct transfer transfer;
	struct session *session;
	int status = open_transfer(options, &session, &transfer);

	if (status != EXIT_OK)
		return status;
	status = get(options, &transfer, options->args[0],
		     options->nargs > 1 ? options->args[1] : ".");
	transfer_fini(&transfer);
	return cmd_close(session, status);
}

int cmd_cat(const struct nfs_options *options)
{
	struct transfer transfer;
	struct session *session;
	int status = open_transfer(options, &session, &transfer);

	if (status != EXIT_OK)
		return status;
	for (int i = 0; i < options->nargs && copy_can_go_on(session); i++) {
		struct node node;
		int one = cmd_walk(session, "cat", options->args[i], &node);

		if (one == EXIT_OK)
			one = get_to_stdout(&transfer, &node, options->args[i]);
		status = copy_worse(status, one);
	}
	transfer_fini(&transfer);
	return cmd_close(session, status);
}

/*
 * Finds the target of put. If 'remote' is a directory, the target is in that directory and has the
 * last name of 'local'. Otherwise the target is 'remote' itself. Returns EXIT_OK with the target's
 * directory in *dir and its name in 'name', or another exit status after it has printed the reason.
 * The name is "" if the entries of 'local' are copied to *dir itself.
 */
static int find_destination(struct session *session, const char *local, const char *remote,
			    struct node *dir, char name[NAME_BYTES_MAX + 1])
{
	const char *slash = strrchr(local, '/');
	struct path path, last;
	struct node node;
	int status, rc;

	if (path_parse(remote, &path) != 0)
		return tree_report_error("put", remote, NFS3ERR_NAMETOOLONG);
	rc = tree_walk(session, &path, &node, &last);
	if (rc == 0 && node.attr.type == NFS3_DIR) {
		*dir = node;
		snprintf(name, NAME_BYTES_MAX + 1, "%s", slash ? slash + 1 : local);
		/*
		 * The paths ".", ".." and "DIR/", and standard input, have no name that the target
		 * could get.
		 */
		if (strcmp(local, "-") != 0 &&
		    (name[0] == '\0' || name_is_safe(name, strlen(name))))
			return EXIT_OK;
		if (strcmp(local, "-") == 0)
			return copy_refuse("put", remote, "a directory: add the name of the file");
		name[0] = '\0';
		return EXIT_OK;
	}
	if (rc < 0 && rc != -ELOOP)
		return tree_report_error("put", remote, rc);
	status = cmd_walk_parent(session, "put", remote, &path, dir);
	if (status == EXIT_OK)
		snprintf(name, NAME_BYTES_MAX + 1, "%s", cmd_last_name(&path));
	return status;
}

static int put(const struct nfs_options *options, struct transfer *transfer, const char *local,
	       const char *remote)
{
	char name[NAME_BYTES_MAX + 1];
	mode_t mask = umask(0);
	struct node dir;
	int status;

	umask(mask);
	if (strcmp(local, "-") != 0 && is_local_dir(local) && !(options->flags & FLAG_RECURSIVE)) {
		fprintf(stderr, "weir-nfs: put %s: a directory: -r copies it\n", local);
		return EXIT_LOCAL;
	}
	if (strcmp(local, "-") != 0 && access(local, R_OK) != 0)
		return local_complain(local, -errno);
	status = find_destination(transfer->session, local, remote, &dir, name);
	if (status != EXIT_OK)
		return status;
	if (strcmp(local, "-") == 0)
		return copy_put_fd(transfer, STDIN_FILENO, 0666 & ~mask, &dir.fh, name, remote);
	return copy_put(transfer, AT_FDCWD, local, &dir.fh, name, local, 0);
}

int cmd_put(const struct nfs_options *options)
{
	struct transfer transfer;
	struct session *session;
	int status = open_transfer(options, &session, &transfer);

	if (status != EXIT_OK)
		return status;
	status = put(options, &transfer, options->args[0],
		     options->nargs > 1 ? options->args[1] : "/");
	transfer_fini(&transfer);
	return cmd_close(session, status);
}
