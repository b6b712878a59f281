/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REQUEST_H
#define REQUEST_H

/* Declares the functions of requests, grouped by the file that defines them. A step is a function
 * that does one part of the work on a request and returns its result (enum request_next). The
 * comments name these results without "REQUEST_". Only request.c acts on results. The one exception
 * is v2/protocol.c, which runs the steps that check a message of version 2. */

#include <errno.h>

#include "responder.h"
#include "shape.h"

/* Returns whether the request has no chunks and no items, and can be answered in one pass. */
static inline bool request_can_reply_short(const struct weir_request *req)
{
	const struct request_flags wanted = {.can_reply_fast = true, .is_short = true};

	return memcmp(&req->flags, &wanted, sizeof(wanted)) == 0;
}

/* Returns the properties that the upper-layer binding defines for the request's procedure. */
static inline const struct weir_ulb_proc *request_ulb(const struct weir_request *req)
{
	return ulb_find(req->program->ulb, req->rpc.proc);
}

/* request.c: the state machine of a request */
void responder_on_message(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
			  uint32_t inv_rkey);
/* Processes the message of 'len' bytes in 'buf', with a request object that was taken for it. */
void request_receive(struct weir_request *req, struct weir_conn *conn, struct mem_buf *buf,
		     uint32_t len);
/* Processes a call that matches the previous call of its request object and has 'seg' as its only
 * Read chunk. The caller has decoded the RPC header and checked the procedure number. */
void request_pull_repeat(struct weir_request *req, const struct rdma1_read_segment *seg);
/* Drops a request if 'next' is DROP, or answers it with an error: the error in req->error if 'next'
 * is SEND_ERROR, otherwise the error that request_put_error() encodes for 'next'. */
out_of_line void request_answer(struct weir_request *req, enum request_next next);
/* Sends, or queues, a reply that request_fast.c does not send. 'conn' is the connection of the
 * request, or NULL if the connection has ended. */
void request_reply(struct weir_request *req, struct weir_conn *conn);
/*
 * Sends a reply whose header and Writes are laid out. If the reply has to wait, it is sent later.
 */
void request_send(struct weir_request *req);
/* Sends the error that is encoded in req->error. If the error is an RPC reply and the request has
 * an entry in the duplicate request cache, the cache keeps the error as the reply. */
void request_send_error(struct weir_request *req);
/* Releases all that a request holds, and the request object. */
void request_release(struct weir_request *req);
/* Drops the open group of transmissions, if there is one: releases its request, which returns the
 * messages. */
void request_drop_group(struct responder *responder);
/* Gives free request objects to messages that wait for one. The connections are served round-robin,
 * one message at a time. */
void request_pool_serve(struct request_pool *pool);

/* Takes a request object that was never taken before, and sets its callbacks. Returns NULL if no
 * such object is left. */
out_of_line struct weir_request *request_take_unused(struct request_pool *pool);
/* Takes a request object for a message, and returns it. Returns NULL if all objects are in use. */
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

/* Gives a request object back to its pool. The object must hold nothing. */
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
/* Returns the pool of request objects for a connection, and adds a reference to it. If receives are
 * shared, all connections of the engine share one pool, which the first connection creates.
 * Otherwise, each connection has its own pool. Returns NULL if there is no memory. */
struct request_pool *request_pool_get(struct weir_engine *engine, uint32_t credits);
void request_pool_put(struct request_pool *pool);
/* Returns a request object that was never taken before, or NULL if no such object is left. */
struct weir_request *request_pool_next(struct request_pool *pool);
/* Clears the templates of all requests of the pool if 'programs' is newer than all earlier tables
 * of the pool. A template can contain the address of a table that was freed, and a newer table can
 * have the same address. The newer table has a higher serial. */
void request_pool_forget_templates(struct request_pool *pool, const struct program_table *programs);
/* Returns the next responder, round-robin, that has messages which wait for a request object.
 * Returns NULL if there is no such responder, or no object is free. */
