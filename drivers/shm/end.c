/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends a connection because the engine disconnects, a work request failed, or the peer did
 * something wrong. */
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
	/* epoll reports the shutdown to the control thread, which then stops watching the socket.
	 */
	(void)shutdown(qp->sock->fd, SHUT_RDWR);
}

void shm_qp_break(struct shm_qp *qp)
{
	shm_end(qp);
	shm_qp_make_hot(qp); /* polls then report the flushed requests */
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

void shm_goodbye(struct fabric_qp *fqp)
{
	const struct shm_msg msg = {
		.magic = SHM_MAGIC, .version = SHM_VERSION, .type = SHM_GOODBYE};
	struct shm_qp *qp = (struct shm_qp *)fqp;

	bool is_open;

	if (!qp->sock)
		return;
	shm_lock(shm_dev_of(qp));
	is_open = qp->sock->state == SOCK_OPEN;
	shm_unlock(shm_dev_of(qp));
	/* If the queue of the peer's socket is full, GOODBYE is not sent. The peer still notices
	 * the end of the connection. */
	if (is_open)
		(void)shm_sock_send(qp->sock, &msg, NULL, 0);
}

void shm_qp_destroy(struct fabric_qp *fqp)
{
	struct shm_qp *qp = (struct shm_qp *)fqp;
	struct shm_dev *dev;

	if (!qp)
		return;
	dev = shm_dev_of(qp);
	shm_end(qp);
	shm_qp_make_hot(qp); /* the turn (turn.h) lists only hot queue pairs */
	shm_stall_end(qp);
	shm_turn_remove_hot(&dev->turns, qp->turn, qp);
	dev->nhot--;
	dev->nqps--;
	key_invalidate_all(&dev->keys, qp->conn_id);
	if (qp->sock)
		shm_sock_release(qp->sock);
	shm_qp_free(qp);
}

void shm_end(struct shm_qp *qp)
{
	if (qp->state == QP_ERROR)
		return;
	qp->state = QP_ERROR;
	shm_qp_update_limits(qp);
	if (!qp->tx.cells.base)
		return;
	atomic_store(&ring_shared_of(&qp->rx.cells)->is_over, 1);
	shm_wait_begin(qp);
}

bool shm_writes_have_ended(struct fabric_qp *fqp)
{
	struct shm_qp *qp = (struct shm_qp *)fqp;
	enum shm_wait wait;

	if (qp->state != QP_ERROR || qp->wait_since == 0)
		return qp->state == QP_ERROR;
	wait = shm_wait_look(qp, 0);
	if (wait == WAIT_ON)
		return false;
	shm_dev_of(qp)->fabric.stats.protocol_errors += wait == WAIT_LATE;
	qp->wait_since = 0;
	return true;
}
