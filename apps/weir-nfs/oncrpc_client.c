/* SPDX-License-Identifier: BSD-3-Clause */
#include "oncrpc_client.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bounds of what DUMP returns: names, and entries. */
#define DUMP_NAME_MAX	 255u
#define DUMP_ENTRIES_MAX 4096u

bool_t oncrpc_client_void(XDR *xdrs, void *arg)
{
	(void)xdrs;
	(void)arg;
	return TRUE;
}

/* Wait for a connect that is under way. 0 or -errno. */
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

static int connect_one(const struct addrinfo *info, uint32_t timeout_ms, bool use_reserved)
{
	int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP),
	    rc = 0;

	if (fd < 0)
		return -errno;
	if (use_reserved && geteuid() == 0) {
		struct sockaddr_storage own = {.ss_family = (sa_family_t)info->ai_family};

		/* Without one it may work as well: the server decides. */
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

/* A connected socket, and the address that it is connected to. */
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

int oncrpc_client_open(struct oncrpc_client *rpc, const char *host, uint16_t port, uint32_t prog,
		       uint32_t vers, uint32_t timeout_ms, bool use_reserved,
		       char why[ONCRPC_CLIENT_TEXT])
{
	struct sockaddr_storage peer = {0};
	struct netbuf addr = {.maxlen = sizeof(peer), .buf = &peer};
	socklen_t peer_bytes = 0;
	int fd = connect_any(host, port, timeout_ms, use_reserved, &peer, &peer_bytes, why);

	rpc->client = NULL;
	if (fd < 0)
		return fd;
	addr.len = peer_bytes;
	rpc->timeout =
		(struct timeval){.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
	rpc->client = clnt_vc_create(fd, &addr, prog, vers, 0, 0);
	if (!rpc->client) {
		snprintf(why, ONCRPC_CLIENT_TEXT, "TCP port %u of %.200s: %.80s", port, host,
			 clnt_spcreateerror("RPC"));
		close(fd);
		return -EPROTO;
	}
	clnt_control(rpc->client, CLSET_FD_CLOSE, NULL);
	return 0;
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

/* A string that is not believed to be longer than a universal address is. */
static bool_t get_uaddr(XDR *xdrs, char **text)
{
	return xdr_string(xdrs, text, UADDR_MAX - 1);
}

static int parse_uaddr(const char *uaddr, uint16_t *port, char why[ONCRPC_CLIENT_TEXT])
{
	if (uaddr_port(uaddr, port) == 0)
		return 0;
	snprintf(why, ONCRPC_CLIENT_TEXT, "the universal address that came has no port");
	return -EPROTO;
}

static int not_registered(uint32_t prog, uint32_t vers, const char *netid,
			  char why[ONCRPC_CLIENT_TEXT])
{
	snprintf(why, ONCRPC_CLIENT_TEXT, "program %u version %u is not registered for netid %s",
		 prog, vers, netid);
	return -ENOENT;
}

int rpcbind_getaddr(const char *host, uint16_t rpcbind_port, uint32_t prog, uint32_t vers,
		    uint32_t timeout_ms, uint16_t *port, char why[ONCRPC_CLIENT_TEXT])
{
	/* The netid is that of the transport that the question comes by, whatever is in it (RFC
	 * 1833 section 2.2.1). */
	char netid[] = "tcp", empty[1] = "", text[UADDR_MAX] = "", *uaddr = text;
	struct rpcb args = {.r_prog = prog,
			    .r_vers = vers,
			    .r_netid = netid,
			    .r_addr = empty,
			    .r_owner = empty};
	struct oncrpc_client rpc;
	int rc = oncrpc_client_open(&rpc, host, rpcbind_port, RPCBPROG, RPCBVERS, timeout_ms, false,
				    why);

	if (rc != 0)
		return rc;
	rc = oncrpc_client_call(&rpc, RPCBPROC_GETADDR, (xdrproc_t)xdr_rpcb, &args,
				(xdrproc_t)get_uaddr, &uaddr, why);
	oncrpc_client_close(&rpc);
	if (rc != 0)
		return rc;
	return text[0] == '\0' ? not_registered(prog, vers, netid, why)
			       : parse_uaddr(text, port, why);
}

/* The list that DUMP returns, of which one entry is kept. */
struct dump {
	uint32_t prog;
	uint32_t vers;
	const char *netid;
	bool is_found;
	char uaddr[UADDR_MAX];
};

static bool_t get_dump(XDR *xdrs, struct dump *dump)
{
	if (xdrs->x_op != XDR_DECODE)
		return TRUE; /* nothing was allocated */
	for (uint32_t i = 0; i <= DUMP_ENTRIES_MAX; i++) {
		char netid[DUMP_NAME_MAX + 1] = "", uaddr[UADDR_MAX] = "",
					   owner[DUMP_NAME_MAX + 1] = "";
		char *netid_at = netid, *uaddr_at = uaddr, *owner_at = owner;
		uint32_t prog = 0, vers = 0;
		bool_t more = FALSE;

		if (!xdr_bool(xdrs, &more))
			return FALSE;
		if (!more)
			return TRUE;
		if (!xdr_uint32_t(xdrs, &prog) || !xdr_uint32_t(xdrs, &vers) ||
		    !xdr_string(xdrs, &netid_at, DUMP_NAME_MAX) || !get_uaddr(xdrs, &uaddr_at) ||
		    !xdr_string(xdrs, &owner_at, DUMP_NAME_MAX))
			return FALSE;
		if (dump->is_found || prog != dump->prog || vers != dump->vers ||
		    strcmp(netid, dump->netid) != 0)
			continue;
		dump->is_found = true;
		memcpy(dump->uaddr, uaddr, sizeof(uaddr));
	}
	return FALSE;
}

int rpcbind_find(const char *host, uint16_t rpcbind_port, uint32_t prog, uint32_t vers,
		 const char *netid, uint32_t timeout_ms, uint16_t *port,
		 char why[ONCRPC_CLIENT_TEXT])
{
	struct dump dump = {.prog = prog, .vers = vers, .netid = netid};
	struct oncrpc_client rpc;
	int rc = oncrpc_client_open(&rpc, host, rpcbind_port, RPCBPROG, RPCBVERS, timeout_ms, false,
				    why);

	if (rc != 0)
		return rc;
	rc = oncrpc_client_call(&rpc, RPCBPROC_DUMP, (xdrproc_t)oncrpc_client_void, NULL,
				(xdrproc_t)get_dump, &dump, why);
	oncrpc_client_close(&rpc);
	if (rc != 0)
		return rc;
	return dump.is_found ? parse_uaddr(dump.uaddr, port, why)
			     : not_registered(prog, vers, netid, why);
}
