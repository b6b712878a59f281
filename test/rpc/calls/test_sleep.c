/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of sleeping. In these tests an engine is polled only after its descriptor became readable
 * or its time-out has passed. A wake-up that is lost therefore ends a test with an error.
 */
#include "pair_main.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weir/metrics.h>

#include "engine.h"

#define CALLS	 40u
#define WAIT_MS	 20000	   /* bound of a wait in real time */
#define LONG_NS	 50000000u /* an idle engine sleeps for at least this time */
#define STEPS	 1000000u
#define POSTS	 2000u
#define STUCK_MS 200u
#define POLLS_OF 8u /* bound of the polls for one wake-up */

/* A side of the pair, whose thread sleeps or polls. */
struct sleeper {
	struct weir_engine *engine;
	int fd;
	bool is_armed;
	uint64_t until_ns; /* end of the sleep; UINT64_MAX: none */
	uint32_t nsleeps, npolls;
};

static struct pair pair;
static struct sleeper sides[2];

static void sleeper_init(struct sleeper *sleeper, struct weir_engine *engine)
{
	*sleeper = (struct sleeper){.engine = engine, .fd = weir_engine_fd(engine)};
	assert_true(sleeper->fd > 0);
	assert_int_equal(weir_engine_fd(engine), sleeper->fd);
}

static int setup_apart(void **state)
{
	(void)state;
	pair_start(&pair, NULL);
	sleeper_init(&sides[0], pair.client);
	sleeper_init(&sides[1], pair.server);
	return 0;
}

static int setup(void **state)
{
	setup_apart(state);
	pair_connect(&pair);
	pair_settle(&pair);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2; i++)
		weir_engine_disarm(sides[i].engine);
	pair_stop(&pair);
	return 0;
}

/* Polls a side until it has no work, and arms it. Simulated time does not pass meanwhile, because
 * the other side is not polled. */
static void fall_asleep(struct sleeper *sleeper)
{
	uint64_t timeout_ns;
	int rc = -EAGAIN;

	while (rc == -EAGAIN) {
		if (!pair.world)
			pair_pass(&pair);
		while (weir_engine_poll(sleeper->engine, 0, pair.now_ns + 1) > 0)
			sleeper->npolls++;
		sleeper->npolls++;
		rc = weir_engine_arm(sleeper->engine, pair.now_ns + 1, &timeout_ns);
	}
	assert_int_equal(rc, 0);
	assert_true(timeout_ns > 0);
	sleeper->until_ns =
		timeout_ns < UINT64_MAX - pair.now_ns ? pair.now_ns + timeout_ns : UINT64_MAX;
	sleeper->is_armed = true;
	sleeper->nsleeps++;
}

static bool is_readable(const struct sleeper *sleeper)
{
	struct pollfd pfd = {.fd = sleeper->fd, .events = POLLIN};

	return poll(&pfd, 1, 0) == 1;
}

/* Waits in real time until a side may wake up. */
static void wait_really(void)
{
	struct pollfd pfds[2];
	uint64_t until_ns =
		sides[0].until_ns < sides[1].until_ns ? sides[0].until_ns : sides[1].until_ns;
	int ms = WAIT_MS;

	for (uint32_t i = 0; i < 2; i++)
		pfds[i] = (struct pollfd){.fd = sides[i].fd, .events = POLLIN};
	if (until_ns <= pair.now_ns) /* the other side took its time to fall asleep */
		ms = 0;
	else if (until_ns - pair.now_ns < WAIT_MS * 1000000ull)
		ms = (int)((until_ns - pair.now_ns) / 1000000 + 1);
	if (poll(pfds, 2, ms) == 0)
		assert_true(ms < WAIT_MS);
}

static void both_fall_asleep(void)
{
	for (uint32_t i = 0; i < 2; i++)
		if (!sides[i].is_armed)
			fall_asleep(&sides[i]);
}

/* Lets time pass until one of the sides, which sleep, wakes up. */
static void step(void)
{
	if (!pair.world)
		wait_really();
	pair_pass(&pair);
	for (uint32_t i = 0; i < 2; i++) {
		if (!is_readable(&sides[i]) && pair.now_ns < sides[i].until_ns)
			continue;
		weir_engine_disarm(sides[i].engine);
		sides[i].is_armed = false;
	}
}

