/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of a responder: its answer to each kind of message that a requester can send. */
#include <endian.h>

#include "raw_client.h"

static void receive__4_5_short_messages_are_dropped(void **state)
{
	struct engine_counters stats = {0};
	struct words m = null_call(1, 1);

	(void)state;
	for (uint32_t len = 1; len < 28; len++)
		raw_send(&raw, (const uint8_t *)m.w, len);
	raw_settle(&raw);
	assert_int_equal(raw.nmsgs, 0);
	test_counters(pair.server, &stats);
	assert_int_equal(stats.dropped, 27);
	expect_alive();
}

static void receive__4_5_1_another_version_is_err_vers(void **state)
{
	struct words m = {0}, r = {0};

	(void)state;
	put_fixed(&m, 77, 2, 1, 0);
	words_put(&m, 3, 0, 0, 0);
	words_put_rpc(&m, 77, PAIR_NULL);
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.n, 7);
	assert_int_equal(r.w[0], 77);
	assert_int_equal(r.w[1], 2);
	assert_int_equal(r.w[3], 4);
	assert_int_equal(r.w[4], 1);
	assert_int_equal(r.w[5], 1);
	assert_int_equal(r.w[6], 1);
	expect_alive();
}

static void receive__4_5_2_an_unknown_procedure_is_err_chunk(void **state)
{
	struct words m = null_call(5, 1);

	(void)state;
	m.w[3] = htobe32(5);
	raw_send_words(&raw, &m);
	expect_err_chunk(5, 1);
}

static void receive__4_6_1_msgp_is_err_chunk(void **state)
{
	struct words m = {0};

	(void)state;
	put_fixed(&m, 6, 1, 1, 2);
	words_put(&m, 5, 0, 0, 0, 0, 0);
	words_put_rpc(&m, 6, PAIR_NULL);
	raw_send_words(&raw, &m);
	expect_err_chunk(6, 1);
}

static void receive__4_6_2_done_and_4_2_4_error_are_dropped(void **state)
{
	struct words m = null_call(5, 1);

	(void)state;
	m.w[3] = htobe32(3);
	raw_send_words(&raw, &m);
	m.w[3] = htobe32(4);
	raw_send_words(&raw, &m);
	raw_settle(&raw);
	assert_int_equal(raw.nmsgs, 0);
	expect_alive();
}

static void receive__4_5_2_what_is_not_an_rpc_call_is_err_chunk(void **state)
{
	struct words m = null_call(9, 1);

	(void)state;
	m.w[8] = htobe32(2); /* the message is neither a call nor a reply */
	raw_send_words(&raw, &m);
	expect_err_chunk(9, 1);
	m = null_call(10, 1);
	m.n = 12; /* the message ends in the RPC header */
	raw_send_words(&raw, &m);
	expect_err_chunk(10, 1);
}

static void receive__4_5_2_xids_that_differ_are_err_chunk(void **state)
{
	struct words m = null_call(11, 1);

	(void)state;
	m.w[7] = htobe32(12);
	raw_send_words(&raw, &m);
	expect_err_chunk(11, 1);
}

static void receive__rpc_version_3_is_denied(void **state)
{
	struct words m = null_call(13, 1), r = {0};

	(void)state;
	m.w[9] = htobe32(3);
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[8], 1);  /* REPLY */
	assert_int_equal(r.w[9], 1);  /* MSG_DENIED */
	assert_int_equal(r.w[10], 0); /* RPC_MISMATCH */
	assert_int_equal(r.w[11], 2);
	assert_int_equal(r.w[12], 2);
	expect_alive();
}

static void grant__3_3_1_is_never_zero_nor_more_than_posted(void **state)
{
	static const struct {
		uint32_t asked, granted;
	} cases[] = {{0, 1}, {1, 1}, {5, 5}, {16, 16}, {17, 16}, {100000, 16}, {UINT32_MAX, 16}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct words m = null_call(20, cases[i].asked), r = {0};

		raw_send_words(&raw, &m);
		raw_recv_words(&raw, &r);
		assert_int_equal(r.w[2], cases[i].granted);
	}
}

