/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pulls the Read chunks that request_chunks.c has listed. A Long Call has two stages. In the first
 * stage, its Position Zero chunk is pulled, and the RPC header in that chunk identifies the
 * program. Other calls begin with the second stage, in which each chunk that is not at Position
 * Zero is pulled to the memory that the program has chosen, or to a bulk buffer.
 *
 * A stage first takes all its buffers and then posts its READs. It can have to wait for the buffers
 * and for the send queue. The last READ of a stage has the conn_tx of the request. Completions
 * arrive in order, so that the stage is complete when this READ is. request_args.c then sets the
 * decoder that the program reads.
 */
#include "request.h"

#include <errno.h>

/* Finds the memory for the chunks of the stage. Returns 0, or an error of request_place_items() or
 * request_own_buffers(). */
static int find_buffers(struct weir_request *req)
{
	uint32_t own = 0;
	int rc;

	/* The program of a Long Call is not known in the first stage. This stage also takes a
	 * buffer for each item that fits in one, so that the second stage need not wait while it
	 * holds the buffer of the call. */
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

/* Returns whether a segment is read in the current stage. An empty segment is never read. */
static bool in_stage(const struct weir_request *req, const struct rdma1_read_segment *seg)
{
	return seg->target.length > 0 && (seg->position == 0) == (req->state == REQUEST_PULL_CALL);
}

/* Counts the READs of the stage, and sets the iterator to its first segment. */
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

/* Returns the chunk at a position. */
static struct reassemble_chunk *chunk_at(struct weir_request *req, uint32_t position)
{
	uint32_t i = 0;

	while (req->chunks[i].position != position)
		/*
		 * the search always succeeds, because reassemble_chunks() has listed each position
		 */
		i++;
	return &req->chunks[i];
}

/* Reads the segments of the stage: first by direct operations, as long as the driver can carry
 * these out, and then by posted READs, as long as the send queue has room. Returns true if the
 * entire stage has been read. Returns false if READs are posted, or the request waits for the send
 * queue. */
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

/* Admits a call if the limits of bytes that are pulled at the same time, pull_bytes and
 * pull_bytes_connection (profile), and the quotas allow this. If no other call is being pulled, a
 * call is always admitted. Returns 0, -EAGAIN if the call waits, or -ENOBUFS if too many requests
 * wait. */
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
