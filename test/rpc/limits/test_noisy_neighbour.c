/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a peer that sends as many messages as the driver accepts, next to another connection of
 * the same engine. The tests check that:
 * - the other connection loses no call
 * - its calls take at most twice as many polls of the engine as without the flood
 * - each poll serves only a few messages of the flood
 * - a connection with enough calls in flight is served as often as the flood
 *
 * The tests run over shm, because over sim each poll is an event, whichever engine polls.
 */
#include "pair_main.h"

#include "raw.h"

#define CALLS 300u
#define BURST 16u
/*
 * The number of messages of one connection that a poll serves, if other connections have messages.
 */
#define SHARE 8u

static struct pair pair;
static struct raw raw;

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, NULL);
	pair_connect(&pair);
	raw_open(&raw, &pair);
	raw_connect(&raw);
	raw.ignores = true;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	raw_end(&raw);
	return 0;
}

static void post(uint32_t n, uint32_t len)
{
	struct fabric_sge sge = {raw.base + RAW_SEND_AT, len, raw.mr.lkey};
	const struct fabric_wr wr = {
		.op = FABRIC_SEND, .flags = FABRIC_SIGNALED, .sge = &sge, .nsge = 1};

	for (uint32_t i = 0; i < n; i++)
		raw.ops->post_send(raw.qp, &wr, 1);
}

static void flood(uint32_t len)
{
	if (len > 0)
		post(BURST, len);
}

/*
 * Makes CALLS calls on the honest connection, one after the other, and returns the number of the
 * engine's polls that they take. Meanwhile the flood sends messages of 'len' bytes. If 'len' is 0,
 * it sends none.
 */
static uint64_t measure(uint32_t len)
{
	uint64_t polls = 0;

	for (uint32_t i = 0; i < CALLS; i++) {
		struct outcome outcome;
		struct weir_call_params params;
		struct weir_call *call;

		outcome_init(&outcome, &pair);
		params = pair_params(PAIR_NULL, &outcome);
		call = weir_call_begin(pair.conn, &params);
		assert_non_null(call);
		assert_int_equal(weir_call_submit(call), 0);
		for (uint32_t n = 0; outcome.done == 0 && pair_wait(&pair, n); n++, polls++) {
			flood(len);
			raw_poll(&raw);
		}
		assert_int_equal(outcome.done, 1);
		assert_int_equal(outcome.status, 0);
	}
	assert_int_equal(pair.closed, 0);
	return polls;
}

static uint64_t served(const struct engine_counters *stats)
{
	return stats->requests_received + stats->errors_sent + stats->dropped;
}

/*
 * Sends the first message alone and waits until it was served. A driver must first fetch a region
 * when a message names it, and further messages in that time would exceed the peer's only credit.
 */
static void send_first(uint32_t len)
{
	struct engine_counters before = {0};
	struct engine_counters after = {0};

	test_counters(pair.server, &before);
	post(1, len);
	for (uint32_t n = 0; pair_wait(&pair, n); n++) {
		raw_poll(&raw);
		test_counters(pair.server, &after);
		if (after.read_chunks + after.errors_sent + after.dropped + after.replies_sent >
		    before.read_chunks + before.errors_sent + before.dropped + before.replies_sent)
			return;
	}
	fail_msg("nothing was served");
}

static void beside(const struct words *message)
{
	uint64_t alone = measure(0), under;
	struct engine_counters before = {0};
	struct engine_counters after = {0};

	memcpy(raw.base + RAW_SEND_AT, message->w, message->n * 4);
	send_first(message->n * 4);
	test_counters(pair.server, &before);
	under = measure(message->n * 4);
	test_counters(pair.server, &after);
	/*
	 * Meanwhile the flood was served more often than the other connection, and in each poll no
	 * more than its share.
	 */
	assert_true(served(&after) > served(&before) + 2 * CALLS);
	assert_true(served(&after) <=
		    served(&before) + CALLS + SHARE * (after.polls - before.polls));
	if (under > 2 * alone)
		fail_msg("%llu beside it, %llu alone", (unsigned long long)under,
			 (unsigned long long)alone);
}

