/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TREE_H
#define TREE_H

/*
 * Files and directories by name. Each function carries out its procedures one at a time. Results
 * are those of session_call(): 0, a positive NFS status, or -errno.
 */

#include "path.h"
#include "session.h"

struct node {
	struct nfs3_fh fh;
	struct nfs3_fattr attr;
};

/* Converts a name to its wire form. Names from path_parse() always fit. */
void tree_name(struct nfs3_name *out, const char *name);

int tree_getattr(struct session *session, const struct nfs3_fh *fh, struct nfs3_fattr *attr);
/* Also gets the attributes, by GETATTR if LOOKUP does not return them. */
int tree_lookup(struct session *session, const struct nfs3_fh *dir, const char *name,
		struct node *node);
int tree_setattr(struct session *session, const struct nfs3_fh *fh, const struct nfs3_sattr *attr);
int tree_create(struct session *session, const struct nfs3_fh *dir, const char *name,
		const struct nfs3_sattr *attr, struct node *node);
int tree_mkdir(struct session *session, const struct nfs3_fh *dir, const char *name, uint32_t mode,
	       struct node *node);
int tree_symlink(struct session *session, const struct nfs3_fh *dir, const char *name,
		 const char *target);
/* 'target' has NFS3_PATH_MAX + 1 bytes. The result is -EBADMSG if the target contains a NUL. */
int tree_readlink(struct session *session, const struct nfs3_fh *fh, char *target);
int tree_remove(struct session *session, const struct nfs3_fh *dir, const char *name, bool is_dir);
int tree_rename(struct session *session, const struct nfs3_fh *from, const char *from_name,
		const struct nfs3_fh *to, const char *to_name);
int tree_link(struct session *session, const struct nfs3_fh *fh, const struct nfs3_fh *dir,
	      const char *name);

/*
 * Finds the object at 'path' by LOOKUP of each name. Only with --follow are symbolic links
 * followed, including that of the last name. *last is the path without links.
 */
int tree_walk(struct session *session, const struct path *path, struct node *node,
	      struct path *last);
/* Finds the directory of the path's last name. The path must have a name. */
int tree_walk_parent(struct session *session, const struct path *path, struct node *dir);

/* ---- texts of errors ---- */

/* Prints "COMMAND PATH: reason" for a result that is not 0. Returns the exit status for it. */
int tree_report_error(const char *what, const char *path, int rc);
const char *tree_strerror(int rc);

#endif
