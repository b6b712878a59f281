/* SPDX-License-Identifier: BSD-3-Clause */
/* Connecting and disconnecting: the part of the engine's thread. cm_thread.c has the rest, and
 * listen.c has the listeners. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "alloc.h"
#include "compiler.h"
#include "shm_dev.h"
#include "shm_qp.h"
#include "sigbus_guard.h"
#include "users.h"

#define RING_DEFAULT_MAX (256u << 10)
#define RING_DEFAULT_MIN (16u << 10)
/* After the peer has left a connection, the event DISCONNECTED waits for at most this time while
 * the ring or the mux of the connection makes no progress. */
#define DRAIN_WAIT_S  1
#define DRAIN_STEP_MS 10
#define DRAIN_FEW     8u /* waiting DISCONNECTED events that a poll looks at */

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
	shm_turn_add_hot(&dev->turns, qp->turn, qp);
	dev->nhot++;
	dev->nqps++;
}

static int take_turn(struct shm_dev *dev, struct shm_qp *qp, const struct shm_sock *sock)
{
	qp->turn = shm_turn_get(&dev->turns, sock->account);
	return qp->turn ? 0 : -ENOMEM;
}

/* Creates the rings of a connection and the HELLO that offers them. The control thread sends both
 * after the peer's WELCOME. 'mux_fd' is the memory of the muxes to offer, or -1. Returns 0 or
 * -errno. */
static int prepare_hello(struct shm_sock *sock, struct shm_qp *qp, int mux_fd,
			 const void *private_data, uint32_t private_len)
{
	size_t bytes = 2 * ring_footprint(sock->ring_bytes);
	int rc = mapping_own(&sock->rings, "weir-shm-rings", bytes, false, &sock->rings_fd);

	if (rc == 0)
		rc = mapping_guard(&sock->rings, sock->dev->wake_fd, sock->id);
	if (rc != 0)
		return rc;
	shm_qp_set_rings(qp, sock->rings.base, sock->ring_bytes, true);
	sock->hello = mem_zalloc(sizeof(*sock->hello));
	if (!sock->hello)
		return -ENOMEM;
	introduce(qp, SHM_HELLO, private_data, private_len, sock->hello);
	sock->hello->ring_bytes = sock->ring_bytes;
	if (mux_fd < 0)
		return 0;
	/* This is a second descriptor, because the queue pair, and its muxes with it, can end
	 * before the descriptor is sent. */
	sock->mux_fd = fcntl(mux_fd, F_DUPFD_CLOEXEC, 0);
	sock->has_mux = sock->mux_fd >= 0;
	sock->hello->has_mux = sock->has_mux;
	sock->mux_set_tag = qp->mux_set->tag;
	return 0;
}

/* Connects to the listener at 'addr', and creates *out for the connection. Returns 0 or -errno:
 * -EACCES if this side does not trust the listener's user, or too many connections, files and
 * mappings of the user are still to be closed (reap.h). Until the user is trusted, the kernel
 * refuses descriptors that the listener passes, if the kernel supports this. If it does, this
 * function closes the socket itself after an error. Otherwise the socket's queue can have
 * descriptors, so that a close can block, and the reaper closes the socket. */
static int connect_to(struct shm_dev *dev, const char *addr, const struct sockaddr_un *sun,
		      socklen_t len, struct shm_sock **out)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc = 0;
	bool refuses_rights = fd >= 0 && shm_pass_rights(fd, false);
	struct shm_account *account;
	struct weir_peer who;

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)sun, len) != 0) {
		/* EAGAIN: the listener's queue is full. */
		rc = errno == EAGAIN ? -ECONNREFUSED : -errno;
		close(fd);
		return rc;
	}
	shm_users_peer(fd, &who);
	account = shm_account_of(&who);
	if (!account)
		rc = -ENOMEM;
	else if (!shm_users_trust(dev, fd, addr) || shm_users_server_behind(dev, account))
		rc = -EACCES;
	if (rc == 0) {
		*out = shm_sock_new(dev, fd, account);
		if (*out) {
			(void)shm_pass_rights(fd, true);
			return 0;
		}
		rc = -ENOMEM;
	}
	if (refuses_rights || !account)
		close(fd);
	else
		shm_close_later(fd, account);
	shm_account_put(account);
	return rc;
}

