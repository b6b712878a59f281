/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Read chunks. A Long Call takes two stages: its Position Zero chunk is pulled, then the RPC header
 * in it says whose call it is; other calls start with the second: each further chunk is pulled to
 * where the program wants it. Each stage first finds all its buffers, then posts its READs; it may
 * have to wait for either, and comes back to request_pull(). The last READ of a stage carries the
 * request's conn_tx: completions come in order.
 */
#include "responder.h"

#include <errno.h>

#include "compiler.h"
#include "xdr_ref.h"

/* A binding says how many items are eligible; more is a violation (RFC 8166 section 6.1). */
static bool items_allowed(const struct weir_request *req)
{
	uint32_t items = req->nchunks - req->hdr.has_position_zero;

	return items <= request_ulb(req)->arg_items_max;
}

/* The same of a call with any credential: where that protects the whole message, nothing is
 * eligible (section 8.2.2). */
bool request_items_allowed(const struct weir_request *req)
{
	return items_allowed(req) && (!rpc_auth_forbids_items(&req->rpc.cred) ||
				      req->nchunks == req->hdr.has_position_zero);
}

/* Else it is to wait: for others, or for its own share. */
static bool may_take_bulk(struct weir_request *req, uint32_t need)
{
	const struct weir_engine *engine = req->responder->engine;
	struct mem_pool *pool = engine->bulk_pool;
	uint32_t left = pool->count - pool->in_use;

	req->buf_waiter.is_own = false;
	if (need > left) {
		/* If none is left, others have nothing to gain by going first. */
		req->buf_waiter.is_own =
			left > 0 &&
			request_exceeds_share(req->responder, ENGINE_SHARE_BULK, pool->count, need);
		pool->empty++;
		return false;
	}
	if (engine_has_waiters(engine, &req->responder->wait_queue, &req->buf_waiter)) {
		req->buf_waiter.is_own =
			engine->nblocking == 0; /* behind others of its connection */
		return false;
	}
	/* Alone, a message may take them all: otherwise none of that size could be pulled. */
	req->buf_waiter.is_own = pool->in_use > 0 &&
				 !request_may_take(req->responder, ENGINE_SHARE_BULK, left, need);
	return !req->buf_waiter.is_own;
}

int request_own_buffers(struct weir_request *req, uint32_t which)
{
	struct weir_engine *engine = req->responder->engine;
	struct mem_pool *pool = engine->bulk_pool;
	uint32_t need = (uint32_t)__builtin_popcount(which);

	for (uint32_t i = 0; i < req->nchunks; i++)
		if (which >> i & 1 && req->chunks[i].len_bytes > engine->profile.bulk_buffer_bytes)
			return -EFBIG;
	if (need > pool->count)
		return -EFBIG;
	if (need > 0 && !may_take_bulk(req, need))
		return engine_wait_buffers(engine, &req->responder->wait_queue, &req->buf_waiter)
			       ? -EAGAIN
			       : -ENOBUFS;
	for (uint32_t i = 0; i < req->nchunks; i++) {
		if (!(which >> i & 1))
			continue;
		req->chunk_bufs[i] = mem_pool_get(pool);
		req->chunks[i].dst = req->chunk_bufs[i]->data;
		req->chunks[i].lkey = req->chunk_bufs[i]->lkey;
	}
	if (need > 0)
		request_count_bulk(req);
	return 0;
}

/* Where the program wants item chunk 'i'. 0; 1: it leaves that to us; -EINVAL: bad memory. */
static int place_item(struct weir_request *req, uint32_t i)
{
	const struct weir_program *program = req->program;
	struct reassemble_chunk *chunk = &req->chunks[i];
	struct weir_arg_sink sink = {NULL, NULL};
	const struct mem_keys *keys;

	/* Memory of the program's is not written to by a call that may prove to be a duplicate. */
	if (!program->arg_sink ||
	    (program->non_idempotent && program->non_idempotent[req->rpc.proc]) ||
	    program->arg_sink(req, i - req->hdr.has_position_zero, chunk->len_bytes, &sink,
			      program->arg) != 0)
		return 1;
	keys = engine_keys(req->responder->engine, sink.region);
	if (keys->lkey == 0 || !mem_region_covers(sink.region, sink.data, chunk->len_bytes))
		return -EINVAL;
	if (req->chunk_bufs[i]) {
		mem_pool_put(req->chunk_bufs[i]);
		req->chunk_bufs[i] = NULL;
		request_count_bulk(req);
	}
	chunk->dst = sink.data;
	chunk->lkey = keys->lkey;
	return 0;
}

