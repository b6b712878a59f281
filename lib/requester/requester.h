/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REQUESTER_H
#define REQUESTER_H

/*
 * A requester has the calls of one connection. Its files, in the order from the file that decides
 * to the files that the others use:
 *
 *   call.c                decides what happens to a call next: at its submission, when its Send is
 *                         done, when its reply has arrived, at its time-out, and at the end of its
 *                         connection
 *   call_fast.c           does the same in one pass, for calls of a shape (call_shape.h); and
 *                         weir_call_reuse(), by which 'done' begins its call again
 *   requester_events.c    passes the events of a connection to its calls
 *   call_begin.c          the program describes a call
 *   call_encode.c         chooses which data go by chunks (lib/proto/reduce_call.c), and writes
 *                         the transport header
 *   call_header.c         memory for the transport header, and the exposures that it lists
 *   call_send.c           gathers the message, and queues the binds of windows and the Send
 *   call_read_reply.[ch]  checks a reply against what the call offered, and reads its result; the
 *                         header has the parts that call.c and call_fast.c use, too
 *   call_complete.[ch]    calls 'done', and frees the call when its Send is done; the header has
 *                         the part for calls that 'done' may reuse, which call_fast.c uses, too
 *   retransmit.c          calls whose connection is established again
 *   call_windows.c        keys for the memory of a call: binds memory windows, and frees them
 *   call_revoke.c         invalidates these keys
 *   call_pool.[ch]        slots and buffers of calls
 *   credits_wanted.c      the number of receives for replies, if receives are shared
 *   connect.c             creates and frees a requester
 *   version1.c            the operations of connections that speak version 1
 *   version1_only.c       gives each connection these operations, in a build without version 2
 *   v2/                   the same steps in version 2: call_ext.h lists its files
 *
 * call_find() finds the call of a reply.
 *
 * A call has these states. The list says what the call holds in each state:
 *
 *   FREE -> BUILDING  weir_call_begin(): a slot and a buffer for the arguments
 *        -> QUEUED    it is submitted, and waits for a credit
 *        -> SENT      a credit is taken; the responder may use what the header names
 *        -> FREE      'done' was called
 *
 * After SENT, a call may also have one of these states:
 *
 *   REPLIED     the reply has arrived, but it waits, because the device may still read memory of
 *               the application for the Send, or keys of the call are still valid
 *   REVOKING    the call is given up, because it timed out or was cancelled, and its keys are being
 *               invalidated; it becomes REPLIED if the reply arrives meanwhile, otherwise a ZOMBIE
 *   ZOMBIE      'done' was called with a time-out or as cancelled; nothing is exposed, but the
 *               responder still has the call, so the credit stays taken until the reply arrives
 *   COMPLETING  'done' is being called; the call then becomes SENDING or FREE; if the completion of
 *               its Send arrives inside 'done', it must not free the call
 *   COMPLETING_REUSABLE  'done' is being called, and may begin the call again (call_fast.c), which
 *               makes it BUILDING
 *   BUFFER_RECLAIMED  'done' is being called, and cannot begin the call again, because its buffer
 *               was needed for another call
 *   SENDING     'done' has returned, but the device may still read the call's own buffer
 *
 * call.c owns the state and stores it. These files store it, too:
 *
 *   call_pool.h      BUILDING and FREE, when a slot and a call are taken or returned
 *   call_pool.c      BUFFER_RECLAIMED, while 'done' runs
 *   call_complete.c  the states around 'done', which may reuse the call before it returns
 *   call_fast.c      in one pass, the states that call.c would store: to return a result on which
 *                    call.c acts would cost more than the step (call_shape.h)
 *
 * A call ends by its reply, by its time-out, by weir_call_cancel(), or by the end of the
 * connection. When the connection is established again, calls in flight are QUEUED again
 * (retransmit.c). The low bits of an XID are the slot, and the high bits count the uses of the
 * slot. A late reply thus does not match a later call.
 */

#include <stddef.h>

