/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_CALL_H
#define WEIR_CALL_H

/*
 * Calls: the requester's side (RFC 8166 section 2.2.2).
 *
 *     struct weir_call *call = weir_call_begin(conn, &params);
 *     weir_xdr_put_u32(weir_call_args(call), ...);         arguments
 *     weir_call_arg_item(call, region, data, len);         a DDP-eligible argument, by reference
 *     weir_call_result_item(call, region, buffer, len);    where a DDP-eligible result is to go
 *     weir_call_submit(call);
 *
 * and 'done' is called, once, from a later weir_engine_poll(); there weir_call_reuse() begins the
 * next one like it. Where weir_call_submit() has to make room in the send queue, it may end other
 * calls, and calls their 'done'. Owner's thread only.
 */

#include <weir/binding.h>
#include <weir/connection.h>
#include <weir/rpc.h>

WEIR_BEGIN_DECLS

struct weir_call;

/** How a call ended. Valid during the callback only, with all it points to. */
struct weir_result {
	/** 0: a reply came, see 'reply'. -ETIMEDOUT, -ECANCELED: this call; or another one, whose
	 * end took the connection with it (weir_call_cancel()). -ECONNABORTED, -ESHUTDOWN,
	 * -ECONNRESET, -EPROTO...: the connection ended, and nobody knows whether the call ran.
	 * -ENOTRECOVERABLE: it was in flight on more connections that were lost than the profile's
	 * 'resends' allow (4.5.3). -ENOBUFS: the connection was remade, and others have the buffers
	 * that the call needs. -EMSGSIZE: it was, with an inline threshold that the call's header
	 * is too long for. -EREMOTEIO: the responder answered RDMA_ERROR (RFC
	 * 8166 section 4.5), see 'rdma_err'. -EBADMSG: the reply's RPC header is garbage, or the
	 * reply has chunks where the call offered none (6.1). */
	int status;
	/** When status is -EREMOTEIO: 1: ERR_VERS, 2: ERR_CHUNK; by version 2, 2: BAD_XDR, 3:
	 * REPLY_RESOURCE, 4: INVAL_PROC, 5: INVAL_OPTION, 6: SYSTEM. */
	uint32_t rdma_err;
	const struct weir_rpc_reply_header *reply; /**< the RPC header; NULL unless status is 0 */
	/** decoder, at the first byte of the results; NULL unless status is 0 */
	struct weir_xdr_in *results;
	/** Bytes that were placed of each result, in the order of weir_call_result_item(); or
	 * WEIR_ITEM_INLINE. */
	const uint32_t *item_bytes;
	uint32_t nitems;
};

/** The result is in the message, other than was offered: by version 2's extension the short ones
 * are, and those that Sends place, which are aligned in the receive. */
#define WEIR_ITEM_INLINE UINT32_MAX

/** Memory named in 'call' is the caller's again. It may begin and submit other calls, and close
 * connections: 'call' holds its slot and the buffer that 'result' points into until this returns,
 * its other buffers are free to whoever needs them (those that a device may still read follow when
 * it is done); or it is begun again, by weir_call_reuse(), and is the next call then:
 * weir_call_conn() and weir_call_retransmits() say what they say of that. One that timed out keeps
 * its slot and its credit until its reply comes after all, or the connection ends. */
typedef void (*weir_call_done_fn)(struct weir_call *call, const struct weir_result *result,
				  void *arg);

struct weir_call_params {
	uint32_t prog;
	uint32_t vers;
	uint32_t proc;
	uint32_t args_max_bytes; /**< bound of the arguments' XDR, items left out; 0: what fits
				    inline */
	/** Bound of the results' XDR, items left out (RFC 8166 section 6.2). Above what fits inline
	 * a Reply chunk is offered. */
	uint32_t results_max_bytes;
	uint64_t timeout_ns;		  /**< 0: the profile's call_timeout_ms; UINT64_MAX: none */
	const struct weir_rpc_auth *cred; /**< NULL: AUTH_NONE. Copied */
	const struct weir_rpc_auth *verf; /**< NULL: AUTH_NONE. Copied */
	/** which items are DDP-eligible; NULL: none, items travel in the message */
	const struct weir_ulb *ulb;
	weir_call_done_fn done;
	void *arg;
};

/** Start to describe a call. NULL with errno: ENOTCONN (not open), EAGAIN (twice as many calls as
 * credits were asked for are begun and not done, those queued for a credit included: wait for one
 * to end), ENOBUFS (buffer pool is dry), EMSGSIZE (args_max_bytes or results_max_bytes is over the
 * profile's long_buffer_bytes), ECHILD (after fork, see weir/engine.h), EINVAL. */
WEIR_API struct weir_call *weir_call_begin(struct weir_conn *conn,
					   const struct weir_call_params *params);

/** As weir_call_begin() with the parameters of a call whose 'done' is being called, once, from
 * there; 'call' ends as it does. Where a loop calls again what has ended this is shorter: most
 * often the result is 'call' itself, whose buffer and header stay, all but the XID. Arguments and
 * items are to be described anew; credential and verifier are those that it had. 'conn' is its
 * connection (weir_call_conn()) or another one of its engine's. 'result' stays valid until 'done'
 * returns; but read from it by weir_result_opaque() before memory is offered for the next. NULL
 * with errno: as weir_call_begin(), and ENOBUFS also where another call was begun in this 'done'
 * while the pool was dry, and got the buffer; EINVAL: 'done' is not being called, 'call' was had
 * again already (neither is told of one that has timed out, or that a device has not let go of: it
 * is the caller's to keep to that), or 'conn' is another engine's. */