int shm_connect(struct fabric_dev *fdev, const char *addr, const struct fabric_qp_attr *attr,
		const void *private_data, uint32_t private_len, struct fabric_qp **out)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;
	struct shm_sock *sock = NULL;
	struct sockaddr_un sun;
	socklen_t len = shm_address(addr, &sun);
	struct shm_qp *qp;
	int rc;

	if (len == 0 || private_len > FABRIC_PRIVATE_DATA_MAX)
		return -EINVAL;
	rc = shm_qp_create(dev, attr, &qp);
	if (rc != 0)
		return rc;
	qp->conn_id = random_id();
	rc = shm_domain_create(qp);
	if (rc == 0)
		rc = connect_to(dev, addr, &sun, len, &sock);
	if (rc == 0)
		rc = take_turn(dev, qp, sock);
	if (rc == 0) {
		sock->ring_bytes = ring_bytes_for(dev, attr);
		rc = prepare_hello(sock, qp, mux_offer(dev, qp, addr, sock->who.pid, sock->account),
				   private_data, private_len);
	}
	if (rc == 0) {
		sock->qp = qp;
		rc = shm_sock_watch(sock);
	}
	if (rc == 0)
		rc = shm_sock_add(sock, SOCK_CALLING);
	if (rc != 0) {
		if (sock)
			shm_sock_drop(sock);
		shm_qp_free(qp);
		return rc;
	}
	qp->sock = sock;
	qp->peer = &sock->peer;
	qp_add(dev, qp);
	shm_cm_wake(dev); /* the control thread has a new deadline to watch */
	*out = &qp->fabric;
	return 0;
}

/* Moves the socket of a request to 'to', the device that accepts the request. This can be another
 * device than the one that got the request. Returns 0, or -ENOSPC if 'to' has its maximum number of
 * sockets: the socket then belongs to 'to', and the caller releases it. No other thread uses the
 * socket meanwhile. */
static int move(struct shm_sock *sock, struct shm_dev *to)
{
	struct shm_dev *from = sock->dev;
	int rc;

	if (from == to)
		return 0;
	shm_lock(from);
	TAILQ_REMOVE(&from->socks, sock, entry);
	from->nsocks--;
	sock->listener = NULL;
	shm_unlock(from);
	life_put(from, sock->life);
	sock->life = life_get(to, sock->fd, sock->who.pid);
	guard_move(sock->rings.guard, to->wake_fd);
	guard_move(sock->peer.keys_mapping.guard, to->wake_fd);
	if (sock->offered)
		guard_move(sock->offered->mapping.guard, to->wake_fd);
	shm_lock(to);
	rc = to->nsocks < to->max_connections ? 0 : -ENOSPC;
	sock->dev = to;
	sock->visit = to->visit;
	TAILQ_INSERT_TAIL(&to->socks, sock, entry);
	to->nsocks++;
	shm_unlock(to);
	return rc;
}

/* Prepares an ACCEPT, with a slot in a mux if there is one. */
static void prepare_accept(struct shm_sock *sock, struct shm_qp *qp, const void *private_data,
			   uint32_t private_len, struct shm_msg *msg)
{
	shm_qp_set_rings(qp, sock->rings.base, sock->ring_bytes, false);
	introduce(qp, SHM_ACCEPT, private_data, private_len, msg);
	if (!sock->offered)
		return;
	msg->has_mux = mux_take_slot(shm_dev_of(qp), qp, sock->offered, sock->who.pid,
				     sock->peer.conn_id, &msg->slot);
	sock->offered = NULL;
	if (!msg->has_mux)
		return;
	shm_lock(sock->dev); /* the control thread reads the tag of each socket */
	sock->mux_set_tag = qp->mux_set->tag;
	shm_unlock(sock->dev);
}

/* Enters ACCEPTED and sends ACCEPT. Returns 0 or -errno. The socket is watched before ACCEPT is
 * sent, so that the peer's READY is read before anything that the peer later sends on another
 * socket. */
static int send_accept(struct shm_sock *sock, struct shm_qp *qp, const struct shm_msg *msg)
{
	struct shm_dev *dev = sock->dev;
	int rc = shm_sock_watch(sock);

	if (rc != 0)
		return rc;
	shm_lock(dev);
	sock->qp = qp;
	LIST_INSERT_HEAD(&dev->by_id[sock->id % SHM_ID_LISTS], sock, same);
	sock->is_known = true;
	shm_sock_enter(sock, SOCK_ACCEPTED);
	/* While the socket was in REQUEST, an end of the peer's process was not handled. epoll does
	 * not report this end again. */
	if (sock->life && sock->life->has_ended)
		shm_sock_task(sock, TASK_DEAD);
	shm_unlock(dev);
	shm_cm_wake(dev); /* as in shm_connect() */
	rc = shm_sock_send(sock, msg, &dev->keys.fd, 1);
	return rc == -EPIPE ? -ECONNRESET : rc;
}

