/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHAPE_H
#define SHAPE_H

/*
 * The shapes of most messages. A shape is an RDMA_MSG of version 1 with one of these chunk lists:
 *
 * - three empty lists
 * - one Write chunk of one segment
 * - one Read segment
 *
 * After the transport header, a message of a shape has one of these RPC headers:
 *
 * - a call to one program, with AUTH_NONE twice
 * - a reply that is accepted, with AUTH_NONE and SUCCESS
 *
 * shape_match_call() and shape_match_reply() recognise such a message by a few compares. The
 * decoders of both headers would accept such a message, too. shape_encode() writes a transport
 * header. The shape and the direction are constants in each use. Therefore each use compiles to the
 * code of one row of the table below.
 */

#include <endian.h>

#include "rdma1.h"
#include "rpc_msg.h"

enum shape { SHAPE_INLINE, SHAPE_ONE_WRITE, SHAPE_ONE_READ };

/*
 * The table has a row for each shape and direction, except for a reply with a Read list, which does
 * not exist. A row lists the fields of the message that are zero, by their offset in bytes. WORD()
 * is a field of four bytes, and PAIR() is a field of eight bytes.
 *
 * Most often a message was just copied from the cells of a ring (drivers/shm/ring.h). A cell of 56
 * bytes is copied by moves of 16, 16, 16 and 8 bytes. If the bytes of one load were written by two
 * moves, the load waits until both moves are in the cache. Therefore no field of the table spans
 * two moves. Only in a mux, whose first cell has 48 bytes, does one field of the last row span two
 * moves.
 */
#define SHAPE_ZEROS(ROW)                                                                           \
	ROW(SHAPE_INLINE, RDMA1_CALL, WORD(12) | WORD(24) | WORD(52) | WORD(64),                   \
	    PAIR(16) | PAIR(56))                                                                   \
	ROW(SHAPE_ONE_WRITE, RDMA1_CALL,                                                           \
	    WORD(12) | WORD(16) | WORD(44) | WORD(48) | WORD(76) | WORD(88), PAIR(80))             \
	ROW(SHAPE_ONE_READ, RDMA1_CALL, WORD(12) | WORD(48) | WORD(76) | WORD(88),                 \
	    PAIR(40) | PAIR(80))                                                                   \
	ROW(SHAPE_INLINE, RDMA1_REPLY, WORD(12) | WORD(24) | WORD(44) | WORD(48),                  \
	    PAIR(16) | PAIR(36))                                                                   \
	ROW(SHAPE_ONE_WRITE, RDMA1_REPLY,                                                          \
	    WORD(12) | WORD(16) | WORD(44) | WORD(48) | WORD(68) | WORD(72), PAIR(60))

/* Returns the size of the transport header in bytes. */
static inline uint32_t shape_header_bytes(enum shape shape)
{
	return shape == SHAPE_INLINE	  ? RDMA1_HEADER_MIN
	       : shape == SHAPE_ONE_WRITE ? RDMA1_ONE_WRITE_SIZE
					  : RDMA1_ONE_READ_SIZE;
}

/* Return the size of the transport header and the RPC header together in bytes. */
static inline uint32_t shape_call_bytes(enum shape shape)
{
	return shape_header_bytes(shape) + WEIR_RPC_CALL_HEADER_MIN;
}

static inline uint32_t shape_reply_bytes(enum shape shape)
{
	return shape_header_bytes(shape) + WEIR_RPC_REPLY_HEADER_MIN;
}

/* Returns whether a message of a shape has a chunk. The function tests the second word after the
 * fixed part of the header. If there is no Read list, this word says whether there is a Write
 * chunk. If there is a Read segment, this word is its position, which is not zero. The message must
 * have at least shape_reply_bytes(SHAPE_INLINE) bytes. */
static inline bool shape_has_chunk(const uint8_t *msg)
{
	return wire_raw_u32(msg + RDMA1_FIXED_SIZE + 4) != 0;
}

/* ---- recognition ---- */

/* Returns whether all fields in the table's row for this shape and direction are zero. The fields
 * are combined, so that one compare is enough. */
static hot_inline bool shape_has_zeros(const uint8_t *msg, enum shape shape,
				       enum rdma1_direction direction)
{
#define WORD(at) wire_raw_u32(msg + (at))
#define PAIR(at) wire_raw_u64(msg + (at))
#define ROW(row_shape, row_direction, words, pairs)                                                \
	if (shape == (row_shape) && direction == (row_direction))                                  \
		return ((pairs) | (words)) == 0;
	SHAPE_ZEROS(ROW)
#undef ROW
#undef PAIR
#undef WORD
	return false;
}

/* Returns whether the version is 1, and the XIDs of the RPC message and of the transport header are
 * equal. Words are compared in the byte order of the wire. */
static inline bool shape_begins(const uint8_t *msg, enum shape shape)
{
	return wire_raw_u32(msg + 4) == htobe32(RDMA1_VERSION) &&
	       wire_raw_u32(msg) == wire_raw_u32(msg + shape_header_bytes(shape));
}

