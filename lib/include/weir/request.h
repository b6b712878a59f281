/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_REQUEST_H
#define WEIR_REQUEST_H

/*
 * Requests: the responder's side (RFC 8166 section 2.2.2).
 *
 * A program's handler gets each call of its program when all arguments are here, in the poll that
 * completed them. It decodes them, and replies, at once or later:
 *
 *     struct weir_xdr_out *out = weir_request_results(req, max);
 *     weir_xdr_put_u32(out, ...);
 *     weir_request_result_item(req, region, data, len);   a DDP-eligible result, from where it lies
 *     weir_request_reply(req);
 *
 * A handler may return first and reply later, on the owner's thread (weir_engine_post() brings
 * other threads there). Each request ends with exactly one weir_request_reply*(); if the connection
 * is gone by then, that frees it and sends nothing. If the engine is gone, too, the request has no
 * arguments any more, and weir_request_results() returns NULL: all that is left to do is to reply.
 * All functions: owner's thread only.
 */

#include <weir/binding.h>
#include <weir/connection.h>
#include <weir/rpc.h>

WEIR_BEGIN_DECLS

struct weir_request;
struct weir_listener;

typedef void (*weir_handler_fn)(struct weir_request *req, void *arg);

/** Where a directly placed argument is to go: memory in a region that the engine knows. */
struct weir_arg_sink {
	const struct weir_region *region;
	void *data;
};

/** Asked before a Read chunk is pulled: name the destination of item number 'item' (0 for the
 * first), of 'len_bytes' bytes (which may include up to 3 of roundup padding). weir_request_args()
 * reads the arguments that came inline, up to the first item. 0, with *sink set; anything else:
 * weir takes a buffer of its own. Not asked of calls with items that came in the receive, by
 * version 2's extension. */
typedef int (*weir_arg_sink_fn)(struct weir_request *req, uint32_t item, uint32_t len_bytes,
				struct weir_arg_sink *sink, void *arg);

/** An RPC program. */
struct weir_program {
	uint32_t prog;
	uint32_t vers_low; /**< calls of other versions are answered PROG_MISMATCH */
	uint32_t vers_high;
	uint32_t nprocs; /**< procedures 0 to nprocs - 1; others are answered PROC_UNAVAIL */
	const struct weir_ulb *ulb; /**< what is DDP-eligible; NULL: nothing */
	weir_handler_fn handle;	    /**< procedure 0 too */
	weir_arg_sink_fn arg_sink;  /**< may be NULL */
	void *arg;
	/** For each procedure, whether carrying it out twice does more than once does: true has
	 * weir keep its replies, in a cache of the profile's replay_entries and replay_bytes. A
	 * call that comes once more, by this or another connection of its peer, is answered from
	 * there and not given to the program; while the first is being carried out, when that is
	 * replied to. Such a procedure's 'arg_sink' is not asked. NULL: all may be carried out
	 * twice. The same call is one of the same XID, credential and arguments, from the same
	 * address, ports apart. Not copied. */
	const bool *non_idempotent;
};

/** A listener's device is gone or broken for good; 'error' is a negative errno. Nobody can connect
 * any more; connections end by events of their own. Once at most, on the thread of the engine that
 * listens. weir_listener_close() is still to be called, in here or later. Engines stay with the
 * device that they opened: an application goes on with new ones, or ends. */
typedef void (*weir_listener_lost_fn)(struct weir_listener *listener, int error, void *arg);

/** Asked for each connection that a peer requests, before anything is taken for it.
 *
 * 'peer' is valid inside the call only; 'arg' is weir_listen_options.arg.
 * Returns 0: the connection is taken; a negative errno: it is refused, counted in
 * connections_refused and logged. Thread: that of the engine that listens. The function must not
 * block, and may not destroy an engine or close the listener. */
typedef int (*weir_accept_fn)(const struct weir_peer *peer, void *arg);

struct weir_listen_options {
	const struct weir_program *programs; /**< copied */
	uint32_t nprograms;
	weir_conn_event_fn on_event; /**< of each connection; may be NULL */
	void *arg;
	/** Engines that take the connections in turn; they must be polled. With procedures that are
	 * not idempotent, all connections from one address go to the same engine, which knows what
	 * it replied. NULL: the listening one takes all. on_event runs on the thread of the engine
	 * that has the connection. */
	struct weir_engine *const *engines;
	uint32_t nengines;
	weir_listener_lost_fn on_lost; /**< may be NULL */
	weir_accept_fn accept;	       /**< may be NULL: all are taken */
};

/** Listen on 'addr', of the driver's form. 0; -EADDRINUSE; -EINVAL; -ENOMEM; -ECANCELED: the engine
 * is being destroyed; -ECHILD: after fork, see weir/engine.h; or the driver's error. */
