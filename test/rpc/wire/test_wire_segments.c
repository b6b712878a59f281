/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of chunks with many segments, which a responder writes with several groups of work
 * requests.
 */
#include "pair_main.h"

#include <string.h>

#include "raw.h"

#define SEGMENTS_MAX 60u /* the largest number that a reply of 1024 bytes can return */
#define SEG_BYTES    7u
#define STRIDE	     16u /* bytes between the starts of two segments */
#define CALL_BYTES   (SEGMENTS_MAX * STRIDE)

static struct pair pair;
static struct raw raw;

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, NULL);
	raw_open(&raw, &pair);
	raw_connect(&raw);
	memset(raw.mem, 0xee, 65536);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	raw_end(&raw);
	return 0;
}

static void put_chunk(struct words *m, uint32_t nsegs, uint64_t at)
{
	words_put(m, 2, 1, nsegs);
	for (uint32_t i = 0; i < nsegs; i++, at += STRIDE)
		words_put(m, 4, raw.mr.rkey, SEG_BYTES, (uint32_t)(at >> 32), (uint32_t)at);
}

/*
 * Sends a READ call with a Write chunk, or a BIG call with a Reply chunk. The chunk has 'nsegs'
 * segments, which begin at mem + xid * CALL_BYTES.
 */
static void send_call(uint32_t xid, uint32_t proc, uint32_t nsegs, uint32_t count)
{
	uint64_t at = raw.raddr + xid * CALL_BYTES;
	struct words m = {0};

	words_put(&m, 5, xid, 1, 16, 0, 0);
	if (proc == PAIR_READ)
		put_chunk(&m, nsegs, at);
	words_put(&m, 1, 0);
	if (proc == PAIR_BIG)
		put_chunk(&m, nsegs, at);
	else
		words_put(&m, 1, 0);
	words_put(&m, 11, xid, 0, 2, PAIR_PROG, PAIR_VERS, proc, 0, 0, 0, 0, count);
	raw_send_words(&raw, &m);
}

/*
 * Checks that the segments of call 'xid' contain the 'bytes' bytes at 'want', in order, and that
 * the memory between the segments is unchanged.
 */
static void expect_spread(uint32_t xid, const uint8_t *want, uint32_t bytes)
{
	for (uint32_t i = 0; i < SEGMENTS_MAX; i++) {
		const uint8_t *seg = raw.mem + xid * CALL_BYTES + i * STRIDE;
		uint32_t n = bytes < SEG_BYTES ? bytes : SEG_BYTES;

		assert_memory_equal(seg, want, n);
		for (uint32_t j = n; j < STRIDE; j++)
			assert_int_equal(seg[j], 0xee);
		want += n;
		bytes -= n;
	}
}

/*
 * Receives the next reply and checks its chunk, which starts at word 'at': the chunk has 'nsegs'
 * segments and returns 'bytes' bytes. Returns the XID of the reply.
 */
static uint32_t expect_returned(uint32_t at, uint32_t nsegs, uint32_t bytes)
{
	struct words r = {0};

	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[at], 1);
	assert_int_equal(r.w[at + 1], nsegs);
	for (uint32_t i = 0; i < nsegs; i++) {
		uint32_t n = bytes < SEG_BYTES ? bytes : SEG_BYTES;

		assert_int_equal(r.w[at + 2 + 4 * i], raw.mr.rkey);
		assert_int_equal(r.w[at + 3 + 4 * i], n);
		bytes -= n;
	}
	return r.w[0];
}

static void reply__3_4_6_a_write_chunk_may_have_any_number_of_segments(void **state)
{
	(void)state;
	for (uint32_t nsegs = 1; nsegs <= SEGMENTS_MAX; nsegs++) {
		memset(raw.mem, 0xee, 2 * CALL_BYTES);
		send_call(1, PAIR_READ, nsegs, nsegs * SEG_BYTES - nsegs % SEG_BYTES);
		assert_int_equal(expect_returned(5, nsegs, nsegs * SEG_BYTES - nsegs % SEG_BYTES),
				 1);
		expect_spread(1, pair.server_mem, nsegs * SEG_BYTES - nsegs % SEG_BYTES);
	}
	assert_int_equal(raw.disconnected, 0);
}

/*
 * Checks replies that have more Writes than the send queue holds, so that the replies wait for each
 * other.
 */
static void reply__many_at_once_wait_for_places(void **state)
{
	const uint32_t ncalls = 16;

	(void)state;
	for (uint32_t xid = 1; xid <= ncalls; xid++)
		send_call(xid, PAIR_READ, SEGMENTS_MAX, SEGMENTS_MAX * SEG_BYTES);
	for (uint32_t i = 1; i <= ncalls; i++) {
		uint32_t xid = expect_returned(5, SEGMENTS_MAX, SEGMENTS_MAX * SEG_BYTES);

		assert_in_range(xid, 1, ncalls);
		expect_spread(xid, pair.server_mem, SEGMENTS_MAX * SEG_BYTES);
	}
	assert_int_equal(raw.disconnected, 0);
}

static void reply__4_3_3_so_may_a_reply_chunk(void **state)
{
	/* The reply does not fit inline. */
	const uint32_t count = 340, bytes = 24 + 4 + count;
	uint8_t want[24 + 4 + 340];
	struct words rpc = {0};

	(void)state;
	words_put(&rpc, 7, 2, 1, 0, 0, 0, 0, count);
	memcpy(want, rpc.w, 28);
	memcpy(want + 28, pair.server_mem, count);
	send_call(2, PAIR_BIG, 58, count);
	assert_int_equal(expect_returned(6, 58, bytes), 2);
	expect_spread(2, want, bytes);
	assert_int_equal(raw.disconnected, 0);
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(reply__3_4_6_a_write_chunk_may_have_any_number_of_segments),
		T(reply__many_at_once_wait_for_places),
		T(reply__4_3_3_so_may_a_reply_chunk),
	};

	return cmocka_run_group_tests_name("wire_segments", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
