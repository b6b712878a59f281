/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REQUESTER_H
#define REQUESTER_H

/*
 * A requester has the calls of one connection. The files of this folder, in the order from the file
 * that decides to the files that the others use:
 *
 *   call.c                decides what happens to a call next: at its submission, when its Send is
 *                         done, when its reply has arrived, at its time-out, and at the end of its
 *                         connection
 *   call_fast.c           submits and completes calls of a shape (call_shape.h) in one pass; has
 *                         weir_call_reuse(), by which 'done' begins its call again
 *   requester_events.c    passes the events of a connection to its calls
 *   call_begin.c          functions by which the program describes a call
 *   call_encode.c         chooses which data go by chunks (lib/proto/reduce_call.c), and writes
 *                         the transport header
 *   call_header.c         memory for the transport header, and the exposures that it lists
 *   call_send.c           gathers the message, and queues the binds of windows and the Send
 *   call_read_reply.[ch]  checks a reply against what the call offered, and reads its result; the
 *                         header has the parts that call.c and call_fast.c use, too
 *   call_complete.[ch]    calls 'done', and frees the call when its Send is done; the header has
 *                         the part for calls that 'done' may reuse, which call_fast.c uses, too
 *   retransmit.c          queues the calls of a lost connection, which are retransmitted when the
 *                         connection is established again
 *   call_windows.c        keys for the memory of a call: binds memory windows, and frees them
 *   call_revoke.c         invalidates these keys
 *   call_pool.[ch]        slots and buffers of calls
 *   call_inspect.[ch]     describes calls for the application
 *   call_chunks.h         the bytes in Read chunks
 *   call_stages.[ch], call_times.h, credit_wait.c  the time in each stage
 *   credits_wanted.c      the number of receives for replies, if receives are shared
 *   connect.c             creates and frees a requester
 *   version1.c            the operations of connections that speak version 1
 *   version1_only.c       gives each connection these operations, in a build without version 2
 *   v2/                   the steps that differ in version 2: call_ext.h lists the files
 *
 * call_find() finds the call of a reply.
 *
 * A call passes these states:
 *
 *   FREE -> BUILDING  weir_call_begin() was called; the call holds a slot, and a buffer for the
 *                     message
 *        -> QUEUED    it is submitted, and waits for a credit
 *        -> SENT      it holds a credit; the responder can access the memory that the header names
 *        -> FREE      'done' was called
 *
 * After SENT, a call can also have one of these states:
 *
 *   REPLIED     the reply has arrived, but it waits, because the device might still read memory of
 *               the application for the Send, or keys of the call are still valid
 *   REVOKING    the call is given up, because it timed out or was cancelled, and its keys are being
 *               invalidated; it becomes REPLIED if the reply arrives meanwhile, otherwise a ZOMBIE
 *   ZOMBIE      'done' was called with -ETIMEDOUT or -ECANCELED; no memory is exposed, but the
 *               responder still has the call, so the credit stays taken until the reply arrives
 *   COMPLETING  'done' is being called; the call then becomes SENDING or FREE; if the completion of
 *               its Send is processed inside 'done', this must not free the call
 *   COMPLETING_REUSABLE  'done' is being called, and is allowed to begin the call again, which
 *               makes the call BUILDING (call_fast.c)
 *   BUFFER_RECLAIMED  'done' is being called, and cannot begin the call again, because its buffer
 *               was needed for another call
 *   SENDING     'done' has returned, but the device might still read the call's own buffer
 *
 * call.c decides the state of a call, and stores it. These files store the state, too:
 *
 *   call_pool.h      BUILDING and FREE, when a slot and a call are taken or returned
 *   call_pool.c      BUFFER_RECLAIMED, while 'done' runs
 *   call_complete.c  the states around 'done', which may reuse the call before it returns
 *   call_fast.c      the states that call.c would store; it stores them itself, because the return
 *                    to call.c would cost more than the step (call_shape.h)
 *
 * A call ends by its reply, by its time-out, by weir_call_cancel(), or by the end of the
 * connection. When a lost connection will be established again, calls in flight are QUEUED again
 * (retransmit.c). The low bits of an XID are the slot, and the high bits count the calls that have
 * used the slot. Therefore a late reply does not match a later call in the slot.
 */

