/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DIR_PROC_H
#define DIR_PROC_H

/* The procedures, and their common steps. All of them run on a worker thread. */

#include "dir.h"

/* dir/proc.c: carries out any procedure */
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
 * Sets attributes of 'fd', which may be an O_PATH descriptor, as op's caller. The caller's rights
 * are checked before anything is opened or changed. dir_change() also makes the change stable, with
 * dir_stable_begin() and dir_stable_end(). Both return 0 or -errno.
 */
int dir_apply(const struct op *op, int fd, const struct nfs3_sattr *attr);
/*
 * Checks the values independently of the caller. Returns 0, or -errno if a file of this type, which
 * is that of st_mode, cannot have them.
 */
int dir_check_values(const struct op *op, mode_t type, const struct nfs3_sattr *attr);
int dir_change(struct dir_fs *fs, struct op *op, int fd, const struct handle_id *id,
	       const struct stat *st, const struct nfs3_sattr *attr);

/* dir/made.c: the object that a call has made */
struct dir_made {
	int dir;
	char name[NFS3_NAME_MAX + 1];
	mode_t type; /* S_IFDIR and so on */
	time_t since_s;
};
/* Call this before the object is made. */
struct dir_made dir_made_begin(int dir, const struct nfs3_name *name, mode_t type);
/*
 * Opens the new object by its name, with O_PATH. Returns a descriptor or -errno: -EIO if another
 * object has replaced it.
 */
int dir_made_open(const struct dir_fs *fs, const struct op *op, const struct dir_made *made,
		  const struct nfs3_name *name);
/*
 * Makes the name stable. If that fails, or if 'rc' is an error, removes the object again. 'fd' is a
 * descriptor of the object, or negative. Returns 0 or -errno. If the object stays, the error is one
 * after which the client does not try again.
 */
int dir_made_end(const struct dir_fs *fs, const struct op *op, const struct dir_made *made, int fd,
		 int rc);
/*
 * Converts the error of a call that has changed something, so that the client does not try again.
 */
int dir_final(int rc);

/*
 * dir/open.c: descriptors for data. None of these functions waits for another process. They return
 * a descriptor, or -errno: -EAGAIN for a lease.
 *
 * The next two open a file that is known to be regular, by its id or by a path.
 */
int dir_open_known(const struct dir_fs *fs, const struct handle_id *id, int flags);
int dir_open_path(const char *path, int flags);
/*
 * Make a change of the file 'id' stable, so that it outlives a crash of the host. Call
 * dir_stable_begin() before the change: if it failed after the change, the client would repeat the
 * change. Call dir_stable_end() with the result of the change after it. *dir is for
 * dir_stable_end(). A regular file is passed to dir_sync_then_reply() in op->fs_data. Both return 0
 * or -errno.
 */
int dir_stable_begin(struct dir_fs *fs, struct op *op, const struct stat *st,
		     const struct handle_id *id, int *dir);
int dir_stable_end(int dir, int rc);
/*
 * Makes a struct dir_fd for a descriptor. 'holder' is the holder of the call that opened it.
 * Returns NULL if there is no memory; the caller then keeps 'fd'.
 */
struct dir_fd *dir_fd_make(const struct holder *holder, const struct handle_id *id, bool is_written,
			   int fd);
/* READ, WRITE, COMMIT: opens the file, or decides whether the caller may use it. */
void dir_open_data(struct dir_fs *fs, struct op *op);

#endif
