/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REQUESTER_H
#define REQUESTER_H

/*
 * A requester: the calls of one connection. Its files, from the one that decides to those that the
 * others use:
 *
 *   call.c              what happens to a call next: at its submission, when its Send is done,
 *                       when its reply has come, at its time-out, and at the end of its
 *                       connection
 *   call_fast.c         the same in one pass, for calls of a shape (call_shape.h)
 *   requester_events.c  brings the events of a connection to its calls
 *   call_begin.c        the program describes a call
 *   call_encode.c       the transport header: which data go by chunks (lib/proto/reduce_call.c)
 *   call_header.c       memory of the transport header, and the exposures that it lists
 *   call_send.c         the Send
 *   call_read_reply.c   the check of a reply against what the call offered, and the result that
 *                       is in it
 *   call_complete.c     'done' is called, and the call is freed
 *   retransmit.c        calls whose connection is remade
 *   call_windows.c      keys of a call's memory: memory windows are bound for it, and freed
 *   call_revoke.c       these keys are invalidated
 *   call_pool.[ch]      where slots and buffers of calls come from
 *   credits_wanted.c    the number of receives for replies, where receives are shared
 *   connect.c           creates and frees a requester
 *   version1.c          the operations of connections that speak version 1
 *   version1_only.c     in a build without version 2: every connection has these operations
 *   v2/                 the same steps in version 2: call_ext.h lists its files
 *
 * A reply finds its call by call_find(), below.
 *
 * A call's states, and what it holds in each:
 *
 *   FREE -> BUILDING  weir_call_begin(): a slot and a buffer for the arguments
 *        -> QUEUED    submitted, waits for a credit
 *        -> SENT      a credit is taken; the responder may use what the header names
 *        -> FREE      'done' was called
 *
 * From SENT it may pass through
 *
 *   REPLIED     the reply is here, but the device may still read memory of the application for the
 *               Send, or keys of the call are still valid: the reply waits
 *   REVOKING    the call is given up, timed out or cancelled, and its keys are being invalidated;
 *               then a ZOMBIE, or REPLIED, if the reply comes meanwhile
 *   ZOMBIE      'done' was called with a time-out or as cancelled; nothing is exposed, but the
 *               responder still has the call, so the credit stays taken until the reply comes
 *   COMPLETING  'done' is being called; then SENDING, or FREE: the completion of its Send may come
 *               in there, and is not to free it
 *   COMPLETING_REUSABLE  'done' is being called, and may begin the call anew (call_fast.c), which
 *               is BUILDING then; not so when it is
 *   BUFFER_RECLAIMED  its buffer was needed elsewhere
 *   SENDING     'done' has returned, but the device may still read our own buffer
 *
 * The state is stored by call.c, which owns it, and by
 *
 *   call_pool.h      BUILDING and FREE, with the slot and the call that is taken or given back
 *   call_pool.c      BUFFER_RECLAIMED, while 'done' runs
 *   call_complete.c  the states around 'done', which may reuse the call before it returns
 *   call_fast.c      in one pass, what call.c would: a result for it to act on would cost more
 *                    than the step (call_shape.h)
 *
 * A call ends by its reply, its time-out, weir_call_cancel(), or the end of the connection. When
 * the connection is remade, calls in flight are QUEUED again (retransmit.c). XIDs index: the low
 * bits are the slot, the high bits count its uses, so a late reply never meets another call.
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
/* Segments that a call can list: those of a Long Call, and a Write chunk for each result, and the
 * Reply chunk. */
#define CALL_WINDOW_BINDINGS_MAX (2u * CALL_PIECES_MAX + CALL_ITEMS_MAX + 1u)
/* Slots for each credit asked for: calls may be queued beyond the credits. A slot is a call that a
 * connection may have; the memory of it is the engine's (call_pool.h). */
#define CALL_SLOTS_PER_CREDIT 2u

enum call_state {
	CALL_FREE, /* with its pool */
	CALL_BUILDING,
	CALL_QUEUED,
	CALL_SENT,
	CALL_REPLIED,
	CALL_REVOKING,
	CALL_SENDING,
	CALL_ZOMBIE, /* from here on weir_call_reuse() takes it */
	CALL_COMPLETING,
	CALL_COMPLETING_REUSABLE, /* from here on it is to be freed behind 'done' */
	CALL_BUFFER_RECLAIMED,
};

/* The reply that a call most likely gets, where its Send is done, and it holds nothing but its
 * message: accepted, without chunks, or with the Write chunk of one segment that its one result was
 * offered. ANY: there is more to it. */
enum expected_reply {
	EXPECTED_REPLY_ANY,
	EXPECTED_REPLY_INLINE,
	EXPECTED_REPLY_ONE_WRITE,
};