#include <stddef.h>

#include <weir/call.h>

#include "call_times.h"
#include "compiler.h"
#include "conn.h"
#include "credit.h"
#include "latency.h"
#include "reduce.h"

/* version1.c */
extern const struct conn_protocol requester_version1;
/* v2/protocol.c, or version1_only.c */
const struct conn_protocol *requester_protocol(const struct weir_engine *engine);

#define CALL_ITEMS_MAX 8u /* limit on the items of a call, and on its results */
/* The maximum number of pieces of a call: its items, and the XDR before, between and after them. */
#define CALL_PIECES_MAX (2u * CALL_ITEMS_MAX + 1u)
/* The maximum number of segments that the header of a call can list: those of a Long Call, one for
 * the Write chunk of each result, and one for the Reply chunk. */
#define CALL_WINDOW_BINDINGS_MAX (2u * CALL_PIECES_MAX + CALL_ITEMS_MAX + 1u)
/* The number of slots for each credit that a connection requests. A slot stands for a call that has
 * begun and not ended. There are more slots than credits, because calls can be queued while they
 * wait for a credit. The memory of the call belongs to the engine (call_pool.h). */
#define CALL_SLOTS_PER_CREDIT 2u

enum call_state {
	CALL_FREE, /* the call belongs to the pool (call_pool.h) */
	CALL_BUILDING,
	CALL_QUEUED,
	CALL_SENT,
	CALL_REPLIED,
	CALL_REVOKING,
	CALL_SENDING,
	CALL_ZOMBIE, /* from here on, weir_call_reuse() accepts the call */
	CALL_COMPLETING,
	CALL_COMPLETING_REUSABLE, /* from here on, the call is freed after 'done' */
	CALL_BUFFER_RECLAIMED,
};

/* The reply that a SENT call most likely gets:
 *
 * - ANY: not known, and the general path must process the reply. Each call has this value whose
 *   Send is not done, or that holds more than the buffer of its message.
 * - INLINE: an accepted reply without chunks.
 * - ONE_WRITE: an accepted reply that returns the Write chunk of one segment that the call offered
 *   for its only result. */
enum expected_reply {
	EXPECTED_REPLY_ANY,
	EXPECTED_REPLY_INLINE,
	EXPECTED_REPLY_ONE_WRITE,
};

/* The exposure of the memory of one segment in the header of a call. There is one for each segment
 * if keys belong to the call or to its connection (call_windows.c). */
struct window_binding {
	struct fabric_mw *mw; /* NULL: not bound yet, or connections have domains of their own */
	uint8_t *base;	      /* first byte of the memory */
	uint32_t len;	      /* bytes */
	uint32_t lkey;	      /* key of the region or buffer that contains the memory */
	uint32_t access;      /* FABRIC_REMOTE_READ or FABRIC_REMOTE_WRITE */
	bool is_valid;	      /* the window is bound and was not invalidated: the peer can use it */
	uint32_t *copy;	      /* second location of the key, for the check of the reply; or NULL */
};

/* A DDP-eligible result that the call can accept. */
struct call_result {
	struct remote_buf remote; /* the memory for the result; len 0: the result is requested
				     inline */
	void *data;		  /* the address of that memory on this side, or NULL */
	uint32_t max_bytes;	  /* maximum length of the result */
	uint32_t begin; /* offset in the whole call of the operation that returns the result; 0:
			   the call has no operations */
};

/* The members that a call without chunks needs are first. Those that a call with one result in a
 * chunk needs follow. Thus such calls use few cache lines. */
