/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protection domains of single queue pairs. Each domain has its own registration of all memory that
 * is registered with the device. The registrations are created with the queue pair, before it is
 * connected. If the queue pair exposes nothing, its registrations give local access only.
 */
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "verbs.h"

int verbs_own_domains(struct fabric_dev *fdev)
{
	struct verbs_dev *dev = (struct verbs_dev *)fdev;

	if (dev->own_sges || !TAILQ_EMPTY(&dev->mrs) || !TAILQ_EMPTY(&dev->links) || dev->srq)
		return -EBUSY;
	dev->own_mrs = mem_zalloc(dev->max_mrs * sizeof(dev->own_mrs[0]));
	dev->own_sges = mem_zalloc(VERBS_CHAIN * FABRIC_SGE_MAX * sizeof(dev->own_sges[0]));
	if (dev->own_mrs && dev->own_sges)
		return 0;
	mem_free(dev->own_mrs);
	mem_free(dev->own_sges);
	dev->own_mrs = NULL;
	dev->own_sges = NULL;
	return -ENOMEM;
}

static int add(struct verbs_qp *qp, const struct verbs_mr *m)
{
	uint32_t access = qp->exposes ? m->access : m->access & FABRIC_LOCAL_WRITE;
	int rc;

	qp->mrs[m->index] =
		ibv_reg_mr(qp->pd, m->addr, m->len, verbs_access_flags(qp->dev, access));
	if (qp->mrs[m->index])
		return 0;
	rc = -errno;
	verbs_mr_explain(qp->dev, m->len, rc);
	return rc;
}

static void drop(struct verbs_qp *qp, uint32_t index)
{
	if (qp->mrs[index])
		ibv_dereg_mr(qp->mrs[index]);
	qp->mrs[index] = NULL;
}

int verbs_domain_register(struct verbs_dev *dev, struct verbs_mr *m)
{
	struct verbs_qp *qp;
	int rc = 0;

	while (m->index < dev->max_mrs && dev->own_mrs[m->index])
		m->index++;
	if (m->index == dev->max_mrs)
		return -ENOSPC;
	dev->own_mrs[m->index] = m;
	TAILQ_FOREACH(qp, &dev->own, own)
	if (rc == 0)
		rc = add(qp, m);
	if (rc != 0)
		verbs_domain_deregister(dev, m);
	return rc;
}

void verbs_domain_deregister(struct verbs_dev *dev, const struct verbs_mr *m)
{
	struct verbs_qp *qp;

	TAILQ_FOREACH(qp, &dev->own, own)
	drop(qp, m->index);
	dev->own_mrs[m->index] = NULL;
}

int verbs_domain_create(struct verbs_qp *qp)
{
	struct verbs_dev *dev = qp->dev;
	int rc = 0;

	qp->mrs = mem_zalloc(dev->max_mrs * sizeof(qp->mrs[0]));
	if (!qp->mrs)
		return -ENOMEM;
	TAILQ_INSERT_TAIL(&dev->own, qp, own);
	qp->pd = ibv_alloc_pd(dev->context);
	if (!qp->pd)
		return -errno;
	for (uint32_t index = 0; index < dev->max_mrs && rc == 0; index++)
		if (dev->own_mrs[index])
			rc = add(qp, dev->own_mrs[index]);
	return rc;
}

void verbs_domain_destroy(struct verbs_qp *qp)
{
	if (!qp->mrs)
		return;
	TAILQ_REMOVE(&qp->dev->own, qp, own);
	for (uint32_t index = 0; index < qp->dev->max_mrs; index++)
		drop(qp, index);
	if (qp->pd)
		ibv_dealloc_pd(qp->pd);
	mem_free(qp->mrs);
	qp->mrs = NULL;
}

struct ibv_sge *verbs_domain_sges(const struct verbs_qp *qp, const struct fabric_wr *wr, uint32_t i)
{
	struct ibv_sge *sges = &qp->dev->own_sges[i * FABRIC_SGE_MAX];

	for (uint32_t j = 0; j < wr->nsge && j < FABRIC_SGE_MAX; j++)
		sges[j] = (struct ibv_sge){.addr = (uintptr_t)wr->sge[j].addr,
					   .length = wr->sge[j].len,
					   .lkey = verbs_local_key(qp, wr->sge[j].lkey)};
	return sges;
}

uint32_t verbs_qp_rkey(const struct fabric_qp *fqp, uint32_t rkey)
{
	const struct verbs_qp *qp = (const struct verbs_qp *)fqp;

	if (!qp->exposes || !qp->mrs || rkey - 1 >= qp->dev->max_mrs || !qp->mrs[rkey - 1])
		return 0;
	return qp->mrs[rkey - 1]->rkey;
}
