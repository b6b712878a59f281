/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations of the requester for connections that may speak version 2 (lib/conn/protocol.h).
 * They decide the order of the steps for a call and for a message. This file also chooses the
 * operations of a new connection. */
#include "call_shape.h"
#include "compiler.h"
#include "directions.h"
#include "rdma2.h"

static uint32_t v2_first_credits(const struct weir_conn *conn)
{
	return conn->v2->granted;
}

static void v2_on_tick(struct weir_conn *conn, uint64_t now_ns)
{
	if (conn_group_is_late(conn, now_ns))
		requester_drop_group(conn);
}

static void v2_on_suspend(struct weir_conn *conn)
{
	conn->v2->group_chain = NULL; /* its receives belong to the connection again */
}

/* Writes the fields of version 2 over the bytes that were left free before a header of version 1,
 * if the connection speaks version 2. */
static void finish_header(struct weir_call *call)
{
	if (call->conn->extra_bytes > 0)
		rdma2_write_over(call->header, RDMA1_CALL, 0);
}

static bool v2_prepare_shape(struct weir_call *call)
{
	bool has_results = call->nresults > 0;

	if (call->conn->extra_bytes == 0) /* the peer speaks version 1 */
		return call_prepare_shape(call);
	/* If requests can have directions, a result is not requested by a Write chunk. */
	if (call->nitems > 0 || (has_results && call->conn->v2->asks))
		return false;
	if (has_results ? !call_lay_out_shape(call, SHAPE_ONE_WRITE, RDMA2_EXTRA)
			: !call_lay_out_shape(call, SHAPE_INLINE, RDMA2_EXTRA))
		return false;
	finish_header(call);
	return true;
}

/* Prepares the call in the best way within the given maximum numbers of transmissions. Only the
 * header is not yet written. Returns NULL on success. After a failure, the call is unchanged, and
 * the function returns the statistics counter of the reason. */
static uint64_t *try_directions(struct call_directions *direct, uint32_t count_max,
				uint32_t reply_count_max)
{
	struct weir_call *call = direct->call;
	uint64_t *wanting = call_directions_choose(direct, count_max, reply_count_max);

	if (wanting)
		return wanting;
	wanting = call_directions_take(direct);
	if (!wanting && (direct->count > 1 || direct->reply_count > 1))
		wanting = call_take_group(call, direct->count, direct->reply_count);
	if (!wanting && direct->count == 1 && call->placed && !call_can_place(call))
		wanting = &call_engine(call)->stats.fallbacks_limits;
	if (wanting)
		call_directions_undo(direct);
	return wanting;
}

/* Prepares a call with items or directions, in several transmissions if necessary. If that is not
 * possible, tries to prepare the call in one transmission. Counts the reason for which the first
 * way is not possible. Returns false if the call can't have items or directions. */
static bool prepare_directions(struct weir_call *call, const struct reduce_call_in *in)
{
	const uint32_t count_max = call_count_max(call->conn),
		       reply_count_max = call_reply_count_max(call->conn);
	struct call_directions direct;
	uint64_t *wanting;

	if (!call_may_have_directions(call, reply_count_max))
		return false;
	call_directions_begin(&direct, call, in);
	wanting = try_directions(&direct, count_max, reply_count_max);
	if (wanting)
		++*wanting;
	if (wanting && (count_max > 1 || reply_count_max > 1))
		wanting = try_directions(&direct, 1, 1);
	if (wanting)
		return false;
	call_directions_finish(&direct);
	return true;
}

static int v2_write_header(struct weir_call *call, const struct reduce_call_in *in)
{
	int rc;

	if (prepare_directions(call, in) || call_prepare_group(call))
		return 0;
	rc = call_write_header(call, in);
	if (rc == 0)
		finish_header(call);
	return rc;
}

/* A call in several transmissions, or with data that are placed, never waits, because it has taken
 * its buffers already. */
static bool v2_send(struct weir_call *call)
{
	if (call->more == 0 && call->placed == 0)
		return call_send(call);
	if (call->nwindow_bindings > 0)
		call_bind_windows(call);
	if (call->more > 0)
		call_transmit_group(call);
	else
		call_transmit_placed(call);
	return true;
}

static void v2_put_buf(struct mem_buf **buf)
{
	if (*buf)
		mem_pool_put(*buf);
	*buf = NULL;
}

