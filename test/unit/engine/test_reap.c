/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of endpoints that have to be freed, and of endpoints that cannot be freed yet because of a
 * peer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine.h"

#define N   96u
#define FEW 16u /* number of late endpoints that a tick asks if they can be freed */
#define POLLS                                                                                      \
	20u /* few enough that no poll checks connection events and mail, which do not occur here  \
	     */

struct point {
	struct engine_endpoint ep;
	bool is_late;
	uint32_t nasked;
};

static struct weir_engine engine;
static struct fabric_dev device;
static struct engine_endpoint busy; /* an endpoint that always has work */
static struct point points[N];

static void on_reap(struct engine_endpoint *ep)
{
	struct point *point = (struct point *)ep;

	point->nasked++;
	if (point->is_late)
		engine_reap_retry(ep);
}

static bool on_tick(struct engine_endpoint *ep, uint64_t time_ns)
{
	(void)ep;
	(void)time_ns;
	return false;
}

static void on_wc(struct engine_endpoint *ep, const struct fabric_wc *wc)
{
	(void)ep;
	(void)wc;
}

static uint32_t poll_one(struct fabric_dev *dev, struct fabric_wc *wcs, uint32_t max)
{
	(void)dev;
	(void)max;
	wcs[0] = (struct fabric_wc){.qp_ctx = &busy};
	return 1;
}

static const struct fabric_ops ops = {.poll = poll_one};

static int setup(void **state)
{
	(void)state;
	engine = (struct weir_engine){.ops = &ops, .dev = &device, .poll_budget = 1};
	TAILQ_INIT(&engine.all);
	TAILQ_INIT(&engine.ticking);
	TAILQ_INIT(&engine.idle);
	TAILQ_INIT(&engine.to_flush);
	TAILQ_INIT(&engine.to_reap);
	TAILQ_INIT(&engine.late);
	busy = (struct engine_endpoint){.on_wc = on_wc, .on_tick = on_tick};
	engine_add(&engine, &busy);
	for (uint32_t i = 0; i < N; i++) {
		points[i] = (struct point){.ep.on_reap = on_reap, .ep.on_tick = on_tick};
		engine_add(&engine, &points[i].ep);
	}
	return 0;
}

/* Polls once. Returns the number of endpoints that were asked if they can be freed. */
static uint32_t poll_once(void)
{
	uint32_t before = 0, after = 0;

	for (uint32_t i = 0; i < N; i++)
		before += points[i].nasked;
	weir_engine_poll(&engine, 0, 1);
	for (uint32_t i = 0; i < N; i++)
		after += points[i].nasked;
	return after - before;
}

static void reap__is_of_all_that_can_end(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < N; i++)
		engine_want_reap(&points[i].ep);
	assert_int_equal(poll_once(), N);
	assert_int_equal(poll_once(), 0);
}

/* Ticks and polls once. Returns the number of endpoints that were asked. */
static uint32_t poll_tick(void)
{
	engine_tick(&engine);
	return poll_once();
}

static void want_reaps(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		points[i].is_late = true;
		engine_want_reap(&points[i].ep);
	}
}

static void reap__of_retried_ones_is_of_a_few_and_each_has_its_turn(void **state)
{
	(void)state;
	want_reaps(N);
	assert_int_equal(poll_once(), N);
	for (uint32_t round = 0; round < N / FEW; round++)
		assert_int_equal(poll_tick(), FEW);
	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(points[i].nasked, 2);
		points[i].is_late = false;
	}
	for (uint32_t round = 0; round < N / FEW; round++)
		assert_int_equal(poll_tick(), FEW);
	assert_int_equal(poll_tick(), 0);
}

/*
 * Checks that late endpoints are asked only in ticks, however long a peer delays them and however
 * many polls there are.
 */
static void reap__asks_late_ones_once_a_tick(void **state)
{
	(void)state;
	want_reaps(FEW);
	assert_int_equal(poll_once(), FEW);
	for (uint32_t i = 0; i < POLLS; i++)
		assert_int_equal(poll_once(), 0);
	engine_want_reap(&points[N - 1].ep); /* has to wait after the late endpoints */
	assert_int_equal(poll_once(), 1);
	assert_int_equal(poll_tick(), FEW);
	assert_int_equal(poll_once(), 0);
	assert_int_equal(points[N - 1].nasked, 1);
}

static void reap__leaves_a_late_one_that_is_removed(void **state)
{
	(void)state;
	want_reaps(2);
	assert_int_equal(poll_once(), 2);
	engine_remove(&engine, &points[0].ep);
	assert_int_equal(poll_tick(), 1);
	assert_int_equal(points[0].nasked, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(reap__is_of_all_that_can_end, setup),
		cmocka_unit_test_setup(reap__of_retried_ones_is_of_a_few_and_each_has_its_turn,
				       setup),
		cmocka_unit_test_setup(reap__asks_late_ones_once_a_tick, setup),
		cmocka_unit_test_setup(reap__leaves_a_late_one_that_is_removed, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
