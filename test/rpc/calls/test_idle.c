/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of weir_engine_idle(): two threads, each of which serves one engine and does what the
 * profile's 'idle' says.
 */
#include "pair_main.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define CALLS	  500u
#define QUIET_US  400000u /* time without calls */
#define POLLS_MAX 100u	  /* polls in that time, of an engine that sleeps */

static struct pair pair;
static _Atomic bool stops;
static _Atomic uint64_t server_polls;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void serve(struct weir_engine *engine)
{
	uint64_t now = now_ns();

	weir_engine_idle(engine, weir_engine_poll(engine, 0, now), now);
}

static void *run_server(void *arg)
{
	(void)arg;
	while (!atomic_load(&stops)) {
		serve(pair.server);
		atomic_fetch_add(&server_polls, 1);
	}
	return NULL;
}

static void set_event(struct weir_profile *profile)
{
	profile->idle = WEIR_IDLE_EVENT;
}

static void set_adaptive(struct weir_profile *profile)
{
	profile->idle = WEIR_IDLE_ADAPTIVE;
}

static void set_yield(struct weir_profile *profile)
{
	profile->idle = WEIR_IDLE_YIELD;
}

static void make_calls(void)
{
	struct weir_call_params params;
	struct outcome outcome;
	struct weir_call *call;

	for (uint32_t i = 0; i < CALLS; i++) {
		outcome_init(&outcome, &pair);
		params = pair_params(PAIR_READ, &outcome);
		call = weir_call_begin(pair.conn, &params);
		assert_non_null(call);
		weir_xdr_put_u32(weir_call_args(call), i % 40);
		assert_int_equal(weir_call_submit(call), 0);
		while (outcome.done == 0)
			serve(pair.client);
		assert_int_equal(outcome.status, 0);
	}
}

/* Makes calls with a policy. Returns the number of polls of the server in QUIET_US without calls.
 */
static uint64_t run_policy(void (*change)(struct weir_profile *profile))
{
	pthread_t thread;
	uint64_t polls;

	pair_start(&pair, change);
	pair_connect(&pair);
	pair_settle(&pair);
	atomic_store(&stops, false);
	weir_engine_disown(pair.server);
	assert_int_equal(pthread_create(&thread, NULL, run_server, NULL), 0);
	make_calls();
	usleep(QUIET_US / 4);
	polls = atomic_load(&server_polls);
	usleep(QUIET_US);
	polls = atomic_load(&server_polls) - polls;
	atomic_store(&stops, true);
	pthread_join(thread, NULL);
	pair_stop(&pair);
	return polls;
}

static void idle__event_sleeps(void **state)
{
	(void)state;
	assert_in_range(run_policy(set_event), 0, POLLS_MAX);
}

static void idle__adaptive_sleeps(void **state)
{
	(void)state;
	assert_in_range(run_policy(set_adaptive), 0, POLLS_MAX);
}

static void idle__yield_polls(void **state)
{
	(void)state;
	assert_true(run_policy(set_yield) > POLLS_MAX);
}

/* Returns the time in ns that the idle client takes if it may sleep for 'sleep_ns'. Returns the
 * shortest of several times, because this thread may wait for a CPU. */
static uint64_t shortest_sleep(uint64_t sleep_ns)
{
	uint64_t shortest = UINT64_MAX;

	for (uint32_t i = 0; i < 10; i++) {
		uint64_t begin = now_ns(), took;

		while (weir_engine_poll(pair.client, 0, begin) > 0)
			begin = now_ns();
		weir_engine_idle_until(pair.client, 0, begin, begin + sleep_ns);
		took = now_ns() - begin;
		if (took < shortest)
			shortest = took;
	}
	return shortest;
}

/* An engine without deadlines would sleep for 100 ms. */
static void idle__until_a_time_of_the_caller(void **state)
{
	(void)state;
	pair_start(&pair, set_event);
	assert_true(shortest_sleep(0) < 10000000);
	assert_in_range(shortest_sleep(20000000), 15000000, 60000000);
	pair_stop(&pair);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle__event_sleeps),
		cmocka_unit_test(idle__adaptive_sleeps),
		cmocka_unit_test(idle__yield_polls),
		cmocka_unit_test(idle__until_a_time_of_the_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
