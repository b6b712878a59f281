/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_REQUEST_H
#define WEIR_REQUEST_H

/*
 * Requests: the responder's side (RFC 8166 section 2.2.2).
 *
 * weir calls a program's handler for each call of the program, in the poll in which the last of its
 * arguments arrived. The handler decodes the arguments and replies:
 *
 *     struct weir_xdr_out *out = weir_request_results(req, max);
 *     weir_xdr_put_u32(out, ...);
 *     weir_request_result_item(req, region, data, len);   a DDP-eligible result, by reference
 *     weir_request_reply(req);
 *
 * The handler can also return first, and the application replies later. If another thread computes
 * the results, it can use weir_engine_post() to run the functions for the reply on the owner's
 * thread.
 *
 * For each request, the application must call exactly one weir_request_reply*() function, which
 * frees the request:
 * - If the connection does not exist any more, nothing is sent.
 * - If the engine does not exist any more, the request has no arguments, and weir_request_results()
 *   returns NULL. The application must still call weir_request_reply().
 *
 * All functions of this header: the thread that owns the engine.
 */

#include <weir/binding.h>
#include <weir/connection.h>
#include <weir/rpc.h>

WEIR_BEGIN_DECLS

struct weir_request;
struct weir_listener;

/**
 * Handles a request.
 *
 * @param req the request; the handler, or other code after the handler, must reply to it
 * @param arg weir_program.arg
 */
typedef void (*weir_handler_fn)(struct weir_request *req, void *arg);

/** Memory that receives a directly placed argument. */
struct weir_arg_sink {
	const struct weir_region *region; /**< added to the engine */
	void *data;			  /**< first byte */
};

/**
 * Chooses the memory for an argument before weir reads its Read chunk.
 *
 * While the function runs, the decoder weir_request_args() contains only the inline arguments
 * before the first item. weir does not call the function in these cases:
 * - The items of the call arrived in the receive buffer, by version 2's extension.
 * - The procedure is not idempotent (weir_program.non_idempotent).
 *
 * The handler does not run if the pull ends before all items have arrived. This is the case if the
 * connection ends, a Read fails, weir refuses the call after the function has run for one of its
 * items, or the engine is destroyed. Then:
 * - The contents of the memory are undefined: weir may have written any part of it.
 * - weir uses the memory until the function of weir_request_on_sent() runs. Set that function here,
 *   in order to know when the memory belongs to the application again.
 *
 * @param req the request; the function may call weir_request_header(), weir_request_args(),
 * weir_request_set_user() and weir_request_on_sent()
 * @param item index of the item, from 0
 * @param len_bytes length of the item; it can include up to 3 bytes of XDR padding
 * @param[out] sink the memory
 * @param arg weir_program.arg
 * @retval 0 weir reads the item into *sink
 * @retval other weir uses a buffer of its own
 * @owner the application provides the memory, and weir uses it until the handler runs, or, if the
 * handler does not run, until the function of weir_request_on_sent() runs
 */
typedef int (*weir_arg_sink_fn)(struct weir_request *req, uint32_t item, uint32_t len_bytes,
				struct weir_arg_sink *sink, void *arg);

/** An RPC program that a listener serves. */
struct weir_program {
	size_t struct_bytes; /**< size of the structure; set by the application; see weir/common.h
			      */
	uint32_t prog;	     /**< RPC program number */
	uint32_t vers_low;   /**< lowest version; weir answers other versions with PROG_MISMATCH */
	uint32_t vers_high;  /**< highest version */
	/**
	 * The highest procedure number plus 1, which is not the number of procedures in the
	 * binding. weir answers this number and higher ones with PROC_UNAVAIL.
	 */
	uint32_t nprocs;
	const struct weir_ulb *ulb; /**< which items are DDP-eligible; NULL: none */
	weir_handler_fn handle;	    /**< called for all procedures, including procedure 0 */
	weir_arg_sink_fn arg_sink;  /**< may be NULL */
	void *arg;		    /**< passed to handle and arg_sink */
	/**
	 * One flag per procedure: true if the procedure is not idempotent, which means that two
	 * executions of a call have another effect than one.
	 *
	 * weir keeps the replies of such procedures in a duplicate request cache (profile keys
	 * replay_entries and replay_bytes). It answers a duplicate of a call from the cache, also
	 * on another connection. If the execution of the first call has not ended, the duplicate
	 * waits for its reply. A call is a duplicate if all of these are equal to those of an
	 * earlier call:
	 * - XID, program, version, procedure and arguments
	 * - the flavor of the credential and, for AUTH_NONE and AUTH_SYS, its body
	 * - the address of the peer, without the port
	 * - over shm, the user, the group and the supplementary groups of the peer
	 *
	 * weir does not call arg_sink for such procedures.
	 *
	 * NULL: all procedures are idempotent. The array is not copied. It must exist as long as
	 * the listener and its connections.
	 */
	const bool *non_idempotent;
};