#include <weir/call.h>

#include "compiler.h"
#include "conn.h"
#include "credit.h"
#include "reduce.h"

/* version1.c */
extern const struct conn_protocol requester_version1;
/* v2/protocol.c, or version1_only.c */
const struct conn_protocol *requester_protocol(const struct weir_engine *engine);

#define CALL_ITEMS_MAX	8u
#define CALL_PIECES_MAX (2u * CALL_ITEMS_MAX + 1u)
/* The maximum number of segments that a call can list: those of a Long Call, a Write chunk for each
 * result, and the Reply chunk. */
#define CALL_WINDOW_BINDINGS_MAX (2u * CALL_PIECES_MAX + CALL_ITEMS_MAX + 1u)
/* The number of slots for each credit that is requested: more calls may be queued than there are
 * credits. A slot stands for a call that a connection may have. The memory of the call belongs to
 * the engine (call_pool.h). */
#define CALL_SLOTS_PER_CREDIT 2u

enum call_state {
	CALL_FREE, /* it belongs to its pool */
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

/* The reply that a call most likely gets. It is known only if the Send is done and the call holds
 * nothing but its message. The reply is accepted, and has one of these forms:
 *
 * - INLINE: no chunks
 * - ONE_WRITE: the Write chunk of one segment that was offered for the only result
 *
 * ANY means that the general path must look at the reply. */
enum expected_reply {
	EXPECTED_REPLY_ANY,
	EXPECTED_REPLY_INLINE,
	EXPECTED_REPLY_ONE_WRITE,
};

/* A segment in the header of a call, if keys belong to the call or to its connection
 * (call_windows.c). */
struct window_binding {
	struct fabric_mw *mw; /* NULL: not bound yet, or connections have domains of their own */
	uint8_t *base;
	uint32_t len;
	uint32_t lkey;
	uint32_t access;
	bool is_valid;	/* the peer may still use its key */
	uint32_t *copy; /* second location of the key, for the check of the reply; or NULL */
};

/* A DDP-eligible result that the call can accept. */
struct call_result {
	struct remote_buf remote; /* len 0: it is requested inline */
	void *data;
	uint32_t max_bytes;
	uint32_t begin; /* offset in the whole call of the operation that returns the result; 0:
			   there is none */
};

/* The members that a call without chunks needs come first. Then come those that a call with one
 * result in a chunk needs. Thus such calls use few cache lines. */
struct weir_call {
	struct conn_tx tx; /* of the Send */
	struct weir_conn *conn;
	uint8_t state;		/* enum call_state */
	uint8_t expected_reply; /* SENT: enum expected_reply */
	bool is_send_done;
	bool is_exposed; /* the header names memory of this side */
	uint32_t xid;
	uint32_t slot;
	uint16_t retransmits;  /* how many connections were lost while the call was in flight */
	bool sends_app_memory; /* the Send gathers from memory of the application */
	bool needs_header;     /* QUEUED: the header must be written for the present connection */
	bool avoids_extension; /* the extension was refused, or is not available at present */
	bool is_cancelled;
	bool has_extra;	    /* there may be buffers in addition to 'args' */
	bool is_contiguous; /* QUEUED: header and message are contiguous, as they will be sent */
	bool may_reduce;
	struct mem_buf *args; /* headroom, RPC header, arguments */
	uint64_t deadline_ns;
	uint64_t timeout_ns; /* at most ENGINE_NEVER_NS */

	struct weir_xdr_out out;
	weir_call_done_fn done;
	void *arg;
	const struct weir_ulb *ulb;
	uint32_t proc;
	uint32_t reply_max_bytes;

	uint32_t nitems;
	uint32_t nresults;
	uint32_t npieces;
	uint32_t piece_start; /* offset in 'out' of the XDR piece that is being written */
	uint32_t op_at; /* offset in the whole call of the operation that is being written; 0: there
			   is none */
	uint32_t args_at; /* offset of the arguments in 'out': the length of the RPC header */
	uint32_t header_bytes;
	uint32_t nvalid; /* number of exposures whose keys the peer may still use */
	uint8_t *header;
	struct weir_call *next_free; /* FREE */
	struct reduce_call_plan plan;

