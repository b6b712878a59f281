/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands rm, rmdir, mkdir, mv, ln, chmod and truncate. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "commands.h"
#include "copy.h"
#include "number.h"

/*
 * Runs 'one' for each argument. If 'one' fails for an argument, the other arguments are tried as
 * well. Returns the worst exit status.
 */
static int each(const struct nfs_options *options,
		int (*one)(struct session *session, const char *text))
{
	struct session *session;
	int status = cmd_open(options, &session);

	if (status != EXIT_OK)
		return status;
	for (int i = 0; i < options->nargs && copy_can_go_on(session); i++)
		status = copy_worse(status, one(session, options->args[i]));
	return cmd_close(session, status);
}

static int result(const char *what, const char *text, int rc)
{
	return rc == 0 ? EXIT_OK : tree_report_error(what, text, rc);
}

static int rm_one(struct session *session, const char *text)
{
	struct node dir, node;
	struct path path;
	int status = cmd_walk_parent(session, "rm", text, &path, &dir), rc;

	if (status != EXIT_OK)
		return status;
	if (!(session->options->flags & FLAG_RECURSIVE))
		return result("rm", text,
			      tree_remove(session, &dir.fh, cmd_last_name(&path), false));
	rc = tree_lookup(session, &dir.fh, cmd_last_name(&path), &node);
	if (rc != 0)
		return tree_report_error("rm", text, rc);
	return copy_remove(session, &dir.fh, cmd_last_name(&path), &node, text, 0);
}

int cmd_rm(const struct nfs_options *options)
{
	return each(options, rm_one);
}

static int rmdir_one(struct session *session, const char *text)
{
	struct path path;
	struct node dir;
	int status = cmd_walk_parent(session, "rmdir", text, &path, &dir);

	if (status != EXIT_OK)
		return status;
	return result("rmdir", text, tree_remove(session, &dir.fh, cmd_last_name(&path), true));
}

int cmd_rmdir(const struct nfs_options *options)
{
	return each(options, rmdir_one);
}

static uint32_t new_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0777 & ~mask;
}

/*
 * Makes all directories of a path for mkdir -p. Directories that exist already are skipped. Returns
 * an exit status.
 */
static int make_all(struct session *session, const char *text, const struct path *path)
{
	struct node dir = {.fh = session->root};

	for (uint32_t i = 0; i < path->nnames; i++) {
		struct node node;
		int rc = tree_lookup(session, &dir.fh, path_name(path, i), &node);

		if (rc == NFS3ERR_NOENT)
			rc = tree_mkdir(session, &dir.fh, path_name(path, i), new_mode(), &node);
		if (rc == 0 && node.attr.type != NFS3_DIR)
			rc = NFS3ERR_NOTDIR;
		if (rc != 0)
			return tree_report_error("mkdir", text, rc);
		dir = node;
	}
	return EXIT_OK;
}

static int mkdir_one(struct session *session, const char *text)
{
	struct node dir, node;
	struct path path;
	int status;

	if (session->options->flags & FLAG_PARENTS) {
		if (path_parse(text, &path) != 0)
			return tree_report_error("mkdir", text, NFS3ERR_NAMETOOLONG);
		return make_all(session, text, &path);
	}
	status = cmd_walk_parent(session, "mkdir", text, &path, &dir);
	if (status != EXIT_OK)
		return status;
	return result("mkdir", text,
		      tree_mkdir(session, &dir.fh, cmd_last_name(&path), new_mode(), &node));
}

int cmd_mkdir(const struct nfs_options *options)
{
	return each(options, mkdir_one);
}

/*
 * Finds the new name of an object for mv and ln. If 'text' is a directory, the object gets the name
 * 'own_name' in that directory. Otherwise its new path is 'text'. Returns EXIT_OK with *dir and
 * 'name' set, or another exit status after it has printed the reason for the command 'what'.
 */
