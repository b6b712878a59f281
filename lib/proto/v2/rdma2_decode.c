/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes and checks the transport header of version 2 (draft-cel-nfsv4-rpcrdma-version-two-03
 * section 6.2). */
#include "rdma2.h"

#include "wire.h"

#define RPC_TYPE_AT   4u /* offset of the msg_type in an RPC message: after its XID */
#define RPC_TYPE_SIZE 8u /* size of XID and msg_type */

/* Decodes a word that must be an enum msg_type. Returns a reason. */
static uint32_t get_direction(const uint8_t *at, enum rdma1_direction *direction)
{
	uint32_t word = wire_get_u32(at);

	if (word > RDMA1_REPLY)
		return RDMA2_R_BAD_DIRECTION;
	*direction = (enum rdma1_direction)word;
	return RDMA1_R_NONE;
}

static bool chunk_has_handle(struct rdma1_segment_iter *chunk, uint32_t handle)
{
	struct rdma1_segment seg;

	while (rdma1_segments_next(chunk, &seg))
		if (seg.handle == handle)
			return true;
	return false;
}

/* Returns whether a chunk of the header has the handle. A peer is only allowed to request the
 * invalidation of handles that it has named itself. */
static bool has_handle(const struct rdma1_header *lists, uint32_t handle)
{
	struct rdma1_segment_iter chunk;
	struct rdma1_write_iter writes;
	struct rdma1_read_segment read;
	struct rdma1_read_iter reads;

	rdma1_reads_begin(lists, &reads);
	while (rdma1_reads_next(&reads, &read))
		if (read.target.handle == handle)
			return true;
	rdma1_writes_begin(lists, &writes);
	while (rdma1_writes_next(&writes, &chunk))
		if (chunk_has_handle(&chunk, handle))
			return true;
	rdma1_reply_begin(lists, &chunk);
	return chunk_has_handle(&chunk, handle);
}

/* Decodes RDMA2_MSG and RDMA2_NOMSG after the direction. Returns a reason. */
static uint32_t decode_chunks(const uint8_t *msg, uint32_t len, const struct rdma1_limits *limits,
			      struct rdma2_header *hdr)
{
	struct rdma1_header *lists = &hdr->lists;
	uint32_t reason;

	reason = rdma1_decode_lists(msg, len, RDMA2_LISTS_AT, hdr->direction, limits, lists);
	if (reason == RDMA1_R_OTHER_DIRECTION)
		return RDMA2_R_DIRECTION_MISMATCH;
	if (reason != RDMA1_R_NONE)
		return reason;
	if (lists->proc == RDMA2_MSG) {
		if (len - lists->header_bytes < RPC_TYPE_SIZE)
			return RDMA1_R_PAYLOAD_SHORT;
		if (wire_get_u32(msg + lists->header_bytes + RPC_TYPE_AT) !=
		    (uint32_t)hdr->direction)
			return RDMA2_R_DIRECTION_MISMATCH;
	}
	hdr->inv_handle = wire_get_u32(msg + 20);
	hdr->may_invalidate = hdr->direction == RDMA1_CALL && hdr->inv_handle != 0 &&
			      has_handle(lists, hdr->inv_handle);
	return RDMA1_R_NONE;
}

static uint32_t decode_optional(const uint8_t *msg, uint32_t len, struct rdma2_header *hdr)
{
	uint32_t bytes;

	if (len < RDMA2_OPTIONAL_SIZE)
		return RDMA1_R_TRUNCATED;
	hdr->opttype = wire_get_u32(msg + 20);
	bytes = wire_get_u32(msg + 24);
	if (bytes > len - RDMA2_OPTIONAL_SIZE)
		return RDMA1_R_TRUNCATED;
	hdr->optinfo = msg + RDMA2_OPTIONAL_SIZE;
	hdr->optinfo_bytes = bytes;
	bytes = (bytes + 3) & ~3u;
	if (bytes > len - RDMA2_OPTIONAL_SIZE)
		return RDMA1_R_TRUNCATED;
	hdr->lists.header_bytes = RDMA2_OPTIONAL_SIZE + bytes;
	return RDMA1_R_NONE;
}

