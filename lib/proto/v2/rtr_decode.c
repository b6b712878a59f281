/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes and checks the operations of the extension (draft-dnoveck-nfsv4-rpcrdma-rtrext-01
 * sections 7.3, 7.4 and 9). Below, "section" is a section of that draft. The functions that return
 * a uint32_t return a reason, if their comment does not say otherwise. */
#include "rtr.h"

#include "wire.h"

#define TBSN_SIZE 4u

const struct rtr_limits rtr_limits_default = {
	.items_max = 64,
	.sets_max = 32,
	.set_items_max = 32,
	.segments_max = 16,
	.read_bytes_max = UINT64_C(64) << 20,
	.write_bytes_max = UINT64_C(64) << 20,
};

/* Returns the next word, or 0 if there is none. Callers must test in->failed before they use the
 * word for a decision. */
static uint32_t get(struct weir_xdr_in *in)
{
	uint32_t word = 0;

	(void)weir_xdr_get_u32(in, &word);
	return word;
}

/* Decodes a counted array of segments, and stores the sum of their lengths in *sum. */
static uint32_t get_segments(struct weir_xdr_in *in, uint32_t max, uint64_t *sum)
{
	uint32_t n = get(in);

	*sum = 0;
	if (in->failed || n > weir_xdr_remaining(in) / RDMA1_SEGMENT_SIZE)
		return RDMA1_R_TRUNCATED;
	if (n > max)
		return RDMA1_R_TOO_MANY_SEGMENTS;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t offset = 0;
		uint32_t length;

		(void)get(in); /* handle */
		length = get(in);
		(void)weir_xdr_get_u64(in, &offset);
		if (length > UINT64_MAX - offset)
			return RDMA1_R_SEGMENT_WRAP;
		*sum += length;
	}
	return RDMA1_R_NONE;
}

/* ---- items ---- */

static uint32_t round4(uint64_t bytes, uint64_t *rounded)
{
	*rounded = (bytes + 3) & ~UINT64_C(3);
	return *rounded > UINT32_MAX ? RDMA1_R_TOO_LARGE : RDMA1_R_NONE;
}

/* Decodes the segments of an item of 'length' bytes, and checks the sum of their lengths. In a
 * request, the segments can include the roundup padding of the item. In a reply, their lengths are
 * the numbers of bytes that were written. */
static uint32_t get_exrw(struct weir_xdr_in *in, const struct rtr_limits *limits,
			 enum rdma1_direction direction, uint32_t length)
{
	uint64_t sum, rounded;
	uint32_t reason = get_segments(in, limits->segments_max, &sum);

	if (reason == RDMA1_R_NONE)
		reason = round4(length, &rounded);
	if (reason != RDMA1_R_NONE)
		return reason;
	if (sum == length || (direction == RDMA1_CALL && sum > length && sum <= rounded))
		return RDMA1_R_NONE;
	return RDMA2_R_ITEM_LENGTH;
}

static uint32_t get_tbsns(struct weir_xdr_in *in)
{
	uint32_t n;

	(void)get(in); /* offset */
	n = get(in);
	if (in->failed || n > weir_xdr_remaining(in) / TBSN_SIZE)
		return RDMA1_R_TRUNCATED;
	return weir_xdr_get_bytes(in, NULL, n * TBSN_SIZE) == 0 ? RDMA1_R_NONE : RDMA1_R_TRUNCATED;
}

/* Checks that an item is at position 'disp' of the virtual stream, which must be at least *reach.
 * At first, *reach is the position after the RPC header. The function sets *reach to the lowest
 * position that the next item can have. A position identifies an item. Therefore two items must not
 * have the same position, even if one of them is empty. */
static uint32_t place(struct rtr_header *rtr, uint32_t disp, uint32_t length, uint64_t *reach)
{
	if (disp % 4 != 0 || disp < *reach)
		return RDMA2_R_ITEMS_ORDER;
	rtr->item_bytes += length;
	return round4((uint64_t)disp + (length > 0 ? length : 1), reach);
}

static uint32_t get_item(struct weir_xdr_in *in, const struct rtr_limits *limits,
			 struct rtr_header *rtr, bool is_first, uint64_t *reach)
{
	uint32_t disp = get(in), length = get(in), type = get(in), reason;

	if (in->failed)
		return RDMA1_R_TRUNCATED;
	switch (type) {
	case RTR_EXRW:
		reason = get_exrw(in, limits, rtr->direction, length);
		break;
	case RTR_TBSN:
		reason = get_tbsns(in);
		break;
	case RTR_TOOSHORT:
	case RTR_NOITEM: /* In a request these types are semantically invalid (Table 1). */
		return rtr->op == RTR_XMTRESP ? RDMA1_R_NONE : RDMA2_R_PLACEMENT_TYPE;
	default:
		return RDMA2_R_PLACEMENT_TYPE;
	}
	if (reason != RDMA1_R_NONE)
		return reason;
	if (is_first && disp == 0 && type == RTR_EXRW && rtr->op == RTR_XMTREQ) {
		/* This item is not a part of the stream. It is the whole stream, like a Position
		 * Zero Read chunk (section 5.2). */
		rtr->is_whole = true;
		rtr->item_bytes += length;
		return RDMA1_R_NONE;
	}
	return place(rtr, disp, length, reach);
}

