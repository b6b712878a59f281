/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FS_H
#define FS_H

/*
 * All functions run on the thread of the export's owner, except open(), close() and prepare(),
 * which run while no poller polls, and walk().
 *
 * start() carries out one NFS call. Its inputs are:
 *
 * - op->proc: the procedure
 * - op->args: the arguments
 * - op->id (and op->id2): the files, by the ids that this back end returned earlier
 *
 * The caller has checked the names in op->args: they have 1 to 255 bytes, no '/' and no NUL. Only
 * LOOKUP can get "." and "..". start() fills op->res and calls op_done(), either before it returns
 * or from a later poll(). op_done() fills in the results of FSINFO and PATHCONF that are constant.
 */

#include <weir/request.h>

#include "export.h"
#include "handle.h"

struct op;
struct server;
struct cred;

struct fs_ops {
	const char *name;
	bool is_volatile; /* files exist only until the server ends, so handles contain the server's
			     epoch */
	/*
	 * Acquires everything that needs capabilities, before the process gives them up. Returns 0,
	 * or -errno after it has printed the reason on standard error. The pointer is NULL if
	 * nothing needs capabilities.
	 */
	int (*prepare)(struct export *export);
	/*
	 * Opens the directory or memory of the export. Returns 0 with export->fs set, or -errno
	 * after it has printed the reason on standard error.
	 */
	int (*open)(struct export *export, struct server *server);
	void (*close)(struct fs *fs);			   /* 'fs' can be NULL */
	void (*root)(struct fs *fs, struct handle_id *id); /* returns the id of the export's root */
	void (*start)(struct fs *fs, struct op *op);
	/*
	 * Finds the directory that 'path' leads to, see name_next(). The caller must have the right
	 * to search every directory on the way. No symbolic link is followed. Returns NFS3_OK with
	 * *id set, or the reason of the failure. If 'walk_waits' is false, walk() runs on the
	 * owner's thread. If 'walk_waits' is true, walk() can wait for a disk, and runs on any
	 * thread that is not a poller's.
	 */
	enum nfs3_status (*walk)(struct fs *fs, const struct cred *cred, const char *path,
				 struct handle_id *id);
	bool walk_waits;
	/*
	 * Chooses the memory that the data of a WRITE by 'cred' are pulled to. The length of these
	 * data is 'len_bytes'. Returns 0 with *place set, or -1 if the data must be pulled to a
	 * buffer of weir. After 0, the request's user pointer and on_sent callback belong to the
	 * back end.
	 */
	int (*place)(struct fs *fs, struct weir_request *req, const struct handle_id *id,
		     const struct cred *cred, uint64_t offset, uint32_t len_bytes,
		     struct weir_arg_sink *sink);
	/*
	 * Processes completions at the time 'now_ns'. Returns the amount of work done. If there is
	 * none, the thread can sleep for up to 100 ms, unless something of poller_watch() wakes it.
	 * The pointer is NULL if there are no completions.
	 */
	uint32_t (*poll)(struct fs *fs, uint64_t now_ns);
	/*
	 * Returns true while calls are under way or files are open. The function is called while
	 * the server stops. The pointer is NULL if each call ends at once.
	 */
	bool (*is_busy)(struct fs *fs);
	/*
	 * Ends everything that posts to the owner's engine, before that engine ends. The function
	 * is called when no call is under way and none will start. The pointer is allowed to be
	 * NULL.
	 */
	void (*stop)(struct fs *fs);
	uint32_t (*transfer_max)(const struct fs *fs); /* bytes of the largest READ or WRITE */
	uint64_t (*file_max)(const struct fs *fs);     /* bytes of the largest file */
	uint32_t (*link_max)(const struct fs *fs);     /* maximum number of links to a file */
};

extern const struct fs_ops ram_ops;
extern const struct fs_ops dir_ops;

#endif
