/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RESPONDER_H
#define RESPONDER_H

/*
 * A responder: the requests of one connection. Its files, from those that connections come by to
 * those that the others use:
 *
 *   listen.c              listeners: to which engine a request for a connection goes
 *   conn_admission.c      whether it becomes a connection there, or has an idle one ended for
 *                         it
 *   responder_events.c    brings the events of a connection, apart from messages, to its
 *                         requests
 *   request.c             what happens to a request next
 *   request_fast.c        the same in one pass, for calls and replies of a shape
 *                         (request_shape.h)
 *   request_recv.c        the check of a message that came
 *   request_chunks.c      the Read chunks that a call lists, and where their data go
 *   request_pull.c        the pull of these (one at once: request_read_one.h)
 *   request_args.c        what was pulled, as the program's decoder reads it
 *   request_rpc_header.c  the RPC header, and the program that the call is for
 *   request_drc.c         what requests ask of the duplicate request cache (drc.[ch]), whose
 *                         entries are in drc_entry.h; drc_peers.[ch] says whose replies make
 *                         room
 *   request_api.c         functions that a handler calls, apart from those of results and
 *                         replies
 *   request_results.c     results
 *   request_reply.c       the reply is posted: its Writes, its Send, and the key that it
 *                         invalidates; lib/proto/reduce_reply.c decides what goes where
 *   request_shape.h       the header of a reply of a shape, and the credits that it grants
 *   request_error.c       replies that are errors
 *   request_release.c     what a request holds is given back
 *   request_quota.c       what a request gives back of quotas; request.h checks what it takes
 *   request_pending.c     replies that can't be sent at once, as far as they are counted
 *   request_buffers.c     buffers of a request
 *   request_pool.c        where requests come from, and messages that wait for one
 *   program_table.c       the programs of a listener
 *   responder.c           creates and frees a responder
 *   version1.c            the operations of connections that speak version 1
 *   version1_only.c       the choice of the protocol in a build without version 2
 *   v2/                   the same steps in version 2: request_ext.h lists its files
 *
 * A request's states, and what it holds in each:
 *
 *   FREE -> PULL_CALL   a Long Call: the Position Zero Read chunk is being read. Holds the message
 *                       that came
 *        -> PULL_ITEMS  the other Read chunks are being read, to where the program said or to our
 *                       buffers
 *        -> HANDLING    the program has it
 *        -> REPLYING    the reply is made, and waits for places in the send queue, or for one more
 *                       buffer
 *        -> SENT        queued. The receive was given back; the reply's buffers wait for the Send
 *        -> FREE
 *
 * Steps that do not apply are skipped: a Short Call goes from FREE to HANDLING. One that comes in
 * several transmissions takes others instead: GATHER, until the last is here, and JOIN, a buffer
 * for what crosses from one to the next, or with items the PULL states, in which it waits for that
 * and theirs. A call that the program has already, since it came before, is
 * DUPLICATE until the program has replied to that, then gets that reply. In the PULL states it
 * may also wait for a buffer or for places. When the connection ends, requests that the program has
 * stay with it (orphans, without a connection) until it replies; all others are freed.
 *
 * request.c alone stores the state, but for request_fast.c: what that carries through in one pass
 * is HANDLING and FREE by its own hand, as a result for request.c to act on would cost more than
 * the step.
 */

#include <stddef.h>

#include <weir/request.h>

#include "compiler.h"
#include "conn.h"
#include "credit.h"
#include "drc.h"
#include "reassemble.h"
#include "reduce.h"
#include "rpc_msg.h"
#include "ulb_find.h"

#define REQUEST_ITEMS_MAX  8u
#define REQUEST_PIECES_MAX (2u * REQUEST_ITEMS_MAX + 1u)
#define REQUEST_XFERS_MAX  16u /* Writes that are listed at a time */
/* Of arguments: sections of the transmissions that they came in, and items between. */
#define REQUEST_PARTS_MAX     (ENGINE_TRANSMISSIONS_MAX + REASSEMBLE_PARTS_MAX)
#define REQUEST_ERROR_MAX     (WEIR_RPC_REPLY_HEADER_MIN + 8u)
#define LISTENER_PROGRAMS_MAX 8u
#define LISTENER_ENGINES_MAX  64u

