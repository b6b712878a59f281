/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reply came, or the Send of a call was done with. What the peer says is checked against what the
 * call offered; a reply that is not sound is dropped and counted (RFC 8166 section 4.5). One with
 * chunks where the call offered none ends the call with an error (section 6.1).
 */
#include "call_end.h"

#include <errno.h>

#include "compiler.h"
#include "seeded_bugs.h"
#include "shape.h"

/* A call that offered one Write chunk of one segment: that is the one, and there is no more in it
 * than it can hold. */
static inline bool is_one_offered(const struct weir_call *call, const struct rdma1_segment *seg)
{
	return seg->handle == call->results[0].target.rkey &&
	       seg->offset == call->results[0].target.raddr &&
	       seg->length <= call->results[0].target.len;
}

static inline bool offers_one(const struct weir_call *call)
{
	return call->nresults == 1 && call->results[0].target.len > 0;
}

/* The returned Write list against the offered one: as many chunks, the same segments, none longer.
 * A list that was left out is taken as unused chunks. */
static bool check_write_list(const struct weir_call *call, const struct rdma1_header *hdr,
			     uint32_t *item_bytes)
{
	uint32_t offered = call->plan.use_write_list ? call->nresults : 0, i = 0;
	struct rdma1_segment_iter segments;
	struct rdma1_write_iter chunks;
	struct rdma1_segment one;

	if (call->plan.use_write_list && offers_one(call) && rdma1_is_one_write(hdr, &one)) {
		item_bytes[0] = one.length;
		return is_one_offered(call, &one);
	}
	if (hdr->nwrite_chunks == 0) {
		/* To directions for results it is no answer but this: none was placed. */
		for (; i < offered; i++)
			item_bytes[i] = call->extension != 0 ? WEIR_ITEM_INLINE : 0;
		return true;
	}
	if (hdr->nwrite_chunks != offered)
		return false;
	rdma1_writes_begin(hdr, &chunks);
	for (; rdma1_writes_next(&chunks, &segments); i++) {
		struct rdma1_segment seg;

		item_bytes[i] = 0;
		if (segments.left != (call->results[i].target.len > 0))
			return false;
		while (rdma1_segments_next(&segments, &seg)) {
			if (seg.handle != call->results[i].target.rkey ||
			    seg.offset != call->results[i].target.raddr + item_bytes[i] ||
			    seg.length > call->results[i].target.len - item_bytes[i])
				return false;
			item_bytes[i] += seg.length;
		}
	}
	return true;
}

/* The Payload stream of a Long Reply, in memory that the peer can't change any more; NULL when the
 * Reply chunk is not the one that was offered. */
static const uint8_t *long_reply_stream(struct weir_call *call, const struct rdma1_header *hdr)
{
	struct rdma1_segment_iter segments;
	struct rdma1_segment seg;

	rdma1_reply_begin(hdr, &segments);
	if (!call->long_reply || segments.left != 1 || !rdma1_segments_next(&segments, &seg))
		return NULL;
	if (seg.handle != call->reply_handle || seg.offset != call->long_reply->raddr ||
	    seg.length > call->plan.reply_bytes)
		return NULL;
	if (!call->reply_copy)
		return call->long_reply->data;
	memcpy(call->reply_copy->data, call->long_reply->data, seg.length);
	call->conn->ep.engine->stats.long_copies++;
	return call->reply_copy->data;
}

/* What a reply that is sound has for the application. */
struct content {
	struct weir_xdr_in in;
	uint32_t item_bytes[CALL_ITEMS_MAX];
};

/* The reply's chunks against those that the call offered, and where its Payload stream is. False:
 * not sound, drop it. */
static bool find_content(struct weir_call *call, const struct rdma1_header *hdr, const uint8_t *msg,
			 uint32_t len, struct content *content)
{
	const uint8_t *stream;

	if (hdr->proc == RDMA1_ERROR)
		return true;
	if (!check_write_list(call, hdr, content->item_bytes))
		return false;
	if (hdr->proc != RDMA1_NOMSG) {
		weir_xdr_in_init(&content->in, msg + hdr->header_bytes, len - hdr->header_bytes);
		return true;
	}
	stream = long_reply_stream(call, hdr);
	if (!stream)
		return false;
	call->conn->ep.engine->stats.long_replies++;
	weir_xdr_in_init(&content->in, stream, (uint32_t)hdr->reply_bytes);
	return true;
}

