/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WAIT_QUEUE_H
#define WAIT_QUEUE_H

/*
 * Waiting for buffers. Each connection has a wait queue, and the wait queues are served
 * round-robin.
 *
 * A waiter that waits for something that its own connection or peer holds delays nobody else. Any
 * other waiter blocks: later waiters wait, too, even if there are buffers for them. Otherwise a
 * request that needs several buffers would never find as many, because small requests take each
 * buffer that is returned.
 *
 * But peers determine when buffers are returned: one peer may hold some, while another needs more
 * than are left. So waiters block only for a limited part of the time. They have a number of ticks
 * for this. Each tick that is used is regained after three ticks. When all are used, nobody blocks
 * until all are regained.
 */

#include "engine.h"

/* Calls the first waiter of each wait queue, round-robin, until one that blocks finds too little.
 * If 'many' is true, this poll may call more of the waiters that do not block in vain. */
void engine_wake(struct weir_engine *engine, bool many);

/* Calls the waiters for a reserve buffer (reserve.h), before others can take it. */
void engine_wake_reserve(struct weir_engine *engine);

/* Determines, once per tick, whether waiters block. */
void engine_wait_tick(struct weir_engine *engine);

#endif
