/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RESPONDER_H
#define RESPONDER_H

/*
 * A responder processes the requests of one connection. The files of this folder, from the creation
 * of a connection to the functions that the other files use:
 *
 *   listen.c              listeners, and the choice of the engine for a new connection
 *   conn_admission.c      the decision whether a request for a connection is accepted, and whether
 *                         an idle connection ends for it
 *   responder_events.c    the events of a connection, apart from messages
 *   request.c             the state machine of a request
 *   request_inspect.[ch]  describes requests for the application
 *   request_stages.[ch]   the time in each stage of a request
 *   request_fast.c        the same in one pass, for calls and replies that have a shape
 *                         (request_shape.h)
 *   request_recv.c        the check of a received message
 *   request_refused.c     the count and the log line of a call whose chunks are refused
 *   request_chunks.c      the Read chunks that a call lists
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
 *   request_buffers.c     buffers of a request, and memory of the program for its items
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
 *   transmission to the next. If it has items, the PULL states replace JOIN, and the request waits
 *   in them for that buffer, too.
 * - A duplicate of a call that the program is processing is in DUPLICATE until the program has
 *   replied to that call. It then gets the same reply.
 *
 * In the PULL states, a request can also wait for its quota, for a buffer or for room in the send
 * queue. When the connection ends, each request that the program has remains with the program until
 * the program replies. The responder is then an orphan, without a connection. All other requests
 * are freed.
 *
 * Only request.c stores the state, except for requests that request_fast.c completes in one pass.
 * request_fast.c stores HANDLING and FREE itself, because it would cost more to return a result to
 * request.c than to store the state.
 */

#include <stddef.h>

#include <weir/request.h>

#include "compiler.h"
#include "conn.h"
#include "credit.h"
#include "drc.h"
#include "latency.h"
#include "reassemble.h"
#include "reduce.h"
#include "rpc_msg.h"
#include "ulb_find.h"

#define REQUEST_ITEMS_MAX  8u
#define REQUEST_PIECES_MAX (2u * REQUEST_ITEMS_MAX + 1u)
#define REQUEST_XFERS_MAX  16u /* the most Writes of a reply that are listed at a time */
/* The most parts of the arguments of a call. The parts are sections of the transmissions in which
 * the call arrived, and the items between these sections. */
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

/* The lists in the header of a call by the extension of version 2. The pointers are into the
 * message. All members are 0 for other calls. */
struct request_lists {
	const uint8_t *items;
	const uint8_t *sets;
	uint32_t nitems;
	uint32_t nsets;
	/* offset in bytes of the arguments in the RPC call, after the RPC header */
	uint32_t args_at;
};

/*
 * The error of version 2 that answers a refused request: its number, and its values if it has any.
 */
struct request_refusal {
	uint32_t err;
	uint32_t first;
	uint32_t second;
};

/* size of the iterator of version 2 in union request_reads, in words of 8 bytes */
#define REQUEST_READS_WORDS 16u

/* An iterator over the segments that have to be read: those of the Read list, or those of the items
 * of a call by the extension. */
union request_reads {
	struct rdma1_read_iter list;
	uint64_t items[REQUEST_READS_WORDS]; /* space for the iterator of version 2 */
};

/* The flags of a request. They are one word, which is stored as a whole and loaded as a whole. If
 * two stores had written the bytes of the word, the load would wait until both stores are in the
 * cache. */
struct request_flags {
	/* true if all of this holds: the call arrived in one message, the request has waited for
	 * nothing except its READs, the program has called no function that needs work when the
	 * request ends, and the connection exists. */
	_Alignas(4) bool can_reply_fast;
	bool is_short;	 /* the call has no chunks, and its reply has no items */
	bool padding[2]; /* always false, because the word is also compared as a whole */
};

_Static_assert(sizeof(struct request_flags) == 4, "one word");