WEIR_API struct weir_call *weir_call_reuse(struct weir_call *call, struct weir_conn *conn);

/** Encoder for the arguments, behind the RPC header. */
WEIR_API struct weir_xdr_out *weir_call_args(struct weir_call *call);

/** Append variable-length opaque data by reference: the count word is encoded here, the data stay
 * where they are, and must stay unchanged until 'done' (up to 512 bytes that go inline may be
 * copied when the call is submitted). When the binding calls it DDP-eligible it may travel as a
 * Read chunk: where not all fits inline, and the longest one from the profile's chunk_bytes on. It
 * lies in 'region', which the engine knows. From a region that the device can't expose to peers
 * (weir/memory.h) what does not fit inline is copied, which bulk_copies counts, up to the profile's
 * long_buffer_bytes. 0; -EINVAL: not in the region, or the region was not added; -E2BIG: more than
 * 8 items. */
WEIR_API int weir_call_arg_item(struct weir_call *call, const struct weir_region *region,
				const void *data, uint32_t len_bytes);

/** Offer memory for the next DDP-eligible result, of at most 'max_bytes' (RFC 8166 section 3.4.6).
 * Without eligible results in the binding, the offer is refused. 'data' NULL: an empty Write chunk,
 * which asks for this item inline (4.3.2). The memory is the responder's until 'done'. 0; -EINVAL:
 * not in a region that was added, or 'max_bytes' 0 with memory; -EOPNOTSUPP: the region is private,
 * or the device can't expose it (weir/memory.h); -E2BIG: more than the binding allows. */
WEIR_API int weir_call_result_item(struct weir_call *call, const struct weir_region *region,
				   void *data, uint32_t max_bytes);

/** Of a procedure that is a list of operations, such as COMPOUND: what is encoded next is one of
 * them, and memory that is offered from here on, until the next is begun, is for its results; what
 * was offered before the first is for results of what stands in front of it. By version 2's
 * extension the responder is told so (rtrext-01 section 7.4): results of operations without an
 * offer come in the message, and an operation that yields less than was offered for it leaves no
 * memory to those behind it. Where the call goes otherwise nothing says whose a Write chunk is:
 * results take them in their order (RFC 8166 section 4.3.2), and each that is to come in the
 * message has an empty one. Without it, all offers are for the whole call. 0; -EINVAL: submitted
 * already; -EMSGSIZE: the call is over 4 GiB. */
WEIR_API int weir_call_operation(struct weir_call *call);

/** Send it, or queue it until there is a credit. From here on 'done' is certain. 0; or the call is
 * as it was, to be mended or abandoned: -ENOSPC: the arguments did not fit args_max_bytes;
 * -EMSGSIZE: even the transport header does not fit inline, or the call or the reply is over
 * long_buffer_bytes or bulk_buffer_bytes; -EOPNOTSUPP: an argument of weir_call_arg_item() is in
 * memory that the device can't expose, and over long_buffer_bytes, so that it can't be copied;
 * -ENOBUFS: no long buffer is free; -ECHILD: after fork, see weir/engine.h. */
WEIR_API int weir_call_submit(struct weir_call *call);

/** Give up a call that was not submitted; 'done' is not called. One that is neither submitted nor
 * given up when its connection ends is given up by weir: after CLOSED it is gone, like the
 * connection. */
WEIR_API void weir_call_abandon(struct weir_call *call);

/** Decode a variable-length opaque result that may have been placed, as the Write chunk 'item' (RFC
 * 8166 section 4.3.2): the count word, then the data, in place. 'data' is the offered memory or
 * points into the message. 0; -EBADMSG: over 'max_bytes', or the count and the chunk disagree. */
WEIR_API int weir_result_opaque(const struct weir_call *call, const struct weir_result *result,
				uint32_t item, const void **data, uint32_t max_bytes,
				uint32_t *len_bytes);

/** Connections that were lost while the call was in flight, each time to send it again: above 0,
 * what it did may have been done before the run that answered. */
WEIR_API uint32_t weir_call_retransmits(const struct weir_call *call);

/** End a call that was submitted before its reply comes: 'done' follows, with -ECANCELED or with
 * how the call ended meanwhile, from one of the next polls. What it exposed is invalidated first;
 * with the exposure policy 'pool', where that can't be, a call that named memory takes its
 * connection with it (RFC 8166 sections 4.4.1 and 4.5.4), as its time-out would. The responder may
 * run the call all the same; when it then uses a key that has ended, the connection ends, too. 0;
 * -EINVAL: not submitted, or being ended already; -ECHILD: after fork, see weir/engine.h. */
WEIR_API int weir_call_cancel(struct weir_call *call);

/** The connection that a call was begun on. Any time until its end. On the engine's thread. */
WEIR_API struct weir_conn *weir_call_conn(const struct weir_call *call);

WEIR_END_DECLS

#endif