static uint32_t decode_property_procs(const uint8_t *msg, uint32_t len, struct rdma2_header *hdr)
{
	struct weir_xdr_in in;
	uint32_t reason = RDMA1_R_NONE;

	weir_xdr_in_init(&in, msg + RDMA2_FIXED_SIZE, len - RDMA2_FIXED_SIZE);
	if (hdr->lists.proc == RDMA2_RESPROP) {
		if (rdma2_propsubset_get(&in, &hdr->subset) != 0 ||
		    rdma2_propsubset_get(&in, &hdr->rejected) != 0)
			return RDMA1_R_TRUNCATED;
	}
	switch (rdma2_propset_get(&in, &hdr->set)) {
	case RDMA2_PROPSET_OK:
		break;
	case RDMA2_PROPSET_TRUNCATED:
		return RDMA1_R_TRUNCATED;
	case RDMA2_PROPSET_BAD_VALUE:
		return RDMA2_R_PROPERTY;
	case RDMA2_PROPSET_TWICE:
		return RDMA2_R_PROPERTY_TWICE;
	}
	if (hdr->lists.proc == RDMA2_CONNPROP && rdma2_propsubset_get(&in, &hdr->subset) != 0)
		return RDMA1_R_TRUNCATED;
	if (weir_xdr_remaining(&in) > 0)
		reason = RDMA2_R_TRAILING;
	hdr->lists.header_bytes = len;
	return reason;
}

/* Decodes RDMA2_ERROR after its fixed part. Returns a reason. If the error has no values, the bytes
 * in the position of the values are ignored. */
static uint32_t rdma2_decode_error(const uint8_t *msg, uint32_t len, struct rdma2_header *hdr)
{
	struct rdma1_header *lists = &hdr->lists;

	if (len < RDMA2_ERROR_SIZE)
		return RDMA1_R_SHORT;
	lists->err = wire_get_u32(msg + RDMA2_FIXED_SIZE);
	if (lists->err < RDMA2_ERR_VERS || lists->err > RDMA2_ERR_SYSTEM)
		return RDMA1_R_ERROR_MALFORMED;
	if (lists->err != RDMA2_ERR_VERS && lists->vers != RDMA2_VERSION)
		return RDMA2_R_VERSION;
	lists->header_bytes = RDMA2_ERROR_SIZE;
	if (lists->err != RDMA2_ERR_VERS && lists->err != RDMA2_ERR_REPLY_RESOURCE)
		return RDMA1_R_NONE;
	if (len < RDMA2_ERROR_SIZE_MAX)
		return RDMA1_R_SHORT;
	lists->header_bytes = RDMA2_ERROR_SIZE_MAX;
	if (lists->err == RDMA2_ERR_VERS) {
		lists->vers_low = wire_get_u32(msg + 20);
		lists->vers_high = wire_get_u32(msg + 24);
	} else {
		hdr->segment_index = wire_get_u32(msg + 20);
		hdr->length_needed = wire_get_u32(msg + 24);
	}
	return RDMA1_R_NONE;
}

static uint32_t decode_body(const uint8_t *msg, uint32_t len, const struct rdma1_limits *limits,
			    struct rdma2_header *hdr)
{
	switch (hdr->lists.proc) {
	case RDMA2_MSG:
	case RDMA2_NOMSG:
		return len < RDMA2_HEADER_MIN ? RDMA1_R_TRUNCATED
					      : decode_chunks(msg, len, limits, hdr);
	case RDMA2_ERROR:
		return rdma2_decode_error(msg, len, hdr);
	case RDMA2_OPTIONAL:
		return decode_optional(msg, len, hdr);
	default:
		return decode_property_procs(msg, len, hdr);
	}
}

static bool has_direction(uint32_t proc)
{
	return proc == RDMA2_MSG || proc == RDMA2_NOMSG || proc == RDMA2_OPTIONAL;
}

/* Decodes the fixed part and the direction of a header, and checks that the version and the
 * procedure are known. Returns a reason. */
static uint32_t decode_kind(const uint8_t *msg, uint32_t len, struct rdma2_header *hdr)
{
	if (len < RDMA2_FIXED_SIZE)
		return RDMA1_R_SHORT;
	hdr->lists.xid = wire_get_u32(msg);
	hdr->lists.vers = wire_get_u32(msg + 4);
	hdr->lists.credit = wire_get_u32(msg + 8);
	hdr->lists.proc = wire_get_u32(msg + 12);
	hdr->direction = RDMA1_CALL;
	if (hdr->lists.proc == RDMA2_ERROR) {
		hdr->direction = RDMA1_REPLY;
		return RDMA1_R_NONE;
	}
	if (hdr->lists.vers != RDMA2_VERSION)
		return RDMA2_R_VERSION;
	if (hdr->lists.proc > RDMA2_UPDPROP || hdr->lists.proc == 2 || hdr->lists.proc == 3)
		return RDMA2_R_PROC;
	if (!has_direction(hdr->lists.proc))
		return RDMA1_R_NONE;
	if (len < RDMA2_FIXED_SIZE + 4)
		return RDMA1_R_TRUNCATED;
	return get_direction(msg + RDMA2_FIXED_SIZE, &hdr->direction);
}

