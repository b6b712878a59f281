/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHAPE_H
#define SHAPE_H

/*
 * What most messages are of both headers together, transport and RPC, told by a few compares: an
 * RDMA_MSG of version 1, with three empty lists or with one Write chunk of one segment, in front of
 * a call to one program with AUTH_NONE twice, or of a reply that is accepted, AUTH_NONE, SUCCESS;
 * or with one Read segment in front of such a call. Each says what the two decoders would together.
 * Words are compared as they came; those that are to be zero, together.
 */

#include "rdma1.h"
#include "rpc_msg.h"

/* Bytes of both headers. */
#define SHAPE_INLINE_CALL     (RDMA1_HEADER_MIN + WEIR_RPC_CALL_HEADER_MIN)
#define SHAPE_INLINE_REPLY    (RDMA1_HEADER_MIN + WEIR_RPC_REPLY_HEADER_MIN)
#define SHAPE_ONE_WRITE_CALL  (RDMA1_ONE_WRITE_SIZE + WEIR_RPC_CALL_HEADER_MIN)
#define SHAPE_ONE_READ_CALL   (RDMA1_ONE_READ_SIZE + WEIR_RPC_CALL_HEADER_MIN)
#define SHAPE_ONE_WRITE_REPLY (RDMA1_ONE_WRITE_SIZE + WEIR_RPC_REPLY_HEADER_MIN)

/* Whether there is a chunk, of a message of SHAPE_INLINE_REPLY bytes or more that is one of these:
 * a Write list, or the position of a Read chunk, which is not zero. */
static inline bool shape_has_chunk(const uint8_t *msg)
{
	return wire_raw_u32(msg + RDMA1_FIXED_SIZE + 4) != 0;
}

/* What transport headers of 'header_bytes' have in common, where what is to be zero in them is, and
 * the XID behind them. */
static inline bool shape_begins(const uint8_t *msg, uint32_t header_bytes)
{
	return wire_raw_u32(msg + 4) == htobe32(RDMA1_VERSION) &&
	       wire_raw_u32(msg) == wire_raw_u32(msg + header_bytes);
}

/* One Write chunk of one segment follows, which is within the limits. */
static inline bool shape_write_is_sound(const uint8_t *msg, const struct rdma1_limits *limits)
{
	return wire_raw_u64(msg + 20) == htobe64(0x0000000100000001u) &&
	       rdma1_one_write_is_within(msg, limits);
}

/* One Read segment follows, of some bytes, within the limits and at a position that there is, in a
 * message of 'len' bytes. */
static inline bool shape_one_read_is_sound(const uint8_t *msg, uint32_t len,
					   const struct rdma1_limits *limits)
{
	uint32_t position = wire_get_u32(msg + 20), bytes = wire_get_u32(msg + 28);

	return wire_raw_u32(msg + 16) == htobe32(1) && position % 4 == 0 &&
	       position >= RDMA1_POSITION_MIN && position <= len - RDMA1_ONE_READ_SIZE &&
	       limits->read_segments_max >= 1 && limits->read_chunks_max >= 1 && bytes > 0 &&
	       bytes <= limits->read_bytes_max && bytes <= UINT64_MAX - wire_get_u64(msg + 32);
}

/* 'prog_vers': rpc_prog_vers() of the same program and version. */
static inline bool shape_call_is_to(const uint8_t *at, uint64_t prog_vers)
{
	return wire_raw_u64(at + 4) == htobe64((uint64_t)WEIR_RPC_CALL << 32 | WEIR_RPC_VERSION) &&
	       wire_raw_u64(at + 12) == prog_vers;
}

static inline bool shape_reply_is(const uint8_t *at)
{
	return wire_raw_u32(at + 4) == htobe32(WEIR_RPC_REPLY);
}

/*
 * Words that are zero in each. A message was most often just copied to where it is, from a ring's
 * cells (drivers/shm/ring.h): in 56 bytes by moves of 16, 16, 16 and 8. A load of what two of them
 * wrote waits until both are in the cache, so there is none; of messages in a mux, whose first cell
 * has 48 bytes, the last reply here has one.
 */
