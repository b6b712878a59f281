/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state machine of a request. Each step does its part and returns its result (enum request_next
 * in lib/conn/protocol.h). Only this file stores the state, calls the next step, continues requests
 * that have waited, and releases requests.
 *
 * The steps of a call are in request_recv.c, request_chunks.c, request_pull.c, request_args.c,
 * request_rpc_header.c and request_drc.c. The steps of its reply are in request_error.c and
 * request_reply.c, and the last step is in request_release.c. Version 2 has steps of its own, which
 * are called through conn_protocol. request_fast.c completes the most common requests in one pass,
 * stores their state itself, and passes all others to this file.
 */
#include "request_read_one.h"

#include <errno.h>

#include "request_stages.h"

static void act(struct weir_request *req, enum request_next next);

/* ---- requests for messages ---- */

static void stage_done(struct weir_request *req);

/* Runs when the Send of the reply or the last READ of a stage has completed. */
static void on_tx(struct conn_tx *tx, int error)
{
	struct weir_request *req = (struct weir_request *)tx;

	if (error != 0 || req->state == REQUEST_SENT) {
		if (req->is_pending)
			request_end_pending(req);
		request_release(req);
	} else {
		stage_done(req);
	}
}

static void on_room(struct conn_waiter *waiter);
static void on_buffers(struct engine_waiter *waiter);

out_of_line struct weir_request *request_take_unused(struct request_pool *pool)
{
	struct weir_request *req = request_pool_next(pool);

	if (!req)
		return NULL;
	req->tx.done = on_tx;
	req->tx_waiter.on_room = on_room;
	req->buf_waiter.on_buffers = on_buffers;
	return req;
}

void request_pool_serve(struct request_pool *pool)
{
	struct responder *responder;

	/* If a request is answered at once, its release calls this function again. The loop ensures
	 * that the stack does not grow with the number of waiting messages. */
	if (pool->is_serving)
		return;
	pool->is_serving = true;
	while ((responder = request_pool_waiting(pool))) {
		struct weir_request *req = request_take(responder);
		struct mem_buf *buf = responder_take_from_backlog(responder);

		request_receive(req, responder->conn, buf, (uint32_t)buf->user[1]);
	}
	pool->is_serving = false;
}

/* ---- release ---- */

/* Releases all that a request can hold, and gives its object to a message that waits for one.
 * Callbacks can end other requests of the responder. A responder without a connection is freed with
 * its last request, so that this request stays counted in nbusy until the end of the function. */
static out_of_line void release_all(struct weir_request *req)
{
	struct responder *responder = req->responder;
	struct weir_conn *conn = responder->conn;
	void (*on_sent)(void *) = req->on_sent;

	request_give_back(req);
	request_put_free(req);
	if (on_sent)
		responder_call_back(responder, on_sent, req->on_sent_arg);
	if (conn)
		responder->nbusy--;
	if (!TAILQ_EMPTY(&responder->pool->waiting))
		request_pool_serve(responder->pool);
	if (!conn && --responder->nbusy == 0)
		responder_free(responder);
}

void request_release(struct weir_request *req)
{
	struct mem_buf *reply = req->reply;

	if (unlikely(!request_has_little(req))) {
		release_all(req);
		return;
	}
	req->responder->nbusy--;
	req->reply = NULL;
	request_put_free(req);
	if (reply)
		mem_pool_put(reply);
}

/* ---- replies ---- */

/* Ends a request whose connection cannot send any more. If Writes of its reply are posted, the
 * device may still read their memory. on_lost() then releases the request, after the queue pair was
 * destroyed. */
static void end_unsent(struct weir_request *req)
{
	if (req->xfers_done == 0)
		request_release(req);
}

void request_send(struct weir_request *req)
{
	if (unlikely(request_is_gone(req))) {
		end_unsent(req);
		return;
	}
	if (!req->is_pending)
		request_begin_pending(req);
	if (request_transmit(req) == REQUEST_GO_ON)
		req->state = REQUEST_SENT;
	else
		req->state = REQUEST_REPLYING;
}

static out_of_line void reply_general(struct weir_request *req, struct weir_conn *conn)
{
	enum request_next next = request_lay_out(req, conn);

	if (likely(next == REQUEST_END))
		request_release(req);
	else
		act(req, next);
}

/* Runs when the reply of a request with an entry in the duplicate request cache is complete.
 * Answers the duplicates of the call, and gives the reply to the cache. */