/* Describes the latest call of a request object, if request_fast.c can handle calls of this kind.
 * 'hdr', 'rpc' and 'args' of the request still have the values of that call. Therefore, values that
 * are equal in the next call of this kind need not be stored again. */
struct request_template {
	/* identifies the shape (shape.h) of the call and the program table: request_shape(); 0: the
	 * latest call was of another kind */
	uintptr_t shape;
	/* number and version of the program, in the byte order of the message: rpc_prog_vers() */
	uint64_t prog_vers;
	/* the procedures of the program, for the time of the request; NULL: it is not measured. It
	 * is valid for each request that the program got, whatever 'shape' is. */
	struct latency_procedure *procedures;
};

/* A request: an RPC call at the responder, from the arrival of its message until its reply was
 * sent. The members that a request without chunks uses are first, so that they are in few cache
 * lines. */
struct weir_request {
	/* for the completion of the READs of a stage, and then of the reply's Send */
	struct conn_tx tx;
	struct responder *responder;
	/*
	 * the receive with the call; with 'has_chain', a chain of receives; NULL: it was given back
	 */
	struct mem_buf *msg;
	const struct weir_program *program;
	struct mem_buf *reply; /* the buffer of the reply: headroom, RPC header, results */
	struct weir_request *next_free;
	enum request_state state;
	/* length in bytes of the message in 'msg' */
	uint32_t msg_bytes;
	uint32_t credit; /* credits that the reply grants; 0: not computed yet, or not stored */
	/* RTR_BASE_ number of the extension by which the call was sent; 0: by none */
	uint32_t extension;

	/* the encoder of the results */
	struct weir_xdr_out out;
	uint32_t npieces;
	uint32_t nitems;
	/* offset in 'out' of the first byte that is not in a piece yet */
	uint32_t piece_start;
	/* length in bytes of the reply's transport header */
	uint32_t header_bytes;
	uint8_t *header;
	uint32_t nxfers; /* number of Writes that are listed in 'xfers' and not posted yet */
	/* bit i is set if pieces[i] is not inline, but is written to a chunk or placed */
	uint32_t reduced;

	/* the call's transport header, of either version; its lists have the form of version 1 */
	struct rdma1_header hdr;
	struct weir_rpc_call_header rpc;
	struct weir_xdr_in args;
	struct request_template template;

	void (*on_sent)(void *arg);
	void *on_sent_arg;
	void *user;
	/* HANDLING: the entry for the reply in the duplicate request cache; NULL: there is none */
	struct drc_entry *replay;
	/* a buffer for a transport header that does not fit in the headroom, and one for data that
	 * the device cannot gather; NULL: none */
	struct mem_buf *header_buf;
	struct mem_buf *spill;
	/* number of 'chunks' and 'chunk_bufs' */
	uint32_t nchunks;
	/* 'msg' is a chain of receives, and 'hdr' is the header of the first receive */
	bool has_chain;
	bool is_long;	    /* the reply is written to the Reply chunk */
	bool args_released; /* HANDLING: the program has released the arguments before the reply */
	/* no buffer for the reply was free, but weir_request_retry_when_buffers() is allowed */
	bool may_wait;
	/* a buffer was free, but quotas did not allow the connection to take it */
	bool waits_for_quota;
	union {
		uint64_t any_counted;
		struct {
			/* number of chunk_bufs that are counted in ENGINE_QUOTA_BULK */
			uint32_t nbulk;
			bool is_bulk_reply; /* 'reply' is counted in ENGINE_QUOTA_BULK, too */
			bool is_pending;    /* the reply is counted in ENGINE_QUOTA_REPLIES */
		};
	};
	struct request_flags flags;
	/*
	 * member of the responder's 'outstanding' (request_enlist()); le_prev is NULL: in no list
	 */
	LIST_ENTRY(weir_request) outstanding;
	/* time of the poll in which it became a member of 'outstanding' */
	uint64_t since_ns;
	/* if the engine measures times (request_stages.h): the present stage, and the times at
	 * which it and those before it began, from WEIR_STAGE_PULLED on. If it does not measure
	 * stages, only the first of these times is set: the arrival. */
	enum weir_stage stage;
	uint64_t stage_begin_ns[LATENCY_STAGES];
	uint64_t stuck_ns; /* value of 'since_ns' when it was reported as stuck; 0: never */
	struct conn_waiter tx_waiter;
	struct engine_waiter buf_waiter;

