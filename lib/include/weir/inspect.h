/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_INSPECT_H
#define WEIR_INSPECT_H

/*
 * The connections, the calls and the requests that an engine has at present.
 *
 * Each function of this header fills in an array of the application with the state at the time of
 * the call. It returns how many objects exist, which can be more than the array has room for. The
 * array has elements of one size: the application sets struct_bytes of the first element
 * (weir/common.h), and weir sets that of the others. No callback runs, nothing is allocated, and
 * nothing changes. The functions can be used between polls, and in each callback of weir.
 *
 * The pointers to connections, calls and requests in the arrays are valid until the application
 * polls the engine again, or does something that ends the object.
 *
 * All functions of this header that get an engine: the thread that owns it. Another thread can have
 * them called by a function that it passes to weir_engine_post().
 */

#include <weir/common.h>
#include <weir/peer.h>

WEIR_BEGIN_DECLS

struct weir_engine;
struct weir_conn;
struct weir_call;
struct weir_request;

/** The states of a connection. A later version can add states. */
enum weir_conn_state {
	WEIR_CONN_STATE_CONNECTING = 0,	 /**< being established */
	WEIR_CONN_STATE_NEGOTIATING = 1, /**< established; both sides agree on a version */
	WEIR_CONN_STATE_OPEN = 2,	 /**< open */
	WEIR_CONN_STATE_DRAINING = 3, /**< ends when no call is in flight: weir_conn_shutdown() */
	WEIR_CONN_STATE_RECONNECTING =
		4,		    /**< lost; waits for the next attempt to re-establish it */
	WEIR_CONN_STATE_ENDING = 5, /**< lost or closed, and not yet freed */
};

/** A connection. */
struct weir_conn_info {
	size_t struct_bytes;	    /**< set by the application; see the top of this header */
	struct weir_conn *conn;	    /**< the connection */
	enum weir_side side;	    /**< this side */
	enum weir_conn_state state; /**< the state */
	uint32_t version;	    /**< version of RPC-over-RDMA in use; 0: not known yet */
	uint32_t send_inline_bytes; /**< inline threshold for messages that this side sends */
	uint32_t recv_inline_bytes; /**< inline threshold for messages that this side receives */
	uint32_t credits_granted;   /**< the latest grant of the responder */
	/** Requester: credits that calls hold. Responder: requests that exist. */
	uint32_t credits_used;
	/** Requester: calls that were submitted and have not ended. Responder: as credits_used. */
	uint32_t calls_active;
	/** Calls since the connection was created: submitted ones, or those that were accepted. */
	uint64_t calls;
	uint64_t age_ns; /**< time since it was opened most recently; 0: it was never open */
	char peer[WEIR_PEER_ADDRESS_BYTES]; /**< the address of the peer */
	/** Bytes of messages since the connection was created, with their transport headers. */
	uint64_t message_bytes_sent;
	uint64_t message_bytes_received; /**< like message_bytes_sent */
	/**
	 * Bytes in chunks since the connection was created. Requester: those of the Read chunks in
	 * the calls that it sent. Responder: those that it wrote to Write chunks and Reply chunks.
	 */
	uint64_t rdma_bytes_sent;
	/**
	 * Bytes in chunks since the connection was created. Requester: those of the Write chunks
	 * and Reply chunks that replies returned. Responder: those that it read from Read chunks.
	 */
	uint64_t rdma_bytes_received;
	/** The ID, by which telemetry names the connection. No other one of the process has it. */
	uint64_t id;
};

/** The states of a call at the requester. A later version can add states. */
enum weir_call_state {
	WEIR_CALL_BUILDING = 0, /**< begun, and not submitted yet */
	WEIR_CALL_QUEUED = 1,	/**< submitted; waits for a credit, a buffer or the connection */
	WEIR_CALL_SENT = 2,	/**< sent; waits for the reply */
	WEIR_CALL_REPLIED = 3,	/**< replied; the device still uses its memory */
	WEIR_CALL_REVOKING = 4, /**< given up; the peer's access to its memory is being ended */
	WEIR_CALL_GIVEN_UP = 5, /**< ended without a reply; its credit returns with a late reply */
	WEIR_CALL_ENDING = 6,	/**< 'done' was called; the device still reads its message */
};

