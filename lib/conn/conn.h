/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONN_H
#define CONN_H

/*
 * A connection and its queue pair, which the requester (lib/requester) or the responder
 * (lib/responder) uses. That user is the role of the connection (struct conn_role). The files of
 * this folder:
 *
 *   conn.c          the state of the connection, which no other file stores
 *   create.c        creates the object, with its buffers and queues
 *   connect.c       set-up, and what the private data of the peer say
 *   cm_events.c     events of the connection manager, and the tick
 *   receive.c       completions of the device, and messages that the device delivers
 *   send_queue.c    work requests, from the batch (batch.[ch]) to their completions
 *   conn_share.c    shared receives: the receives that the connection holds, and what becomes of
 *                   them at its end; lib/proto/credit_share.c computes the grants
 *   reconnect.c     establishes a lost connection again
 *   close.c         the end of the connection; destroy.c frees the memory
 *   conn_tap.h      the interface for lib/capture, which observes connections
 *   inspect.c       lists and describes the connections of an engine
 *   protocol.h      the operations that differ between versions of the protocol: version1.c has
 *                   those of version 1, and v2/ those of version 2 (conn_v2.h)
 *
 * Sending. Work requests are queued in a batch (batch.h), which is posted once per poll
 * (conn_on_flush). A work request can name a conn_tx. 'done' of the conn_tx is called once: when
 * the device does not need the buffers of the work request any more, or when the connection ends.
 * The free entries of the send queue are counted here, so that the device never refuses a post. If
 * there are too few free entries, the role waits for more (conn_wait_tx).
 *
 * Receiving. The role gets each message in a buffer that the role owns until conn_recv_done().
 * Before a message is sent, the returned buffers are posted again if there are more than recv_slack
 * of them. A connection has recv_slack more buffers than it needs for its credits. Therefore a
 * grant never exceeds the posted receives.
 */

#include <weir/connection.h>
#include <weir/inspect.h>

#include "batch.h"
#include "cm_private.h"
#include "compiler.h"
#include "conn_tap.h"
#include "engine.h"
#include "peer.h"
#include "protocol.h"
#include "shared_recv.h"

#define CONN_MSG_SGES 16u /* limit on the gather elements of a work request */
#define CONN_SQ_MIN   64u /* fewest entries of the send queue of a connection */

_Static_assert(CONN_BATCH <= 64, "weir_conn.alone has a bit for each");

enum conn_state {
	CONN_CONNECTING,  /* connecting, or accepted and not yet established */
	CONN_NEGOTIATING, /* established; the version is negotiated: conn_protocol.negotiate() */
	CONN_OPEN,
	CONN_DRAINING, /* open; the connection ends when no call is in flight */
	CONN_WAITING,  /* was open and has no queue pair; the connection is established again after
			  a pause: reconnect.c */
	/* The reaper (close.c) handles the connections in the following states. */
	CONN_LOST,   /* was open, and will be established again */
	CONN_CLOSED, /* ends, and is then freed */
};

/* A waiter for free entries of the send queue: conn_wait_tx(). */
struct conn_waiter {
	/* Is called once, when 'nwrs' work requests fit. The waiter then waits no more. */
	void (*on_room)(struct conn_waiter *waiter);
	TAILQ_ENTRY(conn_waiter) entry;
	uint32_t nwrs;
	bool is_waiting; /* the waiter is in the list tx_waiters of its connection */
};