enum request_state {
	REQUEST_FREE,
	REQUEST_PULL_CALL,
	REQUEST_PULL_ITEMS,
	REQUEST_GATHER,
	REQUEST_JOIN,
	REQUEST_HANDLING,
	REQUEST_DUPLICATE,
	REQUEST_REPLYING,
	REQUEST_SENT,
};

/* What a header of an extension lists; pointers are into the message. Nothing, for other requests.
 */
struct request_lists {
	const uint8_t *items;
	const uint8_t *sets;
	uint32_t nitems;
	uint32_t nsets;
	uint32_t args_at; /* where in the call its arguments begin */
};

/* An error of the protocol's own: its number, and its values where it has some. */
struct request_refusal {
	uint32_t err;
	uint32_t first;
	uint32_t second;
};

#define REQUEST_READS_WORDS 16u

/* Over the segments that are to be read: those of Read chunks or of items. */
union request_reads {
	struct rdma1_read_iter list;
	uint64_t items[REQUEST_READS_WORDS]; /* the protocol's own */
};

/* One word, which is set as a whole: a load of what two stores wrote waits until both are in the
 * cache. */
struct request_flags {
	_Alignas(4) bool can_reply_fast; /* it came whole, has waited for its READs only, and nobody
				      asked for more than to handle it; its connection is there */
	bool is_short;			 /* it came without chunks, and its reply has no items */
	bool padding[2];		 /* false: they are compared as a whole, too */
};

_Static_assert(sizeof(struct request_flags) == 4, "one word");

/* Of the latest call that a request object had, when that was one that request_fast.c knows: 'hdr',
 * 'rpc' and 'args' are as it left them but for what differs from call to call, so that the next one
 * of its kind need not have the rest written again. */
struct request_template {
	uintptr_t shape; /* of which header, to which programs: request_shape(); 0: it was no such
			    call */
	uint64_t prog_vers; /* program and version, as they came */
};

/* What a request without chunks takes comes first, so that it is few lines. */
struct weir_request {
	struct conn_tx tx; /* of the READs, then of the reply's Send */
	struct responder *responder;
	struct mem_buf *msg; /* the receive; with 'has_chain', a chain of them */
	const struct weir_program *program;
	struct mem_buf *reply; /* headroom, RPC header, results */
	struct weir_request *next_free;
	enum request_state state;
	uint32_t msg_bytes;
	uint32_t credit;    /* granted by the reply; 0: not yet, or it is not kept */
	uint32_t extension; /* whose operations it came with; 0: by the base protocol */

	struct weir_xdr_out out;
	uint32_t npieces;
	uint32_t nitems;
	uint32_t piece_start;
	uint32_t header_bytes;
	uint8_t *header;
	uint32_t nxfers; /* listed, to be posted */
	uint32_t reduced;

	struct rdma1_header hdr; /* of either version: its lists are those of version 1 */
	struct weir_rpc_call_header rpc;
	struct weir_xdr_in args;
	struct request_template template;

	void (*on_sent)(void *arg);
	void *on_sent_arg;
	void *user;
	struct drc_entry *replay; /* HANDLING: where the reply is to be kept; NULL: nowhere */
	struct mem_buf *header_buf;
	struct mem_buf *spill;
	uint32_t nchunks;
	bool has_chain;	      /* 'msg' is the first of a chain of receives, and what 'hdr' is of */
	bool is_long;	      /* its reply goes to the Reply chunk */
	bool args_released;   /* HANDLING: its arguments are gone, the reply is still to be made */
	bool may_wait;	      /* there was no buffer for the reply, and there may be one later */
	bool waits_for_quota; /* there was one, which is not for this connection */
	union {
		uint64_t any_counted;
		struct {
			uint32_t nbulk; /* of its chunk_bufs, those counted in ENGINE_QUOTA_BULK */
			bool is_bulk_reply; /* 'reply' counts there, too */
			bool is_pending;    /* it is counted in ENGINE_QUOTA_REPLIES */
		};
	};
	struct request_flags flags;
	LIST_ENTRY(weir_request) outstanding; /* request_enlist(); le_prev NULL: it is in no list */
	struct conn_waiter tx_waiter;
	struct engine_waiter buf_waiter;