/* A segment of the call's header, where keys are a call's or a connection's own: see
 * call_windows.c. */
struct window_binding {
	struct fabric_mw *mw; /* NULL: none yet; with domains of connections none ever */
	uint8_t *base;
	uint32_t len;
	uint32_t lkey;
	uint32_t access;
	bool is_valid;	/* its key may still be used by the peer */
	uint32_t *copy; /* where the key is also kept, for what is checked of the reply; or NULL */
};

/* A DDP-eligible result that is ready to be taken. */
struct call_result {
	struct remote_buf target; /* len 0: it is asked for inline */
	void *data;
	uint32_t max_bytes;
	uint32_t begin; /* where in the whole call the operation is that yields it; 0: there is none
			 */
};

/* What a call without chunks takes comes first, then what one with a result in a chunk takes, so
 * that it is few lines. */
struct weir_call {
	struct conn_tx tx; /* of the Send */
	struct weir_conn *conn;
	uint8_t state;		/* enum call_state */
	uint8_t expected_reply; /* SENT: enum expected_reply */
	bool is_send_done;
	bool is_exposed; /* the header names memory of ours */
	uint32_t xid;
	uint32_t slot;
	uint16_t retransmits;  /* connections that were lost while it was in flight */
	bool sends_app_memory; /* the Send gathers from the application's memory */
	bool needs_header;     /* QUEUED: the header is to be made, for the present connection */
	bool avoids_extension; /* it was refused, or can't be had now */
	bool is_cancelled;
	bool has_extra;	    /* there may be buffers besides 'args' */
	bool is_contiguous; /* QUEUED: header and message lie in one piece, as they are to be sent
			     */
	bool may_reduce;
	struct mem_buf *args; /* headroom, RPC header, arguments */
	uint64_t deadline_ns;
	uint64_t timeout_ns; /* ENGINE_NEVER_NS at most */

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
	uint32_t op_at;	  /* where in the whole call the operation begins that is being written; 0:
			     there is none */
	uint32_t args_at; /* offset in 'out' of the arguments: how long the RPC header is */
	uint32_t header_bytes;
	uint32_t nvalid; /* of the exposures, the keys that the peer may still use */
	uint8_t *header;
	struct weir_call *next_free; /* FREE */
	struct reduce_call_plan plan;

	struct window_binding *window_bindings;
	struct call_result results[CALL_ITEMS_MAX];
	_Alignas(64) struct piece pieces[CALL_PIECES_MAX];

	uint64_t needs_header_ns; /* since when it is stale */
	bool is_refused; /* SENT: it is to be sent again by the base, when the device is done with
			    its Sends. REVOKING: no reply is to come */
	bool is_reply_chain; /* REPLIED: 'reply' is a chain of several receives */
	bool is_revoking;    /* exposures are being invalidated */

	/* by an extension of the protocol: the files in v2/ */
	uint32_t extension; /* whose operations it is sent with; 0: by the base protocol */
	uint32_t placed;    /* pieces that are laid into targets of the peer's, bit i for piece i */
	uint32_t results_by;	  /* what was asked for results with memory; 0: explicit RDMA */
	uint32_t more;		  /* transmissions beyond the first, a credit each */
	bool has_lists;		  /* its header has items or directions */
	bool asks_without_chunks; /* its results are asked for otherwise than by Write chunks */
	uint32_t op_ends[CALL_ITEMS_MAX]; /* of results of operations that are not the last: where
					     these end */
	bool has_reported;		  /* an error about its reply */
	uint32_t lead_bytes;		  /* header and payload of a transmission are no longer */
	uint32_t group_sges; /* gather elements of all its transmissions, where there are several */
	uint32_t reply_reserved;    /* receives, of requester.reply_recvs */
	uint32_t reply_count_max;   /* transmissions that its reply may have */
	struct mem_buf *reply_join; /* for what crosses from one of them to the next */
	struct mem_buf *group_bufs; /* of its own transmissions: conn_group_take_bufs() */

