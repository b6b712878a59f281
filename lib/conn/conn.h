/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONN_H
#define CONN_H

/*
 * A connection, as its requester or responder sees it. Its files:
 *
 *   conn.c          its state, which no other file stores: it opens, and it ends
 *   create.c        the object, and what it needs
 *   connect.c       set-up
 *   cm_events.c     events of the connection manager, and the tick
 *   receive.c       completions
 *   send_queue.c    work requests, from the batch (batch.[ch]) to their completions
 *   conn_share.c    where connections share receives: it joins those that share credits, keeps
 *                   within its share, and leaves; lib/proto/credit_share.c computes the grants
 *   reconnect.c     a connection that was lost is remade
 *   close.c         the end; destroy.c gives the memory back
 *   protocol.h      the operations of the version that it speaks: version1.c, v2/ (conn_v2.h)
 *
 * Sending: work requests gather in a batch (batch.h), which is posted once per poll (conn_flush).
 * Each may name a conn_tx, whose 'done' is called once: when the device no longer needs the
 * buffers, or when the connection ends. Places in the send queue are counted here, so that a post
 * is never refused; who needs more places than there are waits (conn_wait_tx).
 *
 * Receiving: the role gets each message in a buffer that it owns until conn_recv_done(). Buffers
 * given back are posted again, all but a few, before anything is sent; there are as many more than
 * credits, so that a grant never exceeds what is posted.
 */

#include <weir/connection.h>

#include "batch.h"
#include "cm_private.h"
#include "compiler.h"
#include "engine.h"
#include "peer.h"
#include "protocol.h"
#include "shared_recv.h"

#define CONN_MSG_SGES 16u

_Static_assert(CONN_BATCH <= 64, "weir_conn.alone has a bit for each");

enum conn_state {
	CONN_CONNECTING,  /* or accepted and not yet established */
	CONN_NEGOTIATING, /* established; the peer is being asked: conn_protocol.negotiate() */
	CONN_OPEN,
	CONN_DRAINING, /* open; ends when no call is in flight */
	CONN_WAITING,  /* was open, has no queue pair, connects again when its pause is over:
			  reconnect.c */
	/* No more than the reaper is to come: */
	CONN_LOST,   /* connects again after that */
	CONN_CLOSED, /* ends */
};

struct conn_waiter {
	void (*on_room)(struct conn_waiter *waiter);
	TAILQ_ENTRY(conn_waiter) entry;
	uint32_t nwrs;
	bool is_waiting;
};

struct conn_role {
	/* The table of a new connection. */
	const struct conn_protocol *(*protocol)(const struct weir_engine *engine);
	void (*on_open)(struct weir_conn *conn);
	/* A message of 'len' bytes came; the role owns 'buf' until conn_recv_done(). 'inv_rkey':
	 * the key that the peer invalidated with it, or 0. */
	void (*on_message)(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
			   uint32_t inv_rkey);
	/* The same of a message that the device shows (driver.h); conn_deliver, or what does
	 * better. */
	bool (*deliver)(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len);
	void (*on_tick)(struct weir_conn *conn, uint64_t now_ns);
	/* Where receives are shared: nothing came for a while, and nothing is held. May be NULL. */
	void (*on_idle)(struct weir_conn *conn);
	/* No calls are to begin any more. May be NULL. */
	void (*on_drain)(struct weir_conn *conn);
	/* No call is in flight (asked while draining). */
	bool (*is_idle)(struct weir_conn *conn);
	/* The device is out of it, but the connection is to be remade: on_open comes again, or
	 * on_lost. All buffers of messages are the connection's again. NULL: of connections that
	 * are never remade. */
	void (*on_suspend)(struct weir_conn *conn, int error);
	/* The device is out of it: end all calls or requests, give back all buffers, free the role.
	 */
	void (*on_lost)(struct weir_conn *conn, int error);
};

/* If thousands of connections are used in turn, each cache line that a message needs has to be
 * fetched: the first ones of the endpoint, and the first ones behind it. */
struct weir_conn {
	struct engine_endpoint ep;

