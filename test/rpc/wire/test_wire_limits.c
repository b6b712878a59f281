/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a responder at its limits: at the inline thresholds, and with an empty pool of send
 * buffers.
 */
#include "pair_main.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "conn.h"
#include "raw.h"

#define BUFS_MAX   256u
#define TIMEOUT_MS 100u

static struct pair pair;
static struct raw raw;

static struct mem_buf *bufs[BUFS_MAX], *spare;
static uint32_t nbufs;

static void hasty(struct weir_profile *profile)
{
	profile->send_timeout_ms = TIMEOUT_MS;
}

static int start(void (*change)(struct weir_profile *profile))
{
	nbufs = 0;
	pair_start(&pair, change);
	raw_open(&raw, &pair);
	raw_connect(&raw);
	raw_until(&raw, &pair.server_opened, 1);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	return start(NULL);
}

static int setup_hasty(void **state)
{
	(void)state;
	return start(hasty);
}

/* Sets the inline threshold to the minimum of 1024 bytes. */
static void smallest_inline(struct weir_profile *profile)
{
	profile->inline_bytes = 1024;
}

static int setup_smallest_inline(void **state)
{
	(void)state;
	return start(smallest_inline);
}

static int teardown(void **state)
{
	(void)state;
	raw_end(&raw);
	return 0;
}

/*
 * Makes a call with one word of arguments. If 'nsegs' is 0, the call has no chunks. Otherwise it
 * has a Write chunk of 'nsegs' segments of no bytes.
 */
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

/*
 * Checks the default inline threshold. The raw peer sends no private data when it connects, so that
 * no other threshold is agreed.
 */
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

/* Takes send buffers of the responder until 'left' are free. */
static void leave_buffers(uint32_t left)
{
	struct mem_pool *pool = pair.server->send_pool;

	while (nbufs < BUFS_MAX && (bufs[nbufs] = mem_pool_get(pool)))
		nbufs++;
	assert_in_range(nbufs, left, BUFS_MAX - 1);
	for (uint32_t i = 0; i < left; i++)
		mem_pool_put(bufs[--nbufs]);
}

static void give_back(void)
{
	while (nbufs > 0)
		mem_pool_put(bufs[--nbufs]);
}

/*
 * Checks that the connection ends when a reply has waited for the time limit. The test holds the
 * reserve buffer, so that the reply never gets one. All buffers are returned, and the engine
 * continues.
 */
static void expect_close(const struct words *m, uint32_t left)
{
	struct mem_pool *pool = pair.server->send_pool;
	struct engine_counters stats = {0};
	struct outcome outcome;

	leave_buffers(left);
	spare = mem_pool_get(pair.server->reserve_pool);
	assert_non_null(spare);
	raw_send_words(&raw, m);
	raw_until(&raw, &raw.disconnected, 1);
	raw_until(&raw, &pair.server_closed, 1);
	assert_int_equal(pair.server_close_error, -ENOBUFS);
	test_counters(pair.server, &stats);
	assert_int_equal(stats.send_timeouts, 1);
	assert_int_equal(pool->count - pool->in_use, left);
	assert_true(TAILQ_EMPTY(&pair.server->reserve_queues));
	give_back();
	mem_pool_put(spare);
	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
}

/* Makes a call whose reply grants credits for more than one call in flight. */
static void earn_credits(void)
{
	struct words m = call(PAIR_NULL, 0, 0), r = {0};

	m.w[2] = htobe32(16);
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
}

static void send_calls(const struct words *m, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct words next = *m;

		next.w[0] = next.w[next.n - 11] = htobe32(100 + i);
		next.w[2] = htobe32(16);
		raw_send_words(&raw, &next);
	}
}

/*
 * Checks that each of 'n' calls is answered, and that word 'at' of each answer is 'want'. Checks
 * also that each answer used the reserve buffer and that no connection ended.
 */
static void expect_answers(uint32_t n, uint32_t at, uint32_t want)
{
	for (uint32_t i = 0; i < n; i++) {
		struct words r = {0};

		raw_recv_words(&raw, &r);
		assert_in_range(r.w[0], 100, 100 + n - 1);
		assert_int_equal(r.w[at], want);
	}
	raw_settle(&raw);
	assert_int_equal(raw.disconnected, 0);
	assert_int_equal(pair.server->reserve_pool->in_use, 0);
	assert_int_equal(pair.server->reserve_pool->in_use_peak, 1);
	assert_true(TAILQ_EMPTY(&pair.server->reserve_queues));
	give_back();
}

static void expect_by_reserve(const struct words *m, uint32_t left, uint32_t n, uint32_t at,
			      uint32_t want)
{
	earn_credits();
	leave_buffers(left);
	send_calls(m, n);
	expect_answers(n, at, want);
}

static void reply__4_5_4_a_responder_that_can_not_send_it_closes_the_connection(void **state)
{
	struct words m = call(PAIR_NULL, 0, 0);

	(void)state;
	expect_close(&m, 0);
}

/*
 * Checks a reply whose transport header is longer than the headroom of its buffer. Such a reply
 * needs a second buffer.
 */
static void reply__4_5_4_as_does_one_without_memory_for_a_long_header(void **state)
{
	struct words m = call(PAIR_READ, 40, 0);

	(void)state;
	expect_close(&m, 1);
}

/*
 * Checks a reply whose header and item are in different memory. A device that gathers nothing needs
 * both copied into one buffer.
 */
