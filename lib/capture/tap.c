/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Taps of connections: records what they send and receive. conn_tap.h says how.
 *
 * A tap records
 *
 * - a message and an RDMA Write that this side sends, when it is posted;
 * - a message that arrives, before the role gets it;
 * - an RDMA Read of this side when it is complete, because its data are there only then. The list
 *   'reads' has the Reads that are not complete.
 *
 * An RDMA Read or Write of the peer is not visible to this side. Therefore the capture of a
 * responder has all operations, and that of a requester has messages only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "alloc.h"
#include "capture.h"
#include "conn.h"

/* The taps of an engine. */
struct capture_tap {
	struct capture *capture;
	struct capture_ring *ring;
	uint32_t nconns;   /* connections of the engine that have a tap */
	uint32_t kept_max; /* bytes of a message or an operation that are recorded */
};

/* An RDMA Read that was posted. */
struct tap_read {
	uint64_t wr_id;
	const void *data;
	uint32_t len;
	uint32_t rkey;
	uint64_t raddr;
	uint64_t begin_ns;
};

struct conn_tap {
	struct capture_tap *taps;
	bool is_announced; /* the record OPEN is in the ring */
	uint32_t number;   /* of the connection in the capture, once it is announced */
	uint32_t size;	   /* entries of 'reads' */
	uint32_t nreads;   /* posted Reads: a queue that begins at 'first_read' */
	uint32_t first_read;
	struct tap_read reads[];
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct weir_conn *conn_of(const struct fabric_qp *qp)
{
	return qp->ctx;
}

/* Sets the private data that this side and the peer have sent at the set-up. */
static void set_private_data(const struct weir_conn *conn, struct capture_opened *opened)
{
	const struct cm_private mine = {
		.send_bytes = conn->ep.engine->profile.inline_bytes,
		.recv_bytes = conn->ep.engine->profile.inline_bytes,
		.remote_invalidation = conn->may_invalidate,
	};

	cm_private_encode(&mine, opened->private_data[0]);
	cm_private_encode(&conn->theirs, opened->private_data[1]);
}

/* Records the set-up of a connection, before its first message. */
static bool announce(const struct weir_conn *conn)
{
	struct conn_tap *tap = conn->tap;
	struct capture_opened *opened;
	struct capture_record *record =
		capture_ring_reserve(tap->taps->ring, (uint32_t)sizeof(*opened));

	if (!record)
		return false;
	/* Only connections in the file have a number, because the writer has a table of them. */
	tap->number = atomic_fetch_add(&tap->taps->capture->nconns, 1);
	record->kind = CAPTURE_OPEN;
	record->is_ours = true;
	record->conn = tap->number;
	record->kept = record->len = sizeof(*opened);
	record->time_ns = now_ns();
	opened = (struct capture_opened *)(void *)(record + 1);
	opened->conn_id = conn->id;
	opened->is_requester = conn->role->side == WEIR_REQUESTER;
	set_private_data(conn, opened);
	memcpy(opened->peer, conn->peer, sizeof(opened->peer));
	opened->peer[sizeof(opened->peer) - 1] = '\0';
	capture_ring_commit(tap->taps->ring, record);
	tap->is_announced = true;
	return true;
}

/* Reserves a record of a message or an operation of 'len' bytes. Returns NULL if it is dropped. */
static struct capture_record *begin_record(const struct weir_conn *conn, enum capture_kind kind,
					   bool is_ours, uint32_t len)
{
	const struct conn_tap *tap = conn->tap;
	uint32_t kept = len < tap->taps->kept_max ? len : tap->taps->kept_max;
	struct capture_record *record;

	if (!tap->is_announced && !announce(conn))
		return NULL;
	record = capture_ring_reserve(tap->taps->ring, kept);
	if (!record)
		return NULL;
	record->kind = (uint8_t)kind;
	record->is_ours = is_ours;
	record->conn = tap->number;
	record->len = len;
	record->kept = kept;
	record->rkey = 0;
	record->raddr = 0;
	record->begin_ns = 0;
	record->time_ns = now_ns();
	return record;
}

/* Records contiguous bytes. Returns the record, which is not committed, or NULL. */
static struct capture_record *record_bytes(const struct weir_conn *conn, enum capture_kind kind,
					   bool is_ours, const void *data, uint32_t len)
{
	struct capture_record *record = begin_record(conn, kind, is_ours, len);

	if (record && record->kept > 0)
		memcpy(record + 1, data, record->kept);
	return record;
}

static void commit(const struct weir_conn *conn, const struct capture_record *record)
{
	if (record)
		capture_ring_commit(conn->tap->taps->ring, record);
}

/* Records a work request that sends data. */
static void record_sent(const struct weir_conn *conn, enum capture_kind kind,
			const struct fabric_wr *wr)
{
	struct capture_record *record;
	uint32_t len = 0, done = 0;
	uint8_t *to;

	for (uint32_t i = 0; i < wr->nsge; i++)
		len += wr->sge[i].len;
	record = begin_record(conn, kind, true, len);
	if (!record)
		return;
	record->rkey = wr->rkey;
	record->raddr = wr->raddr;
	to = (uint8_t *)(record + 1);
	for (uint32_t i = 0; i < wr->nsge && done < record->kept; i++) {
		uint32_t left = record->kept - done;
		uint32_t n = wr->sge[i].len < left ? wr->sge[i].len : left;

		if (n > 0)
			memcpy(to + done, wr->sge[i].addr, n);
		done += n;
	}
	commit(conn, record);
}

/* Remembers a Read until it is complete. */
static void add_read(struct conn_tap *tap, const struct fabric_wr *wr)
{
	struct tap_read *read;

	if (tap->nreads == tap->size || wr->nsge != 1) {
		capture_ring_drop(tap->taps->ring);
		return;
	}
	read = &tap->reads[(tap->first_read + tap->nreads++) % tap->size];
	*read = (struct tap_read){
		.wr_id = wr->wr_id,
		.data = wr->sge[0].addr,
		.len = wr->sge[0].len,
		.rkey = wr->rkey,
		.raddr = wr->raddr,
		.begin_ns = now_ns(),
	};
}

/* Records the Reads up to the work request 'wr_id', which are complete. */
static void record_reads(const struct weir_conn *conn, uint64_t wr_id)
{
	struct conn_tap *tap = conn->tap;

	while (tap->nreads > 0 && tap->reads[tap->first_read].wr_id <= wr_id) {
		const struct tap_read *read = &tap->reads[tap->first_read];
		struct capture_record *record =
			record_bytes(conn, CAPTURE_READ, true, read->data, read->len);

		if (record) {
			record->rkey = read->rkey;
			record->raddr = read->raddr;
			record->begin_ns = read->begin_ns;
		}
		commit(conn, record);
		tap->first_read = (tap->first_read + 1) % tap->size;
		tap->nreads--;
	}
}

static void record_wr(const struct weir_conn *conn, const struct fabric_wr *wr)
{
	switch (wr->op) {
	case FABRIC_SEND:
		record_sent(conn, CAPTURE_SEND, wr);
		break;
	case FABRIC_SEND_INV:
		record_sent(conn, CAPTURE_SEND_INV, wr);
		break;
	case FABRIC_WRITE:
		record_sent(conn, CAPTURE_WRITE, wr);
		break;
	case FABRIC_READ:
		add_read(conn->tap, wr);
		break;
	case FABRIC_BIND_MW:
	case FABRIC_LOCAL_INV:
	case FABRIC_RECV:
		break; /* these are not visible to the peer */
	}
}

static void record_received(const struct weir_conn *conn, const struct mem_buf *buf, uint32_t len,
			    uint32_t inv_rkey)
{
	struct capture_record *record = record_bytes(
		conn, inv_rkey != 0 ? CAPTURE_SEND_INV : CAPTURE_SEND, false, buf->data, len);

	if (record)
		record->rkey = inv_rkey;
	commit(conn, record);
}

static void tap_end(struct weir_conn *conn);

/* Returns whether the connection must be recorded. If its capture has ended, removes the tap. */
static bool records(struct weir_conn *conn)
{
	if (!conn->tap)
		return false;
	if (atomic_load_explicit(&conn->tap->taps->capture->is_on, memory_order_relaxed))
		return true;
	tap_end(conn);
	return false;
}

/* The operations that take the place of the driver's. The table of the device has the originals.
 * Other connections of the engine get here, too. */
static uint32_t tap_post_send(struct fabric_qp *qp, const struct fabric_wr *wrs, uint32_t n)
{
	struct weir_conn *conn = conn_of(qp);

	/* Recorded before the post, because the peer can reply during the post. */
	if (records(conn))
		for (uint32_t i = 0; i < n; i++)
			record_wr(conn, &wrs[i]);
	return qp->dev->ops->post_send(qp, wrs, n);
}

static bool tap_send_direct(struct fabric_qp *qp, const void *data, uint32_t len)
{
	struct weir_conn *conn = conn_of(qp);
	const struct capture_record *record;

	if (!records(conn))
		return qp->dev->ops->send_direct(qp, data, len);
	record = record_bytes(conn, CAPTURE_SEND, true, data, len);
	if (!qp->dev->ops->send_direct(qp, data, len))
		return false;
	commit(conn, record);
	return true;
}

static bool tap_write_direct(struct fabric_qp *qp, struct fabric_sge local, uint32_t rkey,
			     uint64_t raddr)
{
	struct weir_conn *conn = conn_of(qp);
	struct capture_record *record;

	if (!qp->dev->ops->write_direct(qp, local, rkey, raddr))
		return false;
	if (!records(conn))
		return true;
	record = record_bytes(conn, CAPTURE_WRITE, true, local.addr, local.len);
	if (record) {
		record->rkey = rkey;
		record->raddr = raddr;
	}
	commit(conn, record);
	return true;
}

static bool tap_read_direct(struct fabric_qp *qp, struct fabric_sge local, uint32_t rkey,
			    uint64_t raddr)
{
	struct weir_conn *conn = conn_of(qp);
	uint64_t begin_ns = now_ns();
	struct capture_record *record;

	if (!qp->dev->ops->read_direct(qp, local, rkey, raddr))
		return false;
	if (!records(conn))
		return true;
	record = record_bytes(conn, CAPTURE_READ, true, local.addr, local.len);
	if (record) {
		record->rkey = rkey;
		record->raddr = raddr;
		record->begin_ns = begin_ns;
	}
	commit(conn, record);
	return true;
}

/* conn_tap_ops.deliver */
static bool tap_deliver(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len)
{
	struct weir_conn *conn = (struct weir_conn *)receiver;
	const struct conn_role *role = conn->role;

	if (records(conn) && !conn->ep.is_reaping)
		record_received(conn, (const struct mem_buf *)(uintptr_t)wr_id, len, 0);
	if (conn->ep.blockers.is_timed && role->deliver_timed)
		return role->deliver_timed(receiver, wr_id, len);
	return role->deliver(receiver, wr_id, len);
}

static void tap_on_wc(struct engine_endpoint *ep, const struct fabric_wc *wc)
{
	struct weir_conn *conn = (struct weir_conn *)ep;

	if (wc->status == FABRIC_OK && records(conn)) {
		if (wc->op == FABRIC_RECV)
			record_received(conn, (const struct mem_buf *)(uintptr_t)wc->wr_id,
					wc->byte_len, wc->inv_rkey);
		else
			record_reads(conn, wc->wr_id);
	}
	conn_on_wc(ep, wc);
}

/* Has the operations of the engine call the functions above, or those of the driver again. */
static void hook(struct weir_engine *engine, bool is_hooked)
{
	const struct fabric_ops *driver = engine->dev->ops;
	struct fabric_ops *ops = &engine->driver;

	if (engine->is_forked)
		return;
	ops->post_send = is_hooked ? tap_post_send : driver->post_send;
	/* A driver that lacks a direct operation goes on lacking it. */
	ops->send_direct = is_hooked && driver->send_direct ? tap_send_direct : driver->send_direct;
	ops->write_direct =
		is_hooked && driver->write_direct ? tap_write_direct : driver->write_direct;
	ops->read_direct = is_hooked && driver->read_direct ? tap_read_direct : driver->read_direct;
}

/* Prepares an engine for its first tap. Returns 0, -ENOENT or -ENOMEM. */
static int begin_engine(struct weir_engine *engine)
{
	struct capture *capture = capture_get();
	struct capture_tap *taps;
	uint64_t kept_max;

	if (!capture)
		return -ENOENT;
	taps = mem_zalloc(sizeof(*taps));
	if (taps)
		taps->ring = capture_take_ring(capture);
	if (!taps || !taps->ring) {
		mem_free(taps);
		capture_put(capture);
		return -ENOMEM;
	}
	taps->capture = capture;
	kept_max = capture->options.payload_bytes;
	if (kept_max > capture_ring_data_max(taps->ring))
		kept_max = capture_ring_data_max(taps->ring);
	taps->kept_max = (uint32_t)kept_max;
	engine->capture = taps;
	hook(engine, true);
	return 0;
}

/* Ends the taps of an engine after its last one. */
static void end_engine(struct weir_engine *engine)
{
	struct capture_tap *taps = engine->capture;

	hook(engine, false);
	engine->capture = NULL;
	capture_leave_ring(taps->ring);
	capture_put(taps->capture);
	mem_free(taps);
}

/* Removes the taps of a capture that has ended. */
static void end_old_taps(struct weir_engine *engine)
{
	struct weir_conn *conn = NULL;

	if (!engine->capture || atomic_load(&engine->capture->capture->is_on))
		return;
	while (engine->capture && (conn = conn_of_engine(engine, conn)))
		if (conn->tap)
			tap_end(conn);
}

static bool is_wanted(const struct weir_conn *conn, const struct weir_capture_options *options)
{
	if (options->conn_id != 0 && options->conn_id != conn->id)
		return false;
	if (options->side == WEIR_CAPTURE_REQUESTERS)
		return conn->role->side == WEIR_REQUESTER;
	if (options->side == WEIR_CAPTURE_RESPONDERS)
		return conn->role->side == WEIR_RESPONDER;
	return true;
}

/* Adds a tap to a connection of an engine that has taps. Returns 0 or -ENOMEM. */
static int add_tap(struct weir_conn *conn)
{
	struct capture_tap *taps = conn->ep.engine->capture;
	struct conn_tap *tap;

	if (conn->tap || !is_wanted(conn, &taps->capture->options))
		return 0;
	tap = mem_zalloc(sizeof(*tap) + conn->sq_size * sizeof(tap->reads[0]));
	if (!tap)
		return -ENOMEM;
	tap->taps = taps;
	tap->size = conn->sq_size;
	taps->nconns++;
	conn->tap = tap;
	conn->ep.on_wc = tap_on_wc;
	conn_set_deliver(conn);
	return 0;
}

static int prepare(struct weir_engine *engine)
{
	end_old_taps(engine);
	return engine->capture ? 0 : begin_engine(engine);
}

static void end_unused(struct weir_engine *engine)
{
	if (engine->capture && engine->capture->nconns == 0)
		end_engine(engine);
}

/* conn_tap_ops.begin */
static void tap_begin(struct weir_conn *conn)
{
	struct weir_engine *engine = conn->ep.engine;
	int rc = prepare(engine);

	if (rc == 0)
		rc = add_tap(conn);
	if (rc == -ENOMEM)
		engine_log_peer(engine, &engine->refusals,
				"capture: no memory to capture the connection to %s: lower the "
				"bytes of the ring",
				conn->peer);
	end_unused(engine);
}

/* conn_tap_ops.end */
static void tap_end(struct weir_conn *conn)
{
	struct conn_tap *tap = conn->tap;
	struct capture_tap *taps = tap->taps;

	if (tap->is_announced) {
		bool is_ours = conn->error != -ESHUTDOWN && conn->error != -ECONNRESET;
		const struct capture_record *record = begin_record(conn, CAPTURE_CLOSE, is_ours, 0);

		commit(conn, record);
	}
	conn->tap = NULL;
	conn->ep.on_wc = conn_on_wc;
	conn_set_deliver(conn);
	mem_free(tap);
	taps->nconns--;
	end_unused(conn->ep.engine);
}

int capture_tap_engine(struct weir_engine *engine)
{
	struct weir_conn *conn = NULL;
	int rc = prepare(engine);

	while (rc == 0 && (conn = conn_of_engine(engine, conn)))
		if (conn->qp && conn->state < CONN_LOST)
			rc = add_tap(conn);
	end_unused(engine);
	return rc;
}

void capture_tap_register(void)
{
	static const struct conn_tap_ops ops = {
		.begin = tap_begin,
		.end = tap_end,
		.deliver = tap_deliver,
	};

	atomic_store(&conn_tap_ops, &ops);
}
