/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DIR_PROC_H
#define DIR_PROC_H

/* Procedures, and the steps that they have in common. All run on a worker thread. */

#include "dir.h"

/* dir/proc.c: carry out any procedure */
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
 * Set attributes of 'fd', which may be an O_PATH descriptor, as op's caller. The caller's rights
 * are checked before anything is opened or changed. dir_change() also makes the change stable, by
 * dir_stable_begin() and dir_stable_end(). Both return 0 or -errno.
 */
int dir_apply(const struct op *op, int fd, const struct nfs3_sattr *attr);
/*
 * Check the values, whoever the caller is. Returns 0, or -errno if a file of this type, which is
 * that of st_mode, cannot have them.
 */
int dir_check_values(const struct op *op, mode_t type, const struct nfs3_sattr *attr);
int dir_change(struct dir_fs *fs, struct op *op, int fd, const struct handle_id *id,
	       const struct stat *st, const struct nfs3_sattr *attr);

/* dir/made.c: what a call has made */
struct dir_made {
	int dir;
	char name[NFS3_NAME_MAX + 1];
	mode_t type; /* S_IFDIR and so on */
	time_t since_s;
};
/* Before the object is made. */
struct dir_made dir_made_begin(int dir, const struct nfs3_name *name, mode_t type);
/*
 * Open what was made by its name, with O_PATH. Returns a descriptor or -errno: -EIO if another
 * object has taken its place.
 */
int dir_made_open(const struct dir_fs *fs, const struct op *op, const struct dir_made *made,
		  const struct nfs3_name *name);
/*
 * Make the name stable. If that fails, or 'rc' is an error, remove the object again. 'fd' is a
 * descriptor of it, or negative. Returns 0 or -errno. If the object stays, the status is none after
 * which the client tries again.
 */
int dir_made_end(const struct dir_fs *fs, const struct op *op, const struct dir_made *made, int fd,
		 int rc);
/* The error of a call that has changed something: the client must not try again what was done. */
int dir_final(int rc);

/*
 * dir/open.c: descriptors for data. None of these waits for another process. They return a
 * descriptor, or -errno: -EAGAIN for a lease.
 *
 * Open for its data what is known to be a regular file, by its id or by a path.
 */
int dir_open_known(const struct dir_fs *fs, const struct handle_id *id, int flags);
int dir_open_path(const char *path, int flags);
/*
 * A change of the file 'id' is to outlive a crash of the host. Call dir_stable_begin() before the
 * change, as a change that was made and then reported as failed would be made twice, and
 * dir_stable_end() with the result of the change after it. *dir is for the latter. A regular file
 * is left to dir_sync_then_reply(), by op->fs_data. Both return 0 or -errno.
 */
int dir_stable_begin(struct dir_fs *fs, struct op *op, const struct stat *st,
		     const struct handle_id *id, int *dir);
int dir_stable_end(int dir, int rc);
/*
 * Make a struct dir_fd of a descriptor. 'holder' is who made the call that opened it. Returns NULL
 * if there is no memory; 'fd' is still the caller's then.
 */
struct dir_fd *dir_fd_make(const struct holder *holder, const struct handle_id *id, bool is_written,
			   int fd);
/* READ, WRITE, COMMIT: open the file, or decide whether the caller may use it. */
void dir_open_data(struct dir_fs *fs, struct op *op);

#endif