/* The functions of the requester or of the responder that a connection calls. */
struct conn_role {
	enum weir_side side;
	/* Sets the members of 'info' that depend on the role: credits and calls. */
	void (*describe)(const struct weir_conn *conn, struct weir_conn_info *info);
	/* Returns the operations of the protocol for a new connection. */
	const struct conn_protocol *(*protocol)(const struct weir_engine *engine);
	/* Is called each time when the connection has opened. */
	void (*on_open)(struct weir_conn *conn);
	/* Processes a message of 'len' bytes. The role owns 'buf' until conn_recv_done().
	 * 'inv_rkey' is the key that the peer invalidated with the message, or 0. */
	void (*on_message)(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
			   uint32_t inv_rkey);
	/* Processes a message that the device delivers (driver.h), and returns what
	 * fabric_receiver.deliver returns. This is conn_deliver(), or a faster function of the
	 * role. */
	bool (*deliver)(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len);
	/* Does the same if the engine measures times. NULL: 'deliver' does not read the clock. */
	bool (*deliver_timed)(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len);
	/* Checks the deadlines of the role. Is called at a tick, from the first opening of the
	 * connection until it is lost or ends. */
	void (*on_tick)(struct weir_conn *conn, uint64_t now_ns);
	/* Returns the time at which on_tick has to be called next. The values are as in
	 * engine_endpoint.next_tick. */
	uint64_t (*next_tick)(struct weir_conn *conn);
	/* Is called if receives are shared, no message has arrived for about a second, and the
	 * connection holds no receive. NULL: the role does not need this event. */
	void (*on_idle)(struct weir_conn *conn);
	/* Stops accepting calls, because the connection drains. NULL: nothing has to be done. */
	void (*on_drain)(struct weir_conn *conn);
	/* Returns whether no call is in flight. */
	bool (*is_idle)(struct weir_conn *conn);
	/* Is called when a connection was lost and will be established again. Its queue pair was
	 * destroyed, and all buffers of messages belong to the connection again. on_open or on_lost
	 * is called later. NULL: connections of this role are never established again. */
	void (*on_suspend)(struct weir_conn *conn, int error);
	/* Is called when the connection ends. Its queue pair was destroyed. Ends all calls or
	 * requests, returns all buffers, and frees the role. */
	void (*on_lost)(struct weir_conn *conn, int error);
};

