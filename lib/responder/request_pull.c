/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pull of Read chunks that are listed (request_chunks.c). A Long Call takes two stages: its
 * Position Zero chunk is pulled, then the RPC header in it says whose call it is; other calls start
 * with the second: each further chunk is pulled to where the program wants it. Each stage first
 * finds all its buffers, then posts its READs; it may have to wait for either. The last READ of a
 * stage carries the request's conn_tx: completions come in order, and with that one the stage is
 * here. request_args.c makes of it what the program reads.
 */
#include "request.h"

#include <errno.h>

static int find_buffers(struct weir_request *req)
{
	uint32_t own = 0;
	int rc;

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
	rc = request_place_items(req);
	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < req->nchunks; i++)
		if (!req->chunks[i].dst)
			own |= 1u << i;
	return request_own_buffers(req, own);
}

void request_reads_begin(const struct weir_request *req, union request_reads *it)
{
	rdma1_reads_begin(&req->hdr, &it->list);
}

bool request_reads_next(const struct weir_request *req, union request_reads *it,
			struct rdma1_read_segment *seg)
{
	(void)req;
	return rdma1_reads_next(&it->list, seg);
}

static bool in_stage(const struct weir_request *req, const struct rdma1_read_segment *seg)
{
	return seg->target.length > 0 && (seg->position == 0) == (req->state == REQUEST_PULL_CALL);
}

static void begin_reads(struct weir_request *req)
{
	const struct conn_protocol *protocol = req->responder->protocol;
	struct rdma1_read_segment seg;
	union request_reads it;

	req->reads_left = 0;
	protocol->reads_begin(req, &it);
	while (protocol->reads_next(req, &it, &seg))
		req->reads_left += in_stage(req, &seg);
	protocol->reads_begin(req, &req->next_read);
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

/* Carry out as many READs at once as the driver can, then post as many as there are places for.
 * True: all of the stage is here. */
static bool post_reads(struct weir_request *req)
{
	struct weir_conn *conn = req->responder->conn;

	while (req->reads_left > 0) {
		union request_reads next = req->next_read;
		struct reassemble_chunk *chunk;
		struct rdma1_read_segment seg;
		struct fabric_sge sge;

		do
			req->responder->protocol->reads_next(req, &next, &seg);
		while (!in_stage(req, &seg));
		chunk = chunk_at(req, seg.position);
		sge = (struct fabric_sge){chunk->dst + chunk->filled, seg.target.length,
					  chunk->lkey};
		if (req->has_posted ||
		    !conn_read_direct(conn, sge, seg.target.handle, seg.target.offset)) {
			if (!conn_tx_reserve(conn, 1, 1)) {
				conn_wait_tx(conn, &req->tx_waiter, 1);
				return false;
			}
			req->has_posted = true;
			conn_read(conn, &sge, seg.target.handle, seg.target.offset,
				  req->reads_left == 1 ? &req->tx : NULL);
		}
		chunk->filled += seg.target.length;
		req->next_read = next;
		req->reads_left--;
	}
	return !req->has_posted;
}

/* Within what may be pulled at a time; one call alone always is. 0; -EAGAIN: waits; -ENOBUFS: too
 * many do. */
static int admit(struct weir_request *req)
{
	struct responder *responder = req->responder;
	struct weir_engine *engine = responder->engine;
	const struct weir_profile *profile = &engine->profile;
	uint64_t pulled = responder->used.n[ENGINE_QUOTA_PULLED];
	uint64_t left = engine->pulling_bytes < profile->pull_bytes
				? profile->pull_bytes - engine->pulling_bytes
				: 0;
	bool is_alone = engine->pulling_bytes == 0;
	bool is_own = pulled > 0 && pulled + req->pull_bytes > profile->pull_bytes_connection;

	if (req->is_pulling)
		return 0;
	if (!is_alone && req->pull_bytes <= left)
		is_own |= !request_may_take(responder, ENGINE_QUOTA_PULLED, left, req->pull_bytes);
	if (!is_alone && left > 0 && req->pull_bytes > left)
		is_own |= request_exceeds_quota(responder, ENGINE_QUOTA_PULLED, profile->pull_bytes,
						req->pull_bytes);
	if (!is_own && (is_alone || req->pull_bytes <= left)) {
		req->is_pulling = true;
		request_count(responder, ENGINE_QUOTA_PULLED, (int64_t)req->pull_bytes);
		engine->pulling_bytes += req->pull_bytes;
		return 0;
	}
	engine->stats.pull_waits += engine->waking != &req->buf_waiter;
	req->buf_waiter.is_own = is_own;
	return engine_wait_buffers(engine, &responder->wait_queue, &req->buf_waiter) ? -EAGAIN
										     : -ENOBUFS;
}

enum request_next request_read_stage(struct weir_request *req)
{
	if (!req->is_reading) {
		int rc = admit(req);

		if (rc == 0)
			rc = find_buffers(req);
		if (rc == -EAGAIN)
			return REQUEST_WAIT;
		if (rc != 0)
			return request_cant_pull(req, rc);
		begin_reads(req);
	}
	return post_reads(req) ? REQUEST_GO_ON : REQUEST_WAIT;
}
