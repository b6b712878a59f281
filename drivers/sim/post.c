/* SPDX-License-Identifier: BSD-3-Clause */
/* Posts work requests. */
#include "sim_world.h"

#include <string.h>

static bool wr_ok(const struct sim_qp *qp, const struct fabric_wr *wr)
{
	const struct fabric_dev_attr *dev = &qp->dev->base.attr;
	uint64_t len = 0;

	if (wr->nsge > qp->attr.max_sge)
		return false;
	for (uint32_t i = 0; i < wr->nsge; i++)
		len += wr->sge[i].len;
	if (len > UINT32_MAX)
		return false;
	if (wr->flags & FABRIC_INLINE &&
	    (wr->op == FABRIC_READ || wr->op >= FABRIC_BIND_MW || len > qp->base.max_inline))
		return false;
	switch (wr->op) {
	case FABRIC_SEND:
	case FABRIC_WRITE:
		return true;
	case FABRIC_SEND_INV:
		return dev->has_send_inv;
	case FABRIC_READ:
		return qp->attr.max_rd_atomic > 0;
	case FABRIC_BIND_MW:
		return dev->has_mw && wr->mw && wr->mw->driver && wr->nsge == 1 &&
		       !(wr->access & ~(uint32_t)(FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE));
	case FABRIC_LOCAL_INV:
		return dev->has_mw;
	default:
		return false;
	}
}

static void enqueue(struct sim_qp *qp, const struct fabric_wr *wr)
{
	uint64_t position = qp->sq.tail++;
	struct sim_swr *swr = sim_sq_at(qp, position);
	uint8_t *to = qp->sq.inline_data + (position % qp->sq.size) * qp->base.max_inline;

	*swr = (struct sim_swr){.wr = *wr, .state = SIM_POSTED};
	for (uint32_t i = 0; i < wr->nsge; i++) {
		swr->sges[i] = wr->sge[i];
		swr->len += wr->sge[i].len;
	}
	swr->wr.sge = swr->sges;
	if (wr->flags & FABRIC_INLINE) {
		swr->inline_data = to;
		for (uint32_t i = 0; i < wr->nsge; to += wr->sge[i++].len)
			if (wr->sge[i].len > 0)
				memcpy(to, wr->sge[i].addr, wr->sge[i].len);
	}
	if (wr->op == FABRIC_BIND_MW) {
		swr->bind_mw = ((const struct sim_mw *)wr->mw->driver)->number;
		swr->bind_key = sim_key_make(qp->dev->world);
		wr->mw->rkey = swr->bind_key;
	}
	swr->has_sum = sim_source_sum(qp, swr, &swr->source_sum);
	sim_note(qp->dev->world, "post", qp->number, position, (uint64_t)wr->op << 32 | swr->len);
}

uint32_t sim_post_send(struct fabric_qp *fqp, const struct fabric_wr *wrs, uint32_t n)
{
	struct sim_qp *qp = (struct sim_qp *)fqp;
	uint32_t taken = 0;

	if (qp->dev->is_dead || (!qp->may_send && qp->state != SIM_BROKEN))
		return 0;
	while (taken < n && qp->sq.tail - qp->sq.head < qp->sq.size && wr_ok(qp, &wrs[taken]))
		enqueue(qp, &wrs[taken++]);
	return sim_qp_posted(qp, taken, sim_start);
}
