/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ONCRPC_SERVER_H
#define ONCRPC_SERVER_H

/*
 * A responder for ONC RPC over TCP (RFC 5531), one program of one version, that no peer can hold
 * up: libtirpc's waits up to 35 s for the rest of a record while it serves nobody else. XDR is
 * libtirpc's. All calls of one thread.
 */

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

#include <rpc/rpc.h>

#include <weir/rpc.h>

/*
 * The most connections, and the most of one address. When one more comes, the quietest of its own
 * address goes, if that has as many as it may have; otherwise the quietest of the address that has
 * the most.
 */
#define ONCRPC_SERVER_CONNS_MAX	 64u
#define ONCRPC_SERVER_CONNS_PEER 16u
#define ONCRPC_SERVER_QUIET_MS                                                                     \
	15000u /* without a whole call, or with a reply that is not taken: cut off */
#define ONCRPC_SERVER_CALL_MAX                                                                     \
	4096u /* bytes of a call with its record marks; MNT's are 1,872 at most */
#define ONCRPC_SERVER_REPLY_MAX (128u << 10) /* bytes of a reply; DUMP's are 83,000 at most */

/* What a handler answers: 'filter' is called with 'results' before the next call. */
struct oncrpc_server_results {
	xdrproc_t filter;
	void *results;
	bool is_later; /* instead, oncrpc_server_reply() will say */
};

/* Who calls: an address in numbers, and a port in host byte order. */
struct oncrpc_server_peer {
	char host[NI_MAXHOST];
	uint32_t port;
};

struct oncrpc_server_call {
	uint64_t id; /* of no other call of this listener */
	uint32_t proc;
	XDR *args; /* to be decoded */
	const struct oncrpc_server_peer *peer;
	const struct weir_rpc_auth *auth; /* AUTH_NONE or a well-formed AUTH_SYS */
};

struct oncrpc_server_program {
	uint32_t prog, vers;
	/* Returns whether the peer may connect. If not, its connection is closed at once. If the
	 * pointer is NULL, every peer may connect. */
	bool (*may_connect)(void *arg, const struct oncrpc_server_peer *peer);
	/*
	 * Handle a call. Returns SUCCESS with *results set, or an error of RPC: PROC_UNAVAIL,
	 * GARBAGE_ARGS or SYSTEM_ERR.
	 */
	enum accept_stat (*handle)(void *arg, const struct oncrpc_server_call *call,
				   struct oncrpc_server_results *results);
	/* The connection of a call that was to be answered later has ended. May be NULL. */
	void (*dropped)(void *arg, uint64_t id);
	void *arg;
};

struct oncrpc_server;

/* Listen on 'port' (0: any) of the address 'host', in numbers; "::" is IPv4's any address, too. 0
 * or -errno. '*program' is copied. */
int oncrpc_server_create(const char *host, uint32_t port,
			 const struct oncrpc_server_program *program, struct oncrpc_server **tcp);
uint32_t oncrpc_server_port(const struct oncrpc_server *tcp);
/* Serve what there is, or wait for something for up to 'timeout_ms'. Waits for no peer. */
void oncrpc_server_poll(struct oncrpc_server *tcp, int timeout_ms);
/*
 * Answer a call that was to be answered later. Until then, its connection serves no other call, and
 * counts as quiet since this one. Returns false if the connection has ended.
 */
bool oncrpc_server_reply(struct oncrpc_server *tcp, uint64_t id,
			 const struct oncrpc_server_results *results);
/* Have oncrpc_server_poll() return. May be called on any thread. */
void oncrpc_server_wake(struct oncrpc_server *tcp);
/* Close all connections. NULL is allowed. */
void oncrpc_server_destroy(struct oncrpc_server *tcp);

#endif