struct weir_call {
	struct conn_tx tx; /* of the Send */
	struct weir_conn *conn;
	uint8_t state;		/* enum call_state */
	uint8_t expected_reply; /* SENT: enum expected_reply */
	bool is_send_done;	/* the device does not read the message any more */
	bool is_exposed;	/* the header names memory of this side */
	uint32_t xid;
	uint32_t slot;	       /* index of its slot in requester.slots */
	uint16_t retransmits;  /* number of connections that were lost while the call was in flight
				*/
	bool sends_app_memory; /* the Send gathers from memory of the application */
	bool needs_header;     /* QUEUED: the header must be written for the present connection */
	bool avoids_extension; /* must be sent by the base protocol, because the responder refused
				  the extension, or it cannot be used at present */
	bool is_cancelled;     /* weir_call_cancel() was called */
	bool has_extra;	       /* might hold buffers, windows or reserved receives in addition to
				  'args': call_release_extra() */
	bool is_contiguous;    /* QUEUED: header and message are contiguous, as they will be sent */
	bool may_reduce; /* the credential allows chunks for items: not RPCSEC_GSS with integrity
			    or privacy */
	struct mem_buf *args; /* the buffer of the message: headroom, RPC header, arguments */
	uint64_t deadline_ns; /* time of the time-out; 0: the next tick ends the call */
	uint64_t timeout_ns;  /* time from the submission to the deadline; at most ENGINE_NEVER_NS
			       */

	struct weir_xdr_out out; /* encoder of the RPC header and the arguments, without items */
	weir_call_done_fn done;
	void *arg; /* passed to 'done' */
	const struct weir_ulb *ulb;
	uint32_t proc;
	uint32_t reply_max_bytes; /* maximum length of the RPC reply, without items */

	uint32_t nitems;      /* items, also empty ones */
	uint32_t nresults;    /* entries of 'results' */
	uint32_t npieces;     /* entries of 'pieces' */
	uint32_t piece_start; /* offset in 'out' of the XDR piece that is being written */
	uint32_t op_at; /* offset in the whole call of the operation that is being written; 0: there
			   is none */
	uint32_t args_at;      /* offset of the arguments in 'out': the length of the RPC header */
	uint32_t header_bytes; /* length of the transport header */
	uint32_t nvalid;       /* number of window_bindings whose is_valid is set */
	uint8_t *header;       /* the transport header */
	struct weir_call *next_free;	     /* FREE: the next call in the list of the pool */
	struct latency_procedure *procedure; /* NULL: the call is not measured */
	struct reduce_call_plan plan;

	struct window_binding *window_bindings; /* nwindow_bindings entries are in use; NULL if
						   keys belong to the engine */
	struct call_result results[CALL_ITEMS_MAX];
	_Alignas(64) struct piece pieces[CALL_PIECES_MAX];

	uint32_t stuck_xid; /* XID of the latest call in this object that was reported as stuck */
	uint64_t needs_header_ns; /* if needs_header: time at which it was set */
	struct call_times times;
	bool is_refused; /* the responder refused the call. SENT: it will be sent again by the base
			    protocol when the device has completed its Sends. REVOKING: no reply
			    will arrive */
	bool is_reply_chain; /* REPLIED: 'reply' is a chain of several receives */
	bool is_revoking;    /* the invalidations of its keys are queued or posted */

	/* for the extension of version 2: the files in v2/ */
	uint32_t extension;  /* base of its operation numbers (RTR_BASE_*); 0: the call goes by the
				base protocol */
	uint32_t placed;     /* bit i: piece i is placed in targets of the peer */
	uint32_t results_by; /* how results with memory are requested (enum rtr_type) */
	uint32_t more;	     /* number of transmissions after the first one; each takes a credit */
	bool has_lists;	     /* its header has items or directions */
	bool asks_without_chunks; /* its results are requested, but not by Write chunks */
	/* For result i, if its operation is not the last one (results[i].begin < op_at): offset in
	 * the whole call of the end of that operation. */
	uint32_t op_ends[CALL_ITEMS_MAX];
	bool has_reported;   /* a Report Error about its reply was sent */
	uint32_t lead_bytes; /* maximum length of header and payload of each of its transmissions */
	uint32_t group_sges; /* if it has several transmissions: the gather elements of all of them
			      */
	uint32_t reply_reserved;    /* receives that it has reserved, of requester.reply_recvs */
	uint32_t reply_count_max;   /* number of transmissions that its reply may have */
	struct mem_buf *reply_join; /* buffer for data of the reply that are contiguous in no
				       transmission */
	struct mem_buf *group_bufs; /* for its own transmissions: conn_group_take_bufs() */

