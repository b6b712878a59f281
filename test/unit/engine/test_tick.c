/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of which endpoints' deadlines are checked in a tick. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine.h"

#define N    100u
#define FEW  16u  /* number of idle endpoints that a tick checks */
#define MOST 128u /* number of other endpoints that a tick checks */
#define MANY 1000u

struct point {
	struct engine_endpoint ep;
	bool matters; /* the endpoint has deadlines */
	struct point *wakes;
	uint32_t nticks;
};

static struct weir_engine engine;
static struct point points[N];

static bool on_tick(struct engine_endpoint *ep, uint64_t now_ns)
{
	struct point *point = (struct point *)ep;

	assert_int_equal(now_ns, engine.now_ns);
	point->nticks++;
	if (point->wakes)
		engine_want_ticks(&point->wakes->ep);
	return point->matters;
}

static int setup(void **state)
{
	(void)state;
	engine = (struct weir_engine){.now_ns = 5};
	TAILQ_INIT(&engine.all);
	TAILQ_INIT(&engine.ticking);
	TAILQ_INIT(&engine.idle);
	for (uint32_t i = 0; i < N; i++) {
		points[i] = (struct point){.ep.on_tick = on_tick};
		engine_add(&engine, &points[i].ep);
	}
	return 0;
}

/* Ticks once. Returns the number of endpoints that were checked. */
static uint32_t tick(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < N; i++)
		points[i].nticks = 0;
	engine_tick(&engine);
	for (uint32_t i = 0; i < N; i++) {
		assert_in_range(points[i].nticks, 0, 2);
		n += points[i].nticks;
	}
	return n;
}

static void tick__of_new_ones_is_of_all(void **state)
{
	(void)state;
	assert_int_equal(tick(), N);
}

static void tick__of_idle_ones_is_of_a_few_and_each_has_its_turn(void **state)
{
	uint32_t seen[N] = {0};

	(void)state;
	tick();
	for (uint32_t round = 0; round < 2 * N; round++) {
		assert_int_equal(tick(), FEW);
		for (uint32_t i = 0; i < N; i++)
			seen[i] += points[i].nticks;
	}
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(seen[i], 2 * FEW);
}

static void tick__is_of_each_to_which_time_matters(void **state)
{
	(void)state;
	points[7].matters = points[99].matters = true;
	tick();
	for (uint32_t round = 0; round < N; round++) {
		assert_int_equal(tick(), FEW + 2);
		assert_int_equal(points[7].nticks + points[99].nticks, 2);
	}
}

static void tick__finds_those_that_did_not_ask(void **state)
{
	(void)state;
	tick();
	points[50].matters = true;
	for (uint32_t round = 0; round < N / FEW + 1; round++)
		tick();
	assert_false(points[50].ep.blockers.is_idle);
	points[50].matters = false;
	tick();
	assert_true(points[50].ep.blockers.is_idle);
}

static void want_ticks__has_one_looked_at_next(void **state)
{
	(void)state;
	tick();
	engine_want_ticks(&points[60].ep);
	engine_want_ticks(&points[60].ep);
	tick();
	assert_int_equal(points[60].nticks, 1);
	assert_true(points[60].ep.blockers.is_idle);
}

static void want_ticks__may_be_asked_in_a_tick(void **state)
{
	(void)state;
	tick();
	for (uint32_t i = 0; i < N; i++)
		/* An endpoint wakes itself, or one that is checked soon. */
		points[i].wakes = &points[(i + i % 3) % N];
	for (uint32_t round = 0; round < N; round++)
		assert_in_range(tick(), FEW, 2 * N);
	engine_remove(&engine, &points[3].ep);
	engine_remove(&engine, &points[4].ep);
	for (uint32_t i = 0; i < N; i++)
		points[i].wakes = NULL;
	tick();
	assert_int_equal(points[3].nticks + points[4].nticks, 0);
	assert_int_equal(tick(), FEW);
}

/*
 * Checks very many endpoints that all have deadlines. They are checked in turn, and none is checked
 * a second time before the others.
 */
static void tick__of_very_many_is_of_some_and_each_has_its_turn(void **state)
{
	static struct point many[MANY];

	(void)state;
	for (uint32_t i = 0; i < N; i++)
		engine_remove(&engine, &points[i].ep);
	for (uint32_t i = 0; i < MANY; i++) {
		many[i] = (struct point){.ep.on_tick = on_tick, .matters = true};
		engine_add(&engine, &many[i].ep);
	}
	for (uint32_t ticks = 1; ticks < 100; ticks++) {
		uint32_t sum = 0;

		engine_tick(&engine);
		for (uint32_t i = 0; i < MANY; i++) {
			assert_in_range(many[i].nticks, ticks * MOST / MANY,
					(ticks * MOST + MANY - 1) / MANY);
			sum += many[i].nticks;
		}
		assert_int_equal(sum, ticks * MOST);
	}
}

static void tick__of_few_is_of_all(void **state)
{
	(void)state;
	for (uint32_t i = FEW - 1; i < N; i++)
		engine_remove(&engine, &points[i].ep);
	tick();
	for (uint32_t round = 0; round < 5; round++)
		assert_int_equal(tick(), FEW - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(tick__of_new_ones_is_of_all, setup),
		cmocka_unit_test_setup(tick__of_idle_ones_is_of_a_few_and_each_has_its_turn, setup),
		cmocka_unit_test_setup(tick__is_of_each_to_which_time_matters, setup),
		cmocka_unit_test_setup(tick__finds_those_that_did_not_ask, setup),
		cmocka_unit_test_setup(want_ticks__has_one_looked_at_next, setup),
		cmocka_unit_test_setup(want_ticks__may_be_asked_in_a_tick, setup),
		cmocka_unit_test_setup(tick__of_very_many_is_of_some_and_each_has_its_turn, setup),
		cmocka_unit_test_setup(tick__of_few_is_of_all, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
