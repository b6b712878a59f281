/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RPC_TCP_H
#define RPC_TCP_H

/*
 * A responder for ONC RPC over TCP (RFC 5531), one program of one version, that no peer can hold up: libtirpc's waits up to 35 s
 * for the rest of a record while it serves nobody else. XDR is libtirpc's. All calls of one thread.
 */

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

#include <rpc/rpc.h>

#include "weir_rpc.h"

/*
 * The most connections, and the most of one address. When one more comes, the quietest of its own
 * address goes, if that has as many as it may have; otherwise the quietest of the address that has
 * the most.
 */
#define RPC_TCP_CONNS_MAX  64u
#define RPC_TCP_CONNS_PEER 16u
#define RPC_TCP_QUIET_MS   15000u	/* without a whole call, or with a reply that is not taken: cut off */
#define RPC_TCP_CALL_MAX   4096u	/* bytes of a call with its record marks; MNT's are 1,872 at most */
#define RPC_TCP_REPLY_MAX  (128u << 10) /* bytes of a reply; DUMP's are 83,000 at most */

/* What a handler answers: 'filter' is called with 'results' before the next call. */
struct rpc_tcp_results {
	xdrproc_t filter;
	void *results;
	bool is_later; /* instead, rpc_tcp_reply() will say */
};

/* Who calls: an address in numbers, and a port in host byte order. */
struct rpc_tcp_peer {
	char host[NI_MAXHOST];
	uint32_t port;
};

struct rpc_tcp_call {
	uint64_t id; /* of no other call of this listener */
	uint32_t proc;
	XDR *args; /* to be decoded */
	const struct rpc_tcp_peer *peer;
	const struct weir_rpc_auth *auth; /* AUTH_NONE or a well-formed AUTH_SYS */
};

struct rpc_tcp_program {
	uint32_t prog, vers;
	/* Whether this peer may connect at all: NULL, everyone may. The connection of another is closed at once. */
	bool (*may_connect)(void *arg, const struct rpc_tcp_peer *peer);
	/*
	 * Handle a call. Returns SUCCESS with *results set, or an error of RPC: PROC_UNAVAIL,
	 * GARBAGE_ARGS or SYSTEM_ERR.
	 */
	enum accept_stat (*handle)(void *arg, const struct rpc_tcp_call *call,
				   struct rpc_tcp_results *results);
	/* The connection of a call that was to be answered later has ended. May be NULL. */
	void (*dropped)(void *arg, uint64_t id);
	void *arg;
};

struct rpc_tcp;

/* Listen on 'port' (0: any) of the address 'host', in numbers; "::" is IPv4's any address, too. 0 or -errno. '*program' is
 * copied. */
int rpc_tcp_create(const char *host, uint32_t port, const struct rpc_tcp_program *program,
		   struct rpc_tcp **tcp);
uint32_t rpc_tcp_port(const struct rpc_tcp *tcp);
/* Serve what there is, or wait for something for up to 'timeout_ms'. Waits for no peer. */
void rpc_tcp_poll(struct rpc_tcp *tcp, int timeout_ms);
/*
 * Answer a call that was to be answered later. Until then, its connection serves no other call, and
 * counts as quiet since this one. Returns false if the connection has ended.
 */
bool rpc_tcp_reply(struct rpc_tcp *tcp, uint64_t id, const struct rpc_tcp_results *results);
/* Have rpc_tcp_poll() return. May be called on any thread. */
void rpc_tcp_wake(struct rpc_tcp *tcp);
/* Close all connections. NULL is allowed. */
void rpc_tcp_destroy(struct rpc_tcp *tcp);

#endif
