/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the times at which weir-bench makes its calls, in ticks that the test sets. A slot is
 * busy until the test puts it back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client.h"

#define STARTED_MAX 64u

static struct {
	struct load_slot *slot;
	uint64_t ticks;
} started[STARTED_MAX];
static uint32_t nstarted, nallowed;

bool load_slot_next(struct load_slot *slot, struct weir_call *ended, uint64_t start_ticks)
{
	assert_null(ended);
	assert_true(nstarted < STARTED_MAX);
	started[nstarted].slot = slot;
	started[nstarted++].ticks = start_ticks;
	return nstarted < nallowed;
}

static void set_up(struct pace *pace, const struct bench_options *options, struct load_slot *slots,
		   uint32_t n)
{
	nstarted = 0;
	nallowed = STARTED_MAX;
	assert_int_equal(pace_init(pace, options, n, 1, 0.5), 0);
	pace->ticks_per_call = 100;
	pace_restart(pace, 1000); /* calls are due at 1050, 1150, 1250, ... */
	for (uint32_t i = 0; i < n; i++)
		pace_put(pace, &slots[i]);
}

static const struct bench_options open_loop = {.rate = 1000};

static void open_loop__calls_start_when_they_are_due(void **state)
{
	struct load_slot slots[2];
	struct pace pace;

	(void)state;
	set_up(&pace, &open_loop, slots, 2);
	assert_int_equal(pace_next(&pace), 1050);
	assert_int_equal(pace_start_due(&pace, 1049), 0);
	assert_int_equal(pace_start_due(&pace, 1160), 2);
	/* A call that finds no idle slot starts when one becomes idle, and not at a certain time.
	 */
	assert_true(pace_next(&pace) == UINT64_MAX);
	assert_ptr_equal(started[0].slot, &slots[0]);
	/*
	 * The start is 1150 and not 1160, because the time of a call counts from the time when it
	 * was due.
	 */
	assert_int_equal(started[0].ticks, 1050);
	assert_int_equal(started[1].ticks, 1150);
	assert_int_equal(pace.late, 0);
	pace_fini(&pace);
}

static void open_loop__what_finds_no_lane_waits_and_is_late(void **state)
{
	struct load_slot slots[1];
	struct pace pace;

	(void)state;
	set_up(&pace, &open_loop, slots, 1);
	assert_int_equal(pace_start_due(&pace, 1260), 1); /* only one of the three slots is free */
	assert_int_equal(pace_start_due(&pace, 1270), 0);
	pace_put(&pace, &slots[0]);
	assert_int_equal(pace_start_due(&pace, 1400), 1);
	assert_int_equal(started[1].ticks, 1150);
	assert_int_equal(pace.late, 1);
	pace_put(&pace, &slots[0]);
	assert_int_equal(pace_start_due(&pace, 1400), 1);
	assert_int_equal(started[2].ticks, 1250);
	assert_int_equal(pace.late, 2);
	pace_put(&pace, &slots[0]);
	/* The call of 1350 was due while the slot was busy, but the call of 1450 was not. */
	assert_int_equal(pace_start_due(&pace, 1440), 1);
	pace_put(&pace, &slots[0]);
	assert_int_equal(pace_start_due(&pace, 1451), 1);
	assert_int_equal(started[4].ticks, 1450);
	assert_int_equal(pace.late, 3);
	pace_fini(&pace);
}

static void open_loop__what_is_not_taken_by_the_end_is_counted(void **state)
{
	struct load_slot slots[1];
	struct pace pace;

	(void)state;
	set_up(&pace, &open_loop, slots, 1);
	/* A call that is due exactly at the end does not count. */
	assert_int_equal(pace_untaken(&pace, 1050), 0);
	assert_int_equal(pace_untaken(&pace, 1051), 1);
	pace_start_due(&pace, 1060);
	assert_int_equal(pace_untaken(&pace, 1150), 0);
	assert_int_equal(pace_untaken(&pace, 2000), 9); /* the calls of 1150 to 1950 */
	assert_int_equal(pace_due(&pace, pace.arrivals), 1150);
	pace_fini(&pace);
}

static void open_loop__a_restart_forgets_what_waited(void **state)
{
	struct load_slot slots[1];
	struct pace pace;

	(void)state;
	set_up(&pace, &open_loop, slots, 1);
	pace_start_due(&pace, 9000);
	pace_restart(&pace, 10000);
	pace_put(&pace, &slots[0]);
	assert_int_equal(pace_start_due(&pace, 10000), 0);
	assert_int_equal(pace_start_due(&pace, 10050), 1);
	assert_int_equal(started[1].ticks, 10050);
	assert_int_equal(pace.late, 0);
	pace_fini(&pace);
}

static void open_loop__no_more_after_the_last_call(void **state)
{
	struct load_slot slots[4];
	struct pace pace;

	(void)state;
	set_up(&pace, &open_loop, slots, 4);
	nallowed = 2;
	pace_start_due(&pace, 5000);
	assert_int_equal(nstarted, 2);
	pace_fini(&pace);
}

static void think__a_lane_waits_for_its_time(void **state)
{
	const struct bench_options options = {.think_ns = 1000};
	struct load_slot slots[3] = {{.due_ticks = 100}, {.due_ticks = 200}, {.due_ticks = 300}};
	struct pace pace;

	(void)state;
	set_up(&pace, &options, slots, 3);
	assert_false(pace.is_open_loop);
	assert_int_equal(pace_start_due(&pace, 99), 0);
	assert_int_equal(pace_start_due(&pace, 200), 2);
	assert_ptr_equal(started[1].slot, &slots[1]);
	slots[0].due_ticks = 400;
	pace_put(&pace, &slots[0]);
	assert_int_equal(pace_start_due(&pace, 399), 1);
	assert_ptr_equal(started[2].slot, &slots[2]);
	assert_int_equal(pace_start_due(&pace, 400), 1);
	assert_int_equal(pace_untaken(&pace, UINT64_MAX), 0);
	pace_fini(&pace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_loop__calls_start_when_they_are_due),
		cmocka_unit_test(open_loop__what_finds_no_lane_waits_and_is_late),
		cmocka_unit_test(open_loop__what_is_not_taken_by_the_end_is_counted),
		cmocka_unit_test(open_loop__a_restart_forgets_what_waited),
		cmocka_unit_test(open_loop__no_more_after_the_last_call),
		cmocka_unit_test(think__a_lane_waits_for_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
