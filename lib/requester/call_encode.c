/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the transport header of a call, in the form of version 1. The header is that of a shape
 * (call_shape.h), or lists the chunks that the reducer planned (lib/proto/reduce_call.c).
 */
#include "call_shape.h"

#include <errno.h>
#include <stdatomic.h>

#include "compiler.h"
#include "forked.h"
#include "log.h"

/* Takes a buffer for the Reply chunk, and describes it in *reply. If the device can't revoke
 * access, also takes a buffer for a private copy of the chunk. Returns 0, -ENOBUFS if there is no
 * buffer, or -EMSGSIZE if the buffers are too short. After an error, the call keeps what was taken.
 */
static int offer_reply_chunk(struct weir_call *call, struct remote_buf *reply)
{
	struct weir_engine *engine = call_engine(call);

	if (call->plan.reply_bytes > engine->profile.long_buffer_bytes)
		return -EMSGSIZE;
	call->long_reply = mem_pool_get(engine->long_pool);
	if (!call->long_reply)
		return -ENOBUFS;
	call->reply_handle = call->long_reply->rkey;
	if (!engine->revokes_access) {
		if (call->plan.reply_bytes > engine->profile.bulk_buffer_bytes)
			return -EMSGSIZE;
		call->reply_copy = mem_pool_get(engine->bulk_pool);
		if (!call->reply_copy)
			return -ENOBUFS;
	}
	*reply = (struct remote_buf){
		.rkey = call->long_reply->rkey,
		.len = call->plan.reply_bytes,
		.raddr = call->long_reply->raddr,
	};
	return 0;
}

/* The segments of the Position Zero Read chunk of a Long Call, in their order. */
struct segment_list {
	struct remote_buf segs[2 * CALL_PIECES_MAX];
	uint8_t *base[2 * CALL_PIECES_MAX]; /* addresses of the segments on this side */
	uint32_t n;			    /* number of segments */
	uint32_t copied;		    /* bytes of call->long_call that are in use */
};

static void list_segment(struct segment_list *list, uint8_t *base, struct remote_buf seg)
{
	list->base[list->n] = base;
	list->segs[list->n++] = seg;
}

/* Copies 'len' bytes from 'src' to the buffer call->long_call, which the peer can read, and appends
 * them to the list. If 'src' is NULL, the bytes are zeros. If the last segment of the list ends
 * where the copy begins, that segment is extended. The buffer is taken for the first copy. Returns
 * 0, -ENOBUFS if there is no buffer, or -EMSGSIZE if the rest of the buffer is too short. */
static int list_copied(struct weir_call *call, struct segment_list *list, const uint8_t *src,
		       uint32_t len)
{
	struct remote_buf *last = list->n > 0 ? &list->segs[list->n - 1] : NULL;
	struct mem_buf *buf;
	uint8_t *base;
	uint64_t raddr;

	if (!call->long_call)
		call->long_call = mem_pool_get(call_engine(call)->long_pool);
	buf = call->long_call;
	if (!buf)
		return -ENOBUFS;
	if (len > buf->size_bytes - list->copied)
		return -EMSGSIZE;
	base = buf->data + list->copied;
	if (src)
		memcpy(base, src, len);
	else
		memset(base, 0, len);
	raddr = buf->raddr + list->copied;
	list->copied += len;
	if (last && last->rkey == buf->rkey && last->raddr + last->len == raddr)
		last->len += len;
	else
		list_segment(list, base, (struct remote_buf){buf->rkey, len, raddr});
	return 0;
}

/* Returns -EOPNOTSUPP, the error for an item that is too long to be copied and is in memory to
 * which peers can't get access. Logs the error once. */
static cold_code int refuse_unexposed(const struct weir_engine *engine, const struct piece *piece)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		LOG(REQUESTER, ERROR,
		    "an argument of %u bytes is in memory that driver %s can't expose to peers, "
		    "and too long to be copied: use a region of weir_region_create() without "
		    "WEIR_REGION_PRIVATE, or of a memfd with F_SEAL_SHRINK; or raise "
		    "long_buffer_bytes (%llu) in the profile's [memory]",
		    piece->len, engine->ops->name,
		    (unsigned long long)engine->profile.long_buffer_bytes);
	return -EOPNOTSUPP;
}