static uint32_t get_items(struct weir_xdr_in *in, const struct rtr_limits *limits,
			  struct rtr_header *rtr)
{
	uint64_t reach = rtr->direction == RDMA1_CALL ? RTR_POSITION_CALL : RTR_POSITION_REPLY;

	rtr->nitems = get(in);
	rtr->items = in->p;
	if (in->failed)
		return RDMA1_R_TRUNCATED;
	if (rtr->nitems > limits->items_max)
		return RDMA2_R_TOO_MANY_ITEMS;
	for (uint32_t i = 0; i < rtr->nitems; i++) {
		uint32_t reason = get_item(in, limits, rtr, i == 0, &reach);

		if (reason != RDMA1_R_NONE)
			return reason;
	}
	return rtr->item_bytes > limits->read_bytes_max ? RDMA1_R_TOO_LARGE : RDMA1_R_NONE;
}

/* ---- response directions ---- */

static uint32_t get_rsditem(struct weir_xdr_in *in, const struct rtr_limits *limits,
			    struct rtr_header *rtr)
{
	uint32_t type, reason;
	uint64_t sum;

	(void)get(in); /* minlen */
	type = get(in);
	if (in->failed)
		return RDMA1_R_TRUNCATED;
	switch (type) {
	case RTR_TBSN:
		return RDMA1_R_NONE;
	case RTR_BYSIZE:
		(void)get(in); /* dsdov */
		break;
	case RTR_EXRW:
	case RTR_CHOICE:
		break;
	default:
		return RDMA2_R_PLACEMENT_TYPE;
	}
	reason = get_segments(in, limits->segments_max, &sum);
	rtr->write_bytes += sum;
	return reason;
}

/* Decodes a set of directions. The ranges of sets are half-open, disjoint and ascending (section
 * 7.4). *reach is the lowest position at which the range can begin, and then the end of the range.
 */
static uint32_t get_set(struct weir_xdr_in *in, const struct rtr_limits *limits,
			struct rtr_header *rtr, uint32_t *reach)
{
	uint32_t begin = get(in), end = get(in), n = get(in);

	if (in->failed)
		return RDMA1_R_TRUNCATED;
	if (begin < *reach || end < begin)
		return RDMA2_R_RANGES_ORDER;
	*reach = end;
	if (n > limits->set_items_max)
		return RDMA2_R_TOO_MANY_ITEMS;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t reason = get_rsditem(in, limits, rtr);

		if (reason != RDMA1_R_NONE)
			return reason;
	}
	return RDMA1_R_NONE;
}

static uint32_t get_sets(struct weir_xdr_in *in, const struct rtr_limits *limits,
			 struct rtr_header *rtr)
{
	uint32_t reach = 0;

	rtr->nsets = get(in);
	rtr->sets = in->p;
	if (in->failed)
		return RDMA1_R_TRUNCATED;
	if (rtr->nsets > limits->sets_max)
		return RDMA2_R_TOO_MANY_ITEMS;
	for (uint32_t i = 0; i < rtr->nsets; i++) {
		uint32_t reason = get_set(in, limits, rtr, &reach);

		if (reason != RDMA1_R_NONE)
			return reason;
	}
	return rtr->write_bytes > limits->write_bytes_max ? RDMA1_R_TOO_LARGE : RDMA1_R_NONE;
}

/* ---- operations ---- */

static uint32_t get_request(struct weir_xdr_in *in, const struct rtr_limits *limits,
			    struct rtr_header *rtr)
{
	uint32_t reason = get_items(in, limits, rtr);

	if (reason == RDMA1_R_NONE)
		reason = get_sets(in, limits, rtr);
	if (reason != RDMA1_R_NONE)
		return reason;
	rtr->count = get(in);
	rtr->rsbuf = get(in);
	if (rtr->rsbuf == 0)
		rtr->rsbuf = 1;
	rtr->pslen = get(in);
	return RDMA1_R_NONE;
}

static uint32_t get_response(struct weir_xdr_in *in, const struct rtr_limits *limits,
			     struct rtr_header *rtr)
{
	uint32_t reason = get_items(in, limits, rtr);

	rtr->count = get(in);
	rtr->pslen = get(in);
	return reason;
}

static uint32_t get_cont(struct weir_xdr_in *in, struct rtr_header *rtr)
{
	rtr->xnum = get(in);
	rtr->itype = get(in);
	rtr->pslen = get(in);
	return RDMA1_R_NONE;
}

static bool get_id(struct weir_xdr_in *in, struct rtr_id *id)
{
	uint32_t direction;

	id->xid = get(in);
	direction = get(in);
	id->direction = direction == RDMA1_REPLY ? RDMA1_REPLY : RDMA1_CALL;
	id->seq = get(in);
	return direction <= RDMA1_REPLY;
}