static int find_buffers(struct weir_request *req)
{
	uint32_t own = 0;

	/* A Long Call's program is not known yet: a buffer for each item that can fit one. */
	if (req->state == REQUEST_PULL_CALL) {
		own = 1;
		for (uint32_t i = 1; i < req->nchunks; i++)
			if (!req->chunks[i].dst &&
			    req->chunks[i].len_bytes <=
				    req->responder->engine->profile.bulk_buffer_bytes)
				own |= 1u << i;
		return request_own_buffers(req, own);
	}
	for (uint32_t i = req->hdr.has_position_zero; i < req->nchunks && !req->has_asked; i++) {
		int rc = place_item(req, i);

		if (rc < 0)
			return rc;
	}
	req->has_asked = true;
	for (uint32_t i = 0; i < req->nchunks; i++)
		if (!req->chunks[i].dst)
			own |= 1u << i;
	return request_own_buffers(req, own);
}

static bool in_stage(const struct weir_request *req, const struct rdma1_read_segment *seg)
{
	return seg->target.length > 0 && (seg->position == 0) == (req->state == REQUEST_PULL_CALL);
}

static void reads_begin(const struct weir_request *req, union request_reads *it)
{
	if (unlikely(req->lists.nitems > 0))
		req->responder->protocol->reads_begin(req, it);
	else
		rdma1_reads_begin(&req->hdr, &it->list);
}

static inline bool reads_next(const struct weir_request *req, union request_reads *it,
			      struct rdma1_read_segment *seg)
{
	return unlikely(req->lists.nitems > 0) ? req->responder->protocol->reads_next(it, seg)
					       : rdma1_reads_next(&it->list, seg);
}

static void begin_reads(struct weir_request *req)
{
	struct rdma1_read_segment seg;
	union request_reads it;

	req->reads_left = 0;
	reads_begin(req, &it);
	while (reads_next(req, &it, &seg))
		req->reads_left += in_stage(req, &seg);
	reads_begin(req, &req->next_read);
	req->is_reading = true;
	req->has_posted = false;
}

static struct reassemble_chunk *chunk_at(struct weir_request *req, uint32_t position)
{
	uint32_t i = 0;

	while (req->chunks[i].position != position)
		i++; /* reassemble_chunks() listed each position */
	return &req->chunks[i];
}

/* Carry out as many READs at once as the driver can, then post as many as there are places for. */
static void post_reads(struct weir_request *req)
{
	struct weir_conn *conn = req->responder->conn;

	while (req->reads_left > 0) {
		union request_reads next = req->next_read;
		struct reassemble_chunk *chunk;
		struct rdma1_read_segment seg;
		struct fabric_sge sge;

		do
			reads_next(req, &next, &seg);
		while (!in_stage(req, &seg));
		chunk = chunk_at(req, seg.position);
		sge = (struct fabric_sge){chunk->dst + chunk->filled, seg.target.length,
					  chunk->lkey};
		if (req->has_posted ||
		    !conn_read_direct(conn, sge, seg.target.handle, seg.target.offset)) {
			if (!conn_tx_reserve(conn, 1, 1)) {
				conn_wait_tx(conn, &req->tx_waiter, 1);
				return;
			}
			req->has_posted = true;
			conn_read(conn, &sge, seg.target.handle, seg.target.offset,
				  req->reads_left == 1 ? &req->tx : NULL);
		}
		chunk->filled += seg.target.length;
		req->next_read = next;
		req->reads_left--;
	}
}

/* The first stage is over, or there was none: the Payload stream is here, save for its items. */
static bool begin_items(struct weir_request *req)
{
	req->is_reading = false;
	if (req->hdr.has_position_zero) {
		if (req->is_group)
			return req->responder->protocol->begin_group_items(req);
		req->stream = req->chunks[0].dst;
		req->stream_bytes = req->chunks[0].len_bytes;
	} else {
		req->stream = req->msg->data + req->hdr.header_bytes;
		req->stream_bytes = req->msg_bytes - req->hdr.header_bytes;
	}
	weir_xdr_in_init(&req->args, req->stream,
			 req->stream_bytes); /* for the program's choice of places, too */
	if (!request_find_program(req, &req->args))
		return false;
	if (request_items_allowed(req)) {
		req->state = REQUEST_PULL_ITEMS;
		return true;
	}
	if (req->extension != 0)
		weir_request_reply_error(req, WEIR_RPC_GARBAGE_ARGS);
	else
		request_reply_transport_error(req, RDMA1_V_ERR_CHUNK);
	return false;
}

