/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of requests that wait for buffers. Many of them wait for buffers that their own peers hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine.h"
#include "mailbox.h"
#include "wait_queue.h"

#define N     60u
#define POLLS 3200u
#define TICKS 4096u

struct request {
	struct engine_waiter waiter;
	struct engine_wait_queue queue;
	uint32_t ntries;
	bool is_served;
};

static struct weir_engine engine;
static struct fabric_dev device;
static struct request requests[N + 1];

static uint32_t poll_nothing(struct fabric_dev *dev, struct fabric_wc *wcs, uint32_t max)
{
	(void)dev;
	(void)wcs;
	(void)max;
	return 0;
}

static uint32_t cm_poll_nothing(struct fabric_dev *dev, struct fabric_cm_event *events,
				uint32_t max)
{
	(void)dev;
	(void)events;
	(void)max;
	return 0;
}

static const struct fabric_ops ops = {.poll = poll_nothing, .cm_poll = cm_poll_nothing};

static void on_buffers(struct engine_waiter *waiter)
{
	struct request *request = (struct request *)waiter;

	request->ntries++;
	if (!request->is_served)
		engine_wait_unbounded(&engine, &request->queue, waiter);
}

static void wait_for(struct request *request, bool is_own)
{
	*request = (struct request){.waiter = {.on_buffers = on_buffers, .is_own = is_own}};
	TAILQ_INIT(&request->queue.waiters);
	engine_wait_unbounded(&engine, &request->queue, &request->waiter);
}

static void setup_empty(void)
{
	engine = (struct weir_engine){
		.ops = &ops, .dev = &device, .poll_budget = 1, .next_tick_ns = ENGINE_NEVER_NS};
	TAILQ_INIT(&engine.to_flush);
	TAILQ_INIT(&engine.to_reap);
	TAILQ_INIT(&engine.wait_queues);
	TAILQ_INIT(&engine.reserve_queues);
	assert_int_equal(mailbox_create(&engine), 0);
}

static int setup(void **state)
{
	(void)state;
	setup_empty();
	for (uint32_t i = 0; i < N; i++)
		wait_for(&requests[i], true);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	mailbox_destroy(&engine);
	return 0;
}

static void poll_times(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		weir_engine_poll(&engine, 0, 1);
}

/*
 * Checks that each poll tries only a few of such requests, however many there are, and that all are
 * tried in turn.
 */
static void wake__of_those_who_wait_for_their_own_peer_is_of_a_few(void **state)
{
	uint32_t ntries = 0;

	(void)state;
	poll_times(POLLS);
	for (uint32_t i = 0; i < N; i++) {
		assert_in_range(requests[i].ntries, POLLS / N, POLLS / 16);
		ntries += requests[i].ntries;
	}
	assert_in_range(ntries, POLLS, POLLS + POLLS / 4);
}

/* Checks that a request of another peer waits at most until each of them was tried once. */
static void wake__comes_to_others_behind_them(void **state)
{
	(void)state;
	wait_for(&requests[N], false);
	requests[N].is_served = true;
	poll_times(N);
	assert_int_equal(requests[N].ntries, 1);
	assert_false(requests[N].waiter.is_waiting);

	requests[N - 1].is_served = true;
	poll_times(N);
	assert_false(requests[N - 1].waiter.is_waiting);
}

/*
 * Returns in how many of 'n' ticks other requests have to wait. Sets *longest to the longest
 * sequence of such ticks. If 'comes_and_goes' is set, the blocking request ends and waits again.
 */
static uint32_t blocked_ticks(uint32_t n, bool comes_and_goes, uint32_t *longest)
{
	struct request *request = &requests[N];
	uint32_t nblocked = 0, row = 0;

	*longest = 0;
	wait_for(request, false);
	for (uint32_t i = 0; i < n; i++) {
		engine_wait_tick(&engine);
		row = engine.nblocking > 0 ? row + 1 : 0;
		nblocked += row > 0;
		*longest = row > *longest ? row : *longest;
		assert_int_equal(engine.nblockers, 1);
		if (comes_and_goes) {
			engine_wait_cancel(&engine, &request->waiter);
			assert_int_equal(engine.nblockers + engine.nblocking, 0);
			engine_wait_unbounded(&engine, &request->queue, &request->waiter);
		}
	}
	return nblocked;
}

/*
 * Checks that a request for which there are too few buffers makes others wait for only a quarter of
 * the time.
 */
static void wake__of_one_that_blocks_leaves_time_to_others(void **state)
{
	uint32_t longest;

	(void)state;
	assert_in_range(blocked_ticks(TICKS, false, &longest), TICKS / 5, TICKS * 3 / 10);
	assert_in_range(longest, 16, 33);
}

static void wake__of_one_that_comes_and_goes_leaves_time_to_others(void **state)
{
	uint32_t longest;

	(void)state;
	assert_in_range(blocked_ticks(TICKS, true, &longest), TICKS / 5, TICKS * 3 / 10);
	assert_in_range(longest, 16, 33);
}

/*
 * Checks that the request after a blocking one is tried when the blocking one has used up its time.
 */
static void wake__passes_one_by_that_has_blocked_for_long(void **state)
{
	(void)state;
	teardown(NULL);
	setup_empty();
	wait_for(&requests[0], false);
	wait_for(&requests[1], false);
	requests[1].is_served = true;
	poll_times(POLLS);
	assert_int_equal(requests[1].ntries, 0);
	for (uint32_t i = 0; i < TICKS && engine.nblocking > 0; i++)
		engine_wait_tick(&engine);
	poll_times(3);
	assert_int_equal(requests[1].ntries, 1);
	assert_true(requests[0].waiter.is_waiting);

	/* Request 0 blocks again later. Then it is the only request that is tried. */
	wait_for(&requests[1], false);
	for (uint32_t i = 0; i < TICKS && engine.nblocking == 0; i++)
		engine_wait_tick(&engine);
	poll_times(3);
	assert_int_equal(requests[1].ntries, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			wake__of_those_who_wait_for_their_own_peer_is_of_a_few, setup, teardown),
		cmocka_unit_test_setup_teardown(wake__comes_to_others_behind_them, setup, teardown),
		cmocka_unit_test_setup_teardown(wake__of_one_that_blocks_leaves_time_to_others,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			wake__of_one_that_comes_and_goes_leaves_time_to_others, setup, teardown),
		cmocka_unit_test_setup_teardown(wake__passes_one_by_that_has_blocked_for_long,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
