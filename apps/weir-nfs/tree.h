/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TREE_H
#define TREE_H

/*
 * Files and directories by name: one procedure at a time. Results are those of session_call(): 0, a
 * positive NFS status, or -errno.
 */

#include "path.h"
#include "session.h"

struct node {
	struct nfs3_fh fh;
	struct nfs3_fattr attr;
};

/* A name for the wire. Names from path_parse() always fit. */
void tree_name(struct nfs3_name *out, const char *name);

int tree_getattr(struct session *session, const struct nfs3_fh *fh, struct nfs3_fattr *attr);
/* With attributes, wherever the server has them from. */
int tree_lookup(struct session *session, const struct nfs3_fh *dir, const char *name,
		struct node *node);
int tree_setattr(struct session *session, const struct nfs3_fh *fh, const struct nfs3_sattr *attr);
int tree_create(struct session *session, const struct nfs3_fh *dir, const char *name,
		const struct nfs3_sattr *attr, struct node *node);
int tree_mkdir(struct session *session, const struct nfs3_fh *dir, const char *name, uint32_t mode,
	       struct node *node);
int tree_symlink(struct session *session, const struct nfs3_fh *dir, const char *name,
		 const char *target);
/* 'target' has NFS3_PATH_MAX + 1 bytes. A target with a NUL inside is -EBADMSG. */
int tree_readlink(struct session *session, const struct nfs3_fh *fh, char *target);
int tree_remove(struct session *session, const struct nfs3_fh *dir, const char *name, bool is_dir);
int tree_rename(struct session *session, const struct nfs3_fh *from, const char *from_name,
		const struct nfs3_fh *to, const char *to_name);
int tree_link(struct session *session, const struct nfs3_fh *fh, const struct nfs3_fh *dir,
	      const char *name);

/* The object at 'path', by LOOKUP of each name. Symbolic links on the way are followed with
 * --follow only; the last name's too, then. *last is the path without links. */
int tree_walk(struct session *session, const struct path *path, struct node *node,
	      struct path *last);
/* The directory that the last name of 'path' is in. The path has a name. */
int tree_walk_parent(struct session *session, const struct path *path, struct node *dir);

/* ---- what a failure is called ---- */

/* Say "COMMAND PATH: why" for a result that is not 0; returns the exit status for it. */
int tree_report_error(const char *what, const char *path, int rc);
const char *tree_strerror(int rc);

#endif