static void beside__calls_without_end(void **state)
{
	struct words m = {0};

	(void)state;
	words_put(&m, 7, 9, 1, 1, 0, 0, 0, 0);
	words_put(&m, 10, 9, 0, 2, PAIR_PROG, PAIR_VERS, PAIR_NULL, 0, 0, 0, 0);
	beside(&m);
}

static void beside__errors_without_end(void **state)
{
	struct words m = {0};

	(void)state;
	words_put(&m, 8, 9, 1, 1, 77, 0, 0, 0, 0);
	beside(&m);
}

static void beside__nonsense_without_end(void **state)
{
	struct words m = {0};

	(void)state;
	words_put(&m, 4, 9, 1, 1, 0);
	beside(&m);
}

static void beside__pulls_without_end(void **state)
{
	struct words m = {0};

	(void)state;
	words_put(&m, 4, 9, 1, 1, 0);
	words_put(&m, 6, 1, 48, raw.mr.rkey, 65536, (uint32_t)(raw.raddr >> 32),
		  (uint32_t)raw.raddr);
	words_put(&m, 3, 0, 0, 0);
	words_put(&m, 10, 9, 0, 2, PAIR_PROG, PAIR_VERS, PAIR_WRITE, 0, 0, 0, 0);
	words_put(&m, 3, 100, 65536, 11);
	beside(&m);
}

/*
 * Checks calls that begin after the connection was silent for so long that the driver polls it less
 * often than others.
 */
static void beside__calls_after_a_silence(void **state)
{
	for (uint32_t i = 0; i < 10; i++)
		measure(0);
	beside__calls_without_end(state);
}

static uint32_t ndone;

static void count_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	(void)call;
	(void)arg;
	assert_int_equal(result->status, 0);
	ndone++;
}

/*
 * Checks that a connection with enough calls in flight to fill its share is served as often as the
 * flood, or more often.
 */
static void beside__half_of_the_service(void **state)
{
	struct weir_call_params params = pair_params(PAIR_NULL, NULL);
	struct engine_counters before = {0};
	struct engine_counters after = {0};
	struct words m = {0};
	uint32_t nbegun = 0;
	uint64_t of_flood;

	(void)state;
	words_put(&m, 7, 9, 1, 1, 0, 0, 0, 0);
	words_put(&m, 10, 9, 0, 2, PAIR_PROG, PAIR_VERS, PAIR_NULL, 0, 0, 0, 0);
	measure(0); /* its reply grants more than one credit */
	memcpy(raw.base + RAW_SEND_AT, m.w, m.n * 4);
	params.done = count_done;
	ndone = 0;
	test_counters(pair.server, &before);
	for (uint32_t n = 0; ndone < CALLS && pair_wait(&pair, n); n++) {
		while (nbegun < CALLS && nbegun - ndone < 2 * SHARE) {
			struct weir_call *call = weir_call_begin(pair.conn, &params);

			assert_non_null(call);
			assert_int_equal(weir_call_submit(call), 0);
			nbegun++;
		}
		flood(m.n * 4);
		raw_poll(&raw);
	}
	assert_int_equal(ndone, CALLS);
	test_counters(pair.server, &after);
	of_flood = served(&after) - served(&before) - CALLS;
	assert_true(of_flood >= CALLS / 2);
	if (of_flood > CALLS + 4 * SHARE)
		fail_msg("%llu of the flood, beside %u calls", (unsigned long long)of_flood, CALLS);
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(beside__calls_without_end),	  T(beside__errors_without_end),
		T(beside__nonsense_without_end),  T(beside__pulls_without_end),
		T(beside__calls_after_a_silence), T(beside__half_of_the_service),
	};

	return cmocka_run_group_tests_name("beside", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	pair_buffers = PAIR_BUFFERS_MORE;
	return pair_main(argc, argv, run);
}
