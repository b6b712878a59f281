/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides how a call is sent (RFC 8166 section 3.5):
 *
 * - If the whole call fits inline, it is sent inline, because a Send costs less than a Send and a
 *   READ. However, if the longest item has at least chunk_bytes, this item is sent by a Read chunk.
 * - If the call does not fit, each DDP-eligible item that the peer is allowed to read is sent by a
 *   Read chunk of its own.
 * - If the call still does not fit, the rest of the Payload stream is sent by a Position Zero Read
 *   chunk, and the Send has only the transport header.
 */
#include <errno.h>

#include <weir/xdr.h>

#include "reduce.h"

/* The bytes by which a Reply chunk of one segment extends a header: its count word and the segment.
 * The word that says whether there is a Reply chunk is in each header. */
#define REPLY_CHUNK_SIZE (4u + RDMA1_SEGMENT_SIZE)

/* Returns whether the Write chunk of a result is empty, or has room for the largest possible result
 * (RFC 8166 sections 3.4.6 and 4.3.2). */
static bool check_result(const struct reduce_result *result)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < result->nsegments; i++)
		bytes += result->segments[i].len;
	return result->nsegments == 0 || result->max_bytes <= bytes;
}

static bool check(const struct reduce_call_in *in, uint64_t *stream)
{
	*stream = 0;
	if (in->npieces == 0 || in->npieces > REDUCE_PIECES_MAX ||
	    in->nresults > REDUCE_RESULT_ITEMS_MAX)
		return false;
	for (uint32_t i = 0; i < in->npieces; i++) {
		const struct piece *piece = &in->pieces[i];

		if (piece->kind == PIECE_XDR && piece->len % WEIR_XDR_UNIT != 0)
			return false;
		*stream += piece->len;
		if (piece->kind != PIECE_XDR)
			*stream += weir_xdr_pad(piece->len);
	}
	for (uint32_t i = 0; i < in->nresults; i++)
		if (!check_result(&in->results[i]))
			return false;
	return *stream <= UINT32_MAX;
}

static bool is_reducible(const struct reduce_call_in *in, uint32_t i)
{
	const struct piece *piece = &in->pieces[i];

	/* The first piece is not reducible, because it has the RPC header. */
	return in->may_reduce && i > 0 && piece->kind == PIECE_ITEM && piece->len > 0 &&
	       piece->rkey != 0;
}

/* Returns the size of the Write list with a chunk for each result, without the word that ends the
 * list. */
static uint64_t write_list_bytes(const struct reduce_call_in *in)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < in->nresults; i++)
		bytes += 8 + (uint64_t)in->results[i].nsegments * RDMA1_SEGMENT_SIZE;
	return bytes;
}

/* Plans the chunks that the requester must offer for the reply (RFC 8166 sections 4.3.2 and 4.3.3).
 * Returns 0, -EMSGSIZE or -EINVAL, as reduce_call_plan() does. */
static int plan_reply_resources(const struct reduce_call_in *in, struct reduce_call_plan *plan)
{
	uint64_t stream = in->reply_max_bytes, header = RDMA1_HEADER_MIN;

	plan->use_write_list = false;
	for (uint32_t i = 0; i < in->nresults && in->may_reduce; i++)
		plan->use_write_list |= in->results[i].nsegments > 0;
	for (uint32_t i = 0; i < in->nresults; i++)
		if (!plan->use_write_list || in->results[i].nsegments == 0)
			stream += (uint64_t)in->results[i].max_bytes +
				  weir_xdr_pad(in->results[i].max_bytes);
	if (plan->use_write_list)
		header += write_list_bytes(in);
	plan->need_reply_chunk = header + stream > in->reply_inline_bytes;
	/* The header of the reply has all chunks again, and must fit inline. */
	if (plan->need_reply_chunk && header + REPLY_CHUNK_SIZE > in->reply_inline_bytes)
		return -EMSGSIZE;
	stream += weir_xdr_pad((uint32_t)stream);
	if (stream > UINT32_MAX)
		return -EINVAL;
	plan->reply_bytes = plan->need_reply_chunk ? (uint32_t)stream : 0;
	return 0;
}

/* Marks item i as reduced, and subtracts its size from *left, the size of the stream. Returns the
 * size of the item's entry in the Read list. */
static uint64_t reduce_item(const struct reduce_call_in *in, struct reduce_call_plan *plan,
			    uint32_t i, uint64_t *left)
{
	plan->reduced |= 1u << i;
	*left -= (uint64_t)in->pieces[i].len + weir_xdr_pad(in->pieces[i].len);
	return RDMA1_READ_SEGMENT_SIZE;
}

/* Reduces all reducible items, and subtracts their sizes from *left. Returns the size of the Read
 * list, without the word that ends the list. */
static uint64_t reduce_items(const struct reduce_call_in *in, struct reduce_call_plan *plan,
			     uint64_t *left)
{
	uint64_t list_bytes = 0;

	for (uint32_t i = 0; i < in->npieces; i++)
		if (is_reducible(in, i))
			list_bytes += reduce_item(in, plan, i, left);
	return list_bytes;
}

/* Reduces one item of a call that would fit inline: the longest reducible item, if it has at least
 * chunk_bytes. Only one item is reduced, because some peers accept only one chunk in a call, or
 * have only one buffer for chunks. Such a peer accepts the call as it would accept a call that is
 * wholly inline. Does to *left what reduce_item() does. Returns the size of the item's entry in the
 * Read list, or 0 if no item is reduced. */
