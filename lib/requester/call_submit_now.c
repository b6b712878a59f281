/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Submitting what most calls are (call_plain.h), by a connection that can send it at once: nothing is queued, there is a credit, and nothing else is
 * to be done. Any other call is call_submit.c's.
 */
#include "call_plain.h"

/* Whether nothing stands in the way of a call that is about to be submitted. */
static inline bool may_submit_now(const struct weir_call *call, const struct weir_conn *conn,
				  const struct requester *req)
{
	return call->state == CALL_BUILDING && !call->out.failed && conn_is_clear(conn) &&
	       !conn->ep.is_quiet && conn->shared->nfree <= conn->shared->slack && TAILQ_EMPTY(&req->queue) &&
	       !req->has_trial && req->credits.granted > req->credits.in_flight;
}

/* The driver could not send it now, which was taken for granted. */
static __attribute__((noinline)) int submit_after_all(struct weir_call *call)
{
	struct weir_engine_stats *stats = &call->conn->ep.engine->stats;
	struct requester *req = requester_of(call->conn);

	stats->write_chunks -= call->plan.use_write_list;
	stats->read_chunks -= call->plan.reduced != 0;
	stats->calls_sent--;
	req->nactive--;
	req->credits.in_flight--;
	call->is_send_done = false;
	call->state = CALL_BUILDING;
	return call_submit_any(call);
}

/* Its header, of so many bytes, is written. All there is to do comes before the driver's call, which most likely sends the message: nothing is
 * needed again behind it then. */
static inline __attribute__((always_inline)) int submit_now(struct weir_call *call, struct weir_conn *conn,
							    struct requester *req, uint32_t header_bytes,
							    uint32_t bytes, bool writes_result,
							    bool reads_item)
{
	struct weir_engine *engine = conn->ep.engine;

	if (bytes == 0)
		return call_submit_any(call);
	call_set_deadline(call, engine);
	engine->stats.calls_sent++;
	engine->stats.write_chunks += writes_result;
	engine->stats.read_chunks += reads_item;
	req->nactive++;
	credit_take(&req->credits);
	call_plan_plain(call, header_bytes, writes_result, reads_item, CALL_SENT, true);
	if (__builtin_expect(conn->ops->send_now(conn->qp, call->out.start - header_bytes, bytes), 1))
		return 0;
	return submit_after_all(call);
}

int weir_call_submit(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;
	struct requester *req = requester_of(conn);

	if (__builtin_expect(!may_submit_now(call, conn, req), 0))
		return call_submit_any(call);
	if ((call->nitems | call->nresults) == 0)
		return submit_now(call, conn, req, RDMA1_HEADER_MIN, call_encode_short(call, conn, 0), false,
				  false);
	if (call->nitems == 0)
		return submit_now(call, conn, req, RDMA1_ONE_CHUNK_SIZE, call_encode_one_chunk(call, conn, 0),
				  true, false);
	return submit_now(call, conn, req, RDMA1_ONE_READ_SIZE, call_encode_one_read(call, conn), false,
			  true);
}
