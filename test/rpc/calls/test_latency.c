/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the histograms of calls and requests: which of them are measured, and that the times are
 * exact if the clock of an engine is the time of its polls (test_clock.c tests other clocks). */
#include "timed.h"

#include <errno.h>
#include <string.h>

#include <weir/latency.h>
#include <weir/log.h>

#define MS	   1000000u
#define INFOS	   (2 * WEIR_LATENCY_PROCEDURES)
#define FEW_PROCS  100u
#define MANY_PROCS (2 * WEIR_LATENCY_PROCEDURES)

static struct pair pair;
static struct weir_procedure_latency infos[INFOS];
static uint32_t nlines;

static void measure(struct weir_profile *profile)
{
	profile->latency = WEIR_LATENCY_CALLS;
	profile->call_timeout_ms = 100;
}

static void measure_nothing(struct weir_profile *profile)
{
	profile->latency = WEIR_LATENCY_OFF;
}

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, measure);
	pair_connect(&pair);
	return 0;
}

static int setup_off(void **state)
{
	(void)state;
	pair_start(&pair, measure_nothing);
	pair_connect(&pair);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static uint32_t list(const struct weir_engine *engine)
{
	memset(infos, 0, sizeof(infos));
	infos[0].struct_bytes = sizeof(infos[0]);
	return weir_engine_procedures(engine, infos, INFOS);
}

/* Returns the histogram of a procedure, or NULL if there is none. */
static const struct weir_histogram *times(const struct weir_engine *engine, uint32_t proc)
{
	uint32_t n = list(engine);

	for (uint32_t i = 0; i < n && i < INFOS; i++)
		if (infos[i].proc == proc && infos[i].prog == PAIR_PROG)
			return infos[i].histogram;
	return NULL;
}

static uint64_t count(const struct weir_engine *engine, uint32_t proc)
{
	const struct weir_histogram *histogram = times(engine, proc);

	return histogram ? weir_histogram_count(histogram) : 0;
}

static void calls__times_are_those_of_the_polls(void **state)
{
	uint64_t sum = 0, most = 0, least = UINT64_MAX;

	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		uint64_t begin_ns = weir_engine_now(pair.client), took_ns;
		struct timed timed;

		timed_submit(&pair, PAIR_NULL, &timed);
		pair_pass_ms(&pair, i % 3);
		pair_until(&pair, &timed.outcome.done, 1);
		assert_int_equal(timed.outcome.status, 0);
		took_ns = timed.end_ns - begin_ns;
		sum += took_ns;
		most = took_ns > most ? took_ns : most;
		least = took_ns < least ? took_ns : least;
	}
	assert_int_equal(count(pair.client, PAIR_NULL), 20);
	assert_int_equal(weir_histogram_sum(times(pair.client, PAIR_NULL)), sum);
	assert_int_equal(weir_histogram_max(times(pair.client, PAIR_NULL)), most);
	assert_int_equal(weir_histogram_min(times(pair.client, PAIR_NULL)), least);
}

/* A reply can arrive after weir_call_cancel(), and before the tick that ends the call. */
static void calls__cancelled_ones_are_not_measured(void **state)
{
	uint32_t nreplied = 0;

	(void)state;
	for (uint32_t i = 0; i < 40; i++) {
		struct weir_call *call;
		struct timed timed;

		call = timed_submit(&pair, PAIR_LATER, &timed);
		pair_until_later(&pair, 1);
		pair_release_later(&pair);
		for (uint32_t polls = 0; polls < i % 20; polls++)
			weir_engine_poll(pair.server, 0, pair.now_ns);
		assert_int_equal(weir_call_cancel(call), 0);
		pair_until(&pair, &timed.outcome.done, 1);
		nreplied += timed.outcome.status == 0;
		pair_settle(&pair);
	}
	assert_int_not_equal(nreplied, 0);
	assert_int_equal(count(pair.client, PAIR_LATER), 0);
}

static void requests__answered_in_their_poll_take_no_time_of_polls(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		struct timed timed;

		timed_submit(&pair, PAIR_NULL, &timed);
		pair_until(&pair, &timed.outcome.done, 1);
		pair_pass_ms(&pair, 1);
	}
	assert_int_equal(count(pair.server, PAIR_NULL), 20);
	assert_int_equal(weir_histogram_max(times(pair.server, PAIR_NULL)), 0);
	assert_int_equal(weir_histogram_quantile(times(pair.server, PAIR_NULL), 1), 0);
}

static void requests__held_ones_take_until_their_reply(void **state)
{
	uint64_t sum = 0;

	(void)state;
	for (uint32_t i = 1; i <= 5; i++) {
		struct timed timed;
		uint64_t since_ns;

		timed_submit(&pair, PAIR_LATER, &timed);
		pair_until_later(&pair, 1);
		since_ns = weir_engine_now(pair.server);
		pair_pass_ms(&pair, i);
		assert_int_equal(count(pair.server, PAIR_LATER), i - 1);
		sum += weir_engine_now(pair.server) - since_ns;
		pair_release_later(&pair);
		pair_until(&pair, &timed.outcome.done, 1);
		assert_int_equal(count(pair.server, PAIR_LATER), i);
	}
	assert_int_equal(weir_histogram_sum(times(pair.server, PAIR_LATER)), sum);
	assert_true(weir_histogram_min(times(pair.client, PAIR_LATER)) >= MS);
}