static inline bool shape_inline_call_has_zeros(const uint8_t *msg)
{
	uint32_t words = wire_raw_u32(msg + 12) | wire_raw_u32(msg + 24) | wire_raw_u32(msg + 52) |
			 wire_raw_u32(msg + 64);

	return (wire_raw_u64(msg + 16) | wire_raw_u64(msg + 56) | words) == 0;
}

static inline bool shape_one_write_call_has_zeros(const uint8_t *msg)
{
	uint32_t words = wire_raw_u32(msg + 12) | wire_raw_u32(msg + 16) | wire_raw_u32(msg + 44) |
			 wire_raw_u32(msg + 48) | wire_raw_u32(msg + 76) | wire_raw_u32(msg + 88);

	return (wire_raw_u64(msg + 80) | words) == 0;
}

static inline bool shape_one_read_call_has_zeros(const uint8_t *msg)
{
	uint32_t words = wire_raw_u32(msg + 12) | wire_raw_u32(msg + 48) | wire_raw_u32(msg + 76) |
			 wire_raw_u32(msg + 88);

	return (wire_raw_u64(msg + 40) | wire_raw_u64(msg + 80) | words) == 0;
}

static inline bool shape_inline_reply_has_zeros(const uint8_t *msg)
{
	uint32_t words = wire_raw_u32(msg + 12) | wire_raw_u32(msg + 24) | wire_raw_u32(msg + 44) |
			 wire_raw_u32(msg + 48);

	return (wire_raw_u64(msg + 16) | wire_raw_u64(msg + 36) | words) == 0;
}

static inline bool shape_one_write_reply_has_zeros(const uint8_t *msg)
{
	uint32_t words = wire_raw_u32(msg + 12) | wire_raw_u32(msg + 16) | wire_raw_u32(msg + 44) |
			 wire_raw_u32(msg + 48);

	return (wire_raw_u64(msg + 60) | wire_raw_u32(msg + 68) | wire_raw_u32(msg + 72) | words) ==
	       0;
}

static inline bool shape_is_inline_call(const uint8_t *msg, uint32_t len, uint64_t prog_vers)
{
	return len >= SHAPE_INLINE_CALL && shape_inline_call_has_zeros(msg) &&
	       shape_begins(msg, RDMA1_HEADER_MIN) &&
	       shape_call_is_to(msg + RDMA1_HEADER_MIN, prog_vers);
}

static inline bool shape_is_one_write_call(const uint8_t *msg, uint32_t len,
					   const struct rdma1_limits *limits, uint64_t prog_vers)
{
	return len >= SHAPE_ONE_WRITE_CALL && shape_one_write_call_has_zeros(msg) &&
	       shape_begins(msg, RDMA1_ONE_WRITE_SIZE) && shape_write_is_sound(msg, limits) &&
	       shape_call_is_to(msg + RDMA1_ONE_WRITE_SIZE, prog_vers);
}

static inline bool shape_is_one_read_call(const uint8_t *msg, uint32_t len,
					  const struct rdma1_limits *limits, uint64_t prog_vers)
{
	return len >= SHAPE_ONE_READ_CALL && shape_one_read_call_has_zeros(msg) &&
	       shape_begins(msg, RDMA1_ONE_READ_SIZE) &&
	       shape_one_read_is_sound(msg, len, limits) &&
	       shape_call_is_to(msg + RDMA1_ONE_READ_SIZE, prog_vers);
}

/* Of a message of SHAPE_INLINE_REPLY bytes or more. */
static inline bool shape_is_inline_reply_within(const uint8_t *msg)
{
	return shape_inline_reply_has_zeros(msg) && shape_begins(msg, RDMA1_HEADER_MIN) &&
	       shape_reply_is(msg + RDMA1_HEADER_MIN);
}

static inline bool shape_is_inline_reply(const uint8_t *msg, uint32_t len)
{
	return len >= SHAPE_INLINE_REPLY && shape_is_inline_reply_within(msg);
}

static inline bool shape_is_one_write_reply(const uint8_t *msg, uint32_t len,
					    const struct rdma1_limits *limits)
{
	return len >= SHAPE_ONE_WRITE_REPLY && shape_one_write_reply_has_zeros(msg) &&
	       shape_begins(msg, RDMA1_ONE_WRITE_SIZE) && shape_write_is_sound(msg, limits) &&
	       shape_reply_is(msg + RDMA1_ONE_WRITE_SIZE);
}

#endif