	/* members of version 2 and its extension: the files in v2/ */
	uint32_t reply_count_max; /* maximum number of transmissions of the reply */
	struct request_lists lists;
	struct request_refusal refusal; /* the reason of REQUEST_REFUSED */
	/* offset, in the arguments, of the operation whose results are being encoded */
	uint32_t op;
	/* number of transmissions of the reply; 0 or 1: the reply is one message */
	uint32_t nsends;
	/* list of the buffers for the transmissions of the reply: conn_group_take_bufs() */
	struct mem_buf *group_bufs;
	/* version 2: handle that the requester offers for invalidation; 0: none */
	uint32_t inv_handle;
	/* bit i is set if pieces[i], which is also in 'reduced', is placed in targets of the
	 * requester */
	uint32_t placed;
	/* number of elements (SGEs) of the placed results, or of an entire reply in several
	 * transmissions */
	uint32_t apart_sges;
	/* maximum length in bytes of the header and the payload of one transmission of a reply in
	 * several transmissions */
	uint32_t lead_bytes;

	/* members for a reply that is not sent at once */
	/* number of Writes before those in 'xfers', if the reply has more Writes than can be
	 * listed; they are posted; 0 after the release */
	uint32_t xfers_done;
	/*
	 * number of Writes after those in 'xfers'; 0: there are none, or they will never be posted
	 */
	uint32_t xfers_after;
	/*
	 * REPLYING: no buffer for the header was free, so that request_plan() must be called again
	 */
	bool must_plan;
	/*
	 * REPLYING: time at which the wait for a buffer began; 0: the reply does not wait for one
	 */
	uint64_t wait_ns;
	/* length of the error in 'error', until it was copied to a buffer; 0: there is no error */
	uint32_t error_bytes;
	uint32_t auth_stat; /* REQUEST_DENIED: the enum weir_rpc_auth_stat of the reply */
	/* true: 'error' holds a transport header; false: it holds an RPC reply */
	bool error_is_header;
	uint8_t error[REQUEST_ERROR_MAX];

	/* members for the pull of chunks or items */
	/* the iterator at the next READ of the stage */
	union request_reads next_read;
	uint64_t pull_bytes; /* total length of all chunks that have to be read, in bytes */
	/* time at which the pull began; 0: no pull is in progress */
	uint64_t pull_since_ns;
	/* pull_bytes is counted in the engine's pulling_bytes; false while the request waits to be
	 * admitted */
	bool is_pulling;
	/* number of READs of this stage that are not posted yet, without those of empty segments */
	uint32_t reads_left;
	bool has_asked;	 /* the program's arg_sink was called for all items */
	bool is_reading; /* next_read is at a READ of the current stage */
	bool has_posted; /* a READ of this stage was posted, and completes later */
	/* number of 'parts', which are those of the call; 0: the call is not in parts */
	uint32_t nparts;
	const uint8_t *stream; /* the Payload stream without its items, inline or pulled */
	uint32_t stream_bytes;

	/* the duplicate request cache must not keep the reply */
	bool skips_replay_cache;
	LIST_ENTRY(weir_request) duplicate; /* DUPLICATE: member of the list drc_entry.waiting */

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
	/*
	 * number of references: of the listener, its newcomers and its connections, on any engine
	 */
	_Atomic uint32_t refs;
	uint64_t serial; /* a later table has a higher serial */
	/* number of 'drcs', one for each engine of the listener; 0: no program needs a duplicate
	 * request cache */
	uint32_t ndrcs;
	struct drc *drcs[LISTENER_ENGINES_MAX];
	struct weir_program programs[LISTENER_PROGRAMS_MAX];
};