	struct window_binding *window_bindings;
	struct call_result results[CALL_ITEMS_MAX];
	_Alignas(64) struct piece pieces[CALL_PIECES_MAX];

	uint64_t needs_header_ns; /* time since which the header must be written again */
	bool is_refused; /* SENT: the call will be sent again by the base protocol when the device
			    has completed its Sends. REVOKING: no reply will arrive */
	bool is_reply_chain; /* REPLIED: 'reply' is a chain of several receives */
	bool is_revoking;    /* its exposures are being invalidated */

	/* for the extension of version 2: the files in v2/ */
	uint32_t extension;  /* base of its operation numbers (RTR_BASE_*); 0: the base protocol */
	uint32_t placed;     /* pieces that are placed in targets of the peer; bit i for piece i */
	uint32_t results_by; /* how results with memory are requested (enum rtr_type) */
	uint32_t more;	     /* transmissions after the first; each takes a credit */
	bool has_lists;	     /* its header has items or directions */
	bool asks_without_chunks;	  /* its results are requested, but not by Write chunks */
	uint32_t op_ends[CALL_ITEMS_MAX]; /* for results of operations that are not the last one:
					     the end of the operation */
	bool has_reported;		  /* an error about its reply was reported */
	uint32_t lead_bytes; /* maximum length of header and payload of a transmission */
	uint32_t group_sges; /* if there are several transmissions: the gather elements of all of
				them */
	uint32_t reply_reserved;    /* receives that it reserves, of requester.reply_recvs */
	uint32_t reply_count_max;   /* transmissions that its reply may have */
	struct mem_buf *reply_join; /* for data of the reply that several transmissions carry */
	struct mem_buf *group_bufs; /* for its own transmissions: conn_group_take_bufs() */

	struct mem_buf *header_buf; /* if the header does not fit into the headroom */
	/* if the message had to be moved to memory that the peer may read */
	struct mem_buf *long_call;
	struct mem_buf *long_reply; /* the Reply chunk */
	struct mem_buf *reply_copy; /* private copy of it, if the device can't revoke access */
	struct mem_buf *spill;	    /* the message in one piece, if the device can't gather it */
	struct mem_buf *reply;	    /* REPLIED: the message that arrived */
	uint32_t reply_bytes;
	uint32_t reply_handle;	   /* key of the Reply chunk */
	uint32_t nwindow_bindings; /* 0 if keys belong to the engine, before the submission, and
				      after the end */
	struct conn_tx inv_tx;	   /* of the last invalidation */
	struct conn_waiter inv_waiter;
	TAILQ_ENTRY(weir_call) queue;
} aligned_to(64);

_Static_assert(offsetof(struct weir_call, out) == 64 && offsetof(struct weir_call, nitems) == 128 &&
		       offsetof(struct weir_call, window_bindings) >= 192 &&
		       offsetof(struct weir_call, results[1]) <= 256,
	       "a line each");

_Static_assert(offsetof(struct weir_call, expected_reply) == offsetof(struct weir_call, state) + 1,
	       "one word for both");
_Static_assert(offsetof(struct weir_call, nresults) == offsetof(struct weir_call, nitems) + 4,
	       "one word for both");

/* Returns whether the call has neither items nor results that may be placed. */
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

/* Makes a piece of all that was encoded since the latest item. */
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
	uint32_t next_free;	/* CALL_NO_SLOT: none */
};

struct requester {
	/* The members that each call needs are in one cache line. */
	struct credit_requester credits;
	uint32_t nslots;    /* number of the slots below that calls may use */
	uint32_t slot_mask; /* the bits of an XID that are the slot; each value has a slot */
	uint32_t free_slot; /* the slot that was returned latest; CALL_NO_SLOT: all are in use */
	uint32_t nactive;   /* calls that are submitted and have not ended */
	struct call_queue queue;
	struct call_slot *slots; /* after this structure, in the same memory */
	struct call_pool *pool;