struct responder *request_pool_waiting(struct request_pool *pool);
/* The backlog of a connection is the list of its messages that wait for a request object.
 * responder_put_in_backlog() appends a message to the backlog, so that messages keep their order.
 * responder_take_from_backlog() removes the first message and returns it. responder_drop_backlog()
 * removes all messages, whose receives the connection returns. */
void responder_put_in_backlog(struct responder *responder, struct mem_buf *buf, uint32_t len);
struct mem_buf *responder_take_from_backlog(struct responder *responder);
void responder_drop_backlog(struct responder *responder);

/* request_recv.c: this step checks a message as one of version 1. Returns BEGIN, SHAPED, or the
 * answer to the message: DROP, ERR_VERS or ERR_CHUNK. */
enum request_next request_judge(struct weir_request *req);
/* Counts a call whose header was accepted. */
static inline void request_count_call(struct weir_conn *conn)
{
	conn->got_message = true;
	conn->ep.engine->stats.requests_received++;
	responder_of(conn)->ncalls++;
}

/* request_refused.c: calls that are refused because of their chunks */
/* Counts an invalid message in limits_exceeded, and logs it, if the reason is a limit of the
 * profile. */
void request_note_invalid(struct weir_request *req, uint32_t reason);
/* This step logs why a call is refused: 'why' is CANT_PULL, BAD_ITEMS, CANT_REPLY or REFUSED.
 * Returns the answer to the call, which its protocol chooses. */
enum request_next request_refuse(struct weir_request *req, enum request_next why);

/* request_quota.c: quotas (quota.h). request_may_take() returns whether a request of the responder
 * may take 'need' of the 'free' units of a resource. A refusal is counted only if there are enough
 * free units. */
static inline bool request_may_take(const struct responder *responder, enum engine_quota quota,
				    uint64_t free, uint64_t need)
{
	uint64_t peer = responder->account ? responder->account->used.n[quota] : 0;
	bool may = engine_quota_allows(responder->used.n[quota], peer, free, need);

	responder->engine->stats.quota_refusals += !may && need <= free;
	return may;
}

/* Returns whether the peer holds so much that it could not take 'need' of the resource's 'count'
 * units even if no other peer held any. A request of such a peer waits for units that the peer
 * itself holds, so that requests of other peers need not wait for it. */
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

/* Adds 'change' to the number of units that the connection and its peer hold. */
static inline void request_count(struct responder *responder, enum engine_quota quota,
				 int64_t change)
{
	responder->used.n[quota] += (uint64_t)change;
	if (responder->account)
		responder->account->used.n[quota] += (uint64_t)change;
}

/* Counts 'change' buffers of bulk_pool that a request took for its chunks. If 'change' is negative,
 * counts the buffers that the request gave back. */
static inline void request_count_bulk(struct weir_request *req, int64_t change)
{
	req->nbulk = (uint32_t)(req->nbulk + change);
	request_count(req->responder, ENGINE_QUOTA_BULK, change);
}

/* Counts one buffer of bulk_pool that a request took for a chunk. The engine of the request must
 * exist. */
static inline void request_count_one_bulk(struct weir_request *req)
{
	struct responder *responder = req->responder;

	req->nbulk++;
	responder->used.n[ENGINE_QUOTA_BULK]++;
	responder->account->used.n[ENGINE_QUOTA_BULK]++;
}

/* Subtracts from the counts all bulk buffers that a request took for its chunks. At least one
 * buffer must be counted, because only then it is certain that the engine of the request exists. */
static inline void request_count_no_chunks(struct weir_request *req)
{
	struct responder *responder = req->responder;

	responder->used.n[ENGINE_QUOTA_BULK] -= req->nbulk;
	responder->account->used.n[ENGINE_QUOTA_BULK] -= req->nbulk;
	req->nbulk = 0;
}

/* Begins the pull of a request, whose duration pull_timeout_ms (profile) limits. request_pull.c
 * counts 'pull_bytes' later, when it admits the request. */