void request_read_parts(struct weir_request *req)
{
	weir_xdr_in_init_parts(&req->args, req->parts, req->nparts);
	if (req->is_group)
		xdr_in_join(&req->args, req->chunk_bufs[0]->data, req->chunk_bufs[0]->size_bytes);
}

/* All is here: the unreduced Payload stream, as parts. 'nread' chunks were read, besides those of a
 * Long Call. */
static hot_inline void finish_as(struct weir_request *req, int nparts, uint32_t nread,
				 uint32_t nlong, const bool may_join)
{
	request_pull_end(req);
	req->responder->engine->stats.read_chunks += nread;
	req->responder->engine->stats.long_calls += nlong;
	if (nparts < 0) {
		/* The header was sound, the arguments are not (RFC 8166 section 4.5.2). */
		req->state = REQUEST_HANDLING;
		weir_request_reply_error(req, WEIR_RPC_GARBAGE_ARGS);
		return;
	}
	req->nparts = (uint32_t)nparts;
	if (may_join)
		request_read_parts(req);
	else
		weir_xdr_in_init_parts(&req->args, req->parts, req->nparts);
	if (request_find_program(req, &req->args))
		request_dispatch(req, 0);
}

void request_finish_pull(struct weir_request *req, int nparts, uint32_t nread)
{
	finish_as(req, nparts, nread, 0, true);
}

static hot_inline int reassemble(struct weir_request *req, uint32_t first)
{
	return reassemble_parts(req->stream, req->stream_bytes, req->chunks + first,
				req->nchunks - first, req->parts, REASSEMBLE_PARTS_MAX);
}

static void finish(struct weir_request *req)
{
	uint32_t first = req->hdr.has_position_zero;

	if (unlikely(req->lists.nitems > 0))
		req->responder->protocol->finish_items(req);
	else
		finish_as(req, reassemble(req, first), req->nchunks - first, first, false);
}

static void begin(struct weir_request *req)
{
	uint64_t now_ns = req->responder->engine->now_ns;

	req->pull_bytes = 0;
	for (uint32_t i = 0; i < req->nchunks; i++)
		req->pull_bytes +=
			req->chunks[i].dst ? 0 : req->chunks[i].len_bytes; /* in place already */
	req->pull_since_ns = now_ns ? now_ns : 1;
	req->is_pulling = false;
	req->responder->npulling++;
}

void request_pull_end(struct weir_request *req)
{
	req->responder->npulling--;
	req->pull_since_ns = 0;
	if (!req->is_pulling)
		return;
	req->is_pulling = false;
	request_count(req->responder, ENGINE_SHARE_PULLED, -(int64_t)req->pull_bytes);
	req->responder->engine->pulling_bytes -= req->pull_bytes;
}

/* Within what may be pulled at a time; one call alone always is. 0; -EAGAIN: waits; -ENOBUFS: too
 * many do. */
static int admit(struct weir_request *req)
{
	struct responder *responder = req->responder;
	struct weir_engine *engine = responder->engine;
	const struct weir_profile *profile = &engine->profile;
	uint64_t pulled = responder->held.n[ENGINE_SHARE_PULLED];
	uint64_t left = engine->pulling_bytes < profile->pull_bytes
				? profile->pull_bytes - engine->pulling_bytes
				: 0;
	bool is_alone = engine->pulling_bytes == 0;
	bool is_own = pulled > 0 && pulled + req->pull_bytes > profile->pull_bytes_connection;

	if (req->is_pulling)
		return 0;
	if (!is_alone && req->pull_bytes <= left)
		is_own |= !request_may_take(responder, ENGINE_SHARE_PULLED, left, req->pull_bytes);
	if (!is_alone && left > 0 && req->pull_bytes > left)
		is_own |= request_exceeds_share(responder, ENGINE_SHARE_PULLED, profile->pull_bytes,
						req->pull_bytes);
	if (!is_own && (is_alone || req->pull_bytes <= left)) {
		req->is_pulling = true;
		request_count(responder, ENGINE_SHARE_PULLED, (int64_t)req->pull_bytes);
		engine->pulling_bytes += req->pull_bytes;
		return 0;
	}
	engine->stats.pull_waits += engine->waking != &req->buf_waiter;
	req->buf_waiter.is_own = is_own;
	return engine_wait_buffers(engine, &responder->wait_queue, &req->buf_waiter) ? -EAGAIN
										     : -ENOBUFS;
}

