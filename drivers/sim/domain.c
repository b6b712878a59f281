/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protection domains of single queue pairs. Each queue pair that exposes memory has its own key for
 * each registration with remote rights.
 */
#include "sim_world.h"

#include <errno.h>
#include <stdlib.h>

int sim_own_domains(struct fabric_dev *fdev)
{
	struct sim_dev *dev = (struct sim_dev *)fdev;

	if (dev->nregions > 0 || dev->nqps > 0 || dev->srq || !LIST_EMPTY(&dev->mws))
		return -EBUSY;
	dev->own_domains = true;
	return 0;
}

static int add(struct sim_qp *qp, struct sim_mr *mr)
{
	struct sim_own_key *own;

	if (!(mr->local.access & (FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE)) || !qp->attr.exposes)
		return 0;
	own = calloc(1, sizeof(*own));
	if (!own)
		return -ENOMEM;
	own->key = mr->local;
	own->key.kind = SIM_RKEY;
	own->key.key = sim_key_make(qp->dev->world);
	own->key.qp = qp->number;
	sim_key_enter(qp->dev, &own->key);
	LIST_INSERT_HEAD(&qp->own_keys, own, entry);
	return 0;
}

static void drop(struct sim_own_key *own)
{
	LIST_REMOVE(&own->key, entry);
	LIST_REMOVE(own, entry);
	free(own);
}

int sim_domain_create(struct sim_qp *qp)
{
	struct sim_mr *mr;
	int rc = 0;

	LIST_FOREACH(mr, &qp->dev->mrs, entry)
	if (rc == 0 && qp->dev->own_domains)
		rc = add(qp, mr);
	return rc;
}

void sim_domain_destroy(struct sim_qp *qp)
{
	while (!LIST_EMPTY(&qp->own_keys))
		drop(LIST_FIRST(&qp->own_keys));
}

int sim_domain_add(struct sim_dev *dev, struct sim_mr *mr)
{
	const struct sim_world *world = dev->world;
	int rc = 0;

	for (uint32_t i = 1; i < world->nqps && rc == 0; i++)
		if (world->qps[i] && world->qps[i]->dev == dev)
			rc = add(world->qps[i], mr);
	if (rc != 0)
		sim_domain_remove(dev, mr);
	return rc;
}

void sim_domain_remove(struct sim_dev *dev, const struct sim_mr *mr)
{
	const struct sim_world *world = dev->world;

	for (uint32_t i = 1; i < world->nqps && dev->own_domains; i++) {
		struct sim_own_key *own, *next;

		if (!world->qps[i] || world->qps[i]->dev != dev)
			continue;
		for (own = LIST_FIRST(&world->qps[i]->own_keys); own; own = next) {
			next = LIST_NEXT(own, entry);
			if (own->key.mr == mr)
				drop(own);
		}
	}
}

uint32_t sim_qp_rkey(const struct fabric_qp *fqp, uint32_t rkey)
{
	const struct sim_own_key *own;

	LIST_FOREACH(own, &((const struct sim_qp *)fqp)->own_keys, entry)
	if (own->key.mr->local.key == rkey)
		return own->key.key;
	return 0;
}
