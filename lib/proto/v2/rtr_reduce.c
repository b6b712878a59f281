/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans and encodes calls and replies with the operations of the extension, as reduce_call.c and
 * reduce_reply.c do for the base protocol. */
#include "rtr_reduce.h"

#include <errno.h>

#define ITEM_SIZE   (12u + 4u + RDMA1_SEGMENT_SIZE) /* xmddp_mitem of type EXRW, one segment */
#define PLACED_SIZE (12u + 8u)			    /* xmddp_mitem of type TBSN, no TBSNs */
#define TBSN_SIZE   4u
#define SET_SIZE    12u

/* ---- calls ---- */

static uint64_t padded(uint32_t bytes)
{
	return (uint64_t)bytes + weir_xdr_pad(bytes);
}

/* Returns the type of the direction for a result. A result without memory is requested inline. Its
 * direction has the type RTR_EXRW, and a minimum that no result reaches. */
static enum rtr_type type_of(enum rtr_type results_by, const struct reduce_result *result)
{
	return result->nsegments > 0 && results_by != 0 ? results_by : RTR_EXRW;
}

static uint32_t direction_size(const struct rtr_reduce_call *call,
			       const struct reduce_result *result)
{
	enum rtr_type type = type_of(call->results_by, result);

	if (type == RTR_TBSN)
		return 8;
	return 8 + (type == RTR_BYSIZE ? 4u : 0u) + 4 + result->nsegments * RDMA1_SEGMENT_SIZE;
}

static uint32_t items_size(const struct rtr_reduce_call *call)
{
	uint32_t bytes = 0;

	if (!call->layout)
		return (uint32_t)__builtin_popcount(call->plan->reduced) * ITEM_SIZE;
	for (uint32_t i = 0; i < call->layout->nitems; i++)
		bytes += PLACED_SIZE + TBSN_SIZE * call->layout->items[i].ntbsns;
	return bytes;
}

/* Returns the number of consecutive results from 'first' on that belong to the same operation. */
static uint32_t result_set_size(const struct reduce_call_in *in, uint32_t first)
{
	uint32_t n = 1;

	while (first + n < in->nresults && in->results[first + n].begin == in->results[first].begin)
		n++;
	return n;
}

static uint32_t count_sets(const struct reduce_call_in *in)
{
	uint32_t sets = 0;

	for (uint32_t i = 0; i < in->nresults; i += result_set_size(in, i))
		sets++;
	return sets;
}

/* Unlike the longest reply of the base protocol, the longest reply here also has entries in its
 * header, and results in its payload that are too short to be placed. */
void rtr_reduce_reply_max(const struct rtr_reduce_call *call, uint32_t *header_bytes,
			  uint64_t *payload_bytes)
{
	const struct reduce_call_in *in = call->in;
	uint32_t header = RTR_XMTRESP_SIZE + call->own_targets * TBSN_SIZE;
	uint64_t payload = in->reply_max_bytes;

	for (uint32_t i = 0; i < in->nresults; i++) {
		const struct reduce_result *result = &in->results[i];
		uint32_t most = result->max_bytes;

		if (call->plan->use_write_list) {
			/* An entry of type EXRW is larger than an entry of type TBSN without its
			 * TBSNs. */
			header += 12 + 4 + result->nsegments * RDMA1_SEGMENT_SIZE;
			if (result->nsegments > 0 && most >= call->min_bytes)
				most = call->min_bytes > 0 ? call->min_bytes - 1 : 0;
		}
		payload += (uint64_t)most + weir_xdr_pad(most);
	}
	*header_bytes = header;
	*payload_bytes = payload;
}

uint32_t rtr_reduce_call_header(const struct rtr_reduce_call *call)
{
	const struct reduce_call_in *in = call->in;
	uint32_t bytes = RTR_XMTREQ_SIZE;

	bytes += items_size(call);
	if (call->plan->use_write_list)
		bytes += SET_SIZE * count_sets(in);
	for (uint32_t i = 0; call->plan->use_write_list && i < in->nresults; i++)
		bytes += direction_size(call, &in->results[i]);
	return bytes;
}