/* Lists the Payload stream of a Long Call as segments. Data with a remote key are listed where they
 * are. Other data, and padding, are copied. Returns 0, or an error of list_copied() or
 * refuse_unexposed(). */
static int list_segments(struct weir_call *call, struct segment_list *list)
{
	struct weir_engine *engine = call_engine(call);
	int rc = 0;

	list->n = 0;
	list->copied = 0;
	for (uint32_t i = 0; i < call->npieces && rc == 0; i++) {
		const struct piece *piece = &call->pieces[i];
		uint32_t pad = piece->kind == PIECE_XDR ? 0 : weir_xdr_pad(piece->len);

		if (call->plan.reduced & 1u << i)
			continue;
		if (piece->rkey) {
			list_segment(list, piece->base,
				     (struct remote_buf){piece->rkey, piece->len, piece->raddr});
		} else {
			rc = list_copied(call, list, piece->base, piece->len);
			engine->stats.bulk_copies += piece->kind != PIECE_XDR;
			if (rc == -EMSGSIZE && piece->kind != PIECE_XDR)
				return refuse_unexposed(engine, piece);
		}
		if (rc == 0 && pad)
			rc = list_copied(call, list, NULL, pad);
	}
	return rc;
}

/* Plans a window for each segment that the header names, in the order of the header. Until the
 * window is bound, the header has the key of the region that contains the memory. */
static void plan_window_bindings(struct weir_call *call, const struct segment_list *list)
{
	for (uint32_t i = 0; i < list->n; i++)
		call_header_expose(call, list->base[i], list->segs[i].len, list->segs[i].rkey,
				   FABRIC_REMOTE_READ, NULL);
	call_plan_chunks(call, call->plan.reduced, call->plan.use_write_list);
	if (call->long_reply)
		call_header_expose(call, call->long_reply->data, call->plan.reply_bytes,
				   call->long_reply->rkey, FABRIC_REMOTE_WRITE,
				   &call->reply_handle);
}

/* Takes the buffers of a planned call and writes its header. Returns 0, or an error of
 * call_prepare(). */
static int write_header(struct weir_call *call, const struct reduce_call_in *in)
{
	uint32_t extra = call->conn->extra_bytes;
	struct segment_list list;
	struct remote_buf reply;
	int rc = 0;

	list.n = 0;
	if (call->plan.form == REDUCE_LONG) {
		rc = list_segments(call, &list);
		if (rc != 0)
			return rc;
		/* The plan counted one segment for the Payload stream. */
		call->plan.header_bytes += (list.n - 1) * RDMA1_READ_SEGMENT_SIZE;
		if (call->plan.header_bytes > in->call_inline_bytes)
			return -EMSGSIZE;
	}
	if (call->plan.need_reply_chunk)
		rc = offer_reply_chunk(call, &reply);
	if (rc == 0)
		rc = call_reserve_header(call, call->plan.header_bytes + call->conn->extra_bytes);
	if (rc != 0)
		return rc;
	rc = reduce_call_encode(in, &call->plan, call->xid,
				requester_of(call->conn)->credits.wanted, list.segs, list.n,
				call->plan.need_reply_chunk ? &reply : NULL, call->header + extra,
				call->plan.header_bytes, &call->header_bytes);
	call->header_bytes += extra;
	if (rc == 0 && call->window_bindings)
		plan_window_bindings(call, &list);
	return rc;
}

static void count_forms(struct weir_call *call)
{
	struct engine_counters *stats = &call_engine(call)->stats;

	stats->long_calls += call->plan.form == REDUCE_LONG;
	stats->read_chunks += (uint32_t)__builtin_popcount(call->plan.reduced);
	if (call->plan.use_write_list)
		stats->write_chunks += call->nresults;
}

#define COPIED_MAX 512u /* maximum length in bytes of an item that lay_out_copied() copies */