static inline void request_begin_pull(struct weir_request *req)
{
	uint64_t now_ns = req->responder->engine->now_ns;

	req->pull_since_ns = now_ns ? now_ns : 1;
	req->is_pulling = false;
	req->responder->npulling++;
}

/* Ends the pull of a request, both after success and after an error. Does nothing if no pull has
 * begun. */
out_of_line void request_end_pull(struct weir_request *req);
/* Subtracts from the counts all units that a request holds, for each resource with a quota. */
void request_count_none(struct weir_request *req);

/* request_pending.c: replies that cannot be sent at once */
/* request_begin_pending() counts a reply that possibly has to wait for the peer.
 * request_end_pending() subtracts the reply from this count. */
void request_begin_pending(struct weir_request *req);
void request_end_pending(struct weir_request *req);

/* request_fast.c: processes a message that the device delivers, as the receiver's 'deliver'
 * (fabric.h) */
bool responder_deliver(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len);
bool responder_deliver_timed(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len);
/* Returns a number that identifies the shape (shape.h) and the program table of a call. The number
 * is unique, because the addresses of two tables differ by more than the number of shapes. */
static inline uintptr_t request_shape(const struct program_table *programs, enum shape shape)
{
	return (uintptr_t)programs + (uintptr_t)shape;
}

/* Returns request_shape() of a request for which request_judge() returned SHAPED. */
static inline uintptr_t request_judged_shape(const struct weir_request *req)
{
	return request_shape(req->responder->programs,
			     req->hdr.nwrite_chunks > 0 ? SHAPE_ONE_WRITE : SHAPE_INLINE);
}

/* request_chunks.c: this step lists the Read chunks of the call in req->chunks, so that they can be
 * read stage by stage, and computes 'pull_bytes', their total length. Returns GO_ON, or CANT_PULL
 * if there are too many chunks. */
enum request_next request_list_chunks(struct weir_request *req);
/* Implements conn_protocol.list_chunks() for the Read list. */
int request_list_read_chunks(struct weir_request *req);
/* Returns whether the call has at most as many items as the upper-layer binding allows for its
 * procedure. More items are a violation (RFC 8166 section 6.1). */
static inline bool request_items_fit(const struct weir_request *req)
{
	return req->nchunks - req->hdr.has_position_zero <= request_ulb(req)->arg_items_max;
}

/* Returns whether the call is allowed to have the items that it lists. If the credential protects
 * the whole message, no item is eligible (RFC 8166 section 8.2.2). */
static inline bool request_items_allowed(const struct weir_request *req)
{
	return request_items_fit(req) && (!rpc_auth_forbids_items(&req->rpc.cred) ||
					  req->nchunks == req->hdr.has_position_zero);
}

/* request_pull.c: the pull of the listed chunks */
/* This step reads the chunks of the current stage. Returns GO_ON if the stage has nothing left to
 * read, WAIT if the request waits for its quota, a buffer, the send queue or its READs, or the
 * answer to the call: CANT_PULL or SYSTEM_ERROR. */
enum request_next request_read_stage(struct weir_request *req);
/* These functions implement conn_protocol.reads_begin() and reads_next() for the Read list. */
void request_reads_begin(const struct weir_request *req, union request_reads *it);
bool request_reads_next(const struct weir_request *req, union request_reads *it,
			struct rdma1_read_segment *seg);
/* Returns the answer to a call if a stage found no memory for its chunks. 'error' is the error of
 * request_own_buffers() or request_place_items(), but not -EAGAIN. */
static inline enum request_next request_cant_pull(const struct weir_request *req, int error)
{
	req->responder->engine->stats.limits_exceeded += error == -EFBIG;
	return error == -ENOBUFS && req->state == REQUEST_PULL_ITEMS ? REQUEST_SYSTEM_ERROR
								     : REQUEST_CANT_PULL;
}

/* request_args.c: the decoder of the data that were pulled */
/* Implements conn_protocol.open_stream(): sets the decoder to the start of the Payload stream,
 * which has arrived without its items. */
