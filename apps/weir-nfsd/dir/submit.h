/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DIR_SUBMIT_H
#define DIR_SUBMIT_H

/* Submission of operations to the ring. Only the poller's thread calls these functions. */

#include "dir.h"

/* Completions have the struct dir_io; those of syncs the struct dir_fd, with the lowest bit set. */
#define DIR_CQE_SYNC 1u

/* May the call have a place in the kernel? */
bool dir_submit_has_place(const struct dir_fs *fs, const struct op *op);
void dir_submit_take_place(struct dir_io *io, struct op *op, struct dir_fd *file);
void dir_submit_release_place(struct dir_io *io);
/* WRITE. There is room in the ring: dir_submit_has_place() has looked, as for READ. */
void dir_submit_write(struct dir_io *io);
bool dir_submit_read(struct dir_io *io, uint32_t count);
/* Have the file's next sync be for 'io', and begin it if none is under way. */
void dir_submit_sync_for(struct dir_io *io);
void dir_submit_sync(struct dir_fs *fs, struct dir_fd *file);
/* Begin syncs that found no room in the ring. */
void dir_submit_pending_syncs(struct dir_fs *fs);
/* Sync a file that is dirty and in nobody's use, then close it. False: no memory. */
bool dir_submit_sync_and_close(struct dir_fs *fs, struct dir_fd *file);

#endif