/*
 * Makes a WRITE call whose data are in a Read chunk at 'position', with 'nsegs' segments of 'len'
 * bytes each. The count word of the item is 'count', and the rkey of the segments is 'handle'.
 */
static struct words write_call(uint32_t xid, uint32_t proc, uint32_t position, uint32_t nsegs,
			       uint32_t len, uint32_t count, uint32_t handle)
{
	struct words m = {0};

	put_fixed(&m, xid, 1, 1, 0);
	for (uint32_t i = 0; i < nsegs; i++) {
		words_put(&m, 2, 1, position);
		put_segment(&m, handle, len, raw.raddr + i * len);
	}
	words_put(&m, 3, 0, 0, 0);
	words_put_rpc(&m, xid, proc);
	words_put(&m, 3, 100, count, 11);
	return m;
}

static uint32_t checksum(uint32_t len)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < len; i++)
		sum = sum * 33 + raw.mem[i];
	return sum;
}

static void expect_written(uint32_t xid, uint32_t len)
{
	struct words r = {0};

	raw_recv_words(&raw, &r);
	assert_int_equal(r.n, 7 + 6 + 3);
	assert_int_equal(r.w[0], xid);
	assert_int_equal(r.w[3], 0);
	/* the Read list is empty in all replies (RFC 8166 section 4.3.1) */
	assert_int_equal(r.w[4], 0);
	assert_int_equal(r.w[12], 0);
	assert_int_equal(r.w[13], 111);
	assert_int_equal(r.w[14], len);
	assert_int_equal(r.w[15], checksum(len));
}

static void pull__3_4_5_segments_are_concatenated_in_list_order(void **state)
{
	struct words m;

	(void)state;
	for (uint32_t i = 0; i < 5000; i++)
		raw.mem[i] = pair_byte(i + 3);
	for (uint32_t nsegs = 1; nsegs <= 9; nsegs += 2) {
		for (uint32_t len = 1; len < 12; len++) {
			m = write_call(30 + nsegs, PAIR_WRITE, 48, nsegs, len, nsegs * len,
				       raw.mr.rkey);
			raw_send_words(&raw, &m);
			expect_written(30 + nsegs, nsegs * len);
		}
	}
	m = write_call(50, PAIR_WRITE, 48, 5, 1000, 5000, raw.mr.rkey);
	raw_send_words(&raw, &m);
	expect_written(50, 5000);
}

static void pull__3_4_5_roundup_padding_in_the_chunk_is_allowed(void **state)
{
	struct words m = write_call(51, PAIR_WRITE, 48, 1, 1000, 997, raw.mr.rkey);

	(void)state;
	memset(raw.mem, 0xbb, 1000);
	raw_send_words(&raw, &m);
	expect_written(51, 997);
}

static void two_bulk_buffers(struct weir_profile *profile)
{
	profile->bulk_buffers = 2;
}

static int setup_two_bulk_buffers(void **state)
{
	(void)state;
	pair_start(&pair, two_bulk_buffers);
	raw_open(&raw, &pair);
	raw_connect(&raw);
	return 0;
}

/*
 * Checks Long Calls that need two buffers each, with two buffers in the pool. If each call took one
 * buffer and waited for the second, none could continue.
 */