/* If thousands of connections are used in turn, each cache line that a message needs is a cache
 * miss. Therefore the members that a message needs are in few lines: the first lines of the
 * endpoint 'ep', and the first lines after 'ep'. */
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

	struct credit_share share; /* if receives are shared: the part of them that the peer may
				      take */
	uint32_t extra_bytes;	/* bytes by which a transport header of the version in use is longer
				   than one of version 1; they are before the fields of version 1 */
	bool active_since_tick; /* if receives are shared: a message arrived since the latest check
				   by conn_share_tick() */
	bool got_message;	/* a requester: a reply arrived since the connection opened; a
				   responder: a call arrived since the latest tick */
	bool remote_invalidation; /* both sides agreed that a reply may invalidate a key */
	bool via_protocol;	  /* its messages must not use the fast path: protocol.h */
	bool reconnects;	  /* the connection is established again when it is lost */
	/* Lengths of the messages since the creation, with their transport headers. They are in a
	 * line to which each message writes. */
	uint64_t bytes_sent;	 /* messages that were sent or queued */
	uint64_t bytes_received; /* messages that arrived */

	/* lengths of the chunks since the creation: struct weir_conn_info */
	uint64_t rdma_bytes_sent;
	uint64_t rdma_bytes_received;
	struct engine_srq_list held; /* if receives are shared: the ep.blockers.nrecv_held receives
					whose messages the connection has not returned */

	/* the batch */
	uint32_t nsges; /* gather elements of the ep.blockers.nbatched work requests in the batch */
	uint32_t max_inline; /* maximum length in bytes of a Send that can be FABRIC_INLINE */
	uint32_t max_sge;    /* maximum number of gather elements of a work request */
	uint64_t alone; /* bit i: work request i of the batch is a FABRIC_INLINE Send, and nothing
			   else uses the buffers of txs[i] */
	struct conn_batch *batch; /* valid if there are queued work requests */

	/* The send queue. Each work request has a position. Positions count up from 0. */
	uint64_t sq_posted;    /* the position of the next work request that is posted */
	uint64_t sq_retired;   /* work requests at lower positions are complete */
	uint64_t sq_signalled; /* the position after the latest signalled work request */
	uint32_t sq_size;      /* entries of the queue */
	bool sq_waits;	       /* at the latest tick, a signalled work request was not complete */
	struct conn_tx **sq;   /* by position % sq_size; NULL: nobody waits for the work request */
	/* If sq_waits: the value of sq_retired, and the time of the first tick that found this
	 * value. */
	uint64_t sq_seen;
	uint64_t sq_seen_ns;
	TAILQ_HEAD(, conn_waiter) tx_waiters; /* in the order in which they began to wait */

	/* receives, if they are not shared */
	uint32_t nrecv_free; /* free receives, which are not posted: entries of recv_free */
	uint32_t recv_slack; /* up to this many free receives are not posted until there are more */
	uint32_t nrecvs;     /* buffers that this connection owns, posted or not */
	struct mem_buf **recv_free;
	struct mem_buf **recvs; /* all nrecvs buffers, to return them at the end */

	/* receives, if they are shared */
	uint64_t share_tick_ns;	     /* time of the next check of the share, by a responder's
					conn_share_tick() or a requester's requester_share_tick() */
	struct engine_srq_list kept; /* receives of the messages for which conn_keep_message() was
					called */

	struct mem_buf *early; /* list of the messages that arrived before the event ESTABLISHED:
				* user[0] of each is the next message; the low half of user[1] is
				* the length, and the high half is the key that the peer
				* invalidated */

	uint32_t vers;	      /* the version in use; at a responder, that of the latest call */
	uint32_t chunk_bytes; /* if the longest item of a call has at least this length, it goes by
				 a Read chunk, even if the call would fit inline; 0: off */
	struct conn_v2 *v2; /* state of a connection that may speak version 2, otherwise NULL; used
			       only by the folders v2/ */
	struct cm_private theirs; /* the peer's private data of the set-up, or the defaults */
	uint32_t credits;	  /* maximum number of credits that a requester requests, or that a
				     responder grants */
	uint32_t nreply_recvs;	  /* a requester's receives in addition to those for its credits:
				     engine_reply_recvs() */
	bool exposes;		  /* a requester: the peer gets keys of this side's memory */
	bool may_invalidate; /* this side supports remote invalidation, and announces that to the
				peer (RFC 8797) */
	bool counted; /* stats.connections_opened counts it, and stats.connections_lost does not */
	uint64_t deadline_ns; /* deadline of the set-up; 0: none */
	uint64_t drain_ns;    /* time of the first tick after weir_conn_shutdown(); 0: none yet */
	int error; /* negative errno: why the connection ended, or why it was lost most recently */

	/* reconnect.c, which also says when a connection was useful */
	bool was_open;	      /* it was open at least once: since then, calls can begin */
	bool is_up;	      /* the application got OPEN, and neither LOST nor CLOSED after that */
	bool drains;	      /* weir_conn_shutdown() was called */
	uint32_t attempts;    /* attempts to connect since the connection was last useful */
	uint64_t opened_ns;   /* time when the connection opened most recently */
	uint64_t lost_ns;     /* time of the first loss since the connection was last useful */
	uint64_t retry_at_ns; /* WAITING: the end of the pause */

	/* of the application */
	weir_conn_event_fn on_event;
	void *arg; /* passed to on_event */
	void *user;
	char peer[WEIR_PEER_ADDRESS_BYTES]; /* address of the peer, for logs and for connecting */
	bool has_identity;		    /* 'identity' is valid */
	bool is_ending;			    /* the engine's nending counts the connection */
	struct weir_peer identity;
	struct engine_peer *peer_account; /* never NULL */
	struct engine_peer_member member; /* in peer_account, until the connection ends */
	uint64_t id;			  /* no other connection of this process ever has it */
	struct conn_tap *tap;		  /* conn_tap.h; NULL: the connection is not observed */
};

_Static_assert(offsetof(struct weir_conn, qp) == FABRIC_RECEIVER_LINES_AT &&
		       offsetof(struct weir_conn, rdma_bytes_sent) <=
			       FABRIC_RECEIVER_LINES_AT + 128,
	       "what a message takes is where drivers look for it");

