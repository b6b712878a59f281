/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the recognition of header shapes. If a message is recognised, the decoders of both
 * headers must accept it, and find the values that the shape implies.
 */
#include "rdma1_msg.h"
#include "shape.h"

#define PROG	  100003u
#define VERS	  3u
#define PROC	  7u
#define HANDLE	  0xabcd0123u
#define BYTES	  4096u
#define OFFSET	  0x123456789abcdef0u
#define POSITION  44u /* the position of the item, after the RPC header and one word */
#define ARG_BYTES 8u

static uint64_t prog_vers; /* program and version in the form in which a call contains them */

/* Each of these functions is one instance of its template. */
static bool is_call(const struct msg *m, uint32_t len, enum shape shape,
		    const struct rdma1_limits *limits)
{
	return shape_match_call(m->buf, len, shape, limits, prog_vers);
}

static bool is_reply(const struct msg *m, uint32_t len, enum shape shape,
		     const struct rdma1_limits *limits)
{
	return shape_match_reply(m->buf, len, shape, limits);
}

static bool matches(const struct msg *m, uint32_t len, enum shape shape,
		    enum rdma1_direction direction, const struct rdma1_limits *limits)
{
	return direction == RDMA1_CALL ? is_call(m, len, shape, limits)
				       : is_reply(m, len, shape, limits);
}

/* Makes a message of a shape, with some arguments or results. */
static void make(struct msg *m, enum shape shape, enum rdma1_direction direction)
{
	msg_begin(m, RDMA1_MSG);
	if (shape == SHAPE_ONE_READ)
		msg_read(m, POSITION, HANDLE, BYTES, OFFSET);
	msg_end(m);
	if (shape == SHAPE_ONE_WRITE) {
		msg_chunk(m, 1);
		msg_segment(m, HANDLE, BYTES, OFFSET);
	}
	msg_end(m);
	msg_end(m);
	assert_int_equal(m->len, shape_header_bytes(shape));
	msg_u32(m, MSG_XID);
	if (direction == RDMA1_CALL) {
		msg_u32(m, WEIR_RPC_CALL);
		msg_u32(m, WEIR_RPC_VERSION);
		msg_u32(m, PROG);
		msg_u32(m, VERS);
		msg_u32(m, PROC);
		for (uint32_t i = 0; i < 4; i++)
			msg_u32(m, 0); /* AUTH_NONE as credential and as verifier */
		assert_int_equal(m->len, shape_call_bytes(shape));
	} else {
		msg_u32(m, WEIR_RPC_REPLY);
		for (uint32_t i = 0; i < 4; i++)
			msg_u32(m, 0); /* accepted, AUTH_NONE, SUCCESS */
		assert_int_equal(m->len, shape_reply_bytes(shape));
	}
	for (uint32_t i = 0; i < ARG_BYTES / 4; i++)
		msg_u32(m, 0x01020304);
}

static bool has_chunks_of(const struct rdma1_header *hdr, enum shape shape)
{
	struct rdma1_segment seg;

	return !hdr->has_reply_chunk && hdr->proc == RDMA1_MSG &&
	       hdr->nread_segments == (shape == SHAPE_ONE_READ) &&
	       hdr->nwrite_chunks == (shape == SHAPE_ONE_WRITE) && !hdr->has_position_zero &&
	       (shape != SHAPE_ONE_WRITE || rdma1_is_one_write(hdr, &seg)) &&
	       (shape != SHAPE_ONE_READ || hdr->read_bytes > 0);
}

static bool is_none(const struct weir_rpc_auth *auth)
{
	return auth->flavor == WEIR_RPC_AUTH_NONE && auth->len_bytes == 0;
}

/* Returns true if the message has the shape by the two decoders. */
static bool decodes(const struct msg *m, uint32_t len, enum shape shape,
		    enum rdma1_direction direction, const struct rdma1_limits *limits)
{
	struct weir_rpc_call_header call;
	struct weir_rpc_reply_header reply;
	enum rdma1_reason reason;
	struct rdma1_header hdr;
	struct weir_xdr_in in;

