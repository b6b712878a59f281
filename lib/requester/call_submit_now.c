/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Submitting what most calls are (call_plain.h), by a connection that can send it at once: nothing
 * is queued, there is a credit, and nothing else is to be done. Any other call is call_submit.c's.
 */
#include "call_plain.h"

#include "compiler.h"

/* Whether nothing stands in the way of a call that is about to be submitted. */
static inline bool may_submit_now(const struct weir_call *call, const struct weir_conn *conn,
				  const struct requester *req)
{
	return call->state == CALL_BUILDING && !call->out.failed && conn_can_send_direct(conn) &&
	       conn->srq->nfree <= conn->srq->slack && TAILQ_EMPTY(&req->queue) &&
	       req->credits.granted > req->credits.in_flight;
}

/* The driver could not send it now, which was taken for granted. */
static out_of_line int submit_after_all(struct weir_call *call)
{
	struct weir_engine_stats *stats = &call->conn->ep.engine->stats;
	struct requester *req = requester_of(call->conn);

	stats->write_chunks -= call->expected_reply == EXPECTED_REPLY_ONE_WRITE;
	stats->read_chunks -= call->nitems;
	stats->calls_sent--;
	req->nactive--;
	req->credits.in_flight--;
	call->is_send_done = false;
	call->state = CALL_BUILDING;
	return call_submit_any(call);
}

/* Its message is written, all of it. All there is to do comes before the driver's call, which most
 * likely sends the message: nothing is needed again behind it then. Of its plan the reply asks for
 * no more than that. */
static hot_inline int submit_now(struct weir_call *call, struct weir_conn *conn,
				 struct requester *req, const uint8_t *msg, uint32_t bytes,
				 bool writes_result, bool reads_item)
{
	struct weir_engine *engine = conn->ep.engine;

	call_set_deadline(call, engine);
	engine->stats.calls_sent++;
	engine->stats.write_chunks += writes_result;
	engine->stats.read_chunks += reads_item;
	req->nactive++;
	credit_take(&req->credits);
	call->plan.use_write_list = writes_result;
	call_set_plain(call, writes_result, reads_item, CALL_SENT, true);
	if (likely(conn->ops->send_direct(conn->qp, msg, bytes)))
		return 0;
	return submit_after_all(call);
}

/* Each of those with more to it apart, so that it does not burden the others with its stack frame.
 */
static out_of_line int submit_one_write(struct weir_call *call, struct weir_conn *conn,
					struct requester *req)
{
	const uint8_t *msg = call->out.start - RDMA1_ONE_WRITE_SIZE;
	uint32_t bytes = call_plain_bytes(call, RDMA1_ONE_WRITE_SIZE);

	if (!call_encode_one_write(call, conn, 0))
		return call_submit_any(call);
	return submit_now(call, conn, req, msg, bytes, true, false);
}

static out_of_line int submit_one_read(struct weir_call *call, struct weir_conn *conn,
				       struct requester *req)
{
	const uint8_t *msg = call->out.start - RDMA1_ONE_READ_SIZE;
	uint32_t bytes = call_plain_bytes(call, RDMA1_ONE_READ_SIZE);

	if (!call_encode_one_read(call, conn))
		return call_submit_any(call);
	return submit_now(call, conn, req, msg, bytes, false, true);
}

int weir_call_submit(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;
	struct requester *req = requester_of(conn);
	const uint8_t *msg = call->out.start - RDMA1_HEADER_MIN;
	uint32_t bytes = call_plain_bytes(call, RDMA1_HEADER_MIN);

	if (unlikely(!may_submit_now(call, conn, req)))
		return call_submit_any(call);
	/* One by one: each was written by itself, and of late. */
	if (call->nitems != 0)
		return submit_one_read(call, conn, req);
	if (call->nresults != 0)
		return submit_one_write(call, conn, req);
	if (unlikely(!call_encode_short(call, conn, 0)))
		return call_submit_any(call);
	return submit_now(call, conn, req, msg, bytes, false, false);
}
