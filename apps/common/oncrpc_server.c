/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All descriptors are non-blocking. The bytes of a connection are kept until there is a complete
 * record (RFC 5531 section 11). The call in that record is then answered. If the socket does not
 * accept all of a reply, the rest of the reply is kept as well. A connection is not read in these
 * cases:
 * - A part of a reply is not sent yet.
 * - The answer to a call is still missing, because its handler has set 'is_later'.
 *
 * The connections are served round-robin, one call each.
 */
#include "oncrpc_server.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "oncrpc_server_call.h"
#include "tcp_listen.h"

#define NO_DESCRIPTOR_MS 50
#define OTHER_FDS	 2u  /* descriptors for poll() other than connections */
#define ACCEPTS_MAX	 16u /* accepts of one poll, which must serve existing connections, too */

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000u + (uint64_t)ts.tv_nsec / 1000000u;
}

/* ---- records ---- */

static uint32_t mark_at(const uint8_t *in)
{
	return (uint32_t)in[0] << 24 | (uint32_t)in[1] << 16 | (uint32_t)in[2] << 8 | in[3];
}

/* Returns the length in bytes of the first record with its marks, 0 if the record is not complete,
 * or -1 if it is too long. */
static int record_bytes(const struct conn *conn)
{
	uint32_t at = 0, mark;

	do {
		if (conn->have - at < MARK_BYTES)
			return at + MARK_BYTES <= ONCRPC_SERVER_CALL_MAX ? 0 : -1;
		mark = mark_at(conn->in + at);
		at += MARK_BYTES;
		if ((mark & ~LAST_FRAGMENT) > ONCRPC_SERVER_CALL_MAX - at)
			return -1;
		at += mark & ~LAST_FRAGMENT;
		if (at > conn->have)
			return 0;
	} while (!(mark & LAST_FRAGMENT));
	return (int)at;
}

/* Removes the marks from the first 'bytes' of the input, which are one record. Returns the length
 * of the record without its marks, in bytes. */
static uint32_t join_fragments(struct conn *conn, uint32_t bytes)
{
	uint32_t from = 0, to = 0;

	while (from < bytes) {
		uint32_t n = mark_at(conn->in + from) & ~LAST_FRAGMENT;

		memmove(conn->in + to, conn->in + from + MARK_BYTES, n);
		from += MARK_BYTES + n;
		to += n;
	}
	return to;
}

/* ---- connections ---- */

static void note_use(struct oncrpc_server *tcp, struct conn *conn)
{
	conn->since_ms = now_ms();
	conn->order = ++tcp->norders;
}

static void close_conn(struct oncrpc_server *tcp, uint32_t i)
{
	struct conn *conn = tcp->conns[i];

	if (conn->later && tcp->program.dropped)
		tcp->program.dropped(tcp->program.arg, conn->later);
	close(conn->fd);
	free(conn->out);
	free(conn);
	tcp->conns[i] = tcp->conns[--tcp->n];
}

/* Sends a reply, and keeps the part that the socket does not accept. Returns false if the
 * connection must be closed. */
static bool send_reply(struct conn *conn, const char *reply, uint32_t bytes)
{
	ssize_t n = send(conn->fd, reply, bytes, MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return false;
	conn->out_sent = 0;
	conn->out_bytes = bytes - (uint32_t)(n > 0 ? n : 0);
	if (conn->out_bytes == 0)
		return true;
	conn->out = malloc(conn->out_bytes);
	if (!conn->out)
		return false;
	memcpy(conn->out, reply + bytes - conn->out_bytes, conn->out_bytes);
	return true;
}

static bool send_rest(struct conn *conn)
{
	ssize_t n = send(conn->fd, conn->out + conn->out_sent, conn->out_bytes - conn->out_sent,
			 MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	conn->out_sent += (uint32_t)n;
	if (conn->out_sent == conn->out_bytes) {
		free(conn->out);
		conn->out = NULL;
	}
	return true;
}

static bool receive(struct conn *conn)
{
	ssize_t n = recv(conn->fd, conn->in + conn->have, sizeof(conn->in) - conn->have, 0);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	conn->is_ended = n == 0;
	conn->have += (uint32_t)n;
	return true;
}

/* Answers the first record of the input, which is 'bytes' long. Returns false if the connection
 * must be closed. */
static bool serve_record(struct oncrpc_server *tcp, struct conn *conn, uint32_t bytes)
{
	uint32_t reply_bytes = 0;
	struct rpc_msg reply;
	XDR args;
	bool is_good;

	conn->record_bytes = join_fragments(conn, bytes);
	xdrmem_create(&args, (char *)conn->in, conn->record_bytes, XDR_DECODE);
	is_good = oncrpc_answer(tcp, conn, &args, &reply);
	xdr_destroy(&args);
	if (is_good && !conn->later)
		reply_bytes = oncrpc_encode(tcp, &reply);
	if (!is_good || (!conn->later && reply_bytes == 0))
		return false;
	conn->have -= bytes;
	memmove(conn->in, conn->in + bytes, conn->have);
	note_use(tcp, conn);
	if (conn->later) {
		conn->xid = reply.rm_xid;
		return true;
	}
	return send_reply(conn, tcp->reply, MARK_BYTES + reply_bytes);
}

/* Serves one connection after poll() reported 'events': sends, receives, or answers one call.
 * Returns false if the connection must be closed. */
static bool serve_conn(struct oncrpc_server *tcp, struct conn *conn, short events)
{
	int bytes;

	if (events & (POLLERR | POLLNVAL))
		return false;
	if (conn->later)
		return (events & POLLHUP) == 0;
	if (conn->out)
		return (events & (POLLOUT | POLLHUP)) == 0 || send_rest(conn);
	if ((events & (POLLIN | POLLHUP)) && conn->have < sizeof(conn->in) && !conn->is_ended &&
	    !receive(conn))
		return false;
	bytes = record_bytes(conn);
	if (bytes > 0)
		return serve_record(tcp, conn, (uint32_t)bytes);
	return bytes == 0 && !conn->is_ended;
}

/* ---- the listener ---- */

static bool is_of(const struct conn *conn, const char *host)
{
	return strcmp(conn->peer.host, host) == 0;
}

static uint32_t count_of(const struct oncrpc_server *tcp, const char *host)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < tcp->n; i++)
		n += is_of(tcp->conns[i], host);
	return n;
}

