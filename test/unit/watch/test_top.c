/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests parts of weir-top: rates, tables, numbers, and the division of the screen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <weir/metrics.h>

#include "fake_process.h"
#include "layout.h"
#include "rates.h"
#include "sections.h"
#include "units.h"

#define LONG_MS 20000u

static struct fake_process fake;
static struct watch_socket sock;
static struct watch_state *before, *now;
static struct rates *rates;
static struct section *sections;

static int start(void **state)
{
	const struct watch_scope scope = {.conns = 8, .wait_ms = LONG_MS};

	(void)state;
	fake_start(&fake);
	fake_good_state(&fake);
	before = calloc(1, sizeof(*before));
	now = calloc(1, sizeof(*now));
	rates = calloc(1, sizeof(*rates));
	sections = calloc(SECTIONS, sizeof(*sections));
	if (watch_open(&sock, fake.path, LONG_MS) != WATCH_OK ||
	    watch_read(&sock, &scope, before) != WATCH_OK)
		return -1;
	*now = *before;
	now->read_ms += 2000;
	return 0;
}

static int stop(void **state)
{
	(void)state;
	watch_close(&sock);
	fake_stop(&fake);
	free(before);
	free(now);
	free(rates);
	free(sections);
	return 0;
}

static uint64_t *counter(const char *name)
{
	return &now->engines[0].counters[weir_counter_find(name)];
}

#define assert_near(a, b) assert_true((a) > (b)-0.001 && (a) < (b) + 0.001)

static void rates__of_two_readings(void **state)
{
	(void)state;
	*counter("polls") += 400;
	*counter("idle_polls") += 300;
	*counter("calls_completed") += 20;
	*counter("replies_sent") += 4;
	now->engines[0].bytes[WATCH_MESSAGES_SENT] += 1000;
	now->engines[0].bytes[WATCH_RDMA_SENT] += 3000;
	now->engines[0].bytes[WATCH_RDMA_RECEIVED] += 500;
	now->conns[0].calls += 10;
	now->conns[0].bytes[WATCH_MESSAGES_RECEIVED] += 8;
	rates_compute(before, now, rates);
	assert_true(rates->engines[0].is_known);
	assert_near(rates->engines[0].busy, 0.25);
	assert_near(rates->engines[0].rpcs, 12);
	assert_near(rates->engines[0].sent, 2000);
	assert_near(rates->engines[0].received, 250);
	assert_near(rates->conns[0].calls, 5);
	assert_near(rates->conns[0].bytes, 4);
}

static void rates__times_of_the_interval(void **state)
{
	struct watch_times *times = &now->procedures.procedures[0].times;

	(void)state;
	times->buckets[100] += 30;
	times->count += 30;
	rates_compute(before, now, rates);
	assert_int_equal(rates->nrpcs, 2);
	assert_string_equal(rates->rpcs[0].name, "all");
	assert_string_equal(rates->rpcs[1].name, "100003/3/7");
	for (uint32_t i = 0; i < 2; i++) {
		assert_near(rates->rpcs[i].calls, 15);
		assert_int_equal(rates->rpcs[i].times.count, 30);
		assert_int_equal(watch_times_quantile(&rates->rpcs[i].times, 0.5), 62000);
	}
	/* Without calls in the interval, the times are those since the start. */
	*times = before->procedures.procedures[0].times;
	rates_compute(before, now, rates);
	assert_near(rates->rpcs[1].calls, 0);
	assert_int_equal(rates->rpcs[1].times.count, 50);
}

static void rates__of_the_first_reading_and_of_other_objects(void **state)
{
	(void)state;
	rates_compute(NULL, now, rates);
	assert_false(rates->engines[0].is_known);
	assert_false(rates->conns[0].is_known);
	assert_true(rates->rpcs[0].calls < 0);
	now->engines[0].id = 9;
	now->conns[0].id = 9;
	rates_compute(before, now, rates);
	assert_false(rates->engines[0].is_known);
	assert_false(rates->conns[0].is_known);
	/* numbers that shrink, and readings at the same time */
	*now = *before;
	*counter("polls") = 0;
	now->conns[0].calls = 0;
	rates_compute(before, now, rates);
	assert_near(rates->engines[0].busy, 0);
	assert_near(rates->conns[0].calls, 0);
}

static void has_row(enum section_id id, uint32_t row, const char *text)
{
	assert_true(row < sections[id].n);
	if (!strstr(sections[id].rows[row], text))
		fail_msg("no '%s' in '%s'", text, sections[id].rows[row]);
}

static void sections__have_the_state(void **state)
{
	char head[SECTION_COLUMNS];

	(void)state;
	*counter("polls") += 400;
	rates_compute(before, now, rates);
	sections_fill(now, rates, SORT_ID, sections);
	has_row(SECTION_ENGINES, 0, " 1 shm     100.0% ");
	has_row(SECTION_TIMES, 0, "calls      all ");
	has_row(SECTION_TIMES, 1, " 8.19us  62.0us  62.0us  62.0us");
	has_row(SECTION_WAITING, 0, "requester  sent             the reply ");
	has_row(SECTION_CONNS, 0, "5        1 requester open             3/16      3       0");
	has_row(SECTION_CALLS, 0,
		"0xeb195a80  requester          5 100003/3/7             7.00s "
		"stuck the reply");
	assert_int_equal(sections[SECTION_CONNS].total, 2);
	assert_int_equal(sections[SECTION_CALLS].total, 3);
	/* an engine that is not polled, and no engines */
	now->engines[0].is_polled = false;
	rates_compute(before, now, rates);
	sections_fill(now, rates, SORT_ID, sections);
	has_row(SECTION_ENGINES, 0, "1 not polled");
	now->nengines = 0;
	sections_fill(now, rates, SORT_ID, sections);
	section_empty(&sections[SECTION_ENGINES], head);
	assert_string_equal(head, "ENGINE DRIVER (none)");
}

