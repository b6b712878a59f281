/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REQUEST_H
#define REQUEST_H

/* The functions of requests, by the file that has them. A step returns what it has come to (enum
 * request_next): request.c alone goes from one to the next. */

#include <errno.h>

#include "responder.h"
#include "shape.h"

/* Returns whether a request without chunks can be answered in one pass. */
static inline bool request_can_reply_short(const struct weir_request *req)
{
	const struct request_flags wanted = {.can_reply_fast = true, .is_short = true};

	return memcmp(&req->flags, &wanted, sizeof(wanted)) == 0;
}

/* What the binding says of the request's procedure. */
static inline const struct weir_ulb_proc *request_ulb(const struct weir_request *req)
{
	return ulb_find(req->program->ulb, req->rpc.proc);
}

/* request.c: what a request does next */
void responder_on_message(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
			  uint32_t inv_rkey);
/* The same to a request that was taken for it. */
void request_receive(struct weir_request *req, struct weir_conn *conn, struct mem_buf *buf,
		     uint32_t len);
/* A call like the one before it, with 'seg' for its one Read chunk: its RPC header is taken, its
 * procedure is there. */
void request_pull_repeat(struct weir_request *req, const struct rdma1_read_segment *seg);
/* The call ends without the program, or with an error. */
out_of_line void request_answer(struct weir_request *req, enum request_next next);
/* The program's reply, where request_fast.c does not send it. 'conn' is NULL when it is gone. */
void request_reply(struct weir_request *req, struct weir_conn *conn);
/* The reply's header is made: send it. */
void request_send(struct weir_request *req);
/* The bytes of an error are made: send it. Those of an RPC reply are kept as one, too. */
void request_send_error(struct weir_request *req);
void request_release(struct weir_request *req);
/* Give back the messages of a group that is not complete. */
void request_drop_group(struct responder *responder);
/* Requests are free: messages that wait get them, one a connection in turn. */
void request_pool_serve(struct request_pool *pool);

/* Takes a request object that was never used, and sets the callbacks of its waiters. Returns NULL
 * if none is left. */
out_of_line struct weir_request *request_take_unused(struct request_pool *pool);
/* Takes a request object for a message. Returns NULL if none is left. */
static inline struct weir_request *request_take(struct responder *responder)
{
	struct weir_request *req = responder->pool->free;

	if (unlikely(!req)) {
		req = request_take_unused(responder->pool);
		if (!req)
			return NULL;
	} else {
		responder->pool->free = req->next_free;
	}
	responder->nbusy++;
	req->responder = responder;
	return req;
}

/* Returns a request object that holds nothing to its pool. */
static inline void request_put_free(struct weir_request *req)
{
	struct request_pool *pool = req->responder->pool;

	req->credit = 0;
	req->args_released = false;
	req->user = NULL;
	req->on_sent = NULL;
	req->state = REQUEST_FREE;
	req->next_free = pool->free;
	pool->free = req;
}

/* request_pool.c: request objects, and messages that wait for them */
/* The engine's, with the first connection, where receives are shared; else one for this connection.
 */
struct request_pool *request_pool_get(struct weir_engine *engine, uint32_t credits);
void request_pool_put(struct request_pool *pool);
/* A request that was never used; NULL: there is none left. */
struct weir_request *request_pool_next(struct request_pool *pool);
/* Programs that are gone may have left templates behind, and others come where they were: these
 * have a higher serial than all that were there before. */
void request_pool_forget_templates(struct request_pool *pool, const struct program_table *programs);
/* The next responder in turn whose message may have a request. */
struct responder *request_pool_waiting(struct request_pool *pool);
/* Behind those that wait already: their order is kept. */
void responder_put_in_backlog(struct responder *responder, struct mem_buf *buf, uint32_t len);
struct mem_buf *responder_take_from_backlog(struct responder *responder);
void responder_drop_backlog(struct responder *responder);

/* request_recv.c: a step: the message is judged as one of version 1. BEGIN, SHAPED, or what answers
 * it. */
enum request_next request_judge(struct weir_request *req);
/* Counts a call whose header was accepted. */
static inline void request_count_call(struct weir_conn *conn)
{
	conn->got_message = true;
	conn->ep.engine->stats.requests_received++;
}

