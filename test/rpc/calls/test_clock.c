/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the clock with which an engine measures: at which moments it is read. The clocks of the
 * tests advance only in the handler of the program, and between a submission and the next poll. */
#include "timed.h"

#include <errno.h>

#include <weir/latency.h>

#define CALLS	   20u
#define HANDLER_NS 700u	    /* time that a handler takes */
#define WAIT_NS	   300u	    /* time between the submission of a call and the next poll */
#define PAUSE_NS   5000000u /* time between a poll and the next submission */
#define BEGIN_NS   1000000000u
#define ITEM_BYTES 5000u

/* A clock, and how often it was read. */
struct fake {
	uint64_t now_ns;
	uint32_t nreads;
};

static struct pair pair;
static struct fake client, server;
static int64_t handler_ns;

static uint64_t read_fake(void *arg)
{
	struct fake *fake = arg;

	fake->nreads++;
	return fake->now_ns;
}

static void spend_time(struct pair *of)
{
	(void)of;
	server.now_ns += (uint64_t)handler_ns;
}

static void measure_calls(struct weir_profile *profile)
{
	profile->latency = WEIR_LATENCY_CALLS;
}

static void measure_stages(struct weir_profile *profile)
{
	profile->latency = WEIR_LATENCY_STAGES;
}

static void measure_nothing(struct weir_profile *profile)
{
	profile->latency = WEIR_LATENCY_OFF;
}

static void start(void (*change)(struct weir_profile *profile))
{
	client = server = (struct fake){.now_ns = BEGIN_NS};
	handler_ns = HANDLER_NS;
	pair_start(&pair, change);
	pair.on_handle = spend_time;
	assert_int_equal(weir_engine_set_clock(pair.client, read_fake, &client), 0);
	assert_int_equal(weir_engine_set_clock(pair.server, read_fake, &server), 0);
	pair_connect(&pair);
}

static int setup_calls(void **state)
{
	(void)state;
	start(measure_calls);
	return 0;
}

static int setup_stages(void **state)
{
	(void)state;
	start(measure_stages);
	return 0;
}

