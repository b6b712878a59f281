/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and frees queue pairs, and attaches rings to them. */
#include <errno.h>

#include "alloc.h"
#include "shm_dev.h"
#include "shm_qp.h"

static uint32_t power_of_two(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

/* 'asleep' of a peer whose key table is not known yet */
static const _Atomic uint32_t awake;

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
	qp->peer_asleep = &awake;
	qp->makes_barriers = dev->has_own_barrier;
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