/* The responder speaks other versions. It says so to each call, and here it is said to those who
 * can change it. */
static void log_versions(struct weir_conn *conn, const struct rdma1_header *hdr)
{
	struct weir_engine *engine = conn->ep.engine;

	engine_log_peer(
		engine, &engine->ends,
		"%s speaks versions %u to %u of RPC-over-RDMA, and was called by version %u: set "
		"protocol to auto "
		"in [connection] of the profile on either side",
		conn->peer, hdr->vers_low, hdr->vers_high, conn->vers);
}

/* The reply's content to the application. */
static void reply_deliver(struct weir_call *call, const struct rdma1_header *hdr,
			  struct content *content)
{
	struct weir_engine_stats *stats = &call->conn->ep.engine->stats;
	struct weir_result result = {.nitems = call->plan.use_write_list ? call->nresults : 0};
	struct weir_rpc_reply_header reply;

	if (hdr->proc == RDMA1_ERROR) {
		stats->errors_received++;
		result.status = -EREMOTEIO;
		result.rdma_err = hdr->err;
		if (hdr->err == RDMA1_ERR_VERS)
			log_versions(call->conn, hdr);
	} else if (rpc_reply_decode(&content->in, &reply) != 0 || reply.xid != call->xid) {
		result.status = -EBADMSG;
	} else {
		result.reply = &reply;
		result.results = &content->in;
		result.item_bytes = content->item_bytes;
	}
	call_complete(call, &result);
}

bool call_waits_for_reply(const struct weir_call *call)
{
	return call->state == CALL_SENT || call->state == CALL_ZOMBIE ||
	       call->state == CALL_REVOKING;
}

bool call_must_wait(const struct weir_call *call)
{
	return call->state != CALL_ZOMBIE &&
	       ((call->sends_app_memory && !call->is_send_done) || call->nvalid > 0);
}

static out_of_line void send_more(struct weir_conn *conn)
{
	if (conn->srq)
		requester_share_grow(conn);
	requester_pump(conn);
}

/* A credit came back, maybe. */
static inline void go_on(const struct requester *req)
{
	if (unlikely(!TAILQ_EMPTY(&req->queue)))
		send_more(req->conn);
}

static inline void take_credits(struct requester *req, const struct weir_call *call,
				const struct rdma1_header *hdr)
{
	if (unlikely(call->has_extra) && call->more > 0)
		credit_lost(&req->credits, call->more);
	if (!(SEEDED_BUG(5) && call->state == CALL_ZOMBIE) &&
	    !credit_reply(&req->credits, hdr->credit))
		req->conn->ep.engine->stats.zero_grants++;
}

/*
 * Whether the reply has a Reply chunk or used Write chunks where the call offered none. Directions
 * for results are no chunks.
 */
static bool has_unoffered(const struct weir_call *call, const struct rdma1_header *hdr)
{
	uint32_t offered = call->plan.use_write_list && call->extension == 0 ? call->nresults : 0,
		 i = 0;
	struct rdma1_segment_iter segments;
	struct rdma1_write_iter chunks;

	if (hdr->nwrite_chunks > offered || (hdr->proc == RDMA1_NOMSG && !call->long_reply))
		return true;
	rdma1_writes_begin(hdr, &chunks);
	for (; rdma1_writes_next(&chunks, &segments); i++)
		if (call->results[i].target.len == 0 && segments.left > 0)
			return true;
	return false;
}

/*
 * A reply's chunks are not those that the call offered. If the responder reduced what could not be
 * reduced, the call ends with an error, because no other reply is to come (RFC 8166 section 6.1).
 * Otherwise the header is in error: nothing that it says is taken, its credits neither, and the
 * call goes on to wait for a reply (section 4.5).
 */
static out_of_line void refuse_chunks(struct weir_call *call, const struct rdma1_header *hdr)
{
	const struct weir_result result = {.status = -EBADMSG};
	struct requester *req = requester_of(call->conn);

	if (!has_unoffered(call, hdr)) {
		call->conn->ep.engine->stats.dropped++;
		return;
	}
	take_credits(req, call, hdr);
	call_complete(call, &result);
	go_on(req);
}

