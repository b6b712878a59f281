/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROTOCOL_H
#define PROTOCOL_H

/*
 * The operations that differ between versions of the protocol: those of a connection, of its calls
 * and of its requests. Each role has one table of operations for each protocol. The function
 * conn_role.protocol() chooses the table of a new connection by the profile, and the connection
 * uses this table until its end. In the folder of each role, version1.c defines the table for
 * version 1, and v2/protocol.c defines the table for connections that may also speak version 2.
 *
 * The fast path uses no table, because it is written for version 1. weir_conn.via_protocol is set
 * for connections whose messages must not use the fast path. The tables of version 1 lack these
 * operations:
 *
 * - negotiate_on_*() and read_group(), which are called only for connections with via_protocol.
 * - The last group of operations for requests. The responder calls them without a check of the
 *   version, but only for messages and replies that do not exist in version 1.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rdma1.h"

struct call_content;
struct mem_buf;
struct fabric_sge;
struct rdma1_read_segment;
struct reduce_call_in;
struct reduce_reply_in;
struct reduce_reply_plan;
struct reduce_xfer;
struct reply_in;
struct responder;
union request_reads;
struct weir_call;
struct weir_conn;
struct weir_engine;
struct weir_request;
struct weir_result;

/* When the first call of the queue can be sent:
 *
 * - NOW: at once.
 * - LATER: not yet, because something else must happen first.
 * - OTHER: the first call of the queue has changed. The caller must look at the queue once more.
 * - ANEW: not with the header that was prepared for the call. The call needs a new header. */
enum resend { RESEND_NOW, RESEND_LATER, RESEND_OTHER, RESEND_ANEW };

/* The kinds of messages that a requester receives. */
enum reply_kind {
	REPLY_MESSAGE, /* the decoded header and the verdict on it say what the message is */
	REPLY_GROUP,   /* all transmissions of a Transmit Response have arrived */
	REPLY_REFUSED, /* the responder refuses a call, and has not executed the call */
	REPLY_NONE,    /* no reply; the message was processed, and its buffer given back or kept */
	REPLY_SHRUNK,  /* no reply; the message was processed and its buffer given back, and from
			  then on the peer accepts only shorter messages */
};

/* The result of a step of a request. Only the responder's request.c acts on the result. */
enum request_next {
	REQUEST_GO_ON, /* the step is complete; continue with the next one */
	REQUEST_WAIT,  /* the request is in a queue, an RDMA Read of its chunks is posted, or its
			  connection has failed and is about to end */
	REQUEST_END,   /* nothing more follows; release the request */
	REQUEST_DROP,  /* nothing more follows; release the request, and count its message as
			  dropped */
	/* The step has chosen the step that follows. */
	REQUEST_BEGIN, /* the header was accepted, and can list any chunks or items */
	/* the header was accepted, and has a shape (shape.h) that request_fast.c knows */
	REQUEST_SHAPED,
	REQUEST_PULL,	     /* find the chunks or items of the call, and pull them */
	REQUEST_PULL_ON,     /* the chunks are listed; begin to pull them */
	REQUEST_JOIN_GROUP,  /* get a buffer for opaques that continue in the next transmission */
	REQUEST_GROUP_BEGUN, /* the message opens a group; wait for the rest of the group */
	REQUEST_GROUP_DONE,  /* the message was the last one of the open group */
	REQUEST_REPLY,	     /* the reply is in 'reply'; send it like a reply of the program */
	REQUEST_TRANSMIT,    /* the header and the Writes of the reply are ready; send the reply */
	/* The request is refused, for one of these reasons. refuse() of the protocol chooses the
	 * answer. */
	REQUEST_CANT_PULL,  /* the chunks cannot be pulled */
	REQUEST_BAD_ITEMS,  /* the call lists items that it must not list */
	REQUEST_CANT_REPLY, /* the chunks for the reply are too small */
	REQUEST_REFUSED,    /* an error of the protocol, which the protocol has stored */
	/* Results that only the steps of version 2 and their table use. */
	REQUEST_BASE,	/* the message has version 1, and was not checked yet */
	REQUEST_RESEND, /* send a reply again, by the base protocol */
	/* The request is answered, by one of these answers. */
	REQUEST_SEND_ERROR,   /* the bytes in 'error' of the request */
	REQUEST_ERR_VERS,     /* RDMA_ERROR with ERR_VERS */
	REQUEST_ERR_CHUNK,    /* RDMA_ERROR with ERR_CHUNK */
	REQUEST_NOT_FOUND,    /* the RPC error for a version of RPC, a program, its version, or a
				 procedure that does not exist */
	REQUEST_DENIED,	      /* AUTH_ERROR with 'auth_stat' of the request */
	REQUEST_GARBAGE_ARGS, /* the RPC error of that name */
	REQUEST_SYSTEM_ERROR, /* the RPC error SYSTEM_ERR */
	/* The reply waits for one of these before it can be sent. */
	REQUEST_WAIT_RESERVE, /* a buffer, possibly of the reserve: reserve.h */
	REQUEST_WAIT_REPLAY,  /* the reply to an earlier copy of the call, which the program is
				 executing */
};