	struct mem_buf *header_buf; /* the header, if it does not fit into the headroom */
	/* Long Call: the parts of the message that had to be copied to memory that the peer may
	 * read. */
	struct mem_buf *long_call;
	struct mem_buf *long_reply; /* the Reply chunk */
	struct mem_buf *reply_copy; /* for a private copy of the Reply chunk, if the device can't
				       revoke access */
	struct mem_buf *spill;	    /* the message in one piece, if the device can't gather it */
	struct mem_buf *reply;	    /* REPLIED: the message that arrived */
	uint32_t reply_bytes;	    /* REPLIED: its length, or that of the first transmission */
	uint32_t reply_handle;	    /* key of the Reply chunk */
	/* 0 before the submission and after the end of the call. Always 0 if keys belong to the
	 * engine. */
	uint32_t nwindow_bindings;
	struct conn_tx inv_tx;	       /* of the last invalidation */
	struct conn_waiter inv_waiter; /* waits until the invalidations fit into the send queue */
	TAILQ_ENTRY(weir_call) queue;  /* QUEUED: in requester.queue */
} aligned_to(64);

_Static_assert(offsetof(struct weir_call, out) == 64 && offsetof(struct weir_call, nitems) == 128 &&
		       offsetof(struct weir_call, window_bindings) >= 192 &&
		       offsetof(struct weir_call, results[1]) <= 256,
	       "a line each");

_Static_assert(offsetof(struct weir_call, expected_reply) == offsetof(struct weir_call, state) + 1,
	       "one word for both");
_Static_assert(offsetof(struct weir_call, nresults) == offsetof(struct weir_call, nitems) + 4,
	       "one word for both");

/* Returns whether the call has neither items nor results for weir_call_result_item(). */
static inline bool call_is_bare(const struct weir_call *call)
{
	return call->nitems == 0 && call->nresults == 0;
}

/* Returns whether the call is SENT and expects the given reply. */
static inline bool call_expects(const struct weir_call *call, enum expected_reply expected)
{
	const uint8_t wanted[2] = {CALL_SENT, (uint8_t)expected};
	uint16_t is, shall;

	memcpy(&is, &call->state, sizeof(is));
	memcpy(&shall, wanted, sizeof(shall));
	return is == shall;
}

/* Ends the XDR piece that is being written: adds a piece with all bytes that were encoded since the
 * latest item. Adds none if there are no such bytes. */
static inline void call_close_piece(struct weir_call *call)
{
	uint32_t end = (uint32_t)weir_xdr_out_len(&call->out);
	struct piece *piece = &call->pieces[call->npieces];

	if (end == call->piece_start)
		return;
	*piece = (struct piece){
		.base = call->out.start + call->piece_start,
		.len = end - call->piece_start,
		.kind = PIECE_XDR,
		.lkey = call->args->lkey,
		.rkey = call->args->rkey,
		.raddr = call->args->raddr + ENGINE_HEADROOM + call->piece_start,
	};
	call->piece_start = end;
	call->npieces++;
}

TAILQ_HEAD(call_queue, weir_call);

#define CALL_NO_SLOT UINT32_MAX

struct call_slot {
	struct weir_call *call; /* call_free_sentinel if the slot is free */
	uint32_t xid;		/* of the latest call in the slot */
	uint32_t next_free;	/* if the slot is free: the next free slot, or CALL_NO_SLOT */
};

struct requester {
	/* The members that each call needs are in one cache line. */
	struct credit_requester credits;
	uint32_t nslots;    /* the first 'nslots' entries of 'slots' may be used by calls */
	uint32_t slot_mask; /* mask of the slot in an XID; 'slots' has an entry for each value */
	uint32_t free_slot; /* the slot that became free latest; CALL_NO_SLOT: all are in use */
	uint32_t nactive;   /* calls that are submitted and whose 'done' was not called */
	uint32_t ncalls;    /* calls that were submitted; wraps: requester_count_calls() */
	struct call_queue queue; /* the QUEUED calls, in the order in which they will be sent */
	struct call_slot *slots; /* after this structure, in the same memory */
	struct call_pool *pool;

