/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_CONNECTION_H
#define WEIR_CONNECTION_H

/*
 * Connections. The side that connects is the requester: it makes calls (weir/call.h) on the
 * connection that weir_connect() returns. The side that listens is the responder: requests go to
 * the programs of its listener (weir/request.h).
 *
 * A connection ends once, with one CLOSED event. 'done' of all of its calls was called before that
 * event. When the callback of the event returns, the connection does not exist any more.
 *
 * A requester can ask weir to re-establish a lost connection (weir_connect_options.reconnect). The
 * events of such a connection are
 *
 *     OPEN (LOST OPEN)* [LOST] CLOSED
 *
 * or CLOSED alone: weir does not repeat an attempt to connect that never succeeded.
 *
 * Between LOST and OPEN, calls wait, and new calls can begin. The time-outs of all of these calls
 * continue. After OPEN, weir retransmits the calls that were in flight, with their XIDs, in the
 * order of the polls in which they were submitted. It writes their headers and chunks anew for the
 * new connection.
 *
 * weir re-establishes a connection after any loss, except in these cases:
 * - The application closed it.
 * - The application shut it down, and no call is left.
 * - All attempts failed for the time that the profile's reconnect_give_up_ms allows.
 *
 * All functions of this header: the thread that owns the engine.
 */

#include <weir/engine.h>
#include <weir/peer.h>

WEIR_BEGIN_DECLS

struct weir_conn;

/** The events of a connection. */
enum weir_conn_event {
	WEIR_CONN_OPEN, /**< calls can be made */
	/**
	 * The connection could not be established, was closed, or was lost and will not be
	 * re-established. It does not exist any more when the callback returns.
	 */
	WEIR_CONN_CLOSED,
	/** The connection was lost, and weir re-establishes it. */
	WEIR_CONN_LOST,
};

/**
 * Reports an event of a connection.
 *
 * @param conn the connection
 * @param event what happened
 * @param error the reason:
 * - OPEN: 0.
 * - LOST: a reason of CLOSED after the connection was open. Or -ETIMEDOUT, if a call timed out and
 *   weir could not otherwise end the responder's access to the memory of the call (RFC 8166 section
 *   4.5.4).
 * - CLOSED after an attempt to connect: -ECONNREFUSED, -ETIMEDOUT or -ENOENT; -EPROTONOSUPPORT if
 *   the profile demands version 2 and the peer does not support it.
 * - CLOSED after the connection was open:
 *   - 0: weir_conn_shutdown() finished.
 *   - -ECONNABORTED: this side closed it.
 *   - -ESHUTDOWN: the peer ended the connection in order, by weir_conn_shutdown(),
 *     weir_conn_close() or weir_engine_destroy(). Over RDMA, the kernel reports the death of the
 *     peer's process in the same way.
 *   - -ECONNRESET: the peer's process died, or its device failed.
 *   - -EPROTO: the peer violated the protocol.
 * @param arg the 'arg' of the options of weir_connect() or weir_listen()
 */
typedef void (*weir_conn_event_fn)(struct weir_conn *conn, enum weir_conn_event event, int error,
				   void *arg);

/** Options of weir_connect(). All members except struct_bytes may be zero. */
struct weir_connect_options {
	size_t struct_bytes; /**< size of the structure; set by the application; see weir/common.h
			      */
	weir_conn_event_fn on_event; /**< may be NULL */
	void *arg;		     /**< passed to on_event */
	/**
	 * Maximum number of calls that can be in flight at a time, which is the number of credits
	 * that weir requests. The same number of further calls can wait for a credit. 0: the
	 * profile's credits, which is also the maximum.
	 */
	uint32_t credits;
	/**
	 * ON: weir re-establishes a lost connection and retransmits its calls. A responder without
	 * a duplicate request cache then executes some calls twice. Use ON only for procedures that
	 * allow this, or with a responder that declares its non-idempotent procedures
	 * (weir_program.non_idempotent).
	 */
	enum weir_reconnect reconnect;
};

/**
 * Starts to connect to a responder.
 *
 * The event OPEN or CLOSED reports the outcome. An attempt fails if it takes longer than the
 * profile's connect_timeout_ms.
 *
 * @param engine the engine that will own the connection
 * @param addr address in the driver's form: for shm a name of at most 101 bytes in the abstract
 * namespace of sockets, or a path that starts with '/'; for verbs and mlx5 an address and
 * port. At most 107 bytes.
 * @param options may be NULL; copied
 * @param[out] conn the connection; set if the function returns 0
 * @retval 0 the attempt has started
 * @retval -EINVAL addr is NULL or too long, options->credits exceeds the profile's credits, or
 * struct_bytes of the options is too small
 * @retval -E2BIG the options have members that are not 0 and that this version of weir does not
 * know
 * @retval -ENOMEM memory is exhausted
 * @retval -EBUSY the engine already has the profile's maximum number of connections
 * @retval -ECANCELED the engine is being destroyed
 * @retval -ECHILD the process is a child of fork(2); see weir/engine.h
 * @retval -EOPNOTSUPP the exposure policy is 'window', and the device has no memory windows
 * @retval -ECONNREFUSED over shm: nobody listens at 'addr'
 * @retval other an error of the driver
 * @owner weir, until the CLOSED event
 */