static void pull__long_calls_with_items_do_not_wait_for_each_other(void **state)
{
	const uint32_t rpc_at = 65536, rpc_bytes = 52, nmsgs = 8;

	(void)state;
	memset(raw.mem, 0x3c, 5000);
	for (uint32_t i = 0; i < nmsgs; i++) {
		struct words m = {0}, rpc = {0};
		uint64_t at = rpc_at + i * 64;

		words_put_rpc(&rpc, 80 + i, PAIR_WRITE);
		words_put(&rpc, 3, 100, 5000, 11);
		memcpy(raw.mem + at, rpc.w, rpc_bytes);
		put_fixed(&m, 80 + i, 1, nmsgs, 1);
		words_put(&m, 2, 1, 0);
		put_segment(&m, raw.mr.rkey, rpc_bytes, raw.raddr + at);
		words_put(&m, 2, 1, 48);
		put_segment(&m, raw.mr.rkey, 5000, raw.raddr);
		words_put(&m, 3, 0, 0, 0);
		raw_send_words(&raw, &m);
	}
	for (uint32_t i = 0; i < nmsgs; i++) {
		struct words r = {0};

		raw_recv_words(&raw, &r);
		assert_int_equal(r.n, 16);
		assert_in_range(r.w[0], 80, 80 + nmsgs - 1);
		assert_int_equal(r.w[14], 5000);
		assert_int_equal(r.w[15], checksum(5000));
	}
	assert_int_equal(pair.handled, nmsgs);
}

static void pull__4_5_2_a_chunk_that_does_not_fit_the_arguments_is_garbage_args(void **state)
{
	static const struct {
		uint32_t position, len, count;
	} cases[] = {
		{48, 100, 96},	/* the chunk is longer than the count word states */
		{48, 100, 104}, /* the chunk is shorter than the count word states */
		{44, 100, 100}, /* the position is that of the count word */
		{52, 100, 100}, /* the position is one word too large */
		{48, 4, UINT32_MAX},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct words m = write_call(60, PAIR_WRITE, cases[i].position, 1, cases[i].len,
					    cases[i].count, raw.mr.rkey);
		struct words r = {0};

		raw_send_words(&raw, &m);
		raw_recv_words(&raw, &r);
		assert_int_equal(r.n, 13);
		assert_int_equal(r.w[12], WEIR_RPC_GARBAGE_ARGS);
		expect_alive();
	}
}

static void pull__3_4_5_a_position_that_is_no_multiple_of_four_is_err_chunk(void **state)
{
	struct words m = write_call(61, PAIR_WRITE, 46, 1, 100, 100, raw.mr.rkey);

	(void)state;
	raw_send_words(&raw, &m);
	expect_err_chunk(61, 1);
}

static void pull__position_beyond_the_body_is_err_chunk(void **state)
{
	struct words m = write_call(62, PAIR_WRITE, 4000, 1, 100, 100, raw.mr.rkey);

	(void)state;
	raw_send_words(&raw, &m);
	expect_err_chunk(62, 1);
}

static void pull__6_1_reducing_what_is_not_eligible_is_err_chunk(void **state)
{
	struct words m = write_call(63, PAIR_ECHO, 48, 1, 100, 100, raw.mr.rkey);
	struct engine_counters before = {0};
	struct engine_counters after = {0};

	(void)state;
	test_counters(pair.server, &before);
	raw_send_words(&raw, &m);
	expect_err_chunk(63, 1);
	test_counters(pair.server, &after);
	assert_int_equal(after.reads, before.reads); /* nothing was read */
}

static void pull__8_1_4_a_chunk_over_the_limit_is_refused_before_anything_is_taken(void **state)
{
	struct engine_counters before = {0};
	struct engine_counters after = {0};
	struct words m;

	(void)state;
	test_counters(pair.server, &before);
	m = write_call(64, PAIR_WRITE, 48, 1, UINT32_MAX, UINT32_MAX, raw.mr.rkey);
	raw_send_words(&raw, &m);
	expect_err_chunk(64, 1);
	m = write_call(65, PAIR_WRITE, 48, 9, 0x20000000, 0x20000000,
		       raw.mr.rkey); /* the sum of the lengths overflows 32 bits */
	raw_send_words(&raw, &m);
	expect_err_chunk(65, 1);
	test_counters(pair.server, &after);
	assert_int_equal(after.reads, before.reads);
	assert_int_equal(after.buffer_waits, before.buffer_waits);
}

