/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "reassemble.h"

#include "rdma1_msg.h"

static int list(const struct msg *m, struct reassemble_chunk *chunks, uint32_t max)
{
	enum rdma1_reason reason;
	struct rdma1_header hdr;

	assert_int_equal(rdma1_decode(m->buf, m->len, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason),
			 RDMA1_V_OK);
	return reassemble_chunks(&hdr, chunks, max);
}

static void chunks__none_in_a_short_call(void **state)
{
	struct reassemble_chunk chunks[1];
	struct msg m;

	(void)state;
	msg_short(&m, 40);
	assert_int_equal(list(&m, chunks, 1), 0);
	assert_int_equal(list(&m, chunks, 0), 0);
}

static void chunks__3_4_5_are_sorted_and_their_segments_added_up(void **state)
{
	struct reassemble_chunk chunks[4];
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_MSG);
	msg_read(&m, 60, 1, 3, 0);
	msg_read(&m, 44, 2, 5, 0);
	msg_read(&m, 60, 3, 4, 0);
	msg_read(&m, 52, 4, 0, 0);
	msg_read(&m, 44, 5, 0, 0);
	msg_end(&m);
	msg_end(&m);
	msg_end(&m);
	msg_payload(&m, 64);
	assert_int_equal(list(&m, chunks, 4), 3);
	assert_int_equal(chunks[0].position, 44);
	assert_int_equal(chunks[0].len_bytes, 5);
	assert_int_equal(chunks[1].position, 52);
	assert_int_equal(chunks[1].len_bytes, 0);
	assert_int_equal(chunks[2].position, 60);
	assert_int_equal(chunks[2].len_bytes, 7);
	assert_int_equal(list(&m, chunks, 2), -E2BIG);
}

static void chunks__position_zero_comes_first(void **state)
{
	struct reassemble_chunk chunks[2];
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_NOMSG);
	msg_read(&m, 48, 1, 40, 0);
	msg_read(&m, 0, 2, 100, 0);
	msg_read(&m, 0, 3, 50, 0);
	msg_end(&m);
	msg_end(&m);
	msg_end(&m);
	assert_int_equal(list(&m, chunks, 2), 2);
	assert_int_equal(chunks[0].position, 0);
	assert_int_equal(chunks[0].len_bytes, 150);
	assert_int_equal(chunks[1].len_bytes, 40);
}

/* A stream of 40 bytes, then count words with 'gap' bytes between them. */
static uint8_t stream[256];

static void put_count(uint32_t at, uint32_t count)
{
	for (uint32_t i = 0; i < 4; i++)
		stream[at + i] = (uint8_t)(count >> (24 - 8 * i));
}

static void parts__3_4_5_item_stands_where_the_unreduced_stream_has_it(void **state)
{
	static uint8_t data[2][16];
	/* 44 bytes, 5 reduced and 3 of padding, 8 bytes, 4 reduced, 12 bytes */
	const struct reassemble_chunk chunks[] = {
		{.position = 44, .len_bytes = 5, .dst = data[0]},
		{.position = 60, .len_bytes = 4, .dst = data[1]},
	};
	struct weir_xdr_part parts[5];

	(void)state;
	put_count(40, 5);
	put_count(48, 4);
	assert_int_equal(reassemble_parts(stream, 64, chunks, 2, parts, 5), 5);
	assert_ptr_equal(parts[0].base, stream);
	assert_int_equal(parts[0].len_bytes, 44);
	assert_ptr_equal(parts[1].base, data[0]);
	assert_int_equal(parts[1].len_bytes, 5);
	assert_int_equal(parts[1].is_item, 1);
	assert_ptr_equal(parts[2].base, stream + 44);
	assert_int_equal(parts[2].len_bytes, 8);
	assert_int_equal(parts[2].is_item, 0);
	assert_int_equal(parts[3].len_bytes, 4);
	assert_ptr_equal(parts[4].base, stream + 52);
	assert_int_equal(parts[4].len_bytes, 12);
	/* With nothing behind the last item there is no part for it. */
	assert_int_equal(reassemble_parts(stream, 52, chunks, 2, parts, 5), 4);
	for (uint32_t max = 0; max < 5; max++)
		assert_int_equal(reassemble_parts(stream, 64, chunks, 2, parts, max), -EBADMSG);
}

static int one(uint32_t position, uint32_t len, uint32_t count, struct weir_xdr_part *parts)
{
	static uint8_t data[64];
	const struct reassemble_chunk chunk = {.position = position, .len_bytes = len, .dst = data};

	put_count(40, count);
	return reassemble_parts(stream, 64, &chunk, 1, parts, 3);
}

static void parts__3_4_5_roundup_padding_in_a_chunk_is_exact_or_absent(void **state)
{
	struct weir_xdr_part parts[3];

	(void)state;
	for (uint32_t count = 0; count < 12; count++) {
		uint32_t padded = (count + 3) & ~3u;

		for (uint32_t len = 0; len < 20; len++) {
			bool is_sound = len == count || len == padded;

			assert_int_equal(one(44, len, count, parts), is_sound ? 3 : -EBADMSG);
			if (is_sound) /* the data's own length in either case */
				assert_int_equal(parts[1].len_bytes, count);
		}
	}
}

static void parts__4_5_2_chunk_that_does_not_meet_its_count_is_refused(void **state)
{
	struct weir_xdr_part parts[3];

	(void)state;
	assert_int_equal(one(44, 8, UINT32_MAX, parts), -EBADMSG); /* padding would wrap 32 bits */
	assert_int_equal(one(44, 0, UINT32_MAX, parts), -EBADMSG);
	assert_int_equal(one(0, 8, 8, parts), -EBADMSG); /* no room for a count in front */
	assert_int_equal(one(68, 8, 8, parts), -EBADMSG);
	assert_int_equal(one(0xfffffffc, 8, 8, parts), -EBADMSG);
	assert_int_equal(one(44, 8, 8, parts), 3);
}

static void parts__4_5_2_chunks_that_overlap_are_refused(void **state)
{
	static uint8_t data[16];
	struct reassemble_chunk chunks[] = {
		{.position = 44, .len_bytes = 8, .dst = data},
		{.position = 48, .len_bytes = 8, .dst = data},
	};
	struct weir_xdr_part parts[5];

	(void)state;
	put_count(40, 8);
	put_count(44, 8);
	assert_int_equal(reassemble_parts(stream, 64, chunks, 2, parts, 5), -EBADMSG); /* in the other */
	chunks[1].position = 52; /* right behind it: there is no count */
	assert_int_equal(reassemble_parts(stream, 64, chunks, 2, parts, 5), -EBADMSG);
	chunks[1].position = 56;
	assert_int_equal(reassemble_parts(stream, 64, chunks, 2, parts, 5), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks__none_in_a_short_call),
		cmocka_unit_test(chunks__3_4_5_are_sorted_and_their_segments_added_up),
		cmocka_unit_test(chunks__position_zero_comes_first),
		cmocka_unit_test(parts__3_4_5_item_stands_where_the_unreduced_stream_has_it),
		cmocka_unit_test(parts__3_4_5_roundup_padding_in_a_chunk_is_exact_or_absent),
		cmocka_unit_test(parts__4_5_2_chunk_that_does_not_meet_its_count_is_refused),
		cmocka_unit_test(parts__4_5_2_chunks_that_overlap_are_refused),
	};

	return cmocka_run_group_tests_name("reassemble", tests, NULL, NULL);
}