/* The request objects of one connection or, if receives are shared, of all connections of an
 * engine. The memory of objects that were never taken is never touched. */
struct request_pool {
	/* the engine whose connections share the pool; NULL: the pool belongs to one connection, or
	 * the engine has ended */
	struct weir_engine *engine;
	uint32_t refs; /* number of responders that use the pool */
	/* request_pool_serve() is running */
	bool is_serving;
	/* the free objects; the one that was given back last is the first, because it is in the
	 * CPU's cache */
	struct weir_request *free;
	/* the request of the message that the device delivered last */
	struct weir_request *delivered;
	/* responders whose messages wait for a request object, in round-robin order */
	TAILQ_HEAD(, responder) waiting;
	/* highest serial of the program tables of its responders so far */
	uint64_t newest_programs;
	uint32_t nrequests;
	/* number of objects, from the first one of 'requests' on, that were taken at least once */
	uint32_t nused;
	struct weir_request *requests;
};

/* Returns whether all request objects are in use. */
static inline bool request_pool_is_empty(const struct request_pool *pool)
{
	return !pool->free && pool->nused == pool->nrequests;
}

/*
 * Reasons why the messages of a connection have to wait for a request object. The values are bits.
 */
enum responder_deferral {
	RESPONDER_BACKLOG = 1, /* earlier messages of the connection wait */
	/* the connection has as many pending replies as it may have: request_pending.c */
	RESPONDER_FULL = 2,
};

/* The caller on a connection, as hashes for the duplicate request cache. */
struct request_caller {
	/* the hashes were computed */
	bool is_known;
	/* hash of the caller's identity, which is a part of the key of each of its calls */
	uint8_t identity[DRC_HASH_BYTES];
	/* hash of the peer for which the entries of the caller's calls are counted */
	uint8_t peer[DRC_HASH_BYTES];
};

/* The requests of one connection, and the state that they share. */
struct responder {
	/* The following members, which each request uses, are in one cache line. */
	/* the connection; NULL: it has ended, and some requests still exist */
	struct weir_conn *conn;
	struct weir_engine *engine;
	const struct conn_protocol *protocol; /* the operations of the connection's protocol */
	struct request_pool *pool;
	struct program_table *programs;
	uint32_t deferred_by; /* enum responder_deferral; 0: messages get request objects at once */
	uint32_t ncalls;      /* calls whose header was accepted; wraps */
	struct drc *drc;      /* the duplicate request cache; NULL: no program needs one */
	struct credit_responder credits;
	/* number of requests that exist, and of running functions that need the responder */
	uint32_t nbusy;
	bool was_called;	/* a call has arrived on the connection */
	uint32_t ncalls_seen;	/* value of 'ncalls' at the latest tick */
	uint64_t calls_before;	/* the calls that ncalls_seen includes */
	uint64_t next_stuck_ns; /* time of the next check for stuck requests */

