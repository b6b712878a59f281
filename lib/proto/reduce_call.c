/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a call travels (RFC 8166 section 3.5). Whole and inline when it fits: a Send costs less than
 * a Send and a READ, but for the longest item, if it has chunk_bytes, which goes by a Read chunk
 * all the same. Else each DDP-eligible item that the peer may read goes by a Read chunk of its own.
 * Else what is left of the Payload stream goes by a Position Zero Read chunk, and the Send holds
 * the transport header alone.
 */
#include <errno.h>

#include <weir/xdr.h>

#include "reduce.h"

/* A Reply chunk of one segment adds its count and the segment; the word that says whether it is
 * there always is. */
#define REPLY_CHUNK_SIZE (4u + RDMA1_SEGMENT_SIZE)

/* A Write chunk holds the largest item that can come (RFC 8166 sections 3.4.6 and 4.3.2). */
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

	/* Not the first: the RPC header and the item's count word come before it. */
	return in->may_reduce && i > 0 && piece->kind == PIECE_ITEM && piece->len > 0 &&
	       piece->rkey != 0;
}

/* Bytes of the Write list with its chunks, its end left out. */
static uint64_t write_list_bytes(const struct reduce_call_in *in)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < in->nresults; i++)
		bytes += 8 + (uint64_t)in->results[i].nsegments * RDMA1_SEGMENT_SIZE;
	return bytes;
}

/* What the requester must be ready for (RFC 8166 sections 4.3.2 and 4.3.3): the chunks to offer. */
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
	/* All chunks come back in the reply's header, which is always inline. */
	if (plan->need_reply_chunk && header + REPLY_CHUNK_SIZE > in->reply_inline_bytes)
		return -EMSGSIZE;
	stream += weir_xdr_pad((uint32_t)stream);
	if (stream > UINT32_MAX)
		return -EINVAL;
	plan->reply_bytes = plan->need_reply_chunk ? (uint32_t)stream : 0;
	return 0;
}

/* Reduce an item. Returns the bytes of the Read list that it takes; *left are those of the stream
 * without it. */
static uint64_t reduce_item(const struct reduce_call_in *in, struct reduce_call_plan *plan,
			    uint32_t i, uint64_t *left)
{
	plan->reduced |= 1u << i;
	*left -= (uint64_t)in->pieces[i].len + weir_xdr_pad(in->pieces[i].len);
	return RDMA1_READ_SEGMENT_SIZE;
}

/* Reduce all that can be, which leaves *left bytes of the stream. Returns the bytes of the Read
 * list, its end left out. */
static uint64_t reduce_items(const struct reduce_call_in *in, struct reduce_call_plan *plan,
			     uint64_t *left)
{
	uint64_t list_bytes = 0;

	for (uint32_t i = 0; i < in->npieces; i++)
		if (is_reducible(in, i))
			list_bytes += reduce_item(in, plan, i, left);
	return list_bytes;
}

/* The same where all would fit inline: of what has chunk_bytes, the longest alone. A peer that
 * takes but one chunk of a call, or has but one buffer for them, can carry it out as if all had
 * gone inline. */
static uint64_t reduce_longest(const struct reduce_call_in *in, struct reduce_call_plan *plan,
			       uint64_t *left)
{
	uint32_t longest = 0; /* which is no item */

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
			/* No room to list the items: they stay in the stream. */
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
			/* Without padding: the chunk is as long as the item (3.4.5). */
			const struct rdma1_segment seg = {piece->rkey, piece->len, piece->raddr};

			rdma1_write_read_segment(w, position, &seg);
		}
		position += piece->len;
		if (piece->kind != PIECE_XDR)
			position += weir_xdr_pad(piece->len);
	}
}

/* The Write list, and the Reply chunk if there is one. */
static void write_results(struct rdma1_writer *w, const struct reduce_call_in *in,
			  const struct reduce_call_plan *plan, const struct remote_buf *reply)
{
	rdma1_write_list_end(w);
	for (uint32_t i = 0; i < in->nresults && plan->use_write_list; i++) {
		rdma1_write_chunk(w, in->results[i].nsegments);
		for (uint32_t j = 0; j < in->results[i].nsegments; j++) {
			const struct remote_buf *target = &in->results[i].segments[j];
			const struct rdma1_segment seg = {target->rkey, target->len, target->raddr};

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
