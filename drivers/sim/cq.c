/* SPDX-License-Identifier: BSD-3-Clause */
/* The completion queue of a device. */
#include "sim_world.h"

#include <errno.h>
#include <stdlib.h>

int sim_cq_reserve(struct sim_dev *dev, uint32_t more)
{
	uint32_t size = dev->cq_size ? dev->cq_size : 64;
	struct sim_cqe *cq;

	while (size < dev->cq_reserved + more)
		size *= 2;
	if (size > dev->cq_size) {
		cq = calloc(size, sizeof(*cq));
		if (!cq)
			return -ENOMEM;
		for (uint32_t i = 0; i < dev->cq_count; i++)
			cq[i] = dev->cq[(dev->cq_head + i) & (dev->cq_size - 1)];
		free(dev->cq);
		dev->cq = cq;
		dev->cq_size = size;
		dev->cq_head = 0;
	}
	dev->cq_reserved += more;
	return 0;
}

void sim_cq_push(struct sim_qp *qp, const struct fabric_wc *wc, uint64_t position)
{
	struct sim_dev *dev = qp->dev;

	dev->cq[(dev->cq_head + dev->cq_count++) & (dev->cq_size - 1)] =
		(struct sim_cqe){.wc = *wc, .qp = qp->number, .position = position};
	sim_note(dev->world, "completion", qp->number, position,
		 (uint64_t)wc->op << 40 | (uint64_t)wc->status << 32 | wc->byte_len);
	sim_wake(dev);
}

/* Drops the completions of a queue pair that is being destroyed, or with 0 those of shared receives
 * without a queue pair. */
void sim_cq_drop(struct sim_dev *dev, uint32_t qp)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < dev->cq_count; i++) {
		struct sim_cqe *cqe = &dev->cq[(dev->cq_head + i) & (dev->cq_size - 1)];

		if (cqe->qp != qp)
			dev->cq[(dev->cq_head + kept++) & (dev->cq_size - 1)] = *cqe;
	}
	dev->cq_count = kept;
}