/* Counts a message that was refused if the reason is a limit of the profile. */
static inline void request_count_refused(struct weir_engine *engine, uint32_t reason)
{
	engine->stats.limits_exceeded +=
		reason == RDMA1_R_TOO_MANY_READS || reason == RDMA1_R_TOO_MANY_WRITES ||
		reason == RDMA1_R_TOO_MANY_SEGMENTS || reason == RDMA1_R_TOO_LARGE;
}

/* request_quota.c: what a connection and its peer hold of each pool, and may hold (quota.h) */
static inline bool request_may_take(const struct responder *responder, enum engine_quota quota,
				    uint64_t free, uint64_t need)
{
	uint64_t peer = responder->account ? responder->account->used.n[quota] : 0;
	bool may = engine_quota_allows(responder->used.n[quota], peer, free, need);

	responder->engine->stats.quota_refusals += !may && need <= free;
	return may;
}

/*
 * Whether its peer holds so much that it could not take 'need' of the pool's 'count' even if nobody
 * else held anything. It then waits for itself, and others need not wait behind it.
 */
static inline bool request_exceeds_quota(const struct responder *responder, enum engine_quota quota,
					 uint64_t count, uint64_t need)
{
	uint64_t conn = responder->used.n[quota];
	uint64_t peer = responder->account ? responder->account->used.n[quota] : conn;

	return peer > 0 && (peer > count || !engine_quota_allows(conn, peer, count - peer, need));
}

/* Returns whether a request may take one buffer of bulk_pool. While three quarters of the pool are
 * free, quotas do not matter. */
static inline bool request_may_take_bulk(const struct responder *responder,
					 const struct mem_pool *pool)
{
	return pool->in_use < pool->count / 4 ||
	       request_may_take(responder, ENGINE_QUOTA_BULK, pool->count - pool->in_use, 1);
}

static inline void request_count(struct responder *responder, enum engine_quota quota,
				 int64_t change)
{
	responder->used.n[quota] += (uint64_t)change;
	if (responder->account)
		responder->account->used.n[quota] += (uint64_t)change;
}

/* Count buffers of bulk_pool that a request took for its chunks; negative: that it gave back. */
static inline void request_count_bulk(struct weir_request *req, int64_t change)
{
	req->nbulk = (uint32_t)(req->nbulk + change);
	request_count(req->responder, ENGINE_QUOTA_BULK, change);
}

/* Count one buffer that a request with an engine took. */
static inline void request_count_one_bulk(struct weir_request *req)
{
	struct responder *responder = req->responder;

	req->nbulk++;
	responder->used.n[ENGINE_QUOTA_BULK]++;
	responder->account->used.n[ENGINE_QUOTA_BULK]++;
}

/* When it has no chunks any more: it has some that count, so that its engine is there. */
static inline void request_count_no_chunks(struct weir_request *req)
{
	struct responder *responder = req->responder;

	responder->used.n[ENGINE_QUOTA_BULK] -= req->nbulk;
	responder->account->used.n[ENGINE_QUOTA_BULK] -= req->nbulk;
	req->nbulk = 0;
}

/* Begins the pull of a request, which pull_timeout_ms limits. request_pull.c counts 'pull_bytes'
 * when it admits the request. */
static inline void request_begin_pull(struct weir_request *req)
{
	uint64_t now_ns = req->responder->engine->now_ns;

	req->pull_since_ns = now_ns ? now_ns : 1;
	req->is_pulling = false;
	req->responder->npulling++;
}

/* Ends the pull of a request, whether it succeeded or was refused. */
out_of_line void request_end_pull(struct weir_request *req);
/* Returns all that a request holds of quotas. */
void request_count_none(struct weir_request *req);

/* request_pending.c: replies that cannot be sent at once */
/* Counts a reply that may have to wait for the peer, until request_end_pending(). */
void request_begin_pending(struct weir_request *req);
void request_end_pending(struct weir_request *req);