/* The operations of one protocol for one role. */
struct conn_protocol {
	bool via_protocol; /* the value of weir_conn.via_protocol for connections of this table */

	/* ---- connections ---- */
	/* create() is called by conn_create(). It returns 0 or a negative errno. destroy() is
	 * called by conn_free(), even if create() failed or was not called. */
	int (*create)(struct weir_conn *conn);
	void (*destroy)(struct weir_conn *conn);
	/* Restores the state that create() set. Is called before a lost connection connects again.
	 */
	void (*reset)(struct weir_conn *conn);
	/* Sets the inline thresholds. Is called after the peer's private data have arrived. */
	void (*set_thresholds)(struct weir_conn *conn);
	/* Sets *low and *high to the lowest and highest version that this side supports. */
	void (*versions)(const struct weir_conn *conn, uint32_t *low, uint32_t *high);
	/* Is called when the connection is established. Returns false if the connection can open at
	 * once. Returns true if the peer must be asked for its version first. The connection is
	 * then NEGOTIATING, or has failed. */
	bool (*negotiate)(struct weir_conn *conn);
	/* These functions are called while the connection is NEGOTIATING: they process a message, a
	 * tick, and a failure of the connection. */
	void (*negotiate_on_message)(struct weir_conn *conn, struct mem_buf *buf, uint32_t len);
	void (*negotiate_on_tick)(struct weir_conn *conn, uint64_t now_ns);
	void (*negotiate_on_fail)(struct weir_conn *conn);
	/* Counts the connection in the statistics when it has opened. */
	void (*on_open)(struct weir_conn *conn);
	/* Checks the deadlines of the protocol. The on_tick() of the role calls it. */
	void (*on_tick)(struct weir_conn *conn, uint64_t now_ns);
	/* Returns the time at which on_tick has to be called next. The values are as in
	 * engine_endpoint.next_tick. */
	uint64_t (*next_tick)(const struct weir_conn *conn);

	/* ---- calls ---- */
	/* Returns the credits that the peer granted before any reply, or 0 if it granted none. */
	uint32_t (*first_credits)(const struct weir_conn *conn);
	/* Releases the protocol's state of a connection that was lost and will be established
	 * again. The queue pair of the connection was destroyed. */
	void (*on_suspend)(struct weir_conn *conn);
	/* Writes the header of a call that has a shape (call_shape.h). Returns false if the call
	 * has no shape. The call is then unchanged. */
	bool (*prepare_shape)(struct weir_call *call);
	/* Chooses the form of a call and writes its header. call->plan is the plan of the reducer
	 * for the base protocol, and 'in' is the input of that plan. Returns 0, or an error that
	 * call_prepare() returns. */
	int (*write_header)(struct weir_call *call, const struct reduce_call_in *in);
	/* Queues the Sends of a call, after the binds of its windows. Returns false, and has queued
	 * nothing, if the call must wait for a buffer. */
	bool (*send)(struct weir_call *call);
	/* Checks whether there are enough credits for a call, which can need several. Returns
	 * RESEND_NOW if there are, RESEND_LATER if the call must wait for them, or RESEND_ANEW if
	 * the call must be prepared in another form. */
	enum resend (*claim_credits)(struct weir_call *call);
	/* Releases what the protocol has assigned to a call. */
	void (*release_call)(struct weir_call *call);
	/* Finds the fields of the header of a call that hold keys, in the order of the header.
	 * Stores pointers to at most 'max' of them in 'handles', and returns how many it stored. If
	 * the header also has a field for the key that the reply may invalidate, sets *inv_handle
	 * to that field, in which the caller stores the first key. */
	uint32_t (*find_handles)(const struct weir_call *call, uint8_t **handles, uint32_t max,
				 uint8_t **inv_handle);
	/* Decodes a message of 'len' bytes, of any supported version, and sets *in. Returns the
	 * kind of the message. 'inv_rkey' is the key that the peer invalidated with the message, or
	 * 0. 'is_again' means that the message is decoded for the second time, because the reply
	 * was kept until its call could end. */
	enum reply_kind (*receive_reply)(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
					 uint32_t inv_rkey, bool is_again, struct reply_in *in);
	/* Reads a reply by the extension, for which receive_reply() returned REPLY_GROUP. 'chain'
	 * has its transmissions, and the first of them has 'len' bytes. Sets *credit to the granted
	 * credits. Unless 'content' is NULL, also sets *content, and *result to the result of the
	 * call. Returns false if the call must wait for another reply. */
	bool (*read_group)(struct weir_call *call, const struct mem_buf *chain, uint32_t len,
			   uint32_t *credit, struct call_content *content,
			   struct weir_result *result);

