/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens and closes sessions, and walks to paths, for several commands. */
#include "cmd.h"
#include "terminal.h"

#include <stdio.h>

/*
 * The size of the memory of a slot if the command gives no block size. The session is opened before
 * the server reports its preferred size.
 */
#define BLOCK_DEFAULT (1u << 20)

int cmd_status(int rc)
{
	if (rc == 0)
		return EXIT_OK;
	return rc > 0 || rc == -ELOOP ? EXIT_NFS : EXIT_TRANSPORT;
}

int cmd_open(const struct nfs_options *options, struct session **session)
{
	return cmd_status(session_open(options, 0, 0, session));
}

int cmd_open_transfer(const struct nfs_options *options, uint32_t block_bytes,
		      struct session **session)
{
	uint32_t bytes = block_bytes ? block_bytes : BLOCK_DEFAULT;

	if ((uint64_t)bytes * options->depth > NFS_MEMORY_MAX) {
		fprintf(stderr, "weir-nfs: --depth times --block is over 1 GiB. See --help\n");
		return EXIT_USAGE;
	}
	return cmd_status(session_open(options, options->depth, (bytes + 63) & ~63u, session));
}

int cmd_close(struct session *session, int status)
{
	session_close(session);
	return status;
}

int cmd_walk(struct session *session, const char *what, const char *text, struct node *node)
{
	struct path path, last;
	int rc = path_parse(text, &path) == 0 ? 0 : NFS3ERR_NAMETOOLONG;

	if (rc == 0)
		rc = tree_walk(session, &path, node, &last);
	return rc == 0 ? EXIT_OK : tree_report_error(what, text, rc);
}

int cmd_walk_parent(struct session *session, const char *what, const char *text, struct path *path,
		    struct node *dir)
{
	int rc = path_parse(text, path) == 0 ? 0 : NFS3ERR_NAMETOOLONG;

	if (rc == 0 && path->nnames == 0) {
		char shown[PATH_BYTES_MAX];

		terminal_text(text, shown, sizeof(shown));
		fprintf(stderr, "weir-nfs: %s %s: this is the export's root\n", what, shown);
		return EXIT_NFS;
	}
	if (rc == 0)
		rc = tree_walk_parent(session, path, dir);
	return rc == 0 ? EXIT_OK : tree_report_error(what, text, rc);
}

const char *cmd_last_name(const struct path *path)
{
	return path->nnames > 0 ? path_name(path, path->nnames - 1) : "";
}