	if (rdma1_decode(m->buf, len, direction, limits, &hdr, &reason) != RDMA1_V_OK ||
	    !has_chunks_of(&hdr, shape))
		return false;
	weir_xdr_in_init(&in, m->buf + hdr.header_bytes, len - hdr.header_bytes);
	if (direction == RDMA1_CALL)
		return rpc_call_decode(&in, &call) == 0 && call.xid == hdr.xid &&
		       call.prog == PROG && call.vers == VERS && is_none(&call.cred) &&
		       is_none(&call.verf);
	return rpc_reply_decode(&in, &reply) == 0 && reply.xid == hdr.xid &&
	       reply.reply_stat == WEIR_RPC_MSG_ACCEPTED && reply.accept_stat == WEIR_RPC_SUCCESS &&
	       is_none(&reply.verf);
}

static const struct {
	enum shape shape;
	enum rdma1_direction direction;
} all[] = {
	{SHAPE_INLINE, RDMA1_CALL},  {SHAPE_ONE_WRITE, RDMA1_CALL},  {SHAPE_ONE_READ, RDMA1_CALL},
	{SHAPE_INLINE, RDMA1_REPLY}, {SHAPE_ONE_WRITE, RDMA1_REPLY},
};

#define ALL (sizeof(all) / sizeof(all[0]))

static int setup(void **state)
{
	struct msg m;

	(void)state;
	make(&m, SHAPE_INLINE, RDMA1_CALL);
	prog_vers = rpc_prog_vers(m.buf + RDMA1_HEADER_MIN);
	return 0;
}

static void match__a_message_has_its_own_shape_only(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < ALL; i++) {
		struct msg m;

		make(&m, all[i].shape, all[i].direction);
		assert_true(
			decodes(&m, m.len, all[i].shape, all[i].direction, &rdma1_limits_default));
		assert_int_equal(shape_has_chunk(m.buf), all[i].shape != SHAPE_INLINE);
		for (uint32_t k = 0; k < ALL; k++)
			assert_int_equal(matches(&m, m.len, all[k].shape, all[k].direction,
						 &rdma1_limits_default),
					 i == k);
	}
}

/* RFC 8166 section 4.3.1: a reply has no Read list. */
static void match__4_3_1_no_reply_has_a_read_segment(void **state)
{
	struct msg m;

	(void)state;
	make(&m, SHAPE_ONE_READ, RDMA1_REPLY);
	assert_false(is_reply(&m, m.len, SHAPE_ONE_READ, &rdma1_limits_default));
}

/*
 * Flips each bit and replaces each word. A message must be recognised only if the decoders find the
 * shape.
 */
static void match__says_what_the_decoders_say(void **state)
{
	static const uint32_t words[] = {0, 1, 2, 3, 44, 48, 0xffffffff};
	const struct rdma1_limits *limits = &rdma1_limits_default;

	(void)state;
	for (uint32_t i = 0; i < ALL; i++) {
		enum rdma1_direction direction = all[i].direction;
		enum shape shape = all[i].shape;
		uint32_t nfound = 0;
		struct msg m, other;

		make(&m, shape, direction);
		for (uint32_t bit = 0; bit < 8 * m.len; bit++) {
			other = m;
			other.buf[bit / 8] ^= (uint8_t)(1u << bit % 8);
			nfound += decodes(&other, m.len, shape, direction, limits);
			assert_int_equal(matches(&other, m.len, shape, direction, limits),
					 decodes(&other, m.len, shape, direction, limits));
		}
		assert_true(nfound > 8 * ARG_BYTES);
		for (uint32_t at = 0; at < m.len; at += 4)
			for (uint32_t w = 0; w < sizeof(words) / sizeof(words[0]); w++) {
				other = m;
				msg_set_u32(&other, at, words[w]);
				assert_int_equal(matches(&other, m.len, shape, direction, limits),
						 decodes(&other, m.len, shape, direction, limits));
			}
	}
}