static void reply__4_5_4_as_does_one_without_memory_to_gather_it(void **state)
{
	struct words m = call(PAIR_READ, 0, 100);

	(void)state;
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

/*
 * Checks handlers that find no buffer for results and reply SYSTEM_ERR. These replies use the
 * reserve.
 */
static void exhausted__errors_of_rpc_go_by_the_reserve(void **state)
{
	struct words m = call(PAIR_NULL, 0, 0);

	(void)state;
	expect_by_reserve(&m, 0, 5, 12, 5);
}

static void exhausted__errors_of_the_transport_go_by_the_reserve(void **state)
{
	struct words m = call(PAIR_NULL, 0, 0);

	(void)state;
	m.w[1] = htobe32(2);
	expect_by_reserve(&m, 0, 5, 3, 4);
}

static void exhausted__a_reply_with_a_long_header_goes_by_the_reserve(void **state)
{
	struct words m = call(PAIR_READ, 40, 0);
	struct engine_counters stats = {0};

	(void)state;
	expect_by_reserve(&m, 1, 1, 6, 40);
	/* The reply was prepared twice, before its wait and after it, but is counted once. */
	test_counters(pair.server, &stats);
	assert_int_equal(stats.buffer_waits, 1);
	assert_int_equal(stats.write_chunks, 1);
	/* this reply, and the reply that granted the credits */
	assert_int_equal(stats.replies_sent, 2);
}

static void exhausted__a_reply_that_is_to_be_gathered_goes_by_the_reserve(void **state)
{
	struct words m = call(PAIR_READ, 0, 100);

	(void)state;
	pair.server_conn->max_sge = 1;
	expect_by_reserve(&m, 1, 1, 13, 100);
}

/*
 * Checks replies with a long header and inline data. Both fit into one buffer of the reserve. Later
 * calls wait for their first buffer.
 */
static void exhausted__a_reply_with_both_goes_by_the_reserve(void **state)
{
	struct words m = call(PAIR_BIG, 40, 100);

	(void)state;
	pair.server_conn->max_sge = 1;
	expect_by_reserve(&m, 1, 3, 6, 40);
}

/*
 * Checks replies that each hold one buffer and need another one. They get it from the reserve, one
 * after the other.
 */
static void exhausted__replies_that_each_want_one_more_do_not_wait_for_each_other(void **state)
{
	const struct words m = call(PAIR_LATER, 40, 7);
	const int n = 6;

	(void)state;
	earn_credits();
	send_calls(&m, (uint32_t)n);
	for (uint32_t i = 0; pair.nlater < (uint32_t)n && pair_wait(&pair, i); i++)
		raw_poll(&raw);
	assert_int_equal(pair.nlater, n);
	for (int i = 0; i < n; i++)
		weir_xdr_put_u32(weir_request_results(pair.later[i], 4), 8);
	leave_buffers(0);
	for (int i = 0; i < n; i++)
		weir_request_reply(pair.later[i]);
	pair.nlater = 0;
	expect_answers((uint32_t)n, 6, 40);
}

static void pass_ms(uint32_t ms)
{
	uint64_t until_ns = weir_engine_now(pair.server) + ms * 1000000ull;

	for (uint32_t i = 0; weir_engine_now(pair.server) < until_ns && pair_wait(&pair, i); i++)
		raw_poll(&raw);
	assert_true(weir_engine_now(pair.server) >= until_ns);
}

/*
 * Checks that a reply which was sent after a wait leaves no start time that would make a later wait
 * seem longer.
 */
static void exhausted__each_wait_has_its_own_time(void **state)
{
	struct words m = call(PAIR_NULL, 0, 0);

	(void)state;
	expect_by_reserve(&m, 0, 5, 12, 5);
	pass_ms(2 * TIMEOUT_MS);
	leave_buffers(0);
	spare = mem_pool_get(pair.server->reserve_pool);
	assert_non_null(spare);
	send_calls(&m, 1);
	pass_ms(TIMEOUT_MS / 4);
	assert_false(TAILQ_EMPTY(&pair.server->reserve_queues));
	assert_int_equal(pair.server_closed, 0);
	mem_pool_put(spare);
	expect_answers(1, 12, 5);
}

static int run(void)
{
#define T(name)	      cmocka_unit_test_setup_teardown(name, setup, teardown)
#define T_HASTY(name) cmocka_unit_test_setup_teardown(name, setup_hasty, teardown)
	const struct CMUnitTest tests[] = {
		T(inline__3_3_3_is_1024_bytes_where_nothing_was_agreed),
		cmocka_unit_test_setup_teardown(receive__3_3_3_a_message_of_1024_bytes_is_taken,
						setup_smallest_inline, teardown),
		T_HASTY(reply__4_5_4_a_responder_that_can_not_send_it_closes_the_connection),
		T_HASTY(reply__4_5_4_as_does_one_without_memory_for_a_long_header),
		T_HASTY(reply__4_5_4_as_does_one_without_memory_to_gather_it),
		T_HASTY(error__4_5_4_that_can_not_be_sent_closes_the_connection),
		T(exhausted__errors_of_rpc_go_by_the_reserve),
		T_HASTY(exhausted__each_wait_has_its_own_time),
		T(exhausted__errors_of_the_transport_go_by_the_reserve),
		T(exhausted__a_reply_with_a_long_header_goes_by_the_reserve),
		T(exhausted__a_reply_that_is_to_be_gathered_goes_by_the_reserve),
		T(exhausted__a_reply_with_both_goes_by_the_reserve),
		T(exhausted__replies_that_each_want_one_more_do_not_wait_for_each_other),
	};

	return cmocka_run_group_tests_name("wire_limits", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
