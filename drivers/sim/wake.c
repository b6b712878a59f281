/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeping. A completion or an event wakes an armed device when the world creates it. The default
 * world advances only in polls. Therefore its devices have work while the world has an event.
 */
#include "sim_world.h"

#include <errno.h>

int sim_wake_attach(struct fabric_dev *dev, struct fabric_waker *waker)
{
	((struct sim_dev *)dev)->waker = waker;
	return 0;
}

int sim_arm(struct fabric_dev *fdev, uint64_t *timeout_ns)
{
	struct sim_dev *dev = (struct sim_dev *)fdev;

	(void)timeout_ns; /* the simulation wakes a device for all work */
	if (dev->is_dead)
		return 0;
	if (dev->cq_count > 0 || !TAILQ_EMPTY(&dev->cm))
		return -EAGAIN;
	return dev->world->runs_itself && sim_next(dev->world) != UINT64_MAX ? -EAGAIN : 0;
}

void sim_disarm(struct fabric_dev *dev)
{
	(void)dev;
}
