/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_CONNECTION_H
#define WEIR_CONNECTION_H

/*
 * Connections. The side that connects is the requester: calls (weir/call.h) go out on what
 * weir_connect() returns. The side that listens is the responder: requests come to the programs
 * that the listener was given (weir/request.h).
 *
 * Owner's thread only. A connection ends once, with one CLOSED event, after which it is gone; each
 * call on it has had its completion by then.
 *
 * A requester's connection may be one that is remade when it is lost
 * (weir_connect_options.reconnect). Its events are then
 *
 *     OPEN (LOST OPEN)* [LOST] CLOSED
 *
 * or CLOSED alone: the first attempt is the only one until it was open.
 *
 * From LOST to OPEN calls wait, and new ones may be begun; their time-outs go on. With OPEN, those
 * that were in flight are sent again with their XIDs. Those that were submitted in an earlier poll
 * go first. Their headers and chunks are made anew for the new connection. Remade is what was lost,
 * whatever the reason; not what was closed, shut down and done, or given up (the profile's
 * reconnect_give_up_ms).
 */

#include <weir/engine.h>
#include <weir/peer.h>

WEIR_BEGIN_DECLS

struct weir_conn;

enum weir_conn_event {
	WEIR_CONN_OPEN,	  /**< calls may be made */
	WEIR_CONN_CLOSED, /**< it never opened, was closed, or was lost; the object ends with this
			     event */
	WEIR_CONN_LOST,	  /**< and is being remade; only of connections that were asked to be */
};

/** 'error' is 0 with OPEN. With LOST, why: as with CLOSED, or -ETIMEDOUT when a call's time-out had
 * to take back memory that the responder could reach (RFC 8166 section 4.5.4). With CLOSED: 0 after
 * weir_conn_shutdown(), -ECONNABORTED when this side closed it, -ECONNREFUSED, -ETIMEDOUT, -ENOENT
 * or -EPROTONOSUPPORT (the profile wants version 2, and the peer does not speak it) when it never
 * opened, -ESHUTDOWN when the peer left in order (weir_conn_shutdown(), weir_conn_close() or
 * weir_engine_destroy() there; over RDMA also when its process died, of which the kernel tells no
 * more), -ECONNRESET when the peer died or its end broke, -EPROTO when the peer broke the rules. */
typedef void (*weir_conn_event_fn)(struct weir_conn *conn, enum weir_conn_event event, int error,
				   void *arg);

struct weir_connect_options {
	weir_conn_event_fn on_event; /**< may be NULL */
	void *arg;
	/** Calls that the responder may have at a time, and what is asked of it; as many again may
	 * be queued. 0: the profile's. */
	uint32_t credits;
	/** What becomes of the connection when it is lost (weir/connection.h). A call that is sent
	 * again may be carried out again, by a responder that keeps no replies or has forgotten
	 * them: ON is for procedures that allow for that, or responders that declare those that do
	 * not (weir_program.non_idempotent). */
	enum weir_reconnect reconnect;
};

/** Start to connect. The outcome is an event; gives up after the profile's connect_timeout_ms.
 * 'addr' is of the driver's form (shm: a name, or a path that starts with '/'). 0 and *conn, or
 * -EINVAL, -ENOMEM, -EBUSY (too many connections), -ECANCELED (the engine is being destroyed),
 * -ECHILD (after fork, see weir/engine.h), -EOPNOTSUPP (the exposure policy is 'window', and the
 * device has no memory windows), or the driver's error. */
WEIR_API int weir_connect(struct weir_engine *engine, const char *addr,
			  const struct weir_connect_options *options, struct weir_conn **conn);

/** End a connection. Calls complete with -ECONNABORTED and CLOSED follows, within the present or
 * next poll; over shm, within two seconds where the peer is writing to this side's memory just
 * then, and does not go on. */
WEIR_API void weir_conn_close(struct weir_conn *conn);

/** Act as if it was lost just now: to have calls sent again to a responder that does not answer,
 * since a connection is the only reason that version 1 knows to do so. One that is not remade is
 * closed. */
WEIR_API void weir_conn_reset(struct weir_conn *conn);

/** Orderly: take no new calls, close when none is in flight any more. Each call that was taken ends
 * as it would have. At a responder, calls that come after this are not taken; version 1 has no way
 * to say so: they end at their requester with the connection. */
WEIR_API void weir_conn_shutdown(struct weir_conn *conn);

/** Not so while it is remade or shut down. */
WEIR_API bool weir_conn_is_open(const struct weir_conn *conn);
WEIR_API struct weir_engine *weir_conn_engine(const struct weir_conn *conn);

/** The version of RPC-over-RDMA that it speaks, 1 or 2: from OPEN on, of a requester's connection;
 * of a responder's, that of the latest call. The profile's 'protocol' says which there may be. */
WEIR_API uint32_t weir_conn_version(const struct weir_conn *conn);

/** The inline thresholds in force (RFC 8166 section 3.3.2), in bytes, for what this side sends and
 * receives: the call and the reply inline threshold at a requester, the reverse at a responder.
 * 1024 both until it is open. */
WEIR_API uint32_t weir_conn_send_inline(const struct weir_conn *conn);
WEIR_API uint32_t weir_conn_recv_inline(const struct weir_conn *conn);

/** Who the other side is.
 *
 * 'peer' is the caller's and is filled in: an address and, over shm, the credentials that the
 * kernel names. Returns 0; or -ENOTCONN: this side connects, and the connection was not established
 * yet. A connection that is being remade names the peer that it had last. Thread: the owner's. */
WEIR_API int weir_conn_peer(const struct weir_conn *conn, struct weir_peer *peer);

/** The application's own pointer, NULL at first. */
WEIR_API void weir_conn_set_user(struct weir_conn *conn, void *user);
WEIR_API void *weir_conn_user(const struct weir_conn *conn);

WEIR_END_DECLS

#endif
