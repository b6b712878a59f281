/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DIR_SUBMIT_H
#define DIR_SUBMIT_H

/*
 * Prepares entries of the ring. dir_io_poll() in dir/io.c passes them to the kernel. Only the
 * poller's thread calls these functions.
 */

#include "dir.h"

/*
 * The user data of completions: the struct dir_io, or for a sync the struct dir_fd with this bit
 * set.
 */
#define DIR_CQE_SYNC 1u

/* Returns true if the client may have one more call in the kernel. */
bool dir_submit_may_add(const struct dir_fs *fs, const struct op *op);
void dir_submit_add(struct dir_io *io, struct op *op, struct dir_fd *file);
void dir_submit_remove(struct dir_io *io);
/*
 * Prepare a WRITE or a READ. There must be room in the ring, see dir_submit_may_add().
 * dir_submit_read() returns false if there is no memory at present.
 */
void dir_submit_write(struct dir_io *io);
bool dir_submit_read(struct dir_io *io, uint32_t count);
/* Asks for a sync of the file for 'io', and begins it if none is under way. */
void dir_submit_sync_for(struct dir_io *io);
void dir_submit_sync(struct dir_fs *fs, struct dir_fd *file);
/* Begins syncs for which there was no room in the ring. */
void dir_submit_pending_syncs(struct dir_fs *fs);
/* Syncs a dirty file that nobody uses, and then closes it. Returns false if there is no memory. */
bool dir_submit_sync_and_close(struct dir_fs *fs, struct dir_fd *file);

#endif