static void keep_reply(struct weir_request *req, const struct piece *pieces, uint32_t npieces)
{
	struct drc_entry *entry = req->replay;
	struct weir_request *other;

	req->replay = NULL;
	request_count(req->responder, ENGINE_QUOTA_REPLAYS, -1);
	/*
	 * The answer to a duplicate frees a request, with which another duplicate can be received.
	 */
	while ((other = request_take_duplicate(entry))) {
		other->state = REQUEST_HANDLING;
		act(other, request_replay(other, pieces, npieces));
	}
	request_keep_reply(req, entry, pieces, npieces);
}

/* Sends a reply if the connection has ended, there are no results, or the duplicate request cache
 * keeps the reply. */
static out_of_line void reply_rare(struct weir_request *req)
{
	if (req->replay && req->reply && !req->out.failed) {
		request_close_piece(req);
		keep_reply(req, req->pieces, req->npieces);
	}
	if (request_is_gone(req) && !req->replay)
		request_release(req);
	else if (!req->reply || req->out.failed)
		/* The results are longer than the bound that the program gave, or there are
		 * none. */
		act(req, REQUEST_SYSTEM_ERROR);
	else
		reply_general(req, req->responder->conn);
}

void request_reply(struct weir_request *req, struct weir_conn *conn)
{
	if (unlikely(req->replay || !req->reply || req->out.failed || request_is_gone(req)))
		reply_rare(req);
	else
		reply_general(req, conn);
}

void request_send_error(struct weir_request *req)
{
	const struct piece piece = {.base = req->error, .len = req->error_bytes, .kind = PIECE_XDR};

	if (req->replay && !req->error_is_header)
		keep_reply(req, &piece, 1);
	if (request_is_gone(req))
		release_all(req);
	else
		act(req, request_lay_error(req));
}

/* Continues a reply that waited for a buffer. */
static void resume_reply(struct weir_request *req)
{
	if (request_is_gone(req))
		end_unsent(req);
	else if (req->error_bytes > 0)
		request_send_error(req);
	else if (req->must_plan)
		act(req, request_plan(req));
	else
		request_send(req);
}

/* ---- the program ---- */

static out_of_line void dispatch_if_new(struct weir_request *req)
{
	enum request_next next;

	req->flags.can_reply_fast = false;
	next = request_look_up(req);
	if (next == REQUEST_GO_ON)
		req->program->handle(req, req->program->arg);
	else
		act(req, next);
}

/* Gives the call to the program. 'shape' is the shape in the template of the request, or 0 if the
 * next call cannot use the template. */
static hot_inline void dispatch(struct weir_request *req, uintptr_t shape)
{
	request_begin_handling(req);
	if (unlikely(req->program->non_idempotent != NULL)) {
		dispatch_if_new(req);
		return;
	}
	req->template.shape = shape;
	req->program->handle(req, req->program->arg);
}

/* Gives a call that has arrived in full to the program, or answers it with an error. The RPC header
 * follows the transport header. */
static inline void dispatch_inline(struct weir_request *req, bool is_shaped)
{
	enum request_next next = request_find_inline(req, &is_shaped);

	if (unlikely(next != REQUEST_GO_ON))
		request_answer(req, next);
	else
		dispatch(req, is_shaped ? request_judged_shape(req) : 0);
}

/* Decodes the RPC header and finds the program. Returns false if the call was answered instead. */
static inline bool find_or_answer(struct weir_request *req)
{
	enum request_next next = request_find_program(req, &req->args);

	if (likely(next == REQUEST_GO_ON))
		return true;
	request_answer(req, next);
	return false;
}

/* Calls the handler of a request again, which waited for buffers. */
static void handle_again(struct weir_request *req)
{
	if (!req->args_released)
		request_restart_args(req);
	/* The RPC header is decoded again, so that the decoder is after it. If the arguments were
	 * released or the engine has ended, no arguments are left to decode. */
	if (req->args_released || !req->msg || find_or_answer(req))
		req->program->handle(req, req->program->arg);
}

/* ---- Read chunks ---- */

/* Begins the stage that pulls the items. Returns false if the call was answered instead. */
static bool begin_items(struct weir_request *req)
{
	enum request_next next = request_find_program(req, &req->args);

	if (next == REQUEST_GO_ON && !request_items_allowed(req))
		next = REQUEST_BAD_ITEMS;
	if (next == REQUEST_GO_ON) {
		req->state = REQUEST_PULL_ITEMS;
		return true;
	}
	request_end_pull(req); /* the error may have to wait before it is sent */
	act(req, next);
	return false;
}

/* Runs when all items have arrived. The RPC header is decoded a second time: the first decoder was
 * in the Payload stream without its items, where the program's arg_sink might have read more. The
 * program reads its arguments from the parts, after the same header. */