uint32_t rtr_report_nvalues(enum rtr_err err)
{
	switch (err) {
	case RTR_BADHMT:
	case RTR_BADOMT:
	case RTR_BADSEQ:
	case RTR_BADXID:
		return 2;
	case RTR_BADOFF:
	case RTR_BADTBSN:
	case RTR_BADPL:
		return 3;
	default:
		return 0;
	}
}

static uint32_t get_report(struct weir_xdr_in *in, struct rtr_report *report)
{
	bool is_known = get_id(in, &report->bad);
	uint32_t has_lead = get(in), err;

	if (has_lead > 1)
		return RDMA1_R_BAD_BOOL;
	report->has_lead = has_lead == 1;
	if (report->has_lead && !get_id(in, &report->lead))
		is_known = false;
	err = get(in);
	if (in->failed)
		return RDMA1_R_TRUNCATED;
	if (!is_known || err < RTR_BADHMT || err > RTR_BADPL)
		return RDMA2_R_REPORT;
	report->err = (enum rtr_err)err;
	for (uint32_t i = 0; i < rtr_report_nvalues(report->err); i++)
		report->values[i] = get(in);
	return RDMA1_R_NONE;
}

static uint32_t get_op(struct weir_xdr_in *in, const struct rtr_limits *limits,
		       struct rtr_header *rtr)
{
	switch (rtr->op) {
	case RTR_XMTREQ:
		return rtr->direction == RDMA1_CALL ? get_request(in, limits, rtr)
						    : RDMA2_R_DIRECTION_MISMATCH;
	case RTR_XMTRESP:
		return rtr->direction == RDMA1_REPLY ? get_response(in, limits, rtr)
						     : RDMA2_R_DIRECTION_MISMATCH;
	case RTR_XMTCONT:
		return get_cont(in, rtr);
	default:
		return get_report(in, &rtr->report);
	}
}

/* Checks XID and direction of the RPC message in the first transmission of a group, if this
 * transmission has both. */
static uint32_t check_payload(const uint8_t *payload, const struct rtr_header *rtr)
{
	if (rtr->op > RTR_XMTRESP || rtr->pslen < 8 || rtr->room < 8)
		return RDMA1_R_NONE;
	if (wire_get_u32(payload) != rtr->xid)
		return RDMA1_R_XID_MISMATCH;
	return wire_get_u32(payload + 4) == (uint32_t)rtr->direction ? RDMA1_R_NONE
								     : RDMA2_R_DIRECTION_MISMATCH;
}

static uint32_t decode(const uint8_t *msg, const struct rdma2_header *hdr,
		       const struct rtr_limits *limits, struct rtr_header *rtr)
{
	struct weir_xdr_in in;
	uint32_t reason;

	weir_xdr_in_init(&in, hdr->optinfo, hdr->optinfo_bytes);
	reason = get_op(&in, limits, rtr);
	if (reason != RDMA1_R_NONE)
		return reason;
	if (in.failed)
		return RDMA1_R_TRUNCATED;
	if (weir_xdr_remaining(&in) > 0)
		return RDMA2_R_TRAILING;
	return check_payload(msg + hdr->lists.header_bytes, rtr);
}

/* Returns the verdict on an operation that was found invalid for this reason. An error is never
 * answered by an error, and a requester never sends errors. */
static enum rdma2_verdict rtr_judge(uint32_t reason, const struct rtr_header *rtr)
{
	if (reason == RDMA1_R_NONE)
		return RDMA2_V_OK;
	if (rtr->op == RTR_REPTERR || rtr->direction == RDMA1_REPLY)
		return RDMA2_V_DROP;
	switch (reason) {
	case RDMA1_R_TOO_MANY_SEGMENTS:
	case RDMA1_R_TOO_LARGE:
	case RDMA2_R_TOO_MANY_ITEMS:
		return RDMA2_V_ERR_SYSTEM;
	default:
		return RDMA2_V_ERR_BAD_XDR;
	}
}

enum rdma2_verdict rtr_decode(const uint8_t *msg, uint32_t len, const struct rdma2_header *hdr,
			      const struct rtr_limits *limits, struct rtr_header *rtr,
			      uint32_t *reason)
{
	struct rtr_header full;

	*rtr = (struct rtr_header){.xid = hdr->lists.xid, .direction = hdr->direction};
	if (hdr->opttype < RTR_BASE_XDR || hdr->opttype > RTR_BASE_TABLE + RTR_REPTERR) {
		*reason = RDMA2_R_OPTION;
		return hdr->direction == RDMA1_CALL ? RDMA2_V_ERR_INVAL_OPTION : RDMA2_V_DROP;
	}
	rtr->base = hdr->opttype < RTR_BASE_TABLE ? RTR_BASE_XDR : RTR_BASE_TABLE;
	rtr->op = (enum rtr_op)(hdr->opttype - rtr->base);
	full = *rtr;
	full.header_bytes = hdr->lists.header_bytes;
	full.room = len - hdr->lists.header_bytes;
	*reason = decode(msg, hdr, limits, &full);
	if (*reason == RDMA1_R_NONE)
		*rtr = full;
	return rtr_judge(*reason, rtr);
}
