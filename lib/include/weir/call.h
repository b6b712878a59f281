/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_CALL_H
#define WEIR_CALL_H

/*
 * Calls: the requester's side (RFC 8166 section 2.2.2).
 *
 *     struct weir_call *call = weir_call_begin(conn, &params);
 *     weir_xdr_put_u32(weir_call_args(call), ...);         arguments
 *     weir_call_arg_item(call, region, data, len);         a DDP-eligible argument, by reference
 *     weir_call_result_item(call, region, buffer, len);    memory for a DDP-eligible result
 *     weir_call_submit(call);
 *
 * A later weir_engine_poll() calls 'done' exactly once. In 'done', weir_call_reuse() starts the
 * next call of the same kind at less cost.
 *
 * weir_call_submit() can also run 'done' of other calls. If too many work requests are queued, it
 * posts them first. A call whose reply has already arrived can then end.
 *
 * All functions of this header: the thread that owns the engine.
 */

#include <weir/binding.h>
#include <weir/connection.h>
#include <weir/rpc.h>

WEIR_BEGIN_DECLS

struct weir_call;

/**
 * How a call ended.
 *
 * The structure and everything that it points to are valid until 'done' returns.
 */
struct weir_result {
	/**
	 * 0 if a reply arrived, which 'reply' describes. There are results only if its 'reply_stat'
	 * is WEIR_RPC_MSG_ACCEPTED and its 'accept_stat' is WEIR_RPC_SUCCESS. Otherwise a negative
	 * errno.
	 *
	 * The call itself failed:
	 * - -ETIMEDOUT: no reply came in time.
	 * - -ECANCELED: weir_call_cancel() ended the call.
	 * - -EREMOTEIO: the responder answered RDMA_ERROR (RFC 8166 section 4.5); see 'rdma_err'.
	 * - -EBADMSG: the RPC header of the reply is malformed, or the reply has chunks although
	 *   the call offered none (RFC 8166 section 6.1).
	 *
	 * The connection ended. It is possible that the responder executed the call:
	 * - -ECONNABORTED, -ESHUTDOWN, -ECONNRESET, -EPROTO and others: see weir_conn_event_fn.
	 * - -ETIMEDOUT, -ECANCELED: the end of another call also ended the connection; see
	 *   weir_call_cancel().
	 *
	 * The connection was lost and re-established, but weir could not retransmit the call:
	 * - -ENOTRECOVERABLE: the call was in flight on more lost connections than the profile's
	 *   'resends' allows (RFC 8166 section 4.5.3). If 'resends' is 0, the status is the reason
	 *   for the loss instead.
	 * - -ENOBUFS: other calls hold the buffers that the call needs.
	 * - -EMSGSIZE: the new inline threshold is too small for the call's header.
	 */
	int status;
	/**
	 * The error code of RDMA_ERROR. Valid if status is -EREMOTEIO.
	 * - Version 1: 1 is ERR_VERS, 2 is ERR_CHUNK. These are usual reasons for ERR_CHUNK: the
	 *   binding of the responder does not allow an item of the call, the call exceeds a limit
	 *   of the responder's profile, or the reply exceeds results_max_bytes or the memory that
	 *   the call offered.
	 * - Version 2: 2 is BAD_XDR, 3 is REPLY_RESOURCE, 4 is INVAL_PROC, 5 is INVAL_OPTION,
	 *   6 is SYSTEM.
	 */
	uint32_t rdma_err;
	/** The RPC header of the reply. NULL unless status is 0. */
	const struct weir_rpc_reply_header *reply;
	/** Decoder whose next byte is the first byte of the results. NULL unless status is 0. */
	struct weir_xdr_in *results;
	/**
	 * For each result, in the order of weir_call_result_item(): the number of bytes that the
	 * responder placed in the offered memory, or WEIR_ITEM_INLINE.
	 */
	const uint32_t *item_bytes;
	uint32_t nitems; /**< entries of item_bytes */
};

/**
 * Value of weir_result.item_bytes: the result is in the message and not in the offered memory.
 *
 * The value occurs only on connections that use version 2's extension. On these connections, the
 * responder sends short results in the message, and it can place a result in an aligned segment of
 * the receive buffer.
 */
