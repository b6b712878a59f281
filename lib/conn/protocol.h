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
 * The fast path uses no table: it is written for version 1. weir_conn.via_protocol is set for
 * connections that must not use it. The tables of version 1 lack these operations:
 *
 * - negotiate_on_*() and read_group(), which are called only for connections with via_protocol.
 * - The last group of operations for requests. The responder does not check the version: it calls
 *   them only for messages and replies that do not exist in version 1.
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

/* When a queued call may be sent:
 *
 * - NOW.
 * - LATER: something else must happen first.
 * - OTHER: the first call of the queue may be another one. Look at the queue once more.
 * - ANEW: not with the header that was prepared for it. The call needs a new header. */
enum resend { RESEND_NOW, RESEND_LATER, RESEND_OTHER, RESEND_ANEW };

/* The kinds of messages that a requester receives. */
enum reply_kind {
	REPLY_MESSAGE, /* the header says what the message is */
	REPLY_GROUP,   /* all transmissions of a Transmit Response have arrived */
	REPLY_REFUSED, /* the responder refuses a call, and has not executed it */
	REPLY_NONE,    /* no reply; the message was processed, and its buffer returned or kept */
	REPLY_SHRUNK,  /* the same, and from then on the peer accepts only shorter messages */
};

/* The result of a step of a request. Only the responder's request.c acts on it. */
enum request_next {
	REQUEST_GO_ON, /* the step is complete; continue with the next one */
	REQUEST_WAIT,  /* the request is in a queue, or a READ of it is posted */
	REQUEST_END,   /* nothing more follows; release the request */
	REQUEST_DROP,  /* the same, and the message counts as dropped */
	/* The step that follows, as chosen by this one. */
	REQUEST_BEGIN,	    /* the header was accepted, and may list anything */
	REQUEST_SHAPED,	    /* the header was accepted, and has a shape that request_fast.c knows */
	REQUEST_PULL,	    /* find the chunks or items of the call, and pull them */
	REQUEST_PULL_ON,    /* the chunks are listed; begin to pull them */
	REQUEST_JOIN_GROUP, /* get a buffer for opaques that continue in the next transmission */
	REQUEST_GROUP_BEGUN, /* the message opens a group; wait for the rest of the group */
	REQUEST_GROUP_DONE,  /* the message was the last one of the open group */
	REQUEST_REPLY,	     /* the reply is in 'reply'; send it like a reply of the program */
	REQUEST_TRANSMIT,    /* the header and the Writes of the reply are ready; send it */
	/* The reason for which a request is refused. refuse() of the protocol chooses the answer.
	 */
	REQUEST_CANT_PULL,  /* the chunks cannot be pulled */
	REQUEST_BAD_ITEMS,  /* the call lists items that it must not list */
	REQUEST_CANT_REPLY, /* the chunks for the reply are too small */
	REQUEST_REFUSED,    /* an error of the protocol, which the protocol has stored */
	/* Results that only the steps of version 2 and their table use. */
	REQUEST_BASE,	/* the message has version 1, and was not checked yet */
	REQUEST_RESEND, /* send a reply again, by the base protocol */
	/* The answer to the request. */
	REQUEST_SEND_ERROR,   /* the bytes in 'error' */
	REQUEST_ERR_VERS,     /* RDMA_ERROR */
	REQUEST_ERR_CHUNK,    /* the same */
	REQUEST_NOT_FOUND,    /* the version of RPC, program or procedure does not exist */
	REQUEST_DENIED,	      /* AUTH_ERROR with 'auth_stat' */
	REQUEST_GARBAGE_ARGS, /* the RPC error of that name */
	REQUEST_SYSTEM_ERROR, /* the same */
	/* The reply waits for one of these before it can be sent. */
	REQUEST_WAIT_RESERVE, /* a buffer, possibly of the reserve: reserve.h */
	REQUEST_WAIT_REPLAY,  /* the reply to the same call, which the program is executing */
};

struct conn_protocol {
	bool via_protocol; /* the value for its connections */

	/* ---- connections ---- */
	/* Is called at the end of conn_create(). Returns 0 or an error. destroy() is called in both
	 * cases. */
	int (*create)(struct weir_conn *conn);
	void (*destroy)(struct weir_conn *conn);
	/* Restores the state after create(), before a lost connection is established again. */
	void (*reset)(struct weir_conn *conn);
	/* Sets the thresholds, after the peer's values have changed. */
	void (*set_thresholds)(struct weir_conn *conn);
	/* Returns the range of versions that this side supports. */
	void (*versions)(const struct weir_conn *conn, uint32_t *low, uint32_t *high);
	/* Is called when the connection is established. If the peer must be asked for its version
	 * first, returns true: the connection is NEGOTIATING, or has failed. */
	bool (*negotiate)(struct weir_conn *conn);
	/* While the connection is NEGOTIATING, these functions process a message, a tick and a
	 * failure. */
	void (*negotiate_on_message)(struct weir_conn *conn, struct mem_buf *buf, uint32_t len);
	void (*negotiate_on_tick)(struct weir_conn *conn, uint64_t now_ns);
	void (*negotiate_on_fail)(struct weir_conn *conn);
	/* Counts the connection when it has opened. */
	void (*on_open)(struct weir_conn *conn);
	/* Processes a tick, for the role. */
	void (*on_tick)(struct weir_conn *conn, uint64_t now_ns);