	/* ---- requests ---- */
	/* begin_responder() is called before the engine creates a responder, and end_responder()
	 * after the end of a responder. begin_responder() returns false if memory is exhausted. */
	bool (*begin_responder)(struct weir_engine *engine);
	void (*end_responder)(struct weir_engine *engine, const struct responder *responder);
	/* Stops accepting calls, because the connection drains. */
	void (*on_drain)(struct weir_conn *conn);
	/* Checks the message of a request that arrived. Returns REQUEST_SHAPED, _BEGIN,
	 * _GROUP_BEGUN, _GROUP_DONE or _REPLY, or a result that ends the request. */
	enum request_next (*receive_call)(struct weir_request *req);
	/* Returns the answer to a request that is refused. 'why' is REQUEST_CANT_PULL, _BAD_ITEMS,
	 * _CANT_REPLY or _REFUSED. */
	enum request_next (*refuse)(struct weir_request *req, enum request_next why);
	/* Lists the chunks of the call that must be pulled. Returns their number, or a negative
	 * errno. */
	int (*list_chunks)(struct weir_request *req);
	/* Sets the decoder of the request to the start of the Payload stream, which lacks the items
	 * that are in chunks. */
	void (*open_stream)(struct weir_request *req);
	/* These functions iterate over the segments of the call that must be read. reads_next()
	 * sets *seg, or returns false after the last segment. */
	void (*reads_begin)(const struct weir_request *req, union request_reads *it);
	bool (*reads_next)(const struct weir_request *req, union request_reads *it,
			   struct rdma1_read_segment *seg);
	/* Lists the parts of the arguments when all segments were read, and counts the chunks that
	 * were read. Returns the number of parts, or a negative value if the chunks are
	 * inconsistent. */
	int (*collect_args)(struct weir_request *req);
	/* Writes the header of a reply that has a shape (request_shape.h). Returns false if the
	 * reply has no shape. */
	bool (*plan_shape)(struct weir_request *req);
	/* Plans any other reply and writes its header. Returns 0, or one of these errors:
	 *
	 * - -ENOBUFS: the reply waits for a buffer.
	 * - -EMSGSIZE, -ENOSPC: the reply does not fit.
	 * - any other: the reply cannot be sent at all. */
	int (*plan_reply)(struct weir_request *req);
	/* Plans a reply like reduce_reply(), with a header of the version of the request. */
	int (*reduce)(struct weir_request *req, const struct reduce_reply_in *in, uint8_t *buf,
		      uint32_t size, struct reduce_xfer *xfers, struct reduce_reply_plan *plan);
	/* Returns the key that the reply invalidates, or 0 if there is none. */
	uint32_t (*key_to_end)(const struct weir_request *req);
	/* The tables of version 1 do not have the following operations, which form the last group.
	 */
	/* Releases what the extension has assigned to a request. */
	void (*release_request)(struct weir_request *req);
	/* Is called when all transmissions of a group have arrived. Returns REQUEST_PULL,
	 * REQUEST_JOIN_GROUP, or a result that ends the request. */
	enum request_next (*begin_group)(struct weir_request *req);
	/* group_fits() returns whether the send queue has room for a reply in several Sends. If
	 * there is none, the reply waits for it. send_group() queues the Sends. For a reply in one
	 * Send, gather_placed() adds the gather elements of the results that the Send places, like
	 * conn_gather_placed(). on_placed() is called when a reply with placed results is being
	 * sent. */
	bool (*group_fits)(struct weir_request *req);
	void (*send_group)(struct weir_request *req);
	uint32_t (*gather_placed)(struct weir_request *req, struct fabric_sge *sges, uint32_t n,
				  uint32_t *bytes);
	void (*on_placed)(struct weir_request *req);
};

/* version1.c */
int conn_v1_create(struct weir_conn *conn);
void conn_v1_destroy(struct weir_conn *conn);
void conn_v1_set_thresholds(struct weir_conn *conn);
void conn_v1_versions(const struct weir_conn *conn, uint32_t *low, uint32_t *high);
bool conn_v1_negotiate(struct weir_conn *conn);
void conn_v1_on_open(struct weir_conn *conn);
void conn_v1_on_tick(struct weir_conn *conn, uint64_t now_ns);
uint64_t conn_v1_next_tick(const struct weir_conn *conn);

/* The operations for connections in all tables of version 1. A connection that speaks only version
 * 1 is never NEGOTIATING, so the tables have no functions for that state. */
#define CONN_PROTOCOL_V1                                                                           \
	.create = conn_v1_create, .destroy = conn_v1_destroy, .reset = conn_v1_set_thresholds,     \
	.set_thresholds = conn_v1_set_thresholds, .versions = conn_v1_versions,                    \
	.negotiate = conn_v1_negotiate, .on_open = conn_v1_on_open, .on_tick = conn_v1_on_tick,    \
	.next_tick = conn_v1_next_tick

#endif
