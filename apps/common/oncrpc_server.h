/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ONCRPC_SERVER_H
#define ONCRPC_SERVER_H

/*
 * A responder for ONC RPC over TCP (RFC 5531), for one version of one program. No peer can block
 * it. A server of libtirpc waits up to 35 s for the rest of a record and serves nobody else
 * meanwhile. XDR is libtirpc's. One thread makes all calls, except where a comment says otherwise.
 */

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

#include <rpc/rpc.h>

#include <weir/rpc.h>

/*
 * The maximum number of connections in all, and from one address. When one more connection arrives:
 * - If its own address has the maximum already, the connection of this address whose latest call is
 *   oldest is closed.
 * - Otherwise, if all connections are in use, the address with the most connections loses the
 *   connection whose latest call is oldest.
 */
#define ONCRPC_SERVER_CONNS_MAX	 64u
#define ONCRPC_SERVER_CONNS_PEER 16u
#define ONCRPC_SERVER_QUIET_MS                                                                     \
	15000u /* a connection is closed after this time without a complete call, or with an       \
		  unsent reply */
#define ONCRPC_SERVER_CALL_MAX                                                                     \
	4096u /* bytes of a call with its record marks; at most 1,872 for MNT */
#define ONCRPC_SERVER_REPLY_MAX (128u << 10) /* bytes of a reply; at most 83,000 for DUMP */

/* The answer of a handler. 'filter' is called with 'results' before the next call is handled. */
struct oncrpc_server_results {
	xdrproc_t filter;
	void *results;
	bool is_later; /* oncrpc_server_reply() gives the answer instead */
};

/* The peer that calls: a numeric address, and a port in host byte order. */
struct oncrpc_server_peer {
	char host[NI_MAXHOST];
	uint32_t port;
};

struct oncrpc_server_call {
	uint64_t id; /* unique among the calls of this listener */
	uint32_t proc;
	XDR *args; /* arguments to decode */
	const struct oncrpc_server_peer *peer;
	const struct weir_rpc_auth *auth; /* AUTH_NONE or a well-formed AUTH_SYS */
};

struct oncrpc_server_program {
	uint32_t prog, vers;
	/*
	 * Returns true when the peer may connect. Otherwise its connection is closed at once. If
	 * the pointer is NULL, every peer may connect.
	 */
	bool (*may_connect)(void *arg, const struct oncrpc_server_peer *peer);
	/*
	 * Handles a call. Returns SUCCESS with *results set, or an RPC error: PROC_UNAVAIL,
	 * GARBAGE_ARGS or SYSTEM_ERR.
	 */
	enum accept_stat (*handle)(void *arg, const struct oncrpc_server_call *call,
				   struct oncrpc_server_results *results);
	/*
	 * Reports that a connection ended before its call was answered by oncrpc_server_reply().
	 * May be NULL.
	 */
	void (*dropped)(void *arg, uint64_t id);
	void *arg;
};

struct oncrpc_server;

/*
 * Listens on 'port' (0: any) of the numeric address 'host'. "::" also includes all IPv4 addresses.
 * Returns 0 or -errno. '*program' is copied.
 */
int oncrpc_server_create(const char *host, uint32_t port,
			 const struct oncrpc_server_program *program, struct oncrpc_server **tcp);
uint32_t oncrpc_server_port(const struct oncrpc_server *tcp);
/*
 * Serves all connections that are ready. If none is ready, waits for up to 'timeout_ms'. The
 * function does not wait for any single peer.
 */
void oncrpc_server_poll(struct oncrpc_server *tcp, int timeout_ms);
/*
 * Answers a call whose handler set 'is_later'. Until then, its connection serves no other call, and
 * the time limit of a silent connection runs from that call on. Returns false if the connection has
 * ended.
 */
bool oncrpc_server_reply(struct oncrpc_server *tcp, uint64_t id,
			 const struct oncrpc_server_results *results);
/* Makes oncrpc_server_poll() return. Any thread may call this. */
void oncrpc_server_wake(struct oncrpc_server *tcp);
/* Closes all connections and frees the server. NULL is allowed. */
void oncrpc_server_destroy(struct oncrpc_server *tcp);

#endif