static out_of_line void on_other(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
				 uint32_t inv_rkey)
{
	struct requester *req = requester_of(conn);
	struct weir_engine *engine = conn->ep.engine;
	enum rdma1_verdict verdict;
	enum rdma1_reason reason;
	struct rdma1_header hdr;
	struct content content;
	struct weir_call *call;

	if (unlikely(conn->via_protocol)) {
		if (conn->protocol->receive_reply(conn, buf, len, inv_rkey, &hdr, &verdict))
			return;
	} else {
		verdict = rdma1_decode(buf->data, len, RDMA1_REPLY, &engine->limits, &hdr, &reason);
	}
	if (verdict != RDMA1_V_OK) {
		engine->stats.dropped++;
		goto done;
	}
	call = call_find(req, hdr.xid);
	if (!call || !call_waits_for_reply(call)) {
		engine->stats.dropped++;
		engine->stats.replies_unmatched++;
		goto done;
	}
	if (unlikely(inv_rkey != 0) && call_key_ended(call, inv_rkey))
		inv_rkey = 0;
	if (call_must_wait(call)) {
		bool is_new = call->state == CALL_SENT;

		call->state = CALL_REPLIED;
		call->reply = buf;
		call->reply_bytes = len;
		if (call->nvalid > 0 && is_new)
			call_revoke(call);
		if (inv_rkey != 0)
			conn_fail(conn, -EPROTO);
		return;
	}
	conn->got_message = true;
	if ((call->state != CALL_ZOMBIE || SEEDED_BUG(1)) &&
	    !find_content(call, &hdr, buf->data, len, &content)) {
		refuse_chunks(call, &hdr);
		goto done;
	}
	take_credits(req, call, &hdr);
	if (call->state == CALL_ZOMBIE && !SEEDED_BUG(1)) {
		call->state = CALL_SENDING;
		if (call->is_send_done)
			call_release(call);
	} else {
		reply_deliver(call, &hdr, &content);
	}
	go_on(req);
done:
	/* A key that is not of the call that was replied to: another call's, or none that was in
	 * use (RFC 8797). */
	if (unlikely(inv_rkey != 0))
		conn_fail(conn, -EPROTO);
	conn_recv_done(conn, buf);
}

/* The reply that most calls get, to one that holds and awaits nothing else: accepted, without
 * chunks, or with the Write chunk that was offered; 'header_bytes' is a constant that says which;
 * both headers were found to be such ones, of version 1. True: it is dealt with. Of
 * any other nothing was done; and what is done here, the general way would do. */
static hot_inline bool take_plain(struct weir_conn *conn, struct requester *req, const uint8_t *msg,
				  uint32_t len, uint32_t header_bytes)
{
	bool has_chunk = header_bytes == RDMA1_ONE_WRITE_SIZE;
	struct call_view *view = &req->pool->view;
	uint32_t xid = wire_get_u32(msg);
	const struct call_slot *slot = call_slot_of(req, xid);
	struct weir_call *call = slot->call;

	/* Keys are only valid of one that has more than its message. */
	if (slot->xid != xid ||
	    !call_expects(call, has_chunk ? EXPECTED_REPLY_ONE_WRITE : EXPECTED_REPLY_INLINE))
		return false;
	if (has_chunk) {
		struct rdma1_segment seg = rdma1_take_one_write(msg);

		if (!is_one_offered(call, &seg))
			return false;
		view->item_bytes = seg.length;
	}
	conn->active_since_tick = conn->got_message = true;
	if (!credit_reply(&req->credits, wire_get_u32(msg + 8)))
		conn->ep.engine->stats.zero_grants++;
	view->result.nitems = has_chunk;
	rpc_view_plain_reply(msg + header_bytes, msg + len, xid, &view->in, &view->reply);
	call_complete_plain(conn->ep.engine, req, call, &view->result);
	return true;
}

/* Each apart from the others, so that none burdens them with its stack frame. */
static out_of_line void on_short(struct weir_conn *conn, struct mem_buf *buf, uint32_t len)
{
	if (conn->via_protocol ||
	    !take_plain(conn, requester_of(conn), buf->data, len, RDMA1_HEADER_MIN)) {
		on_other(conn, buf, len, 0);
		return;
	}
	go_on(requester_of(conn));
	conn_recv_done(conn, buf);
}

