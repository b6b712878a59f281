/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef GUARD_H
#define GUARD_H

/*
 * Memory that a peer can take pages out of. No seal keeps one that may write to a file of hugepages from punching holes
 * into it, and where no hugepage is free then, the next touch of one is SIGBUS. Guarded, such memory becomes ordinary
 * zeros at that moment, once and for all, and whoever guards it is woken, to end the connections that it is of: the
 * data is the peer's loss, the process is nobody's.
 *
 * SIGBUS anywhere else goes where it went before the latest guard was set. Any thread.
 */

#include <stdbool.h>
#include <stddef.h>

#define GUARD_NONE (-1)

/* Guard [base, base + len), whole pages of its file, until guard_clear(), which comes before munmap(). An eventfd, or any
 * descriptor that takes 8 bytes without waiting, is written to when it is lost. The guard, or GUARD_NONE: no more are to
 * be had. */
int guard_set(void *base, size_t len, int wake_fd);
void guard_clear(int guard);
/* How often any was lost so far: while it stays the same, there is nothing new to ask guard_is_lost() about. It has gone up
 * when wake_fd is written to. */
unsigned guard_losses(void);
/* Whether what it guards was lost. False for GUARD_NONE. */
bool guard_is_lost(int guard);

#endif
