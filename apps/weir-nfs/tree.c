/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and changes files and directories of the server by handle and name, and walks to paths. */
#include "tree.h"
#include "terminal.h"

#include <stdio.h>
#include <string.h>

/* The maximum number of symbolic links that are followed in one path, as in Linux. */
#define LINKS_MAX 40u

void tree_name(struct nfs3_name *out, const char *name)
{
	out->len_bytes = (uint32_t)strnlen(name, NFS3_NAME_MAX);
	memcpy(out->data, name, out->len_bytes);
}

static void set_dirop(struct nfs3_dirop *dirop, const struct nfs3_fh *dir, const char *name)
{
	dirop->dir = *dir;
	tree_name(&dirop->name, name);
}

int tree_getattr(struct session *session, const struct nfs3_fh *fh, struct nfs3_fattr *attr)
{
	struct op op = {.proc = NFS3_GETATTR, .args.fh = *fh};
	int rc = session_call(session, &op);

	if (rc == 0)
		*attr = op.res.getattr.attr;
	return rc;
}

int tree_lookup(struct session *session, const struct nfs3_fh *dir, const char *name,
		struct node *node)
{
	struct op op = {.proc = NFS3_LOOKUP};
	int rc;

	set_dirop(&op.args.dirop, dir, name);
	rc = session_call(session, &op);
	if (rc != 0)
		return rc;
	node->fh = op.res.lookup.fh;
	if (!op.res.lookup.attr.is_set)
		return tree_getattr(session, &node->fh, &node->attr);
	node->attr = op.res.lookup.attr.attr;
	return 0;
}

int tree_setattr(struct session *session, const struct nfs3_fh *fh, const struct nfs3_sattr *attr)
{
	struct op op = {.proc = NFS3_SETATTR, .args.setattr = {.fh = *fh, .attr = *attr}};

	return session_call(session, &op);
}

/*
 * Gets the node that CREATE or MKDIR made. The server is allowed to omit the handle or the
 * attributes. They are then obtained by LOOKUP or GETATTR. Returns 0 or an error like
 * session_call().
 */
static int made(struct session *session, const struct op *op, const struct nfs3_fh *dir,
		const char *name, struct node *node)
{
	const struct nfs3_create_res *res = &op->res.create;

	if (op_result(op) != 0)
		return op_result(op);
	/* The op of an is_echo has neither handle nor attributes, see op.h. */
	if (op->is_echo || !res->fh.is_set)
		return tree_lookup(session, dir, name, node);
	node->fh = res->fh.fh;
	if (!res->attr.is_set)
		return tree_getattr(session, &node->fh, &node->attr);
	node->attr = res->attr.attr;
	return 0;
}

int tree_create(struct session *session, const struct nfs3_fh *dir, const char *name,
		const struct nfs3_sattr *attr, struct node *node)
{
	struct op op = {.proc = NFS3_CREATE,
			.args.create = {.mode = NFS3_UNCHECKED, .attr = *attr}};

	set_dirop(&op.args.create.where, dir, name);
	session_call(session, &op);
	return made(session, &op, dir, name, node);
}

int tree_mkdir(struct session *session, const struct nfs3_fh *dir, const char *name, uint32_t mode,
	       struct node *node)
{
	struct op op = {.proc = NFS3_MKDIR, .args.mkdir.attr = {.set_mode = true, .mode = mode}};

	set_dirop(&op.args.mkdir.where, dir, name);
	session_call(session, &op);
	return made(session, &op, dir, name, node);
}

int tree_symlink(struct session *session, const struct nfs3_fh *dir, const char *name,
		 const char *target)
{
	struct op op = {.proc = NFS3_SYMLINK,
			.args.mkdir.attr = {.set_mode = true, .mode = 0777},
			.item = session->path,
			.item_bytes = (uint32_t)strnlen(target, NFS3_PATH_MAX)};

	memcpy(session->path, target, op.item_bytes);
	set_dirop(&op.args.mkdir.where, dir, name);
	return session_call(session, &op);
}

int tree_readlink(struct session *session, const struct nfs3_fh *fh, char *target)
{
	struct op op = {.proc = NFS3_READLINK,
			.args.fh = *fh,
			.item = session->path,
			.item_bytes = NFS3_PATH_MAX};
	int rc = session_call(session, &op);

	if (rc != 0)
		return rc;
	/*
	 * The server can write to session->path while the session is connected. The check therefore
	 * uses a copy.
	 */
	memcpy(target, session->path, op.item_bytes);
	target[op.item_bytes] = '\0';
	return strlen(target) == op.item_bytes ? 0 : -EBADMSG;
}