uint32_t rtr_reduce_call_size(const struct rtr_reduce_call *call)
{
	const struct reduce_call_in *in = call->in;
	uint32_t bytes = rtr_reduce_call_header(call), reply_header;
	uint64_t reply_payload;

	rtr_reduce_reply_max(call, &reply_header, &reply_payload);
	if ((uint64_t)bytes + call->plan->inline_bytes > in->call_inline_bytes ||
	    reply_header + reply_payload > in->reply_inline_bytes)
		return 0;
	return bytes;
}

static struct rdma1_segment segment_of(const struct remote_buf *target)
{
	return (struct rdma1_segment){target->rkey, target->len, target->raddr};
}

/* Encodes the items. Returns the length of the call's whole payload stream, with all items in it.
 */
static uint32_t put_items(const struct rtr_reduce_call *call, struct weir_xdr_out *out)
{
	const struct reduce_call_in *in = call->in;
	uint32_t at = 0, placed = 0;

	rtr_put_count(out, (uint32_t)__builtin_popcount(call->plan->reduced));
	for (uint32_t i = 0; i < in->npieces; i++) {
		const struct piece *piece = &in->pieces[i];
		const struct rdma1_segment seg = {piece->rkey, piece->len, piece->raddr};

		if (call->plan->reduced & 1u << i && call->layout) {
			uint32_t n = placed++;

			rtr_put_item_tbsn(out, at, piece->len, 0, call->layout->items[n].first_tbsn,
					  call->layout->items[n].ntbsns);
		} else if (call->plan->reduced & 1u << i) {
			rtr_put_item_exrw(out, at, piece->len, &seg, 1);
		}
		at += piece->kind == PIECE_XDR
			      ? piece->len
			      : (uint32_t)padded(
					piece->len); /* reduce_call_plan() has limited the sum */
	}
	return at;
}

static void put_direction(const struct rtr_reduce_call *call, const struct reduce_result *result,
			  struct weir_xdr_out *out)
{
	struct rdma1_segment segment;
	/* A result without memory must be sent inline, whatever its length. */
	uint32_t min_bytes = result->nsegments > 0 ? call->min_bytes : UINT32_MAX;
	enum rtr_type type = type_of(call->results_by, result);

	rtr_put_rsditem_begin(out, min_bytes, type, call->dsdov, result->nsegments);
	for (uint32_t i = 0; type != RTR_TBSN && i < result->nsegments; i++) {
		segment = segment_of(&result->segments[i]);
		rtr_put_segment(out, &segment);
	}
}

void rtr_reduce_call_encode(const struct rtr_reduce_call *call, uint32_t xid, uint32_t credit,
			    uint8_t *buf)
{
	const struct reduce_call_in *in = call->in;
	uint32_t nresults = call->plan->use_write_list ? in->nresults : 0;
	uint32_t len_bytes, offset, pslen = call->plan->inline_bytes;
	struct weir_xdr_out out;

	if (call->split)
		rtr_split_part(call->split, 0, &offset, &pslen);
	rtr_put_begin(&out, buf, rtr_reduce_call_header(call), xid, credit, RDMA1_CALL, call->base,
		      RTR_XMTREQ);
	len_bytes = put_items(call, &out);
	rtr_put_count(&out, nresults > 0 ? count_sets(in) : 0);
	for (uint32_t i = 0; i < nresults;) {
		const struct reduce_result *first = &in->results[i];
		uint32_t end = i + result_set_size(in, i);

		rtr_put_set(&out, first->begin, first->end > 0 ? first->end : len_bytes, end - i);
		for (; i < end; i++)
			put_direction(call, &in->results[i], &out);
	}
	rtr_put_request(&out, call->count > 0 ? call->count : 1,
			call->reply_count > 0 ? call->reply_count : 1, pslen);
	rtr_put_end(&out);
}

