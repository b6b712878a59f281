/* SPDX-License-Identifier: BSD-3-Clause */
/* Connecting and leaving: what the engine's thread does of it. The rest is in cm_thread.c, listeners in listen.c. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "shm.h"
#include "users.h"

#define RING_DEFAULT_MAX (256u << 10)
#define RING_DEFAULT_MIN (16u << 10)
/* How long a connection that the peer has left may wait for a lane that does not go on. */
#define DRAIN_WAIT_S 1

static uint32_t ring_bytes_for(const struct shm_dev *dev, const struct fabric_qp_attr *attr)
{
	uint64_t want = (uint64_t)(attr->max_recv_wr + 1) * ring_cells_bytes(attr->max_msg_bytes);
	uint32_t size = RING_BYTES_MIN;

	if (want > RING_DEFAULT_MAX)
		want = RING_DEFAULT_MAX;
	if (want < RING_DEFAULT_MIN)
		want = RING_DEFAULT_MIN;
	if (dev->ring_option_bytes)
		want = dev->ring_option_bytes;
	while (size < want || ring_msg_max(size) < attr->max_msg_bytes)
		size *= 2;
	return size;
}

static uint32_t random_id(void)
{
	uint32_t id;

	while (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id) || id == KEY_ANY_CONN)
		;
	return id;
}

static void introduce(struct shm_qp *qp, enum shm_msg_type type, const void *private_data,
		      uint32_t private_len, struct shm_msg *msg)
{
	*msg = (struct shm_msg){
		.magic = SHM_MAGIC,
		.version = SHM_VERSION,
		.type = (uint16_t)type,
		.max_msg_bytes = qp->max_msg_bytes,
		.conn_id = qp->conn_id,
		.private_len = private_len,
	};
	if (private_len)
		memcpy(msg->private_data, private_data, private_len);
}

static void qp_add(struct shm_dev *dev, struct shm_qp *qp)
{
	qp->is_hot = true;
	TAILQ_INSERT_TAIL(&dev->hot, qp, entry);
	dev->nhot++;
	dev->nqps++;
}

static int say_hello(struct shm_dev *dev, struct shm_sock *sock, int lanes_fd, const void *private_data,
		     uint32_t private_len)
{
	struct shm_qp *qp = sock->qp;
	int fds[SHM_FDS_MAX], rings_fd;
	struct shm_msg msg;
	uint32_t n;
	int rc;

	sock->rings_bytes = 2 * ring_footprint(sock->ring_bytes);
	sock->rings = shm_create("weir-shm-rings", sock->rings_bytes, false, &rings_fd);
	if (!sock->rings)
		return -errno;
	shm_qp_set_rings(qp, sock->rings, sock->ring_bytes, true);
	introduce(qp, SHM_HELLO, private_data, private_len, &msg);
	msg.ring_bytes = sock->ring_bytes;
	msg.has_lanes = lanes_fd >= 0;
	sock->has_lanes = lanes_fd >= 0;
	fds[0] = rings_fd;
	fds[1] = dev->keys.fd;
	n = shm_offer_regions(dev, qp->exposes ? UINT64_MAX : 0, &msg, fds + 2);
	fds[n + 2] = lanes_fd;
	rc = shm_sock_send(sock, &msg, fds, n + 2 + msg.has_lanes);
	close(rings_fd);
	return rc == -EPIPE || rc == -ECONNRESET ? -ECONNREFUSED
						 : rc; /* it has no place for us and closed at once */
}

int shm_connect(struct fabric_dev *fdev, const char *addr, const struct fabric_qp_attr *attr,
		const void *private_data, uint32_t private_len, struct fabric_qp **out)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;
	struct shm_sock *sock = NULL;
	struct sockaddr_un sun;
	socklen_t len = shm_address(addr, &sun);
	struct shm_qp *qp;
	int fd, lanes_fd, rc;

	if (len == 0 || private_len > FABRIC_PRIVATE_DATA_MAX)
		return -EINVAL;
	rc = shm_qp_create(dev, attr, &qp);
	if (rc != 0)
		return rc;
	qp->conn_id = random_id();
	rc = shm_domain_create(qp);
	if (rc != 0) {
		shm_qp_free(qp);
		return rc;
	}
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sun, len) != 0) {
		/* EAGAIN: the listener's queue is full. */
		rc = errno == EAGAIN ? -ECONNREFUSED : -errno;
		if (fd >= 0)
			close(fd);
		shm_qp_free(qp);
		return rc;
	}
	if (!shm_users_trust(dev, fd, addr)) {
		close(fd);
		shm_qp_free(qp);
		return -EACCES;
	}
	lanes_fd = lanes_offer(dev, qp, addr, fd);
	shm_lock(dev);
	sock = shm_sock_new(dev, fd, SOCK_CONNECTING);
	if (sock) {
		sock->qp = qp;
		sock->ring_bytes = ring_bytes_for(dev, attr);
		rc = say_hello(dev, sock, lanes_fd, private_data, private_len);
		if (rc != 0)
			shm_sock_free(sock);
	} else {
		rc = -ENOSPC;
		close(fd);
	}
	shm_unlock(dev);
	if (rc != 0) {
		shm_qp_free(qp);
		return rc;
	}
	qp->sock = sock;
	qp->peer = &sock->peer;
	qp_add(dev, qp);
	*out = &qp->fabric;
	return 0;
}