static void sections__fit_into_80_columns(void **state)
{
	(void)state;
	now->conns[0].id = 123456;
	now->conns[0].engine_id = 123;
	now->conns[0].credits_granted = now->conns[0].credits_used = 1024;
	now->conns[0].peer[0] = '\0';
	now->ncalls = 0;
	rates_compute(before, now, rates);
	sections_fill(now, rates, SORT_ID, sections);
	for (uint32_t s = 0; s < SECTIONS; s++) {
		assert_true(strlen(sections[s].head) <= 80);
		for (uint32_t i = 0; i < sections[s].n; i++)
			assert_true(strlen(sections[s].rows[i]) <= 80);
	}
}

static void sections__sort_connections(void **state)
{
	static const uint64_t first[SORTS] = {1, 2, 3, 4};

	(void)state;
	now->nconns = 4;
	for (uint32_t i = 0; i < 4; i++) {
		now->conns[i] = before->conns[0];
		now->conns[i].id = i + 1;
		now->conns[i].credits_used = i == 3 ? 9 : 1;
	}
	rates_compute(NULL, now, rates);
	rates->conns[1].calls = 7;
	rates->conns[2].bytes = 7;
	for (int sort = 0; sort < SORTS; sort++) {
		char id[16];

		sections_fill(now, rates, (enum sort)sort, sections);
		snprintf(id, sizeof(id), "%u ", (uint32_t)first[sort]);
		assert_memory_equal(sections[SECTION_CONNS].rows[0], id, 2);
		assert_int_equal(sort_find(sort_name((enum sort)sort)), sort);
	}
	assert_int_equal(sort_find("other"), -1);
}

static void layout__divides_the_rows(void **state)
{
	static const uint32_t sizes[SECTIONS] = {2, 100, 0, 100, 3};
	uint32_t firsts[SECTIONS] = {0, 50, 9, 1000, 2}, sum = 0;
	struct layout layouts[SECTIONS];

	(void)state;
	for (uint32_t i = 0; i < SECTIONS; i++)
		sections[i].n = sizes[i];
	layout_divide(sections, 22, firsts, layouts);
	for (uint32_t i = 0; i < SECTIONS; i++)
		sum += layouts[i].n;
	assert_int_equal(sum, 22 - SECTIONS);
	assert_int_equal(layouts[0].n, 2);
	assert_int_equal(layouts[2].n, 0);
	assert_int_equal(layouts[4].n, 3);
	assert_int_equal(layouts[1].n, 6);
	assert_int_equal(layouts[1].first, 50);
	assert_int_equal(layouts[3].first, 94); /* the last ones */
	assert_int_equal(firsts[3], 94);
	assert_int_equal(layouts[4].first, 0); /* there is room for all */
	layout_divide(sections, 1000, firsts, layouts);
	for (uint32_t i = 0; i < SECTIONS; i++)
		assert_int_equal(layouts[i].n, sizes[i]);
	layout_divide(sections, 0, firsts, layouts);
	for (uint32_t i = 0; i < SECTIONS; i++)
		assert_int_equal(layouts[i].n, 0);
}

static void units__in_few_columns(void **state)
{
	static const struct {
		double number;
		const char *text;
	} numbers[] = {
		{0, "0"},	   {7, "7"},	     {999, "999"},    {1.5, "1.50"},
		{99.94, "99.9"},   {999.6, "1.00k"}, {1234, "1.23k"}, {12345, "12.3k"},
		{999600, "1.00M"}, {5e9, "5.00G"},   {1e15, "1.00P"}, {1.8e19, "18.0E"},
	};
	static const struct {
		uint64_t ns;
		const char *text;
	} times[] = {
		{0, "0ns"},
		{999, "999ns"},
		{1000, "1.00us"},
		{12345, "12.3us"},
		{999499, "999us"},
		{999500, "1.00ms"},
		{1500000000, "1.50s"},
		{9999000000000, "9999s"},
		{36000000000000, "10.0h"},
		{UINT64_MAX, "5124096h"},
	};
	char text[UNIT_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		assert_string_equal(unit_number(numbers[i].number, text), numbers[i].text);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		assert_string_equal(unit_time(times[i].ns, text), times[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rates__of_two_readings, start, stop),
		cmocka_unit_test_setup_teardown(rates__times_of_the_interval, start, stop),
		cmocka_unit_test_setup_teardown(rates__of_the_first_reading_and_of_other_objects,
						start, stop),
		cmocka_unit_test_setup_teardown(sections__have_the_state, start, stop),
		cmocka_unit_test_setup_teardown(sections__fit_into_80_columns, start, stop),
		cmocka_unit_test_setup_teardown(sections__sort_connections, start, stop),
		cmocka_unit_test_setup_teardown(layout__divides_the_rows, start, stop),
		cmocka_unit_test(units__in_few_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