void request_open_stream(struct weir_request *req);
/* This step runs when the items have arrived, too. It lists the parts of the Payload stream with
 * its items, and sets the decoder to the start of this stream. Returns GO_ON, or GARBAGE_ARGS if
 * the chunks are not consistent. */
enum request_next request_join_items(struct weir_request *req);
/* Sets the decoder to the start of the stream that req->parts lists. */
void request_read_parts(struct weir_request *req);
/* Implements conn_protocol.collect_args() for the Read list. */
int request_collect_read_chunks(struct weir_request *req);
/* Sets the decoder to the start of the call again: of req->parts if the call is in parts, otherwise
 * of the message after its transport header. */
void request_restart_args(struct weir_request *req);

/* request_rpc_header.c: this step decodes the RPC header at the start of 'in' and finds the
 * program. Returns GO_ON, or the answer to the call: NOT_FOUND, DENIED, ERR_CHUNK or DROP. */
enum request_next request_find_program(struct weir_request *req, struct weir_xdr_in *in);
/* Does what request_find_program() does, with the same results, for a call that needs no pull. The
 * RPC header of such a call follows the transport header. Sets '*is_shaped' to false if
 * request_fast.c does not know RPC headers of this form. */
enum request_next request_find_inline(struct weir_request *req, bool *is_shaped);

/* request_drc.c: duplicates of calls */
/*
 * This step looks the call up in the duplicate request cache. Returns:
 * - GO_ON if the program must get the call, because the call is new or its procedure is idempotent
 * - WAIT_REPLAY if the program is already processing the same call
 * - REPLY if the cache has the reply, which was copied to a buffer
 * - SYSTEM_ERROR if the cache did not keep the reply, or has no entry for a new call
 * - END if no buffer for the reply is available. The connection then ends.
 */
enum request_next request_look_up(struct weir_request *req);
/*
 * This step answers a duplicate with the reply to the same call, which is in 'pieces'. Returns:
 * - REPLY if the reply was copied to a buffer of the duplicate
 * - SYSTEM_ERROR if the cache did not keep the reply ('npieces' is 0)
 * - END if no buffer is available. The connection then ends.
 */
enum request_next request_replay(struct weir_request *req, const struct piece *pieces,
				 uint32_t npieces);
/* Removes one of the duplicates that wait for the reply of this entry, and returns it. Returns NULL
 * if no duplicate is left. */
static inline struct weir_request *request_take_duplicate(struct drc_entry *entry)
{
	struct weir_request *duplicate = LIST_FIRST(&entry->waiting);

	if (duplicate)
		LIST_REMOVE(duplicate, duplicate);
	return duplicate;
}

/* Is called when the reply of a request with this entry is complete and no duplicate waits for the
 * reply. The cache keeps the reply, or forgets the call if the program has called
 * weir_request_skip_replay_cache(). */
void request_keep_reply(struct weir_request *req, struct drc_entry *entry,
			const struct piece *pieces, uint32_t npieces);

/* request_buffers.c: buffers of a request, and memory of the program for its items */
/* Takes a buffer for a reply of 'bytes' bytes in addition to the headroom, and initializes the
 * encoder on it. Returns false if the reply cannot have such a buffer. req->may_wait is then true
 * if a later attempt can succeed. */
bool request_take_buffer(struct weir_request *req, uint64_t bytes);
/*
 * Takes bulk buffers for the chunks in 'which', which has one bit for each chunk. The request gets
 * all of these buffers, or it gets none and enters the wait queue. Therefore, two requests cannot
 * wait for each other's buffers. Returns:
 * - 0
 * - -EAGAIN if the request waits
 * - -ENOBUFS if too many requests wait already
 * - -EFBIG if the request can never have the buffers
 */
int request_own_buffers(struct weir_request *req, uint32_t which);
/* Calls the program's arg_sink for the memory to which the item of req->chunks[i] will be read.
 * Returns 0 if the program has named memory, 1 if the program leaves the choice to weir, or -EINVAL
 * if the memory is not valid. */
