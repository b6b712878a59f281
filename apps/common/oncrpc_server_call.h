/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ONCRPC_SERVER_CALL_H
#define ONCRPC_SERVER_CALL_H

/*
 * Handles one call of the responder for ONC RPC over TCP, and encodes its reply. Only
 * oncrpc_server.c includes this header.
 */

#include "oncrpc_server.h"

#define LAST_FRAGMENT 0x80000000u
#define MARK_BYTES    4u

struct conn {
	int fd;
	bool is_ended;	   /* the peer has closed its sending side */
	uint64_t since_ms; /* time of the connect, the latest complete call or the latest reply by
			      oncrpc_server_end_reply() */
	uint64_t order; /* order of this connection's connect or latest complete call among those of
			   all connections */
	uint64_t later; /* id of a call whose handler has set 'is_later' and that is not answered
			   yet; 0: none */
	uint32_t xid;	/* XID of the call 'later' */
	struct oncrpc_server_peer peer;
	uint32_t have;
	uint32_t record_bytes; /* length of the record that is being served, without its marks */
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
	struct weir_xdr_out results; /* in 'reply' */
	char reply[MARK_BYTES + ONCRPC_SERVER_REPLY_MAX];
};

/*
 * Handles the call of conn's record, whose header begins at 'xdrs'. Fills *reply and encodes the
 * results. If the answer is given later, fills only the XID of *reply and sets conn->later. Returns
 * false if the record is not a call.
 */
bool oncrpc_answer(struct oncrpc_server *tcp, struct conn *conn, XDR *xdrs, struct rpc_msg *reply);
/* Begins to encode results, behind the record mark and the header of a successful reply. */
void oncrpc_begin_results(struct oncrpc_server *tcp);
/* Returns the header of a successful reply. */
struct rpc_msg oncrpc_success(uint32_t xid);
/*
 * Encodes the header of a reply to tcp->reply, after a record mark. The results of a successful
 * call are behind it already. Returns the length of the reply without its mark, in bytes, or 0 if
 * the header cannot be encoded.
 */
uint32_t oncrpc_encode(struct oncrpc_server *tcp, struct rpc_msg *reply);

#endif
