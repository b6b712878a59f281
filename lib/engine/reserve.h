/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RESERVE_H
#define RESERVE_H

/*
 * The one send buffer that a message may need beyond the one that it was written to: for a header
 * that does not fit in front of it, or for all of it, where the device can't gather it; or for an
 * error, where there was none to write it to.
 *
 * It is one of the send pool. Where that is dry, each of its buffers may be with a message that
 * waits for one more, so that none would come back: then there is a reserve of one. Connections
 * take turns at it, and those that wait for a first buffer come behind them. A message takes it
 * when it needs nothing more that another message could have, so that it comes back with the Send's
 * completion, or the end of the connection.
 *
 * A reply that is continued over several messages needs more than one: one for their headers, one
 * for that of the first, where it has long lists, and one for each that the device can't gather. It
 * takes all of them at once or none, and where messages are continued the reserve is enough for one
 * such reply.
 */

#include "engine.h"

#define ENGINE_RESERVE_BUFS 1u

static inline uint32_t engine_reserve_bufs(const struct weir_engine *engine)
{
	const struct weir_profile *p = &engine->profile;

	if (p->protocol == WEIR_PROTOCOL_V1 || !(p->extension & WEIR_EXTENSION_CONTINUATION))
		return ENGINE_RESERVE_BUFS;
	return ENGINE_RESERVE_BUFS + 1 + p->transmissions;
}

/* NULL: 'waiter' has to wait, by engine_wait_unbounded(), in a wait queue with 'is_reserve'. */
static inline struct mem_buf *engine_reserve_get(struct weir_engine *engine,
						 const struct engine_waiter *waiter)
{
	bool is_its_turn = engine->reserve_turn && engine->waking == waiter;
	struct mem_buf *buf;

	if (!is_its_turn && !TAILQ_EMPTY(&engine->reserve_queues))
		return NULL;
	buf = mem_pool_get(engine->send_pool);
	if (!buf && is_its_turn)
		buf = mem_pool_get(engine->reserve_pool);
	engine->reserve_given |= buf != NULL;
	return buf;
}

#endif