static int find_new_name(struct session *session, const char *what, const char *text,
			 const char *own_name, struct node *dir, char name[NAME_BYTES_MAX + 1])
{
	struct path path, last;
	struct node node;
	int status, rc;

	if (path_parse(text, &path) != 0)
		return tree_report_error(what, text, NFS3ERR_NAMETOOLONG);
	rc = tree_walk(session, &path, &node, &last);
	if (rc < 0 && rc != -ELOOP)
		return tree_report_error(what, text, rc);
	if (rc == 0 && node.attr.type == NFS3_DIR && own_name[0] != '\0') {
		*dir = node;
		snprintf(name, NAME_BYTES_MAX + 1, "%s", own_name);
		return EXIT_OK;
	}
	status = cmd_walk_parent(session, what, text, &path, dir);
	if (status == EXIT_OK)
		snprintf(name, NAME_BYTES_MAX + 1, "%s", cmd_last_name(&path));
	return status;
}

int cmd_mv(const struct nfs_options *options)
{
	char name[NAME_BYTES_MAX + 1];
	struct session *session;
	struct node from, to;
	struct path path;
	int status = cmd_open(options, &session);

	if (status != EXIT_OK)
		return status;
	status = cmd_walk_parent(session, "mv", options->args[0], &path, &from);
	if (status == EXIT_OK)
		status = find_new_name(session, "mv", options->args[1], cmd_last_name(&path), &to,
				       name);
	if (status == EXIT_OK)
		status = result("mv", options->args[0],
				tree_rename(session, &from.fh, cmd_last_name(&path), &to.fh, name));
	return cmd_close(session, status);
}

static int ln_symbolic(struct session *session, const char *target, const char *text)
{
	struct path path;
	struct node dir;
	int status;

	if (target[0] == '\0' || strlen(target) > NFS3_PATH_MAX) {
		fprintf(stderr, "weir-nfs: ln: expected a target of 1 to %u bytes\n",
			NFS3_PATH_MAX);
		return EXIT_USAGE;
	}
	status = cmd_walk_parent(session, "ln", text, &path, &dir);
	if (status != EXIT_OK)
		return status;
	return result("ln", text, tree_symlink(session, &dir.fh, cmd_last_name(&path), target));
}

static int ln_hard(struct session *session, const char *target, const char *text)
{
	char name[NAME_BYTES_MAX + 1];
	struct node node, dir;
	struct path path;
	int status = cmd_walk(session, "ln", target, &node);

	if (status != EXIT_OK)
		return status;
	if (path_parse(target, &path) != 0)
		return tree_report_error("ln", target, NFS3ERR_NAMETOOLONG);
	status = find_new_name(session, "ln", text, cmd_last_name(&path), &dir, name);
	return status == EXIT_OK ? result("ln", text, tree_link(session, &node.fh, &dir.fh, name))
				 : status;
}

int cmd_ln(const struct nfs_options *options)
{
	bool is_symbolic = options->flags & FLAG_SYMBOLIC;
	struct session *session;
	int status = cmd_open(options, &session);

	if (status != EXIT_OK)
		return status;
	status = (is_symbolic ? ln_symbolic : ln_hard)(session, options->args[0], options->args[1]);
	return cmd_close(session, status);
}

static int set_attr(const struct nfs_options *options, const char *what,
		    const struct nfs3_sattr *attr)
{
	const char *text = options->args[1];
	struct session *session;
	struct node node;
	int status = cmd_open(options, &session);

	if (status != EXIT_OK)
		return status;
	status = cmd_walk(session, what, text, &node);
	if (status == EXIT_OK)
		status = result(what, text, tree_setattr(session, &node.fh, attr));
	return cmd_close(session, status);
}

int cmd_chmod(const struct nfs_options *options)
{
	struct nfs3_sattr attr = {.set_mode = true};
	unsigned long mode;
	char *end;

	mode = strtoul(options->args[0], &end, 8);
	if (end == options->args[0] || *end != '\0' || mode > 07777) {
		fprintf(stderr,
			"weir-nfs: chmod %s: expected an octal mode, 0 to 7777. See --help\n",
			options->args[0]);
		return EXIT_USAGE;
	}
	attr.mode = (uint32_t)mode;
	return set_attr(options, "chmod", &attr);
}

int cmd_truncate(const struct nfs_options *options)
{
	struct nfs3_sattr attr = {.set_size = true};

	if (option_u64("truncate", options->args[0], 0, INT64_MAX, &attr.size) != 0)
		return EXIT_USAGE;
	return set_attr(options, "truncate", &attr);
}