/* request_fast.c: a message that the device delivers */
bool responder_deliver(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len);
/* Returns a number that identifies the shape and the programs of a call. It is unique, because
 * tables of programs lie further apart than there are shapes. */
static inline uintptr_t request_shape(const struct program_table *programs, enum shape shape)
{
	return (uintptr_t)programs + (uintptr_t)shape;
}

/* Returns this number for a request that request_judge() found SHAPED. */
static inline uintptr_t request_judged_shape(const struct weir_request *req)
{
	return request_shape(req->responder->programs,
			     req->hdr.nwrite_chunks > 0 ? SHAPE_ONE_WRITE : SHAPE_INLINE);
}

/* request_chunks.c: a step. Lists the Read chunks of the call, so that they can be read stage by
 * stage, and computes 'pull_bytes', their total length. */
enum request_next request_list_chunks(struct weir_request *req);
/* Does what conn_protocol.list_chunks() does, for the Read list. */
int request_list_read_chunks(struct weir_request *req);
/* Asks the program for the memory of item chunk 'i'. Returns 0, 1 if the program leaves the choice
 * to weir, or -EINVAL if the memory is not valid. */
int request_place_item(struct weir_request *req, uint32_t i);
/* Does the same for all items, if the program was not asked yet. Returns 0 or -EINVAL. */
int request_place_items(struct weir_request *req);
/* A binding says how many items are eligible; more is a violation (RFC 8166 section 6.1). */
static inline bool request_items_fit(const struct weir_request *req)
{
	return req->nchunks - req->hdr.has_position_zero <= request_ulb(req)->arg_items_max;
}

/* Returns whether the call may have the items that it lists. If the credential protects the whole
 * message, nothing is eligible (RFC 8166 section 8.2.2). */
static inline bool request_items_allowed(const struct weir_request *req)
{
	return request_items_fit(req) && (!rpc_auth_forbids_items(&req->rpc.cred) ||
					  req->nchunks == req->hdr.has_position_zero);
}

/* request_pull.c: the pull of these chunks */
/* A step. Returns GO_ON if the stage has nothing left to read, WAIT if the request waits for a
 * buffer, for the send queue or for its READs, or else what answers the call. */
enum request_next request_read_stage(struct weir_request *req);
/* Do what conn_protocol.reads_begin() and reads_next() do, for the Read list. */
void request_reads_begin(const struct weir_request *req, union request_reads *it);
bool request_reads_next(const struct weir_request *req, union request_reads *it,
			struct rdma1_read_segment *seg);
/* Returns what follows if a stage found no memory for its chunks. 'error' is not -EAGAIN. */
static inline enum request_next request_cant_pull(const struct weir_request *req, int error)
{
	req->responder->engine->stats.limits_exceeded += error == -EFBIG;
	return error == -ENOBUFS && req->state == REQUEST_PULL_ITEMS ? REQUEST_SYSTEM_ERROR
								     : REQUEST_CANT_PULL;
}

/* request_args.c: the decoder over what was pulled */
/* A step. Sets the decoder to the start of the Payload stream, which has arrived without its items.
 */
void request_open_stream(struct weir_request *req);
/* A step for when the items have arrived, too. Makes the list of parts of the unreduced Payload
 * stream, and sets the decoder to its start. Returns GO_ON, or what answers the call. */
enum request_next request_join_items(struct weir_request *req);
/* Sets the decoder to the start of arguments that are in parts. */
void request_read_parts(struct weir_request *req);
/* Does what conn_protocol.collect_args() does, for the Read list. */
int request_collect_read_chunks(struct weir_request *req);
/* Sets the decoder to the start of the message or of the parts. */
void request_restart_args(struct weir_request *req);

/* request_rpc_header.c: a step: decode the RPC header at the start of 'in' and find the program.
 * GO_ON, or what answers the call. */
enum request_next request_find_program(struct weir_request *req, struct weir_xdr_in *in);
/* The same of a call that is all here, from the end of its transport header. '*is_shaped' becomes
 * false where the RPC header is one that request_fast.c does not know. */
enum request_next request_find_inline(struct weir_request *req, bool *is_shaped);

/* request_drc.c: duplicates */
/* A step: look the call up. GO_ON: the program is to get it, as no call like it came before.
 * WAIT_REPLAY, or what answers it. */