WEIR_API int weir_connect(struct weir_engine *engine, const char *addr,
			  const struct weir_connect_options *options, struct weir_conn **conn);

/**
 * Closes a connection.
 *
 * Its calls end with -ECONNABORTED. The CLOSED event follows within the present or the next poll.
 * Over shm the event is delayed while the peer writes to this side's memory, by at most two
 * seconds.
 *
 * @param conn the connection; nothing happens if it is already closing
 */
WEIR_API void weir_conn_close(struct weir_conn *conn);

/**
 * Treats a connection as lost.
 *
 * If weir_connect_options.reconnect or the profile says so, weir re-establishes the connection and
 * retransmits the calls in flight. Otherwise the connection closes. Use the function when a
 * responder stops answering, because in version 1 a call must not be retransmitted on the same
 * connection.
 *
 * @param conn the connection; nothing happens if it is already being re-established
 */
WEIR_API void weir_conn_reset(struct weir_conn *conn);

/**
 * Shuts a connection down in order: refuses new calls and closes when no call is in flight.
 *
 * Each call that was accepted before ends as it would have ended without this function. At a
 * responder, weir discards calls that arrive after this function. Version 1 has no message for
 * this: at the requester, these calls end with the connection.
 *
 * @param conn the connection
 */
WEIR_API void weir_conn_shutdown(struct weir_conn *conn);

/**
 * Returns whether a connection is open. A connection that is being re-established or shut down is
 * not open.
 *
 * @param conn the connection
 * @return true if calls can be sent
 */
WEIR_API bool weir_conn_is_open(const struct weir_conn *conn);

/**
 * Returns the engine that owns a connection. Thread: any.
 *
 * @param conn the connection
 * @return the engine; never NULL
 */
WEIR_API struct weir_engine *weir_conn_engine(const struct weir_conn *conn);

/**
 * Returns the version of RPC-over-RDMA that a connection uses. The profile's 'protocol' limits it.
 *
 * @param conn the connection
 * @return 1 or 2. At a requester, the version does not change after the OPEN event, until the
 * connection is lost. At a responder, the result is the version of the latest call.
 */
WEIR_API uint32_t weir_conn_version(const struct weir_conn *conn);

/**
 * Returns the inline threshold for messages that this side sends: the call inline threshold at a
 * requester, the reply inline threshold at a responder.
 *
 * Each side has a limit for the messages that it sends, and one for those that it receives. The
 * profile's inline_bytes sets both. The threshold is the smaller one of this side's limit for
 * sending and of the peer's limit for receiving. In version 1, the limits of a peer without private
 * data (RFC 8797) are 1024 bytes. In version 2, the limits of a side that uses weir are at least
 * 4096 bytes.
 *
 * @param conn the connection
 * @return the threshold in bytes; 1024 until the connection is open
 * @rfc 8166 section 3.3.2
 */
WEIR_API uint32_t weir_conn_send_inline(const struct weir_conn *conn);

/**
 * Returns the inline threshold for messages that this side receives: the reply inline threshold at
 * a requester, the call inline threshold at a responder.
 *
 * The threshold is the smaller one of the peer's limit for sending and of this side's limit for
 * receiving; see weir_conn_send_inline().
 *
 * @param conn the connection
 * @return the threshold in bytes; 1024 until the connection is open
 * @rfc 8166 section 3.3.2
 */
WEIR_API uint32_t weir_conn_recv_inline(const struct weir_conn *conn);

/**
 * Describes the peer: its address and, over shm, the credentials that the kernel reports.
 *
 * While a connection is being re-established, the function describes the peer of the lost
 * connection.
 *
 * @param conn the connection
 * @param[out] peer set its struct_bytes first; see weir/common.h
 * @retval 0 success
 * @retval -ENOTCONN this side connects, and the connection was never established
 */
WEIR_API int weir_conn_peer(const struct weir_conn *conn, struct weir_peer *peer);

/**
 * Stores a pointer of the application in a connection.
 *
 * @param conn the connection
 * @param user any value; weir does not use it
 */
WEIR_API void weir_conn_set_user(struct weir_conn *conn, void *user);

/**
 * Returns the pointer that weir_conn_set_user() stored.
 *
 * @param conn the connection
 * @return the pointer; NULL if none was stored
 */
WEIR_API void *weir_conn_user(const struct weir_conn *conn);

WEIR_END_DECLS

#endif
