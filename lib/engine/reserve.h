/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RESERVE_H
#define RESERVE_H

/*
 * The reserve: a send buffer for a message that needs one in addition to the buffer in which it was
 * encoded. A message needs one more in these cases:
 *
 * - The transport header does not fit before the message.
 * - The device cannot gather the message, so that all of it is copied.
 * - The message is an error message, and there was no buffer in which it could be encoded.
 *
 * The further buffer is taken from the send pool. If the pool is empty, it is possible that each of
 * its buffers belongs to a message that waits for a further buffer, so that no buffer would ever be
 * returned. For this case there is a reserve of one buffer. Connections get the reserve buffer
 * round-robin. Waiters (wait_queue.h) for the first buffer of a message are served after these
 * connections. A message takes the reserve buffer only when it needs nothing else that another
 * message could hold. The reserve buffer thus returns with the completion of the Send or at the end
 * of the connection.
 *
 * A continued reply consists of several messages and needs more than one buffer: one for their
 * headers, one for the header of the first message if that has long lists, and one for each message
 * that the device cannot gather. A continued reply takes all of its buffers at once or none. If
 * messages are continued, the reserve is large enough for one such reply.
 */

#include "engine.h"

#define ENGINE_RESERVE_BUFS 1u

/* Returns how many buffers the reserve of an engine with this profile has. */
static inline uint32_t engine_reserve_bufs(const struct weir_profile *profile)
{
	if (!version_extends(profile, WEIR_EXTENSION_CONTINUATION))
		return ENGINE_RESERVE_BUFS;
	return ENGINE_RESERVE_BUFS + 1 + profile->transmissions;
}

/* Takes a buffer of the send pool or of the reserve, and returns it. Returns NULL if there is none,
 * or if other waiters have their turn before 'waiter'. The caller then queues 'waiter', by
 * engine_wait_unbounded(), in a wait queue with 'is_reserve'. */
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