/* Returns the verdict on a message with this direction that was found invalid for this reason. */
static enum rdma2_verdict rdma2_judge(uint32_t reason, enum rdma1_direction direction)
{
	if (reason == RDMA1_R_NONE)
		return RDMA2_V_OK;
	if (direction == RDMA1_REPLY || reason == RDMA1_R_SHORT)
		return RDMA2_V_DROP;
	if (reason == RDMA2_R_VERSION)
		return RDMA2_V_ERR_VERS;
	return reason == RDMA2_R_PROC ? RDMA2_V_ERR_INVAL_PROC : RDMA2_V_ERR_BAD_XDR;
}

enum rdma2_verdict rdma2_decode(const uint8_t *msg, uint32_t len, const struct rdma1_limits *limits,
				struct rdma2_header *hdr, uint32_t *reason)
{
	struct rdma2_header full;

	*hdr = (struct rdma2_header){0};
	*reason = decode_kind(msg, len, hdr);
	if (*reason == RDMA1_R_NONE) {
		full = *hdr;
		*reason = decode_body(msg, len, limits, &full);
		if (*reason == RDMA1_R_NONE)
			*hdr = full;
	}
	return rdma2_judge(*reason, hdr->direction);
}

enum rdma2_err rdma2_verdict_err(enum rdma2_verdict verdict)
{
	switch (verdict) {
	case RDMA2_V_ERR_VERS:
		return RDMA2_ERR_VERS;
	case RDMA2_V_ERR_BAD_XDR:
		return RDMA2_ERR_BAD_XDR;
	case RDMA2_V_ERR_INVAL_PROC:
		return RDMA2_ERR_INVAL_PROC;
	case RDMA2_V_ERR_INVAL_OPTION:
		return RDMA2_ERR_INVAL_OPTION;
	default:
		return RDMA2_ERR_SYSTEM;
	}
}

/* The names and texts are in one table, so that no reason lacks one of them. */
static const struct {
	const char *name;
	const char *text;
} reasons[RDMA2_R_MAX - RDMA2_R_VERSION] = {
#define REASON(reason) [(reason)-RDMA2_R_VERSION]
	REASON(RDMA2_R_VERSION) = {"version", "The version is not 2."},
	REASON(RDMA2_R_PROC) = {"proc", "Version 2 does not define the procedure."},
	REASON(RDMA2_R_BAD_DIRECTION) = {"bad_direction",
					 "The direction is neither CALL nor REPLY."},
	REASON(RDMA2_R_DIRECTION_MISMATCH) =
		{"direction_mismatch",
		 "The directions of the transport header and the RPC message differ."},
	REASON(RDMA2_R_TRAILING) = {"trailing",
				    "Bytes follow a structure that has to fill its place."},
	REASON(RDMA2_R_PROPERTY) = {"property", "A property's data is not of its type."},
	REASON(RDMA2_R_PROPERTY_TWICE) = {"property_twice", "A property is given twice."},
	REASON(RDMA2_R_OPTION) = {"option", "The optional operation is not known."},
	REASON(RDMA2_R_PLACEMENT_TYPE) =
		{"placement_type",
		 "A type of placement is unknown, or is not allowed where it stands."},
	REASON(RDMA2_R_ITEMS_ORDER) =
		{"items_order", "Directly placed items overlap, descend or are not aligned."},
	REASON(RDMA2_R_ITEM_LENGTH) = {"item_length",
				       "The length of an item and the sum of its segments differ."},
	REASON(RDMA2_R_RANGES_ORDER) =
		{"ranges_order", "Ranges of a request overlap, descend or end before they begin."},
	REASON(RDMA2_R_TOO_MANY_ITEMS) =
		{"too_many_items",
		 "There are more items or sets of them than the receiver accepts."},
	REASON(RDMA2_R_REPORT) = {"report", "A report's error or identity is unknown."},
#undef REASON
};

const char *rdma2_reason_text(uint32_t reason)
{
	if (reason < RDMA1_R_MAX)
		return rdma1_reason_text((enum rdma1_reason)reason);
	return reason < RDMA2_R_MAX ? reasons[reason - RDMA2_R_VERSION].text : "Unknown reason.";
}

const char *rdma2_reason_name(uint32_t reason)
{
	if (reason < RDMA1_R_MAX)
		return rdma1_reason_name((enum rdma1_reason)reason);
	return reason < RDMA2_R_MAX ? reasons[reason - RDMA2_R_VERSION].name : "unknown";
}