	struct weir_conn *conn;
	uint32_t probe_xid; /* XID of the probe call, while 'has_probe' of the connection's blockers
			       is set */
	uint32_t credits_max; /* maximum of credits.wanted, which follows the connection's share if
				 receives are shared */
	uint32_t reply_recvs; /* receives that calls may reserve for the transmissions of their
				 replies */
	uint32_t reply_reserved; /* receives of these that calls have reserved */
	uint32_t in_flight_peak; /* the most calls that a tick has found in flight since the share
				    was last examined */
	struct engine_wait_queue wait_queue; /* of buf_waiter, which waits for a buffer to send the
						first queued call */
	struct engine_waiter buf_waiter;
};

_Static_assert(offsetof(struct requester, conn) == 64, "a line");

/* Waits for one more buffer, to send the first queued call. */
static inline void requester_wait(struct weir_conn *conn, struct requester *req)
{
	engine_wait_unbounded(conn->ep.engine, &req->wait_queue, &req->buf_waiter);
}

/* Lists the results in the form that the reducer needs. 'list' has CALL_ITEMS_MAX elements. */
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

/* A call that is always FREE and is never written. All engines use it for slots without a call, so
 * that each lookup finds a call whose state can be read. */
extern struct weir_call call_free_sentinel;

static inline const struct call_slot *call_slot_of(const struct requester *req, uint32_t xid)
{
	return &req->slots[xid & req->slot_mask];
}

/* Returns the call with an XID that a peer named, in any state. Returns NULL if there is none. */
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
void call_release(struct weir_call *call);	 /* gives back slot and buffers */
void call_release_extra(struct weir_call *call); /* gives back what the submission took */
void call_release_sent(struct weir_call *call);	 /* of that, only what its Send needs */
/* Gives back the buffers of a call that ended, except 'args' and those that the device or 'done'
 * may still read. */
void call_release_unread(struct weir_call *call);

/* call.c */
/* Does weir_call_submit() for any call. call_fast.c handles most calls itself. */
int call_submit_any(struct weir_call *call);
void requester_pump(struct weir_conn *conn); /* sends queued calls, as far as credits allow */
/* Does the same after a credit may have returned. */
void requester_send_more(struct weir_conn *conn);
/* Handles any message that arrived. call_fast.c handles most messages itself. */
void requester_on_reply(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
			uint32_t inv_rkey);
void call_time_out(struct weir_call *call);
/* The next three functions are called, in this order, when the connection was lost and will be
 * established again. call_deliver_kept() handles a reply that waited, because the Send is over. */
void call_deliver_kept(struct weir_call *call);
/* Queues a call that was in flight for the new connection, or frees a call that is over. */
void call_suspend(struct weir_call *call);
/* Ends a QUEUED call that is too late, or was in flight on too many lost connections. */
void call_end_or_keep(struct weir_call *call, int error);
/* Ends a call because its connection is over. */
void call_lose(struct weir_call *call, int error);

/* call_encode.c */
/* Writes the header of a call that has a shape. Returns false if it has none. */
bool call_prepare_shape(struct weir_call *call);
/* Plans any call, with chunks if it needs them, and writes its header. Returns 0, or an error if
 * the call can't be sent in this form. After an error, the call is unchanged, and the application
 * may add to it. */
int call_prepare(struct weir_call *call);
/* Writes the header of a planned call in the form of version 1, after 'extra_bytes' of the
 * connection. Returns the same as call_prepare(). */
int call_write_header(struct weir_call *call, const struct reduce_call_in *in);