/* Returns whether the segments of an entry are a valid answer to the segments that were offered for
 * a result. They must be the same segments, none of them longer. Empty segments at the end are
 * allowed to be missing. */
static bool is_answer(const struct rtr_item *item, const struct reduce_result *result)
{
	struct rdma1_segment_iter segments = item->segments;
	struct rdma1_segment seg;
	uint64_t sum = 0, room = 0;

	if (segments.left > result->nsegments)
		return false;
	for (uint32_t i = 0; rdma1_segments_next(&segments, &seg); i++) {
		const struct remote_buf *offered = &result->segments[i];

		if (seg.handle != offered->rkey || seg.offset != offered->raddr ||
		    seg.length > offered->len)
			return false;
		/* The data must be contiguous: each segment before this one must be full. */
		if (seg.length > 0 && sum < room)
			return false;
		sum += seg.length;
		room += offered->len;
	}
	return sum == item->length && item->length <= result->max_bytes;
}

bool rtr_reduce_results(const struct rtr_header *reply, const struct reduce_result *results,
			uint32_t nresults, enum rtr_type results_by, uint32_t *item_bytes)
{
	struct rtr_item item;
	struct rtr_iter it;
	bool deregisters;

	if (reply->nitems != nresults)
		return false;
	rtr_items_begin(reply, &it);
	for (uint32_t i = 0; rtr_items_next(&it, &item); i++) {
		if (!rtr_directions_result(type_of(results_by, &results[i]), item.type,
					   &deregisters))
			return false;
		item_bytes[i] = item.type == RTR_NOITEM ? 0 : RTR_REDUCE_INLINE;
		if (item.type != RTR_EXRW)
			continue;
		if (!is_answer(&item, &results[i]))
			return false;
		item_bytes[i] = item.length;
	}
	return true;
}

/* ---- replies ---- */

/* An entry of Transmit Response. It answers the direction for one item of the reply. */
struct entry {
	uint32_t index; /* index of its direction among all directions of the request */
	uint32_t piece; /* index of the item among the pieces */
	uint32_t disp;	/* offset of the item in the whole reply */
	enum rtr_type type;
	uint32_t first_tbsn; /* for RTR_TBSN: TBSN of its first target */
	uint32_t ntbsns;     /* for RTR_TBSN: number of its targets */
};

/* The state of a reply that is planned. */
struct reply {
	const struct rtr_reduce_reply *in;
	struct entry entries[REDUCE_PIECES_MAX];
	uint32_t nentries;
	bool may_place;
	uint32_t targets; /* targets in each transmission */
	uint32_t ntbsns;  /* number of targets that are assigned to items */
	uint32_t placed;  /* Bit i is set if piece i is placed in targets. */
	uint32_t nxfers;  /* number of all RDMA Writes */
	uint32_t nlisted; /* number of RDMA Writes in 'xfers' */
	struct reduce_xfer *xfers;
	uint32_t max_xfers;
};

static uint32_t count_max(const struct rtr_reduce_reply *in)
{
	return in->count_max > 0 ? in->count_max : 1;
}

/* Returns whether all allowed transmissions have enough free targets for an item of 'len' bytes. If
 * so, *ntbsns is the number of targets that the item takes. At most RTR_PLACE_TARGETS_MAX targets
 * are assigned, because a receiver does not check more. */
static bool has_targets(const struct reply *reply, uint32_t len, uint32_t *ntbsns)
{
	uint64_t most = (uint64_t)reply->targets * count_max(reply->in);
	struct rtr_target target;

	if (!reply->may_place || len == 0)
		return false;
	if (most > RTR_PLACE_TARGETS_MAX)
		most = RTR_PLACE_TARGETS_MAX;
	for (*ntbsns = 0; len > 0; ++*ntbsns) {
		uint32_t tbsn = reply->ntbsns + *ntbsns;

		if (tbsn >= most)
			return false;
		(void)rtr_buffer_target(reply->in->targets, tbsn % reply->targets, &target);
		len -= len < target.length ? len : target.length;
	}
	return true;
}