	/* by an extension of the protocol, and of version 2: the files in v2/ */
	uint32_t reply_count_max; /* transmissions that its reply may have */
	struct request_lists lists;
	struct request_refusal refusal; /* why it is REQUEST_REFUSED */
	uint32_t op;	 /* where in the arguments the operation is whose results are being made */
	uint32_t nsends; /* of a reply in several transmissions */
	struct mem_buf *group_bufs; /* of these: conn_group_take_bufs() */
	uint32_t
		inv_handle; /* version 2: which the requester offers to have invalidated; 0: none */
	uint32_t placed;    /* of 'reduced', those that are laid into targets of the requester's */
	uint32_t apart_sges; /* gather elements that these take, or all of a reply in several
				transmissions */
	uint32_t lead_bytes; /* of such a reply: header and payload of a transmission are no longer
			      */

	/* the reply, where it is not sent at once */
	uint32_t xfers_done; /* of a reply with more than can be listed: those posted before them */
	uint32_t xfers_after; /* and those behind them; 0 when they are posted, or never will be */
	bool must_plan;	      /* REPLYING: there was no buffer for its header */
	uint64_t wait_ns;     /* REPLYING: since when it waits for a buffer; 0: it does not */
	uint32_t error_bytes; /* REPLYING: there was no buffer for what 'error' has; 0: it is no
				 such reply */
	uint32_t auth_stat;   /* why it is REQUEST_DENIED */
	bool error_is_header; /* RDMA_ERROR; false: an RPC reply */
	uint8_t error[REQUEST_ERROR_MAX];

	/* pulling */
	union request_reads next_read;
	uint64_t pull_bytes; /* in all of its chunks */
	uint64_t pull_since_ns;
	bool is_pulling;       /* it counts in pulling_bytes; not so while it waits for others */
	uint32_t reads_left;   /* to be posted in this stage, empty segments not counted */
	bool has_asked;	       /* the program was asked for places */
	bool is_reading;       /* next_read is set up for this stage */
	bool has_posted;       /* a READ of this stage, whose completion is to come */
	uint32_t nparts;       /* of the arguments; 0: they came inline */
	const uint8_t *stream; /* the Payload stream as it came: inline, or pulled */
	uint32_t stream_bytes;

	bool skips_replay_cache;	    /* the reply is not to be kept after all */
	LIST_ENTRY(weir_request) duplicate; /* DUPLICATE: in the entry of the other */

	struct piece pieces[REQUEST_PIECES_MAX];
	struct reassemble_chunk chunks[REASSEMBLE_CHUNKS_MAX];
	struct mem_buf *chunk_bufs[REASSEMBLE_CHUNKS_MAX];
	struct weir_xdr_part parts[REQUEST_PARTS_MAX];
	struct reduce_xfer xfers[REQUEST_XFERS_MAX];
} aligned_to(64);

_Static_assert(offsetof(struct weir_request, out) == 64 &&
		       offsetof(struct weir_request, hdr) == 128,
	       "a line each");

/* The programs of a listener, shared by its connections. */
struct program_table {
	uint32_t nprograms;
	_Atomic uint32_t refs; /* listener and connections, of any engine */
	uint64_t serial;       /* later ones have higher ones */
	uint32_t ndrcs; /* one for each engine of the listener; 0: no program has use for it */
	struct drc *drcs[LISTENER_ENGINES_MAX];
	struct weir_program programs[LISTENER_PROGRAMS_MAX];
};

/* Request objects: of one connection, or where receives are shared of all connections of an engine.
 * Memory of those that were never used is never touched. */
struct request_pool {
	/* whose connections share it; NULL: they don't, or it is gone */
	struct weir_engine *engine;
	uint32_t refs; /* responders */
	bool is_serving;
	struct weir_request *free;	 /* the latest used first: it is in the cache */
	struct weir_request *delivered;	 /* whose message the device has delivered last */
	TAILQ_HEAD(, responder) waiting; /* those with a backlog, in turn */
	uint64_t newest_programs;	 /* the highest serial of its responders' programs so far */
	uint32_t nrequests;
	uint32_t nused; /* of them the first ones, which were in use once */
	struct weir_request *requests;
};

