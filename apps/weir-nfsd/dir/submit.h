/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DIR_SUBMIT_H
#define DIR_SUBMIT_H

/*
 * Prepares entries of the io_uring ring. dir_io_poll() in dir/io.c passes them to the kernel. Only
 * the poller's thread calls these functions.
 */

#include "dir.h"

/*
 * The user data of a completion is the address of a struct dir_io. For a sync, it is the address of
 * a struct dir_fd with this bit set.
 */
#define DIR_CQE_SYNC 1u

/*
 * Returns true if the ring has a free entry and the client is allowed to have one more call in the
 * kernel.
 */
bool dir_submit_may_add(const struct dir_fs *fs, const struct op *op);
/*
 * Counts a call in the kernel, and charges its client if 'op' is not NULL. Sets io->op and
 * io->file.
 */
void dir_submit_add(struct dir_io *io, struct op *op, struct dir_fd *file);
/* Undoes the count and the charge of dir_submit_add(). */
void dir_submit_remove(struct dir_io *io);
/*
 * These functions prepare a WRITE or a READ of 'count' bytes. dir_submit_may_add() must have
 * returned true. dir_submit_read() returns false if there is no memory for the data at present.
 */
void dir_submit_write(struct dir_io *io);
bool dir_submit_read(struct dir_io *io, uint32_t count);
/* Adds 'io' to the requests for a sync of its file. Prepares the sync unless one is under way. */
void dir_submit_sync_for(struct dir_io *io);
/*
 * Prepares a sync for all requests in the file's 'to_sync', or puts the file in fs->pending_syncs
 * if the ring is full.
 */
void dir_submit_sync(struct dir_fs *fs, struct dir_fd *file);
/* Prepares the syncs of fs->pending_syncs, as far as there are free entries in the ring. */
void dir_submit_pending_syncs(struct dir_fs *fs);
/*
 * Begins a sync of a dirty file that nobody uses. The file is closed after the sync. Returns false
 * if there is no memory.
 */
bool dir_submit_sync_and_close(struct dir_fs *fs, struct dir_fd *file);

#endif