/* A request that came to one device is accepted on another: its socket moves. */
static int move(struct shm_sock *sock, struct shm_dev *to)
{
	struct shm_dev *from = sock->dev;
	uint64_t id = 0;
	int rc = 0;

	if (from == to)
		return 0;
	shm_lock(from);
	TAILQ_REMOVE(&from->socks, sock, entry);
	LIST_REMOVE(sock, same);
	from->nsocks--;
	if (sock->listener && sock->state == SOCK_REQUEST)
		sock->listener->nwaiting--;
	sock->listener = NULL;
	if (sock->fd >= 0)
		shm_unwatch(from, sock->fd);
	life_put(from, sock->life);
	sock->life = NULL;
	shm_unlock(from);
	shm_lock(to);
	rc = to->nsocks < to->max_connections ? 0 : -ENOSPC;
	sock->dev = to;
	TAILQ_INSERT_TAIL(&to->socks, sock, entry);
	to->nsocks++;
	if (rc == 0 && sock->fd >= 0) {
		id = shm_watch(to, sock->fd);
		rc = id ? 0 : -ENOMEM;
		sock->life = id ? life_get(to, sock->fd, sock->who.pid) : NULL;
	}
	shm_sock_set_id(sock, id);
	shm_unlock(to);
	return rc;
}

int shm_accept(struct fabric_dev *fdev, struct fabric_conn_req *sock, const struct fabric_qp_attr *attr,
	       const void *private_data, uint32_t private_len, struct fabric_qp **out)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;
	int fds[SHM_FDS_MAX];
	struct shm_msg msg;
	struct shm_qp *qp;
	int rc = private_len > FABRIC_PRIVATE_DATA_MAX ? -EINVAL : shm_qp_create(dev, attr, &qp);

	if (rc != 0) {
		shm_reject(fdev, sock, NULL, 0);
		return rc;
	}
	rc = move(sock, dev);
	qp->conn_id = random_id();
	if (rc == 0)
		rc = shm_domain_create(qp);
	shm_lock(dev);
	if (rc == 0 && sock->state == SOCK_DEAD)
		rc = -ECONNRESET;
	if (rc == 0) {
		uint32_t n;

		shm_qp_set_rings(qp, sock->rings, sock->ring_bytes, false);
		introduce(qp, SHM_ACCEPT, private_data, private_len, &msg);
		msg.has_lanes = lanes_take_place(dev, qp, sock->lanes_fd, sock->who.pid, sock->peer.conn_id,
						 &msg.place);
		if (sock->lanes_fd >= 0)
			close(sock->lanes_fd);
		sock->lanes_fd = -1;
		fds[0] = dev->keys.fd;
		n = shm_offer_regions(dev, qp->exposes ? UINT64_MAX : 0, &msg, fds + 1);
		rc = shm_sock_send(sock, &msg, fds, n + 1);
	}
	if (rc != 0) {
		shm_sock_free(sock);
		shm_unlock(dev);
		shm_qp_free(qp);
		return rc;
	}
	sock->qp = qp;
	shm_sock_enter(sock, SOCK_ACCEPTED);
	shm_unlock(dev);
	qp->peer_max_msg_bytes = sock->peer.max_msg_bytes;
	qp->sock = sock;
	qp->peer = &sock->peer;
	qp_add(dev, qp);
	*out = &qp->fabric;
	return 0;
}

int shm_reject(struct fabric_dev *fdev, struct fabric_conn_req *sock, const void *private_data,
	       uint32_t private_len)
{
	struct shm_msg msg = {.magic = SHM_MAGIC, .version = SHM_VERSION, .type = SHM_REJECT};
	struct shm_dev *dev = sock->dev;
	int rc = 0;

	(void)fdev;
	if (private_len > FABRIC_PRIVATE_DATA_MAX)
		private_len = FABRIC_PRIVATE_DATA_MAX;
	msg.private_len = private_len;
	if (private_len)
		memcpy(msg.private_data, private_data, private_len);
	shm_lock(dev);
	if (sock->fd >= 0)
		rc = shm_sock_send(sock, &msg, NULL, 0);
	shm_sock_free(sock);
	shm_unlock(dev);
	return rc;
}

