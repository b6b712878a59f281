/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RESPONDER_H
#define RESPONDER_H

/*
 * A responder processes the requests of one connection. Its files are listed from the creation of a
 * connection to the functions that the other files use:
 *
 *   listen.c              listeners, and the choice of the engine for a new connection
 *   conn_admission.c      the decision whether a request for a connection is accepted, and whether
 *                         an idle connection ends for it
 *   responder_events.c    the events of a connection, apart from messages
 *   request.c             the state machine of a request
 *   request_fast.c        the same in one pass, for calls and replies that have a shape
 *                         (request_shape.h)
 *   request_recv.c        the check of a received message
 *   request_chunks.c      the Read chunks that a call lists, and the memory for their data
 *   request_pull.c        the pull of these chunks, and which pulls must wait
 *                         (request_read_one.h: of one chunk, in one pass)
 *   request_args.c        the program's decoder of the data that were pulled
 *   request_rpc_header.c  the RPC header, and the search for the program
 *   request_drc.c         the use of the duplicate request cache (drc.[ch]), whose entries are in
 *                         drc_entry.h; drc_peers.[ch] decides whose replies are removed first
 *   request_api.c         functions that a handler calls, except for results and replies
 *   request_results.c     results
 *   request_reply.c       the post of a reply: its Writes, its Send, and the key that it
 *                         invalidates; lib/proto/reduce_reply.c decides how each part is sent
 *   request_shape.h       the header of a reply that has a shape, and the credits that it grants
 *   request_error.c       replies that are errors
 *   request_release.c     the release of what a request holds
 *   request_quota.c       the release of what a request holds of quotas; request.h checks and
 *                         counts what it takes
 *   request_pending.c     the count of replies that cannot be sent at once
 *   request_buffers.c     buffers of a request
 *   request_pool.c        request objects, and messages that wait for one
 *   program_table.c       the programs of a listener
 *   responder.c           the creation and the end of a responder
 *   version1.c            the operations of connections that use version 1
 *   version1_only.c       the choice of the protocol in a build without version 2
 *   v2/                   the same steps in version 2: request_ext.h lists its files
 *
 * A request has these states:
 *
 *   FREE -> PULL_CALL   a Long Call: the Position Zero Read chunk is being read. The request holds
 *                       the message
 *        -> PULL_ITEMS  the other Read chunks are being read, to the program's memory or to bulk
 *                       buffers
 *        -> HANDLING    the program has the request
 *        -> REPLYING    the reply is complete, and waits for room in the send queue or for one more
 *                       buffer
 *        -> SENT        the reply is queued. The receive was returned. The buffers of the reply are
 *                       held until the Send completes
 *        -> FREE
 *
 * States that do not apply are skipped: a Short Call changes from FREE to HANDLING. Some calls have
 * other states:
 *
 * - A call in several transmissions is in GATHER until its last transmission has arrived. If it has
 *   no items, it is then in JOIN while it waits for a buffer for data that cross from one
 *   transmission to the next. If it has items, the PULL states replace JOIN, and the request
 *   waits in them for that buffer, too.
 * - A duplicate of a call that the program is processing is in DUPLICATE until the program has
 *   replied to that call. It then gets the same reply.
 *
 * In the PULL states, a request may also wait for a buffer or for room in the send queue. When the
 * connection ends, each request that the program has remains with it until it replies; its
 * responder is then an orphan, without a connection. All other requests are freed.
 *
 * Only request.c stores the state, except for requests that request_fast.c completes in one pass.
 * request_fast.c stores HANDLING and FREE itself, because it would cost more to return a result to
 * request.c than to do the step.
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
/* Parts of arguments: sections of the transmissions that they arrived in, and the items between the
 * sections. */
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

/* The lists in a header of an extension. The pointers are into the message. All members are 0 for
 * other requests. */
struct request_lists {
	const uint8_t *items;
	const uint8_t *sets;
	uint32_t nitems;
	uint32_t nsets;
	uint32_t args_at; /* offset of the arguments in the call */
};

/* An error that the protocol of the connection defines: its number and its values, if it has
 * any. */
