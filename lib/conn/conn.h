/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONN_H
#define CONN_H

/*
 * A connection, for its requester or responder. Its files:
 *
 *   conn.c          the state of the connection, which no other file stores
 *   create.c        creates the object, with its buffers and queues
 *   connect.c       set-up, and what the private data of the peer say
 *   cm_events.c     events of the connection manager, and the tick
 *   receive.c       completions and deliveries
 *   send_queue.c    work requests, from the batch (batch.[ch]) to their completions
 *   conn_share.c    shared receives: the connection's share, and its end;
 *                   lib/proto/credit_share.c computes the grants
 *   reconnect.c     establishes a lost connection again
 *   close.c         the end of the connection; destroy.c frees the memory
 *   protocol.h      the operations of the protocol: version1.c, v2/ (conn_v2.h)
 *
 * Sending. Work requests are queued in a batch (batch.h), which is posted once per poll
 * (conn_on_flush). A work request may name a conn_tx. Its 'done' is called once: when the device
 * does not need the buffers any more, or when the connection ends. The entries of the send queue
 * are counted here, so that a post is never refused. If there are too few entries, the user waits
 * for more (conn_wait_tx).
 *
 * Receiving. The role gets each message in a buffer that it owns until conn_recv_done(). Before
 * anything is sent, returned buffers are posted again if there are more than recv_slack of them. A
 * connection has recv_slack more buffers than it needs for its credits, so that a grant never
 * exceeds the posted receives.
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
	CONN_CONNECTING,  /* connecting, or accepted and not yet established */
	CONN_NEGOTIATING, /* established; the version is negotiated: conn_protocol.negotiate() */
	CONN_OPEN,
	CONN_DRAINING, /* open; ends when no call is in flight */
	CONN_WAITING,  /* was open and has no queue pair; connects again after a pause:
			  reconnect.c */
	/* The reaper handles the connections in the following states. */
	CONN_LOST,   /* will connect again */
	CONN_CLOSED, /* ends */
};

struct conn_waiter {
	void (*on_room)(struct conn_waiter *waiter);
	TAILQ_ENTRY(conn_waiter) entry;
	uint32_t nwrs;
	bool is_waiting;
};

struct conn_role {
	/* Returns the table for a new connection. */
	const struct conn_protocol *(*protocol)(const struct weir_engine *engine);
	void (*on_open)(struct weir_conn *conn);
	/* Processes a message of 'len' bytes. The role owns 'buf' until conn_recv_done().
	 * 'inv_rkey' is the key that the peer invalidated with the message, or 0. */
	void (*on_message)(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
			   uint32_t inv_rkey);
	/* Processes a message that the device delivers (driver.h). This is conn_deliver(), or a
	 * faster function of the role. */
	bool (*deliver)(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len);
	void (*on_tick)(struct weir_conn *conn, uint64_t now_ns);
	/* Is called if receives are shared, no message arrived for a while, and no receive is held.
	 * May be NULL. */
	void (*on_idle)(struct weir_conn *conn);
	/* Stops accepting calls, because the connection drains. May be NULL. */
	void (*on_drain)(struct weir_conn *conn);
	/* Returns whether no call is in flight. */
	bool (*is_idle)(struct weir_conn *conn);
	/* Is called when a connection was lost that will be established again. Its queue pair was
	 * destroyed, and all buffers of messages belong to the connection again. on_open or on_lost
	 * follows. NULL: connections of this role are never established again. */
	void (*on_suspend)(struct weir_conn *conn, int error);
	/* Is called when the connection ends. Its queue pair was destroyed. Ends all calls or
	 * requests, returns all buffers, and frees the role. */
	void (*on_lost)(struct weir_conn *conn, int error);
};

/* If thousands of connections are used in turn, each cache line that a message needs is a cache
 * miss. Therefore a message needs only the first lines of the endpoint and the first lines after
 * it. */
struct weir_conn {
	struct engine_endpoint ep;

	/* the members that a message needs, in either direction */
	_Alignas(64) struct fabric_qp *qp;
	const struct fabric_ops *ops;
	const struct conn_role *role;
	void *role_data;
	struct engine_srq *srq; /* the shared receives; NULL: receives are not shared */
	const struct conn_protocol *protocol;
	enum conn_state state;
	uint32_t send_inline; /* inline threshold for messages that this side sends */
	uint32_t recv_inline; /* inline threshold for messages that this side receives */

	struct credit_share share; /* if receives are shared */
	uint32_t extra_bytes;	/* how much longer a transport header of the version in use is than
				   one of version 1; these bytes come first */
	bool active_since_tick; /* if receives are shared: a message arrived since the last check */
	bool got_message;	/* a requester: a reply arrived since the connection opened; a
				   responder: a call arrived since the latest tick */
	bool remote_invalidation;    /* both sides agreed that a reply may invalidate a key */
	bool via_protocol;	     /* the fast path is not for its messages: protocol.h */
	bool reconnects;	     /* it connects again when it is lost */
	struct engine_srq_list held; /* if receives are shared: the nrecv_held receives in use */