/* Chooses how each item is sent. Sets bit i of *reduced if piece i is not in the payload, and
 * *inline_bytes to the size of the payload without these pieces. Returns 0, -EMSGSIZE if a
 * direction permits no way for its result, or -EINVAL if the pieces or the request are not valid.
 */
static int choose(struct reply *reply, uint32_t *reduced, uint64_t *inline_bytes)
{
	const struct rtr_reduce_reply *in = reply->in;
	struct rtr_directions direct;
	uint64_t at = 0;

	if (in->npieces > REDUCE_PIECES_MAX || rtr_directions_init(&direct, in->request) != 0)
		return -EINVAL;
	reply->nentries = reply->ntbsns = reply->placed = 0;
	*reduced = 0;
	*inline_bytes = 0;
	for (uint32_t i = 0; i < in->npieces; i++) {
		const struct piece *piece = &in->pieces[i];
		uint64_t bytes = piece->kind == PIECE_XDR ? piece->len : padded(piece->len);
		struct entry *entry = &reply->entries[reply->nentries];
		struct rtr_rsditem item = {0};

		if (piece->kind == PIECE_XDR && piece->len % WEIR_XDR_UNIT != 0)
			return -EINVAL;
		*inline_bytes += bytes;
		at += bytes;
		if (at > UINT32_MAX)
			return -EINVAL;
		if (piece->kind != PIECE_ITEM ||
		    !rtr_directions_next(&direct, in->args_at + piece->op, &item, &entry->index))
			continue;
		entry->piece = i;
		entry->disp = (uint32_t)(at - bytes);
		if (piece->lkey == 0)
			entry->type = RTR_NOITEM;
		else if (!in->may_reduce)
			entry->type = RTR_TOOSHORT;
		else
			entry->type = (enum rtr_type)rtr_directions_choose(
				&item, piece->len, has_targets(reply, piece->len, &entry->ntbsns),
				true);
		if (entry->type == 0)
			return -EMSGSIZE;
		if (entry->type == RTR_EXRW || entry->type == RTR_TBSN) {
			*reduced |= 1u << i;
			*inline_bytes -= bytes;
		}
		if (entry->type == RTR_TBSN) {
			entry->first_tbsn = reply->ntbsns;
			reply->ntbsns += entry->ntbsns;
			reply->placed |= 1u << i;
		}
		reply->nentries++;
	}
	return 0;
}

static const struct entry *find_entry(const struct reply *reply, uint32_t index)
{
	for (uint32_t i = 0; i < reply->nentries; i++)
		if (reply->entries[i].index == index)
			return &reply->entries[i];
	return NULL;
}

/* Encodes the entry of an item that is written by RDMA Writes: its segments, each with the number
 * of bytes that are written to it. The function also lists the RDMA Writes. */
static void put_written(struct reply *reply, const struct entry *entry,
			struct rdma1_segment_iter segments, struct weir_xdr_out *out)
{
	const struct piece *piece = &reply->in->pieces[entry->piece];
	struct rdma1_segment seg;
	uint32_t done = 0;

	rtr_put_item_inline(out, RTR_EXRW, entry->disp, piece->len);
	rtr_put_count(out, segments.left);
	while (rdma1_segments_next(&segments, &seg)) {
		uint32_t left = piece->len - done;

		if (seg.length > left)
			seg.length = left;
		rtr_put_segment(out, &seg);
		if (seg.length == 0)
			continue;
		if (reply->nxfers++ >= reply->in->first_xfer && reply->nlisted < reply->max_xfers)
			reply->xfers[reply->nlisted++] =
				(struct reduce_xfer){piece->base + done, piece->lkey, seg.length,
						     seg.handle, seg.offset};
		done += seg.length;
	}
}

