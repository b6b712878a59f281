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

#include "oncrpc_void.h"
#include "tcp_listen.h"

#define LAST_FRAGMENT	 0x80000000u
#define MARK_BYTES	 4u
#define NO_DESCRIPTOR_MS 50
#define OTHER_FDS	 2u  /* descriptors for poll() other than connections */
#define ACCEPTS_MAX	 16u /* accepts of one poll, which must serve existing connections, too */

struct conn {
	int fd;
	bool is_ended;	   /* the peer has closed its sending side */
	uint64_t since_ms; /* time of the connect, the latest complete call or the latest reply by
			      oncrpc_server_reply() */
	uint64_t order; /* order of this connection's connect or latest complete call among those of
			   all connections */
	uint64_t later; /* id of a call whose handler has set 'is_later' and that is not answered
			   yet; 0: none */
	uint32_t xid;	/* XID of the call 'later' */
	struct oncrpc_server_peer peer;
	uint32_t have;
	uint8_t in[ONCRPC_SERVER_CALL_MAX];
	uint8_t *out; /* unsent part of a reply, or NULL if everything is sent */
	uint32_t out_bytes, out_sent;
};

struct oncrpc_server {
	struct oncrpc_server_program program;
	int fd;
	int wake_fd; /* an eventfd */
	uint32_t port;
	uint64_t norders, calls;
	uint32_t n;
	struct conn *conns[ONCRPC_SERVER_CONNS_MAX];
	char reply[MARK_BYTES + ONCRPC_SERVER_REPLY_MAX];
};

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