int shm_accept(struct fabric_dev *fdev, struct fabric_conn_req *sock,
	       const struct fabric_qp_attr *attr, const void *private_data, uint32_t private_len,
	       struct fabric_qp **out)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;
	struct shm_msg msg;
	struct shm_qp *qp;
	int rc = private_len > FABRIC_PRIVATE_DATA_MAX ? -EINVAL : shm_qp_create(dev, attr, &qp);

	if (rc != 0) {
		shm_reject(fdev, sock, NULL, 0);
		return rc;
	}
	rc = move(sock, dev);
	qp->conn_id = random_id();
	if (rc == 0 &&
	    (guard_is_lost(sock->rings.guard) || guard_is_lost(sock->peer.keys_mapping.guard)))
		rc = -ECONNRESET;
	if (rc == 0)
		rc = shm_domain_create(qp);
	if (rc == 0)
		rc = take_turn(dev, qp, sock);
	if (rc == 0) {
		prepare_accept(sock, qp, private_data, private_len, &msg);
		rc = send_accept(sock, qp, &msg);
	}
	if (rc != 0) {
		shm_sock_release(sock);
		shm_qp_free(qp);
		return rc;
	}
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
	int rc;

	(void)fdev;
	if (private_len > FABRIC_PRIVATE_DATA_MAX)
		private_len = FABRIC_PRIVATE_DATA_MAX;
	msg.private_len = private_len;
	if (private_len)
		memcpy(msg.private_data, private_data, private_len);
	rc = shm_sock_send(sock, &msg, NULL, 0);
	shm_sock_release(sock);
	return rc;
}

/* Applies an event to its queue pair. Returns true if the engine gets the event, and false if the
 * queue pair has been destroyed. A REQUEST has no queue pair yet. */
static bool apply(struct shm_sock *sock, struct fabric_cm_event *event)
{
	struct shm_qp *qp = sock->qp;

	if (event->kind == FABRIC_CM_REQUEST)
		return true;
	if (!qp)
		return false;
	event->qp_ctx = qp->fabric.ctx;
	if (event->kind == FABRIC_CM_ESTABLISHED) {
		qp->peer_max_msg_bytes = qp->peer->max_msg_bytes;
		qp->peer_asleep = qp->peer->keys.asleep;
		if (sock->has_mux)
			mux_set_slot(shm_dev_of(qp), qp, &sock->slot);
		if (qp->state == QP_CONNECTING)
			qp->state = QP_READY;
		shm_qp_update_limits(qp);
	} else {
		shm_end(qp);
	}
	shm_qp_make_hot(qp);
	return true;
}

/* Advances drain_ticks, the clock by which connections drain. At most DRAIN_STEP_MS count between
 * two polls, because a process that was stopped in between could not read. */
static void advance_drain_clock(struct shm_dev *dev)
{
	uint64_t now = rte_rdtsc(), most = DRAIN_STEP_MS * rte_get_tsc_hz() / 1000,
		 passed = now - dev->drain_polled;

	dev->drain_polled = now;
	dev->drain_ticks += passed < most ? passed : most;
}

/* Returns whether the reader made progress within the latest DRAIN_WAIT_S of drain_ticks, where
 * 'now' is the current value. *at is the position of the reader at its latest progress, and *since
 * is the time of that progress (0: not looked at yet). The function updates both. */
static bool goes_on(const struct ring_reader *rx, uint64_t now, uint64_t *at, uint64_t *since)
{
	if (*since == 0 || *at != rx->head) {
		*at = rx->head;
		*since = now;
	}
	return now - *since < DRAIN_WAIT_S * rte_get_tsc_hz();
}

/* Returns whether the queue pair's own ring has messages, and its reader makes progress. While the
 * user has a debt (turn.h), the ring is not read, and so makes no progress. */
static bool ring_drains(struct shm_qp *qp)
{
	const struct ring_reader *rx = &qp->rx;

	return !qp->rx_in_mux && ring_look(rx) != 0 && rx->head < qp->drain_end &&
	       goes_on(rx, shm_dev_of(qp)->drain_ticks, &qp->drain_at, &qp->drain_since);
}