/* call_header.c */
/* Finds room for a transport header of 'bytes'. Returns 0 or -ENOBUFS. */
int call_reserve_header(struct weir_call *call, uint32_t bytes);
/* Plans a window for the next segment in the call's header. 'copy' is a second location where its
 * key is stored, or NULL. */
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
/* Puts a call that was in flight into the queue. The caller sets its state. */
void call_requeue(struct weir_call *call);
/* Releases all that a queued call holds, except its message. Its header is written again before it
 * is sent. */
void call_drop_header(struct weir_call *call);
/* Does so for all queued calls. */
void requester_drop_headers(struct requester *req);
/* Returns whether the call must wait until nothing else is in flight. */
bool call_waits_alone(const struct weir_call *call);
void call_note_resent(struct weir_call *call);
/* Returns whether there are calls that the responder has and that were not given up. */
bool requester_has_in_flight(const struct requester *req);
/* Returns whether the connection can only go on by a reconnect. All its credits are taken by calls
 * that were given up, and each credit returns only with a reply to its call. If the peer replies to
 * none of them, nothing can be sent any more. After a reconnect, all credits are free again. */
bool requester_is_stuck(const struct weir_conn *conn);
/* Returns whether the probe call is still in flight, under the same XID. Only valid while
 * 'has_probe' of the connection's blockers is set, which it clears if the call is not in flight. */
bool requester_probe_in_flight(struct weir_conn *conn);

/* Returns the maximum number of SGEs that the Sends of a call need. */
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

/* Returns whether there are too few free windows for the call. */
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

/* Sends queued calls after a credit may have returned. */
static inline void requester_go_on(const struct requester *req)
{
	if (unlikely(!TAILQ_EMPTY(&req->queue)))
		requester_send_more(req->conn);
}

/* call_fast.c */
void requester_on_message(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
			  uint32_t inv_rkey);
bool requester_deliver(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len);

/* call_windows.c */
/* Binds the planned windows, and writes their keys into the header. There must be free windows for
 * all of them, and conn_tx_reserve() must have found room. */
void call_bind_windows(struct weir_call *call);
/* Returns whether a call that is given up may keep its windows while the responder has it. It may
 * not if other connections could then have too few windows. */
bool call_may_keep_windows(const struct weir_call *call);
/* Releases the windows of a call, planned or bound. No key is valid, or the queue pair no longer
 * exists. */
void call_drop_windows(struct weir_call *call);

/* call_revoke.c */
/* Notes that the peer has invalidated a key. Returns false if it is not a key of the call. */
bool call_key_ended(struct weir_call *call, uint32_t rkey);
/* Invalidates the keys that are still valid, of which there is at least one. inv_tx is done when
 * none is valid any more. */
void call_revoke(struct weir_call *call);
/* Notes that no key is valid: all were invalidated, or the queue pair no longer exists. */
void call_keys_gone(struct weir_call *call);

/* call_complete.c */
void call_complete(struct weir_call *call, const struct weir_result *result);
/* Ends a call that exposes nothing, by its time-out or because it was cancelled. If a reply may
 * still come, it keeps its slot as a zombie. */
void call_give_up(struct weir_call *call);
/* Frees a call after its 'done': at once, or when the device has completed its Send. */
void call_free_when_sent(struct weir_call *call);
void call_fail(struct weir_call *call, int status);

/* credits_wanted.c: where receives are shared */
void requester_share_start(struct weir_conn *conn);
/* Ends the idle state of a connection. Call it before the header of a call is encoded, because the
 * header requests credits. */
void requester_wake(struct weir_conn *conn);
void requester_share_grow(struct weir_conn *conn); /* called when calls wait for credits */
void requester_share_tick(struct weir_conn *conn, uint64_t now_ns);

/* requester_events.c */
void requester_on_buffers(struct engine_waiter *waiter);
void requester_on_open(struct weir_conn *conn);
void requester_on_tick(struct weir_conn *conn, uint64_t now_ns);
void requester_on_suspend(struct weir_conn *conn, int error);
/* Ends all calls, because the connection is over. */
void requester_fail_calls(struct weir_conn *conn, int error);
bool requester_is_idle(struct weir_conn *conn);

#endif