/* Returns whether the fast path can carry out a Send at once. All of these conditions must be met:
 *
 * - No work request is queued.
 * - The requester has no probe call in flight.
 * - The endpoint is active.
 * - ep.blockers.no_direct_send is false.
 *
 * conn_opened() sets no_direct_send to false if all of these conditions are met:
 *
 * - The connection speaks only version 1.
 * - Receives are shared.
 * - The driver has send_direct.
 * - Remote invalidation is not in use.
 * - The engine does not measure stages, because only the general path has time stamps.
 *
 * no_direct_send is true again when the connection is lost or ends. */
static inline bool conn_can_send_direct(const struct weir_conn *conn)
{
	return (conn->ep.blockers.sending & ~ENGINE_TIMED) == 0;
}

/* Sets the function for messages that the device delivers: that of the role, unless the connection
 * is observed. */
static inline void conn_set_deliver(struct weir_conn *conn)
{
	const struct conn_role *role = conn->role;

	if (conn->tap)
		conn->ep.receiver.deliver = atomic_load(&conn_tap_ops)->deliver;
	else if (conn->ep.blockers.is_timed && role->deliver_timed)
		conn->ep.receiver.deliver = role->deliver_timed;
	else
		conn->ep.receiver.deliver = role->deliver;
}

/* Assigns another role to the connection. */
static inline void conn_set_role(struct weir_conn *conn, const struct conn_role *role)
{
	conn->role = role;
	conn_set_deliver(conn);
}

/* Returns the connection of an engine that was created after 'after', or the first one if 'after'
 * is NULL. Returns NULL if there is none. */
struct weir_conn *conn_of_engine(const struct weir_engine *engine, const struct weir_conn *after);

/* Returns the connection of an engine that has an ID, or NULL. */
struct weir_conn *conn_with_id(const struct weir_engine *engine, uint64_t id);

/* Adds the bytes of a connection to a sum. */
static inline void conn_add_bytes(const struct weir_conn *conn, struct engine_bytes *bytes)
{
	bytes->messages_sent += conn->bytes_sent;
	bytes->messages_received += conn->bytes_received;
	bytes->rdma_sent += conn->rdma_bytes_sent;
	bytes->rdma_received += conn->rdma_bytes_received;
}

/* Describes a connection (weir/inspect.h). */
void conn_describe(struct weir_conn *conn, struct weir_conn_info *info);

/* Returns how many entries the send queue of a connection has, unless the device has fewer. A
 * request can need several RDMA Reads and Writes. If the send queue is full, the request waits. */
static inline uint32_t conn_sq_wanted(uint32_t credits)
{
	return credits * 4 > CONN_SQ_MIN ? credits * 4 : CONN_SQ_MIN;
}

/* Creates the object of a connection. Unless receives are shared, takes receives from the pool: for
 * the credits, engine_recvs() of them, and 'nreply_recvs' more. The connection takes its own
 * reference to the peer's 'account' (peer.h). The caller then calls conn_connect() or
 * conn_accept(). Returns 0 and sets *conn, or returns one of these errors:
 *
 * - -EBUSY: the engine has as many connections as the profile allows.
 * - -EOPNOTSUPP: the send queue of the device is too short.
 * - -ENOMEM: there is no memory.
 * - -ENOBUFS: there are not enough receives or other buffers. */
int conn_create(struct weir_engine *engine, struct engine_peer *account, uint32_t credits,
		uint32_t nreply_recvs, const struct conn_role *role, void *role_data,
		struct weir_conn **conn);
/* Frees a connection that has no queue pair. The caller frees the role. */
void conn_free(struct weir_conn *conn);

/* These functions connect or accept a connection that was created. They return 0 or a negative
 * errno. After an error, the caller still owns the connection. */
int conn_connect(struct weir_conn *conn, const char *addr);
int conn_accept(struct weir_conn *conn, struct fabric_conn_req *req,
		const struct fabric_cm_event *event);
/* Sets the deadline of the set-up to connect_timeout_ms of the profile after the current time. */
void conn_set_deadline(struct weir_conn *conn);
/* Stores the identity and the private data of the peer. Is called when the connection is
 * established. */
void conn_set_peer(struct weir_conn *conn, const struct fabric_cm_event *event);