struct request_refusal {
	uint32_t err;
	uint32_t first;
	uint32_t second;
};

#define REQUEST_READS_WORDS 16u

/* An iterator over the segments that have to be read: those of Read chunks or of items. */
union request_reads {
	struct rdma1_read_iter list;
	uint64_t items[REQUEST_READS_WORDS]; /* an iterator of the protocol */
};

/* The flags are one word, which is set as a whole: a load of bytes that two stores wrote waits
 * until both stores are in the cache. */
struct request_flags {
	/* The call arrived in one message, and the request has waited only for its READs. Nobody
	 * asked for more than to handle it, and its connection exists. */
	_Alignas(4) bool can_reply_fast;
	bool is_short;	 /* the call has no chunks, and its reply has no items */
	bool padding[2]; /* false, because the word is also compared as a whole */
};

_Static_assert(sizeof(struct request_flags) == 4, "one word");

/* Describes the latest call of a request object, if request_fast.c knows calls of this kind. 'hdr',
 * 'rpc' and 'args' are as that call left them, except for values that differ from call to call.
 * Therefore, the other values need not be written again for the next call of this kind. */
struct request_template {
	/* identifies the header and the programs: request_shape(); 0: another kind of call */
	uintptr_t shape;
	uint64_t prog_vers; /* program and version, in the form of the message */
};

/* The members that a request without chunks uses are first, so that they are in few cache lines. */
struct weir_request {
	struct conn_tx tx; /* for the READs, then for the reply's Send */
	struct responder *responder;
	struct mem_buf *msg; /* the receive; with 'has_chain', a chain of them */
	const struct weir_program *program;
	struct mem_buf *reply; /* headroom, RPC header, results */
	struct weir_request *next_free;
	enum request_state state;
	uint32_t msg_bytes;
	uint32_t credit;    /* granted by the reply; 0: not decided yet, or not kept */
	uint32_t extension; /* the extension whose operation the request is; 0: none */

	struct weir_xdr_out out;
	uint32_t npieces;
	uint32_t nitems;
	uint32_t piece_start;
	uint32_t header_bytes;
	uint8_t *header;
	uint32_t nxfers; /* listed, and not posted yet */
	uint32_t reduced;

	struct rdma1_header hdr; /* of either version: its lists are those of version 1 */
	struct weir_rpc_call_header rpc;
	struct weir_xdr_in args;
	struct request_template template;

	void (*on_sent)(void *arg);
	void *on_sent_arg;
	void *user;
	struct drc_entry *replay; /* HANDLING: the entry for the reply; NULL: none */
	struct mem_buf *header_buf;
	struct mem_buf *spill;
	uint32_t nchunks;
	bool has_chain;	    /* 'msg' is a chain of receives, and 'hdr' is the header of the first */
	bool is_long;	    /* the reply is written to the Reply chunk */
	bool args_released; /* HANDLING: the arguments were released before the reply */
	bool may_wait;	    /* no buffer for the reply was free, and one may be later */
	bool waits_for_quota; /* a buffer was free, but this connection may not take it */
	union {
		uint64_t any_counted;
		struct {
			uint32_t nbulk;	    /* chunk_bufs that are counted in ENGINE_QUOTA_BULK */
			bool is_bulk_reply; /* 'reply' is counted there, too */
			bool is_pending;    /* the reply is counted in ENGINE_QUOTA_REPLIES */
		};
	};
	struct request_flags flags;
	LIST_ENTRY(weir_request) outstanding; /* request_enlist(); le_prev is NULL: in no list */
	struct conn_waiter tx_waiter;
	struct engine_waiter buf_waiter;

	/* members of version 2 and its extension: the files in v2/ */
	uint32_t reply_count_max; /* maximum number of transmissions of the reply */
	struct request_lists lists;
	struct request_refusal refusal; /* the reason of REQUEST_REFUSED */
	uint32_t op;	 /* offset in the arguments of the operation whose results are encoded */
	uint32_t nsends; /* transmissions of the reply, if it may have several */
	struct mem_buf *group_bufs; /* buffers of these transmissions: conn_group_take_bufs() */
	/* version 2: handle that the requester offers for invalidation; 0: none */
	uint32_t inv_handle;
	uint32_t placed; /* pieces of 'reduced' that are placed in targets of the requester */
	/* gather elements of the placed results, or of an entire reply in several transmissions */
	uint32_t apart_sges;
	/* maximum length of header and payload of one transmission of such a reply */
	uint32_t lead_bytes;