	struct mem_buf *header_buf; /* when the header does not fit into the headroom */
	/* when the message had to be moved to memory that the peer may read */
	struct mem_buf *long_call;
	struct mem_buf *long_reply; /* the Reply chunk */
	struct mem_buf *reply_copy; /* its content, private, when the device can't revoke access */
	struct mem_buf *spill;	    /* the message in one piece, when the device can't gather it */
	struct mem_buf *reply;	    /* REPLIED: the message that came */
	uint32_t reply_bytes;
	uint32_t reply_handle;	   /* of the Reply chunk */
	uint32_t nwindow_bindings; /* 0 where keys are the engine's, and but between submit and the
				      end */
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

/* Whether it has neither items nor results that may be placed. */
static inline bool call_is_bare(const struct weir_call *call)
{
	return call->nitems == 0 && call->nresults == 0;
}

/* Whether it is SENT, and awaits that. */
static inline bool call_expects(const struct weir_call *call, enum expected_reply expected)
{
	const uint8_t wanted[2] = {CALL_SENT, (uint8_t)expected};
	uint16_t is, shall;

	memcpy(&is, &call->state, sizeof(is));
	memcpy(&shall, wanted, sizeof(shall));
	return is == shall;
}

/* What was encoded since the latest item becomes a piece. */
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

/* The Send of a call, gathered. */
struct call_message {
	struct fabric_sge sges[2 * CALL_PIECES_MAX + 1];
	uint32_t nsges;
	uint32_t bytes;
};

TAILQ_HEAD(call_queue, weir_call);

#define CALL_NO_SLOT UINT32_MAX

struct call_slot {
	struct weir_call *call; /* of one that is free, call_free_sentinel */
	uint32_t xid;		/* of its latest call */
	uint32_t next_free;	/* CALL_NO_SLOT: none */
};

struct requester {
	/* what a call takes: a line */
	struct credit_requester credits;
	uint32_t nslots;    /* of those below, the ones in use */
	uint32_t slot_mask; /* the bits of an XID that are the slot; each of them is there */
	uint32_t free_slot; /* the latest that was given back; CALL_NO_SLOT: all are in use */
	uint32_t nactive;   /* submitted and not yet done */
	struct call_queue queue;
	struct call_slot *slots; /* behind this object, in the same memory */
	struct call_pool *pool;