/* Marks a connection as lost, so that it sends nothing more. The reaper does the rest (close.c). If
 * the connection has 'reconnects' and was open, it is established again. Otherwise it ends. Does
 * nothing if the connection is already lost or has ended. */
void conn_fail(struct weir_conn *conn, int error);
/* Marks a connection that ends, even if it has 'reconnects'. The reaper does the rest. Does nothing
 * if the connection has already ended. */
void conn_end(struct weir_conn *conn, int error);

/* Posts all free receives, if receives are not shared. Fails the connection if the driver refuses
 * to post them. */
void conn_post_recvs(struct weir_conn *conn);

/* Posts the free receives if there are more than the slack. Is called before each message is sent,
 * because a message can grant credits. */
static inline void conn_top_up(struct weir_conn *conn)
{
	if (conn->srq)
		engine_srq_top_up(conn->srq);
	else if (conn->nrecv_free > conn->recv_slack)
		conn_post_recvs(conn);
}

/* Gives back the receive of a message that was processed. Receives must be shared. */
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

/* Returns the maximum number of messages that the connection may hold, if receives are shared. A
 * peer that keeps to its credits does not send more. */
static inline uint32_t conn_held_max(const struct weir_conn *conn)
{
	return conn->share.size + ENGINE_RECV_RESERVE;
}

/* Begins the delivery of a message of 'len' bytes in 'buf', and marks the buffer. Until the
 * delivery ends, the message is not in the list of held messages and nrecv_held does not count it,
 * because most messages are completely processed when the delivery ends. */
static inline void conn_deliver_begin(struct weir_conn *conn, struct mem_buf *buf, uint32_t len)
{
	conn->active_since_tick = true;
	conn->bytes_received += len;
	conn->srq->delivering = buf;
}

/* Ends a delivery whose message is not processed yet: adds the message to the held messages. Always
 * returns false, which says to the device that it does not have the receive back. */
bool conn_hold_delivered(struct weir_conn *conn);

/* Ends a delivery. Returns the value that fabric_receiver.deliver must return: true if the message
 * was processed, and the device has the receive back. */
static inline bool conn_deliver_end(struct weir_conn *conn)
{
	return likely(!conn->srq->delivering) ? true : conn_hold_delivered(conn);
}

/* Returns whether the role alone can process a delivered message. If not, conn_deliver() must
 * process the message, because the connection has something else to do first. */
static inline bool conn_can_deliver_direct(const struct weir_conn *conn)
{
	return likely(conn->ep.blockers.any == 0) ||
	       (conn_can_send_direct(conn) && conn->ep.blockers.nrecv_held < conn_held_max(conn));
}

/* Gives back the receive of a message that the role has processed. */
static inline void conn_recv_done(struct weir_conn *conn, struct mem_buf *buf)
{
	if (conn->state >= CONN_LOST)
		return; /* the reaper gives back all buffers together */
	if (conn->srq) {
		conn_put_shared(conn, buf);
		return;
	}
	conn->recv_free[conn->nrecv_free++] = buf;
	if (conn->nrecv_free > conn->recv_slack)
		engine_want_flush(&conn->ep);
}

/* Returns the receive that follows 'buf' in a chain: the receives of one message that arrived in
 * several transmissions. Returns NULL if 'buf' is the last one. */
static inline struct mem_buf *conn_chain_next(const struct mem_buf *buf)
{
	return (struct mem_buf *)(uintptr_t)buf->user[0];
}

/* receive.c: calls conn_recv_done() for each receive of a chain. NULL is an empty chain. */
void conn_chain_done(struct weir_conn *conn, struct mem_buf *chain);

/* conn_share.c: shared receives */
/* Fails a connection whose peer has more messages outstanding than it was granted. */
void conn_share_exceeded(struct weir_conn *conn);
/* Gives back the receives of all messages that the connection holds. */
void conn_share_reset(struct weir_conn *conn);
/* Removes the connection from the shared receives. Gives back the receives that the connection
 * holds, except those of kept messages, which stay in use (conn_keep_message()). */