	/* a reply that is not sent at once */
	/* Writes posted before the listed ones, if the reply has more Writes than can be listed */
	uint32_t xfers_done;
	/* Writes after the listed ones; 0: none, or they will never be posted */
	uint32_t xfers_after;
	bool must_plan;	      /* REPLYING: no buffer for the header was free */
	uint64_t wait_ns;     /* REPLYING: start of the wait for a buffer; 0: no wait */
	uint32_t error_bytes; /* length of 'error' until a buffer has it; 0: no error */
	uint32_t auth_stat;   /* the reason of REQUEST_DENIED */
	bool error_is_header; /* 'error' is a transport header; false: an RPC reply */
	uint8_t error[REQUEST_ERROR_MAX];

	/* pulling */
	union request_reads next_read;
	uint64_t pull_bytes; /* bytes to read for all chunks */
	uint64_t pull_since_ns;
	bool is_pulling;       /* counted in pulling_bytes; false while it waits for others */
	uint32_t reads_left;   /* READs of this stage to post, without those of empty segments */
	bool has_asked;	       /* the program was asked for the memory of the items */
	bool is_reading;       /* next_read is set up for this stage */
	bool has_posted;       /* a READ of this stage was posted, and completes later */
	uint32_t nparts;       /* parts of the arguments; 0: the arguments are inline */
	const uint8_t *stream; /* the Payload stream without its items, inline or pulled */
	uint32_t stream_bytes;

	bool skips_replay_cache;	    /* the cache must not keep the reply */
	LIST_ENTRY(weir_request) duplicate; /* DUPLICATE: in drc_entry.waiting */

	struct piece pieces[REQUEST_PIECES_MAX];
	struct reassemble_chunk chunks[REASSEMBLE_CHUNKS_MAX];
	struct mem_buf *chunk_bufs[REASSEMBLE_CHUNKS_MAX];
	struct weir_xdr_part parts[REQUEST_PARTS_MAX];
	struct reduce_xfer xfers[REQUEST_XFERS_MAX];
} aligned_to(64);

_Static_assert(offsetof(struct weir_request, out) == 64 &&
		       offsetof(struct weir_request, hdr) == 128,
	       "a line each");

/* The programs of a listener, which its connections share. */
struct program_table {
	uint32_t nprograms;
	_Atomic uint32_t refs; /* of the listener and of its connections, on any engine */
	uint64_t serial;       /* a later table has a higher serial */
	uint32_t ndrcs;	       /* one for each engine of the listener; 0: no program needs one */
	struct drc *drcs[LISTENER_ENGINES_MAX];
	struct weir_program programs[LISTENER_PROGRAMS_MAX];
};

/* Request objects of one connection or, if receives are shared, of all connections of an engine.
 * The memory of objects that were never used is never touched. */
struct request_pool {
	/* the engine whose connections share the pool; NULL: they do not, or the engine has
	 * ended */
	struct weir_engine *engine;
	uint32_t refs; /* responders */
	bool is_serving;
	/* the most recently used object first, because it is in the cache */
	struct weir_request *free;
	/* the request of the message that the device delivered last */
	struct weir_request *delivered;
	TAILQ_HEAD(, responder) waiting; /* responders with a backlog, in round-robin order */
	uint64_t newest_programs;	 /* highest serial of its responders' programs so far */
	uint32_t nrequests;
	/* the first objects, which were used at least once */
	uint32_t nused;
	struct weir_request *requests;
};

static inline bool request_pool_is_empty(const struct request_pool *pool)
{
	return !pool->free && pool->nused == pool->nrequests;
}

