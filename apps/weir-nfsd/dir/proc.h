/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DIR_PROC_H
#define DIR_PROC_H

/*
 * Declares the procedures that worker threads carry out, and the steps that several of them use.
 * All of these functions run on a worker thread.
 */

#include "dir.h"

/* dir/proc.c: carries out the procedure of the call and sets op->res.status */
void dir_carry_out(struct dir_fs *fs, struct op *op);

/* dir/attr.c, dir/create.c, dir/remove.c, dir/list.c */
enum nfs3_status dir_getattr(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_setattr(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_access(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_fsstat(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_readlink(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_lookup(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_create(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_make_node(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_link(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_remove(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_rename(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_readdir(struct dir_fs *fs, struct op *op);
/*
 * dir_apply() and dir_change() set attributes of 'fd' as the caller of 'op'. 'fd' can be an O_PATH
 * descriptor. The caller's rights are checked before anything is opened or changed. dir_change()
 * also makes the change stable, with dir_stable_begin() and dir_stable_end(). Both functions return
 * 0 or -errno.
 */
int dir_apply(const struct op *op, int fd, const struct nfs3_sattr *attr);
/*
 * Checks the values of 'attr', whoever the caller is. Returns 0, or -errno if a file of the type
 * 'type', which is one of S_IF..., cannot have them.
 */
int dir_check_values(const struct op *op, mode_t type, const struct nfs3_sattr *attr);
int dir_change(struct dir_fs *fs, struct op *op, int fd, const struct handle_id *id,
	       const struct stat *st, const struct nfs3_sattr *attr);

/* dir/made.c: the object that a call has made */
struct dir_made {
	int dir; /* descriptor of the directory in which the object is made */
	char name[NFS3_NAME_MAX + 1];
	mode_t type;	/* type of the object: S_IFDIR or another S_IF... */
	time_t since_s; /* time before the object was made, in seconds since 1970 */
};
/*
 * Returns the description of an object that is about to be made. Must be called before the object
 * is made.
 */
struct dir_made dir_made_begin(int dir, const struct nfs3_name *name, mode_t type);
/*
 * Opens the new object by its name, with O_PATH. Returns a descriptor or -errno, which is -EIO if
 * another object has replaced the new one.
 */
int dir_made_open(const struct dir_fs *fs, const struct op *op, const struct dir_made *made,
		  const struct nfs3_name *name);
/*
 * Ends the call that made an object. 'rc' is its result so far, 0 or -errno. If 'rc' is 0, makes
 * the name stable. If 'rc' is an error, or if the name cannot be made stable, removes the object
 * again. 'fd' is a descriptor of the object, or negative. Returns 0 or -errno. If the object could
 * not be removed, the error is one after which the client does not try again.
 */
int dir_made_end(const struct dir_fs *fs, const struct op *op, const struct dir_made *made, int fd,
		 int rc);
/*
 * Converts the error of a call that has changed something. If the status for 'rc' is
 * NFS3ERR_JUKEBOX, returns -EIO, because the client would try again. Otherwise returns 'rc'.
 */
int dir_final(int rc);

/*
 * dir/open.c: opens files to read, write or sync them. None of these functions waits for another
 * process.
 *
 * The next two functions open a file that is known to be regular, by its id or by a path. They
 * return a descriptor or -errno, which is -EAGAIN if another process holds a lease of the file.
 */
int dir_open_known(const struct dir_fs *fs, const struct handle_id *id, int flags);
int dir_open_path(const char *path, int flags);
/*
 * dir_stable_begin() and dir_stable_end() make a change of the file 'id' stable, so that the change
 * outlives a crash of the host. The caller calls dir_stable_begin() before the change. If it were
 * called after the change and failed, the client would repeat the change. The caller calls
 * dir_stable_end() after the change, with the change's result as 'rc'. *dir connects both calls. A
 * regular file is not synced here. dir_stable_begin() sets op->fs_data to the open file, which the
 * poller passes to dir_sync_then_reply(). Both functions return 0 or -errno.
 */
int dir_stable_begin(struct dir_fs *fs, struct op *op, const struct stat *st,
		     const struct handle_id *id, int *dir);
int dir_stable_end(int dir, int rc);
/*
 * Makes a struct dir_fd for the descriptor 'fd'. 'holder' (holds.h) is the connection and the
 * client of the call that opened the file. Returns NULL if there is no memory. Then the caller
 * still owns 'fd'.
 */
struct dir_fd *dir_fd_make(const struct holder *holder, const struct handle_id *id, bool is_written,
			   int fd);
/*
 * For READ, WRITE and COMMIT, opens the file and sets op->fs_data. If op->fs_data is an open file
 * already, only decides whether the caller may use it. Sets op->res.status to the reason if this
 * fails.
 */
void dir_open_data(struct dir_fs *fs, struct op *op);

#endif