static int setup_off(void **state)
{
	(void)state;
	start(measure_nothing);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static struct weir_procedure_latency procedure(const struct weir_engine *engine, uint32_t proc)
{
	struct weir_procedure_latency all[2 * WEIR_LATENCY_PROCEDURES] = {
		{.struct_bytes = sizeof(all[0])}};
	uint32_t i = 0, n = weir_engine_procedures(engine, all, 2 * WEIR_LATENCY_PROCEDURES);

	while (i < n && all[i].proc != proc)
		i++;
	assert_in_range(i, 0, n - 1);
	return all[i];
}

/* Checks that each of the values of a histogram is 'ns'. */
static void expect_all(const struct weir_histogram *times, uint32_t n, uint64_t ns)
{
	assert_non_null(times);
	assert_int_equal(weir_histogram_count(times), n);
	assert_int_equal(weir_histogram_min(times), ns);
	assert_int_equal(weir_histogram_max(times), ns);
}

static void expect_times(uint32_t proc, uint32_t n, uint64_t client_ns, uint64_t server_ns)
{
	expect_all(procedure(pair.client, proc).histogram, n, client_ns);
	expect_all(procedure(pair.server, proc).histogram, n, server_ns);
}

static void expect_stage(const struct weir_engine *engine, uint32_t proc, enum weir_stage stage,
			 uint64_t ns)
{
	struct weir_procedure_latency of = procedure(engine, proc);

	expect_all(weir_engine_stage(engine, &of, stage), CALLS, ns);
}

static void finish(struct timed *timed)
{
	client.now_ns += WAIT_NS;
	pair_until(&pair, &timed->outcome.done, 1);
	assert_int_equal(timed->outcome.status, 0);
}

/* Makes calls, one after the other. */
static void make_calls(uint32_t proc)
{
	for (uint32_t i = 0; i < CALLS; i++) {
		struct timed timed;

		client.now_ns += PAUSE_NS;
		timed_submit(&pair, proc, &timed);
		finish(&timed);
	}
	pair_settle(&pair);
}

/* The same for calls with an item or a result in a chunk. */
static void make_calls_with_chunks(void)
{
	for (uint32_t i = 0; i < CALLS; i++) {
		struct timed timed;
		struct weir_call *call = timed_begin(&pair, PAIR_READ, &timed);

		weir_xdr_put_u32(weir_call_args(call), ITEM_BYTES);
		assert_int_equal(weir_call_result_item(call, pair.client_region, pair.client_mem,
						       ITEM_BYTES),
				 0);
		assert_int_equal(weir_call_submit(call), 0);
		finish(&timed);
		call = timed_begin(&pair, PAIR_WRITE, &timed);
		weir_xdr_put_u32(weir_call_args(call), 1);
		assert_int_equal(
			weir_call_arg_item(call, pair.client_region, pair.client_mem, ITEM_BYTES),
			0);
		weir_xdr_put_u32(weir_call_args(call), 2);
		assert_int_equal(weir_call_submit(call), 0);
		finish(&timed);
	}
	pair_settle(&pair);
}

static void clock__handlers_that_reply_at_once_take_their_time(void **state)
{
	(void)state;
	make_calls(PAIR_NULL);
	expect_times(PAIR_NULL, CALLS, WAIT_NS, HANDLER_NS);
}

static void clock__handlers_of_calls_with_chunks_take_their_time(void **state)
{
	(void)state;
	make_calls_with_chunks();
	expect_times(PAIR_READ, CALLS, WAIT_NS, HANDLER_NS);
	expect_times(PAIR_WRITE, CALLS, WAIT_NS, HANDLER_NS);
}

static void clock__replies_with_errors_take_their_time(void **state)
{
	struct timed timed;

	(void)state;
	for (uint32_t i = 0; i < CALLS; i++) {
		timed_submit(&pair, PAIR_FAIL, &timed);
		client.now_ns += WAIT_NS;
		pair_until(&pair, &timed.outcome.done, 1);
	}
	pair_settle(&pair);
	expect_times(PAIR_FAIL, CALLS, WAIT_NS, HANDLER_NS);
}

static void clock__stages_are_exact(void **state)
{
	(void)state;
	make_calls(PAIR_NULL);
	make_calls_with_chunks();
	expect_stage(pair.client, PAIR_NULL, WEIR_STAGE_QUEUED, 0);
	expect_stage(pair.client, PAIR_NULL, WEIR_STAGE_CREDIT, 0);
	expect_stage(pair.client, PAIR_NULL, WEIR_STAGE_SENT, WAIT_NS);
	for (enum weir_stage stage = WEIR_STAGE_PULLED; stage <= WEIR_STAGE_PUSHED; stage++) {
		uint64_t ns = stage == WEIR_STAGE_HANDLED ? HANDLER_NS : 0;

		expect_stage(pair.server, PAIR_NULL, stage, ns);
		expect_stage(pair.server, PAIR_READ, stage, ns);
		expect_stage(pair.server, PAIR_WRITE, stage, ns);
	}
	expect_times(PAIR_NULL, CALLS, WAIT_NS, HANDLER_NS);
	expect_times(PAIR_READ, CALLS, WAIT_NS, HANDLER_NS);
	expect_times(PAIR_WRITE, CALLS, WAIT_NS, HANDLER_NS);
}

/* A clock that goes back is taken for one that stands still. */
static void clock__no_time_is_negative(void **state)
{
	(void)state;
	handler_ns = -500;
	make_calls(PAIR_NULL);
	expect_times(PAIR_NULL, CALLS, WAIT_NS, 0);
}

static void clock__is_not_read_if_nothing_is_measured(void **state)
{
	(void)state;
	make_calls(PAIR_NULL);
	make_calls_with_chunks();
	assert_int_equal(client.nreads, 0);
	assert_int_equal(server.nreads, 0);
}

static void clock__is_set_before_the_first_poll(void **state)
{
	struct fake other = {.now_ns = BEGIN_NS};

	(void)state;
	assert_int_equal(weir_engine_set_clock(pair.server, read_fake, &other), -EBUSY);
	assert_int_equal(weir_engine_set_clock(pair.server, NULL, NULL), -EBUSY);
	make_calls(PAIR_NULL);
	assert_int_equal(other.nreads, 0);
	assert_int_not_equal(server.nreads, 0);
}

#define CLOCK_TEST(name, setup) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		CLOCK_TEST(clock__handlers_that_reply_at_once_take_their_time, setup_calls),
		CLOCK_TEST(clock__handlers_of_calls_with_chunks_take_their_time, setup_calls),
		CLOCK_TEST(clock__replies_with_errors_take_their_time, setup_calls),
		CLOCK_TEST(clock__stages_are_exact, setup_stages),
		CLOCK_TEST(clock__no_time_is_negative, setup_calls),
		CLOCK_TEST(clock__is_not_read_if_nothing_is_measured, setup_off),
		CLOCK_TEST(clock__is_set_before_the_first_poll, setup_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