static void put_entries(struct reply *reply, struct weir_xdr_out *out)
{
	struct rtr_rsditem item;
	struct rtr_iter sets;
	struct rtr_set set;
	uint32_t index = 0;

	rtr_put_count(out, rtr_directions_count(reply->in->request));
	rtr_sets_begin(reply->in->request, &sets);
	while (rtr_sets_next(&sets, &set)) {
		while (rtr_rsditems_next(&set.items, &item)) {
			const struct entry *entry = find_entry(reply, index++);

			if (!entry || entry->type == RTR_NOITEM)
				rtr_put_item_inline(out, RTR_NOITEM, 0, 0);
			else if (entry->type == RTR_TOOSHORT)
				rtr_put_item_inline(out, RTR_TOOSHORT, entry->disp,
						    reply->in->pieces[entry->piece].len);
			else if (entry->type == RTR_TBSN)
				rtr_put_item_tbsn(out, entry->disp,
						  reply->in->pieces[entry->piece].len, 0,
						  entry->first_tbsn, entry->ntbsns);
			else
				put_written(reply, entry, item.segments, out);
		}
	}
}

/* Returns how many transmissions the reply takes, or 0 if it takes too many. If an item is placed
 * in targets, the header and the payload of each transmission must end before the first target. For
 * this the function reduces split->send_bytes_max. */
static uint32_t split_reply(const struct reply *reply, struct rtr_split *split)
{
	uint32_t count, bulk = 0;

	if (reply->placed) {
		struct rtr_target first;

		(void)rtr_buffer_target(reply->in->targets, 0, &first);
		if (first.offset < split->send_bytes_max)
			split->send_bytes_max = first.offset;
		bulk = reply->ntbsns / reply->targets + (reply->ntbsns % reply->targets != 0);
	}
	count = rtr_split_count(split);
	if (count > 0 && count < bulk)
		count = bulk;
	return count <= count_max(reply->in) ? count : 0;
}

static int plan_reply(struct reply *reply, uint8_t *buf, uint32_t size,
		      struct reduce_reply_plan *plan, struct rtr_reduce_form *form)
{
	const struct rtr_reduce_reply *in = reply->in;
	struct weir_xdr_out out;
	uint32_t reduced, offset, pslen;
	uint64_t inline_bytes;
	int rc = choose(reply, &reduced, &inline_bytes);

	if (rc != 0)
		return rc;
	reply->nxfers = reply->nlisted = 0;
	rtr_put_begin(&out, buf, size, in->request->xid, in->credit, RDMA1_REPLY, in->request->base,
		      RTR_XMTRESP);
	put_entries(reply, &out);
	if (out.failed)
		return -ENOSPC;
	/* The header has two more words: the number of transmissions, and the length of the payload
	 * in the first transmission. */
	form->split = (struct rtr_split){(uint32_t)inline_bytes,
					 (uint32_t)weir_xdr_out_len(&out) + 8, in->inline_bytes};
	form->count = split_reply(reply, &form->split);
	form->placed = reply->placed;
	if (form->count == 0)
		return -EMSGSIZE;
	rtr_split_part(&form->split, 0, &offset, &pslen);
	rtr_put_response(&out, form->count, pslen);
	if (out.failed)
		return -ENOSPC;
	*plan = (struct reduce_reply_plan){
		.form = REDUCE_SHORT,
		.header_bytes = rtr_put_end(&out),
		.reduced = reduced,
		.inline_bytes = (uint32_t)inline_bytes,
		.nxfers = reply->nxfers,
	};
	return 0;
}

int rtr_reduce_reply(const struct rtr_reduce_reply *in, uint8_t *buf, uint32_t size,
		     struct reduce_xfer *xfers, uint32_t max_xfers, struct reduce_reply_plan *plan,
		     struct rtr_reduce_form *form)
{
	struct reply reply = {.in = in, .xfers = xfers, .max_xfers = max_xfers};
	int rc;

	reply.targets = in->targets ? rtr_buffer_targets(in->targets) : 0;
	reply.may_place = reply.targets > 0;
	rc = plan_reply(&reply, buf, size, plan, form);
	if (rc == -EMSGSIZE && reply.may_place) {
		reply.may_place = false;
		rc = plan_reply(&reply, buf, size, plan, form);
	}
	return rc;
}