void conn_share_leave(struct weir_conn *conn);
/* Calls on_idle() of the role if the peer has sent nothing for about a second. Is called at each
 * tick. */
void conn_share_tick(struct weir_conn *conn, uint64_t now_ns);
/* conn_keep_message() prepares a message for the end of its connection, because the message is
 * still in use: the receive of the message then outlives the connection. The holder of the message
 * gives the receive back by conn_put_kept(). Both functions also work if receives are not shared.
 */
void conn_keep_message(struct weir_conn *conn, struct mem_buf *msg);
void conn_put_kept(struct weir_engine *engine, struct engine_peer *account, struct mem_buf *msg);
/* Returns whether the peer may have another connection. This is false if too many of the peer's
 * messages are in use after the end of their connections. Each such message holds a receive and a
 * request, and can hold a send buffer. */
bool conn_share_may_join(const struct weir_engine *engine, const struct engine_peer *account);

/* Returns whether the role can send messages: the connection is open, or it drains. */
static inline bool conn_can_send(const struct weir_conn *conn)
{
	return conn->state == CONN_OPEN || conn->state == CONN_DRAINING;
}

/* Returns whether the application may begin calls. While the connection is being established again,
 * calls can begin, and wait in the queue. */
static inline bool conn_accepts_calls(const struct weir_conn *conn)
{
	return conn->state == CONN_OPEN ||
	       (conn->reconnects && conn->was_open && !conn->drains && conn->state != CONN_CLOSED);
}

/* Returns the number of free entries in the send queue. The work requests in the batch count as
 * posted. */
static inline uint32_t conn_tx_room(const struct weir_conn *conn)
{
	return conn->sq_size - (uint32_t)(conn->sq_posted - conn->sq_retired) -
	       conn->ep.blockers.nbatched;
}

/* Returns whether the connection can send, and both the batch and the send queue can take 'nwrs'
 * more work requests, with 'nsges' gather elements in total. Posts the batch first if the batch is
 * too full. Posting can call 'done' of a conn_tx and callbacks of the application, which can queue
 * work requests and end calls. */
bool conn_tx_reserve(struct weir_conn *conn, uint32_t nwrs, uint32_t nsges);

/* Adds memory to a gather list of 'n' elements. If the memory directly follows that of the last
 * element, extends the last element. Returns the new number of elements. */
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

/* These functions queue a work request. conn_tx_reserve() must have returned true for the work
 * request. 'tx' is NULL if nobody waits for the work request. 'bytes' is the length of the message.
 * 'is_alone' means that 'tx' belongs to this Send only, and not also to Writes that are queued
 * before this Send. If 'is_alone' is true and the post copies the data, 'done' of 'tx' is called as
 * soon as the Send was posted. */
void conn_send(struct weir_conn *conn, const struct fabric_sge *sges, uint32_t nsges,
	       uint32_t bytes, struct conn_tx *tx, bool is_alone);
void conn_write(struct weir_conn *conn, const struct fabric_sge *sge, uint32_t rkey, uint64_t raddr,
		struct conn_tx *tx);
void conn_read(struct weir_conn *conn, const struct fabric_sge *sge, uint32_t rkey, uint64_t raddr,
	       struct conn_tx *tx);
/* Queues a Send like conn_send() with 'is_alone' false. The Send also invalidates 'rkey', which the
 * peer named in its call. */
void conn_send_inv(struct weir_conn *conn, const struct fabric_sge *sges, uint32_t nsges,
		   uint32_t bytes, struct conn_tx *tx, uint32_t rkey);
/* Queues a work request that invalidates 'rkey', the key of a window of this side. 'in_use' says
 * that the peer might be using the key (FABRIC_IN_USE). */
void conn_local_inv(struct weir_conn *conn, uint32_t rkey, bool in_use, struct conn_tx *tx);
/* Binds a window to the memory *sge. The work request is posted at once, before all queued ones,
 * because the post determines the key of the window. Fails the connection if the driver refuses the
 * work request. */
void conn_bind(struct weir_conn *conn, struct fabric_mw *mw, const struct fabric_sge *sge,
	       uint32_t access);