static out_of_line void on_one_write(struct weir_conn *conn, struct mem_buf *buf, uint32_t len)
{
	if (conn->via_protocol ||
	    !take_plain(conn, requester_of(conn), buf->data, len, RDMA1_ONE_WRITE_SIZE)) {
		on_other(conn, buf, len, 0);
		return;
	}
	go_on(requester_of(conn));
	conn_recv_done(conn, buf);
}

void requester_on_message(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
			  uint32_t inv_rkey)
{
	if (inv_rkey == 0 && shape_is_inline_reply(buf->data, len))
		on_short(conn, buf, len);
	else if (inv_rkey == 0 &&
		 shape_is_one_write_reply(buf->data, len, &conn->ep.engine->limits))
		on_one_write(conn, buf, len);
	else
		on_other(conn, buf, len, inv_rkey);
}

/* The same of what the device shows, of SHAPE_INLINE_REPLY bytes or more: done with when it is
 * plain. 'msg' is what 'buf' has; conn_can_deliver_direct() leaves no other protocol. */
static out_of_line bool show_short(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
				   const uint8_t *msg)
{
	struct requester *req = requester_of(conn);

	if (!shape_is_inline_reply_within(msg) ||
	    !take_plain(conn, req, msg, len, RDMA1_HEADER_MIN))
		return conn_deliver(&conn->ep.receiver, (uintptr_t)buf, len);
	go_on(req);
	return true;
}

static out_of_line bool show_one_write(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
				       const uint8_t *msg)
{
	struct requester *req = requester_of(conn);

	if (!shape_is_one_write_reply(msg, len, &conn->ep.engine->limits) ||
	    !take_plain(conn, req, msg, len, RDMA1_ONE_WRITE_SIZE))
		return conn_deliver(&conn->ep.receiver, (uintptr_t)buf, len);
	go_on(req);
	return true;
}

bool requester_deliver(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len)
{
	struct weir_conn *conn = (struct weir_conn *)receiver;
	struct mem_buf *buf = (struct mem_buf *)(uintptr_t)wr_id;
	const uint8_t *msg = buf->data;

	if (unlikely(!conn_can_deliver_direct(conn) || len < SHAPE_INLINE_REPLY))
		return conn_deliver(receiver, wr_id, len);
	if (shape_has_chunk(msg))
		return show_one_write(conn, buf, len, msg);
	return show_short(conn, buf, len, msg);
}

void call_take_reply(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;

	call->state = CALL_SENT;
	call->expected_reply = EXPECTED_REPLY_ANY;
	if (unlikely(conn->via_protocol) && conn->protocol->resume_reply(call))
		return;
	requester_on_message(conn, call->reply, call->reply_bytes, 0);
}

void call_resume(struct weir_call *call)
{
	if (call->state != CALL_REPLIED || call->nvalid > 0 ||
	    (call->sends_app_memory && !call->is_send_done))
		return;
	call_take_reply(call);
}

void call_on_sent(struct conn_tx *tx, int error)
{
	struct weir_call *call = (struct weir_call *)tx;

	call->is_send_done = true;
	if (unlikely(call->has_extra))
		call_release_sent(call); /* others may be waiting for it */
	if (call->state == CALL_SENDING)
		call_release(call);
	else if (unlikely(call->is_refused) && call->state == CALL_SENT && call->nvalid == 0 &&
		 error == 0)
		call->conn->protocol->requeue(call);
	else if (error == 0)
		call_resume(call);
}

int weir_result_opaque(const struct weir_call *call, const struct weir_result *result,
		       uint32_t item, const void **data, uint32_t max_bytes, uint32_t *len_bytes)
{
	uint32_t count;

	if (item >= result->nitems || call->results[item].target.len == 0 ||
	    result->item_bytes[item] == WEIR_ITEM_INLINE)
		return weir_xdr_get_opaque_ref(result->results, data, max_bytes, len_bytes);
	if (weir_xdr_get_u32(result->results, &count) != 0 || count > max_bytes)
		return -EBADMSG;
	/* RFC 8166 section 6.1: an eligible result that was not put into the chunk that was there
	 * for it ends the call with an error. */
	if (count != result->item_bytes[item])
		return -EBADMSG;
	*data = call->results[item].data;
	*len_bytes = count;
	return 0;
}
