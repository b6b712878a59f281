/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROTOCOL_H
#define PROTOCOL_H

/*
 * What a version of the protocol does its own way: operations of a connection, of its calls and of
 * its requests. Each role has a table for each protocol, and a connection points to one of them for
 * as long as it lives: conn_role.protocol() chooses it by the profile. The table of version 1 is
 * version1.c's; that of connections that may also speak version 2 is made in the folders v2/.
 *
 * The short ways of the data path do not go through a table: they are those of version 1. Where
 * they may not be taken, weir_conn.via_protocol is set. Operations of calls that are marked by it
 * are called of such connections alone; version 1 has none of them. The responder asks for no
 * version: it calls the operations that version 1 lacks only for what comes from version 2.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rdma1.h"

struct call_content;
struct call_message;
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

/* When a call that is queued may be sent; OTHER: look at the first one of the queue, which may be
 * another; ANEW: not as it was prepared, its header is to be made anew. */
enum resend { RESEND_NOW, RESEND_LATER, RESEND_OTHER, RESEND_ANEW };

/* What a message is to a requester. */
enum reply_kind {
	REPLY_MESSAGE, /* its header says what it is */
	REPLY_GROUP,   /* the last transmission of a reply that has several */
	REPLY_REFUSED, /* a call is refused: the responder has not carried it out */
	REPLY_NONE,    /* no reply: it is dealt with, its buffer too */
	REPLY_SHRUNK,  /* the same, and the peer takes shorter messages from here on */
};

/* What a step of a request has come to. The responder's request.c alone acts upon it. */
enum request_next {
	REQUEST_GO_ON, /* the step is done: on to the next one */
	REQUEST_WAIT,  /* the request is in a queue, or a READ of it is posted */
	REQUEST_END,   /* nothing more comes of the request: release it */
	REQUEST_DROP,  /* the same, and the message counts as dropped */
	/* Steps that the one before chooses. */
	REQUEST_BEGIN,	 /* the header was accepted, and may list anything */
	REQUEST_SHAPED,	 /* the header was accepted, and is of a shape that request_fast.c knows */
	REQUEST_PULL,	 /* find what the call lists, and pull it */
	REQUEST_PULL_ON, /* the chunks are listed: begin to pull them */
	REQUEST_JOIN_GROUP,  /* find a buffer for what crosses from one transmission to the next */
	REQUEST_GROUP_BEGUN, /* the message opens a group: wait for the others of it */
	REQUEST_GROUP_DONE,  /* the message was the last of the open group */
	REQUEST_REPLY,	     /* the reply is in 'reply': send it as one of the program's */
	REQUEST_TRANSMIT,    /* the reply's header and its Writes are made: send it */
	/* Why a request is refused: the protocol's refuse() says what answers it. */
	REQUEST_CANT_PULL,  /* the chunks cannot be pulled */
	REQUEST_BAD_ITEMS,  /* the call lists items that it may not have */
	REQUEST_CANT_REPLY, /* the chunks for the reply are too small */
	REQUEST_REFUSED,    /* an error of the protocol's own, which it has noted */
	/* Results between the steps of version 2 and its table. */
	REQUEST_BASE,	/* the message is of version 1, and has yet to be judged */
	REQUEST_RESEND, /* send a reply again, by the base protocol */
	/* What answers the request. */
	REQUEST_SEND_ERROR,   /* the bytes in 'error' */
	REQUEST_ERR_VERS,     /* RDMA_ERROR */
	REQUEST_ERR_CHUNK,    /* the same */
	REQUEST_NOT_FOUND,    /* there is no such version of RPC, program or procedure */
	REQUEST_DENIED,	      /* AUTH_ERROR, by 'auth_stat' */
	REQUEST_GARBAGE_ARGS, /* the RPC error of that name */
	REQUEST_SYSTEM_ERROR, /* the same */
	/* What the reply waits for. */
	REQUEST_WAIT_RESERVE, /* a buffer, if need be the last one: reserve.h */
	REQUEST_WAIT_REPLAY,  /* the reply to the same call, which the program has already */
};

struct conn_protocol {
	bool via_protocol; /* of its connections */

	/* ---- connections ---- */
	/* At the end of conn_create(): 0 or an error. destroy() follows in any case. */
	int (*create)(struct weir_conn *conn);
	void (*destroy)(struct weir_conn *conn);
	/* As create() left it, for the next connection of one that is remade. */
	void (*reset)(struct weir_conn *conn);
	/* The thresholds anew: what the peer told has changed. */
	void (*set_thresholds)(struct weir_conn *conn);
	/* The range of versions that this side understands. */
	void (*versions)(const struct weir_conn *conn, uint32_t *low, uint32_t *high);
	/* It was just established. True: the peer is to be asked first, and it is NEGOTIATING, or
	 * has failed. */
	bool (*negotiate)(struct weir_conn *conn);
	/* NEGOTIATING: a message came; time goes by; it fails. */
	void (*negotiate_on_message)(struct weir_conn *conn, struct mem_buf *buf, uint32_t len);
	void (*negotiate_on_tick)(struct weir_conn *conn, uint64_t now_ns);
	void (*negotiate_on_fail)(struct weir_conn *conn);
	/* It is open: count it. */
	void (*on_open)(struct weir_conn *conn);
	/* Of its role: time goes by. */
	void (*on_tick)(struct weir_conn *conn, uint64_t now_ns);