static void end_pull(struct weir_request *req)
{
	enum request_next next = request_join_items(req);

	request_end_pull(req);
	if (next != REQUEST_GO_ON)
		act(req, next);
	else if (find_or_answer(req))
		dispatch(req, 0);
}

/* Reads a stage whose chunks are listed, or continues it after a wait. */
static void pull_on(struct weir_request *req)
{
	enum request_next next = request_read_stage(req);

	if (next == REQUEST_GO_ON) {
		stage_done(req);
	} else if (next != REQUEST_WAIT) {
		request_end_pull(req); /* the error may have to wait before it is sent */
		act(req, next);
	}
}

/* Runs when a stage has read all of its chunks. A call has at most two stages. */
static void stage_done(struct weir_request *req)
{
	req->is_reading = false;
	if (req->state == REQUEST_PULL_ITEMS) {
		end_pull(req);
		return;
	}
	req->responder->protocol->open_stream(req);
	if (begin_items(req))
		pull_on(req);
}

static void pull(struct weir_request *req)
{
	enum request_next next;

	req->state = REQUEST_PULL_CALL;
	next = request_list_chunks(req);
	if (next != REQUEST_GO_ON) {
		act(req, next);
		return;
	}
	request_begin_pull(req);
	if (req->hdr.has_position_zero)
		pull_on(req);
	else
		stage_done(req); /* the first stage has nothing to read */
}

static hot_inline void read_one(struct weir_request *req, const struct rdma1_read_segment *seg,
				uintptr_t shape)
{
	enum request_next next = request_read_one(req, seg);

	if (likely(next == REQUEST_GO_ON)) {
		dispatch(req, shape);
		return;
	}
	req->template.shape = 0;
	act(req, next);
}

/* Does what pull() does, for a call that has just arrived and has 'seg' as its only Read chunk,
 * which is neither empty nor at Position Zero. In the common case, the call has to wait for nothing
 * and is read in one pass. */
static void pull_one(struct weir_request *req, const struct rdma1_read_segment *seg)
{
	struct weir_xdr_in in;
	uintptr_t shape = 0;

	request_list_one(req, seg, req->hdr.header_bytes);
	weir_xdr_in_init(&req->args, req->stream, req->stream_bytes);
	if (!begin_items(req))
		return;
	/* The template is set only for a call with AUTH_NONE, because a match of the next call with
	 * the template implies the same credential. */
	weir_xdr_in_init(&in, req->stream, req->stream_bytes);
	if (rpc_is_plain_call(&in)) {
		shape = request_shape(req->responder->programs, SHAPE_ONE_READ);
		req->template.prog_vers = rpc_prog_vers(in.p);
	}
	read_one(req, seg, shape);
}

void request_pull_repeat(struct weir_request *req, const struct rdma1_read_segment *seg)
{
	request_list_one(req, seg, RDMA1_ONE_READ_SIZE);
	if (unlikely(!request_items_fit(req))) {
		act(req, REQUEST_BAD_ITEMS);
		return;
	}
	req->state = REQUEST_PULL_ITEMS;
	read_one(req, seg, req->template.shape);
}

/* ---- a call in several transmissions ---- */

/* Takes the buffer for data that cross from one transmission to the next, or waits for it. Gives
 * the call, which has no items, to the program when it has the buffer. */
static void join_group(struct weir_request *req)
{
	int rc = request_own_buffers(req, 1);

	if (rc == -EAGAIN)
		return;
	request_end_pull(req);
	if (rc != 0) {
		act(req, REQUEST_CANT_PULL);
		return;
	}
	req->responder->protocol->open_stream(req);
	if (find_or_answer(req))
		dispatch(req, 0);
}

void request_drop_group(struct responder *responder)
{
	struct weir_request *req = responder->gathering;

	responder->gathering = NULL;
	if (req)
		request_release(req);
}

/* Runs when the last transmission of the open group has arrived, which is the message of 'last'. */
static void end_group(struct weir_request *last)
{
	struct responder *responder = last->responder;
	struct weir_request *req;

	request_release(last);
	req = responder->gathering;
	responder->gathering = NULL;
	act(req, responder->protocol->begin_group(req));
}

/* ---- messages, and the ends of waits ---- */

/* Processes a call whose header was accepted, depending on its Read list. */
static void begin(struct weir_request *req)
{
	struct rdma1_read_segment seg;

	request_count_call(req->responder->conn);
	if (req->hdr.nread_segments == 0)
		dispatch_inline(req, false);
	else if (rdma1_is_one_read(&req->hdr, &seg) && seg.target.length > 0)
		pull_one(req, &seg);
	else
		pull(req);
}

