/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the device shows (driver.h). Most calls are of the kind that their request object had before: to the same program, with the same
 * transport header but for XID, credits and segment, with AUTH_NONE. All of that is compared; what is equal was checked and decoded then, and stands. What is
 * left goes to the program in one pass. Any other call is request_recv.c's, which leaves behind what the next one is compared with.
 */
#include "plain.h"
#include "responder.h"

/* What request_receive() does of a call of the kind that its request had. */
static inline __attribute__((always_inline)) void handle_again(struct weir_request *req,
							       struct weir_conn *conn, const uint8_t *msg,
							       uint32_t len, uint32_t header_bytes)
{
	const struct weir_program *program = req->program;
	const uint8_t *call = msg + header_bytes;
	uint32_t proc = wire_get_u32(call + 20);

	req->hdr.xid = req->rpc.xid = wire_get_u32(msg);
	req->hdr.credit = wire_get_u32(msg + 8);
	/* Nobody looks at lists that are empty. */
	if (header_bytes == RDMA1_ONE_CHUNK_SIZE) {
		req->hdr.writes = msg + RDMA1_FIXED_SIZE + 4;
		req->hdr.write_bytes = wire_get_u32(msg + 32);
	}
	req->rpc.proc = proc;
	req->args.p = call + WEIR_RPC_CALL_HEADER_MIN;
	req->args.end = msg + len;
	req->args.is_item = req->args.failed = false;
	req->args.nparts = 0; /* and if the program has set it up with parts of its own */
	req->args.later_bytes = 0;
	req->is_short = header_bytes == RDMA1_HEADER_MIN;
	req->is_plain = true;
	req->has_one_chunk = header_bytes == RDMA1_ONE_CHUNK_SIZE;
	conn->heard = true;
	conn->ep.engine->stats.requests_received++;
	if (__builtin_expect(proc >= program->nprocs, 0)) {
		request_reply_not_found(req);
		return;
	}
	req->state = REQUEST_HANDLING;
	program->handle(req, program->arg);
}

/* False: it is of another kind, and nothing was done. */
static inline __attribute__((always_inline)) bool receive_again(struct weir_request *req,
								struct responder *responder,
								struct weir_conn *conn, const uint8_t *msg,
								uint32_t len)
{
	const struct program_table *programs = responder->programs;
	const struct request_past *past = &req->past;

	if (len < PLAIN_SHORT_CALL)
		return false;
	if (!plain_has_chunk(msg)) {
		if (past->kind != request_kind(programs, RDMA1_HEADER_MIN) ||
		    !plain_is_short_call(msg, len, past->target))
			return false;
		handle_again(req, conn, msg, len, RDMA1_HEADER_MIN);
		return true;
	}
	if (past->kind != request_kind(programs, RDMA1_ONE_CHUNK_SIZE) ||
	    !plain_is_chunk_call(msg, len, &conn->ep.engine->limits, past->target))
		return false;
	handle_again(req, conn, msg, len, RDMA1_ONE_CHUNK_SIZE);
	return true;
}

static __attribute__((noinline)) void receive_first(struct weir_request *req)
{
	request_receive(req, req->responder->conn, req->msg, req->msg_bytes);
}

bool responder_show(struct fabric_user *user, uint64_t wr_id, uint32_t len)
{
	struct weir_conn *conn = (struct weir_conn *)user;
	struct mem_buf *buf = (struct mem_buf *)(uintptr_t)wr_id;
	struct responder *responder = responder_of(conn);
	struct request_pool *pool = responder->pool;
	struct weir_request *req = pool->free;

	if (__builtin_expect(!conn_shows_quick(conn) || responder->backlog, 0))
		return conn_show(user, wr_id, len);
	if (__builtin_expect(!req, 0))
		return conn_show(user, wr_id, len);
	conn_show_begin(conn, buf);
	pool->free = req->next_free;
	responder->nbusy++;
	req->responder = responder;
	req->msg = buf;
	req->msg_bytes = len;
	if (!receive_again(req, responder, conn, buf->data, len))
		receive_first(req);
	return conn_show_end(conn);
}