static void calls__only_those_with_a_reply_are_measured(void **state)
{
	struct timed timed;
	struct weir_call *call;

	(void)state;
	call = timed_submit(&pair, PAIR_LATER, &timed);
	pair_until_later(&pair, 1);
	weir_call_cancel(call);
	pair_until(&pair, &timed.outcome.done, 1);
	assert_int_equal(timed.outcome.status, -ECANCELED);
	assert_int_equal(count(pair.client, PAIR_LATER), 0);
	pair_release_later(&pair);
	pair_settle(&pair);
	assert_int_equal(count(pair.client, PAIR_LATER), 0);
	assert_int_equal(count(pair.server, PAIR_LATER), 1);
}

static void requests__errors_of_the_program_are_measured(void **state)
{
	struct timed timed;

	(void)state;
	timed_submit(&pair, PAIR_FAIL, &timed);
	pair_until(&pair, &timed.outcome.done, 1);
	pair_settle(&pair);
	assert_int_equal(count(pair.server, PAIR_FAIL), 1);
}

static void procedures__are_listed_by_side(void **state)
{
	struct weir_procedure_latency few[2] = {{.struct_bytes = sizeof(few[0])}};
	struct timed timed;

	(void)state;
	assert_int_equal(list(pair.client), 0);
	timed_submit(&pair, PAIR_NULL, &timed);
	pair_until(&pair, &timed.outcome.done, 1);
	assert_int_equal(list(pair.client), 1);
	assert_int_equal(infos[0].side, WEIR_REQUESTER);
	assert_int_equal(infos[0].prog, PAIR_PROG);
	assert_int_equal(infos[0].vers_low, PAIR_VERS);
	assert_int_equal(infos[0].vers_high, PAIR_VERS);
	assert_int_equal(infos[0].proc, PAIR_NULL);
	assert_int_equal(list(pair.server), PAIR_NPROCS);
	for (uint32_t i = 0; i < PAIR_NPROCS; i++) {
		assert_int_equal(infos[i].side, WEIR_RESPONDER);
		assert_int_equal(infos[i].proc, i);
	}
	assert_int_equal(weir_engine_procedures(pair.server, few, 2), PAIR_NPROCS);
	assert_int_equal(few[1].struct_bytes, sizeof(few[1]));
	assert_int_equal(few[1].proc, 1);
	assert_int_equal(weir_engine_procedures(pair.server, NULL, 0), PAIR_NPROCS);
}

static void count_line(void *arg, enum weir_log_level level, enum weir_log_category category,
		       const char *text)
{
	(void)arg;
	(void)level;
	(void)category;
	nlines += strstr(text, "are not measured") != NULL;
}

/* The responder refuses most of these calls, because its program has fewer procedures. */
static void procedures__have_a_limit_which_no_peer_reaches(void **state)
{
	struct timed timed;

	(void)state;
	nlines = 0;
	assert_int_equal(weir_log_set(count_line, NULL, WEIR_LOG_WARNING), 0);
	timed_submit(&pair, PAIR_NULL, &timed);
	pair_until(&pair, &timed.outcome.done, 1);
	for (uint32_t proc = PAIR_NPROCS; proc < FEW_PROCS; proc++) {
		timed_submit(&pair, proc, &timed);
		pair_until(&pair, &timed.outcome.done, 1);
	}
	assert_int_equal(list(pair.client), FEW_PROCS - PAIR_NPROCS + 1);
	assert_int_equal(nlines, 0);
	for (uint32_t proc = FEW_PROCS; proc < MANY_PROCS; proc++) {
		timed_submit(&pair, proc, &timed);
		pair_until(&pair, &timed.outcome.done, 1);
	}
	assert_int_equal(list(pair.client), WEIR_LATENCY_PROCEDURES);
	assert_int_equal(nlines, 1);
	assert_int_equal(list(pair.server), PAIR_NPROCS);
	for (uint32_t i = 0; i < 3; i++) {
		timed_submit(&pair, PAIR_NULL, &timed);
		pair_until(&pair, &timed.outcome.done, 1);
	}
	assert_int_equal(count(pair.client, PAIR_NULL), 4);
	assert_int_equal(count(pair.server, PAIR_NULL), 4);
	assert_int_equal(weir_log_set(NULL, NULL, WEIR_LOG_OFF), 0);
}

static void procedures__are_not_measured_by_default(void **state)
{
	struct weir_profile profile;
	struct timed timed;

	(void)state;
	weir_profile_defaults(&profile);
	assert_int_equal(profile.latency, WEIR_LATENCY_OFF);
	timed_submit(&pair, PAIR_NULL, &timed);
	pair_until(&pair, &timed.outcome.done, 1);
	assert_int_equal(list(pair.client), 0);
	assert_int_equal(list(pair.server), 0);
}

#define LATENCY_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		LATENCY_TEST(calls__times_are_those_of_the_polls),
		LATENCY_TEST(calls__cancelled_ones_are_not_measured),
		LATENCY_TEST(requests__answered_in_their_poll_take_no_time_of_polls),
		LATENCY_TEST(requests__held_ones_take_until_their_reply),
		LATENCY_TEST(calls__only_those_with_a_reply_are_measured),
		LATENCY_TEST(requests__errors_of_the_program_are_measured),
		LATENCY_TEST(procedures__are_listed_by_side),
		LATENCY_TEST(procedures__have_a_limit_which_no_peer_reaches),
		cmocka_unit_test_setup_teardown(procedures__are_not_measured_by_default, setup_off,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