/**
 * Reports that a listener's device failed for good. Nobody can connect any more.
 *
 * weir calls the function at most once. Each connection reports its own end by an event. The
 * application must still call weir_listener_close(), in the callback or later. An engine cannot
 * change its device. Therefore the application must create new engines or exit.
 *
 * Thread: the owner of the engine that listens.
 *
 * @param listener the listener
 * @param error the reason; a negative errno
 * @param arg weir_listen_options.arg
 */
typedef void (*weir_listener_lost_fn)(struct weir_listener *listener, int error, void *arg);

/**
 * Decides whether weir accepts a connection, before weir takes any resource for the connection.
 *
 * Thread: the owner of the engine that listens. The function must not block, destroy an engine or
 * close the listener.
 *
 * @param peer who wants to connect; valid until the function returns
 * @param arg weir_listen_options.arg
 * @retval 0 the connection is accepted
 * @retval negative the connection is refused, logged and counted in connections_refused
 */
typedef int (*weir_accept_fn)(const struct weir_peer *peer, void *arg);

/** Options of weir_listen(). */
struct weir_listen_options {
	size_t struct_bytes; /**< size of the structure; set by the application; see weir/common.h
			      */
	/** The programs; copied. The struct_bytes of all entries must be equal. */
	const struct weir_program *programs;
	uint32_t nprograms; /**< entries of programs */
	/** Called for each connection on the thread that owns its engine. May be NULL. */
	weir_conn_event_fn on_event;
	void *arg; /**< passed to on_event, on_lost and accept */
	/**
	 * Engines to which weir assigns the connections, round-robin. All of them must be polled.
	 * If the engines have several RDMA devices, a connection is assigned to an engine that has
	 * the device at which the connection arrives. If a program has non-idempotent procedures,
	 * all connections from one address are assigned to the same engine, because each engine has
	 * its own duplicate request cache. NULL: all connections are assigned to the listening
	 * engine.
	 */
	struct weir_engine *const *engines;
	uint32_t nengines;	       /**< entries of engines */
	weir_listener_lost_fn on_lost; /**< may be NULL */
	weir_accept_fn accept;	       /**< NULL: weir accepts all connections within its limits */
};

/**
 * Listens for connections.
 *
 * @param engine the engine that listens
 * @param addr address in the driver's form; see weir_connect()
 * @param options copied, except weir_program.non_idempotent and weir_program.ulb
 * @param[out] listener the listener; set if the function returns 0
 * @retval 0 success
 * @retval -EADDRINUSE another listener uses the address. Over shm, nothing is logged: the caller
 * prints the address.
 * @retval -EINVAL addr or options is NULL; there are no programs, more than 8 programs or more than
 * 64 engines; the struct_bytes of the options, a program or its binding is too small; or the
 * programs differ in struct_bytes
 * @retval -E2BIG the options, a program or its binding has members that are not 0 and that this
 * version of weir does not know
 * @retval -ENOMEM memory is exhausted
 * @retval -ECANCELED the engine is being destroyed
 * @retval -ECHILD the process is a child of fork(2); see weir/engine.h
 * @retval other an error of the driver
 * @owner the caller, until weir_listener_close()
 */
WEIR_API int weir_listen(struct weir_engine *engine, const char *addr,
			 const struct weir_listen_options *options,
			 struct weir_listener **listener);

/**
 * Stops listening. Established connections continue.
 *
 * It is possible that some connections were assigned to the engines in weir_listen_options.engines,
 * and these engines have not processed them yet. Poll each of these engines once before you destroy
 * it.
 *
 * @param listener the listener; NULL is allowed
 */