	struct weir_conn *conn;
	uint32_t probe_xid; /* of a call that was sent alone, while 'has_probe' of the connection's
			       blockers is set */
	uint32_t credits_max; /* 'wanted' at most: it follows the connection's share where receives
				 are shared */
	uint32_t reply_recvs; /* that calls may reserve for the transmissions of their replies */
	uint32_t reply_reserved; /* of these, by calls that are prepared and not done with */
	uint32_t in_flight_peak; /* seen at ticks, since the share was last looked at */
	struct engine_wait_queue wait_queue; /* of the one that waits for a buffer to send the first
						of the queue with: */
	struct engine_waiter buf_waiter;
};

_Static_assert(offsetof(struct requester, conn) == 64, "a line");

/* For one buffer more, to send the first of the queue with. */
static inline void requester_wait(struct weir_conn *conn, struct requester *req)
{
	engine_wait_unbounded(conn->ep.engine, &req->wait_queue, &req->buf_waiter);
}

/* The results as the reducer takes them: 'list' has CALL_ITEMS_MAX places. */
static inline void call_list_results(const struct weir_call *call, struct reduce_result *list)
{
	for (uint32_t i = 0; i < call->nresults; i++) {
		const struct call_result *result = &call->results[i];

		list[i] = (struct reduce_result){
			&result->target, result->target.len > 0, result->max_bytes, result->begin,
			result->begin < call->op_at ? call->op_ends[i] : 0};
	}
}

static inline struct requester *requester_of(const struct weir_conn *conn)
{
	return conn->role_data;
}

/* FREE, for ever, and all engines': so that whatever is looked up has a state to be asked for.
 * Never written. */
extern struct weir_call call_free_sentinel;

static inline const struct call_slot *call_slot_of(const struct requester *req, uint32_t xid)
{
	return &req->slots[xid & req->slot_mask];
}

/* The call of an XID that a peer named, whatever its state; NULL: there is none. */
static inline struct weir_call *call_find(struct requester *req, uint32_t xid)
{
	const struct call_slot *slot = call_slot_of(req, xid);

	return slot->xid == xid && slot->call != &call_free_sentinel ? slot->call : NULL;
}

/* call_begin.c */
/* A call of a free slot, of which there is one, with that buffer; NULL: there is no call left. */
struct weir_call *call_take(struct weir_conn *conn, struct mem_buf *args);

/* call_pool.c */
void call_release(struct weir_call *call);	 /* give back slot and buffers */
void call_release_extra(struct weir_call *call); /* the buffers that submitting took */
void call_release_sent(struct weir_call *call);	 /* of these, the ones that only its Send was for */
/* Of a call that ended: the buffers that neither the device nor 'done' will look at, but 'args'. */
void call_release_unread(struct weir_call *call);

/* call.c */
/* weir_call_submit() of any call; call_fast.c has most. */
int call_submit_any(struct weir_call *call);
void requester_pump(struct weir_conn *conn); /* send what is queued, as far as credits go */
/* The same where a credit may have come back. */
void requester_send_more(struct weir_conn *conn);
/* A message came; call_fast.c has most. */
void requester_on_reply(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
			uint32_t inv_rkey);
void call_time_out(struct weir_call *call);
/* The connection was lost and is to be remade. First: a reply that waited counts, as the Send is
 * done with. */
void call_deliver_kept(struct weir_call *call);
/* Then: the call waits for the new connection, or is over. */
void call_suspend(struct weir_call *call);
/* At last: it is QUEUED, and may be too late or have been lost too often. */
void call_end_or_keep(struct weir_call *call, int error);
/* The connection is over. */
void call_lose(struct weir_call *call, int error);

/* call_encode.c */
/* Lay out a call that has a shape. False: it has none. */
bool call_prepare_shape(struct weir_call *call);
/* The same of any call, with chunks where it needs some. 0; or it can't be sent so, and is as it
 * was: the application may add to it. */
int call_prepare(struct weir_call *call);
/* Writes the header of a call as planned, in version 1 and behind 'extra_bytes'. Returns 0, or as
 * call_prepare(). */
int call_write_header(struct weir_call *call, const struct reduce_call_in *in);

/* call_header.c */
/* Finds room for a transport header of 'bytes'. Returns 0 or -ENOBUFS. */
int call_place_header(struct weir_call *call, uint32_t bytes);
/* Plans a window for the next segment in the call's header. 'copy' is where else its key is stored;
 * NULL: nowhere. */
void call_header_expose(struct weir_call *call, uint8_t *base, uint32_t len, uint32_t lkey,
			uint32_t access, uint32_t *copy);
/* Plans windows for the memory that a call's chunks name, in the order of the header: for the
 * pieces in 'reduced' and, if 'writes_results' is set, for the offered results. */
void call_plan_chunks(struct weir_call *call, uint32_t reduced, bool writes_results);

/* call_send.c */
/* Gathers the message of a call. Returns false if the call must wait for a buffer. */
bool call_gather(struct weir_call *call, struct call_message *msg);
/* Queues the Send of a call. All windows of the call must be bound. */
void call_send(struct weir_call *call, const struct call_message *msg);

/* retransmit.c */
/* Put a call that was in flight into the queue. The caller sets its state. */
void call_requeue(struct weir_call *call);
/* It holds no more than its message, until it is sent. */
void call_drop_header(struct weir_call *call);
/* Do so for all calls that are queued. */
void requester_drop_headers(struct requester *req);
/* It is to be sent when nothing else is in flight, and something is. */
bool call_waits_alone(const struct weir_call *call);
void call_note_resent(struct weir_call *call);
/* Calls that the responder has and that still matter. */
bool requester_has_in_flight(const struct requester *req);
/* The credits are all with calls that were given up, and none comes back but with a reply to one of
 * these: where nobody answers them, nothing can be sent any more. A remade connection has its
 * credits again. */
bool requester_is_stuck(const struct weir_conn *conn);
/* Whether the call that was sent alone is still SENT, under the same XID: of a connection whose
 * blockers have 'has_probe'. */
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

/* There are too few windows for it now. */
static inline bool call_lacks_windows(const struct weir_call *call)
{
	const struct weir_engine *engine = call->conn->ep.engine;

	return unlikely(engine->nwindows_free < call->nwindow_bindings) && !engine->own_domains;
}

/* Whether a call that was sent alone is in flight. */
static inline bool requester_has_probe(struct weir_conn *conn)
{
	return unlikely(conn->ep.blockers.has_probe) && requester_probe_in_flight(conn);
}

/* A credit came back, maybe. */
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
/* Open what is planned, and write the keys into the header; there are windows for all, and
 * conn_tx_reserve() has found places. */
void call_bind_windows(struct weir_call *call);
/* A call that is given up keeps its windows while the responder has it: not when that might leave
 * other connections too few. */
bool call_may_keep_windows(const struct weir_call *call);
/* Forget what was planned or exposed, of a call with window bindings: no key is valid, or the queue
 * pair is gone. */
void call_drop_windows(struct weir_call *call);

/* call_revoke.c */
/* The peer has invalidated a key. False: it is none of the call's. */
bool call_key_ended(struct weir_call *call, uint32_t rkey);
/* Invalidate the keys that are still valid, of which there are some: inv_tx is done when none is.
 */
void call_revoke(struct weir_call *call);
/* The queue pair is gone, and with it all keys. */
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
void requester_share_grow(struct weir_conn *conn); /* calls wait for credits */
void requester_share_tick(struct weir_conn *conn, uint64_t now_ns);

/* requester_events.c */
void requester_on_buffers(struct engine_waiter *waiter);
void requester_on_open(struct weir_conn *conn);
void requester_on_tick(struct weir_conn *conn, uint64_t now_ns);
void requester_on_suspend(struct weir_conn *conn, int error);
/* The connection is over: all its calls end. */
void requester_fail_calls(struct weir_conn *conn, int error);
bool requester_is_idle(struct weir_conn *conn);

#endif
