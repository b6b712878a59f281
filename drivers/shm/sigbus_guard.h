/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIGBUS_GUARD_H
#define SIGBUS_GUARD_H

/*
 * Memory that is shared with a peer can lose its pages. No seal keeps a peer that may write to a
 * memfd from punching holes into it, and a memfd that the peer has made may be sparse from the
 * start. The next access to such a hole takes a new page. Where there is none (no free hugepage,
 * strict overcommit at its limit), the access raises SIGBUS.
 *
 * A guard covers one mapping. When an access to a guarded mapping raises SIGBUS, the handler
 * replaces the mapping's pages by ordinary zeroed memory, marks the guard as lost, and wakes the
 * owner, which ends the connections that use the mapping. The access then continues. Its data are
 * lost, but only the peer's connections end, not the process.
 *
 * SIGBUS at any other address goes to the handler that was set before. All functions may be called
 * on any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUARD_NONE (-1)

/* Guards [base, base + len), which consists of whole pages of 'page' bytes, until guard_clear().
 * The owner clears a guard before it unmaps the memory. When the mapping is lost, the handler
 * writes 8 bytes to the eventfd 'wake_fd'. 'tag' identifies the lost mapping to the owner. Returns
 * the guard, or GUARD_NONE if all guards are in use. */
int guard_set(void *base, size_t len, size_t page, int wake_fd, uint64_t tag);
void guard_clear(int guard);
/* Makes a guard wake another owner. After this call, the caller checks guard_is_lost(): the old
 * owner may have been woken. */
void guard_move(int guard, int wake_fd);
/* Returns whether the guarded mapping was lost. Returns false for GUARD_NONE. */
bool guard_is_lost(int guard);
/* Takes the next loss that the owner of 'wake_fd' has not taken yet. Returns false if there is
 * none. */
bool guard_take_loss(int wake_fd, uint64_t *tag);

/* Call these around a fork(2), which may happen while another thread holds the lock. The child has
 * no guards: the guarded mappings are its parent's, and no parent's guard may be cleared or moved
 * in the child. */
void guard_fork_begin(void);
void guard_fork_end(bool is_child);

#endif