int request_place_item(struct weir_request *req, uint32_t i);
/* Calls request_place_item() for each item, if this was not done yet. Returns 0 or -EINVAL. */
int request_place_items(struct weir_request *req);
/* Initializes the encoder of the results on the request's reply buffer, after the headroom. */
static inline void request_begin_results(struct weir_request *req)
{
	weir_xdr_out_init(&req->out, req->reply->data + ENGINE_HEADROOM,
			  req->reply->size_bytes - ENGINE_HEADROOM);
	req->npieces = 0;
	req->nitems = 0;
	req->piece_start = 0;
}

/* Sets a piece of a reply. The function sets each field of the piece, so that the piece need not be
 * cleared before. */
static inline void request_set_piece(struct piece *piece, uint8_t *base, uint32_t len,
				     enum piece_kind kind, uint32_t lkey, uint32_t op)
{
	piece->base = base;
	piece->len = len;
	piece->kind = kind;
	piece->lkey = lkey;
	piece->op = op;
}

/* Appends a piece to the pieces of the reply. */
static inline void request_add_piece(struct weir_request *req, uint8_t *base, uint32_t len,
				     enum piece_kind kind, uint32_t lkey, uint32_t op)
{
	request_set_piece(&req->pieces[req->npieces++], base, len, kind, lkey, op);
}

/* Appends a piece with the XDR data that was encoded since the latest item, up to byte 'end' of the
 * reply. */
static inline void request_close_piece_at(struct weir_request *req, uint32_t end)
{
	request_add_piece(req, req->out.start + req->piece_start, end - req->piece_start, PIECE_XDR,
			  req->reply->lkey, 0);
	req->piece_start = end;
}

/* Appends a piece with all XDR data that was encoded since the latest item, if there is any. */
static inline void request_close_piece(struct weir_request *req)
{
	uint32_t end = (uint32_t)weir_xdr_out_len(&req->out);

	if (end != req->piece_start)
		request_close_piece_at(req, end);
}

/* request_reply.c: steps of a reply */
/*
 * Returns the input of the reducer (lib/proto/reduce.h): the request and the pieces of its reply.
 */
struct reduce_reply_in request_reply_in(struct weir_request *req);
/* This step lays out the reply with the reducer. Returns TRANSMIT, WAIT_RESERVE if a buffer for the
 * header is missing, or the answer to the call: CANT_REPLY or SYSTEM_ERROR. */
enum request_next request_plan(struct weir_request *req);
/* This step lays out a reply. If the reply has a shape (request_shape.h) and the driver can send it
 * at once, this step also sends it. Returns END if the reply was sent, TRANSMIT if a reply with a
 * shape must be queued, and the result of request_plan() for all other replies. */
enum request_next request_lay_out(struct weir_request *req, struct weir_conn *conn);
/* Implements conn_protocol.plan_reply() for a reply whose header the reducer makes. */
int request_reduce(struct weir_request *req);
/* These functions implement conn_protocol.plan_shape() and reduce() for headers of version 1. */
bool request_plan_base_shape(struct weir_request *req);
int request_reduce_base(struct weir_request *req, const struct reduce_reply_in *in, uint8_t *buf,
			uint32_t size, struct reduce_xfer *xfers, struct reduce_reply_plan *plan);
/* Returns the key that the reply to a call of version 1 invalidates by a Send with Invalidate: the
 * key of the first segment that the call lists, in the Read list, then in the Write list, then in
 * the Reply chunk. Returns 0 if the call lists no segment, or the connection does not use remote
 * invalidation. */
uint32_t request_key_to_end(const struct weir_request *req);
/* This step queues the Writes and the Send of a reply that is laid out. Returns GO_ON if the Send
 * was queued. Returns WAIT if the reply waits for room in the send queue, for a buffer, or for the
 * end of the connection, which has failed. */
enum request_next request_transmit(struct weir_request *req);
/* Returns whether no reply can be sent, because the request has no connection or the connection
 * cannot send. */
static inline bool request_is_gone(const struct weir_request *req)
{
	return !req->responder->conn || !conn_can_send(req->responder->conn);
}