/* What an event means for its queue pair. False: it concerns none that is left. */
static bool apply(struct shm_event *event)
{
	struct shm_qp *qp = event->sock->qp;

	if (event->event.kind == FABRIC_CM_REQUEST)
		return true;
	if (!qp)
		return false;
	event->event.qp_ctx = qp->fabric.ctx;
	if (event->event.kind == FABRIC_CM_ESTABLISHED) {
		qp->peer_max_msg_bytes = qp->peer->max_msg_bytes;
		if (event->sock->has_lanes)
			lanes_set_place(shm_dev_of(qp), qp, &event->sock->place);
		if (qp->state == QP_CONNECTING)
			qp->state = QP_READY;
		shm_qp_settle(qp);
	} else {
		shm_end(qp);
	}
	shm_qp_warm(qp);
	return true;
}

/* Whether its lane has something that may be its, and goes on: it may wait for a receive of another one, for ever. */
static bool lane_drains(struct shm_qp *qp)
{
	const struct ring_reader *rx = &qp->lane->rx;
	uint64_t now = rte_rdtsc();

	if (qp->lane->is_broken || rx->head >= qp->drain_lane_end || ring_look(rx) == 0)
		return false;
	if (qp->drain_lane_since == 0 || qp->drain_lane_at != rx->head) {
		qp->drain_lane_at = rx->head;
		qp->drain_lane_since = now;
	}
	return now - qp->drain_lane_since < DRAIN_WAIT_S * rte_get_tsc_hz();
}

/* Messages that came before the peer left are delivered before it is said to have. No more than the rings hold: a
 * peer that is only said to have left, or whose other connections go on, may still write. */
static bool still_drains(const struct shm_event *event)
{
	struct shm_qp *qp = event->sock->qp;

	if (event->event.kind != FABRIC_CM_DISCONNECTED || !qp || qp->state != QP_READY)
		return false;
	if (qp->drain_end == 0) {
		qp->drain_end = qp->rx.head + ring_size(&qp->rx.cells);
		qp->drain_lane_end = qp->lane ? qp->lane->rx.head + ring_size(&qp->lane->rx.cells) : 0;
	}
	if (shm_recvs_empty(qp->recvs))
		return false;
	return (!qp->rx_in_lane && ring_look(&qp->rx) != 0 && qp->rx.head < qp->drain_end) ||
	       (qp->lane && lane_drains(qp));
}

/* Those that come meanwhile are taken in the next poll. */
static void take_counts(struct shm_dev *dev)
{
	atomic_store(&dev->has_counts, false);
	dev->fabric.stats.protocol_errors += atomic_exchange(&dev->nerrors, 0);
	dev->fabric.stats.users_refused += atomic_exchange(&dev->nrefused, 0);
}

uint32_t shm_cm_poll(struct fabric_dev *fdev, struct fabric_cm_event *events, uint32_t max)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;
	struct shm_event *event, *next;
	uint32_t n = 0;

	if (__builtin_expect(atomic_load_explicit(&dev->has_counts, memory_order_relaxed), 0))
		take_counts(dev);
	if (__builtin_expect(atomic_load_explicit(&dev->nevents, memory_order_relaxed) == 0, 1))
		return 0;
	shm_lock(dev);
	for (event = TAILQ_FIRST(&dev->events); event && n < max; event = next) {
		next = TAILQ_NEXT(event, entry);
		if (still_drains(event))
			continue;
		shm_event_drop(event);
		if (apply(event))
			events[n++] = event->event;
	}
	shm_unlock(dev);
	return n;
}

void shm_goodbye(struct fabric_qp *fqp)
{
	const struct shm_msg msg = {.magic = SHM_MAGIC, .version = SHM_VERSION, .type = SHM_GOODBYE};
	struct shm_qp *qp = (struct shm_qp *)fqp;

	if (!qp->sock)
		return;
	shm_lock(shm_dev_of(qp));
	/* A peer whose socket is full hears of the end all the same. */
	if (qp->sock->fd >= 0 && qp->sock->state == SOCK_OPEN)
		(void)shm_sock_send(qp->sock, &msg, NULL, 0);
	shm_unlock(shm_dev_of(qp));
}

void shm_disconnect(struct fabric_qp *fqp)
{
	struct shm_qp *qp = (struct shm_qp *)fqp;

	shm_end(qp);
	shm_qp_warm(qp);
	if (!qp->sock)
		return;
	shm_lock(shm_dev_of(qp));
	shm_event_drop(&qp->sock->events[0]);
	shm_event_drop(&qp->sock->events[1]);
	shm_sock_close(qp->sock);
	shm_unlock(shm_dev_of(qp));
}

void shm_qp_destroy(struct fabric_qp *fqp)
{
	struct shm_qp *qp = (struct shm_qp *)fqp;
	struct shm_dev *dev;

	if (!qp)
		return;
	dev = shm_dev_of(qp);
	shm_end(qp);
	shm_qp_warm(qp); /* cold ones are not in the list */
	TAILQ_REMOVE(&dev->hot, qp, entry);
	dev->nhot--;
	dev->nqps--;
	key_invalidate_all(&dev->keys, qp->conn_id);
	if (qp->sock) {
		shm_lock(dev);
		shm_sock_free(qp->sock);
		shm_unlock(dev);
	}
	shm_qp_free(qp);
}