void request_pull_tick(struct responder *responder, uint64_t now_ns)
{
	struct weir_engine *engine = responder->engine;
	uint64_t timeout_ns = engine->profile.pull_timeout_ms * 1000000ull;
	const struct weir_request *req;

	if (timeout_ns == 0 || now_ns < responder->next_pull_tick_ns)
		return;
	responder->next_pull_tick_ns = now_ns + timeout_ns / 16;
	LIST_FOREACH(req, &responder->outstanding, outstanding)
	{
		if ((req->state != REQUEST_PULL_CALL && req->state != REQUEST_PULL_ITEMS &&
		     req->state != REQUEST_JOIN) ||
		    now_ns - req->pull_since_ns < timeout_ns)
			continue;
		engine->stats.pull_timeouts++;
		engine_log_peer(engine, &engine->ends,
				"connection to %s ends: a call was not pulled within the profile's "
				"pull_timeout_ms",
				responder->conn->peer);
		conn_fail(responder->conn, -ETIMEDOUT);
		return;
	}
}

/* What it can't have now it may have later; of what it can never have, the requester is told
 * another way. */
static void refuse(struct weir_request *req, int rc)
{
	req->responder->engine->stats.limits_exceeded += rc == -EFBIG;
	if (rc == -ENOBUFS && req->state == REQUEST_PULL_ITEMS)
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
	else
		req->responder->protocol->refuse_pull(req);
}

/* An item that could have come inline goes to a buffer for a message, of which there are many,
 * while half of them are free: programs that keep short calls for a while keep as many as when they
 * came inline. */
static inline struct mem_pool *pool_for(const struct weir_engine *engine, uint32_t len_bytes)
{
	const uint64_t headers = RDMA1_HEADER_MIN + WEIR_RPC_CALL_HEADER_MIN;
	const struct mem_pool *pool = engine->send_pool;

	return len_bytes + headers <= engine->msg_bytes && pool->in_use < pool->count / 2
		       ? engine->send_pool
		       : engine->bulk_pool;
}

/* Where the one item goes, and it is admitted, as request_pull() would have it. 0; 1: it is to see
 * to that; -EINVAL. */
static inline int place_one(struct weir_request *req)
{
	const struct responder *responder = req->responder;
	const struct weir_engine *engine = responder->engine;
	struct reassemble_chunk *chunk = &req->chunks[0];
	struct mem_pool *pool = pool_for(engine, chunk->len_bytes);
	int rc = 1;

	if (engine->pulling_bytes > 0)
		return 1;
	if (req->program->arg_sink)
		rc = place_item(req, 0);
	req->has_asked = rc >= 0;
	if (rc <= 0)
		return rc;
	if (chunk->len_bytes > engine->profile.bulk_buffer_bytes || pool->in_use == pool->count ||
	    (engine->nblocking | responder->wait_queue.nwaiting) > 0 ||
	    (pool == engine->bulk_pool && !request_may_take_bulk(responder, pool)))
		return 1;
	req->chunk_bufs[0] = mem_pool_get(pool);
	chunk->dst = req->chunk_bufs[0]->data;
	chunk->lkey = req->chunk_bufs[0]->lkey;
	if (pool == engine->bulk_pool)
		request_count_one_bulk(req);
	return 0;
}

/* All of the item is here at once, if the driver can do that, and the arguments are as they have to
 * be. False: it is to be pulled. */
static inline bool pull_now(struct weir_request *req, const struct rdma1_segment *seg,
			    const uint8_t *args)
{
	const struct reassemble_chunk *chunk = &req->chunks[0];
	const struct fabric_sge sge = {chunk->dst, chunk->len_bytes, chunk->lkey};

	/* The RPC header was decoded as if nothing had been taken out of it, nor had its count
	 * word. */
	if (args > req->stream + chunk->position - WEIR_XDR_UNIT)
		return false;
	req->nparts = reassemble_one(req->stream, req->stream_bytes, chunk, req->parts);
	if (req->nparts == 0 ||
	    !conn_read_direct(req->responder->conn, sge, seg->handle, seg->offset))
		return false;
	xdr_in_init_at(&req->args, req->parts, req->nparts, req->stream_bytes, args);
	return true;
}

