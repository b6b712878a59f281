/* SPDX-License-Identifier: BSD-3-Clause */
/* Connects to programs of ONC RPC over TCP or a UNIX socket, and makes calls, with libtirpc. */
#include "oncrpc_client.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#define WORD_BYTES 4u

bool_t oncrpc_bytes(XDR *xdrs, struct oncrpc_bytes *bytes)
{
	char word[WORD_BYTES];

	if (xdrs->x_op == XDR_ENCODE)
		return xdr_opaque(xdrs, bytes->data, bytes->len_bytes);
	if (xdrs->x_op == XDR_FREE)
		return TRUE;
	/* A stream of libtirpc does not say how long a record is, but each read behind its end
	 * fails. */
	for (bytes->len_bytes = 0; xdr_opaque(xdrs, word, WORD_BYTES);) {
		if (bytes->max_bytes - bytes->len_bytes < WORD_BYTES)
			return FALSE;
		memcpy((char *)bytes->data + bytes->len_bytes, word, WORD_BYTES);
		bytes->len_bytes += WORD_BYTES;
	}
	return TRUE;
}

/*
 * Waits until a connect that is in progress ends. Returns 0 if the socket is connected, -ETIMEDOUT,
 * or the -errno of the connect.
 */
static int wait_connected(int fd, uint32_t timeout_ms)
{
	struct pollfd pfd = {.fd = fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int error = 0, n;

	n = poll(&pfd, 1, (int)timeout_ms);
	if (n == 0)
		return -ETIMEDOUT;
	if (n < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
		return -errno;
	return -error;
}

/* Connects a new socket to one address. Returns the connected, blocking socket or -errno. */
static int connect_one(const struct addrinfo *info, uint32_t timeout_ms, bool use_reserved)
{
	int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP),
	    rc = 0;

	if (fd < 0)
		return -errno;
	if (use_reserved && geteuid() == 0) {
		struct sockaddr_storage own = {.ss_family = (sa_family_t)info->ai_family};

		/*
		 * The result is ignored, because the server might accept the connection from a port
		 * that is not reserved.
		 */
		(void)bindresvport_sa(fd, (struct sockaddr *)&own);
	}
	if (connect(fd, info->ai_addr, info->ai_addrlen) != 0)
		rc = errno == EINPROGRESS ? wait_connected(fd, timeout_ms) : -errno;
	if (rc == 0 && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) != 0)
		rc = -errno;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

/*
 * Connects to the first address of 'host' that accepts. Returns the connected socket, with the
 * peer's address in '*peer', or -errno with an error message in 'why'.
 */
static int connect_any(const char *host, uint16_t port, uint32_t timeout_ms, bool use_reserved,
		       struct sockaddr_storage *peer, socklen_t *peer_bytes,
		       char why[ONCRPC_CLIENT_TEXT])
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list, *info;
	char service[8];
	int rc;

	snprintf(service, sizeof(service), "%u", port);
	rc = getaddrinfo(host, service, &hints, &list);
	if (rc != 0) {
		snprintf(why, ONCRPC_CLIENT_TEXT, "%.200s: %s", host, gai_strerror(rc));
		return -EHOSTUNREACH;
	}
	rc = -EHOSTUNREACH;
	for (info = list; info && rc < 0; info = info->ai_next) {
		rc = connect_one(info, timeout_ms, use_reserved);
		if (rc >= 0) {
			memcpy(peer, info->ai_addr, info->ai_addrlen);
			*peer_bytes = info->ai_addrlen;
		}
	}
	freeaddrinfo(list);
	if (rc < 0)
		snprintf(why, ONCRPC_CLIENT_TEXT, "TCP port %u of %.200s: %s", port, host,
			 strerror(-rc));
	return rc;
}

/*
 * Creates the client of a connected socket. Returns 0, and the client owns the socket. After an
 * error, the socket is closed and -EPROTO is returned.
 */
static int create_client(struct oncrpc_client *rpc, int fd, struct netbuf *peer, uint32_t prog,
			 uint32_t vers, uint32_t timeout_ms)
{
	rpc->timeout =
		(struct timeval){.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
	rpc->client = clnt_vc_create(fd, peer, prog, vers, 0, 0);
	if (!rpc->client) {
		close(fd);
		return -EPROTO;
	}
	clnt_control(rpc->client, CLSET_FD_CLOSE, NULL);
	return 0;
}

int oncrpc_client_open(struct oncrpc_client *rpc, const char *host, uint16_t port, uint32_t prog,
		       uint32_t vers, uint32_t timeout_ms, bool use_reserved,
		       char why[ONCRPC_CLIENT_TEXT])
{
	struct sockaddr_storage peer = {0};
	struct netbuf addr = {.maxlen = sizeof(peer), .buf = &peer};
	socklen_t peer_bytes = 0;
	int fd = connect_any(host, port, timeout_ms, use_reserved, &peer, &peer_bytes, why), rc;

	rpc->client = NULL;
	if (fd < 0)
		return fd;
	addr.len = peer_bytes;
	rc = create_client(rpc, fd, &addr, prog, vers, timeout_ms);
	if (rc != 0)
		snprintf(why, ONCRPC_CLIENT_TEXT, "TCP port %u of %.200s: %.80s", port, host,
			 clnt_spcreateerror("RPC"));
	return rc;
}

/*
 * Connects to a server on this host. The connect does not wait: if the server is stopped and its
 * queue of connections is full, it fails at once. Returns 0 or -errno.
 */
static int connect_local(int fd, const struct sockaddr_un *addr)
{
	int flags = fcntl(fd, F_GETFL);

	if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
	    connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) != 0 ||
	    fcntl(fd, F_SETFL, flags) != 0)
		return -errno;
	return 0;
}

int oncrpc_client_open_local(struct oncrpc_client *rpc, const char *path, uint32_t prog,
			     uint32_t vers, uint32_t timeout_ms)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct netbuf peer = {.maxlen = sizeof(addr), .len = sizeof(addr), .buf = &addr};
	int fd, rc;

	rpc->client = NULL;
	if (snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path) >=
	    (int)sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	rc = connect_local(fd, &addr);
	if (rc == 0)
		return create_client(rpc, fd, &peer, prog, vers, timeout_ms);
	close(fd);
	return rc;
}

int oncrpc_client_call(struct oncrpc_client *rpc, uint32_t proc, xdrproc_t put, void *args,
		       xdrproc_t get, void *results, char why[ONCRPC_CLIENT_TEXT])
{
	enum clnt_stat stat = clnt_call(rpc->client, proc, put, args, get, results, rpc->timeout);

	if (stat == RPC_SUCCESS)
		return 0;
	snprintf(why, ONCRPC_CLIENT_TEXT, "%s", clnt_sperrno(stat));
	switch (stat) {
	case RPC_TIMEDOUT:
		return -ETIMEDOUT;
	case RPC_PROGUNAVAIL:
	case RPC_PROGVERSMISMATCH:
	case RPC_PROCUNAVAIL:
		return -EOPNOTSUPP;
	case RPC_AUTHERROR:
		return -EACCES;
	default:
		return -EPROTO;
	}
}

void oncrpc_client_close(struct oncrpc_client *rpc)
{
	if (!rpc->client)
		return;
	if (rpc->client->cl_auth)
		auth_destroy(rpc->client->cl_auth);
	clnt_destroy(rpc->client);
	rpc->client = NULL;
}