static void pull__4_5_3_a_bad_key_ends_this_connection_only(void **state)
{
	struct words m = write_call(66, PAIR_WRITE, 48, 1, 100, 100, raw.mr.rkey ^ 0x5a5a0000);
	struct outcome outcome;

	(void)state;
	pair_connect(&pair);
	raw_send_words(&raw, &m);
	raw_until(&raw, &raw.disconnected, 1);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(pair.closed, 0);
}

/*
 * Makes a READ call of 'count' bytes. It has one Write chunk of 'nsegs' segments with the lengths
 * 'lens'. If 'reply_len' is not 0, it also has a Reply chunk of that length.
 */
static struct words read_call(uint32_t xid, uint32_t count, uint32_t nsegs, const uint32_t *lens,
			      uint32_t reply_len)
{
	struct words m = {0};
	uint64_t at = raw.raddr;

	put_fixed(&m, xid, 1, 1, 0);
	words_put(&m, 3, 0, 1, nsegs);
	for (uint32_t i = 0; i < nsegs; i++) {
		put_segment(&m, raw.mr.rkey, lens[i], at);
		at += lens[i];
	}
	words_put(&m, 1, 0);
	if (reply_len) {
		words_put(&m, 2, 1, 1);
		put_segment(&m, raw.mr.rkey, reply_len, raw.raddr + 65536);
	} else {
		words_put(&m, 1, 0);
	}
	words_put_rpc(&m, xid, PAIR_READ);
	words_put(&m, 1, count);
	return m;
}

static void reply__3_4_6_segments_are_filled_in_order_and_returned_with_their_lengths(void **state)
{
	static const uint32_t lens[] = {10, 0, 7, 100, 50};
	struct words m, r = {0};

	(void)state;
	memset(raw.mem, 0xee, 200);
	m = read_call(70, 61, 5, lens, 0);
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[3], 0);
	assert_int_equal(r.w[4], 0);
	assert_int_equal(r.w[5], 1);
	assert_int_equal(r.w[6], 5);
	for (uint32_t i = 0, left = 61; i < 5; i++) {
		uint32_t want = left < lens[i] ? left : lens[i];

		assert_int_equal(r.w[7 + 4 * i], raw.mr.rkey);
		assert_int_equal(r.w[8 + 4 * i], want);
		left -= want;
	}
	assert_int_equal(r.w[27], 0); /* end of the Write list */
	assert_int_equal(r.w[28], 0); /* no Reply chunk */
	assert_int_equal(r.n, 29 + 6 + 1);
	assert_int_equal(r.w[35], 61);
	assert_memory_equal(raw.mem, pair.server_mem, 61);
	for (int i = 61; i < 200; i++) /* no padding, and no bytes after the data */
		assert_int_equal(raw.mem[i], 0xee);
}

static void reply__a_result_longer_than_its_chunk_is_err_chunk_and_nothing_is_written(void **state)
{
	static const uint32_t lens[] = {10, 20};
	struct words m;

	(void)state;
	memset(raw.mem, 0xee, 200);
	m = read_call(71, 31, 2, lens, 0);
	raw_send_words(&raw, &m);
	expect_err_chunk(71, 1);
	for (int i = 30; i < 200; i++)
		assert_int_equal(raw.mem[i], 0xee);
}

static void reply__4_3_2_an_unused_chunk_returns_with_empty_segments(void **state)
{
	static const uint32_t lens[] = {10, 20};
	struct words m = read_call(72, 5, 2, lens, 0), r = {0};

	(void)state;
	assert_int_equal(be32toh(m.w[17]), 72);
	m.w[17 + 5] = htobe32(PAIR_GARBAGE); /* sets the procedure */
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[5], 1);
	assert_int_equal(r.w[6], 2);
	assert_int_equal(r.w[8], 0);
	assert_int_equal(r.w[12], 0);
	expect_alive();
}

