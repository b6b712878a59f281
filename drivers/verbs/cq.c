/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues. A device object creates as many as it needs, so that none of them overflows
 * even if all work requests complete at once.
 */
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "verbs.h"

#define CQ_MIN 1024u

static void cq_destroy(struct verbs_dev *dev, struct verbs_cq *cq)
{
	ibv_destroy_cq(cq->ibv);
	if (dev->path)
		dev->path->cq_close(cq);
	mem_free(cq);
}

static int cq_create(struct verbs_dev *dev, uint32_t entries, uint32_t shared,
		     struct verbs_cq **out)
{
	uint32_t max = (uint32_t)dev->device.max_cqe;
	uint64_t size = (uint64_t)entries * dev->max_connections + shared;
	struct verbs_cq *cq;
	int rc;

	if ((uint64_t)entries + shared > max) {
		VERBS_LOG(ERROR,
			  "%s: the queues of a connection need %u completions, and a completion "
			  "queue has at most %u: lower credits",
			  dev->name, entries + shared, max);
		return -EINVAL;
	}
	if (size < CQ_MIN)
		size = CQ_MIN;
	if (size > max)
		size = max;
	cq = mem_zalloc(sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	cq->ibv = ibv_create_cq(dev->context, (int)size, NULL, dev->channel, 0);
	if (!cq->ibv) {
		rc = -errno;
		VERBS_LOG(ERROR, "%s: no completion queue of %u entries: %s", dev->name,
			  (uint32_t)size, strerror(-rc));
		mem_free(cq);
		return rc;
	}
	rc = dev->path ? dev->path->cq_open(cq) : 0;
	if (rc != 0) {
		cq_destroy(dev, cq);
		return rc;
	}
	cq->size = (uint32_t)size;
	TAILQ_INSERT_TAIL(&dev->cqs, cq, entry);
	*out = cq;
	return 0;
}

int verbs_cq_get(struct verbs_dev *dev, uint32_t entries, uint32_t shared, struct verbs_cq **out)
{
	struct verbs_cq *cq;
	int rc;

	TAILQ_FOREACH(cq, &dev->cqs, entry)
	if (cq->size - cq->used >= entries + (cq->has_shared ? 0 : shared))
		break;
	if (!cq) {
		rc = cq_create(dev, entries, shared, &cq);
		if (rc != 0)
			return rc;
	}
	if (shared && !cq->has_shared) {
		cq->has_shared = true;
		cq->used += shared;
	}
	cq->used += entries;
	*out = cq;
	return 0;
}

void verbs_cq_put(struct verbs_cq *cq, uint32_t entries)
{
	/*
	 * The entries become free only when a poll finds the completion queue empty, because
	 * completions of a destroyed queue pair can still be in it.
	 */
	cq->stale += entries;
}

void verbs_cq_destroy_all(struct verbs_dev *dev)
{
	struct verbs_cq *cq;

	while ((cq = TAILQ_FIRST(&dev->cqs))) {
		TAILQ_REMOVE(&dev->cqs, cq, entry);
		cq_destroy(dev, cq);
	}
}
