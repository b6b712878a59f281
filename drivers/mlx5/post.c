/* SPDX-License-Identifier: BSD-3-Clause */
/* Posts work requests: builds their entries, and rings one doorbell for all of them. */
#include "mlx5.h"

/* Builds the entry of a bind. On success, wr->mw has the new key. */
static bool build_bind(struct verbs_qp *qp, struct mlx5_direct_qp *direct,
		       const struct fabric_wr *wr)
{
	struct verbs_mw *w = wr->mw->driver;
	uint32_t rkey;

	if (!verbs_mw_prepare(qp, w))
		return false;
	rkey = ibv_inc_rkey(w->ibv->rkey);
	if (!mlx5_send_ring_build_bind(&direct->qp.send, wr, qp->sq.posted, w->ibv->rkey, rkey))
		return false;
	w->ibv->rkey = rkey;
	wr->mw->rkey = rkey;
	return true;
}

/* Builds the entry of a work request with the keys of the queue pair's own domain. */
static bool build_own(struct verbs_qp *qp, struct mlx5_direct_qp *direct,
		      const struct fabric_wr *wr)
{
	struct fabric_wr own = *wr;

	/* The elements have the same layout, as post.c of the driver verbs checks. */
	own.sge = (struct fabric_sge *)(void *)verbs_domain_sges(qp, wr, 0);
	return mlx5_send_ring_build(&direct->qp.send, &own, qp->sq.posted);
}

uint32_t mlx5_post_send(struct fabric_qp *fqp, const struct fabric_wr *wrs, uint32_t n)
{
	struct verbs_qp *qp = (struct verbs_qp *)fqp;
	struct mlx5_direct_qp *direct = qp->direct;
	uint32_t done;

	n = verbs_queue_room(&qp->sq, n);
	if (unlikely(qp->state != QP_READY))
		return verbs_post_unready(qp, wrs, n);
	for (done = 0; done < n; done++) {
		const struct fabric_wr *wr = &wrs[done];
		bool is_built;

		if (unlikely(wr->op == FABRIC_BIND_MW))
			is_built = build_bind(qp, direct, wr);
		else if (unlikely(qp->mrs != NULL))
			is_built = build_own(qp, direct, wr);
		else
			is_built = mlx5_send_ring_build(&direct->qp.send, wr, qp->sq.posted);
		if (unlikely(!is_built))
			break;
		verbs_count_post(&qp->dev->fabric.stats, wr->op);
		verbs_queue_take(&qp->sq, wr->wr_id, wr->op, (uint32_t)verbs_wr_bytes(wr));
	}
	if (likely(done > 0)) {
		mlx5_send_ring_notify(&direct->qp.send);
		qp->dev->fabric.stats.doorbells++;
	}
	return done;
}
