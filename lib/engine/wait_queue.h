/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WAIT_QUEUE_H
#define WAIT_QUEUE_H

/*
 * Waiting for buffers. Each connection has a queue, and the queues have turns.
 *
 * A waiter that waits for what its own connection or peer holds keeps nobody else waiting. Any
 * other one blocks: who comes later waits, too, even where there are buffers for it. Otherwise a
 * request that needs several buffers would never find as many, because small requests take each
 * buffer that comes back.
 *
 * But peers decide when buffers come back: one may hold some, while another needs more than are
 * left. So waiters block for a limited part of the time. They have a number of ticks for it, each
 * of which takes three ticks to come back. When all are used up, nobody blocks until all have come
 * back.
 */

#include "engine.h"

/* Try the first of each queue in turn, until one that blocks finds too little. 'many': a poll in
 * which more of those that do not block are tried in vain. */
void engine_wake(struct weir_engine *engine, bool many);

/* Try those that wait for a last buffer (reserve.h), before others could take it. */
void engine_wake_reserve(struct weir_engine *engine);

/* Once a tick: who waits begins to block, or ends. */
void engine_wait_tick(struct weir_engine *engine);

#endif
