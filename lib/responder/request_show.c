/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the device shows (driver.h). Most calls are of the kind that their request object had
 * before: to the same program, with the same transport header but for XID, credits and segment,
 * with AUTH_NONE. All of that is compared; what is equal was checked and decoded then, and stands.
 * What is left goes to the program in one pass. Any other call is request_recv.c's, which leaves
 * behind what the next one is compared with.
 */
#include "responder.h"
#include "shape.h"

#include "compiler.h"

/* What request_receive() does of a call of the kind that its request had, up to its procedure.
 * False: there is no such one, which was answered. */
static hot_inline bool take_repeat(struct weir_request *req, struct weir_conn *conn,
				   const uint8_t *msg, uint32_t len, uint32_t header_bytes,
				   bool has_one_write)
{
	const struct weir_program *program = req->program;
	const uint8_t *call = msg + header_bytes;
	uint32_t proc = wire_get_u32(call + 20);

	req->hdr.xid = req->rpc.xid = wire_get_u32(msg);
	req->hdr.credit = wire_get_u32(msg + 8);
	/* Nobody looks at lists that are empty. */
	if (has_one_write) {
		req->hdr.writes = msg + RDMA1_FIXED_SIZE + 4;
		req->hdr.write_bytes = wire_get_u32(msg + 32);
	}
	req->rpc.proc = proc;
	req->args.p = call + WEIR_RPC_CALL_HEADER_MIN;
	req->args.end = msg + len;
	req->args.is_item = req->args.failed = false;
	req->args.nparts = 0; /* and if the program has set it up with parts of its own */
	req->args.later_bytes = 0;
	req->flags = (struct request_flags){.is_plain = true,
					    .is_short = header_bytes == RDMA1_HEADER_MIN,
					    .has_one_write = has_one_write};
	conn->got_message = true;
	conn->ep.engine->stats.requests_received++;
	if (unlikely(proc >= program->nprocs)) {
		request_reply_not_found(req);
		return false;
	}
	return true;
}

static hot_inline void handle_repeat(struct weir_request *req, struct weir_conn *conn,
				     const uint8_t *msg, uint32_t len, uint32_t header_bytes)
{
	const struct weir_program *program = req->program;

	if (!take_repeat(req, conn, msg, len, header_bytes, header_bytes == RDMA1_ONE_WRITE_SIZE))
		return;
	req->state = REQUEST_HANDLING;
	program->handle(req, program->arg);
}

/* The same of one with a Read segment. False: as receive_repeat(). */
static out_of_line bool pull_repeat(struct weir_request *req, struct weir_conn *conn,
				    const uint8_t *msg, uint32_t len)
{
	const struct rdma1_read_segment seg = {.position = wire_get_u32(msg + 20),
					       .target = rdma1_segment_at(msg + 24)};

	if (!shape_is_one_read_call(msg, len, &conn->ep.engine->limits, req->template.target))
		return false;
	req->hdr.reads = msg + RDMA1_FIXED_SIZE;
	req->hdr.read_bytes = seg.target.length;
	if (take_repeat(req, conn, msg, len, RDMA1_ONE_READ_SIZE, false))
		request_pull_repeat(req, &seg);
	return true;
}

/* False: it is of another kind, and nothing was done. */
static hot_inline bool receive_repeat(struct weir_request *req, struct responder *responder,
				      struct weir_conn *conn, const uint8_t *msg, uint32_t len)
{
	const struct program_table *programs = responder->programs;
	const struct request_template *template = &req->template;

	if (len < SHAPE_INLINE_CALL)
		return false;
	if (!shape_has_chunk(msg)) {
		if (template->shape != request_shape(programs, RDMA1_HEADER_MIN) ||
		    !shape_is_inline_call(msg, len, template->target))
			return false;
		handle_repeat(req, conn, msg, len, RDMA1_HEADER_MIN);
		return true;
	}
	if (template->shape != request_shape(programs, RDMA1_ONE_WRITE_SIZE))
		return template->shape == request_shape(programs, REQUEST_SHAPE_ONE_READ) &&
		       pull_repeat(req, conn, msg, len);
	if (!shape_is_one_write_call(msg, len, &conn->ep.engine->limits, template->target))
		return false;
	handle_repeat(req, conn, msg, len, RDMA1_ONE_WRITE_SIZE);
	return true;
}

static out_of_line void receive_first(struct weir_request *req)
{
	request_receive(req, req->responder->conn, req->msg, req->msg_bytes);
}

/* The request is not done with its message. */
static out_of_line bool hold_shown(struct weir_conn *conn)
{
	struct weir_request *req = responder_of(conn)->pool->shown;

	if (req->state != REQUEST_FREE)
		request_enlist(req);
	return conn_hold_delivered(conn);
}

bool responder_deliver(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len)
{
	struct weir_conn *conn = (struct weir_conn *)receiver;
	struct mem_buf *buf = (struct mem_buf *)(uintptr_t)wr_id;
	struct responder *responder = responder_of(conn);
	struct request_pool *pool = responder->pool;
	struct weir_request *req = pool->free;

	if (unlikely(!conn_can_deliver_direct(conn) || responder->hold))
		return conn_deliver(receiver, wr_id, len);
	if (unlikely(!req))
		return conn_deliver(receiver, wr_id, len);
	conn_deliver_begin(conn, buf);
	pool->free = req->next_free;
	pool->shown = req;
	responder->nbusy++;
	req->responder = responder;
	req->msg = buf;
	req->msg_bytes = len;
	if (!receive_repeat(req, responder, conn, buf->data, len))
		receive_first(req);
	return likely(!conn->srq->delivering) ? true : hold_shown(conn);
}
