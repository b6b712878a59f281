/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posts work requests to the device in chains of up to VERBS_CHAIN work requests. A bind is posted
 * alone.
 */
#include <stddef.h>

#include "compiler.h"
#include "verbs.h"

/* A list of fabric_sge is passed to the device as a list of ibv_sge. */
_Static_assert(sizeof(struct fabric_sge) == sizeof(struct ibv_sge) &&
		       offsetof(struct fabric_sge, addr) == offsetof(struct ibv_sge, addr) &&
		       offsetof(struct fabric_sge, len) == offsetof(struct ibv_sge, length) &&
		       offsetof(struct fabric_sge, lkey) == offsetof(struct ibv_sge, lkey),
	       "elements are passed on as they are");

static bool to_bind(struct verbs_qp *qp, const struct fabric_wr *wr, struct ibv_send_wr *out)
{
	struct verbs_mw *w = wr->mw->driver;
	struct ibv_mr *mr = verbs_mr_find(qp->dev, wr->sge[0].lkey);
	unsigned access = 0;

	if (!mr || !verbs_mw_prepare(qp, w))
		return false;
	if (wr->access & FABRIC_REMOTE_READ)
		access |= IBV_ACCESS_REMOTE_READ;
	if (wr->access & FABRIC_REMOTE_WRITE)
		access |= IBV_ACCESS_REMOTE_WRITE;
	out->opcode = IBV_WR_BIND_MW;
	out->num_sge = 0;
	out->bind_mw.mw = w->ibv;
	out->bind_mw.rkey = ibv_inc_rkey(w->ibv->rkey);
	out->bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = mr,
		.addr = (uintptr_t)wr->sge[0].addr,
		.length = wr->sge[0].len,
		.mw_access_flags = access,
	};
	return true;
}

/*
 * Converts a work request to dev->wrs[i], the i-th of a chain. Unless it is a bind, the function
 * also adds it to the send queue. Returns false if this is not possible.
 */
static bool convert(struct verbs_qp *qp, const struct fabric_wr *wr, uint32_t i)
{
	struct ibv_send_wr *out = &qp->dev->wrs[i];
	uint64_t bytes = verbs_wr_bytes(wr);

	*out = (struct ibv_send_wr){
		.wr_id = verbs_wr_id(qp, 0, qp->sq.posted),
		.sg_list = (struct ibv_sge *)(void *)wr->sge,
		.num_sge = (int)wr->nsge,
		.send_flags = (wr->flags & FABRIC_SIGNALED ? IBV_SEND_SIGNALED : 0u) |
			      (wr->flags & FABRIC_INLINE ? IBV_SEND_INLINE : 0u) |
			      (wr->flags & FABRIC_FENCE ? IBV_SEND_FENCE : 0u),
	};
	if (unlikely(qp->mrs != NULL))
		out->sg_list = verbs_domain_sges(qp, wr, i);
	switch (wr->op) {
	case FABRIC_SEND:
	case FABRIC_SEND_INV:
		out->opcode = wr->op == FABRIC_SEND ? IBV_WR_SEND : IBV_WR_SEND_WITH_INV;
		out->invalidate_rkey = wr->rkey;
		break;
	case FABRIC_WRITE:
	case FABRIC_READ:
		out->opcode = wr->op == FABRIC_WRITE ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
		out->wr.rdma.remote_addr = wr->raddr;
		out->wr.rdma.rkey = wr->rkey;
		if (bytes == 0)
			out->num_sge = 0; /* so that the peer's key is not checked */
		break;
	case FABRIC_BIND_MW:
		return to_bind(qp, wr, out);
	case FABRIC_LOCAL_INV:
		out->opcode = IBV_WR_LOCAL_INV;
		out->num_sge = 0;
		out->invalidate_rkey = wr->rkey;
		break;
	case FABRIC_RECV:
		return false;
	}
	verbs_count_post(&qp->dev->fabric.stats, wr->op);
	verbs_queue_take(&qp->sq, wr->wr_id, wr->op, (uint32_t)bytes);
	return true;
}

/* Posts the first 'n' work requests of dev->wrs. Returns how many of them the device has accepted.
 * The others are removed from the send queue. */
static uint32_t ring(struct verbs_qp *qp, uint32_t n)
{
	struct ibv_send_wr *wrs = qp->dev->wrs, *bad = NULL;

	wrs[n - 1].next = NULL;
	qp->dev->fabric.stats.doorbells++;
	if (likely(ibv_post_send(qp->ibv, wrs, &bad) == 0))
		return n;
	if (!bad) {
		/*
		 * The device has all work requests in its queue, and only the doorbell failed. They
		 * complete as flushed.
		 */
		verbs_qp_fail(qp);
		verbs_link_break(qp);
		return n;
	}
	qp->sq.posted -= n - (uint32_t)(bad - wrs);
	return (uint32_t)(bad - wrs);
}

/* Posts up to 'n' work requests in one chain, but none from the next bind on. Returns how many of
 * them were posted. */
static uint32_t post_send_chain(struct verbs_qp *qp, const struct fabric_wr *wrs, uint32_t n)
{
	struct verbs_dev *dev = qp->dev;
	uint32_t i;

	for (i = 0; i < n && wrs[i].op != FABRIC_BIND_MW; i++) {
		if (!convert(qp, &wrs[i], i))
			break;
		dev->wrs[i].next = &dev->wrs[i + 1];
	}
	return i > 0 ? ring(qp, i) : 0;
}

/*
 * Posts a bind in a chain of its own, because libibverbs reads the latest key of the window when
 * the bind is posted. Returns 1, or 0 if the bind was not posted. On success, wr->mw has the new
 * key.
 */
static uint32_t post_bind(struct verbs_qp *qp, const struct fabric_wr *wr)
{
	struct verbs_dev *dev = qp->dev;
	uint32_t rkey;

	if (!convert(qp, wr, 0))
		return 0;
	verbs_queue_take(&qp->sq, wr->wr_id, wr->op, 0);
	rkey = dev->wrs[0].bind_mw.rkey;
	if (ring(qp, 1) == 0)
		return 0;
	dev->wrs[0].bind_mw.mw->rkey = rkey;
	wr->mw->rkey = rkey;
	return 1;
}

uint32_t verbs_post_unready(struct verbs_qp *qp, const struct fabric_wr *wrs, uint32_t n)
{
	if (qp->state == QP_CONNECTING)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		verbs_queue_take(&qp->sq, wrs[i].wr_id, wrs[i].op, 0);
	return n;
}

uint32_t verbs_post_send(struct fabric_qp *fqp, const struct fabric_wr *wrs, uint32_t n)
{
	struct verbs_qp *qp = (struct verbs_qp *)fqp;
	uint32_t done = 0;

	n = verbs_queue_room(&qp->sq, n);
	if (unlikely(qp->state != QP_READY))
		return verbs_post_unready(qp, wrs, n);
	while (done < n) {
		uint32_t want = n - done < VERBS_CHAIN ? n - done : VERBS_CHAIN;
		uint32_t took = wrs[done].op == FABRIC_BIND_MW
					? post_bind(qp, &wrs[done])
					: post_send_chain(qp, wrs + done, want);

		if (took == 0)
			break;
		done += took;
	}
	return done;
}