enum request_next request_look_up(struct weir_request *req);
/* A step: the reply to a call like this one, which is in these pieces, is its reply, too. */
enum request_next request_replay(struct weir_request *req, const struct piece *pieces,
				 uint32_t npieces);
/* Takes one of the duplicates that wait for the reply of this entry. Returns NULL if none is left.
 */
static inline struct weir_request *request_take_duplicate(struct drc_entry *entry)
{
	struct weir_request *duplicate = LIST_FIRST(&entry->waiting);

	if (duplicate)
		LIST_REMOVE(duplicate, duplicate);
	return duplicate;
}

/* A step for when the reply of a request with this entry is complete and no duplicate waits for it:
 * the cache keeps the reply, or forgets the call if the program has asked for that. */
void request_keep_reply(struct weir_request *req, struct drc_entry *entry,
			const struct piece *pieces, uint32_t npieces);

/* request_buffers.c */
/* A buffer for a reply of 'bytes', headroom apart, and the encoder on it. */
bool request_take_buffer(struct weir_request *req, uint64_t bytes);
/* Buffers of ours for the chunks in 'which', one bit each: all of them, or none and a place in the
 * queue, so that no two requests can each hold what the other waits for. 0; -EAGAIN: waits;
 * -ENOBUFS: too many do; -EFBIG: it can never have them. */
int request_own_buffers(struct weir_request *req, uint32_t which);
static inline void request_begin_results(struct weir_request *req)
{
	weir_xdr_out_init(&req->out, req->reply->data + ENGINE_HEADROOM,
			  req->reply->size_bytes - ENGINE_HEADROOM);
	req->npieces = 0;
	req->nitems = 0;
	req->piece_start = 0;
}

/* The pieces of a reply. They are set field by field: a piece has no other fields, and what lies
 * there is not cleared first. */
static inline void request_set_piece(struct piece *piece, uint8_t *base, uint32_t len,
				     enum piece_kind kind, uint32_t lkey, uint32_t op)
{
	piece->base = base;
	piece->len = len;
	piece->kind = kind;
	piece->lkey = lkey;
	piece->op = op;
}

static inline void request_add_piece(struct weir_request *req, uint8_t *base, uint32_t len,
				     enum piece_kind kind, uint32_t lkey, uint32_t op)
{
	request_set_piece(&req->pieces[req->npieces++], base, len, kind, lkey, op);
}

/* Makes a piece of what was encoded since the latest item, up to byte 'end' of the reply. */
static inline void request_close_piece_at(struct weir_request *req, uint32_t end)
{
	request_add_piece(req, req->out.start + req->piece_start, end - req->piece_start, PIECE_XDR,
			  req->reply->lkey, 0);
	req->piece_start = end;
}

/* Makes a piece of all that was encoded since the latest item. */
static inline void request_close_piece(struct weir_request *req)
{
	uint32_t end = (uint32_t)weir_xdr_out_len(&req->out);

	if (end != req->piece_start)
		request_close_piece_at(req, end);
}

/* request_reply.c: steps of a reply */
/* Returns what the reducer needs to know of the request and its reply. */
struct reduce_reply_in request_reply_in(struct weir_request *req);
/* Lay it out with the reducer. TRANSMIT; WAIT_RESERVE; or what answers the call. */
enum request_next request_plan(struct weir_request *req);
/* Lays out a reply. One that has a shape (request_shape.h) is sent at once if the driver can do
 * that. Returns END if it is sent, or else as request_plan(). */
enum request_next request_lay_out(struct weir_request *req, struct weir_conn *conn);
/* Does what conn_protocol.plan_reply() does, for a reply whose header the reducer makes. */
int request_reduce(struct weir_request *req);
/* Do what conn_protocol.plan_shape() and reduce() do, for headers of version 1. */
bool request_plan_base_shape(struct weir_request *req);
int request_reduce_base(struct weir_request *req, const struct reduce_reply_in *in, uint8_t *buf,
			uint32_t size, struct reduce_xfer *xfers, struct reduce_reply_plan *plan);