static uint64_t reduce_longest(const struct reduce_call_in *in, struct reduce_call_plan *plan,
			       uint64_t *left)
{
	uint32_t longest = 0; /* 0 means no item */

	for (uint32_t i = 1; i < in->npieces; i++)
		if (is_reducible(in, i) && in->pieces[i].len >= in->chunk_bytes &&
		    (longest == 0 || in->pieces[i].len > in->pieces[longest].len))
			longest = i;
	return longest > 0 ? reduce_item(in, plan, longest, left) : 0;
}

int reduce_call_plan(const struct reduce_call_in *in, struct reduce_call_plan *plan)
{
	uint64_t stream, header, left, reads = 0;
	bool fits;
	int rc;

	if (!check(in, &stream))
		return -EINVAL;
	rc = plan_reply_resources(in, plan);
	if (rc != 0)
		return rc;
	header = RDMA1_HEADER_MIN;
	if (plan->use_write_list)
		header += write_list_bytes(in);
	if (plan->need_reply_chunk)
		header += REPLY_CHUNK_SIZE;
	plan->reduced = 0;
	plan->stream_bytes = (uint32_t)stream;
	fits = header + stream <= in->call_inline_bytes;
	left = stream;
	if (!fits)
		reads = reduce_items(in, plan, &left);
	else if (in->chunk_bytes > 0)
		reads = reduce_longest(in, plan, &left);
	if (fits && (reads == 0 || header + reads + left > in->call_inline_bytes)) {
		plan->form = REDUCE_SHORT;
		plan->reduced = 0;
		plan->header_bytes = (uint32_t)header;
		plan->inline_bytes = (uint32_t)stream;
		return 0;
	}
	plan->form = REDUCE_CHUNKED;
	if (header + reads + left > in->call_inline_bytes) {
		plan->form = REDUCE_LONG;
		header += RDMA1_READ_SEGMENT_SIZE;
		if (header + reads > in->call_inline_bytes) {
			/* The Read list of the items does not fit. Therefore the items stay in the
			 * stream. */
			plan->reduced = 0;
			reads = 0;
			left = stream;
		}
	}
	header += reads;
	if (header > in->call_inline_bytes)
		return -EMSGSIZE;
	plan->header_bytes = (uint32_t)header;
	plan->stream_bytes = (uint32_t)left;
	plan->inline_bytes = plan->form == REDUCE_LONG ? 0 : (uint32_t)left;
	return 0;
}

static void write_reads(struct rdma1_writer *w, const struct reduce_call_in *in,
			const struct reduce_call_plan *plan)
{
	uint32_t position = 0;

	for (uint32_t i = 0; i < in->npieces; i++) {
		const struct piece *piece = &in->pieces[i];

		if (plan->reduced & 1u << i) {
			/* The chunk is as long as the item, without padding (RFC 8166 section
			 * 3.4.5). */
			const struct rdma1_segment seg = {piece->rkey, piece->len, piece->raddr};

			rdma1_write_read_segment(w, position, &seg);
		}
		position += piece->len;
		if (piece->kind != PIECE_XDR)
			position += weir_xdr_pad(piece->len);
	}
}

/* Writes the end of the Read list, the Write list, and the Reply chunk or the word that there is
 * none. */
static void write_results(struct rdma1_writer *w, const struct reduce_call_in *in,
			  const struct reduce_call_plan *plan, const struct remote_buf *reply)
{
	rdma1_write_list_end(w);
	for (uint32_t i = 0; i < in->nresults && plan->use_write_list; i++) {
		rdma1_write_chunk(w, in->results[i].nsegments);
		for (uint32_t j = 0; j < in->results[i].nsegments; j++) {
			const struct remote_buf *remote = &in->results[i].segments[j];
			const struct rdma1_segment seg = {remote->rkey, remote->len, remote->raddr};

			rdma1_write_segment(w, &seg);
		}
	}
	rdma1_write_list_end(w);
	if (reply) {
		const struct rdma1_segment seg = {reply->rkey, reply->len, reply->raddr};

		rdma1_write_reply_chunk(w, 1);
		rdma1_write_segment(w, &seg);
	} else {
		rdma1_write_no_reply_chunk(w);
	}
}

int reduce_call_encode(const struct reduce_call_in *in, const struct reduce_call_plan *plan,
		       uint32_t xid, uint32_t credit, const struct remote_buf *long_segs,
		       uint32_t nlong, const struct remote_buf *reply, uint8_t *buf, uint32_t size,
		       uint32_t *len)
{
	bool is_long = plan->form == REDUCE_LONG;
	struct rdma1_writer w;

	if (is_long != (nlong > 0) || plan->need_reply_chunk != (reply != NULL))
		return -EINVAL;
	rdma1_write_begin(&w, buf, size, xid, credit, is_long ? RDMA1_NOMSG : RDMA1_MSG);
	for (uint32_t i = 0; i < nlong; i++) {
		const struct rdma1_segment seg = {long_segs[i].rkey, long_segs[i].len,
						  long_segs[i].raddr};

		rdma1_write_read_segment(&w, 0, &seg);
	}
	if (plan->reduced)
		write_reads(&w, in, plan);
	if (plan->use_write_list || reply)
		write_results(&w, in, plan, reply);
	else
		rdma1_write_no_results(&w);
	if (w.failed)
		return -ENOSPC;
	*len = rdma1_writer_len(&w);
	return 0;
}
