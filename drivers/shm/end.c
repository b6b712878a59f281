/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a connection: by its user, by a request that failed, or by its peer. */
#include <errno.h>
#include <sys/socket.h>

#include "shm_dev.h"
#include "shm_qp.h"

void shm_disconnect(struct fabric_qp *fqp)
{
	struct shm_qp *qp = (struct shm_qp *)fqp;
	struct shm_dev *dev;

	if (qp->is_disconnected)
		return;
	shm_end(qp);
	shm_qp_make_hot(qp);
	if (!qp->sock)
		return;
	qp->is_disconnected = true;
	dev = shm_dev_of(qp);
	shm_lock(dev);
	shm_event_drop(&qp->sock->events[0]);
	shm_event_drop(&qp->sock->events[1]);
	shm_sock_enter(qp->sock, SOCK_DEAD);
	shm_unlock(dev);
	/* The control thread is told by epoll, and watches it no more. */
	(void)shutdown(qp->sock->fd, SHUT_RDWR);
}

void shm_qp_break(struct shm_qp *qp)
{
	shm_end(qp);
	shm_qp_make_hot(qp); /* flushes are to be polled */
	if (qp->sock)
		shm_disconnect(&qp->fabric);
}

void shm_qp_lose(struct shm_qp *qp, int error)
{
	shm_end(qp);
	shm_qp_make_hot(qp);
	if (qp->sock)
		shm_sock_ended(qp->sock, error);
}

void shm_qp_violated(struct shm_qp *qp)
{
	shm_dev_of(qp)->fabric.stats.protocol_errors++;
	shm_qp_lose(qp, -EPROTO);
}