static void reply__4_3_3_a_reply_chunk_is_copied_into_the_reply(void **state)
{
	static const uint32_t lens[] = {100};
	struct words m = read_call(73, 50, 1, lens, 4096), r = {0};

	(void)state;
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[3], 0);
	assert_int_equal(r.w[12], 1); /* Reply chunk present */
	assert_int_equal(r.w[13], 1);
	assert_int_equal(r.w[14], raw.mr.rkey);
	assert_int_equal(r.w[15], 0); /* the Reply chunk is unused, because the message is inline */
	expect_alive();
}

static void reply__4_3_2_zero_segments_ask_for_the_item_inline(void **state)
{
	struct words m = read_call(74, 50, 0, NULL, 0), r = {0};

	(void)state;
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[5], 1); /* an unused Write chunk is returned at the same index */
	assert_int_equal(r.w[6], 0);
	assert_int_equal(r.n, 9 + 6 + 1 + 13);
	expect_alive();
}

static void receive__far_more_calls_than_granted_harm_nobody_else(void **state)
{
	struct words m = null_call(100, 1);
	struct fabric_sge sge = {raw.base + RAW_SEND_AT, 68, raw.mr.lkey};
	const struct fabric_wr wr = {
		.op = FABRIC_SEND, .sge = &sge, .nsge = 1, .flags = FABRIC_SIGNALED};
	struct outcome outcome;

	(void)state;
	pair_connect(&pair);
	raw.ignores = true;
	memcpy(sge.addr, m.w, 68);
	for (int i = 0; i < 200; i++) {
		raw.ops->post_send(raw.qp, &wr, 1);
		if (i % 50 == 49)
			raw_poll(&raw);
	}
	raw_settle(&raw);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(pair.closed, 0);
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(receive__4_5_short_messages_are_dropped),
		T(receive__4_5_1_another_version_is_err_vers),
		T(receive__4_5_2_an_unknown_procedure_is_err_chunk),
		T(receive__4_6_1_msgp_is_err_chunk),
		T(receive__4_6_2_done_and_4_2_4_error_are_dropped),
		T(receive__4_5_2_what_is_not_an_rpc_call_is_err_chunk),
		T(receive__4_5_2_xids_that_differ_are_err_chunk),
		T(receive__rpc_version_3_is_denied),
		T(grant__3_3_1_is_never_zero_nor_more_than_posted),
		T(pull__3_4_5_segments_are_concatenated_in_list_order),
		T(pull__3_4_5_roundup_padding_in_the_chunk_is_allowed),
		cmocka_unit_test_setup_teardown(
			pull__long_calls_with_items_do_not_wait_for_each_other,
			setup_two_bulk_buffers, teardown),
		T(pull__4_5_2_a_chunk_that_does_not_fit_the_arguments_is_garbage_args),
		T(pull__3_4_5_a_position_that_is_no_multiple_of_four_is_err_chunk),
		T(pull__position_beyond_the_body_is_err_chunk),
		T(pull__6_1_reducing_what_is_not_eligible_is_err_chunk),
		T(pull__8_1_4_a_chunk_over_the_limit_is_refused_before_anything_is_taken),
		T(pull__4_5_3_a_bad_key_ends_this_connection_only),
		T(reply__3_4_6_segments_are_filled_in_order_and_returned_with_their_lengths),
		T(reply__a_result_longer_than_its_chunk_is_err_chunk_and_nothing_is_written),
		T(reply__4_3_2_an_unused_chunk_returns_with_empty_segments),
		T(reply__4_3_3_a_reply_chunk_is_copied_into_the_reply),
		T(reply__4_3_2_zero_segments_ask_for_the_item_inline),
		T(receive__far_more_calls_than_granted_harm_nobody_else),
	};

	return cmocka_run_group_tests_name("wire_responder", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