	/* the batch */
	uint32_t nsges; /* elements of the ep.blockers.nbatched work requests */
	uint32_t max_inline;
	uint32_t max_sge;
	uint64_t alone; /* bit i: Send i is INLINE, and nothing else uses the buffers of txs[i] */
	struct conn_batch *batch; /* valid if there are queued work requests */

	/* The send queue. Each work request has a position. Positions count up from 0. */
	uint64_t sq_posted;
	uint64_t sq_retired;
	uint64_t sq_signalled; /* the position after the latest signalled work request */
	uint32_t sq_size;
	bool sq_waits;	     /* at the latest tick, a signalled work request was not complete */
	struct conn_tx **sq; /* by position % sq_size; NULL: nobody waits for the work request */
	/* If sq_waits: the value of sq_retired, and the time of the first tick that found this
	 * value. */
	uint64_t sq_seen;
	uint64_t sq_seen_ns;
	TAILQ_HEAD(, conn_waiter) tx_waiters;

	/* receives, if they are not shared */
	uint32_t nrecv_free;
	uint32_t recv_slack; /* up to this many free receives may wait for more */
	uint32_t nrecvs;     /* buffers that this connection holds, posted or not */
	struct mem_buf **recv_free;
	struct mem_buf **recvs; /* all buffers, to return them at the end */

	/* receives, if they are shared */
	uint64_t share_tick_ns;	     /* when the share is checked again */
	struct engine_srq_list kept; /* conn_keep_message() */

	struct mem_buf *early; /* messages that arrived before ESTABLISHED: user[0] is the next one;
				* user[1] is the length, and above it the invalidated key */

	uint32_t vers;	      /* the version in use; at a responder, that of the latest call */
	uint32_t chunk_bytes; /* from this length on, the longest item is a Read chunk; 0: off */
	struct conn_v2 *v2;   /* if it may speak version 2; used only by the folders v2/ */
	struct cm_private theirs; /* the peer's private data of the set-up, or the defaults */
	uint32_t credits;
	uint32_t nreply_recvs; /* a requester's receives in addition to those for its credits:
				  engine_reply_recvs() */
	bool exposes;	       /* it makes calls, and the peer gets keys */
	bool may_invalidate;   /* this side supports remote invalidation, and announces that to the
				  peer (RFC 8797) */
	bool counted;	       /* in stats.connections_opened */
	uint64_t deadline_ns;  /* deadline of the set-up; 0: none */
	uint64_t drain_ns;     /* time of the first tick while it drained; 0: none yet */
	int error;	       /* why it ended, or why it was lost most recently */

	/* reconnect.c */
	bool was_open;	      /* it was open at least once: since then, calls can begin */
	bool is_up;	      /* the application got OPEN, and neither LOST nor CLOSED after that */
	bool drains;	      /* weir_conn_shutdown() was called */
	uint32_t attempts;    /* attempts to connect since it was last useful */
	uint64_t opened_ns;   /* time of the latest OPEN */
	uint64_t lost_ns;     /* time of the first loss since it was last useful */
	uint64_t retry_at_ns; /* WAITING: the end of the pause */

	weir_conn_event_fn on_event;
	void *arg;
	void *user;
	char peer[WEIR_PEER_ADDRESS_BYTES]; /* address of the peer, for logs and for connecting */
	bool has_identity;		    /* 'identity' is valid */
	bool is_ending;			    /* it is counted in the engine's nending */
	struct weir_peer identity;
	struct engine_peer *peer_account; /* never NULL */
	struct engine_peer_member member; /* in that account, until the connection ends */
};

_Static_assert(offsetof(struct weir_conn, qp) == FABRIC_RECEIVER_LINES_AT &&
		       offsetof(struct weir_conn, extra_bytes) <= FABRIC_RECEIVER_LINES_AT + 128,
	       "what a message takes is where drivers look for it");

/* Returns whether a Send can be carried out at once by the fast path: no work request is queued,
 * the requester has no probe call, the endpoint is active, and no_direct_send is false. The latter
 * is false if all of these conditions are met:
 *
 * - The connection is open or drains.
 * - It speaks only version 1.
 * - Receives are shared.
 * - The driver has send_direct.
 * - Remote invalidation is not in use. */
static inline bool conn_can_send_direct(const struct weir_conn *conn)
{
	return conn->ep.blockers.sending == 0;
}

/* Assigns another role to the connection. */
static inline void conn_set_role(struct weir_conn *conn, const struct conn_role *role)
{
	conn->role = role;
	conn->ep.receiver.deliver = role->deliver;
}