	/* List of the messages that wait for a request object. In each buffer, user[0] is the
	 * address of the next buffer, and user[1] is the length of the message. */
	struct mem_buf *backlog;
	/* member of the pool's 'waiting', while 'deferred_by' is RESPONDER_BACKLOG and has no other
	 * bit */
	TAILQ_ENTRY(responder) waiting;
	/* the account (peer.h) of the connection's peer; NULL: the engine has ended */
	struct engine_peer *account;
	/*
	 * how many units of each resource with a quota all requests of the responder hold together
	 */
	struct engine_quota_use used;
	struct request_caller caller;
	/* by the index of the program: its procedures; NULL: they are not measured */
	struct latency_procedure *procedures[LISTENER_PROGRAMS_MAX];
	struct engine_orphan orphan;
	bool is_orphan; /* 'orphan' is in the engine's list of orphans */
	/* the responder has called protocol->begin_responder(), and not end_responder() yet */
	bool keeps;
	/* while the connection drains: time at which Sends without a completion count as arrived;
	 * 0: not set */
	uint64_t linger_until_ns;
	/* The requests that still existed when the upcall for their message returned. With this
	 * list, a search need not visit the requests of other responders. */
	LIST_HEAD(, weir_request) outstanding;
	/* the request that gathers the open group of transmissions; NULL: no group is open */
	struct weir_request *gathering;
	/* number of requests whose pull is in progress: in the PULL states and in JOIN */
	uint32_t npulling;
	/* time at which pull_timeout_ms is checked next */
	uint64_t next_pull_tick_ns;
	struct engine_wait_queue wait_queue; /* requests that wait for buffers */
	/* replies that wait for a reserve buffer: reserve.h */
	struct engine_wait_queue reserve_queue;
};

static inline struct responder *responder_of(const struct weir_conn *conn)
{
	return conn->role_data;
}

/* program_table.c: releases a reference to a table. The release of the last reference frees the
 * table and its caches. */
void program_table_put(struct program_table *table);

/* responder_events.c */
extern const struct conn_role responder_role;

/* The protocols: version1.c has that of version 1. responder_protocol() returns the protocol of new
 * connections, in v2/protocol.c or version1_only.c. */
extern const struct conn_protocol responder_version1;
const struct conn_protocol *responder_protocol(const struct weir_engine *engine);

/* A request for a connection, with all that the engine of the new connection needs to accept it. */
struct responder_handover {
	struct fabric_cm_event event;
	struct weir_engine *listening; /* the engine that received the request */
	struct program_table *programs;
	struct drc *drc;
	weir_conn_event_fn on_event;
	void *arg;
};

/* conn_admission.c: these functions run on the engine of the new connection. responder_accept()
 * accepts a request for a connection, makes it wait for room, or refuses it. */
void responder_accept(struct weir_engine *engine, const struct responder_handover *handover);
/* Refuses the requests of a listener that still wait for room, because the listener ends. */
void responder_drop_arrivals(struct weir_engine *engine, const struct program_table *programs);
/* Refuses a request for a connection, and logs the reason 'why'. */
void responder_refuse(struct weir_engine *engine, const struct responder_handover *handover,
		      const char *why);

/* listen.c: copies the options of the application to *own. Returns 0, -EINVAL, or -E2BIG, after a
 * log line. */
int responder_read_listen_options(const struct weir_listen_options *options,
				  struct weir_listen_options *own);

/* responder.c. responder_create() returns a responder for a new connection, without its 'conn', or
 * NULL if there is no memory. responder_free() frees a responder that has no requests. */
struct responder *responder_create(struct weir_engine *engine, const struct conn_protocol *protocol,
				   uint32_t credits, struct program_table *programs,
				   struct drc *drc, struct engine_peer *account);
void responder_free(struct responder *responder);
/* Drops the replies with placed results that are kept for the responder (v2/resend.c), because the
 * peer cannot report errors about these replies any more. A second call does nothing. */
void responder_forget_kept(struct responder *responder);
/*
 * Makes a responder an orphan of its engine (struct engine_orphan). The connection of the responder
 * has ended, and the responder still has requests.
 */
void responder_orphan(struct responder *responder);
/* Returns the responder of an orphan. */
static inline const struct responder *responder_of_orphan(const struct engine_orphan *orphan)
{
	return (const struct responder *)((const char *)orphan -
					  offsetof(struct responder, orphan));
}
/* Returns the engine of the responder, or NULL if the engine has ended. */
struct weir_engine *responder_engine(const struct responder *responder);
/* Calls the function of weir_request_on_sent(). In that function, the engine can be neither polled
 * nor destroyed, although it may be called outside weir_engine_poll(). */
void responder_call_back(struct responder *responder, void (*fn)(void *), void *arg);

#endif