static inline bool request_pool_is_empty(const struct request_pool *pool)
{
	return !pool->free && pool->nused == pool->nrequests;
}

/* Why messages have to wait for a request. */
enum responder_deferral {
	RESPONDER_BACKLOG = 1, /* others of the connection wait already */
	RESPONDER_FULL = 2, /* replies that the peer has yet to take are as many as it may have */
};

/* Who calls by a connection, in the duplicate request cache. */
struct request_caller {
	bool is_known;
	uint8_t identity[DRC_HASH_BYTES]; /* part of a call's key */
	uint8_t peer[DRC_HASH_BYTES];	  /* whose quota it takes */
};

struct responder {
	/* what a request takes: a line */
	struct weir_conn *conn; /* NULL: gone, orphans are left */
	struct weir_engine *engine;
	const struct conn_protocol *protocol; /* the connection's */
	struct request_pool *pool;
	struct program_table *programs;
	uint32_t deferred_by; /* enum responder_deferral; 0: messages get requests as they come */
	struct drc *drc;      /* NULL: no program has use for it */
	struct credit_responder credits;
	uint32_t nbusy;
	bool was_called; /* a call came, since the connection was opened */

	/* Messages that have no request yet: user[0] the next, user[1] the length. */
	struct mem_buf *backlog;
	TAILQ_ENTRY(responder)
	waiting; /* while there is a backlog, and 'deferred_by' has no other bit */
	struct engine_peer *account;  /* the connection's; NULL: the engine is gone */
	struct engine_quota_use used; /* by all requests */
	struct request_caller caller;
	struct engine_orphan orphan;
	bool is_orphan;		  /* in the engine's list */
	bool keeps;		  /* it counts in the engine's placed_replies, if there are any */
	uint64_t linger_until_ns; /* while draining: 0, or when Sends without completion have
				     arrived */
	/* Requests that have outlasted the upcall of their message, so that what looks for them
	 * need not look through those of others. */
	LIST_HEAD(, weir_request) outstanding;
	struct weir_request *gathering; /* the open group's; NULL: there is none */
	uint32_t npulling;		/* requests in the PULL states, and JOIN */
	uint64_t next_pull_tick_ns;
	struct engine_wait_queue wait_queue;	/* requests that wait for buffers */
	struct engine_wait_queue reserve_queue; /* replies that wait for a last one: reserve.h */
};

static inline struct responder *responder_of(const struct weir_conn *conn)
{
	return conn->role_data;
}

/* program_table.c: one of its users is gone. */
void program_table_put(struct program_table *table);

/* responder_events.c */
extern const struct conn_role responder_role;

/* version1.c, and the folder v2/ */
extern const struct conn_protocol responder_version1;
const struct conn_protocol *responder_protocol(const struct weir_engine *engine);

/* A request for a connection, on its way to its engine. */
struct responder_handover {
	struct fabric_cm_event event;
	struct weir_engine *listening; /* the one that the request came to */
	struct program_table *programs;
	struct drc *drc;
	weir_conn_event_fn on_event;
	void *arg;
};

/* conn_admission.c: the request is at its engine: it is accepted, waits for a place, or is refused.
 */
void responder_accept(struct weir_engine *engine, const struct responder_handover *handover);
/* A listener ends: refuse the requests that came to it and wait for a place. */
void responder_drop_arrivals(struct weir_engine *engine, const struct program_table *programs);
void responder_refuse(struct weir_engine *engine, const struct responder_handover *handover,
		      const char *why);

/* responder.c */
struct responder *responder_create(struct weir_engine *engine, const struct conn_protocol *protocol,
				   uint32_t credits, struct program_table *programs,
				   struct drc *drc, struct engine_peer *account);
void responder_free(struct responder *responder);
/* No report of a reply can come any more. */
void responder_forget_kept(struct responder *responder);
/* The connection is gone, and requests are left. */
void responder_orphan(struct responder *responder);
/* NULL: gone. */
struct weir_engine *responder_engine(const struct responder *responder);

#endif
