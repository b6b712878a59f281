/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work requests. One is carried out when it is posted: a Send is copied into the ring, a WRITE or
 * READ is one memcpy between our memory and the peer's mapping. Only when the ring is full, or an
 * earlier request waits, does it go to the pending queue, which stall.c has tried in order. So
 * completions are in order, and a WRITE is visible before the Send behind it: the Send's header is
 * stored with release after it.
 */
#include <errno.h>

#include "alloc.h"
#include "compiler.h"
#include "shm_dev.h"
#include "shm_qp.h"

static uint32_t power_of_two(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

int shm_qp_create(struct shm_dev *dev, const struct fabric_qp_attr *attr, struct shm_qp **out)
{
	struct shm_qp *qp;

	if (attr->max_send_wr == 0 || attr->max_send_wr > SHM_WRS_MAX || attr->max_recv_wr == 0 ||
	    attr->max_recv_wr > SHM_WRS_MAX || attr->max_msg_bytes == 0 ||
	    attr->max_msg_bytes > SHM_MSG_MAX)
		return -EINVAL;
	qp = mem_zalloc(sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	qp->fabric.dev = &dev->fabric;
	qp->done_mask = power_of_two(attr->max_send_wr) - 1;
	qp->recvs = attr->srq ? &((struct shm_srq *)attr->srq)->recvs : &qp->own;
	if (!attr->srq && shm_recvs_init(&qp->own, attr->max_recv_wr) != 0) {
		shm_qp_free(qp);
		return -ENOMEM;
	}
	qp->is_blocked = true;
	qp->fabric.ctx = attr->ctx;
	qp->delivers = attr->srq && dev->fabric.may_deliver;
	shm_rdma_forget(qp);
	qp->fabric.max_inline = attr->max_inline < SHM_MSG_MAX ? attr->max_inline : SHM_MSG_MAX;
	qp->max_send_wr = attr->max_send_wr;
	qp->max_msg_bytes = attr->max_msg_bytes;
	qp->exposes = attr->exposes;
	*out = qp;
	return 0;
}

void shm_qp_free(struct shm_qp *qp)
{
	mux_leave(shm_dev_of(qp), qp);
	shm_turn_put(&shm_dev_of(qp)->turns, qp->turn);
	shm_domain_destroy(qp);
	mem_free(qp->pending_inlines);
	mem_free(qp->pending);
	mem_free(qp->done);
	shm_recvs_fini(&qp->own);
	mem_free(qp);
}

void shm_qp_set_rings(struct shm_qp *qp, void *rings, uint32_t ring_bytes, bool is_connector)
{
	uint8_t *first = rings, *second = first + ring_footprint(ring_bytes);

	if (qp->max_msg_bytes > ring_msg_max(ring_bytes))
		qp->max_msg_bytes = ring_msg_max(ring_bytes);
	ring_writer_init(&qp->tx, is_connector ? first : second, ring_bytes);
	ring_reader_init(&qp->rx, is_connector ? second : first, ring_bytes, qp->max_msg_bytes);
}

/* The request is over: a completion when it was asked for, or when it failed. Its place, and those
 * of the silent ones before it, are given back when that is polled. */
void shm_complete(struct shm_qp *qp, const struct fabric_wr *wr, enum fabric_status status,
		  uint32_t bytes)
{
	qp->unsignalled++;
	if (status == FABRIC_OK && !(wr->flags & FABRIC_SIGNALED))
		return;
	qp->done[qp->done_tail++ & qp->done_mask] = (struct shm_done){
		.wr_id = wr->wr_id,
		.bytes = bytes,
		.places = qp->unsignalled,
		.op = (uint8_t)wr->op,
		.status = (uint8_t)status,
	};
	qp->unsignalled = 0;
	shm_qp_update_limits(qp);
}

static uint64_t sge_bytes(const struct fabric_wr *wr)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < wr->nsge; i++)
		bytes += wr->sge[i].len;
	return bytes;
}

static bool locals_ok(const struct shm_qp *qp, const struct fabric_wr *wr)
{
	if (wr->flags & FABRIC_INLINE)
		return true;
	for (uint32_t i = 0; i < wr->nsge; i++)
		if (!shm_local_ok(shm_dev_of(qp), wr->sge[i]))
			return false;
	return true;
}

