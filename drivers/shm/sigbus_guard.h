/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIGBUS_GUARD_H
#define SIGBUS_GUARD_H

/*
 * Memory that is shared with a peer can lose its pages. No seal keeps a peer that is allowed to
 * write to a memfd from punching holes into it, and a memfd that the peer has made can be sparse
 * from the start. The next access to a hole allocates a page. If no page is available (no free
 * hugepage, strict overcommit at its limit), the access raises SIGBUS.
 *
 * A guard covers one mapping. When an access to a guarded mapping raises SIGBUS, the handler
 * replaces the mapping's pages by ordinary zeroed memory, marks the guard as lost, and wakes the
 * owner, which ends the connections that use the mapping. The access then continues. The data are
 * lost, but only the peer's connections end, and not the process.
 *
 * SIGBUS at any other address is passed to the handler that was set before. All functions can be
 * called on any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUARD_NONE (-1)

/* Guards [base, base + len), which consists of whole pages of 'page' bytes, until guard_clear().
 * The owner must call guard_clear() before it unmaps the memory. When the mapping is lost, the
 * handler writes 8 bytes to the eventfd 'wake_fd', and guard_take_loss() then reports 'tag', which
 * identifies the mapping to the owner. Returns the guard, or GUARD_NONE if all guards are in use or
 * the handler cannot be set. */
int guard_set(void *base, size_t len, size_t page, int wake_fd, uint64_t tag);
void guard_clear(int guard);
/* Makes a guard wake another owner, by the eventfd 'wake_fd'. After this call, the caller must
 * check guard_is_lost(), because an earlier loss has woken the old owner. */
void guard_move(int guard, int wake_fd);
/* Returns whether the guarded mapping was lost. Returns false for GUARD_NONE. */
bool guard_is_lost(int guard);
/* Takes the next loss that the owner of 'wake_fd' has not taken yet, and sets *tag to the tag of
 * its guard. Returns false if there is none. */
bool guard_take_loss(int wake_fd, uint64_t *tag);

/* Called before and after a fork(2), in the parent and in the child. They hold the lock of the
 * guards meanwhile, because otherwise another thread might hold it at the fork, and the child could
 * never take it. The child begins without guards, because the guarded mappings are its parent's.
 * The child must not clear or move a guard of its parent. */
void guard_fork_begin(void);
void guard_fork_end(bool is_child);

#endif