static void set_mark(char *out, uint32_t bytes)
{
	uint32_t mark = htonl(LAST_FRAGMENT | bytes);

	memcpy(out, &mark, sizeof(mark));
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

/* ---- calls ---- */

static void reject_version(struct rpc_msg *reply)
{
	reply->rm_reply.rp_stat = MSG_DENIED;
	reply->rjcted_rply.rj_stat = RPC_MISMATCH;
	reply->rjcted_rply.rj_vers.low = RPC_MSG_VERSION;
	reply->rjcted_rply.rj_vers.high = RPC_MSG_VERSION;
}

static void reject_auth(struct rpc_msg *reply, enum auth_stat why)
{
	reply->rm_reply.rp_stat = MSG_DENIED;
	reply->rjcted_rply.rj_stat = AUTH_ERROR;
	reply->rjcted_rply.rj_why = why;
}

/* Checks a credential. Returns AUTH_OK, or the error for the reply (RFC 5531 section 9). */
static enum auth_stat check_auth(const struct weir_rpc_auth *auth)
{
	struct weir_rpc_auth_sys sys;

	if (auth->flavor == AUTH_SYS)
		return weir_rpc_auth_sys_decode(auth, &sys) == 0 ? AUTH_OK : AUTH_BADCRED;
	return auth->flavor == AUTH_NONE ? AUTH_OK : AUTH_REJECTEDCRED;
}

static void accept_reply(struct rpc_msg *reply)
{
	reply->rm_reply.rp_stat = MSG_ACCEPTED;
	reply->acpted_rply.ar_verf = _null_auth;
}

static void set_results(struct rpc_msg *reply, const struct oncrpc_server_results *results)
{
	reply->acpted_rply.ar_stat = SUCCESS;
	reply->acpted_rply.ar_results.proc = results->filter;
	reply->acpted_rply.ar_results.where = results->results;
}

static enum accept_stat handle(struct oncrpc_server *tcp, struct conn *conn, uint32_t proc,
			       const struct weir_rpc_auth *auth, XDR *args,
			       struct oncrpc_server_results *results)
{
	const struct oncrpc_server_call call = {++tcp->calls, proc, args, &conn->peer, auth};
	enum accept_stat stat = tcp->program.handle(tcp->program.arg, &call, results);

	if (stat == SUCCESS && results->is_later)
		conn->later = call.id;
	return stat;
}

/* Handles a call whose header is decoded. 'args' is at the start of the arguments. Fills *reply. */
static void accept_call(struct oncrpc_server *tcp, struct conn *conn, const struct call_body *call,
			const struct weir_rpc_auth *auth, XDR *args, struct rpc_msg *reply)
{
	struct oncrpc_server_results results = {(xdrproc_t)oncrpc_void, NULL, false};

	accept_reply(reply);
	if (call->cb_prog != tcp->program.prog) {
		reply->acpted_rply.ar_stat = PROG_UNAVAIL;
	} else if (call->cb_vers != tcp->program.vers) {
		reply->acpted_rply.ar_stat = PROG_MISMATCH;
		reply->acpted_rply.ar_vers.low = tcp->program.vers;
		reply->acpted_rply.ar_vers.high = tcp->program.vers;
	} else {
		reply->acpted_rply.ar_stat =
			handle(tcp, conn, (uint32_t)call->cb_proc, auth, args, &results);
	}
	/* ar_results and ar_vers are members of one union, so only a success is allowed to set
	 * ar_results. */
	if (reply->acpted_rply.ar_stat == SUCCESS)
		set_results(reply, &results);
}

/* Handles the call of a record. Fills *reply. If the answer is given later, fills only the XID of
 * *reply. Returns false if the record is not a call. */
static bool answer(struct oncrpc_server *tcp, struct conn *conn, XDR *args, struct rpc_msg *reply)
{
	char cred[MAX_AUTH_BYTES], verf[MAX_AUTH_BYTES];
	struct rpc_msg msg = {.rm_direction = REPLY, .rm_call.cb_rpcvers = RPC_MSG_VERSION};
	struct weir_rpc_auth auth;
	enum auth_stat why;

	msg.rm_call.cb_cred.oa_base = cred;
	msg.rm_call.cb_verf.oa_base = verf;
	if (!xdr_callmsg(args, &msg) &&
	    (msg.rm_direction != CALL || msg.rm_call.cb_rpcvers == RPC_MSG_VERSION))
		return false;
	*reply = (struct rpc_msg){.rm_xid = msg.rm_xid, .rm_direction = REPLY};
	if (msg.rm_call.cb_rpcvers != RPC_MSG_VERSION) {
		reject_version(reply);
		return true;
	}
	auth = (struct weir_rpc_auth){(uint32_t)msg.rm_call.cb_cred.oa_flavor,
				      msg.rm_call.cb_cred.oa_length, (const uint8_t *)cred};
	why = check_auth(&auth);
	if (why != AUTH_OK)
		reject_auth(reply, why);
	else
		accept_call(tcp, conn, &msg.rm_call, &auth, args, reply);
	return true;
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

/* Encodes a reply to tcp->reply, after a record mark. Returns the length of the reply without its
 * mark, in bytes, or 0 if the reply is too long. */
static uint32_t encode(struct oncrpc_server *tcp, struct rpc_msg *reply)
{
	uint32_t bytes;
	XDR xdrs;

	xdrmem_create(&xdrs, tcp->reply + MARK_BYTES, ONCRPC_SERVER_REPLY_MAX, XDR_ENCODE);
	bytes = xdr_replymsg(&xdrs, reply) ? xdr_getpos(&xdrs) : 0;
	xdr_destroy(&xdrs);
	set_mark(tcp->reply, bytes);
	return bytes;
}

/* Answers the first record of the input, which is 'bytes' long. Returns false if the connection
 * must be closed. */
static bool serve_record(struct oncrpc_server *tcp, struct conn *conn, uint32_t bytes)
{
	uint32_t len = join_fragments(conn, bytes), reply_bytes = 0;
	struct rpc_msg reply;
	XDR args;
	bool is_good;

	xdrmem_create(&args, (char *)conn->in, len, XDR_DECODE);
	is_good = answer(tcp, conn, &args, &reply);
	xdr_destroy(&args);
	if (is_good && !conn->later)
		reply_bytes = encode(tcp, &reply);
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

bool oncrpc_server_reply(struct oncrpc_server *tcp, uint64_t id,
			 const struct oncrpc_server_results *results)
{
	uint32_t i = find_later(tcp, id), bytes;
	struct rpc_msg reply = {.rm_direction = REPLY};
	struct conn *conn;

	if (i == tcp->n)
		return false;
	conn = tcp->conns[i];
	reply.rm_xid = conn->xid;
	accept_reply(&reply);
	set_results(&reply, results);
	bytes = encode(tcp, &reply);
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