/** The states of a request at the responder. A later version can add states. */
enum weir_request_state {
	WEIR_REQUEST_GATHERING = 0,    /**< further transmissions of the call are expected */
	WEIR_REQUEST_PULLING_CALL = 1, /**< a Long Call is being read */
	WEIR_REQUEST_PULLING = 2,      /**< the Read chunks are being read */
	WEIR_REQUEST_JOINING = 3,      /**< waits for a buffer for data in several transmissions */
	WEIR_REQUEST_HANDLING = 4,     /**< the program has the request */
	WEIR_REQUEST_DUPLICATE = 5,    /**< waits for the reply to the same call */
	WEIR_REQUEST_REPLYING = 6,     /**< the reply waits for a buffer or for Writes */
	WEIR_REQUEST_SENT = 7,	       /**< the reply was posted */
};

/** A call at the requester. */
struct weir_call_info {
	size_t struct_bytes;	    /**< set by the application; see the top of this header */
	struct weir_call *call;	    /**< the call */
	struct weir_conn *conn;	    /**< its connection */
	enum weir_call_state state; /**< the state */
	const char *waits_for;	    /**< what it waits for, as a constant text */
	uint32_t xid;		    /**< the XID */
	uint32_t prog;		    /**< the number of the program */
	uint32_t vers;		    /**< the version of the program */
	uint32_t proc;		    /**< the number of the procedure */
	uint32_t bytes;		    /**< length of the RPC call, without its items */
	uint32_t retransmits;	    /**< connections that were lost while it was in flight */
	/** Time since its submission. 0: not submitted, or cancelled. Revoking: its time-out. */
	uint64_t age_ns;
	/**
	 * Time in its present stage (enum weir_stage): queued, credit, or sent, replied and
	 * revoking. 0: other states, or the profile's 'latency' is not 'stages'.
	 */
	uint64_t stage_ns;
};

/** A request at the responder. */
struct weir_request_info {
	size_t struct_bytes;	       /**< set by the application; see the top of this header */
	struct weir_request *request;  /**< the request */
	struct weir_conn *conn;	       /**< its connection; NULL: the connection has ended */
	enum weir_request_state state; /**< the state */
	const char *waits_for;	       /**< what it waits for, as a constant text */
	uint32_t bytes; /**< length of the message that arrived, without data in chunks */
	uint32_t xid;	/**< the XID */
	/** The number of the program. It is 0, as vers and proc are, until the call is complete. */
	uint32_t prog;
	uint32_t vers;	 /**< the version of the program */
	uint32_t proc;	 /**< the number of the procedure */
	uint64_t age_ns; /**< time since its arrival */
	/** Time in its present stage (enum weir_stage). 0: 'latency' is not 'stages'. */
	uint64_t stage_ns;
};

/**
 * Describes the connections of an engine, in the order in which they were created.
 *
 * @param engine the engine
 * @param[in,out] infos the array; NULL if n is 0
 * @param n number of elements of the array
 * @return the number of connections; 0, with errno ECHILD, in a child of fork(2)
 */
WEIR_API uint32_t weir_engine_conns(const struct weir_engine *engine, struct weir_conn_info *infos,
				    uint32_t n);

/**
 * Describes the calls of an engine: those that have begun, and have not been freed.
 *
 * @param engine the engine
 * @param[in,out] infos the array; NULL if n is 0
 * @param n number of elements of the array
 * @return the number of calls; 0, with errno ECHILD, in a child of fork(2)
 */
WEIR_API uint32_t weir_engine_calls(const struct weir_engine *engine, struct weir_call_info *infos,
				    uint32_t n);

/**
 * Describes the requests of an engine that were not answered at once, while their message was
 * processed, and that still exist.
 *
 * @param engine the engine
 * @param[in,out] infos the array; NULL if n is 0
 * @param n number of elements of the array
 * @return the number of requests; 0, with errno ECHILD, in a child of fork(2)
 */
WEIR_API uint32_t weir_engine_requests(const struct weir_engine *engine,
				       struct weir_request_info *infos, uint32_t n);

/**
 * Returns the name of a state. Thread: any.
 *
 * @param state the state
 * @return a constant such as "open"; "unknown" for other values
 */
WEIR_API const char *weir_conn_state_name(enum weir_conn_state state);

/**
 * Returns the name of a state. Thread: any.
 *
 * @param state the state
 * @return a constant such as "sent"; "unknown" for other values
 */
WEIR_API const char *weir_call_state_name(enum weir_call_state state);

/**
 * Returns the name of a state. Thread: any.
 *
 * @param state the state
 * @return a constant such as "handling"; "unknown" for other values
 */
WEIR_API const char *weir_request_state_name(enum weir_request_state state);

WEIR_END_DECLS

#endif
