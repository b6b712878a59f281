/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RDMA1_BY_LISTS_H
#define RDMA1_BY_LISTS_H

/*
 * Decodes a message by its lists, one after the other. Tests compare the result with that of the
 * faster paths that the decoder has for some messages.
 */

#include "rdma1_msg.h"

static inline void assert_same_header(const struct rdma1_header *a, const struct rdma1_header *b)
{
	assert_int_equal(a->xid, b->xid);
	assert_int_equal(a->vers, b->vers);
	assert_int_equal(a->credit, b->credit);
	assert_int_equal(a->proc, b->proc);
	assert_int_equal(a->header_bytes, b->header_bytes);
	assert_int_equal(a->nread_segments, b->nread_segments);
	assert_int_equal(a->nread_chunks, b->nread_chunks);
	assert_int_equal(a->nwrite_chunks, b->nwrite_chunks);
	assert_int_equal(a->nreply_segments, b->nreply_segments);
	assert_int_equal(a->has_reply_chunk, b->has_reply_chunk);
	assert_int_equal(a->has_position_zero, b->has_position_zero);
	assert_ptr_equal(a->reads, b->reads);
	assert_ptr_equal(a->writes, b->writes);
	assert_ptr_equal(a->reply, b->reply);
	assert_int_equal(a->read_bytes, b->read_bytes);
	assert_int_equal(a->write_bytes, b->write_bytes);
	assert_int_equal(a->reply_bytes, b->reply_bytes);
	assert_int_equal(a->err | a->vers_low | a->vers_high, b->err | b->vers_low | b->vers_high);
}

/*
 * Decodes an RDMA_MSG of version 1 that is at least as long as the fixed part. Returns RDMA1_R_NONE
 * and sets *hdr, or the reason why the message is not valid.
 */
static inline enum rdma1_reason decode_by_lists(const uint8_t *msg, uint32_t len,
						enum rdma1_direction direction,
						const struct rdma1_limits *limits,
						struct rdma1_header *hdr)
{
	*hdr = (struct rdma1_header){.xid = wire_get_u32(msg),
				     .vers = RDMA1_VERSION,
				     .credit = wire_get_u32(msg + 8),
				     .proc = RDMA1_MSG};
	return rdma1_decode_lists(msg, len, RDMA1_FIXED_SIZE, direction, limits, hdr);
}

#endif
