/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FS_H
#define FS_H

/*
 * The interface of a back end, which stores the files of an export.
 *
 * All ops run on the thread of the export's owner. open() and close() are exceptions: they run
 * while no poller polls.
 *
 * start() carries out one NFS call. Its inputs are:
 *
 * - op->proc: the procedure
 * - op->args: the arguments
 * - op->id (and op->id2): the files, by the ids that this back end returned earlier
 *
 * The names in op->args have been checked: 1 to 255 bytes, no '/', no NUL. Only LOOKUP may receive
 * "." and "..". start() fills op->res and calls op_done(), either before it returns or from a later
 * poll(). op.c fills in the constants of FSINFO and PATHCONF.
 */

#include <weir/request.h>

#include "export.h"
#include "handle.h"

struct op;
struct server;
struct cred;

struct fs_ops {
	const char *name;
	bool is_volatile; /* files end with the server, so handles hold its epoch */
	/*
	 * Acquires everything that needs capabilities, before the process gives them up. NULL if
	 * nothing does. Returns 0, or -errno after it has printed the reason on standard error.
	 */
	int (*prepare)(struct export *export);
	/*
	 * Opens the directory or memory of the export. Returns 0 with export->fs set, or -errno
	 * after it has printed the reason on standard error.
	 */
	int (*open)(struct export *export, struct server *server);
	void (*close)(struct fs *fs); /* 'fs' may be NULL */
	void (*root)(struct fs *fs, struct handle_id *id);
	void (*start)(struct fs *fs, struct op *op);
	/*
	 * Finds the directory that 'path' leads to, see name_next(). The caller must have the right
	 * to search every directory on the way. No symbolic link is followed. Returns NFS3_OK with
	 * *id set, or the reason of the failure. Runs on the owner's thread. If the walk may wait
	 * for a disk ('walk_waits'), it runs on any thread that is not a poller's.
	 */
	enum nfs3_status (*walk)(struct fs *fs, const struct cred *cred, const char *path,
				 struct handle_id *id);
	bool walk_waits;
	/*
	 * Chooses the memory that the data of a WRITE by 'cred' are pulled to. All 'len_bytes' of
	 * them are data. Returns 0 with *sink set, or -1 to have the data pulled to a buffer of
	 * weir. After 0, the request's user pointer and on_sent callback belong to the back end.
	 */
	int (*place)(struct fs *fs, struct weir_request *req, const struct handle_id *id,
		     const struct cred *cred, uint64_t offset, uint32_t len_bytes,
		     struct weir_arg_sink *sink);
	/*
	 * Processes completions and returns the amount of work done. NULL if there are no
	 * completions.
	 */
	uint32_t (*poll)(struct fs *fs);
	/*
	 * Returns true while calls are under way or files are open. It is called while the server
	 * stops. NULL if each call ends at once.
	 */
	bool (*is_busy)(struct fs *fs);
	/*
	 * Ends everything that posts to the owner's engine, before that engine ends. It is called
	 * when no call is under way and none will start. May be NULL.
	 */
	void (*stop)(struct fs *fs);
	uint32_t (*transfer_max)(const struct fs *fs); /* largest READ or WRITE in bytes */
	uint64_t (*file_max)(const struct fs *fs);
	uint32_t (*link_max)(const struct fs *fs);
};

extern const struct fs_ops ram_ops;
extern const struct fs_ops dir_ops;

#endif