	/* what a message takes, in or out */
	_Alignas(64) struct fabric_qp *qp;
	const struct fabric_ops *ops;
	const struct conn_role *role;
	void *role_data;
	struct engine_srq *srq; /* where receives are shared; NULL: they are not */
	const struct conn_protocol *protocol;
	enum conn_state state;
	uint32_t send_inline; /* threshold for what this side sends */
	uint32_t recv_inline; /* and for what it receives */

	struct credit_share share; /* where receives are shared */
	uint32_t extra_bytes;	/* of a transport header of its version, in front of what version 1
				   has */
	bool active_since_tick; /* where receives are shared: since its share was last looked at */
	bool got_message;	/* the role has got an answer, or a call, since it was opened */
	bool remote_invalidation;    /* both sides have said so: a responder may end a key with its
					reply */
	bool via_protocol;	     /* the short ways are not its messages': protocol.h */
	bool reconnects;	     /* it connects again when it is lost */
	struct engine_srq_list held; /* where receives are shared: those of nrecv_held */

	/* the batch */
	uint32_t nsges; /* of ep.blockers.nbatched work requests */
	uint32_t max_inline;
	uint32_t max_sge;
	uint64_t alone; /* bit i: nothing but Send i, which is INLINE, reads txs[i]'s buffers */
	struct conn_batch *batch; /* while there are some */

	/* send queue accounting: positions count up, one a work request */
	uint64_t sq_posted;
	uint64_t sq_retired;
	uint64_t sq_signalled; /* position behind the latest signalled one */
	uint32_t sq_size;
	bool sq_waits;	     /* the latest tick saw some that have not completed */
	struct conn_tx **sq; /* of position % sq_size; NULL: nobody waits for it */
	uint64_t sq_seen;    /* sq_retired, when they were first seen, or it to change */
	uint64_t sq_seen_ns; /* and when that was */
	TAILQ_HEAD(, conn_waiter) tx_waiters;

	/* receives to be posted again */
	uint32_t nrecv_free;
	uint32_t recv_slack; /* so many of them may wait for more */
	uint32_t nrecvs;     /* buffers that this connection holds, posted or not */
	struct mem_buf **recv_free;
	struct mem_buf **recvs; /* all of them, to give them back at the end */

	/* where receives are shared; then the above is empty */
	uint64_t share_tick_ns;	     /* when the share is looked at again */
	struct engine_srq_list kept; /* conn_keep_message() */

	struct mem_buf *early; /* messages that came before ESTABLISHED: user[0] the next, user[1]
				* the length and, above it, the invalidated key */

	uint32_t vers;	      /* that it speaks; of a responder's connection: the latest call's */
	uint32_t chunk_bytes; /* items as long as that are rather read than sent; 0: none is */
	struct conn_v2 *v2;   /* where it may speak version 2: the folders v2/ alone look at it */
	struct cm_private theirs; /* what the peer told at the set-up, or the defaults */
	uint32_t credits;
	uint32_t nreply_recvs; /* a requester's, besides those for its credits: engine_reply_recvs()
				*/
	bool exposes;	       /* it makes calls: the peer gets keys */
	bool may_invalidate;   /* this side's part in remote invalidation, which it tells the peer
				  (RFC 8797) */
	bool counted;	       /* in stats.connections_opened */
	uint64_t deadline_ns;  /* of the set-up; 0: none */
	uint64_t drain_ns;     /* when it was first seen to drain; 0: not yet */
	int error;	       /* why it ended, or was lost the latest time */

	/* reconnect.c */
	bool was_open; /* once: calls may be made from then on */
	bool is_up;    /* the application was told that it is open, and not yet that it was lost */
	bool drains;   /* weir_conn_shutdown() was called */
	uint32_t attempts;    /* to connect, since it was of use */
	uint64_t opened_ns;   /* the latest time */
	uint64_t lost_ns;     /* when it was lost first since it was of use */
	uint64_t retry_at_ns; /* WAITING: the end of the pause */

	weir_conn_event_fn on_event;
	void *arg;
	void *user;
	char peer[WEIR_PEER_ADDRESS_BYTES]; /* its address: in logs, and where this side connects to
					     */
	bool has_identity;		    /* 'identity' is valid */
	bool is_ending;			    /* it counts in the engine's nending */
	struct weir_peer identity;
	struct engine_peer *peer_account; /* never NULL while there is a connection */
	struct engine_peer_member member; /* of that account, until the connection ends */
};