#define WEIR_ITEM_INLINE UINT32_MAX

/**
 * Reports the end of a call.
 *
 * The memory that the call named belongs to the application again. The callback is allowed to begin
 * and submit calls, and to close connections. Until the callback returns, the call keeps its slot
 * and the buffer to which 'result' points. To start the next call with this slot and buffer, pass
 * 'call' to weir_call_reuse().
 *
 * A call that timed out keeps its slot and its credit until its reply arrives or the connection
 * ends.
 *
 * @param call the call that ended; it does not exist after the callback, unless it was reused
 * @param result how the call ended; valid until the callback returns
 * @param arg weir_call_params.arg
 */
typedef void (*weir_call_done_fn)(struct weir_call *call, const struct weir_result *result,
				  void *arg);

/** Parameters of a call. weir copies the memory to which members point, except that of 'ulb'. */
struct weir_call_params {
	size_t struct_bytes; /**< size of the structure; set by the application; see weir/common.h
			      */
	uint32_t prog;	     /**< RPC program number */
	uint32_t vers;	     /**< version of the program */
	uint32_t proc;	     /**< procedure number */
	/**
	 * Upper bound of the arguments' XDR in bytes: all fields, and 4 bytes for the length of
	 * each item, but not the data of items. 0: as much as fits inline.
	 */
	uint32_t args_max_bytes;
	/**
	 * Upper bound of the results' XDR in bytes (RFC 8166 section 6.2): all fields, and 4 bytes
	 * for the length of each item, but not the data of items. If a reply with results of this
	 * length does not fit inline, the call offers a Reply chunk.
	 */
	uint32_t results_max_bytes;
	/** Time-out in ns. 0: the profile's call_timeout_ms. UINT64_MAX: no time-out. */
	uint64_t timeout_ns;
	const struct weir_rpc_auth *cred; /**< credential; NULL: AUTH_NONE */
	const struct weir_rpc_auth *verf; /**< verifier; NULL: AUTH_NONE */
	/**
	 * The binding that says which items are DDP-eligible. It must exist until 'done'. NULL: no
	 * item is eligible, and all items travel in the message.
	 */
	const struct weir_ulb *ulb;
	weir_call_done_fn done; /**< required */
	void *arg;		/**< passed to 'done' */
};

/**
 * Begins a call.
 *
 * The call takes a slot of the connection and a buffer. The caller then encodes the arguments, with
 * weir_call_args() and weir_call_arg_item(), and submits or abandons the call.
 *
 * @param conn a connection that is open, or that is being re-established
 * @param params parameters of the call; copied
 * @return the call, or NULL with errno:
 * - ENOTCONN: the connection is neither open nor being re-established, or it is shut down.
 * - EINVAL: params->done is NULL, a credential or verifier exceeds WEIR_RPC_AUTH_BODY_MAX, or
 *   struct_bytes of the parameters or of their binding is too small.
 * - E2BIG: the parameters or their binding have members that are not 0 and that this version of
 *   weir does not know.
 * - EAGAIN: no slot is free. The connection has twice as many slots as it requests credits, and
 *   each call that has begun and not ended takes one. Wait until a call ends.
 * - ENOBUFS: the buffer pool is empty.
 * - EMSGSIZE: the longest call or reply, by args_max_bytes or results_max_bytes, exceeds the
 *   profile's long_buffer_bytes. A call counts with 512 bytes for its transport header.
 * - ECHILD: the process is a child of fork(2); see weir/engine.h.
 * @owner weir. The caller submits or abandons the call. If the connection ends first, weir frees
 * the call with the connection.
 */
WEIR_API struct weir_call *weir_call_begin(struct weir_conn *conn,
					   const struct weir_call_params *params);

