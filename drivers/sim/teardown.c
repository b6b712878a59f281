/* SPDX-License-Identifier: BSD-3-Clause */
/* Frees devices and worlds, with all objects that are left in them. */
#include "sim_world.h"

#include <stdlib.h>

void sim_dev_free(struct sim_dev *dev)
{
	struct sim_mr *mr;
	struct sim_mw *mw;

	while ((mw = LIST_FIRST(&dev->mws))) {
		LIST_REMOVE(mw, entry);
		free(mw);
	}
	while ((mr = LIST_FIRST(&dev->mrs))) {
		LIST_REMOVE(mr, entry);
		free(mr);
	}
	sim_srq_destroy((struct fabric_srq *)dev->srq);
	TAILQ_REMOVE(&dev->world->devs, dev, entry);
	free(dev->cq);
	free(dev);
}

uint32_t sim_world_objects(const struct sim_world *world)
{
	const struct fabric_listener *listener;
	const struct fabric_conn_req *req;
	const struct sim_dev *dev;
	const struct sim_mr *mr;
	const struct sim_mw *mw;
	uint32_t n = 0;

	TAILQ_FOREACH(dev, &world->devs, entry)
	{
		n += 1 + dev->nqps + (dev->srq != NULL);
		LIST_FOREACH(mr, &dev->mrs, entry)
		n++;
		LIST_FOREACH(mw, &dev->mws, entry)
		n++;
	}
	TAILQ_FOREACH(listener, &world->listeners, entry)
	n++;
	TAILQ_FOREACH(req, &world->reqs, entry)
	n++;
	return n;
}

void sim_world_destroy(struct sim_world *world)
{
	struct fabric_listener *listener;
	struct fabric_conn_req *req;
	struct sim_dev *dev;

	if (!world)
		return;
	for (uint32_t i = 1; i < world->nqps; i++)
		if (world->qps[i])
			sim_qp_free(world->qps[i]);
	while ((req = TAILQ_FIRST(&world->reqs))) {
		TAILQ_REMOVE(&world->reqs, req, entry);
		free(req);
	}
	while ((listener = TAILQ_FIRST(&world->listeners))) {
		TAILQ_REMOVE(&world->listeners, listener, entry);
		free(listener);
	}
	while ((dev = TAILQ_FIRST(&world->devs)))
		sim_dev_free(dev);
	sim_world_free(world);
}