	struct weir_conn *conn;
	uint64_t calls_before;	/* the submitted calls that ncalls_seen includes */
	uint64_t next_stuck_ns; /* time of the next check for stuck calls */
	uint32_t ncalls_seen;	/* value of 'ncalls' at the latest tick */
	uint32_t probe_xid;	/* of the probe call, while 'has_probe' of the blockers is set */
	uint32_t credits_max;	/* maximum of credits.wanted; if receives are shared, credits.wanted
				   follows the connection's share */
	uint32_t reply_recvs;	/* receives that calls may reserve for parts of their replies */
	uint32_t reply_reserved; /* number of these receives that calls have reserved */
	uint32_t in_flight_peak; /* the most calls that a tick has found in flight since the latest
				    check of the share (requester_share_tick()) */
	struct engine_wait_queue wait_queue; /* of buf_waiter, which waits for a buffer to send the
						first queued call */
	struct engine_waiter buf_waiter;
	struct credit_wait credit_wait;
};

_Static_assert(offsetof(struct requester, conn) == 64, "a line");

/* Makes the requester wait for a buffer of the send pool or of the reserve, for the first queued
 * call. requester_on_buffers() is called when it is the requester's turn. */
static inline void requester_wait(struct weir_conn *conn, struct requester *req)
{
	engine_wait_unbounded(conn->ep.engine, &req->wait_queue, &req->buf_waiter);
}

/* Lists the results of a call in the form that the reducer needs (reduce.h). 'list' has
 * CALL_ITEMS_MAX elements. */
static inline void call_list_results(const struct weir_call *call, struct reduce_result *list)
{
	for (uint32_t i = 0; i < call->nresults; i++) {
		const struct call_result *result = &call->results[i];

		list[i] = (struct reduce_result){
			&result->remote, result->remote.len > 0, result->max_bytes, result->begin,
			result->begin < call->op_at ? call->op_ends[i] : 0};
	}
}

static inline struct requester *requester_of(const struct weir_conn *conn)
{
	return conn->role_data;
}

/* A call that is always FREE and is never written to. Each slot without a call points to it, in all
 * engines, so that each lookup finds a call whose state can be read. */
extern struct weir_call call_free_sentinel;

static inline const struct call_slot *call_slot_of(const struct requester *req, uint32_t xid)
{
	return &req->slots[xid & req->slot_mask];
}

/* Returns the call that has the XID, in any state except FREE. Returns NULL if there is none. The
 * XID can be any number that a peer has sent. */
static inline struct weir_call *call_find(struct requester *req, uint32_t xid)
{
	const struct call_slot *slot = call_slot_of(req, xid);

	return slot->xid == xid && slot->call != &call_free_sentinel ? slot->call : NULL;
}

/* call_begin.c */
/* Takes a call for a free slot, and gives it the buffer 'args'. There must be a free slot. Returns
 * NULL if no call is left. */
struct weir_call *call_take(struct weir_conn *conn, struct mem_buf *args);

/* call_pool.c */
/* Frees a call: gives back its slot and all that it holds. */
void call_release(struct weir_call *call);
/* Gives back all that a call holds in addition to its slot and 'args'. */
void call_release_extra(struct weir_call *call);
/* Gives back the buffers that only the Send of a call needs: header_buf and spill. */
void call_release_sent(struct weir_call *call);
/* Gives back the windows and buffers of a call that ended, except 'args' and those that the device
 * or 'done' might still read. */
void call_release_unread(struct weir_call *call);

/* call.c */
/* Submits any call, and returns what weir_call_submit() returns. call_fast.c handles most calls
 * itself. */
int call_submit_any(struct weir_call *call);
/* Sends queued calls, as far as credits, the send queue, buffers and windows allow. */
void requester_pump(struct weir_conn *conn);
/* Sends queued calls like requester_pump(). Is called when calls are queued and a credit might have
 * returned. If receives are shared, first tries to get more credits. */
void requester_send_more(struct weir_conn *conn);
/* Handles any message that arrived. call_fast.c handles most messages itself. */
void requester_on_reply(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
			uint32_t inv_rkey);
void call_time_out(struct weir_call *call);
/* The next three functions are called, in this order, when the connection was lost and will be
 * established again. call_deliver_kept() handles a reply that waited for the end of the Send or of
 * keys, because both ended with the queue pair. It does nothing for other calls. */
void call_deliver_kept(struct weir_call *call);
/* Queues a call that was in flight, so that it is retransmitted. Frees a call whose 'done' was
 * called. */
void call_suspend(struct weir_call *call);
/* Ends a QUEUED call whose deadline is over, or that was in flight on too many lost connections.
 * 'error' is the reason for the loss. Keeps any other call. */
