/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_SHARED_RECV_H
#define ENGINE_SHARED_RECV_H

/*
 * The shared receive queue (SRQ) of an engine, from which all of its connections take their
 * receives. It exists if engine_shares() returns true. The SRQ has all of the profile's
 * recv_buffers. Each buffer is in one of these states:
 *
 * - posted,
 * - free, until it is posted together with others,
 * - held by a connection, from the arrival of its message until the connection returns it.
 *
 * Each connection has a list of the buffers that it holds, so that the end of the connection need
 * not search the buffers of others. A buffer that a request still holds after the end of its
 * connection is in no list. lib/proto/credit_share.h divides the SRQ, and thus credits, among
 * connections.
 */

#include "credit_share.h"
#include "engine.h"

struct engine_srq {
	/* This endpoint gets the completions of receives whose connection has ended before. */
	struct engine_endpoint ep;
	struct fabric_srq *fabric;
	struct credit_pool credits;
	uint32_t nbufs;
	uint32_t nfree;
	uint32_t slack; /* engine_srq_top_up() posts only if more buffers than this are free */
	/* If more buffers than this are free, all are posted at the end of the poll. If they were
	 * posted during the poll, they would not be in the order in which messages took them. */
	uint32_t few;
	/* The buffer whose message the device is delivering, until the message was processed. NULL:
	 * none. */
	struct mem_buf *delivering;
	/* the free buffers: their addresses, which are also the wr_id of their receives */
	uint64_t *free;
	struct mem_buf **bufs; /* all buffers of the SRQ, for its creation and its end */
};

LIST_HEAD(engine_srq_list, mem_buf);

/* Returns whether the connections of an engine with this profile and this device share receives. */
bool engine_shares(const struct weir_profile *profile, const struct fabric_dev_attr *attr);
/* Creates engine->srq, with all buffers of recv_pool, and posts them. Returns 0, or -errno:
 * -EOPNOTSUPP, after a log line, if the device's SRQ is too short. If it fails,
 * weir_engine_destroy() frees the parts that were created. */
int engine_srq_create(struct weir_engine *engine);
/* Destroys the SRQ, after the end of the last connection. */
void engine_srq_destroy(struct weir_engine *engine);
/* Posts all free buffers, as far as the device accepts them. */
void engine_srq_post(struct engine_srq *srq);

/*
 * Posts the free buffers if there are more than 'slack'. It is called before a message is sent that
 * grants credits.
 */
static inline void engine_srq_top_up(struct engine_srq *srq)
{
	if (srq->nfree > srq->slack)
		engine_srq_post(srq);
}

/* Returns whether free buffers wait to be posted because the device accepted none. */
static inline bool engine_srq_is_behind(const struct engine_srq *srq)
{
	return srq->nfree > srq->few;
}

/* Gives a receive back to the SRQ after its message was processed. The receive must be in no
 * connection's list. */
static inline void engine_srq_put(struct engine_srq *srq, struct mem_buf *buf)
{
	srq->free[srq->nfree++] = (uintptr_t)buf;
	if (srq->nfree > srq->few)
		engine_want_flush(&srq->ep);
}

/* Gives a receive back to the SRQ after its message was processed, and removes it from the list of
 * its connection. */
static inline void engine_srq_return(struct engine_srq *srq, struct mem_buf *buf)
{
	LIST_REMOVE(buf, held);
	buf->held.le_prev = NULL;
	engine_srq_put(srq, buf);
}

/* Removes a receive from the list of its connection, which ends while a request still holds the
 * message, and marks the receive as left behind. */
static inline void engine_srq_leave_behind(struct mem_buf *buf)
{
	LIST_REMOVE(buf, held);
	buf->held.le_prev = NULL;
	buf->held.le_next = buf;
}

/* Returns whether engine_srq_leave_behind() was called for the receive, which was not given back
 * since. */
static inline bool engine_srq_is_left_behind(const struct mem_buf *buf)
{
	return buf->held.le_next == buf;
}

/* Returns whether the receive is in the list of a connection or left behind. */
static inline bool engine_srq_is_held(const struct mem_buf *buf)
{
	return buf->held.le_prev || engine_srq_is_left_behind(buf);
}

#endif