/* Returns whether the mux can have messages of this queue pair, and its reader makes progress. The
 * reader of a mux stops while the next message, which can be for another queue pair, waits for a
 * receive. */
static bool mux_drains(struct shm_qp *qp)
{
	const struct ring_reader *rx = &qp->mux->rx;

	return !qp->mux->is_broken && rx->head < qp->drain_mux_end && ring_look(rx) != 0 &&
	       goes_on(rx, shm_dev_of(qp)->drain_ticks, &qp->drain_mux_at, &qp->drain_mux_since);
}

/* Returns whether an event has to wait. Only DISCONNECTED waits: messages that arrived before the
 * peer left are delivered before this event. At most as many bytes as the rings hold are delivered,
 * because a peer that claims to have left, or whose other connections continue, can still write. */
static bool still_drains(const struct shm_event *event)
{
	struct shm_qp *qp = event->sock->qp;

	if (event->kind != FABRIC_CM_DISCONNECTED || !qp || qp->state != QP_READY)
		return false;
	if (qp->drain_end == 0) {
		qp->drain_end = qp->rx.head + ring_size(&qp->rx.cells);
		qp->drain_mux_end = qp->mux ? qp->mux->rx.head + ring_size(&qp->mux->rx.cells) : 0;
	}
	if (shm_recvs_empty(qp->recvs))
		return false;
	return ring_drains(qp) || (qp->mux && mux_drains(qp));
}

/* Moves the counts of the control thread to the statistics. */
static void take_counts(struct shm_dev *dev)
{
	atomic_store(&dev->has_counts, false);
	dev->fabric.stats.protocol_errors += atomic_exchange(&dev->nerrors, 0);
	dev->fabric.stats.users_refused += atomic_exchange(&dev->nrefused, 0);
	dev->fabric.stats.requests_displaced += atomic_exchange(&dev->ndisplaced, 0);
	dev->fabric.stats.maps_refused += atomic_exchange(&dev->nmaps_refused, 0);
}

/* Takes events from the list that is shared with the control thread, so that the lock is not held
 * while they are processed. */
static void take_events(struct shm_dev *dev, uint32_t max)
{
	shm_lock(dev);
	for (uint32_t i = 0; i < max; i++) {
		struct shm_event *event = TAILQ_FIRST(&dev->events);

		if (!event)
			break;
		TAILQ_REMOVE(&dev->events, event, entry);
		TAILQ_INSERT_TAIL(&dev->taken, event, entry);
		event->list = &dev->taken;
		/* The engine owns the request after this. The listener of the request still exists,
		 * because the end of a listener releases all requests that the engine does not own.
		 */
		if (event->kind == FABRIC_CM_REQUEST)
			backlog_remove(&event->sock->listener->backlog, &event->sock->waiting);
	}
	shm_unlock(dev);
}

/* Looks at the first 'few' events of a list, and stores at most 'max' of them that need not wait in
 * 'events', for the engine. Returns the number of stored events. An event that has to wait moves to
 * the end of 'draining'. Only a few are looked at, because peers decide how many wait. */
static uint32_t give_events(struct shm_dev *dev, struct shm_events *list, uint32_t few,
			    struct fabric_cm_event *events, uint32_t max)
{
	struct shm_event *event;
	uint32_t n = 0;

	while (few-- > 0 && n < max && (event = TAILQ_FIRST(list))) {
		struct shm_sock *sock = event->sock;

		if (still_drains(event)) {
			TAILQ_REMOVE(list, event, entry);
			TAILQ_INSERT_TAIL(&dev->draining, event, entry);
			event->list = &dev->draining;
			continue;
		}
		shm_lock(dev);
		shm_event_take(event, &events[n]);
		shm_unlock(dev);
		if (apply(sock, &events[n]))
			n++;
	}
	return n;
}

uint32_t shm_cm_poll(struct fabric_dev *fdev, struct fabric_cm_event *events, uint32_t max)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;
	uint32_t n = 0;

	if (unlikely(atomic_load_explicit(&dev->has_counts, memory_order_relaxed)))
		take_counts(dev);
	if (likely(atomic_load_explicit(&dev->nevents, memory_order_relaxed) == 0))
		return 0;
	advance_drain_clock(dev);
	n = give_events(dev, &dev->draining, DRAIN_FEW, events, max);
	take_events(dev, max - n);
	return n + give_events(dev, &dev->taken, max, events + n, max - n);
}