static inline void list_one(struct weir_request *req, const struct rdma1_read_segment *seg)
{
	req->chunks[0] = (struct reassemble_chunk){.position = seg->position,
						   .len_bytes = seg->target.length};
	req->nchunks = 1;
	req->has_asked = false;
}

/* It is PULL_ITEMS. 'shape' is what its past is when it was pulled at once: request_dispatch(). */
static hot_inline void pull_one(struct weir_request *req, const struct rdma1_read_segment *seg,
				uintptr_t shape)
{
	const uint8_t *args = req->args.p; /* which the program may read on from */
	int rc = place_one(req);

	if (unlikely(rc < 0)) {
		refuse(req, rc);
		return;
	}
	if (likely(rc == 0 && pull_now(req, &seg->target, args))) {
		req->responder->engine->stats.read_chunks++;
		request_dispatch(req, shape);
		return;
	}
	req->template.shape = 0;
	req->nparts = 0;
	begin(req);
	req->pull_bytes = seg->target.length; /* wherever it goes */
	request_pull(req);
}

void request_pull_one(struct weir_request *req, const struct rdma1_read_segment *seg)
{
	struct weir_xdr_in in;
	uintptr_t shape = 0;

	list_one(req, seg);
	if (!begin_items(req))
		return;
	/* What is kept holds for AUTH_NONE: credentials that are left behind would be the next
	 * call's. */
	weir_xdr_in_init(&in, req->stream, req->stream_bytes);
	if (rpc_is_plain_call(&in)) {
		shape = request_shape(req->responder->programs, REQUEST_SHAPE_ONE_READ);
		req->template.target = rpc_prog_vers(in.p);
	}
	pull_one(req, seg, shape);
}

void request_pull_repeat(struct weir_request *req, const struct rdma1_read_segment *seg)
{
	list_one(req, seg);
	req->is_reading = false;
	req->stream = req->msg->data + RDMA1_ONE_READ_SIZE;
	req->stream_bytes = req->msg_bytes - RDMA1_ONE_READ_SIZE;
	if (unlikely(!items_allowed(req))) {
		request_reply_transport_error(req, RDMA1_V_ERR_CHUNK);
		return;
	}
	req->state = REQUEST_PULL_ITEMS;
	pull_one(req, seg, req->template.shape);
}

void request_pull(struct weir_request *req)
{
	int rc;

	if (req->state == REQUEST_FREE) {
		req->has_asked = false;
		rc = req->lists.nitems > 0
			     ? req->responder->protocol->list_items(req)
			     : reassemble_chunks(&req->hdr, req->chunks, REASSEMBLE_CHUNKS_MAX);
		if (rc < 0) {
			refuse(req, rc);
			return;
		}
		req->nchunks = (uint32_t)rc;
		req->is_reading = false;
		begin(req);
		req->state = REQUEST_PULL_CALL;
		if (!req->hdr.has_position_zero && !begin_items(req))
			return;
	}
	for (;;) {
		if (!req->is_reading) {
			rc = admit(req);
			if (rc == 0)
				rc = find_buffers(req);
			if (rc == -EAGAIN)
				return;
			if (rc != 0) {
				refuse(req, rc);
				return;
			}
			begin_reads(req);
		} else if (req->reads_left == 0) {
			req->has_posted = false; /* the last of them is done */
		}
		post_reads(req);
		if (req->reads_left > 0 || req->has_posted)
			return;
		/* Nothing (more) to read in this stage. */
		if (req->state == REQUEST_PULL_ITEMS) {
			finish(req);
			return;
		}
		if (!begin_items(req))
			return;
	}
}

void request_on_read(struct weir_request *req)
{
	request_pull(req); /* reads_left is 0: on to what comes next */
}

void request_on_buffers(struct engine_waiter *waiter)
{
	struct weir_request *req =
		(struct weir_request *)((char *)waiter - offsetof(struct weir_request, buf_waiter));

	req->flags.is_plain = false;
	if (req->state == REQUEST_HANDLING)
		request_handle_again(req);
	else if (req->state == REQUEST_REPLYING)
		request_reply_again(req);
	else if (req->state == REQUEST_JOIN)
		req->responder->protocol->join(req);
	else
		request_pull(req);
}