/* Creates the object. Takes receives for the credits and some more from the pool, unless receives
 * are shared. The caller then connects or accepts. The connection takes its own reference to the
 * peer's 'account'. */
int conn_create(struct weir_engine *engine, struct engine_peer *account, uint32_t credits,
		uint32_t nreply_recvs, const struct conn_role *role, void *role_data,
		struct weir_conn **conn);
/* Frees a connection that has no queue pair. The caller frees the role. */
void conn_free(struct weir_conn *conn);

/* These functions connect or accept a connection that was created. If they fail, the caller still
 * owns the connection. */
int conn_connect(struct weir_conn *conn, const char *addr);
int conn_accept(struct weir_conn *conn, struct fabric_conn_req *req,
		const struct fabric_cm_event *event);
/* Sets the deadline of the set-up to the profile's connect_timeout_ms from the present time on. */
void conn_set_deadline(struct weir_conn *conn);
/* Stores the identity of the peer and its private data, when the connection is established. */
void conn_set_peer(struct weir_conn *conn, const struct fabric_cm_event *event);

/* Marks a connection as lost, so that it sends nothing more. The reaper does the rest. The
 * connection is established again if it reconnects and was open. Otherwise it ends. Does nothing if
 * the connection is already lost or has ended. */
void conn_fail(struct weir_conn *conn, int error);
/* Ends a connection, even if it reconnects. */
void conn_end(struct weir_conn *conn, int error);

/* Posts all free receives. */
void conn_post_recvs(struct weir_conn *conn);

/* Posts free receives if there are many. It is called before a message is sent that grants credits.
 */
static inline void conn_top_up(struct weir_conn *conn)
{
	if (conn->srq)
		engine_srq_top_up(conn->srq);
	else if (conn->nrecv_free > conn->recv_slack)
		conn_post_recvs(conn);
}

/* Returns the receive of a message that was processed, if receives are shared. */
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

/* Returns the limit on held messages. A peer that keeps to its credits does not send more. */
static inline uint32_t conn_held_max(const struct weir_conn *conn)
{
	return conn->share.size + ENGINE_RECV_RESERVE;
}

/* While the device delivers a message, the message has no holder and is not counted. Most messages
 * are completely processed when the delivery ends. */
static inline void conn_deliver_begin(struct weir_conn *conn, struct mem_buf *buf)
{
	conn->active_since_tick = true;
	conn->srq->delivering = buf;
}

/* Adds a delivered message that is not processed yet to the held messages, as after a completion.
 * Returns false, which the delivery passes to the device. */
bool conn_hold_delivered(struct weir_conn *conn);

/* Ends a delivery. Returns the value that the delivery passes to the device. */
static inline bool conn_deliver_end(struct weir_conn *conn)
{
	return likely(!conn->srq->delivering) ? true : conn_hold_delivered(conn);
}

/* Returns whether a delivered message needs only the role. Otherwise conn_deliver() must process
 * it. */
static inline bool conn_can_deliver_direct(const struct weir_conn *conn)
{
	return likely(conn->ep.blockers.any == 0) ||
	       (conn_can_send_direct(conn) && conn->ep.blockers.nrecv_held < conn_held_max(conn));
}

static inline void conn_recv_done(struct weir_conn *conn, struct mem_buf *buf)
{
	if (conn->state >= CONN_LOST)
		return; /* the reaper returns all buffers together */
	if (conn->srq) {
		conn_put_shared(conn, buf);
		return;
	}
	conn->recv_free[conn->nrecv_free++] = buf;
	if (conn->nrecv_free > conn->recv_slack)
		engine_want_flush(&conn->ep);
}

/* Returns the next receive of a message that arrived in several receives, which form a chain. NULL:
 * none. */
static inline struct mem_buf *conn_chain_next(const struct mem_buf *buf)
{
	return (struct mem_buf *)(uintptr_t)buf->user[0];
}

/* receive.c: calls conn_recv_done() for each receive of a chain, which may be NULL. */
void conn_chain_done(struct weir_conn *conn, struct mem_buf *chain);

/* conn_share.c: shared receives */
/* Fails a connection whose peer has more messages outstanding than it was granted. */
void conn_share_exceeded(struct weir_conn *conn);
/* Returns the receives of all messages that the connection holds. */
void conn_share_reset(struct weir_conn *conn);
/* Removes the connection from the shared receives, and leaves those of kept messages in use. */
void conn_share_leave(struct weir_conn *conn);
/* Reports a connection as idle to its role if the peer has sent nothing for a while. It is called
 * at each tick. */
void conn_share_tick(struct weir_conn *conn, uint64_t now_ns);
/* conn_keep_message() prepares a message for the end of its connection, because the message is
 * still in use. Its holder returns it by conn_put_kept(), also if receives are not shared. */