	/* ---- calls ---- */
	/* What the peer has granted before any reply; 0: it has not said. */
	uint32_t (*first_credits)(const struct weir_conn *conn);
	/* The device is out of it, and it is to be remade. */
	void (*on_suspend)(struct weir_conn *conn);
	/* Lay out a call that has a shape (call_shape.h). False: it has none. */
	bool (*prepare_shape)(struct weir_call *call);
	/* Chooses the form of a call with that plan and writes its header. Returns 0, or what
	 * call_prepare() returns. */
	int (*write_header)(struct weir_call *call, const struct reduce_call_in *in);
	/* Gather the message of a call, before its windows are bound. False: it waits for a buffer.
	 * Then queue its Sends. */
	bool (*gather)(struct weir_call *call, struct call_message *msg);
	void (*send)(struct weir_call *call, const struct call_message *msg);
	/* Claim the credits of a call, which may take several. Returns NOW, LATER or ANEW. */
	enum resend (*claim_credits)(struct weir_call *call);
	/* Give back what a call has by the protocol. */
	void (*release_call)(struct weir_call *call);
	/* Finds the keys in the header of a call, as rdma1_handles(). Sets '*inv_handle' if the
	 * header also names a key that the responder may invalidate: the first one belongs there.
	 */
	uint32_t (*find_handles)(const struct weir_call *call, uint8_t **handles, uint32_t max,
				 uint8_t **inv_handle);
	/* A message came, of any version that is understood. 'is_again': it is looked at once more,
	 * as its call waited. */
	enum reply_kind (*receive_reply)(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
					 uint32_t inv_rkey, bool is_again, struct reply_in *in);
	/* For GROUP alone: read a reply of several transmissions, of which the first has 'len'
	 * bytes: its credits, and what the call ends with. 'content' NULL: the credits alone.
	 * False: another reply is to come. */
	bool (*read_group)(struct weir_call *call, const struct mem_buf *chain, uint32_t len,
			   uint32_t *credit, struct call_content *content,
			   struct weir_result *result);

	/* ---- requests ---- */
	/* Before and after a responder of the engine's. False: there is no memory for that. */
	bool (*begin_responder)(struct weir_engine *engine);
	void (*end_responder)(struct weir_engine *engine, const struct responder *responder);
	/* No more calls are to begin. */
	void (*on_drain)(struct weir_conn *conn);
	/* Judges a message that came. Returns SHAPED, BEGIN, GROUP_BEGUN, GROUP_DONE, REPLY, or
	 * what ends the request. */
	enum request_next (*receive_call)(struct weir_request *req);
	/* Returns what answers a request that is refused; 'why' is CANT_PULL, BAD_ITEMS, CANT_REPLY
	 * or REFUSED. */
	enum request_next (*refuse)(struct weir_request *req, enum request_next why);
	/* Lists the chunks that are to be pulled. Returns how many, or an error. */
	int (*list_chunks)(struct weir_request *req);
	/* Sets the decoder to the start of the Payload stream, as far as that is no item. */
	void (*open_stream)(struct weir_request *req);
	/* Go through the segments that are to be read. */
	void (*reads_begin)(const struct weir_request *req, union request_reads *it);
	bool (*reads_next)(const struct weir_request *req, union request_reads *it,
			   struct rdma1_read_segment *seg);
	/* All segments are read. Lists the parts of the arguments, and counts what was read.
	 * Returns how many parts there are, or less than 0 if they are not sound. */
	int (*collect_args)(struct weir_request *req);
	/* Lays out a reply that has a shape (request_shape.h). Returns false if it has none. */
	bool (*plan_shape)(struct weir_request *req);
	/* Lays out any other reply. Returns 0; -ENOBUFS if it waits for a buffer; -EMSGSIZE or
	 * -ENOSPC if it does not fit; or what stops it for good. */
	int (*plan_reply)(struct weir_request *req);
	/* reduce_reply(), with a header of the request's version. */
	int (*reduce)(struct weir_request *req, const struct reduce_reply_in *in, uint8_t *buf,
		      uint32_t size, struct reduce_xfer *xfers, struct reduce_reply_plan *plan);
	/* Returns the key that the reply ends, or 0 if there is none. */
	uint32_t (*key_to_end)(const struct weir_request *req);
	/* For requests and replies that version 1 does not have: */
	/* What it has by the protocol goes back: of one that has an extension. */
	void (*release_request)(struct weir_request *req);
	/* All transmissions of a group are here. PULL, JOIN_GROUP, or what ends it. */
	enum request_next (*begin_group)(struct weir_request *req);
	/* A reply in several Sends: places in the send queue, false: it waits; and sending them.
	 * In one, the gather elements of results that it places, as conn_gather_placed(). It is on
	 * its way. */
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

/* What all tables of version 1 have. None of its connections is ever NEGOTIATING. */
#define CONN_PROTOCOL_V1                                                                           \
	.create = conn_v1_create, .destroy = conn_v1_destroy, .reset = conn_v1_set_thresholds,     \
	.set_thresholds = conn_v1_set_thresholds, .versions = conn_v1_versions,                    \
	.negotiate = conn_v1_negotiate, .on_open = conn_v1_on_open, .on_tick = conn_v1_on_tick

#endif
