/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans where a sender places the header, the payload and the items of a message (rtr_place.h). */
#include "rtr_group.h"
#include "rtr_place.h"

#define ITEM_HEADER_SIZE 20u /* an xmddp_mitem of type TBSN, without its TBSNs */

/* Assigns targets to all items, and adds the size of the items to the header. Each item starts in a
 * target of its own. Stores the number of assigned targets in *ntbsns. Returns 0, or -EMSGSIZE if
 * there are too few targets. */
static int give_targets(const struct rtr_layout_in *in, struct rtr_layout *layout, uint32_t *ntbsns)
{
	/* There are 'most' targets in all allowed transmissions. */
	uint64_t most = (uint64_t)layout->targets * in->count_max;
	uint32_t n = 0;

	for (uint32_t i = 0; i < in->nitems; i++) {
		uint32_t left = in->item_bytes[i];

		layout->items[i].first_tbsn = n;
		layout->items[i].len = left;
		while (left > 0) {
			struct rtr_target target;

			if (n >= most || n >= RTR_PLACE_TARGETS_MAX)
				return -EMSGSIZE;
			(void)rtr_buffer_target(in->buffer, n % layout->targets, &target);
			left -= left < target.length ? left : target.length;
			n++;
		}
		layout->items[i].ntbsns = n - layout->items[i].first_tbsn;
		layout->header_bytes += ITEM_HEADER_SIZE + 4 * layout->items[i].ntbsns;
	}
	*ntbsns = n;
	return 0;
}

static struct rtr_split split_of(const struct rtr_layout *layout)
{
	return (struct rtr_split){layout->payload_bytes, layout->header_bytes, layout->lead_bytes};
}

int rtr_layout_plan(const struct rtr_layout_in *in, struct rtr_layout *layout)
{
	struct rtr_target first;
	struct rtr_split split;
	uint32_t ntbsns, bulk;

	if (in->nitems > RTR_LAYOUT_ITEMS_MAX)
		return -EINVAL;
	layout->targets = rtr_buffer_targets(in->buffer);
	/* If a Send could not fill a whole buffer, some targets with a TBSN could not be used. */
	if (!rtr_buffer_target(in->buffer, 0, &first) || in->send_bytes_max < in->buffer->length)
		return -EMSGSIZE;
	layout->lead_bytes =
		in->lead_max > 0 && in->lead_max < first.offset ? in->lead_max : first.offset;
	layout->header_bytes = in->header_bytes;
	layout->payload_bytes = in->payload_bytes;
	layout->nitems = in->nitems;
	if (give_targets(in, layout, &ntbsns) != 0)
		return -EMSGSIZE;
	split = split_of(layout);
	layout->count = rtr_split_count(&split);
	bulk = ntbsns / layout->targets + (ntbsns % layout->targets != 0);
	if (layout->count == 0)
		return -EMSGSIZE;
	if (layout->count < bulk)
		layout->count = bulk;
	return layout->count <= in->count_max ? 0 : -EMSGSIZE;
}

void rtr_layout_payload(const struct rtr_layout *layout, uint32_t n, uint32_t *offset,
			uint32_t *len)
{
	struct rtr_split split = split_of(layout);

	rtr_split_part(&split, n, offset, len);
}

/* Appends the pieces of one item that are in transmission 'n' to the list, which has 'have' pieces
 * before. Returns the new number of pieces, of which at most 'max' are stored. */
static uint32_t item_pieces(const struct rtr_layout *layout, const struct rtr_buffer *buffer,
			    uint32_t item, uint32_t n, struct rtr_piece *pieces, uint32_t max,
			    uint32_t have)
{
	uint32_t tbsn = layout->items[item].first_tbsn, last = tbsn + layout->items[item].ntbsns,
		 done = 0;

	for (; tbsn < last; tbsn++) {
		uint32_t len = layout->items[item].len - done;
		struct rtr_target target;

		(void)rtr_buffer_target(buffer, tbsn % layout->targets, &target);
		if (len > target.length)
			len = target.length;
		if (tbsn / layout->targets == n) {
			if (have < max)
				pieces[have] =
					(struct rtr_piece){item, done, n, target.offset, len};
			have++;
		}
		done += len;
	}
	return have;
}

uint32_t rtr_layout_pieces(const struct rtr_layout *layout, const struct rtr_buffer *buffer,
			   uint32_t n, struct rtr_piece *pieces, uint32_t max)
{
	uint32_t have = 0;

	for (uint32_t item = 0; item < layout->nitems; item++)
		have = item_pieces(layout, buffer, item, n, pieces, max, have);
	return have;
}
