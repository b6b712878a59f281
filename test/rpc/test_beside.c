/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Beside a peer that sends all that the driver takes, another connection of the same engine loses no call, and its calls
 * take at most twice as many of the engine's polls as alone. Over shm: in sim a poll is an event, of whoever's.
 */
#include "pair_main.h"

#include "raw.h"

#define CALLS 300u
#define BURST 16u

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
	raw_close(&raw);
	pair_stop(&pair);
	return 0;
}

static void flood(uint32_t len)
{
	struct fabric_sge sge = {raw.base + RAW_RECVS * RAW_MSG_MAX, len, raw.mr.lkey};
	const struct fabric_wr wr = {.op = FABRIC_SEND, .flags = FABRIC_SIGNALED, .sge = &sge, .nsge = 1};

	for (uint32_t i = 0; i < BURST && len > 0; i++)
		raw.ops->post_send(raw.qp, &wr, 1);
}

/* What CALLS honest calls take, one after the other, while messages of 'len' bytes go out, or none. */
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

static void beside(const struct words *message)
{
	uint64_t alone = measure(0), under;
	struct weir_engine_stats before, after;

	memcpy(raw.base + RAW_RECVS * RAW_MSG_MAX, message->w, message->n * 4);
	weir_engine_stats(pair.server, &before);
	under = measure(message->n * 4);
	weir_engine_stats(pair.server, &after);
	/* It was served meanwhile: more came of it than of the other. */
	assert_true(after.requests_received + after.errors_sent + after.dropped >
		    before.requests_received + before.errors_sent + before.dropped + 2 * CALLS);
	if (under > 2 * alone)
		fail_msg("%llu beside it, %llu alone", (unsigned long long)under, (unsigned long long)alone);
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
	words_put(&m, 6, 1, 48, raw.mr.rkey, 65536, (uint32_t)(raw.raddr >> 32), (uint32_t)raw.raddr);
	words_put(&m, 3, 0, 0, 0);
	words_put(&m, 10, 9, 0, 2, PAIR_PROG, PAIR_VERS, PAIR_WRITE, 0, 0, 0, 0);
	words_put(&m, 3, 100, 65536, 11);
	beside(&m);
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(beside__calls_without_end),
		T(beside__errors_without_end),
		T(beside__nonsense_without_end),
		T(beside__pulls_without_end),
	};

	return cmocka_run_group_tests_name("beside", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
