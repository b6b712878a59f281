/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeping. All completion queues of a device object report to one completion channel, which is in
 * the waker (waker.h), but only after ibv_req_notify_cq(). A completion that arrived before that
 * call is not reported. Therefore arm polls each queue once more afterwards. The hub's thread
 * reports events of connections by the waker.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

#include "verbs.h"

/* the longest sleep while a device returns the receives of a destroyed queue pair */
#define SHORT_NS 1000000u

int verbs_channel_create(struct verbs_dev *dev)
{
	int flags;

	dev->channel = ibv_create_comp_channel(dev->context);
	if (!dev->channel)
		return -errno;
	flags = fcntl(dev->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(dev->channel->fd, F_SETFL, flags | O_NONBLOCK) != 0)
		return -errno;
	return 0;
}

int verbs_wake_attach(struct fabric_dev *fdev, struct fabric_waker *waker)
{
	struct verbs_dev *dev = (struct verbs_dev *)fdev;
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};

	atomic_store(&dev->waker, waker);
	if (epoll_ctl(waker->epoll_fd, EPOLL_CTL_ADD, dev->channel->fd, &event) != 0)
		return -errno;
	return 0;
}

void verbs_wake(struct verbs_dev *dev)
{
	struct fabric_waker *waker = atomic_load(&dev->waker);

	if (waker)
		fabric_wake(waker);
}

/* Has the device report the next completion of a queue. Returns 0, -EAGAIN if there is a completion
 * already, or -errno. */
static int request_report(struct verbs_dev *dev, struct verbs_cq *cq)
{
	int rc;

	if (dev->path)
		return dev->path->cq_arm(cq);
	rc = ibv_req_notify_cq(cq->ibv, 0);
	if (rc != 0)
		return -rc;
	if (!cq->has_early)
		cq->has_early = ibv_poll_cq(cq->ibv, 1, &cq->early) == 1;
	return cq->has_early ? -EAGAIN : 0;
}

int verbs_arm(struct fabric_dev *fdev, uint64_t *timeout_ns)
{
	struct verbs_dev *dev = (struct verbs_dev *)fdev;
	const struct verbs_qp *qp;
	struct verbs_cq *cq;

	TAILQ_FOREACH(cq, &dev->cqs, entry)
	if (request_report(dev, cq) != 0)
		return -EAGAIN;
	TAILQ_FOREACH(qp, &dev->broken, broken)
	if (verbs_can_flush(&qp->sq) || verbs_can_flush(&qp->rq))
		return -EAGAIN;
	if (atomic_load(&dev->nevents) > 0)
		return -EAGAIN;
	if (!TAILQ_EMPTY(&dev->leaving) && SHORT_NS < *timeout_ns)
		*timeout_ns = SHORT_NS;
	return 0;
}

/* Takes the reports from the channel, which are not needed any more. */
void verbs_disarm(struct fabric_dev *fdev)
{
	struct verbs_dev *dev = (struct verbs_dev *)fdev;
	struct ibv_cq *cq;
	void *context;

	while (ibv_get_cq_event(dev->channel, &cq, &context) == 0)
		ibv_ack_cq_events(cq, 1);
}
