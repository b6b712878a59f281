/* SPDX-License-Identifier: BSD-3-Clause */
/* Iterators over an accepted header of the extension. They check nothing, because rtr_decode() has
 * checked the header. */
#include "rtr.h"

#include "wire.h"

#define ITEM_SIZE    12u /* disp, length, type */
#define SET_SIZE     12u /* begin, end, count */
#define RSDITEM_SIZE 8u	 /* minlen, type */

/* Sets *segments to the counted array of segments at 'p'. Returns a pointer to the byte after the
 * array. */
static const uint8_t *segments_at(const uint8_t *p, struct rdma1_segment_iter *segments)
{
	segments->left = wire_get_u32(p);
	segments->p = p + 4;
	return segments->p + (size_t)segments->left * RDMA1_SEGMENT_SIZE;
}

void rtr_items_begin(const struct rtr_header *rtr, struct rtr_iter *it)
{
	it->p = rtr->items;
	it->left = rtr->nitems;
}

bool rtr_items_next(struct rtr_iter *it, struct rtr_item *item)
{
	if (it->left == 0)
		return false;
	*item = (struct rtr_item){
		.disp = wire_get_u32(it->p),
		.length = wire_get_u32(it->p + 4),
		.type = (enum rtr_type)wire_get_u32(it->p + 8),
	};
	it->p += ITEM_SIZE;
	it->left--;
	if (item->type == RTR_EXRW) {
		it->p = segments_at(it->p, &item->segments);
	} else if (item->type == RTR_TBSN) {
		item->offset = wire_get_u32(it->p);
		item->tbsns.left = wire_get_u32(it->p + 4);
		item->tbsns.p = it->p + 8;
		it->p = item->tbsns.p + (size_t)item->tbsns.left * 4;
	}
	return true;
}

bool rtr_tbsns_next(struct rtr_iter *it, uint32_t *tbsn)
{
	if (it->left == 0)
		return false;
	*tbsn = wire_get_u32(it->p);
	it->p += 4;
	it->left--;
	return true;
}

void rtr_sets_begin(const struct rtr_header *rtr, struct rtr_iter *it)
{
	it->p = rtr->sets;
	it->left = rtr->nsets;
}

bool rtr_sets_next(struct rtr_iter *it, struct rtr_set *set)
{
	struct rtr_rsditem item;
	struct rtr_iter items;

	if (it->left == 0)
		return false;
	set->begin = wire_get_u32(it->p);
	set->end = wire_get_u32(it->p + 4);
	set->items.left = wire_get_u32(it->p + 8);
	set->items.p = it->p + SET_SIZE;
	items = set->items;
	while (rtr_rsditems_next(&items, &item))
		;
	it->p = items.p;
	it->left--;
	return true;
}

bool rtr_rsditems_next(struct rtr_iter *it, struct rtr_rsditem *item)
{
	if (it->left == 0)
		return false;
	*item = (struct rtr_rsditem){
		.minlen = wire_get_u32(it->p),
		.type = (enum rtr_type)wire_get_u32(it->p + 4),
	};
	it->p += RSDITEM_SIZE;
	it->left--;
	if (item->type == RTR_BYSIZE) {
		item->dsdov = wire_get_u32(it->p);
		it->p += 4;
	}
	if (item->type != RTR_TBSN)
		it->p = segments_at(it->p, &item->segments);
	return true;
}

void rtr_reads_begin(const struct rtr_header *rtr, struct rtr_read_iter *it)
{
	*it = (struct rtr_read_iter){0};
	rtr_items_begin(rtr, &it->items);
}

bool rtr_reads_next(struct rtr_read_iter *it, struct rdma1_read_segment *seg)
{
	while (it->segments.left == 0) {
		struct rtr_item item;

		if (!rtr_items_next(&it->items, &item))
			return false;
		it->position = item.disp;
		/* empty, unless the item is read by explicit RDMA */
		it->segments = item.segments;
	}
	seg->position = it->position;
	return rdma1_segments_next(&it->segments, &seg->target);
}

/* Stores pointers to the handles of the segments in 'handles', from index 'n' on and up to 'max' in
 * all. Returns the new number of pointers. The iterators have pointers to constant bytes, but the
 * caller writes to the handles. Therefore each pointer is computed from 'header' and its distance
 * from there. */
static uint32_t note_handles(const struct rdma1_segment_iter *segments, uint8_t *header,
			     uint8_t **handles, uint32_t n, uint32_t max)
{
	for (uint32_t i = 0; i < segments->left && n < max; i++)
		handles[n++] = header + (segments->p - header) + (size_t)i * RDMA1_SEGMENT_SIZE;
	return n;
}

uint32_t rtr_handles(uint8_t *header, uint8_t **handles, uint32_t max)
{
	const uint8_t *items = header + RDMA2_OPTIONAL_SIZE;
	struct rtr_header rtr = {.nitems = wire_get_u32(items), .items = items + 4};
	struct rtr_rsditem direction;
	struct rtr_item item;
	struct rtr_set set;
	struct rtr_iter it;
	uint32_t n = 0;

	rtr_items_begin(&rtr, &it);
	while (rtr_items_next(&it, &item))
		n = note_handles(&item.segments, header, handles, n, max);
	rtr.nsets = wire_get_u32(it.p);
	rtr.sets = it.p + 4;
	rtr_sets_begin(&rtr, &it);
	while (rtr_sets_next(&it, &set))
		while (rtr_rsditems_next(&set.items, &direction))
			n = note_handles(&direction.segments, header, handles, n, max);
	return n;
}
