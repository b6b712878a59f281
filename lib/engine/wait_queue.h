/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WAIT_QUEUE_H
#define WAIT_QUEUE_H

/*
 * Waiting for buffers. Each connection has a wait queue, and the wait queues are served
 * round-robin.
 *
 * A waiter that waits for something that its own connection or peer holds delays nobody else. Any
 * other waiter blocks others: waiters that come later wait, too, even if there are buffers for
 * them. If they did not wait, a request that needs several buffers would never find enough,
 * because small requests would take each buffer that is returned.
 *
 * But peers determine when buffers are returned. For example, one peer can hold buffers, while
 * another peer needs more than are left. Therefore waiters block others only for a limited part of
 * the time. They have an allowance of 32 ticks with blocking. Each tick with blocking uses one of
 * these, and three ticks without blocking restore it. When the allowance is used up, nobody blocks
 * until all of it is restored.
 */

#include "engine.h"

/* Calls the first waiter of each wait queue, round-robin, until a waiter that blocks others finds
 * too few buffers. The poll also stops when a few waiters that do not block others had to wait
 * again. If 'many' is true, it stops after more of these. */
void engine_wake(struct weir_engine *engine, bool many);

/* Calls the waiters for a reserve buffer (reserve.h), before others can take the buffer. There must
 * be such a waiter. */
void engine_wake_reserve(struct weir_engine *engine);

/* Determines whether waiters block others in the next tick. It is called once per tick. */
void engine_wait_tick(struct weir_engine *engine);

#endif