/* As ring_put_one(). */
static inline int put_one(struct shm_qp *qp, const uint8_t *data, uint32_t len)
{
	if (unlikely(qp->tx_in_mux))
		return ring_put_tagged(&qp->mux->tx, qp->mux_tag, data, len);
	return ring_put_one(&qp->tx, data, len);
}

/* The same for what is no single piece: ring_put(). */
static int put_gathered(struct shm_qp *qp, const struct fabric_wr *wr, uint32_t len)
{
	uint32_t inv_rkey = wr->op == FABRIC_SEND_INV ? wr->rkey : 0;
	struct fabric_sge sges[SHM_SGES_MAX + 1];

	if (!qp->tx_in_mux)
		return ring_put(&qp->tx, wr->sge, wr->nsge, len, inv_rkey);
	sges[0] = (struct fabric_sge){&qp->mux_tag, RING_TAG, 0};
	for (uint32_t i = 0; i < wr->nsge; i++)
		sges[i + 1] = wr->sge[i];
	return ring_put(&qp->mux->tx, sges, wr->nsge + 1, len + RING_TAG, inv_rkey);
}

static int do_send(struct shm_qp *qp, const struct fabric_wr *wr, uint32_t *bytes)
{
	uint64_t len = sge_bytes(wr);
	int rc;

	if (len > qp->peer_max_msg_bytes)
		return FABRIC_ERR_REMOTE_LEN;
	if (wr->nsge == 1 && wr->op == FABRIC_SEND)
		rc = put_one(qp, wr->sge[0].addr, (uint32_t)len);
	else
		rc = put_gathered(qp, wr, (uint32_t)len);
	if (rc == 0)
		return SHM_NOT_YET;
	if (rc < 0) {
		shm_dev_of(qp)->fabric.stats.protocol_errors++;
		return FABRIC_ERR_FATAL;
	}
	shm_dev_of(qp)->fabric.stats.sends++;
	*bytes = (uint32_t)len;
	return FABRIC_OK;
}

/* wr->rkey is the key to be. */
static int do_bind(struct shm_qp *qp, const struct fabric_wr *wr)
{
	struct shm_dev *dev = shm_dev_of(qp);
	const struct shm_mr *m;
	struct key_range range = {.access = wr->access, .conn_id = qp->conn_id};

	if (wr->nsge != 1 || !wr->mw || !wr->mw->driver || !shm_local_ok(dev, wr->sge[0]))
		return FABRIC_ERR_LOCAL_PROT;
	m = &dev->mrs[wr->sge[0].lkey - 1];
	if (!(m->access & FABRIC_BIND) ||
	    (wr->access & FABRIC_REMOTE_WRITE && !(m->access & FABRIC_LOCAL_WRITE)) ||
	    key_is_set(&dev->keys, *(struct key_ref *)wr->mw->driver))
		return FABRIC_ERR_LOCAL_PROT;
	range.region = m->id;
	range.offset = (uint64_t)((uint8_t *)wr->sge[0].addr - m->base);
	range.raddr = ((uint64_t)wr->sge[0].lkey << 44) + range.offset;
	range.len = wr->sge[0].len;
	key_set(&dev->keys, *(struct key_ref *)wr->mw->driver, wr->rkey, &range);
	return FABRIC_OK;
}

static int execute(struct shm_qp *qp, const struct fabric_wr *wr, uint32_t *bytes)
{
	if (!locals_ok(qp, wr))
		return FABRIC_ERR_LOCAL_PROT;
	switch (wr->op) {
	case FABRIC_SEND:
	case FABRIC_SEND_INV:
		return do_send(qp, wr, bytes);
	case FABRIC_WRITE:
	case FABRIC_READ:
		return shm_rdma(qp, wr, sge_bytes(wr), bytes);
	case FABRIC_BIND_MW:
		return do_bind(qp, wr);
	case FABRIC_LOCAL_INV:
		return shm_local_inv(qp, wr);
	default:
		return FABRIC_ERR_LOCAL_PROT;
	}
}