/* Returns whether the Write list has one chunk of one segment, within the limits. */
static inline bool shape_write_is_sound(const uint8_t *msg, const struct rdma1_limits *limits)
{
	return wire_raw_u64(msg + 20) == htobe64(0x0000000100000001u) &&
	       rdma1_one_write_is_within(msg, limits);
}

/* Returns whether the Read list begins with a segment that meets all of these conditions:
 *
 * - The segment is not empty, and is within the limits.
 * - Its position is possible in a message of 'len' bytes. */
static inline bool shape_read_is_sound(const uint8_t *msg, uint32_t len,
				       const struct rdma1_limits *limits)
{
	uint32_t position = wire_get_u32(msg + 20), bytes = wire_get_u32(msg + 28);

	return wire_raw_u32(msg + 16) == htobe32(1) && position % 4 == 0 &&
	       position >= RDMA1_POSITION_MIN && position <= len - RDMA1_ONE_READ_SIZE &&
	       limits->read_segments_max >= 1 && limits->read_chunks_max >= 1 && bytes > 0 &&
	       bytes <= limits->read_bytes_max && bytes <= UINT64_MAX - wire_get_u64(msg + 32);
}

static hot_inline bool shape_chunk_is_sound(const uint8_t *msg, uint32_t len, enum shape shape,
					    const struct rdma1_limits *limits)
{
	switch (shape) {
	case SHAPE_INLINE:
		return true;
	case SHAPE_ONE_WRITE:
		return shape_write_is_sound(msg, limits);
	case SHAPE_ONE_READ:
		return shape_read_is_sound(msg, len, limits);
	}
	return false;
}

/* Returns whether a message is a call of the shape. 'prog_vers' is rpc_prog_vers() of a call to the
 * same program and version. */
static hot_inline bool shape_match_call(const uint8_t *msg, uint32_t len, enum shape shape,
					const struct rdma1_limits *limits, uint64_t prog_vers)
{
	const uint8_t *rpc = msg + shape_header_bytes(shape);

	return len >= shape_call_bytes(shape) && shape_has_zeros(msg, shape, RDMA1_CALL) &&
	       shape_begins(msg, shape) && shape_chunk_is_sound(msg, len, shape, limits) &&
	       wire_raw_u64(rpc + 4) == htobe64((uint64_t)WEIR_RPC_CALL << 32 | WEIR_RPC_VERSION) &&
	       rpc_prog_vers(rpc) == prog_vers;
}

/* Returns whether a message is a reply of the shape. The message must have at least
 * shape_reply_bytes(SHAPE_INLINE) bytes. */
static hot_inline bool shape_match_reply(const uint8_t *msg, uint32_t len, enum shape shape,
					 const struct rdma1_limits *limits)
{
	const uint8_t *rpc = msg + shape_header_bytes(shape);

	return (shape == SHAPE_INLINE || len >= shape_reply_bytes(shape)) &&
	       shape_has_zeros(msg, shape, RDMA1_REPLY) && shape_begins(msg, shape) &&
	       shape_chunk_is_sound(msg, len, shape, limits) &&
	       wire_raw_u32(rpc + 4) == htobe32(WEIR_RPC_REPLY);
}

/* ---- encoding ---- */

/*
 * Writes the transport header of a shape to 'buf', and after it the XID of the RPC message, which
 * equals the XID of the header (RFC 8166 section 4.5.1). Together these are shape_header_bytes() +
 * 4 bytes. 'seg' is the segment of the chunk, and 'position' is the position of a Read chunk.
 *
 * When the message is sent soon after, it is loaded in blocks of 16 bytes from the start of the
 * header on. If the bytes of one load were written by two stores, the load waits until both stores
 * are in the cache. Therefore each block of 16 bytes is written by one store.
 */
static hot_inline void shape_encode(uint8_t *buf, enum shape shape, uint32_t xid, uint32_t credit,
				    uint32_t position, const struct rdma1_segment *seg)
{
	wire_four words = wire_four_of(0, RDMA1_VERSION, 0, RDMA1_MSG);

	/* To replace two words of a constant takes fewer instructions than to store four words one
	 * by one. */
	words[0] = htobe32(xid);
	words[2] = htobe32(credit);
	__builtin_memcpy(buf, &words, sizeof(words)); /* the builtin, as in wire.h */
	switch (shape) {
	case SHAPE_INLINE:
		wire_put_four(buf + 16, 0, 0, 0, xid);
		return;
	case SHAPE_ONE_WRITE:
		wire_put_four(buf + 16, 0, 1, 1, seg->handle);
		wire_put_four(buf + 32, seg->length, (uint32_t)(seg->offset >> 32),
			      (uint32_t)seg->offset, 0);
		break;
	case SHAPE_ONE_READ:
		wire_put_four(buf + 16, 1, position, seg->handle, seg->length);
		wire_put_four(buf + 32, (uint32_t)(seg->offset >> 32), (uint32_t)seg->offset, 0, 0);
		break;
	}
	wire_put_u64(buf + 48, xid); /* the end of the lists, and the XID */
}

#endif