/* These functions carry out a Send, Write or Read at once, without the batch, if the driver can.
 * They return true if the operation is complete. They then call no conn_tx. If they return false,
 * nothing was done. A Send does not overtake queued work requests. conn_send_slow() is the part of
 * conn_send_direct() that checks the conditions one by one. */
bool conn_send_slow(struct weir_conn *conn, const uint8_t *data, uint32_t bytes);

static inline bool conn_send_direct(struct weir_conn *conn, const uint8_t *data, uint32_t bytes)
{
	if (!conn_can_send_direct(conn))
		return conn_send_slow(conn, data, bytes);
	engine_srq_top_up(conn->srq);
	if (!conn->ops->send_direct(conn->qp, data, bytes))
		return false;
	conn->bytes_sent += bytes;
	return true;
}

static inline bool conn_write_direct(struct weir_conn *conn, struct fabric_sge sge, uint32_t rkey,
				     uint64_t raddr)
{
	if (!conn->ops->write_direct || !conn_can_send(conn) ||
	    !conn->ops->write_direct(conn->qp, sge, rkey, raddr))
		return false;
	conn->rdma_bytes_sent += sge.len;
	return true;
}

static inline bool conn_read_direct(struct weir_conn *conn, struct fabric_sge sge, uint32_t rkey,
				    uint64_t raddr)
{
	if (!conn->ops->read_direct || !conn_can_send(conn) ||
	    !conn->ops->read_direct(conn->qp, sge, rkey, raddr))
		return false;
	conn->rdma_bytes_received += sge.len;
	return true;
}

/* Copies a message that has more gather elements than the device allows into one buffer, so that
 * the message has one element. If *spill is NULL, takes the buffer by engine_reserve_get() and
 * stores it in *spill. Otherwise *spill is the buffer, and has the first element at its start
 * already. The caller gives the buffer back when the Send is done. Returns 0. If there is no
 * buffer, returns -ENOBUFS, and 'waiter' (wait_queue.h) waits for one in 'queue'. */
int conn_coalesce_sges(struct weir_conn *conn, struct fabric_sge *sges, uint32_t *nsges,
		       struct mem_buf **spill, struct engine_wait_queue *queue,
		       struct engine_waiter *waiter);
/* conn_wait_tx() makes 'waiter' wait until 'nwrs' work requests fit. It does nothing if 'waiter'
 * waits already. conn_wait_cancel() ends the wait. It does nothing if 'waiter' does not wait. */
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

/* The functions of the endpoint (engine.h). */
void conn_on_wc(struct engine_endpoint *ep, const struct fabric_wc *wc); /* receive.c */
/* Processes any message that the device delivers. Returns what fabric_receiver.deliver returns. */
bool conn_deliver(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len);
void conn_on_cm(struct engine_endpoint *ep, const struct fabric_cm_event *event); /* cm_events.c */
bool conn_on_tick(struct engine_endpoint *ep, uint64_t now_ns);
uint64_t conn_next_tick(struct engine_endpoint *ep);
/* conn.c: processes a message that arrived before the connection is open. While the version is
 * negotiated, passes the message to the protocol. Otherwise keeps it until the connection opens. */
void conn_on_early(struct weir_conn *conn, struct mem_buf *buf, uint32_t len, uint32_t inv_rkey);
void conn_on_flush(struct engine_endpoint *ep); /* send_queue.c */
void conn_on_reap(struct engine_endpoint *ep);	/* close.c */
/* reconnect.c: conn_suspend() prepares a lost connection, whose queue pair was destroyed, for its
 * next attempt to connect. conn_on_retry_tick() makes the attempt when the pause is over. */
void conn_suspend(struct weir_conn *conn);
void conn_on_retry_tick(struct weir_conn *conn, uint64_t now_ns);
/* send_queue.c: calls 'done', with 'error', of all posted work requests up to 'position', which are
 * complete. Then calls the waiters (conn_wait_tx()) for whose work requests there is room. */
void conn_retire(struct weir_conn *conn, uint64_t position, int error);

#endif