/* Carry out and complete. False: not yet. */
static bool run(struct shm_qp *qp, const struct fabric_wr *wr)
{
	uint32_t bytes = 0;
	int status = qp->state == QP_ERROR ? FABRIC_ERR_FLUSHED : execute(qp, wr, &bytes);

	if (status == SHM_NOT_YET)
		return false;
	shm_complete(qp, wr, (enum fabric_status)status, bytes);
	if (unlikely(status != FABRIC_OK && qp->state != QP_ERROR))
		shm_qp_break(qp);
	return true;
}

bool shm_run_pending(struct shm_qp *qp)
{
	uint32_t before = qp->npending;

	while (qp->npending > 0) {
		struct shm_pending *pending = &qp->pending[qp->pending_first];

		pending->wr.sge = pending->sges;
		if (!run(qp, &pending->wr))
			break;
		qp->pending_first = (qp->pending_first + 1) % qp->max_send_wr;
		qp->npending--;
	}
	shm_qp_update_limits(qp);
	return qp->npending != before;
}

/* Keep a request for later, INLINE data with it. The room for all that there can be is taken the
 * first time. */
static bool defer(struct shm_qp *qp, const struct fabric_wr *wr)
{
	uint32_t place = (qp->pending_first + qp->npending) % qp->max_send_wr;
	struct shm_pending *pending;

	if (!qp->pending)
		qp->pending = mem_zalloc(qp->max_send_wr * sizeof(qp->pending[0]));
	if (wr->flags & FABRIC_INLINE && !qp->pending_inlines)
		qp->pending_inlines =
			mem_zalloc((size_t)qp->max_send_wr * qp->fabric.max_inline + 1);
	if (!qp->pending || (wr->flags & FABRIC_INLINE && !qp->pending_inlines))
		return false;
	pending = &qp->pending[place];
	pending->wr = *wr;
	if (wr->flags & FABRIC_INLINE) {
		uint8_t *copy = qp->pending_inlines + (size_t)place * qp->fabric.max_inline,
			*at = copy;

		for (uint32_t i = 0; i < wr->nsge; i++) {
			memcpy(at, wr->sge[i].addr, wr->sge[i].len);
			at += wr->sge[i].len;
		}
		pending->sges[0] = (struct fabric_sge){copy, (uint32_t)(at - copy), 0};
		pending->wr.nsge = 1;
	} else {
		for (uint32_t i = 0; i < wr->nsge; i++)
			pending->sges[i] = wr->sge[i];
	}
	qp->npending++;
	shm_stall_begin(qp);
	shm_qp_update_limits(qp);
	return true;
}

/* A queue pair that only ever sends by short cuts has no completions. */
static out_of_line bool make_done(struct shm_qp *qp)
{
	qp->done = mem_zalloc((qp->done_mask + 1) * sizeof(qp->done[0]));
	return qp->done != NULL;
}

uint32_t shm_post_send(struct fabric_qp *fqp, const struct fabric_wr *wrs, uint32_t n)
{
	struct shm_qp *qp = (struct shm_qp *)fqp;
	uint32_t i;

	if (qp->state == QP_CONNECTING)
		return 0;
	if (unlikely(!qp->done) && !make_done(qp))
		return 0;
	for (i = 0; i < n && qp->sq_used < qp->max_send_wr; i++) {
		const struct fabric_wr *wr = &wrs[i];
		struct fabric_wr bind;

		if (unlikely(wr->op == FABRIC_BIND_MW && wr->mw && wr->mw->driver)) {
			/* The caller may name the key behind this, be it carried out now or later.
			 */
			bind = *wr;
			bind.rkey =
				key_new(&shm_dev_of(qp)->keys, *(struct key_ref *)wr->mw->driver);
			wr->mw->rkey = bind.rkey;
			wr = &bind;
		}
		if (wr->nsge > SHM_SGES_MAX ||
		    (wr->flags & FABRIC_INLINE && sge_bytes(wr) > fqp->max_inline))
			break;
		if (qp->npending > 0 || !run(qp, wr))
			if (!defer(qp, wr))
				break;
		qp->sq_used++;
	}
	shm_dev_of(qp)->fabric.stats.doorbells += i > 0;
	if (unlikely(!qp->is_hot))
		shm_qp_kick(qp);
	return i;
}