void call_end_or_keep(struct weir_call *call, int error);
/* Ends or frees a call because its connection ends. 'error' is the reason. */
void call_lose(struct weir_call *call, int error);

/* call_encode.c */
/* Writes the version 1 header of a call that has a shape (call_shape.h). Returns false if the call
 * has no shape. */
bool call_prepare_shape(struct weir_call *call);
/* Plans any call, with chunks if it needs them, and writes its header. Returns 0, or one of these
 * errors:
 *
 * - -ENOBUFS: the call needs a buffer, and there is none.
 * - -EMSGSIZE: the header does not fit inline, or the call or its reply is longer than the buffers.
 * - -EOPNOTSUPP: an item is too long to be copied, and the device can't expose its memory.
 * - another error: the call can't be encoded, or this process is a child of fork().
 *
 * After an error, the call is unchanged, and the application may add to it. */
int call_prepare(struct weir_call *call);
/* Writes the header of a planned call in the form of version 1. Leaves extra_bytes of the
 * connection free before it, for version 2. Returns 0, or an error of call_prepare(). */
int call_write_header(struct weir_call *call, const struct reduce_call_in *in);

/* call_header.c */
/* Sets call->header to memory for a transport header of 'bytes' bytes: the headroom before the
 * message if it is long enough, otherwise a buffer. Returns 0, or -ENOBUFS if there is no buffer.
 */
int call_reserve_header(struct weir_call *call, uint32_t bytes);
/* Plans a window for the next segment in the call's header, which names 'len' bytes at 'base'.
 * 'lkey' is the key of the region that contains them. 'copy' is a second location where the key of
 * the window will be stored, or NULL. */
void call_header_expose(struct weir_call *call, uint8_t *base, uint32_t len, uint32_t lkey,
			uint32_t access, uint32_t *copy);
/* Plans windows for the memory that a call's chunks name, in the order of the header: for the
 * pieces in 'reduced' and, if 'writes_results' is set, for the offered results. */
void call_plan_chunks(struct weir_call *call, uint32_t reduced, bool writes_results);

/* call_send.c */
/* Queues the Send of a call, after the binds of its windows. Returns false, and has queued nothing,
 * if the call must wait for a buffer. */
bool call_send(struct weir_call *call);

/* retransmit.c */
/* Puts a call that was in flight into the queue, so that it is retransmitted. The caller sets the
 * state of the call. */
void call_requeue(struct weir_call *call);
/* Releases all that a queued call holds, except its slot and its message. The header is written
 * again before the call is sent. */
void call_drop_header(struct weir_call *call);
/* Calls call_drop_header() for all queued calls. */
void requester_drop_headers(struct requester *req);
/* Returns whether the call is a probe call that must wait until no other call is in flight. */
bool call_waits_alone(const struct weir_call *call);
/* Counts a call that was just retransmitted. Remembers it if it is a probe call. */
void call_note_resent(struct weir_call *call);
/* Returns whether any call is SENT or REPLIED. */
bool requester_has_in_flight(const struct requester *req);
/* Returns whether only a reconnect can help the connection: it has no free credit, and calls that
 * were given up hold all credits. Each credit returns only with the reply to its call. If the peer
 * never replies to these calls, nothing can be sent any more. After a reconnect, all credits are
 * free again. */
bool requester_is_stuck(const struct weir_conn *conn);
/* Returns whether the probe call is still in flight, under the same XID. 'has_probe' of the
 * connection's blockers must be set. Clears 'has_probe' if the probe call is not in flight. */
bool requester_probe_in_flight(struct weir_conn *conn);

/* Returns the maximum number of gather elements that the Sends of a call need. */
static inline uint32_t call_sges_max(const struct weir_call *call)
{
	if (unlikely(call->more > 0))
		return call->group_sges;
	return call->npieces == 1 ? 2 : 2 * call->npieces + 1;
}

/* Returns whether a call has buffers that only its Send needs: call_release_sent() frees them. */
static inline bool call_holds_sent(const struct weir_call *call)
{
	return call->header_buf || call->spill;
}

static inline bool call_waits_for_reply(const struct weir_call *call)
{
	return call->state == CALL_SENT || call->state == CALL_ZOMBIE ||
	       call->state == CALL_REVOKING;
}