static void sleep_until(const int *flag, int value)
{
	both_fall_asleep();
	for (uint32_t i = 0; *flag < value && i < STEPS; i++) {
		step();
		both_fall_asleep();
	}
	assert_true(*flag >= value);
}

static void wake(struct sleeper *sleeper)
{
	weir_engine_disarm(sleeper->engine);
	sleeper->is_armed = false;
}

static void submit(uint32_t proc, uint32_t word, struct outcome *outcome)
{
	struct weir_call_params params;
	struct weir_call *call;

	wake(&sides[0]);
	outcome_init(outcome, &pair);
	params = pair_params(proc, outcome);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), word);
	assert_int_equal(weir_call_submit(call), 0);
}

static void sleep__calls_wake_both_sides(void **state)
{
	struct outcome outcome;

	(void)state;
	for (uint32_t i = 0; i < CALLS; i++) {
		submit(PAIR_READ, i, &outcome);
		sleep_until(&outcome.done, 1);
		assert_int_equal(outcome.status, 0);
	}
	assert_true(sides[1].nsleeps >= CALLS);
	if (strcmp(pair_driver, "shm") == 0) {
		int wakes = weir_counter_find("wakes");

		assert_true(wakes >= 0);
		assert_true(weir_engine_counter(pair.client, (uint32_t)wakes) >= CALLS / 2);
		assert_true(weir_engine_counter(pair.server, (uint32_t)wakes) >= CALLS / 2);
	}
}

/* While nothing happens, a side with an open connection sleeps for long. */
static void sleep__is_long_without_calls(void **state)
{
	struct outcome outcome;
	uint64_t end_ns;

	(void)state;
	submit(PAIR_NULL, 0, &outcome);
	sleep_until(&outcome.done, 1);
	pair_pass(&pair);
	end_ns = pair.now_ns + 4 * LONG_NS;
	for (uint32_t i = 0; i < 2; i++)
		sides[i].npolls = 0;
	while (pair.now_ns < end_ns) {
		if (!pair.world)
			usleep(1000);
		pair_pass(&pair);
		for (uint32_t i = 0; i < 2; i++) {
			if (!is_readable(&sides[i]) && pair.now_ns < sides[i].until_ns)
				continue;
			wake(&sides[i]);
			fall_asleep(&sides[i]);
		}
	}
	for (uint32_t i = 0; i < 2; i++)
		assert_in_range(sides[i].npolls, 0, POLLS_OF);
}

static void sleep__ends_for_the_time_out_of_a_call(void **state)
{
	struct outcome outcome;
	uint64_t since_ns, took_ns;
	struct weir_call_params params;
	struct weir_call *call;

	(void)state;
	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_LATER, &outcome);
	params.timeout_ns = 30000000;
	since_ns = pair.now_ns;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), 0);
	assert_int_equal(weir_call_submit(call), 0);
	pair_pass(&pair);
	sleep_until(&outcome.done, 1);
	took_ns = pair.now_ns - since_ns;
	assert_int_equal(outcome.status, -ETIMEDOUT);
	assert_true(took_ns >= 29000000);
	/* The sleep ended for the time-out, and not for each tick. */
	assert_in_range(sides[0].nsleeps, 1, 12);
	assert_int_equal(pair.nlater, 1);
	wake(&sides[1]);
	pair_release_later(&pair);
}

static void soon_stuck(struct weir_profile *profile)
{
	profile->stuck_call_ms = STUCK_MS;
	profile->call_timeout_ms = 0;
}

static int setup_stuck(void **state)
{
	(void)state;
	pair_start(&pair, soon_stuck);
	sleeper_init(&sides[0], pair.client);
	sleeper_init(&sides[1], pair.server);
	pair_connect(&pair);
	pair_settle(&pair);
	return 0;
}