int tree_remove(struct session *session, const struct nfs3_fh *dir, const char *name, bool is_dir)
{
	struct op op = {.proc = is_dir ? NFS3_RMDIR : NFS3_REMOVE};

	set_dirop(&op.args.dirop, dir, name);
	return session_call(session, &op);
}

int tree_rename(struct session *session, const struct nfs3_fh *from, const char *from_name,
		const struct nfs3_fh *to, const char *to_name)
{
	struct op op = {.proc = NFS3_RENAME};

	set_dirop(&op.args.rename.from, from, from_name);
	set_dirop(&op.args.rename.to, to, to_name);
	return session_call(session, &op);
}

int tree_link(struct session *session, const struct nfs3_fh *fh, const struct nfs3_fh *dir,
	      const char *name)
{
	struct op op = {.proc = NFS3_LINK, .args.link.fh = *fh};

	set_dirop(&op.args.link.link, dir, name);
	return session_call(session, &op);
}

/*
 * Looks up the first 'nnames' names of 'path', until one is a symbolic link. *link is the index of
 * this link, or 'nnames' if there is none. *node is the last object found. Returns 0 or an error
 * like session_call().
 */
static int walk_to_link(struct session *session, const struct path *path, uint32_t nnames,
			struct node *node, uint32_t *link)
{
	int rc;

	node->fh = session->root;
	rc = tree_getattr(session, &session->root, &node->attr);
	for (*link = 0; rc == 0 && *link < nnames; (*link)++) {
		struct node next;

		rc = tree_lookup(session, &node->fh, path_name(path, *link), &next);
		if (rc != 0)
			break;
		*node = next;
		if (node->attr.type == NFS3_LNK)
			break;
	}
	return rc;
}

/*
 * Does the same as tree_walk() for all names of 'path' except the last 'nbehind', which are not
 * looked up.
 */
static int walk(struct session *session, const struct path *path, uint32_t nbehind,
		struct node *node, struct path *last)
{
	bool follows = session->options->flags & FLAG_FOLLOW;
	struct path own;

	*last = *path;
	for (uint32_t links = 0; links <= LINKS_MAX; links++) {
		char target[NFS3_PATH_MAX + 1];
		uint32_t at;
		int rc = walk_to_link(session, last, last->nnames - nbehind, node, &at);

		if (rc != 0 || at + nbehind == last->nnames)
			return rc;
		/*
		 * The name number 'at' is a symbolic link. Without --follow, the walk ends here if
		 * it is the last name, and fails otherwise.
		 */
		if (!follows)
			return at + 1 + nbehind == last->nnames && nbehind == 0 ? 0
										: NFS3ERR_NOTDIR;
		rc = tree_readlink(session, &node->fh, target);
		if (rc != 0)
			return rc;
		if (path_splice(last, at, target, &own) != 0)
			return NFS3ERR_NAMETOOLONG;
		if (own.nnames < nbehind)
			return NFS3ERR_INVAL;
		*last = own;
	}
	return -ELOOP;
}

int tree_walk(struct session *session, const struct path *path, struct node *node,
	      struct path *last)
{
	return walk(session, path, 0, node, last);
}

int tree_walk_parent(struct session *session, const struct path *path, struct node *dir)
{
	struct path last;
	int rc = walk(session, path, 1, dir, &last);

	return rc == 0 && dir->attr.type != NFS3_DIR ? NFS3ERR_NOTDIR : rc;
}

const char *tree_strerror(int rc)
{
	if (rc > 0)
		return nfs3_status_text((uint32_t)rc);
	switch (-rc) {
	case EBADMSG:
		return "the answer can't be decoded, or violates the protocol";
	case EREMOTEIO:
		return "the server could not carry it out (RPC or RDMA error)";
	case EPFNOSUPPORT:
		return "the server does not support the version of RPC-over-RDMA of the call: set "
		       "protocol to auto in the profile's [connection] (--profile)";
	case EACCES:
		return "the server refused the credential";
	case EPROTONOSUPPORT:
		return "the server does not offer NFS version 3 at this address";
	case EOPNOTSUPP:
		return "the server does not support this procedure";
	default:
		return strerror(-rc);
	}
}

int tree_report_error(const char *what, const char *path, int rc)
{
	char text[PATH_BYTES_MAX];

	terminal_text(path, text, sizeof(text));
	fprintf(stderr, "weir-nfs: %s %s: %s\n", what, text, tree_strerror(rc));
	return rc > 0 || rc == -ELOOP ? EXIT_NFS : EXIT_TRANSPORT;
}