/* Reasons why messages have to wait for a request object. */
enum responder_deferral {
	RESPONDER_BACKLOG = 1, /* earlier messages of the connection wait */
	RESPONDER_FULL = 2,    /* the connection has as many pending replies as it may have */
};

/* The caller on a connection, as the duplicate request cache knows it. */
struct request_caller {
	bool is_known;
	uint8_t identity[DRC_HASH_BYTES]; /* part of a call's key */
	uint8_t peer[DRC_HASH_BYTES];	  /* the peer that the entries of its calls count for */
};

struct responder {
	/* the members that each request uses: one cache line */
	struct weir_conn *conn; /* NULL: the connection has ended, and requests are left */
	struct weir_engine *engine;
	const struct conn_protocol *protocol; /* the connection's */
	struct request_pool *pool;
	struct program_table *programs;
	uint32_t deferred_by; /* enum responder_deferral; 0: messages get request objects at once */
	struct drc *drc;      /* NULL: no program needs it */
	struct credit_responder credits;
	uint32_t nbusy;
	bool was_called; /* a call has arrived on the connection */

	/* Messages that wait for a request object: user[0] is the next message, user[1] the
	 * length. */
	struct mem_buf *backlog;
	/* queued while there is a backlog and 'deferred_by' has no other bit */
	TAILQ_ENTRY(responder) waiting;
	struct engine_peer *account;  /* the connection's; NULL: the engine has ended */
	struct engine_quota_use used; /* held by all requests */
	struct request_caller caller;
	struct engine_orphan orphan;
	bool is_orphan; /* in the engine's list */
	bool keeps;	/* a reference to the engine's placed_replies, if there are any */
	/* while draining: when Sends without a completion have arrived; 0: not set */
	uint64_t linger_until_ns;
	/* Requests that have outlasted the upcall of their message. A search need not visit the
	 * requests of other responders. */
	LIST_HEAD(, weir_request) outstanding;
	struct weir_request *gathering; /* the request of the open group; NULL: no group is open */
	uint32_t npulling;		/* requests in the PULL states and in JOIN */
	uint64_t next_pull_tick_ns;
	struct engine_wait_queue wait_queue;	/* requests that wait for buffers */
	struct engine_wait_queue reserve_queue; /* replies that wait for the reserve: reserve.h */
};

static inline struct responder *responder_of(const struct weir_conn *conn)
{
	return conn->role_data;
}

/* program_table.c: drops a reference to a table, and frees the table with the last one. */
void program_table_put(struct program_table *table);

/* responder_events.c */
extern const struct conn_role responder_role;

/* version1.c, and the folder v2/ */
extern const struct conn_protocol responder_version1;
const struct conn_protocol *responder_protocol(const struct weir_engine *engine);

/* A request for a connection that is handed to the engine of the new connection. */
struct responder_handover {
	struct fabric_cm_event event;
	struct weir_engine *listening; /* the engine that received the request */
	struct program_table *programs;
	struct drc *drc;
	weir_conn_event_fn on_event;
	void *arg;
};

/* conn_admission.c: these functions run on the engine of the new connection. responder_accept()
 * accepts a request for a connection, lets it wait for room, or refuses it. */
void responder_accept(struct weir_engine *engine, const struct responder_handover *handover);
/* Refuses the requests of a listener that still wait for room, because the listener ends. */
void responder_drop_arrivals(struct weir_engine *engine, const struct program_table *programs);
void responder_refuse(struct weir_engine *engine, const struct responder_handover *handover,
		      const char *why);

/* responder.c */
struct responder *responder_create(struct weir_engine *engine, const struct conn_protocol *protocol,
				   uint32_t credits, struct program_table *programs,
				   struct drc *drc, struct engine_peer *account);
void responder_free(struct responder *responder);
/* Forgets the replies with placed results that are kept for the responder, because the peer cannot
 * report errors about them any more. */
void responder_forget_kept(struct responder *responder);
/* Makes a responder whose connection has ended, and which still has requests, an orphan. */
void responder_orphan(struct responder *responder);
/* Returns the engine, or NULL if it has ended. */
struct weir_engine *responder_engine(const struct responder *responder);

#endif
