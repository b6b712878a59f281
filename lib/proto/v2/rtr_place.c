/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the placed items of a received message, and checks their positions (rtr_place.h). */
#include "rtr_place.h"

/* The state of rtr_place(). */
struct placing {
	const struct rtr_header *rtr;
	const struct rtr_buffer *own;
	const struct rtr_received *received;
	struct rtr_report *report;
	struct rtr_piece *pieces;
	uint32_t max;
	uint32_t npieces;
	uint32_t per_buffer; /* targets in each transmission */
	uint32_t total;	     /* targets in all transmissions of the group */
	/* for each target: offset after the data that are placed in it */
	uint32_t ends[RTR_PLACE_TARGETS_MAX];
};

/* Fills in a report about transmission 'seq', and returns -EBADMSG. If 'seq' is not the first
 * transmission, the report names the first transmission as the lead. */
static int wrong_in(struct placing *p, uint32_t seq, enum rtr_err err, uint32_t value, uint32_t min,
		    uint32_t max)
{
	const struct rtr_id first = {p->rtr->xid, p->rtr->direction, RTR_SEQ_FIRST};

	*p->report = (struct rtr_report){
		.bad = {.xid = first.xid, .direction = first.direction, .seq = seq},
		.has_lead = seq != RTR_SEQ_FIRST,
		.lead = seq != RTR_SEQ_FIRST ? first : (struct rtr_id){0},
		.err = err,
		.values = {value, min, max},
	};
	return -EBADMSG;
}

static int wrong(struct placing *p, enum rtr_err err, uint32_t value, uint32_t min, uint32_t max)
{
	return wrong_in(p, RTR_SEQ_FIRST, err, value, min, max);
}

static uint32_t highest(const struct placing *p)
{
	return p->total > 0 ? p->total - 1 : 0;
}

/* Returns the largest offset at which an item can start in the target: the last whole word. */
static uint32_t last_offset(const struct rtr_target *target)
{
	return (target->length - 1) & ~3u;
}

static void list(struct placing *p, const struct rtr_piece *piece)
{
	if (p->npieces < p->max)
		p->pieces[p->npieces] = *piece;
	p->npieces++;
}

/* Checks that the received transmission has the bytes of a piece, and that the piece is after the
 * header and the payload. Returns 0, or fills in the report and returns -EBADMSG. */
static int check_received(struct placing *p, const struct rtr_target *target, uint32_t tbsn,
			  const struct rtr_piece *piece)
{
	const struct rtr_received *received = &p->received[piece->transmission];

	if (piece->at < received->used_bytes)
		return wrong_in(p, RTR_SEQ_FIRST + piece->transmission, RTR_BADOFF,
				piece->at - target->offset, received->used_bytes - target->offset,
				last_offset(target));
	if (piece->at > received->bytes || piece->len > received->bytes - piece->at)
		return wrong_in(p, RTR_SEQ_FIRST + piece->transmission, RTR_BADTBSN, tbsn, 0,
				tbsn > 0 ? tbsn - 1 : 0);
	return 0;
}

/* Checks and lists the piece of an item that starts at offset 'start' of target 'tbsn'. On entry,
 * *taken is the number of bytes of the item in earlier targets. The function adds those in this
 * target. Returns 0, or fills in the report and returns -EBADMSG. */
static int place_in(struct placing *p, const struct rtr_item *item, uint32_t index, uint32_t tbsn,
		    uint32_t start, uint32_t *taken)
{
	struct rtr_target target = {0};
	struct rtr_piece piece;
	int rc = 0;

	/* The target does not exist, or the item has more targets than it needs. */
	if (tbsn >= p->total || *taken == item->length)
		return wrong(p, RTR_BADTBSN, tbsn, 0, highest(p));
	(void)rtr_buffer_target(p->own, tbsn % p->per_buffer, &target);
	if (start >= target.length || start % 4 != 0)
		return wrong(p, RTR_BADOFF, start, 0, last_offset(&target));
	if (start < p->ends[tbsn])
		return wrong(p, RTR_BADOFF, start, p->ends[tbsn], last_offset(&target));
	piece = (struct rtr_piece){
		.item = index,
		.item_offset = *taken,
		.transmission = tbsn / p->per_buffer,
		.at = target.offset + start,
		.len = item->length - *taken,
	};
	if (piece.len > target.length - start)
		piece.len = target.length - start;
	if (p->received)
		rc = check_received(p, &target, tbsn, &piece);
	p->ends[tbsn] = start + piece.len;
	*taken += piece.len;
	list(p, &piece);
	return rc;
}

static int place_item(struct placing *p, struct rtr_item *item, uint32_t index)
{
	uint32_t start = item->offset, taken = 0, tbsn = 0;

	while (rtr_tbsns_next(&item->tbsns, &tbsn)) {
		int rc = place_in(p, item, index, tbsn, start, &taken);

		if (rc != 0)
			return rc;
		start = 0;
	}
	return taken == item->length ? 0 : wrong(p, RTR_BADTBSN, tbsn, 0, highest(p));
}

int rtr_place(const struct rtr_header *rtr, const struct rtr_buffer *own,
	      const struct rtr_received *received, uint32_t nreceived, struct rtr_piece *pieces,
	      uint32_t max, struct rtr_report *report)
{
	/* A target in a transmission that was not received is invalid, even if rtr->count includes
	 * the transmission. */
	const uint32_t count = received && nreceived < rtr->count ? nreceived : rtr->count;
	struct placing p;
	struct rtr_item item;
	struct rtr_iter it;
	uint32_t index = 0;

	p.per_buffer = rtr_buffer_targets(own);
	if ((uint64_t)p.per_buffer * count > RTR_PLACE_TARGETS_MAX)
		return -E2BIG;
	p.rtr = rtr;
	p.own = own;
	p.received = received;
	p.report = report;
	p.pieces = pieces;
	p.max = max;
	p.npieces = 0;
	p.total = p.per_buffer * count;
	for (uint32_t i = 0; i < p.total; i++)
		p.ends[i] = 0;
	rtr_items_begin(rtr, &it);
	while (rtr_items_next(&it, &item)) {
		if (item.type == RTR_TBSN) {
			int rc = place_item(&p, &item, index++);

			if (rc != 0)
				return rc;
		}
	}
	return (int)p.npieces;
}

void rtr_pieces_begin(const struct rtr_item *item, const struct rtr_buffer *own,
		      struct rtr_pieces *it)
{
	*it = (struct rtr_pieces){
		.own = own, .tbsns = item->tbsns, .start = item->offset, .length = item->length};
}

bool rtr_pieces_next(struct rtr_pieces *it, struct rtr_piece *piece)
{
	uint32_t per_buffer = rtr_buffer_targets(it->own), tbsn;
	struct rtr_target target = {0};

	if (!rtr_tbsns_next(&it->tbsns, &tbsn))
		return false;
	(void)rtr_buffer_target(it->own, tbsn % per_buffer, &target);
	*piece = (struct rtr_piece){
		.item_offset = it->done,
		.transmission = tbsn / per_buffer,
		.at = target.offset + it->start,
		.len = it->length - it->done,
	};
	if (piece->len > target.length - it->start)
		piece->len = target.length - it->start;
	it->done += piece->len;
	it->start = 0;
	return true;
}
