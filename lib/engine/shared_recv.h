/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_SHARED_RECV_H
#define ENGINE_SHARED_RECV_H

/*
 * If the profile enables shared_receives, all connections of an engine share one SRQ. The SRQ uses
 * all of the recv_buffers. Each buffer is in one of these states:
 *
 * - posted,
 * - free, to be posted together with others,
 * - held by a connection, from the arrival of its message until the connection returns it.
 *
 * Each connection has a list of the buffers that it holds, so that its end need not search those of
 * others. A buffer that is still held after the end of its connection is in no list.
 * lib/proto/credit_share.h divides the SRQ, and thus credits, among connections.
 */

#include "credit_share.h"
#include "engine.h"

struct engine_srq {
	/* Gets the completions of receives whose connection ended first. */
	struct engine_endpoint ep;
	struct fabric_srq *fabric;
	struct credit_pool credits;
	uint32_t nbufs;
	uint32_t nfree;
	uint32_t slack; /* up to this many free buffers may wait for more */
	/* If more buffers are free, they are posted at the end of a poll. If they were posted
	 * during the poll, they would not be in the order in which they were taken. */
	uint32_t few;
	/* The buffer that the device is delivering, until its message was processed. NULL: none. */
	struct mem_buf *delivering;
	uint64_t *free;	       /* the free buffers, as wr_id of the device */
	struct mem_buf **bufs; /* all buffers, for the creation and the end of the SRQ */
};

LIST_HEAD(engine_srq_list, mem_buf);

/* Returns whether receives are shared, by the profile and the engine's device. */
bool engine_srq_is_wanted(const struct weir_engine *engine);
int engine_srq_create(struct weir_engine *engine);
/* Destroys the SRQ, after the end of the last connection. */
void engine_srq_destroy(struct weir_engine *engine);
/* Posts all free buffers. */
void engine_srq_post(struct engine_srq *srq);

/*
 * Posts free buffers if there are many. It is called before a message is sent that grants credits.
 */
static inline void engine_srq_top_up(struct engine_srq *srq)
{
	if (srq->nfree > srq->slack)
		engine_srq_post(srq);
}

/* Returns a receive whose message was processed. It is in no list. */
static inline void engine_srq_put(struct engine_srq *srq, struct mem_buf *buf)
{
	srq->free[srq->nfree++] = (uintptr_t)buf;
	if (srq->nfree > srq->few)
		engine_want_flush(&srq->ep);
}

/* Returns a receive whose message was processed. It is in the list of a connection. */
static inline void engine_srq_return(struct engine_srq *srq, struct mem_buf *buf)
{
	LIST_REMOVE(buf, held);
	buf->held.le_prev = NULL;
	engine_srq_put(srq, buf);
}

/* Removes a receive from the list of its connection, which ends while the message is still held. */
static inline void engine_srq_leave_behind(struct mem_buf *buf)
{
	LIST_REMOVE(buf, held);
	buf->held.le_prev = NULL;
	buf->held.le_next = buf;
}

static inline bool engine_srq_is_left_behind(const struct mem_buf *buf)
{
	return buf->held.le_next == buf;
}

static inline bool engine_srq_is_held(const struct mem_buf *buf)
{
	return buf->held.le_prev || engine_srq_is_left_behind(buf);
}

#endif