WEIR_API void weir_listener_close(struct weir_listener *listener);

/**
 * Returns the RPC header of the call. Thread: any.
 *
 * @param req the request
 * @return the header; never NULL. It is valid until the reply. weir_request_release_args() removes
 * its credential and verifier.
 * @owner weir
 */
WEIR_API const struct weir_rpc_call_header *weir_request_header(const struct weir_request *req);

/**
 * Returns the decoder for the arguments. Directly placed items appear at their positions as opaque
 * data. weir_xdr_get_opaque_ref() decodes them; weir_xdr_get_opaque() fails for them.
 *
 * @param req the request
 * @return the decoder; never NULL. It is valid until the reply, and empty after
 * weir_request_release_args().
 * @owner weir
 */
WEIR_API struct weir_xdr_in *weir_request_args(struct weir_request *req);

/**
 * Returns the connection of a request.
 *
 * @param req the request
 * @return the connection, or NULL if it has closed
 */
WEIR_API struct weir_conn *weir_request_conn(const struct weir_request *req);

/**
 * Returns the engine of a request. Thread: any, while the engine exists.
 *
 * @param req the request
 * @return the engine, or NULL if it was destroyed
 */
WEIR_API struct weir_engine *weir_request_engine(const struct weir_request *req);

/**
 * Stores a pointer of the application in a request.
 *
 * @param req the request
 * @param user any value; weir does not use it
 */
WEIR_API void weir_request_set_user(struct weir_request *req, void *user);

/**
 * Returns the pointer that weir_request_set_user() stored.
 *
 * @param req the request
 * @return the pointer; NULL if none was stored
 */
WEIR_API void *weir_request_user(const struct weir_request *req);

/**
 * Starts an accepted reply with the status SUCCESS.
 *
 * If the function is called again, it discards the earlier results.
 *
 * @param req the request
 * @param max_bytes upper bound of the results' XDR in bytes: all fields, and 4 bytes for the length
 * of each item, but not the data of items
 * @return the encoder for the results, or NULL in these cases:
 * - No buffer of that size is free; see weir_request_retry_when_buffers().
 * - The engine was destroyed.
 * - The process is a child of fork(2); errno is ECHILD.
 * @owner weir. The encoder is valid until the reply.
 */
WEIR_API struct weir_xdr_out *weir_request_results(struct weir_request *req, uint32_t max_bytes);

/**
 * Runs the handler again when a buffer is available.
 *
 * Call the function after weir_request_results() returned NULL. After success, the handler must
 * return without a reply. weir later calls the handler again, with the same arguments. weir serves
 * waiting connections round-robin. After an error, the handler must reply with an error.
 *
 * @param req the request
 * @retval 0 weir will call the handler again
 * @retval -EMSGSIZE weir_request_results() did not return NULL, or no buffer is large enough for
 * its max_bytes
 * @retval -ENOBUFS too many requests wait (profile key waiting_requests), or the request's own
 * arguments are in buffers for which others wait
 * @retval -ENOTCONN the engine was destroyed
 * @retval -ECHILD the process is a child of fork(2); see weir/engine.h
 */
WEIR_API int weir_request_retry_when_buffers(struct weir_request *req);

/**
 * Releases the arguments of a request that was executed.
 *
 * weir takes back the buffers into which it read the arguments. After that, weir_request_args() is
 * empty, and the RPC header has no credential and no verifier. weir_request_retry_when_buffers()
 * then does not fail with -ENOBUFS, because an error reply to an executed call would be wrong.
 *
 * @param req the request
 */
WEIR_API void weir_request_release_args(struct weir_request *req);

/**
 * Returns whether weir_request_release_args() was called. If so, the call was executed, and the
 * handler must only reply.
 *
 * @param req the request
 * @return true if the arguments were released
 */
WEIR_API bool weir_request_args_released(const struct weir_request *req);