_Static_assert(offsetof(struct weir_conn, qp) == FABRIC_RECEIVER_LINES_AT &&
		       offsetof(struct weir_conn, extra_bytes) <= FABRIC_RECEIVER_LINES_AT + 128,
	       "what a message takes is where drivers look for it");

/* Whether what is sent goes at once, nothing is queued in front of it, and time matters:
 * no_direct_send is false while it is open, by version 1 alone, with shared receives and a driver
 * that sends at once, and nobody ends keys from afar. */
static inline bool conn_can_send_direct(const struct weir_conn *conn)
{
	return conn->ep.blockers.sending == 0;
}

/* Of another role from now on. */
static inline void conn_set_role(struct weir_conn *conn, const struct conn_role *role)
{
	conn->role = role;
	conn->ep.receiver.deliver = role->deliver;
}

/* Make the object with receives for so many credits taken from the pool, and as many more; the
 * caller connects or accepts. The connection takes a reference of its own to the peer's 'account'.
 */
int conn_create(struct weir_engine *engine, struct engine_peer *account, uint32_t credits,
		uint32_t nreply_recvs, const struct conn_role *role, void *role_data,
		struct weir_conn **conn);
/* Free one that never had a queue pair; the role is the caller's. */
void conn_free(struct weir_conn *conn);

/* Connect or accept a created one. On failure it is still the caller's. */
int conn_connect(struct weir_conn *conn, const char *addr);
int conn_accept(struct weir_conn *conn, struct fabric_conn_req *req,
		const struct fabric_cm_event *event);
/* The set-up has the profile's connect_timeout_ms from here on. */
void conn_set_deadline(struct weir_conn *conn);
/* It was established: who the peer is, and what it said in its private data. */
void conn_set_peer(struct weir_conn *conn, const struct fabric_cm_event *event);

/* It is lost: no more sends; the reaper does the rest, which is to remake it if it is of that kind,
 * and was open. 'error' is kept if it is the first. */
void conn_fail(struct weir_conn *conn, int error);
/* It ends, of whatever kind it is. */
void conn_end(struct weir_conn *conn, int error);

/* Post all receives that are free. */
void conn_post_recvs(struct weir_conn *conn);

/* Before anything is sent that grants credits. */
static inline void conn_top_up(struct weir_conn *conn)
{
	if (conn->srq)
		engine_srq_top_up(conn->srq);
	else if (conn->nrecv_free > conn->recv_slack)
		conn_post_recvs(conn);
}

/* Where receives are shared: the message is done with. */
static inline void conn_put_shared(struct weir_conn *conn, struct mem_buf *buf)
{
	struct engine_srq *srq = conn->srq;

	if (buf == srq->delivering) {
		srq->delivering = NULL;
		return;
	}
	conn->ep.blockers.nrecv_held--;
	engine_srq_return(srq, buf);
}

/* The most messages that it may hold: more than that no peer sends that keeps to its credits. */
static inline uint32_t conn_held_max(const struct weir_conn *conn)
{
	return conn->share.size + ENGINE_RECV_RESERVE;
}

/* While the device delivers a message, the message has no holder and is not accounted for. Most
 * messages are done with when the delivery ends. */
static inline void conn_deliver_begin(struct weir_conn *conn, struct mem_buf *buf)
{
	conn->active_since_tick = true;
	conn->srq->delivering = buf;
}

/* The message was not done with: it is the connection's, as after a completion. Returns what the
 * delivery returns to the device, which is false. */
bool conn_hold_delivered(struct weir_conn *conn);

/* Returns what the delivery returns to the device. */
static inline bool conn_deliver_end(struct weir_conn *conn)
{
	return likely(!conn->srq->delivering) ? true : conn_hold_delivered(conn);
}

/* Whether a message that is delivered needs nothing but the role. Otherwise conn_deliver() takes
 * it.
 */
static inline bool conn_can_deliver_direct(const struct weir_conn *conn)
{
	return likely(conn->ep.blockers.any == 0) ||
	       (conn_can_send_direct(conn) && conn->ep.blockers.nrecv_held < conn_held_max(conn));
}