void request_receive(struct weir_request *req, struct weir_conn *conn, struct mem_buf *buf,
		     uint32_t len)
{
	enum request_next next;

	req->msg = buf;
	req->msg_bytes = len;
	req->template.shape = 0;
	req->template.procedures = NULL; /* an earlier request of the object might have set it */
	request_stage_arrived(req);
	req->flags = (struct request_flags){0};
	next = conn->protocol->receive_call(req);
	if (likely(next == REQUEST_SHAPED)) {
		request_count_call(conn);
		dispatch_inline(req, true);
	} else {
		act(req, next);
	}
	if (req->state != REQUEST_FREE)
		request_enlist(req);
}

void responder_on_message(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
			  uint32_t inv_rkey)
{
	struct responder *responder = responder_of(conn);
	struct weir_request *req = NULL;

	(void)inv_rkey; /* a responder exposes no memory (RFC 8166 section 3.1) */
	if (likely(responder->deferred_by == 0))
		req = request_take(responder);
	if (unlikely(!req))
		responder_put_in_backlog(responder, buf, len);
	else
		request_receive(req, conn, buf, len);
}

/* Continues a request that waited for the send queue, which has room again. */
static void on_room(struct conn_waiter *waiter)
{
	struct weir_request *req =
		(struct weir_request *)((char *)waiter - offsetof(struct weir_request, tx_waiter));

	req->flags.can_reply_fast = false;
	if (req->state == REQUEST_REPLYING)
		request_send(req);
	else
		pull_on(req);
}

static void on_buffers(struct engine_waiter *waiter)
{
	struct weir_request *req =
		(struct weir_request *)((char *)waiter - offsetof(struct weir_request, buf_waiter));

	req->flags.can_reply_fast = false;
	if (req->state == REQUEST_HANDLING)
		handle_again(req);
	else if (req->state == REQUEST_REPLYING)
		resume_reply(req);
	else if (req->state == REQUEST_JOIN)
		join_group(req);
	else
		pull_on(req);
}

/* ---- results of steps ---- */

out_of_line void request_answer(struct weir_request *req, enum request_next next)
{
	if (next == REQUEST_DROP) {
		req->responder->engine->stats.dropped++;
		request_release(req);
		return;
	}
	if (next != REQUEST_SEND_ERROR)
		request_put_error(req, next);
	request_send_error(req);
}

static void act(struct weir_request *req, enum request_next next)
{
	switch (next) {
	case REQUEST_GO_ON:
	case REQUEST_WAIT:
		return;
	case REQUEST_END:
		request_release(req);
		return;
	case REQUEST_BEGIN:
		begin(req);
		return;
	case REQUEST_PULL:
		pull(req);
		return;
	case REQUEST_PULL_ON:
		request_begin_pull(req);
		pull_on(req);
		return;
	case REQUEST_JOIN_GROUP:
		req->state = REQUEST_JOIN;
		request_begin_pull(req);
		join_group(req);
		return;
	case REQUEST_GROUP_BEGUN:
		req->state = REQUEST_GATHER;
		req->responder->gathering = req;
		return;
	case REQUEST_GROUP_DONE:
		end_group(req);
		return;
	case REQUEST_CANT_PULL:
	case REQUEST_BAD_ITEMS:
	case REQUEST_CANT_REPLY:
	case REQUEST_REFUSED:
		act(req, request_refuse(req, next));
		return;
	case REQUEST_REPLY:
		request_reply(req, req->responder->conn);
		return;
	case REQUEST_TRANSMIT:
		request_send(req);
		return;
	case REQUEST_WAIT_RESERVE:
		req->state = REQUEST_REPLYING;
		request_wait_reserve(req);
		return;
	case REQUEST_WAIT_REPLAY:
		req->state = REQUEST_DUPLICATE;
		return;
	case REQUEST_DROP:
	case REQUEST_SEND_ERROR:
	case REQUEST_ERR_VERS:
	case REQUEST_ERR_CHUNK:
	case REQUEST_NOT_FOUND:
	case REQUEST_DENIED:
	case REQUEST_GARBAGE_ARGS:
	case REQUEST_SYSTEM_ERROR:
		request_answer(req, next);
		return;
	case REQUEST_SHAPED: /* other functions process these, so that they do not occur here */
	case REQUEST_BASE:
	case REQUEST_RESEND:
		request_answer(req, REQUEST_DROP);
	}
}
