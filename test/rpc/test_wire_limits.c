/* SPDX-License-Identifier: BSD-3-Clause */
/* A responder at its limits: inline thresholds, and pools that are empty. */
#include "pair_main.h"

#include <errno.h>
#include <string.h>

#include "conn.h"
#include "raw.h"

#define BUFS_MAX 256u

static struct pair pair;
static struct raw raw;

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, NULL);
	raw_open(&raw, &pair);
	raw_connect(&raw);
	raw_until(&raw, &pair.server_opened, 1);
	return 0;
}

/* Receives of 1024 bytes and no more. */
static void smallest_inline(struct weir_profile *profile)
{
	profile->inline_bytes = 1024;
}

static int setup_smallest_inline(void **state)
{
	(void)state;
	pair_start(&pair, smallest_inline);
	raw_open(&raw, &pair);
	raw_connect(&raw);
	raw_until(&raw, &pair.server_opened, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	raw_close(&raw);
	pair_stop(&pair);
	return 0;
}

/* A call with a Write chunk of 'nsegs' empty segments, or no chunks, and one word of arguments. */
static struct words call(uint32_t proc, uint32_t nsegs, uint32_t word)
{
	struct words m = {0};

	words_put(&m, 5, 5, 1, 1, 0, 0);
	if (nsegs > 0)
		words_put(&m, 2, 1, nsegs);
	for (uint32_t i = 0; i < nsegs; i++)
		words_put(&m, 4, 0, 0, 0, 0);
	words_put(&m, 2, 0, 0);
	words_put(&m, 11, 5, 0, 2, PAIR_PROG, PAIR_VERS, proc, 0, 0, 0, 0, word);
	return m;
}

/* Without private data at the set-up, which the raw peer does not send. */
static void inline__3_3_3_is_1024_bytes_where_nothing_was_agreed(void **state)
{
	const uint32_t largest = 1024 - 28 - 24 - 4;
	struct words m = call(PAIR_BIG, 0, largest), r = {0};

	(void)state;
	assert_int_equal(weir_conn_send_inline(pair.server_conn), 1024);
	assert_int_equal(weir_conn_recv_inline(pair.server_conn), 1024);
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.n * 4, 1024);
	assert_int_equal(r.w[3], 0);
	m = call(PAIR_BIG, 0, largest + 1);
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.n, 5); /* ERR_CHUNK */
	assert_int_equal(raw.disconnected, 0);
}

static void receive__3_3_3_a_message_of_1024_bytes_is_taken(void **state)
{
	struct words m = call(PAIR_ECHO, 0, 900), r = {0};

	(void)state;
	m.n = 1024 / 4;
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[3], 0);
	assert_int_equal(r.w[12], 0);
	assert_int_equal(r.w[13], 900);
}

/* Send with only 'left' buffers for it: the connection ends, all buffers come back, the engine goes on. */
static void expect_close(const struct words *m, uint32_t left)
{
	struct mem_pool *pool = pair.server->send_pool;
	struct mem_buf *bufs[BUFS_MAX];
	struct outcome outcome;
	uint32_t n = 0;

	while (n < BUFS_MAX && (bufs[n] = mem_pool_get(pool)))
		n++;
	assert_in_range(n, left, BUFS_MAX - 1);
	for (uint32_t i = 0; i < left; i++)
		mem_pool_put(bufs[--n]);
	raw_send_words(&raw, m);
	raw_until(&raw, &raw.disconnected, 1);
	raw_until(&raw, &pair.server_closed, 1);
	assert_int_equal(pair.server_close_error, -ENOBUFS);
	assert_int_equal(pool->count - pool->in_use, left);
	while (n > 0)
		mem_pool_put(bufs[--n]);
	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
}

static void reply__4_5_4_a_responder_that_can_not_send_it_closes_the_connection(void **state)
{
	struct words m = call(PAIR_NULL, 0, 0);

	(void)state;
	expect_close(&m, 0);
}

static void reply__4_5_4_as_does_one_without_memory_for_a_long_header(void **state)
{
	/* Longer than the headroom of a reply's buffer: it takes a second one. */
	struct words m = call(PAIR_READ, 40, 0);

	(void)state;
	expect_close(&m, 1);
}

static void reply__4_5_4_as_does_one_without_memory_to_gather_it(void **state)
{
	struct words m = call(PAIR_READ, 0, 100);

	(void)state;
	/* Header and item lie apart: a device that gathers nothing needs a copy in one piece. */
	pair.server_conn->max_sge = 1;
	expect_close(&m, 1);
}

static void error__4_5_4_that_can_not_be_sent_closes_the_connection(void **state)
{
	struct words m = call(PAIR_NULL, 0, 0);

	(void)state;
	m.w[1] = htobe32(2);
	expect_close(&m, 0);
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(inline__3_3_3_is_1024_bytes_where_nothing_was_agreed),
		cmocka_unit_test_setup_teardown(receive__3_3_3_a_message_of_1024_bytes_is_taken,
						setup_smallest_inline, teardown),
		T(reply__4_5_4_a_responder_that_can_not_send_it_closes_the_connection),
		T(reply__4_5_4_as_does_one_without_memory_for_a_long_header),
		T(reply__4_5_4_as_does_one_without_memory_to_gather_it),
		T(error__4_5_4_that_can_not_be_sent_closes_the_connection),
	};

	return cmocka_run_group_tests_name("wire_limits", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