static inline void conn_recv_done(struct weir_conn *conn, struct mem_buf *buf)
{
	if (conn->state >= CONN_LOST)
		return; /* all buffers go back together, when it is reaped */
	if (conn->srq) {
		conn_put_shared(conn, buf);
		return;
	}
	conn->recv_free[conn->nrecv_free++] = buf;
	if (conn->nrecv_free > conn->recv_slack)
		engine_want_flush(&conn->ep);
}

/* A message that came in several receives is a chain of them: the next one; NULL: none. */
static inline struct mem_buf *conn_chain_next(const struct mem_buf *buf)
{
	return (struct mem_buf *)(uintptr_t)buf->user[0];
}

/* receive.c: conn_recv_done() of each. NULL: there is none. */
void conn_chain_done(struct weir_conn *conn, struct mem_buf *chain);

/* conn_share.c: where receives are shared */
/* The peer has more under way than it was granted, and the connection ends. */
void conn_share_exceeded(struct weir_conn *conn);
/* All messages that it holds are done with. */
void conn_share_reset(struct weir_conn *conn);
void conn_share_leave(struct weir_conn *conn);
/* Once a tick: what the peer has not used for a while goes back. */
void conn_share_tick(struct weir_conn *conn, uint64_t now_ns);
/* It outlives its connection, which is ending: its holder gives it back. */
void conn_keep_message(struct weir_conn *conn, struct mem_buf *msg);
void conn_put_kept(struct weir_engine *engine, struct engine_peer *account, struct mem_buf *msg);
/* Whether the peer's messages that outlive their connections are so few that it may have another
 * connection. Each holds a receive and a request, and may hold a send buffer. */
bool conn_share_may_join(const struct weir_engine *engine, const struct engine_peer *account);

static inline bool conn_can_send(const struct weir_conn *conn)
{
	return conn->state == CONN_OPEN || conn->state == CONN_DRAINING;
}

/* Whether calls may be begun: while it is remade, too, where they wait. */
static inline bool conn_takes_calls(const struct weir_conn *conn)
{
	return conn->state == CONN_OPEN ||
	       (conn->reconnects && conn->was_open && !conn->drains && conn->state != CONN_CLOSED);
}

/* Places left in the send queue, what is in the batch counted as taken. */
static inline uint32_t conn_tx_room(const struct weir_conn *conn)
{
	return conn->sq_size - (uint32_t)(conn->sq_posted - conn->sq_retired) -
	       conn->ep.blockers.nbatched;
}

/* Whether 'nwrs' work requests with 'nsges' elements fit now: posts the batch if that makes room.
 */
bool conn_tx_reserve(struct weir_conn *conn, uint32_t nwrs, uint32_t nsges);

/* Add memory to the gather list of 'n' elements, to the one before it where they touch. Returns how
 * many there are then. */
static inline uint32_t conn_gather(struct fabric_sge *sges, uint32_t n, uint8_t *base, uint32_t len,
				   uint32_t lkey)
{
	if (n > 0 && sges[n - 1].lkey == lkey &&
	    (uint8_t *)sges[n - 1].addr + sges[n - 1].len == base) {
		sges[n - 1].len += len;
		return n;
	}
	sges[n] = (struct fabric_sge){base, len, lkey};
	return n + 1;
}

/* Queue a work request; conn_tx_reserve() has said that it fits. 'tx' may be NULL. 'is_alone': the
 * Send is all that 'tx' stands for, so that it is done at the post when the device takes the data
 * along; not so when Writes are queued before it for the same 'tx'. */
void conn_send(struct weir_conn *conn, const struct fabric_sge *sges, uint32_t nsges,
	       uint32_t bytes, struct conn_tx *tx, bool is_alone);
void conn_write(struct weir_conn *conn, const struct fabric_sge *sge, uint32_t rkey, uint64_t raddr,
		struct conn_tx *tx);
void conn_read(struct weir_conn *conn, const struct fabric_sge *sge, uint32_t rkey, uint64_t raddr,
	       struct conn_tx *tx);
/* As conn_send() with 'is_alone' false, and ends 'rkey', which the peer named in the call that this
 * replies to. */
