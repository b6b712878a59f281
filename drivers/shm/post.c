/* SPDX-License-Identifier: BSD-3-Clause */
/* Work requests. A request is carried out when it is posted: a Send is copied into the ring, and an
 * RDMA Write or Read is one memcpy between local memory and the mapping of the peer's memory. If
 * the ring is full, or an earlier request waits, the request is stored in the pending queue, whose
 * requests stall.c tries in order. Therefore completions are in order. An RDMA Write is visible
 * before a Send that was posted after it, because the Send's header is stored with release. */
#include "alloc.h"
#include "compiler.h"
#include "shm_dev.h"
#include "shm_qp.h"

/* Ends a request. The request gives a completion if it is signalled or has failed. When this
 * completion is polled, the send queue entries of the request and of the unsignalled requests
 * before it become free. */
static void post_complete(struct shm_qp *qp, const struct fabric_wr *wr, enum fabric_status status,
			  uint32_t bytes)
{
	qp->unsignalled++;
	if (status == FABRIC_OK && !(wr->flags & FABRIC_SIGNALED))
		return;
	qp->done[qp->done_tail++ & qp->done_mask] = (struct shm_done){
		.wr_id = wr->wr_id,
		.bytes = bytes,
		.entries = qp->unsignalled,
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

/* Binds the memory window wr->mw, with the new key wr->rkey. Returns FABRIC_OK, or
 * FABRIC_ERR_LOCAL_PROT if the memory does not permit it or the window is bound already. */
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
		return shm_send(qp, wr, sge_bytes(wr), bytes);
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

/* Carries out and completes a request. If the request fails, the queue pair enters ERROR. Returns
 * false if the request has to wait, otherwise true. */
static bool run(struct shm_qp *qp, const struct fabric_wr *wr)
{
	uint32_t bytes = 0;
	int status = qp->state == QP_ERROR ? FABRIC_ERR_FLUSHED : execute(qp, wr, &bytes);

	if (status == SHM_NOT_YET)
		return false;
	post_complete(qp, wr, (enum fabric_status)status, bytes);
	if (unlikely(status != FABRIC_OK && qp->state != QP_ERROR))
		shm_qp_break(qp);
	return true;
}

bool shm_run_pending(struct shm_qp *qp)
{
	bool are_several = shm_dev_of(qp)->turns.n > 1;
	uint32_t before = qp->npending;
	uint32_t end = are_several && before > SHM_TURN_SHARE ? before - SHM_TURN_SHARE : 0;

	while (qp->npending > end) {
		struct shm_pending *pending = &qp->pending[qp->pending_first];

		pending->wr.sge = pending->sges;
		if (!run(qp, &pending->wr))
			break;
		qp->pending_first = (qp->pending_first + 1) % qp->max_send_wr;
		qp->npending--;
		if (are_several && qp->turn->debt > 0)
			break;
	}
	shm_qp_update_limits(qp);
	return qp->npending != before;
}

/* Adds a request, with its inline data, to the pending queue. The first call allocates memory for
 * the maximum number of requests. Returns false if no memory is available. */
static bool defer(struct shm_qp *qp, const struct fabric_wr *wr)
{
	uint32_t index = (qp->pending_first + qp->npending) % qp->max_send_wr;
	struct shm_pending *pending;

	if (!qp->pending)
		qp->pending = mem_zalloc(qp->max_send_wr * sizeof(qp->pending[0]));
	if (wr->flags & FABRIC_INLINE && !qp->pending_inlines)
		qp->pending_inlines =
			mem_zalloc((size_t)qp->max_send_wr * qp->fabric.max_inline + 1);
	if (!qp->pending || (wr->flags & FABRIC_INLINE && !qp->pending_inlines))
		return false;
	pending = &qp->pending[index];
	pending->wr = *wr;
	if (wr->flags & FABRIC_INLINE) {
		uint8_t *copy = qp->pending_inlines + (size_t)index * qp->fabric.max_inline,
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

/* Allocates the queue of completions. Returns false if no memory is available. A queue pair on
 * which no work request is posted needs no such queue. */
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
			/* The caller can send the new key to the peer after this post, whether the
			 * bind is carried out at once or later. */
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
