/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_SHARED_RECV_H
#define ENGINE_SHARED_RECV_H

/*
 * One queue of receives for all connections of an engine, by the profile's shared_receives: all of
 * its recv_buffers. A buffer is posted, or free and to be posted with others, or held by a
 * connection since its message came, until that gives it back. A connection has a list of those
 * that it holds, so that its end takes no time for those of others. One that is still held when its
 * connection has gone is on no list. Shares of the queue, and with them credits, are
 * lib/proto/credit_share.h's.
 */

#include "credit_share.h"
#include "engine.h"

struct engine_srq {
	struct engine_endpoint
		ep; /* of receives whose connection ended before their completion was seen */
	struct fabric_srq *fabric;
	struct credit_pool credits;
	uint32_t nbufs;
	uint32_t nfree;
	uint32_t slack; /* so many free ones may wait for more */
	uint32_t few;	/* more are posted at the end of a poll: in its midst they would come out of
			   the order in which they were taken */
	struct mem_buf *delivering; /* by the device, just now, and not done with; NULL: none is */
	uint64_t *free;		    /* as the device knows them: wr_id */
	struct mem_buf **bufs;	    /* all of them, for the start and the end of the queue */
};

LIST_HEAD(engine_srq_list, mem_buf);

/* What the profile says of this engine's device. */
bool engine_srq_is_wanted(const struct weir_engine *engine);
int engine_srq_create(struct weir_engine *engine);
/* After the last connection. */
void engine_srq_destroy(struct weir_engine *engine);
/* Post all that is free. */
void engine_srq_post(struct engine_srq *srq);

/* Before anything is sent that grants credits. */
static inline void engine_srq_top_up(struct engine_srq *srq)
{
	if (srq->nfree > srq->slack)
		engine_srq_post(srq);
}

/* The message is done with, and its receive is on no list. */
static inline void engine_srq_put(struct engine_srq *srq, struct mem_buf *buf)
{
	srq->free[srq->nfree++] = (uintptr_t)buf;
	if (srq->nfree > srq->few)
		engine_want_flush(&srq->ep);
}

/* The message is done with, and its receive was on a list. */
static inline void engine_srq_return(struct engine_srq *srq, struct mem_buf *buf)
{
	LIST_REMOVE(buf, held);
	buf->held.le_prev = NULL;
	engine_srq_put(srq, buf);
}

/* Its connection goes, and the message is still held: take its receive off the list. */
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