void conn_send_inv(struct weir_conn *conn, const struct fabric_sge *sges, uint32_t nsges,
		   uint32_t bytes, struct conn_tx *tx, uint32_t rkey);
/* End a key of a window of our own. 'in_use': the peer may be using it just now. */
void conn_local_inv(struct weir_conn *conn, uint32_t rkey, bool in_use, struct conn_tx *tx);
/* Bind a window, ahead of all that is queued, as its key is known when this is posted. */
void conn_bind(struct weir_conn *conn, struct fabric_mw *mw, const struct fabric_sge *sge,
	       uint32_t access);
/* The same without the batch, by drivers that can: done when this returns true, and nobody is
 * called. False: nothing was done. A Send goes ahead of no work request that was queued before it.
 */
bool conn_send_slow(struct weir_conn *conn, const uint8_t *data,
		    uint32_t bytes); /* one that is not clear */

static inline bool conn_send_direct(struct weir_conn *conn, const uint8_t *data, uint32_t bytes)
{
	if (!conn_can_send_direct(conn))
		return conn_send_slow(conn, data, bytes);
	engine_srq_top_up(conn->srq);
	return conn->ops->send_direct(conn->qp, data, bytes);
}

static inline bool conn_write_direct(struct weir_conn *conn, struct fabric_sge sge, uint32_t rkey,
				     uint64_t raddr)
{
	return conn->ops->write_direct && conn_can_send(conn) &&
	       conn->ops->write_direct(conn->qp, sge, rkey, raddr);
}

static inline bool conn_read_direct(struct weir_conn *conn, struct fabric_sge sge, uint32_t rkey,
				    uint64_t raddr)
{
	return conn->ops->read_direct && conn_can_send(conn) &&
	       conn->ops->read_direct(conn->qp, sge, rkey, raddr);
}

/* Make a message that is gathered from more elements than the device takes one element, in *spill:
 * if it is NULL, a buffer by engine_reserve_get(); else one that has the first element at its start
 * already. The caller puts it back when the Send is done. 0; or -ENOBUFS: 'waiter' waits now. */
int conn_coalesce_sges(struct weir_conn *conn, struct fabric_sge *sges, uint32_t *nsges,
		       struct mem_buf **spill, struct engine_wait_queue *queue,
		       struct engine_waiter *waiter);
void conn_wait_tx(struct weir_conn *conn, struct conn_waiter *waiter, uint32_t nwrs);
void conn_wait_cancel(struct weir_conn *conn, struct conn_waiter *waiter);

/* conn.c. No other file stores the state of a connection. */
/* Marks a connection that is established and whose version is still being negotiated. */
void conn_negotiating(struct weir_conn *conn);
/* Marks a connection as open, and reports it to its role and to the application. */
void conn_opened(struct weir_conn *conn);
/* Marks a connection that has no queue pair and waits for its next attempt to connect. 'error' says
 * why the connection was lost, or why the latest attempt failed. */
void conn_waiting(struct weir_conn *conn, int error);
/* Marks a connection whose next attempt to connect begins. */
void conn_connecting(struct weir_conn *conn);
/* Marks a connection whose engine is being destroyed while the reaper handles the connection. */
void conn_closed(struct weir_conn *conn, int error);

/* The endpoint's functions, one file each. */
void conn_on_wc(struct engine_endpoint *ep, const struct fabric_wc *wc); /* receive.c */
/* What the device shows, of any kind. */
bool conn_deliver(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len);
void conn_on_cm(struct engine_endpoint *ep, const struct fabric_cm_event *event); /* cm_events.c */
bool conn_on_tick(struct engine_endpoint *ep, uint64_t now_ns);
/* conn.c: a message came before it is open. */
void conn_on_early(struct weir_conn *conn, struct mem_buf *buf, uint32_t len, uint32_t inv_rkey);
void conn_on_flush(struct engine_endpoint *ep); /* send_queue.c */
void conn_on_reap(struct engine_endpoint *ep);	/* close.c */
void conn_suspend(struct weir_conn *conn);	/* reconnect.c */
void conn_on_retry_tick(struct weir_conn *conn, uint64_t now_ns);
void conn_retire(struct weir_conn *conn, uint64_t position, int error); /* send_queue.c */

#endif