	/* ---- calls ---- */
	/* Returns the credits that the peer granted before any reply. 0: it did not grant any. */
	uint32_t (*first_credits)(const struct weir_conn *conn);
	/* Releases the state of a lost connection that will be established again. Its queue pair
	 * was destroyed. */
	void (*on_suspend)(struct weir_conn *conn);
	/* Lays out a call that has a shape (call_shape.h). Returns false if it has none. */
	bool (*prepare_shape)(struct weir_call *call);
	/* Chooses the form of a call with the plan 'in' and writes its header. Returns 0, or an
	 * error that call_prepare() returns. */
	int (*write_header)(struct weir_call *call, const struct reduce_call_in *in);
	/* Queues the Sends of a call, after the binds of its windows. Returns false, and has queued
	 * nothing, if the call must wait for a buffer. */
	bool (*send)(struct weir_call *call);
	/* Checks whether there are enough credits for a call, which may need several. Returns NOW,
	 * LATER or ANEW. */
	enum resend (*claim_credits)(struct weir_call *call);
	/* Releases what the protocol has assigned to a call. */
	void (*release_call)(struct weir_call *call);
	/* Finds the keys in the header of a call, like rdma1_handles(). If the header has a field
	 * for a key that the responder may invalidate, sets '*inv_handle': the first key must be
	 * stored there. */
	uint32_t (*find_handles)(const struct weir_call *call, uint8_t **handles, uint32_t max,
				 uint8_t **inv_handle);
	/* Decodes a message of any supported version. 'is_again' means that the message is decoded
	 * for the second time, because the reply was kept until its call could end. */
	enum reply_kind (*receive_reply)(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
					 uint32_t inv_rkey, bool is_again, struct reply_in *in);
	/* Reads a reply by the extension, after REPLY_GROUP. The first of its transmissions has
	 * 'len' bytes. Sets *credit, and also the content and the result of the call unless
	 * 'content' is NULL. Returns false if the call must wait for another reply. */
	bool (*read_group)(struct weir_call *call, const struct mem_buf *chain, uint32_t len,
			   uint32_t *credit, struct call_content *content,
			   struct weir_result *result);

	/* ---- requests ---- */
	/* begin_responder() is called before the engine creates a responder, and end_responder()
	 * after its end. begin_responder() returns false if memory is exhausted. */
	bool (*begin_responder)(struct weir_engine *engine);
	void (*end_responder)(struct weir_engine *engine, const struct responder *responder);
	/* Stops accepting calls, because the connection drains. */
	void (*on_drain)(struct weir_conn *conn);
	/* Checks a message that arrived. Returns SHAPED, BEGIN, GROUP_BEGUN, GROUP_DONE, REPLY, or
	 * a result that ends the request. */
	enum request_next (*receive_call)(struct weir_request *req);
	/* Returns the answer to a request that is refused. 'why' is CANT_PULL, BAD_ITEMS,
	 * CANT_REPLY or REFUSED. */
	enum request_next (*refuse)(struct weir_request *req, enum request_next why);
	/* Lists the chunks that must be pulled. Returns their number, or an error. */
	int (*list_chunks)(struct weir_request *req);
	/* Sets the decoder to the start of the Payload stream without its items. */
	void (*open_stream)(struct weir_request *req);
	/* These functions iterate over the segments that must be read. */
	void (*reads_begin)(const struct weir_request *req, union request_reads *it);
	bool (*reads_next)(const struct weir_request *req, union request_reads *it,
			   struct rdma1_read_segment *seg);
	/* Lists the parts of the arguments when all segments were read, and counts the chunks that
	 * were read. Returns the number of parts. Returns a negative value if the chunks are
	 * inconsistent. */
	int (*collect_args)(struct weir_request *req);
	/* Lays out a reply that has a shape (request_shape.h). Returns false if it has none. */
	bool (*plan_shape)(struct weir_request *req);
	/* Lays out any other reply. Returns 0, or one of these errors:
	 *
	 * - -ENOBUFS: the reply waits for a buffer.
	 * - -EMSGSIZE, -ENOSPC: the reply does not fit.
	 * - any other: the reply cannot be sent at all. */
	int (*plan_reply)(struct weir_request *req);
	/* Does the same as reduce_reply(), with a header of the version of the request. */
	int (*reduce)(struct weir_request *req, const struct reduce_reply_in *in, uint8_t *buf,
		      uint32_t size, struct reduce_xfer *xfers, struct reduce_reply_plan *plan);
	/* Returns the key that the reply invalidates, or 0 if there is none. */
	uint32_t (*key_to_end)(const struct weir_request *req);
	/* Operations for requests and replies that version 1 does not have. */
	/* Releases what the extension has assigned to a request. */
	void (*release_request)(struct weir_request *req);
	/* Is called when all transmissions of a group have arrived. Returns PULL, JOIN_GROUP, or a
	 * result that ends the request. */
	enum request_next (*begin_group)(struct weir_request *req);
	/* group_fits() returns whether the send queue has room for a reply in several Sends. If
	 * not, the reply waits. send_group() queues the Sends. For a reply in one Send,
	 * gather_placed() adds the elements of results that the Send places, like
	 * conn_gather_placed(). on_placed() is called when a reply with such results is being sent.
	 */
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

/* The operations of connections that all tables of version 1 have. Connections of version 1 are
 * never NEGOTIATING. */
#define CONN_PROTOCOL_V1                                                                           \
	.create = conn_v1_create, .destroy = conn_v1_destroy, .reset = conn_v1_set_thresholds,     \
	.set_thresholds = conn_v1_set_thresholds, .versions = conn_v1_versions,                    \
	.negotiate = conn_v1_negotiate, .on_open = conn_v1_on_open, .on_tick = conn_v1_on_tick

#endif
