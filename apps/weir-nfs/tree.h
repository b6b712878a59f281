/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TREE_H
#define TREE_H

/*
 * Reads and changes files and directories of the server by handle and name. Each function calls one
 * NFS procedure or several, one after the other. The results are those of session_call(): 0, a
 * positive NFS status, or -errno.
 */

#include "path.h"
#include "session.h"

struct node {
	struct nfs3_fh fh;
	struct nfs3_fattr attr;
};

/*
 * Converts a name to its form in arguments. A name from path_parse() always fits. A longer name
 * would be truncated.
 */
void tree_name(struct nfs3_name *out, const char *name);

int tree_getattr(struct session *session, const struct nfs3_fh *fh, struct nfs3_fattr *attr);
/*
 * Gets the handle and the attributes of 'name' in 'dir'. If LOOKUP does not return the attributes,
 * they are obtained by GETATTR.
 */
int tree_lookup(struct session *session, const struct nfs3_fh *dir, const char *name,
		struct node *node);
int tree_setattr(struct session *session, const struct nfs3_fh *fh, const struct nfs3_sattr *attr);
int tree_create(struct session *session, const struct nfs3_fh *dir, const char *name,
		const struct nfs3_sattr *attr, struct node *node);
int tree_mkdir(struct session *session, const struct nfs3_fh *dir, const char *name, uint32_t mode,
	       struct node *node);
int tree_symlink(struct session *session, const struct nfs3_fh *dir, const char *name,
		 const char *target);
/*
 * Reads the target of a symbolic link. 'target' must have NFS3_PATH_MAX + 1 bytes. The result is
 * -EBADMSG if the target contains a NUL.
 */
int tree_readlink(struct session *session, const struct nfs3_fh *fh, char *target);
int tree_remove(struct session *session, const struct nfs3_fh *dir, const char *name, bool is_dir);
int tree_rename(struct session *session, const struct nfs3_fh *from, const char *from_name,
		const struct nfs3_fh *to, const char *to_name);
int tree_link(struct session *session, const struct nfs3_fh *fh, const struct nfs3_fh *dir,
	      const char *name);

/*
 * Finds the object at 'path' by LOOKUP of each name. Symbolic links, including one at the last
 * name, are followed only with --follow. *last is the path after links were replaced by their
 * targets. Returns 0 with *node set; -ELOOP if there are too many links; NFS3ERR_NOTDIR if a link
 * precedes the last name and --follow is not given; or another error.
 */
int tree_walk(struct session *session, const struct path *path, struct node *node,
	      struct path *last);
/*
 * Finds the directory that contains the path's last name. 'path' must have at least one name.
 * Returns 0 with *dir set, or an error like that of tree_walk().
 */
int tree_walk_parent(struct session *session, const struct path *path, struct node *dir);

/* ---- texts of errors ---- */

/*
 * Prints "weir-nfs: COMMAND PATH: reason" on standard error for a result that is not 0. Returns the
 * exit status for this result.
 */
int tree_report_error(const char *what, const char *path, int rc);
/* Returns the reason of such a result. */
const char *tree_strerror(int rc);

#endif