/* If the only item of a call is short and will be inline, copies it to its position in the message,
 * and writes the header of SHAPE_INLINE. The message is then contiguous. This costs less than to
 * gather the item. Returns false, and does nothing, if the call is different or too long. */
static out_of_line bool lay_out_copied(struct weir_call *call)
{
	const struct weir_conn *conn = call->conn;
	const struct piece *item = &call->pieces[1];
	uint32_t bytes = item->len + weir_xdr_pad(item->len), front = call->piece_start;
	size_t behind = weir_xdr_out_len(&call->out) - front;
	/* If the parts before and after the item are not multiples of four bytes, the call is not
	 * XDR. call_prepare() then refuses it. */
	bool is_xdr = ((front | (uint32_t)behind) & 3u) == 0;
	uint8_t *at = call->out.start + front;

	if (call->nitems != 1 || call->npieces != 2 || call->nresults > 0 || !is_xdr ||
	    item->len > COPIED_MAX || reduce_is_bulk(item->len, conn->ep.engine->chunk_bytes) ||
	    !conn->ops->send_direct || (size_t)(call->out.end - call->out.p) < bytes ||
	    RDMA1_HEADER_MIN + front + bytes + behind > conn->send_inline ||
	    RDMA1_HEADER_MIN + call->reply_max_bytes > conn->recv_inline)
		return false;
	memmove(at + bytes, at, behind);
	memcpy(at, item->base, item->len);
	memset(at + item->len, 0, bytes - item->len);
	call->out.p += bytes;
	call->npieces = 0;
	call->nitems = 0;
	call->piece_start = 0;
	return call_lay_out_shape(call, SHAPE_INLINE, 0);
}

/* Writes the header of a call with items or results, if it has a shape. The function is out of
 * line, so that calls without them need no stack frame. */
static out_of_line bool lay_out_with_chunk(struct weir_call *call)
{
	if (call->nitems == 0)
		return call_lay_out_shape(call, SHAPE_ONE_WRITE, 0);
	return call_lay_out_shape(call, SHAPE_ONE_READ, 0) || lay_out_copied(call);
}

bool call_prepare_shape(struct weir_call *call)
{
	if (unlikely((call->nitems | call->nresults) != 0))
		return lay_out_with_chunk(call);
	return call_lay_out_shape(call, SHAPE_INLINE, 0);
}

int call_write_header(struct weir_call *call, const struct reduce_call_in *in)
{
	int rc = write_header(call, in);

	if (rc != 0)
		return rc;
	call->is_exposed = call->plan.form == REDUCE_LONG || call->plan.reduced ||
			   call->plan.use_write_list || call->plan.need_reply_chunk;
	count_forms(call);
	return 0;
}

/* Plans a call for the base protocol, and lets the protocol choose its form and write its header.
 * Returns 0, or an error of call_prepare(). */
static int prepare_message(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;
	struct reduce_result results[CALL_ITEMS_MAX];
	struct reduce_call_in in;
	int rc;

	call_close_piece(call);
	call_list_results(call, results);
	call->has_extra = true;
	in = (struct reduce_call_in){
		.pieces = call->pieces,
		.npieces = call->npieces,
		.call_inline_bytes = conn->send_inline - conn->extra_bytes,
		.chunk_bytes = conn->chunk_bytes,
		.reply_inline_bytes = conn->recv_inline - conn->extra_bytes,
		.reply_max_bytes = call->reply_max_bytes,
		.results = results,
		.nresults = call->nresults,
		.may_reduce = call->may_reduce,
	};
	rc = reduce_call_plan(&in, &call->plan);
	return rc == 0 ? conn->protocol->write_header(call, &in) : rc;
}

int call_prepare(struct weir_call *call)
{
	uint32_t npieces = call->npieces, piece_start = call->piece_start;
	int rc;

	/* A child process would write to buffers that it shares with its parent. */
	if (engine_is_forked(call_engine(call)))
		return engine_fork_refuse();
	rc = prepare_message(call);
	call->is_contiguous = false;
	if (unlikely(rc != 0)) {
		call->npieces = npieces;
		call->piece_start = piece_start;
		call_release_extra(call);
	}
	return rc;
}