/**
 * Begins the next call with the parameters of a call that just ended.
 *
 * If each call that ends begins the next one, this is cheaper than weir_call_begin(): usually the
 * result is 'call' itself, with the same buffer and RPC header and a new XID. The caller must
 * describe the arguments and items of the new call. The credential and the verifier stay those of
 * 'call'.
 *
 * 'result' of the ended call stays valid until 'done' returns. Read it with weir_result_opaque()
 * before you offer memory for the results of the next call.
 *
 * @param call a call whose 'done' is running; it can be reused once
 * @param conn weir_call_conn(call), or another connection of the same engine
 * @return the call, or NULL with errno: any error of weir_call_begin(), and
 * - ENOBUFS: the pool is empty, and another call that began in this 'done' took the buffer of
 *   'call'.
 * - EINVAL: 'done' is not running, the call was already reused, or 'conn' belongs to another
 *   engine. For a call that timed out, or whose Send has not completed, weir detects only the last
 *   of these errors. The caller must avoid the other two.
 * @owner as weir_call_begin()
 */
WEIR_API struct weir_call *weir_call_reuse(struct weir_call *call, struct weir_conn *conn);

/**
 * Returns the encoder for the arguments. It writes them directly after the RPC header.
 *
 * @param call a call that was not submitted
 * @return the encoder; never NULL
 * @owner weir. The encoder is valid until weir_call_submit() or weir_call_abandon().
 */
WEIR_API struct weir_xdr_out *weir_call_args(struct weir_call *call);

/**
 * Appends variable-length opaque data to the arguments without copying them.
 *
 * The function encodes the length. The data stay where they are. If the binding declares the item
 * DDP-eligible, the item can travel as a Read chunk. It does so in two cases:
 * - The call does not fit inline.
 * - The connection uses version 1, and the item is the longest one and has at least the profile's
 *   chunk_bytes.
 *
 * If the device cannot expose the region to peers (see weir/memory.h), data that do not fit inline
 * are copied, up to the profile's long_buffer_bytes. The statistic bulk_copies counts these copies.
 *
 * @param call a call that was not submitted
 * @param region the region that contains the data; added to the engine
 * @param data first byte
 * @param len_bytes length; 0 to the end of the region
 * @retval 0 success
 * @retval -EINVAL the call was submitted, the region was not added to the engine, or the data are
 * not within the region
 * @retval -E2BIG the call already has 8 items
 * @owner the caller. The data must not change until 'done' is called.
 * @rfc 8166 section 3.4.5
 */
WEIR_API int weir_call_arg_item(struct weir_call *call, const struct weir_region *region,
				const void *data, uint32_t len_bytes);

/**
 * Offers memory for the next DDP-eligible result.
 *
 * @param call a call that was not submitted
 * @param region the region that contains the memory; added to the engine. Ignored if data is NULL.
 * @param data first byte. NULL offers an empty Write chunk, which asks for this result inline (RFC
 * 8166 section 4.3.2).
 * @param max_bytes size of the memory; 1 to the end of the region
 * @retval 0 success
 * @retval -E2BIG the binding has no more DDP-eligible results for this procedure, or the call
 * already has 8 results
 * @retval -EINVAL the call was submitted, the region was not added to the engine, the memory is not
 * within the region, or max_bytes is 0
 * @retval -EOPNOTSUPP the region is private, or the device cannot expose it (see weir/memory.h)
 * @owner the responder, until 'done' is called
 * @rfc 8166 section 3.4.6
 */
WEIR_API int weir_call_result_item(struct weir_call *call, const struct weir_region *region,
				   void *data, uint32_t max_bytes);

/**
 * Marks the start of the next operation of a procedure that carries a list of operations, such as
 * NFSv4 COMPOUND.
 *
 * Memory that is offered from here to the next mark is for the results of this operation. Memory
 * that was offered before the first mark is for results that precede the list. Without any mark,
 * all offered memory is for the call as a whole.
 *
 * Version 2's extension transmits the marks to the responder (draft-dnoveck-nfsv4-rpcrdma-rtrext-01
 * section 7.4):
 * - If no memory is offered for an operation, its results arrive in the message.
 * - If an operation does not use its memory, later operations do not use this memory, either.
 *
 * Without the extension, the header does not say to which operation a Write chunk belongs. Results
 * take the chunks in order (RFC 8166 section 4.3.2). Therefore offer an empty chunk for each result
 * that should arrive inline.
 *
 * @param call a call that was not submitted
 * @retval 0 success
 * @retval -EINVAL the call was submitted
 * @retval -EMSGSIZE the arguments exceed 4 GiB
 */