/* Both sides report a call that is stuck, although nothing else ends their sleep. */
static void sleep__ends_to_report_a_stuck_call(void **state)
{
	struct outcome outcome;
	uint64_t end_ns;

	(void)state;
	submit(PAIR_LATER, 0, &outcome);
	end_ns = pair.now_ns + 4 * STUCK_MS * 1000000ull;
	both_fall_asleep();
	while (pair.now_ns < end_ns &&
	       (pair.client->stats.stuck_calls == 0 || pair.server->stats.stuck_calls == 0)) {
		step();
		both_fall_asleep();
	}
	assert_int_equal(pair.client->stats.stuck_calls, 1);
	assert_int_equal(pair.server->stats.stuck_calls, 1);
	/* The sleep ended for the checks, and not for each tick. */
	for (uint32_t i = 0; i < 2; i++)
		assert_in_range(sides[i].nsleeps, 1, 24);
	wake(&sides[1]);
	pair_release_later(&pair);
	sleep_until(&outcome.done, 1);
}

static void sleep__ends_when_the_peer_closes(void **state)
{
	(void)state;
	both_fall_asleep();
	wake(&sides[1]);
	weir_conn_close(pair.server_conn);
	sleep_until(&pair.closed, 1);
}

static void sleep__ends_for_a_new_connection(void **state)
{
	(void)state;
	both_fall_asleep();
	wake(&sides[0]);
	assert_int_equal(pair_connect_begin(&pair), 0);
	sleep_until(&pair.opened, 1);
	sleep_until(&pair.server_opened, 1);
}

static void count(struct weir_engine *engine, void *arg)
{
	(void)engine;
	++*(int *)arg;
}

static void *post_all(void *arg)
{
	for (uint32_t i = 0; i < POSTS; i++)
		while (weir_engine_post(pair.server, count, arg) != 0)
			usleep(10);
	return NULL;
}

/* Another thread posts functions, while the thread of the engine falls asleep again and again. */
static void sleep__ends_for_a_posted_function(void **state)
{
	struct sleeper *sleeper = &sides[1];
	pthread_t thread;
	int ran = 0;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, post_all, &ran), 0);
	while ((uint32_t)ran < POSTS) {
		struct pollfd pfd = {.fd = sleeper->fd, .events = POLLIN};

		fall_asleep(sleeper);
		if ((uint32_t)ran < POSTS)
			assert_int_equal(poll(&pfd, 1, WAIT_MS), 1);
		wake(sleeper);
	}
	pthread_join(thread, NULL);
}

static void arm__is_refused_before_there_is_a_descriptor(void **state)
{
	struct weir_engine *engine;
	uint64_t timeout_ns;

	(void)state;
	assert_int_equal(weir_engine_create(&pair.profile, &engine), 0);
	assert_int_equal(weir_engine_arm(engine, 1, &timeout_ns), -EINVAL);
	weir_engine_disarm(engine);
	weir_engine_destroy(engine);
}

static void arm_inside(struct weir_engine *engine, void *arg)
{
	uint64_t timeout_ns;

	*(int *)arg = weir_engine_arm(engine, 1, &timeout_ns);
}

static void arm__is_refused_in_a_callback(void **state)
{
	int rc = 0;

	(void)state;
	assert_int_equal(weir_engine_post(pair.client, arm_inside, &rc), 0);
	pair_settle(&pair);
	assert_int_equal(rc, -EINVAL);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sleep__calls_wake_both_sides, setup, teardown),
		cmocka_unit_test_setup_teardown(sleep__is_long_without_calls, setup, teardown),
		cmocka_unit_test_setup_teardown(sleep__ends_for_the_time_out_of_a_call, setup,
						teardown),
		cmocka_unit_test_setup_teardown(sleep__ends_to_report_a_stuck_call, setup_stuck,
						teardown),
		cmocka_unit_test_setup_teardown(sleep__ends_when_the_peer_closes, setup, teardown),
		cmocka_unit_test_setup_teardown(sleep__ends_for_a_new_connection, setup_apart,
						teardown),
		cmocka_unit_test_setup_teardown(sleep__ends_for_a_posted_function, setup, teardown),
		cmocka_unit_test_setup_teardown(arm__is_refused_before_there_is_a_descriptor, setup,
						teardown),
		cmocka_unit_test_setup_teardown(arm__is_refused_in_a_callback, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