/* Returns the first key that the call names if the peer takes it as invalidated, or else 0. */
uint32_t request_key_to_end(const struct weir_request *req);
/* Send what is laid out. GO_ON: it is on its way; WAIT; or END. */
enum request_next request_transmit(struct weir_request *req);
/* The connection is gone, or has ended: no reply is sent. */
static inline bool request_is_gone(const struct weir_request *req)
{
	return !req->responder->conn || !conn_can_send(req->responder->conn);
}

/* The reply is made but for a buffer, which it waits for. */
void request_wait_reserve(struct weir_request *req);
/* Note when a request began to wait for a buffer. responder_events.c ends the connection if the
 * wait takes too long. */
static inline void request_note_wait(struct weir_request *req)
{
	uint64_t now_ns = req->responder->engine->now_ns;

	if (req->wait_ns == 0)
		req->wait_ns = now_ns ? now_ns : 1;
}

/* request_error.c */
/* Puts the bytes of an error to req->error: of what a step has come to, or of a reply of RPC. */
void request_put_error(struct weir_request *req, enum request_next which);
void request_put_accept_stat(struct weir_request *req, enum weir_rpc_accept_stat stat);
void request_put_denied(struct weir_request *req, enum weir_rpc_auth_stat stat);
/* Notes that req->error has so many bytes, which are a transport header and all of the answer. */
static inline void request_note_error_header(struct weir_request *req, uint32_t bytes)
{
	/* A reply that could not be planned has left it: the error's header goes to the buffer of
	 * the message. */
	if (req->header_buf)
		mem_pool_put(req->header_buf);
	req->header_buf = NULL;
	req->error_bytes = bytes;
	req->error_is_header = true;
}

/* A step: make a message of them. REPLY, TRANSMIT or WAIT_RESERVE. */
enum request_next request_lay_error(struct weir_request *req);

/* request_release.c: what a request holds */
/* Whatever it is, all of it goes back, and it waits for nothing. */
void request_give_back(struct weir_request *req);
/* Its buffers, but for the message. */
void request_put_bufs(struct weir_request *req);
/* Its receive, or receives, when there is no connection to give them back to. */
void request_put_message(struct weir_request *req);
/* They outlast the connection. */
void request_keep_message(struct weir_request *req, struct weir_conn *conn);
/* Whether it has nothing but what a request takes that is answered at once, and ends for nobody. */
static inline bool request_has_little(const struct weir_request *req)
{
	const struct responder *responder = req->responder;
	uintptr_t more = (uintptr_t)req->msg | (uintptr_t)req->on_sent |
			 (uintptr_t)req->header_buf | (uintptr_t)req->spill | req->extension |
			 req->nchunks | req->any_counted | req->tx_waiter.is_waiting |
			 (uintptr_t)req->outstanding.le_prev | req->buf_waiter.is_waiting |
			 (uintptr_t)TAILQ_FIRST(&responder->pool->waiting);

	return more == 0 && responder->conn && req->state != REQUEST_DUPLICATE &&
	       req->state != REQUEST_REPLYING && responder->engine->waking != &req->buf_waiter;
}

/* It outlasts the upcall of its message. Until its end it is in its responder's list. */
static inline void request_enlist(struct weir_request *req)
{
	if (!req->outstanding.le_prev)
		LIST_INSERT_HEAD(&req->responder->outstanding, req, outstanding);
}

static inline void request_delist(struct weir_request *req)
{
	LIST_REMOVE(req, outstanding);
	req->outstanding.le_prev = NULL;
}

static inline void request_put_buf(struct mem_buf **buf)
{
	if (*buf) {
		mem_pool_put(*buf);
		*buf = NULL;
	}
}

/* The buffers that its Read chunks were pulled to. */
static inline void request_put_chunks(struct weir_request *req)
{
	for (uint32_t i = 0; i < req->nchunks; i++)
		request_put_buf(&req->chunk_bufs[i]);
	req->nchunks = 0;
	req->nparts = 0;
	if (req->nbulk > 0)
		request_count_no_chunks(req);
	if (unlikely(req->pull_since_ns != 0))
		request_end_pull(req);
}

#endif