WEIR_API int weir_listen(struct weir_engine *engine, const char *addr,
			 const struct weir_listen_options *options,
			 struct weir_listener **listener);

/** Stop listening; connections go on. The engines given must not get connections from it any more:
 * let each poll once after this. NULL is allowed. */
WEIR_API void weir_listener_close(struct weir_listener *listener);

/** The call. What they return is valid until the reply. */
WEIR_API const struct weir_rpc_call_header *weir_request_header(const struct weir_request *req);
/** Decoder over the arguments. Directly placed items appear as opaque data in place. */
WEIR_API struct weir_xdr_in *weir_request_args(struct weir_request *req);
WEIR_API struct weir_conn *
weir_request_conn(const struct weir_request *req); /**< NULL when it is gone */
WEIR_API struct weir_engine *
weir_request_engine(const struct weir_request *req); /**< NULL when it is gone */

/** The application's own pointer for this request, NULL at first. */
WEIR_API void weir_request_set_user(struct weir_request *req, void *user);
WEIR_API void *weir_request_user(const struct weir_request *req);

/** Start an accepted reply of status SUCCESS whose results, items left out, have at most
 * 'max_bytes' of XDR. Encoder for the results; NULL when no buffer of that size is free, or, with
 * errno ECHILD, after fork (weir/engine.h). */
WEIR_API struct weir_xdr_out *weir_request_results(struct weir_request *req, uint32_t max_bytes);

/** After weir_request_results() has returned NULL: have the handler called again, from the start,
 * with its arguments as they were, when buffers are back; connections take turns. 0: it will be,
 * and is to return now. Else it is to reply with an error. -EMSGSIZE: there is no buffer of that
 * size, ever. -ENOBUFS: too many wait (the profile's waiting_requests), or its own arguments are in
 * buffers that others wait for. -ENOTCONN: the engine is gone. -ECHILD: after fork. */
WEIR_API int weir_request_retry_when_buffers(struct weir_request *req);

/** The call was carried out, and its arguments are not needed any more: buffers that they were
 * pulled to go back. weir_request_args() are none after this, nor are there the credential and the
 * verifier of weir_request_header(). From then on weir_request_retry_when_buffers() is not refused
 * with -ENOBUFS, since an error would be wrong by now. */
WEIR_API void weir_request_release_args(struct weir_request *req);
/** Whether that was done: the handler is called again, for the reply alone. */
WEIR_API bool weir_request_args_released(const struct weir_request *req);

/** Append variable-length opaque results without copying: count word here, data by a Write chunk
 * where the requester offered one and the binding allows it, else in the message. 'data' stays
 * unchanged until on_sent. 0; -EINVAL; -E2BIG: more than 8. */
WEIR_API int weir_request_result_item(struct weir_request *req, const struct weir_region *region,
				      const void *data, uint32_t len_bytes);

/** In the place of weir_request_result_item() where the binding pairs items with Write chunks by
 * the operation that returns them and this one has taken an arm without data (RFC 8267): its chunk
 * goes back unused, and the next item has the next chunk. Encodes nothing. 0, or -E2BIG. */
WEIR_API int weir_request_result_absent(struct weir_request *req);

/** Of a procedure that is a list of operations, such as COMPOUND: results from here on are those of
 * the operation that begins 'args_offset' bytes into the arguments, with the data of items counted,
 * in the call as it was before anything was taken out of it. By version 2's extension a requester
 * says for each operation where its results go (rtrext-01 section 7.4). 0 at first. Any time before
 * the items. */
WEIR_API void weir_request_operation(struct weir_request *req, uint32_t args_offset);

/** fn(arg) will be called once when memory named in the reply is the application's again, which may
 * be before weir_request_reply() returns. */
WEIR_API void weir_request_on_sent(struct weir_request *req, void (*fn)(void *arg), void *arg);

/** Of a procedure that is not idempotent, before the reply: the call had no effect, and is to be
 * carried out when it comes once more, such as after a reply that says 'try again later'. */
WEIR_API void weir_request_skip_replay_cache(struct weir_request *req);

/** Send what weir_request_results() started. When it can't be conveyed by what the requester
 * offered, the requester gets RDMA_ERROR with ERR_CHUNK (RFC 8166 section 4.5.3). */
WEIR_API void weir_request_reply(struct weir_request *req);

/** Reply with PROG_UNAVAIL, PROC_UNAVAIL, GARBAGE_ARGS or SYSTEM_ERR instead. */
WEIR_API void weir_request_reply_error(struct weir_request *req, enum weir_rpc_accept_stat stat);

/** Reply MSG_DENIED, AUTH_ERROR. */
WEIR_API void weir_request_reply_denied(struct weir_request *req, enum weir_rpc_auth_stat stat);

WEIR_END_DECLS

#endif
