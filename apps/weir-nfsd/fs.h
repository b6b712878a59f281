/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FS_H
#define FS_H

/*
 * A back end: where files are.
 *
 * All ops run on the thread of the export's owner, except that open and close run while nobody
 * polls. start() carries out one NFS call: op->proc says which, op->args holds the arguments,
 * op->id (and id2) the files by the ids that this back end gave out; names were checked (1 to 255
 * bytes, no '/', no NUL; "." and ".." may come to LOOKUP only). It fills op->res and calls
 * op_done(), before it returns or from a later poll(). FSINFO and PATHCONF get their constants from
 * op.c.
 */

#include <weir/request.h>

#include "export.h"
#include "handle.h"

struct op;
struct server;
struct cred;

struct fs_ops {
	const char *name;
	bool is_volatile; /* its files end with the server: handles are of this epoch */
	/*
	 * Acquire what needs capabilities, before the process gives them up. NULL if nothing does.
	 * Returns 0, or -errno, for which the reason was printed on standard error.
	 */
	int (*prepare)(struct export *export);
	/* Open what the export names. 0 with export->fs set, or -errno, which was said on standard
	 * error. */
	int (*open)(struct export *export, struct server *server);
	void (*close)(struct fs *fs); /* NULL is allowed */
	void (*root)(struct fs *fs, struct handle_id *id);
	void (*start)(struct fs *fs, struct op *op);
	/*
	 * The directory that 'path' leads to, see name_next(). The caller has to have the right to
	 * search every directory on the way, and no symbolic link is followed. Returns NFS3_OK with
	 * *id set, or the reason. Runs on the owner's thread; where it may wait for a disk
	 * ('walk_waits'), on any thread but a poller's.
	 */
	enum nfs3_status (*walk)(struct fs *fs, const struct cred *cred, const char *path,
				 struct handle_id *id);
	bool walk_waits;
	/* Where WRITE's data are to be pulled to: all 'len_bytes' of them are data. 0 with *place
	 * set; -1: to a buffer of weir's. 'cred' is who writes. The request's user pointer and
	 * on_sent are the back end's then. */
	int (*place)(struct fs *fs, struct weir_request *req, const struct handle_id *id,
		     const struct cred *cred, uint64_t offset, uint32_t len_bytes,
		     struct weir_arg_sink *place);
	/* Completions, when there can be any; the work done. */
	uint32_t (*poll)(struct fs *fs);
	/*
	 * While the server stops: are calls under way, or files open? NULL: never, each ends at
	 * once.
	 */
	bool (*is_busy)(struct fs *fs);
	/* None is, and none will be: end what posts to the owner's engine, which is about to end.
	 * Or NULL. */
	void (*stop)(struct fs *fs);
	uint32_t (*transfer_max)(const struct fs *fs); /* bytes of one READ or WRITE */
	uint64_t (*file_max)(const struct fs *fs);
	uint32_t (*link_max)(const struct fs *fs);
};

extern const struct fs_ops ram_ops;
extern const struct fs_ops dir_ops;

#endif