/* Returns true if connection 'a' has to be closed before connection 'b'. This is so if the address
 * of 'a' has the larger count, or if the counts are equal and the latest call of 'a' is older. */
static bool goes_first(uint32_t a_count, const struct conn *a, uint32_t b_count,
		       const struct conn *b)
{
	return a_count != b_count ? a_count > b_count : a->order < b->order;
}

/* Closes the connection whose latest call is oldest, of the address that has the most connections.
 * 'newcomer' is the address of a connection that is about to be added, or NULL. The address
 * 'newcomer' is counted with this connection, and is first among addresses with equally many. So an
 * address never displaces a connection of another address that has no more connections than itself.
 */
static void close_of_largest(struct oncrpc_server *tcp, const char *newcomer)
{
	uint32_t victim = 0, most = 0;

	for (uint32_t i = 0; i < tcp->n; i++) {
		const struct conn *conn = tcp->conns[i];
		uint32_t count = 2 * count_of(tcp, conn->peer.host);

		if (newcomer && is_of(conn, newcomer))
			count += 3; /* counts are doubled: 2 for the new connection, and 1 to be
				       first among addresses with equally many */
		if (most == 0 || goes_first(count, conn, most, tcp->conns[victim])) {
			victim = i;
			most = count;
		}
	}
	close_conn(tcp, victim);
}

static void close_quietest_of(struct oncrpc_server *tcp, const char *host)
{
	uint32_t quietest = tcp->n;

	for (uint32_t i = 0; i < tcp->n; i++)
		if (is_of(tcp->conns[i], host) &&
		    (quietest == tcp->n || tcp->conns[i]->order < tcp->conns[quietest]->order))
			quietest = i;
	close_conn(tcp, quietest);
}

/* Handles a lack of descriptors: closes a connection or, if there is none, waits a short time for
 * other code to close a descriptor. */
static void make_room(struct oncrpc_server *tcp)
{
	if (tcp->n > 0)
		close_of_largest(tcp, NULL);
	else
		poll(NULL, 0, NO_DESCRIPTOR_MS);
}

static void close_quiet(struct oncrpc_server *tcp)
{
	uint64_t now = now_ms();

	for (uint32_t i = tcp->n; i-- > 0;)
		if (now - tcp->conns[i]->since_ms > ONCRPC_SERVER_QUIET_MS)
			close_conn(tcp, i);
}

static void find_peer(const struct sockaddr_storage *from, socklen_t len,
		      struct oncrpc_server_peer *peer)
{
	char port[8] = "0";