WEIR_API int weir_call_operation(struct weir_call *call);

/**
 * Sends a call. If the call cannot be sent at once, for example because no credit is available, the
 * function queues the call.
 *
 * After success, 'done' will be called. After an error, the call is unchanged: correct the call and
 * submit it again, or abandon it.
 *
 * @param call a call that was not submitted
 * @retval 0 success
 * @retval -EINVAL the call was already submitted, or its arguments are not valid XDR: a part
 * before, between or after items is not a multiple of 4 bytes long
 * @retval -ENOSPC the arguments exceed the buffer, which has room for at least args_max_bytes
 * @retval -EMSGSIZE the transport header does not fit inline, or the call or its reply exceeds the
 * profile's long_buffer_bytes. Over shm, and with the exposure policy 'pool', also if a reply that
 * needs a Reply chunk exceeds bulk_buffer_bytes, because it is copied
 * @retval -EOPNOTSUPP the device cannot expose the memory of an argument, and the argument exceeds
 * the profile's long_buffer_bytes, so that it cannot be copied
 * @retval -ENOBUFS no buffer is free
 * @retval -ECHILD the process is a child of fork(2); see weir/engine.h
 */
WEIR_API int weir_call_submit(struct weir_call *call);

/**
 * Frees a call that was not submitted. 'done' is not called. Does nothing if the call was
 * submitted.
 *
 * If the connection ends before a call is submitted or abandoned, weir abandons the call. After the
 * CLOSED event neither the call nor the connection exists.
 *
 * @param call a call that was not submitted
 */
WEIR_API void weir_call_abandon(struct weir_call *call);

/**
 * Decodes a variable-length opaque result, which can be in the offered memory or in the message.
 *
 * @param call the call whose 'done' is running
 * @param result the argument of 'done'
 * @param item index of the result, from 0, in the order of weir_call_result_item()
 * @param[out] data the first byte: in the offered memory, or in the message
 * @param max_bytes largest length to accept
 * @param[out] len_bytes length of the data
 * @retval 0 success
 * @retval -EBADMSG the results end too early, the data exceed max_bytes, or the encoded length
 * differs from the number of bytes that the responder placed in the offered memory
 * @owner the data in the message belong to weir and are valid until 'done' returns
 * @rfc 8166 section 4.3.2
 */
WEIR_API int weir_result_opaque(const struct weir_call *call, const struct weir_result *result,
				uint32_t item, const void **data, uint32_t max_bytes,
				uint32_t *len_bytes);

/**
 * Returns how often the connection was lost while the call was in flight. weir retransmits the call
 * after each loss.
 *
 * If the result is above 0, it is possible that the responder executed the call more than once. The
 * reply is then that of a later execution.
 *
 * @param call the call whose 'done' is running
 * @return number of retransmissions
 */
WEIR_API uint32_t weir_call_retransmits(const struct weir_call *call);

/**
 * Ends a submitted call before its reply arrives.
 *
 * One of the next polls calls 'done'. The status is -ECANCELED, or another status if the call ended
 * for another reason before. weir first invalidates the keys of all memory that the call exposed.
 * If weir cannot do this, as with the exposure policy 'pool', a call that exposed memory also ends
 * its connection (RFC 8166 sections 4.4.1 and 4.5.4), as its time-out would.
 *
 * It is possible that the responder still executes the call. If the responder then uses a key that
 * was invalidated, the connection ends.
 *
 * @param call a submitted call
 * @retval 0 success
 * @retval -EINVAL the call was not submitted, or it is already ending
 * @retval -ECHILD the process is a child of fork(2); see weir/engine.h
 */
WEIR_API int weir_call_cancel(struct weir_call *call);

/**
 * Returns the connection of a call. Thread: any.
 *
 * @param call any call, until its 'done' returns
 * @return the connection; never NULL
 */
WEIR_API struct weir_conn *weir_call_conn(const struct weir_call *call);

WEIR_END_DECLS

#endif
