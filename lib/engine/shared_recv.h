/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_SHARED_RECV_H
#define ENGINE_SHARED_RECV_H

/*
 * One queue of receives for all connections of an engine, by the profile's shared_receives: all of
 * its recv_buffers. A buffer is posted, or free and to be posted with others, or held by a
 * connection ('owner') since its message came, until that gives it back. Shares of it, and with
 * them credits, are lib/proto/credit_share.h's.
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
	struct mem_buf **bufs;	    /* all of them */
};

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

/* The message is done with. */
static inline void engine_srq_put(struct engine_srq *srq, struct mem_buf *buf)
{
	buf->owner = NULL;
	srq->free[srq->nfree++] = (uintptr_t)buf;
	if (srq->nfree > srq->few)
		engine_want_flush(&srq->ep);
}

#endif