void conn_keep_message(struct weir_conn *conn, struct mem_buf *msg);
void conn_put_kept(struct weir_engine *engine, struct engine_peer *account, struct mem_buf *msg);
/* Returns whether the peer may have another connection. This is false if too many of the peer's
 * messages are in use after the end of their connections. Each of them holds a receive and a
 * request, and may hold a send buffer. */
bool conn_share_may_join(const struct weir_engine *engine, const struct engine_peer *account);

static inline bool conn_can_send(const struct weir_conn *conn)
{
	return conn->state == CONN_OPEN || conn->state == CONN_DRAINING;
}

/* Returns whether calls may begin. While the connection is being established again, they wait. */
static inline bool conn_accepts_calls(const struct weir_conn *conn)
{
	return conn->state == CONN_OPEN ||
	       (conn->reconnects && conn->was_open && !conn->drains && conn->state != CONN_CLOSED);
}

/* Returns the number of free entries in the send queue. The batch counts as posted. */
static inline uint32_t conn_tx_room(const struct weir_conn *conn)
{
	return conn->sq_size - (uint32_t)(conn->sq_posted - conn->sq_retired) -
	       conn->ep.blockers.nbatched;
}

/* Returns whether there is room for 'nwrs' work requests with 'nsges' elements. Posts the batch if
 * that makes room. */
bool conn_tx_reserve(struct weir_conn *conn, uint32_t nwrs, uint32_t nsges);

/* Adds memory to a gather list of 'n' elements. Extends the last element if the memory follows it
 * directly. Returns the new number of elements. */
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

/* These functions queue a work request. conn_tx_reserve() must have returned that it fits. 'tx' may
 * be NULL. 'is_alone' means that 'tx' belongs to this Send only, and not also to Writes that are
 * queued before it. If the post copies the data, 'tx' is then done when the Send was posted. */
void conn_send(struct weir_conn *conn, const struct fabric_sge *sges, uint32_t nsges,
	       uint32_t bytes, struct conn_tx *tx, bool is_alone);
void conn_write(struct weir_conn *conn, const struct fabric_sge *sge, uint32_t rkey, uint64_t raddr,
		struct conn_tx *tx);
void conn_read(struct weir_conn *conn, const struct fabric_sge *sge, uint32_t rkey, uint64_t raddr,
	       struct conn_tx *tx);
/* Does the same as conn_send() with 'is_alone' false. The Send also invalidates 'rkey', which the
 * peer named in its call. */
void conn_send_inv(struct weir_conn *conn, const struct fabric_sge *sges, uint32_t nsges,
		   uint32_t bytes, struct conn_tx *tx, uint32_t rkey);
/* Invalidates the key of a window of this side. 'in_use': the peer may be using the key. */
void conn_local_inv(struct weir_conn *conn, uint32_t rkey, bool in_use, struct conn_tx *tx);
/* Binds a window. The work request is posted at once, before all queued ones, because the post
 * determines the key. */
void conn_bind(struct weir_conn *conn, struct fabric_mw *mw, const struct fabric_sge *sge,
	       uint32_t access);
/* These functions carry out a Send, Write or Read at once, without the batch, if the driver can.
 * They return true when it is complete; no conn_tx is called. If they return false, nothing was
 * done. A Send does not overtake queued work requests. conn_send_slow() checks the conditions one
 * by one. */
bool conn_send_slow(struct weir_conn *conn, const uint8_t *data, uint32_t bytes);

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

/* Copies a message that has more elements than the device gathers into the buffer *spill, so that
 * it has one element. If *spill is NULL, takes a buffer by engine_reserve_get(). Otherwise the
 * first element is already at the start of *spill. The caller returns the buffer when the Send is
 * done. Returns 0. Returns -ENOBUFS if there is no buffer, and 'waiter' waits for one. */
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

/* The functions of the endpoint. */
void conn_on_wc(struct engine_endpoint *ep, const struct fabric_wc *wc); /* receive.c */
/* Processes a message that the device delivers, whatever its kind. */
bool conn_deliver(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len);
void conn_on_cm(struct engine_endpoint *ep, const struct fabric_cm_event *event); /* cm_events.c */
bool conn_on_tick(struct engine_endpoint *ep, uint64_t now_ns);
/* conn.c: processes a message that arrived before the connection is open. */
void conn_on_early(struct weir_conn *conn, struct mem_buf *buf, uint32_t len, uint32_t inv_rkey);
void conn_on_flush(struct engine_endpoint *ep); /* send_queue.c */
void conn_on_reap(struct engine_endpoint *ep);	/* close.c */
void conn_suspend(struct weir_conn *conn);	/* reconnect.c */
void conn_on_retry_tick(struct weir_conn *conn, uint64_t now_ns);
void conn_retire(struct weir_conn *conn, uint64_t position, int error); /* send_queue.c */

#endif