/* Queues a request for a buffer of the reserve (reserve.h). The reply must be complete except for
 * this buffer. */
void request_wait_reserve(struct weir_request *req);
/* Stores the time at which a request began to wait for a buffer. responder_events.c ends the
 * connection if the wait takes too long. */
static inline void request_note_wait(struct weir_request *req)
{
	uint64_t now_ns = req->responder->engine->now_ns;

	if (req->wait_ns == 0)
		req->wait_ns = now_ns ? now_ns : 1;
}

/* request_error.c: replies that are errors */
/* These functions encode an error in req->error. request_put_error() encodes the error that is the
 * result 'which' of a step. The two others encode an RPC reply with this status. */
void request_put_error(struct weir_request *req, enum request_next which);
void request_put_accept_stat(struct weir_request *req, enum weir_rpc_accept_stat stat);
void request_put_denied(struct weir_request *req, enum weir_rpc_auth_stat stat);
/*
 * Records that req->error holds 'bytes' bytes, which are a transport header and the entire answer.
 */
static inline void request_note_error_header(struct weir_request *req, uint32_t bytes)
{
	/* It is possible that a reply which could not be planned has left 'header_buf'. The error
	 * does not need this buffer, because the error is copied to the buffer of the reply. */
	if (req->header_buf)
		mem_pool_put(req->header_buf);
	req->header_buf = NULL;
	req->error_bytes = bytes;
	req->error_is_header = true;
}

/* This step copies the error in req->error to a buffer of the reply. Returns:
 * - TRANSMIT if the error is a transport header, which is the entire message
 * - REPLY if the error is an RPC reply, which is then sent like a reply of the program
 * - WAIT_RESERVE if no buffer is available. The error stays in req->error. */
enum request_next request_lay_error(struct weir_request *req);

/* request_release.c: what a request holds */
/* Gives back all that a request holds, and removes the request from all wait queues. */
void request_give_back(struct weir_request *req);
/* Gives back the buffers of a request, except for the receives of its message. */
void request_put_bufs(struct weir_request *req);
/* Gives back the receives of a request that has no connection any more. */
void request_put_message(struct weir_request *req);
/* Makes the request keep the receives of its message, which it needs after the end of the
 * connection. */
void request_keep_message(struct weir_request *req, struct weir_conn *conn);
/* Returns whether a request holds only what every request holds that is answered at once, and no
 * message waits for a request object. */
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

/* Adds a request to the list of its responder, if it is not in the list. Each request that still
 * exists when the upcall for its message returns is in this list until its end. */
static inline void request_enlist(struct weir_request *req)
{
	if (req->outstanding.le_prev)
		return;
	req->since_ns = req->responder->engine->now_ns;
	LIST_INSERT_HEAD(&req->responder->outstanding, req, outstanding);
}

static inline void request_delist(struct weir_request *req)
{
	LIST_REMOVE(req, outstanding);
	req->outstanding.le_prev = NULL;
}

/* Prepares the measurement of a request that the program is about to get. */
static inline void request_begin_time(struct weir_request *req)
{
	const struct responder *responder = req->responder;

	if (unlikely(responder->engine->latency != NULL))
		req->template.procedures =
			responder->procedures[req->program - responder->programs->programs];
}

/* Adds the time from the arrival of a measured request until now to the histogram of its procedure.
 * If the engine measures stages, begins the stage REPLIED, and adds the times in the stages before
 * it. */
out_of_line void request_add_times(struct weir_request *req);

/* Does request_add_times(), if the request is measured. The reply must have been posted. */
static inline void request_note_time(struct weir_request *req)
{
	if (unlikely(req->template.procedures != NULL))
		request_add_times(req);
}

/* Gives a buffer back to its pool, if there is one, and sets the pointer to NULL. */
static inline void request_put_buf(struct mem_buf **buf)
{
	if (*buf) {
		mem_pool_put(*buf);
		*buf = NULL;
	}
}

/* Gives back the buffers to which the Read chunks of a request were pulled, and ends the pull. */
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