/**
 * Appends variable-length opaque data to the results without copying them.
 *
 * The function encodes the length. If the requester offered a Write chunk and the binding declares
 * the item DDP-eligible, weir writes the data to that chunk. Otherwise the data travel in the
 * message.
 *
 * @param req a request for which weir_request_results() returned an encoder
 * @param region the region that contains the data; added to the engine
 * @param data first byte
 * @param len_bytes length; 0 to the end of the region
 * @retval 0 success. If the length does not fit into the encoder's buffer, the reply will be an
 * error.
 * @retval -EINVAL the region was not added to the engine, or the data are not within it
 * @retval -E2BIG the reply already has 8 items
 * @owner the caller. The data must not change until the function of weir_request_on_sent() is
 * called.
 */
WEIR_API int weir_request_result_item(struct weir_request *req, const struct weir_region *region,
				      const void *data, uint32_t len_bytes);

/**
 * Leaves the next Write chunk unused.
 *
 * Use the function instead of weir_request_result_item() if the binding assigns Write chunks to
 * operations, and an operation returns a union arm without data (RFC 8267). The next item uses the
 * Write chunk after that. The function encodes nothing.
 *
 * @param req a request for which weir_request_results() returned an encoder
 * @retval 0 success
 * @retval -E2BIG the reply already has 8 items
 * @rfc 8267
 */
WEIR_API int weir_request_result_absent(struct weir_request *req);

/**
 * Names the operation to which the following results belong, for a procedure that carries a list of
 * operations, such as NFSv4 COMPOUND.
 *
 * With version 2's extension, the requester says for each operation how its results are returned
 * (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 7.4). Call the function before the items of the
 * operation. Without a call, the offset is 0.
 *
 * @param req the request
 * @param args_offset offset in bytes of the operation from the start of the arguments. The data of
 * items count as a part of the arguments.
 */
WEIR_API void weir_request_operation(struct weir_request *req, uint32_t args_offset);

/**
 * Sets a function that reports when the memory of the application that a request names belongs to
 * the application again: the items of the reply, and the memory that arg_sink chose.
 *
 * weir calls the function once, when the request has ended in any way:
 * - The reply was sent. This can happen before weir_request_reply() returns.
 * - The connection has ended, and the device does not access the memory any more.
 * - weir refused the call after arg_sink had run, and has sent the error. The handler has not run.
 * - The engine is being destroyed. The function then runs in weir_engine_destroy(), except for a
 *   request to which the handler has not yet replied.
 *
 * A request has one such function, also if it has several items. A later call replaces it. A
 * handler that sets another one therefore has to do in it what arg_sink's function does.
 *
 * A reply that fails does not call the function, and leaves it set. A handler that weir will call
 * again (weir_request_retry_when_buffers()) will set its function again. Before it returns, it
 * therefore releases what it has taken for 'fn', and sets the function that was set before.
 *
 * @param req the request
 * @param fn the function; NULL: none
 * @param arg passed to fn
 */
WEIR_API void weir_request_on_sent(struct weir_request *req, void (*fn)(void *arg), void *arg);

/**
 * Keeps the reply out of the duplicate request cache.
 *
 * Use the function for a non-idempotent procedure if the call had no effect, for example if the
 * reply says "try again later". A duplicate of the call is then executed.
 *
 * @param req the request, before its reply
 */
WEIR_API void weir_request_skip_replay_cache(struct weir_request *req);

/**
 * Sends the reply that weir_request_results() started, and frees the request.
 *
 * If the reply fits neither inline nor into the chunks that the requester offered, the requester
 * receives RDMA_ERROR with ERR_CHUNK.
 *
 * @param req the request; invalid after this function
 * @rfc 8166 section 4.5.3
 */
WEIR_API void weir_request_reply(struct weir_request *req);

/**
 * Sends an accepted reply with an error status, and frees the request.
 *
 * @param req the request; invalid after this function
 * @param stat PROG_UNAVAIL, PROC_UNAVAIL, GARBAGE_ARGS or SYSTEM_ERR
 */
WEIR_API void weir_request_reply_error(struct weir_request *req, enum weir_rpc_accept_stat stat);

/**
 * Sends a denied reply (MSG_DENIED, AUTH_ERROR), and frees the request.
 *
 * @param req the request; invalid after this function
 * @param stat why authentication failed
 */
WEIR_API void weir_request_reply_denied(struct weir_request *req, enum weir_rpc_auth_stat stat);

WEIR_END_DECLS

#endif