	if (getnameinfo((const struct sockaddr *)from, len, peer->host, sizeof(peer->host), port,
			sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		snprintf(peer->host, sizeof(peer->host), "?");
	peer->port = (uint32_t)strtoul(port, NULL, 10);
}

static bool accept_one(struct oncrpc_server *tcp)
{
	struct sockaddr_storage from;
	struct oncrpc_server_peer peer;
	socklen_t len = sizeof(from);
	int fd = accept4(tcp->fd, (struct sockaddr *)&from, &len, SOCK_CLOEXEC | SOCK_NONBLOCK),
	    one = 1;
	struct conn *conn;

	if (fd < 0) {
		/* The connection that was not accepted here stays in the kernel's queue until the
		 * next poll. */
		if (errno == EMFILE || errno == ENFILE)
			make_room(tcp);
		return false;
	}
	/* A peer that is refused must not displace another connection, so the check is first. */
	find_peer(&from, len, &peer);
	if (tcp->program.may_connect && !tcp->program.may_connect(tcp->program.arg, &peer)) {
		close(fd);
		return true;
	}
	if (count_of(tcp, peer.host) >= ONCRPC_SERVER_CONNS_PEER)
		close_quietest_of(tcp, peer.host);
	else if (tcp->n == ONCRPC_SERVER_CONNS_MAX)
		close_of_largest(tcp, peer.host);
	conn = calloc(1, sizeof(*conn));
	if (!conn) {
		close(fd);
		return false;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	conn->fd = fd;
	conn->peer = peer;
	note_use(tcp, conn);
	tcp->conns[tcp->n++] = conn;
	return true;
}

/* Sets the events of a connection for poll(). Returns true if the connection can be served without
 * an event. */
static bool wants(const struct conn *conn, struct pollfd *fd)
{
	*fd = (struct pollfd){.fd = conn->fd};
	if (conn->later)
		return false;
	if (conn->out)
		fd->events = POLLOUT;
	else if (!conn->is_ended && conn->have < sizeof(conn->in))
		fd->events = POLLIN;
	return !conn->out && (conn->is_ended || record_bytes(conn) != 0);
}

void oncrpc_server_poll(struct oncrpc_server *tcp, int timeout_ms)
{
	struct pollfd fds[OTHER_FDS + ONCRPC_SERVER_CONNS_MAX];
	bool is_ready = false;
	uint64_t wakes;

	close_quiet(tcp);
	fds[0] = (struct pollfd){.fd = tcp->fd, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = tcp->wake_fd, .events = POLLIN};
	for (uint32_t i = 0; i < tcp->n; i++)
		is_ready |= wants(tcp->conns[i], &fds[OTHER_FDS + i]);
	if (poll(fds, OTHER_FDS + tcp->n, is_ready ? 0 : timeout_ms) < 0)
		return;
	if ((fds[1].revents & POLLIN) && read(tcp->wake_fd, &wakes, sizeof(wakes)) < 0)
		return; /* the next poll() reports the event of 'wake_fd' again */
	/* The loop runs backwards, because the last connection replaces a closed one. */
	for (uint32_t i = tcp->n; i-- > 0;)
		if (!serve_conn(tcp, tcp->conns[i], fds[OTHER_FDS + i].revents))
			close_conn(tcp, i);
	for (uint32_t i = 0; i < ACCEPTS_MAX && (fds[0].revents & POLLIN) && accept_one(tcp); i++)
		;
}

static uint32_t find_later(const struct oncrpc_server *tcp, uint64_t id)
{
	uint32_t i = 0;

	while (i < tcp->n && tcp->conns[i]->later != id)
		i++;
	return i;
}

struct weir_xdr_out *oncrpc_server_begin_reply(struct oncrpc_server *tcp, uint64_t id)
{
	if (find_later(tcp, id) == tcp->n)
		return NULL;
	oncrpc_begin_results(tcp);
	return &tcp->results;
}

bool oncrpc_server_end_reply(struct oncrpc_server *tcp, uint64_t id, bool is_encoded)
{
	uint32_t i = find_later(tcp, id), bytes;
	struct conn *conn = tcp->conns[i];
	struct rpc_msg reply = oncrpc_success(conn->xid);

	bytes = is_encoded ? oncrpc_encode(tcp, &reply) : 0;
	conn->later = 0;
	conn->since_ms = now_ms();
	if (bytes > 0 && send_reply(conn, tcp->reply, MARK_BYTES + bytes))
		return true;
	close_conn(tcp, i);
	return false;
}

void oncrpc_server_wake(struct oncrpc_server *tcp)
{
	const uint64_t one = 1;

	/* The write fails only if the counter is at its maximum. The counter then wakes the poll
	 * already. */
	if (write(tcp->wake_fd, &one, sizeof(one)) < 0)
		return;
}

int oncrpc_server_create(const char *host, uint32_t port,
			 const struct oncrpc_server_program *program, struct oncrpc_server **tcp)
{
	struct oncrpc_server *t = calloc(1, sizeof(*t));
	int rc = 0;

	if (!t)
		return -ENOMEM;
	t->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->wake_fd < 0)
		rc = -errno;
	t->fd = rc == 0 ? tcp_listen(host, port) : rc;
	if (t->fd < 0) {
		rc = t->fd;
		if (t->wake_fd >= 0)
			close(t->wake_fd);
		free(t);
		return rc;
	}
	t->program = *program;
	t->port = tcp_listen_port(t->fd);
	*tcp = t;
	return 0;
}

uint32_t oncrpc_server_port(const struct oncrpc_server *tcp)
{
	return tcp->port;
}

void oncrpc_server_destroy(struct oncrpc_server *tcp)
{
	if (!tcp)
		return;
	while (tcp->n > 0)
		close_conn(tcp, tcp->n - 1);
	close(tcp->wake_fd);
	close(tcp->fd);
	free(tcp);
}
