/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the table of counters, and how the values of an engine are read. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <weir/metrics.h>

#include "engine.h"

#define MARK 4711

static struct weir_engine *engine;

static struct weir_counter_info info_of(uint32_t index)
{
	struct weir_counter_info info = {.struct_bytes = sizeof(info)};

	assert_int_equal(weir_counter_info(index, &info), 0);
	return info;
}

static uint64_t value_of(const char *name)
{
	int index = weir_counter_find(name);

	assert_true(index >= 0);
	return weir_engine_counter(engine, (uint32_t)index);
}

/* Programs build names, labels and comments from these texts. */
static void each_entry__is_described(void **state)
{
	(void)state;
	assert_true(weir_counters() > 80);
	for (uint32_t i = 0; i < weir_counters(); i++) {
		struct weir_counter_info info = info_of(i);

		assert_true(strlen(info.name) > 0);
		assert_int_equal(strspn(info.name, "abcdefghijklmnopqrstuvwxyz0123456789_"),
				 strlen(info.name));
		assert_true(strlen(info.unit) > 0);
		assert_int_equal(strspn(info.unit, "abcdefghijklmnopqrstuvwxyz"),
				 strlen(info.unit));
		assert_true(strlen(info.help) > 10);
		assert_int_equal(info.help[strlen(info.help) - 1], '.');
		assert_null(strpbrk(info.help, "\"\\\n\t"));
		assert_true(info.kind == WEIR_COUNTER || info.kind == WEIR_GAUGE);
		assert_int_equal(info.kind == WEIR_GAUGE, info.group == WEIR_GROUP_STATE);
		assert_string_not_equal(weir_counter_group_name(info.group), "unknown");
	}
}

/* A name that occurs twice would be found at the first index only. */
static void each_name__is_found_at_its_index(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < weir_counters(); i++)
		assert_int_equal(weir_counter_find(info_of(i).name), i);
}

static void wrong_arguments__are_errors(void **state)
{
	struct weir_counter_info info = {.struct_bytes = sizeof(info), .name = "unchanged"};

	(void)state;
	assert_int_equal(weir_counter_info(weir_counters(), &info), -ENOENT);
	assert_int_equal(weir_counter_info(UINT32_MAX, &info), -ENOENT);
	assert_string_equal(info.name, "unchanged");
	assert_int_equal(weir_counter_find("no_such_counter"), -ENOENT);
	assert_int_equal(weir_counter_find(""), -ENOENT);
	assert_int_equal(weir_counter_find(NULL), -ENOENT);
	assert_string_equal(weir_counter_group_name((enum weir_counter_group)1000), "unknown");
	assert_string_equal(weir_counter_group_name((enum weir_counter_group) - 1), "unknown");
	assert_int_equal(weir_engine_counter(engine, weir_counters()), 0);
	assert_int_equal(weir_engine_counter(engine, UINT32_MAX), 0);
}

/* A program that was built with older headers has fewer members, one with newer headers more. */
static void info__has_the_length_of_the_program(void **state)
{
	struct weir_counter_info older = {.struct_bytes = offsetof(struct weir_counter_info, unit),
					  .help = "unchanged"};
	struct {
		struct weir_counter_info info;
		uint64_t more;
	} newer = {.info.struct_bytes = sizeof(newer), .more = MARK};

	(void)state;
	assert_int_equal(weir_counter_info(0, &older), 0);
	assert_string_equal(older.name, "polls");
	assert_string_equal(older.help, "unchanged");
	assert_int_equal(weir_counter_info(0, &newer.info), 0);
	assert_string_equal(newer.info.name, "polls");
	assert_int_equal(newer.more, 0);
}

/* Each member of the structure in which the library counts has the value of its name. */
static void each_value__has_its_name(void **state)
{
	const struct engine_counters before = engine->stats;
	uint64_t value = 1000;

	(void)state;
#define COUNTER(group, name, unit, help) engine->stats.name = ++value;
#include "counter_list.h"
	value = 1000;
#define COUNTER(group, name, unit, help)                                                           \
	value++;                                                                                   \
	if (value_of(#name) >= 1000)                                                               \
		assert_int_equal(value_of(#name), value);
#include "counter_list.h"
	assert_int_equal(value_of("polls"), 1001);
	/* These counters belong to others than the engine. */
	engine->dev->stats.reads = 17;
	engine->send_pool->empty = 18;
	engine->dev->stats.bulk_copies = 19;
	assert_int_equal(value_of("reads"), 17);
	assert_int_equal(value_of("send_pool_empty"), 18);
	assert_int_equal(value_of("bulk_copies"), engine->stats.bulk_copies + 19);
	engine->stats = before;
}

static void gauges__are_the_state(void **state)
{
	(void)state;
	assert_int_equal(value_of("connections"), 0);
	engine->nconnections = 5;
	engine->nending = 2;
	engine->npending = 7;
	engine->nwaiting = 8;
	engine->pulling_bytes = 9;
	assert_int_equal(value_of("connections"), 3);
	assert_int_equal(value_of("replies_pending"), 7);
	assert_int_equal(value_of("buffer_waiters"), 8);
	assert_int_equal(value_of("pulling_bytes"), 9);
	engine->nconnections = engine->nending = engine->npending = engine->nwaiting = 0;
	engine->pulling_bytes = 0;
}

/* A program can read a part of the values, and can have room for more of them. */
static void values__are_as_many_as_the_array(void **state)
{
	const uint32_t n = weir_counters();
	uint64_t values[200];

	(void)state;
	assert_true(n + 2 < 200);
	weir_engine_poll(engine, 0, 1);
	memset(values, 0xff, sizeof(values));
	assert_int_equal(weir_engine_counters(engine, values, 1), 1);
	assert_true(values[0] > 0 && values[0] < 100);
	assert_true(values[1] == UINT64_MAX);
	assert_int_equal(weir_engine_counters(engine, values, 0), 0);
	assert_int_equal(weir_engine_counters(engine, values, n + 1), n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(values[i], weir_engine_counter(engine, i));
	assert_int_equal(values[n], 0);
	assert_true(values[n + 1] == UINT64_MAX);
}

static int set_up(void **state)
{
	struct weir_profile profile;

	(void)state;
	weir_profile_defaults(&profile);
	return weir_engine_create(&profile, &engine);
}

static int tear_down(void **state)
{
	(void)state;
	weir_engine_destroy(engine);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_entry__is_described),
		cmocka_unit_test(each_name__is_found_at_its_index),
		cmocka_unit_test(wrong_arguments__are_errors),
		cmocka_unit_test(info__has_the_length_of_the_program),
		cmocka_unit_test(each_value__has_its_name),
		cmocka_unit_test(gauges__are_the_state),
		cmocka_unit_test(values__are_as_many_as_the_array),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