static void match__needs_both_headers(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < ALL; i++) {
		bool is_a_call = all[i].direction == RDMA1_CALL;
		uint32_t bytes = is_a_call ? shape_call_bytes(all[i].shape)
					   : shape_reply_bytes(all[i].shape);
		/* The caller has checked that the message is at least as long as the shortest
		 * reply. */
		uint32_t len = is_a_call ? 0 : shape_reply_bytes(SHAPE_INLINE);
		struct msg m;

		make(&m, all[i].shape, all[i].direction);
		if (all[i].shape == SHAPE_ONE_READ)
			msg_set_u32(&m, 20, POSITION - 4); /* at the end of the RPC header */
		for (; len <= m.len; len++)
			assert_int_equal(matches(&m, len, all[i].shape, all[i].direction,
						 &rdma1_limits_default),
					 len >= bytes);
	}
}

static void expect_refused(enum shape shape, enum rdma1_direction direction,
			   const struct rdma1_limits *limits)
{
	struct msg m;

	make(&m, shape, direction);
	assert_false(decodes(&m, m.len, shape, direction, limits));
	assert_false(matches(&m, m.len, shape, direction, limits));
}

static void match__keeps_to_each_limit(void **state)
{
	struct rdma1_limits limits;

	(void)state;
	limits = rdma1_limits_default;
	limits.write_chunks_max = 0;
	expect_refused(SHAPE_ONE_WRITE, RDMA1_CALL, &limits);
	limits = rdma1_limits_default;
	limits.segments_per_chunk_max = 0;
	expect_refused(SHAPE_ONE_WRITE, RDMA1_CALL, &limits);
	limits = rdma1_limits_default;
	limits.write_bytes_max = BYTES - 1;
	expect_refused(SHAPE_ONE_WRITE, RDMA1_CALL, &limits);
	expect_refused(SHAPE_ONE_WRITE, RDMA1_REPLY, &limits);
	limits = rdma1_limits_default;
	limits.read_segments_max = 0;
	expect_refused(SHAPE_ONE_READ, RDMA1_CALL, &limits);
	limits = rdma1_limits_default;
	limits.read_chunks_max = 0;
	expect_refused(SHAPE_ONE_READ, RDMA1_CALL, &limits);
	limits = rdma1_limits_default;
	limits.read_bytes_max = BYTES - 1;
	expect_refused(SHAPE_ONE_READ, RDMA1_CALL, &limits);
}

/* Checks that a segment must end within the address space. */
static void match__refuses_an_offset_that_wraps(void **state)
{
	static const uint32_t at_write = 36, at_read = 32;
	struct msg m;

	(void)state;
	make(&m, SHAPE_ONE_WRITE, RDMA1_CALL);
	msg_set_u32(&m, at_write, 0xffffffff);
	msg_set_u32(&m, at_write + 4, 0xffffffff - BYTES);
	assert_true(is_call(&m, m.len, SHAPE_ONE_WRITE, &rdma1_limits_default));
	msg_set_u32(&m, at_write + 4, 0xffffffff - BYTES + 1);
	assert_false(is_call(&m, m.len, SHAPE_ONE_WRITE, &rdma1_limits_default));
	make(&m, SHAPE_ONE_READ, RDMA1_CALL);
	msg_set_u32(&m, at_read, 0xffffffff);
	msg_set_u32(&m, at_read + 4, 0xffffffff - BYTES);
	assert_true(is_call(&m, m.len, SHAPE_ONE_READ, &rdma1_limits_default));
	msg_set_u32(&m, at_read + 4, 0xffffffff - BYTES + 1);
	assert_false(is_call(&m, m.len, SHAPE_ONE_READ, &rdma1_limits_default));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(match__a_message_has_its_own_shape_only),
		cmocka_unit_test(match__4_3_1_no_reply_has_a_read_segment),
		cmocka_unit_test(match__says_what_the_decoders_say),
		cmocka_unit_test(match__needs_both_headers),
		cmocka_unit_test(match__keeps_to_each_limit),
		cmocka_unit_test(match__refuses_an_offset_that_wraps),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