static inline struct weir_engine *call_engine(const struct weir_call *call)
{
	return call->conn->ep.engine;
}

/* Returns whether the engine has too few free windows for those that the call must bind. */
static inline bool call_lacks_windows(const struct weir_call *call)
{
	const struct weir_engine *engine = call->conn->ep.engine;

	return unlikely(engine->nwindows_free < call->nwindow_bindings) && !engine->own_domains;
}

/* Returns whether a probe call is in flight. */
static inline bool requester_has_probe(struct weir_conn *conn)
{
	return unlikely(conn->ep.blockers.has_probe) && requester_probe_in_flight(conn);
}

/* Sends queued calls, if there are any. Is called when a credit might have returned. */
static inline void requester_go_on(const struct requester *req)
{
	if (unlikely(!TAILQ_EMPTY(&req->queue)))
		requester_send_more(req->conn);
}

/* call_fast.c: the functions of the role for messages (struct conn_role) */
void requester_on_message(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
			  uint32_t inv_rkey);
bool requester_deliver(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len);

/* call_windows.c */
/* Binds the planned windows, and writes their keys into the header. The engine must have enough
 * free windows, and conn_tx_reserve() must have returned true for the binds. If connections have
 * domains of their own, binds nothing, and writes the keys of the connection. */
void call_bind_windows(struct weir_call *call);
/* Returns whether a call that is given up may keep its windows until the responder replies. Returns
 * false if fewer than half of the engine's windows are free, because other connections could then
 * have too few. */
bool call_may_keep_windows(const struct weir_call *call);
/* Frees the windows of a call, planned or bound. None of their keys may be valid, unless the queue
 * pair was destroyed. */
void call_drop_windows(struct weir_call *call);

/* call_revoke.c */
/* Notes that the peer has invalidated a key. Returns false if the key is not one of the call. */
bool call_key_ended(struct weir_call *call, uint32_t rkey);
/* Invalidates the keys of the call that are still valid. At least one must be valid. 'done' of
 * inv_tx is called when none is valid any more. */
void call_revoke(struct weir_call *call);
/* Notes that no key of the call is valid: all were invalidated, or the queue pair was destroyed. */
void call_keys_gone(struct weir_call *call);

/* call_complete.c */
/* Calls 'done' of a call. Frees the call after that, or when the device has completed its Send. The
 * call is not queued, and its credits were given back. */
void call_complete(struct weir_call *call, const struct weir_result *result);
/* Calls 'done' of a call that exposes no memory, because the call timed out or was cancelled. If a
 * reply can still arrive, the call becomes a ZOMBIE and keeps its slot. */
void call_give_up(struct weir_call *call);
/* Frees a call whose 'done' was called: at once, or when the device has completed its Send. */
void call_free_when_sent(struct weir_call *call);
/* Ends a call with an error: removes it from the queue or gives its credits back, and completes it.
 */
void call_fail(struct weir_call *call, int status);

/* credits_wanted.c: how many credits the calls request, if receives are shared */
/* Sets the initial number of credits that the calls of a connection request. */
void requester_share_start(struct weir_conn *conn);
/* Ends the idle state of a connection. Must be called before the header of a call is encoded,
 * because the header requests credits. Works also if receives are not shared. */
void requester_wake(struct weir_conn *conn);
/* Tries to double the number of requested credits. Is called when calls wait for credits. */
void requester_share_grow(struct weir_conn *conn);
/* Reduces the number of requested credits if fewer are needed. Is called at each tick. */
void requester_share_tick(struct weir_conn *conn, uint64_t now_ns);

/* requester_events.c: the functions of the role for events (struct conn_role), and
 * requester_on_buffers() for the requester's waiter for buffers (wait_queue.h) */
void requester_on_buffers(struct engine_waiter *waiter);
void requester_on_open(struct weir_conn *conn);
void requester_on_tick(struct weir_conn *conn, uint64_t now_ns);
uint64_t requester_next_tick(struct weir_conn *conn);
void requester_on_suspend(struct weir_conn *conn, int error);
/* Ends all calls, because the connection is over. */
void requester_fail_calls(struct weir_conn *conn, int error);
bool requester_is_idle(struct weir_conn *conn);

#endif