/* Each apart, so that none has the others' stack frames. */
static out_of_line inline_callees bool send_one(struct shm_qp *qp, const uint8_t *data,
						uint32_t len)
{
	ring_write_one(&qp->tx, data, len);
	qp->fabric.dev->stats.sends_direct++;
	return true;
}

static out_of_line inline_callees bool send_two(struct shm_qp *qp, const uint8_t *data,
						uint32_t len)
{
	ring_write_two(&qp->tx, data, len);
	qp->fabric.dev->stats.sends_direct++;
	return true;
}

static out_of_line inline_callees bool send_three(struct shm_qp *qp, const uint8_t *data,
						  uint32_t len)
{
	ring_write_three(&qp->tx, data, len);
	qp->fabric.dev->stats.sends_direct++;
	return true;
}

static out_of_line bool stir(struct shm_qp *qp)
{
	shm_qp_kick(qp);
	return true;
}

/* Nothing is pending on it, and its messages go by a mux: of what shm_qp_kick() asks for,
 * completions are left. */
static inline bool sent_by_mux(struct shm_qp *qp)
{
	qp->fabric.dev->stats.sends_direct++;
	return likely(qp->is_hot || qp->done_head == qp->done_tail) ? true : stir(qp);
}

static out_of_line inline_callees bool mux_one(struct shm_qp *qp, const uint8_t *data, uint32_t len)
{
	ring_write_tagged_one(&qp->mux->tx, qp->mux_tag, data, len);
	return sent_by_mux(qp);
}

static out_of_line inline_callees bool mux_two(struct shm_qp *qp, const uint8_t *data, uint32_t len)
{
	ring_write_tagged_two(&qp->mux->tx, qp->mux_tag, data, len);
	return sent_by_mux(qp);
}

static out_of_line inline_callees bool mux_three(struct shm_qp *qp, const uint8_t *data,
						 uint32_t len)
{
	ring_write_tagged_three(&qp->mux->tx, qp->mux_tag, data, len);
	return sent_by_mux(qp);
}

static out_of_line bool mux_any(struct shm_qp *qp, const uint8_t *data, uint32_t len)
{
	if (qp->is_blocked || len > qp->peer_max_msg_bytes)
		return false;
	return ring_put_tagged(&qp->mux->tx, qp->mux_tag, data, len) == 1 && sent_by_mux(qp);
}

static out_of_line bool send_by_mux(struct shm_qp *qp, const uint8_t *data, uint32_t len)
{
	uint32_t bytes = len + RING_TAG;

	if (unlikely(len - 1 >= qp->mux_small_max || !ring_has_small_room(&qp->mux->tx)))
		return mux_any(qp, data, len);
	if (bytes <= RING_DATA)
		return mux_one(qp, data, len);
	if (bytes <= 2 * RING_DATA)
		return mux_two(qp, data, len);
	return mux_three(qp, data, len);
}

static out_of_line bool send_any(struct shm_qp *qp, const uint8_t *data, uint32_t len)
{
	if (qp->tx_in_mux)
		return send_by_mux(qp, data, len);
	if (qp->is_blocked || len > qp->peer_max_msg_bytes)
		return false;
	if (ring_put_one(&qp->tx, data, len) != 1)
		return false;
	qp->fabric.dev->stats.sends_direct++;
	if (!qp->is_hot)
		shm_qp_kick(qp);
	return true;
}

bool shm_send_direct(struct fabric_qp *fqp, const void *data, uint32_t len)
{
	struct shm_qp *qp = (struct shm_qp *)fqp;

	/* One of no bytes goes the long way, as all do where that maximum is 0. */
	if (unlikely(len - 1 >= qp->small_max || !ring_has_small_room(&qp->tx)))
		return send_any(qp, data, len);
	if (len <= RING_DATA)
		return send_one(qp, data, len);
	if (len <= 2 * RING_DATA)
		return send_two(qp, data, len);
	return send_three(qp, data, len);
}
