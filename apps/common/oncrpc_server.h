/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ONCRPC_SERVER_H
#define ONCRPC_SERVER_H

/*
 * A responder for ONC RPC over TCP (RFC 5531), for one version of one program. No peer can block
 * this responder. A server of libtirpc would wait up to 35 s for the rest of a record and serve
 * nobody else meanwhile. libtirpc decodes and encodes the headers of messages, and the functions of
 * weirgen the arguments and results. All functions of one responder must be called by one thread,
 * except where a comment says otherwise.
 */

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

#include <rpc/rpc.h>

#include <weir/rpc.h>

/*
 * The maximum number of connections in all, and the maximum number from one address. When one more
 * connection arrives:
 * - If the address of the new connection has the maximum already, the connection of this address
 *   whose latest call is oldest is closed.
 * - Otherwise, if all connections are in use, the address with the most connections loses the
 *   connection whose latest call is oldest.
 */
#define ONCRPC_SERVER_CONNS_MAX	 64u
#define ONCRPC_SERVER_CONNS_PEER 16u
#define ONCRPC_SERVER_QUIET_MS                                                                     \
	15000u /* a connection is closed after this time without a complete call, or without       \
		  progress of an unsent reply */
#define ONCRPC_SERVER_CALL_MAX                                                                     \
	4096u /* maximum bytes of a call with its record marks; a call of MNT has at most 1,872 */
#define ONCRPC_SERVER_REPLY_MAX (128u << 10) /* bytes of a reply; DUMP needs up to 83,000 */

/* The peer that calls. 'host' is its numeric address. 'port' is in host byte order. */
struct oncrpc_server_peer {
	char host[NI_MAXHOST];
	uint32_t port;
};

struct oncrpc_server_call {
	uint64_t id; /* unique among the calls of this responder, and never 0 */
	uint32_t proc;
	struct weir_xdr_in *args;     /* stream from which the handler decodes the arguments */
	struct weir_xdr_out *results; /* stream to which the handler encodes the results */
	const struct oncrpc_server_peer *peer;
	const struct weir_rpc_auth *auth; /* AUTH_NONE or a well-formed AUTH_SYS */
};

struct oncrpc_server_program {
	uint32_t prog, vers;
	/*
	 * Returns true if the peer is allowed to connect. Otherwise the responder closes the peer's
	 * connection at once. If the pointer is NULL, every peer is allowed to connect.
	 */
	bool (*may_connect)(void *arg, const struct oncrpc_server_peer *peer);
	/*
	 * Handles a call. Returns WEIR_RPC_SUCCESS with the results encoded, or an RPC error:
	 * WEIR_RPC_PROC_UNAVAIL, WEIR_RPC_GARBAGE_ARGS or WEIR_RPC_SYSTEM_ERR. If the handler sets
	 * *is_later and returns WEIR_RPC_SUCCESS, the functions oncrpc_server_begin_reply() and
	 * oncrpc_server_end_reply() answer the call later.
	 */
	enum weir_rpc_accept_stat (*handle)(void *arg, const struct oncrpc_server_call *call,
					    bool *is_later);
	/*
	 * Reports that a connection ended before its call 'id' was answered. The pointer is allowed
	 * to be NULL.
	 */
	void (*dropped)(void *arg, uint64_t id);
	void *arg; /* passed to the functions above */
};

struct oncrpc_server;

/*
 * Listens on 'port' (0: a free port) of the numeric address 'host'. "::" also includes all IPv4
 * addresses. '*program' is copied. Returns 0 with *tcp set, or -errno.
 */
int oncrpc_server_create(const char *host, uint32_t port,
			 const struct oncrpc_server_program *program, struct oncrpc_server **tcp);
/* Returns the port on which the responder listens. */
uint32_t oncrpc_server_port(const struct oncrpc_server *tcp);
/*
 * Serves all connections that are ready, and accepts new ones. If no connection is ready, waits for
 * up to 'timeout_ms'. The function does not wait for any single peer.
 */
void oncrpc_server_poll(struct oncrpc_server *tcp, int timeout_ms);
/*
 * Begins the answer to the call 'id', whose handler set *is_later. Until the answer, the connection
 * of the call serves no other call, and ONCRPC_SERVER_QUIET_MS runs from the arrival of that call.
 * Returns the stream to which the caller encodes the results before it calls another function of
 * the responder, or NULL if the connection has ended.
 */
struct weir_xdr_out *oncrpc_server_begin_reply(struct oncrpc_server *tcp, uint64_t id);
/*
 * Sends the answer to the call 'id' after oncrpc_server_begin_reply(). 'is_encoded' is false if the
 * results could not be encoded. Returns true if the call was answered. Otherwise the connection is
 * closed.
 */
bool oncrpc_server_end_reply(struct oncrpc_server *tcp, uint64_t id, bool is_encoded);
/*
 * Makes a running or the next oncrpc_server_poll() return. Any thread is allowed to call this
 * function.
 */
void oncrpc_server_wake(struct oncrpc_server *tcp);
/* Closes all connections and frees the responder. 'tcp' is allowed to be NULL. */
void oncrpc_server_destroy(struct oncrpc_server *tcp);

#endif