static void v2_release_call(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;

	conn_group_put_bufs(&call->group_bufs);
	v2_put_buf(&call->reply_join);
	if (conn->srq && call->reply_reserved > 0)
		credit_share_reduce(&conn->srq->credits, &conn->share, call->reply_reserved);
	requester_of(conn)->reply_reserved -= call->reply_reserved;
	call->reply_reserved = 0;
	call->extension = 0;
	call->more = 0;
	call->placed = 0;
	call->results_by = 0;
	call->is_refused = false;
	call->asks_without_chunks = false;
	call->is_reply_chain = false;
	call->has_reported = false;
}

static uint32_t v2_find_handles(const struct weir_call *call, uint8_t **handles, uint32_t max,
				uint8_t **inv_handle)
{
	const struct weir_conn *conn = call->conn;

	if (call->extension != 0)
		return rtr_handles(call->header, handles, max);
	if (conn->vers == RDMA2_VERSION && conn->may_invalidate)
		*inv_handle = rdma2_inv_handle(call->header);
	return rdma1_handles(call->header + conn->extra_bytes, handles, max);
}

/* Runs the steps for a message on a connection that speaks version 2, until one of the steps has
 * handled the message. Returns the kind of the message. */
static enum reply_kind receive(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
			       uint32_t inv_rkey, bool is_again, struct reply_in *in)
{
	enum reply_kind kind = REPLY_MESSAGE;
	struct rdma2_header full;
	enum rdma2_verdict verdict;
	uint32_t reason;

	verdict = rdma2_decode(buf->data, len, &conn->ep.engine->limits, &full, &reason);
	in->hdr = full.lists;
	in->verdict = RDMA1_V_DROP;
	/* Messages of the extension invalidate no key. A message that is decoded for the second
	 * time is not a part of a group, because call.c reads groups by read_group(). */
	if (!is_again && conn_has_extension(conn) &&
	    (inv_rkey == 0 || full.lists.proc != RDMA2_OPTIONAL))
		kind = requester_receive_rtr(conn, buf, len, verdict == RDMA2_V_OK ? &full : NULL,
					     in);
	if (kind != REPLY_MESSAGE)
		return kind;
	if (inv_rkey == 0 && verdict == RDMA2_V_OK && requester_is_refusal(conn, in))
		return REPLY_REFUSED;
	if (verdict == RDMA2_V_OK && full.direction == RDMA1_REPLY &&
	    full.lists.proc != RDMA2_OPTIONAL) {
		in->verdict = RDMA1_V_OK;
	} else if (inv_rkey == 0) {
		kind = requester_receive_other(conn, verdict, &full);
		if (kind != REPLY_MESSAGE)
			conn_recv_done(conn, buf);
	}
	return kind;
}

static out_of_line enum reply_kind v2_receive_reply(struct weir_conn *conn, struct mem_buf *buf,
						    uint32_t len, uint32_t inv_rkey, bool is_again,
						    struct reply_in *in)
{
	if (conn->vers == RDMA2_VERSION) {
		enum reply_kind kind = receive(conn, buf, len, inv_rkey, is_again, in);

		/* If the call is SENT, call.c sends it again. It must then not use the extension.
		 */
		if (kind == REPLY_REFUSED)
			in->call->avoids_extension |= in->call->state == CALL_SENT;
		return kind;
	}
	if (!requester_receive_v1(conn, buf, len, in))
		return REPLY_MESSAGE;
	conn_recv_done(conn, buf);
	return REPLY_NONE;
}

static const struct conn_protocol version2 = {
	CONN_PROTOCOL_V2,
	.on_tick = v2_on_tick,
	.next_tick = conn_group_deadline,
	.first_credits = v2_first_credits,
	.on_suspend = v2_on_suspend,
	.prepare_shape = v2_prepare_shape,
	.write_header = v2_write_header,
	.send = v2_send,
	.claim_credits = call_claim_credits,
	.release_call = v2_release_call,
	.find_handles = v2_find_handles,
	.receive_reply = v2_receive_reply,
	.read_group = requester_read_group,
};

const struct conn_protocol *requester_protocol(const struct weir_engine *engine)
{
	return engine->profile.protocol == WEIR_PROTOCOL_V1 ? &requester_version1 : &version2;
}
