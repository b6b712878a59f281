/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RDMA1_MSG_H
#define RDMA1_MSG_H

/*
 * Builds transport headers of version 1 for tests, word by word and without the encoder under test.
 * Therefore the tests find a mistake that encoder and decoder have in common.
 */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rdma1.h"
#include "shape.h"

#define MSG_XID	   0x5eed0001u
#define MSG_CREDIT 32u

struct msg {
	uint8_t buf[8192];
	uint32_t len;
};

static inline void msg_u32(struct msg *m, uint32_t word)
{
	assert_in_range(m->len, 0, sizeof(m->buf) - 4);
	m->buf[m->len++] = (uint8_t)(word >> 24);
	m->buf[m->len++] = (uint8_t)(word >> 16);
	m->buf[m->len++] = (uint8_t)(word >> 8);
	m->buf[m->len++] = (uint8_t)word;
}

static inline void msg_set_u32(struct msg *m, uint32_t at, uint32_t word)
{
	uint32_t len = m->len;

	m->len = at;
	msg_u32(m, word);
	m->len = len;
}

/* Begins a header with its four fixed fields. */
static inline void msg_begin(struct msg *m, uint32_t proc)
{
	memset(m, 0, sizeof(*m));
	msg_u32(m, MSG_XID);
	msg_u32(m, 1);
	msg_u32(m, MSG_CREDIT);
	msg_u32(m, proc);
}

static inline void msg_segment(struct msg *m, uint32_t handle, uint32_t length, uint64_t offset)
{
	msg_u32(m, handle);
	msg_u32(m, length);
	msg_u32(m, (uint32_t)(offset >> 32));
	msg_u32(m, (uint32_t)offset);
}

static inline void msg_read(struct msg *m, uint32_t position, uint32_t handle, uint32_t length,
			    uint64_t offset)
{
	msg_u32(m, 1);
	msg_u32(m, position);
	msg_segment(m, handle, length, offset);
}

/* Adds the start of a Write chunk, or of the Reply chunk, which has 'nsegments' segments. */
static inline void msg_chunk(struct msg *m, uint32_t nsegments)
{
	msg_u32(m, 1);
	msg_u32(m, nsegments);
}

/* Ends a list, or adds an absent Reply chunk. */
static inline void msg_end(struct msg *m)
{
	msg_u32(m, 0);
}

/* Adds 'len' bytes of Payload stream: the XID, then a pattern. 'len' must be at least 4. */
static inline void msg_payload(struct msg *m, uint32_t len)
{
	msg_u32(m, MSG_XID);
	for (uint32_t i = 4; i < len; i++)
		m->buf[m->len++] = (uint8_t)i;
}

/* Makes a Short Message. */
static inline void msg_short(struct msg *m, uint32_t payload)
{
	msg_begin(m, RDMA1_MSG);
	msg_end(m);
	msg_end(m);
	msg_end(m);
	msg_payload(m, payload);
}

/*
 * Makes a call with a chunk of each kind: two Read chunks, of which the second has two segments,
 * two Write chunks and a Reply chunk, and 'payload' bytes of Payload stream.
 */
static inline void msg_rich_call(struct msg *m, uint32_t payload)
{
	msg_begin(m, RDMA1_MSG);
	msg_read(m, 48, 0x11, 1001, 0x1000);
	msg_read(m, 1080, 0x22, 5, 0x2000);
	msg_read(m, 1080, 0x23, 4091, 0x200000000);
	msg_end(m);
	msg_chunk(m, 2);
	msg_segment(m, 0x31, 4096, 0x3000);
	msg_segment(m, 0x32, 0, 0x4000);
	msg_chunk(m, 0);
	msg_end(m);
	msg_chunk(m, 3);
	msg_segment(m, 0x41, 1, 0x5000);
	msg_segment(m, 0x42, 2, 0x6000);
	msg_segment(m, 0x43, 3, 0xfffffffffffffff0);
	msg_payload(m, payload);
}

/*
 * Decodes a message twice. The first time, the message is in unaligned memory that ends where the
 * message ends, so that ASan detects a read after the end.
 */
static inline enum rdma1_verdict msg_decode(const struct msg *m, enum rdma1_direction direction,
					    const struct rdma1_limits *limits,
					    struct rdma1_header *hdr, enum rdma1_reason *reason)
{
	uint8_t *exact = test_malloc(m->len + 1u);
	enum rdma1_verdict verdict;

	memcpy(exact + 1, m->buf, m->len);
	verdict = rdma1_decode(exact + 1, m->len, direction, limits, hdr, reason);
	test_free(exact);
	assert_int_equal(rdma1_decode(m->buf, m->len, direction, limits, hdr, reason), verdict);
	return verdict;
}

static inline void assert_verdict(const struct msg *m, enum rdma1_direction direction,
				  const struct rdma1_limits *limits, enum rdma1_verdict verdict,
				  enum rdma1_reason reason)
{
	struct rdma1_header hdr;
	enum rdma1_reason got_reason;
	enum rdma1_verdict got = msg_decode(m, direction, limits, &hdr, &got_reason);

	assert_string_equal(rdma1_reason_name(got_reason), rdma1_reason_name(reason));
	assert_int_equal(got, verdict);
}

static inline void assert_call(const struct msg *m, enum rdma1_verdict verdict,
			       enum rdma1_reason reason)
{
	assert_verdict(m, RDMA1_CALL, &rdma1_limits_default, verdict, reason);
}

static inline void assert_reply(const struct msg *m, enum rdma1_verdict verdict,
				enum rdma1_reason reason)
{
	assert_verdict(m, RDMA1_REPLY, &rdma1_limits_default, verdict, reason);
}

/*
 * Encodes a header of the given shape. The function is one instance of the template shape_encode()
 * for all shapes.
 */
static inline void msg_encode_shape(uint8_t *buf, enum shape shape, uint32_t xid, uint32_t credit,
				    uint32_t position, const struct rdma1_segment *seg)
{
	shape_encode(buf, shape, xid, credit, position, seg);
}

#endif
