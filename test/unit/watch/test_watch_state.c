/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the reading of a process's state, with valid answers and with each one damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include <weir/metrics.h>

#include "fake_process.h"
#include "watch_state.h"

#define LONG_MS 20000u

static const struct watch_scope scope = {.conns = 8, .stages = true, .wait_ms = LONG_MS};
static struct fake_process fake;
static struct watch_socket sock;
static struct watch_state *now;

static int start(void **state)
{
	(void)state;
	fake_start(&fake);
	fake_good_state(&fake);
	now = calloc(1, sizeof(*now));
	return now ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	watch_close(&sock);
	fake_stop(&fake);
	free(now);
	return 0;
}

static enum watch_result read_now(void)
{
	if (sock.fd <= 0)
		assert_int_equal(watch_open(&sock, fake.path, LONG_MS), WATCH_OK);
	return watch_read(&sock, &scope, now);
}

static uint64_t counter(const char *name)
{
	int index = weir_counter_find(name);

	assert_true(index >= 0);
	assert_true(now->engines[0].has_counter[index]);
	return now->engines[0].counters[index];
}

static void read__everything(void **state)
{
	const struct watch_procedure *procedure;
	const struct watch_call *call;

	(void)state;
	assert_int_equal(read_now(), WATCH_OK);
	assert_false(now->is_partial);
	assert_int_equal(now->nengines, 1);
	assert_true(now->engines[0].is_polled);
	assert_int_equal(now->engines[0].id, 1);
	assert_string_equal(now->engines[0].driver, "shm");
	assert_int_equal(counter("polls"), 1000);
	assert_int_equal(counter("calls_completed"), 50);
	assert_false(now->engines[0].has_counter[weir_counter_find("dropped")]);
	assert_int_equal(now->engines[0].bytes[WATCH_RDMA_RECEIVED], 400);
	assert_int_equal(now->calls_total, 3);
	assert_int_equal(now->calls_stuck, 1);
	assert_int_equal(now->nwaiting, 1);
	assert_string_equal(now->waiting[0].waits_for, "the reply");
	assert_int_equal(now->waiting[0].calls, 3);
	assert_int_equal(now->ncalls, 1);
	call = &now->calls[0];
	assert_string_equal(call->xid, "0xeb195a80");
	assert_int_equal(call->proc, 7);
	assert_int_equal(call->conn_id, 5);
	assert_true(call->is_stuck);
	/* Connection 6 has ended meanwhile. */
	assert_int_equal(now->conns_total, 2);
	assert_int_equal(now->nconns, 1);
	assert_string_equal(now->conns[0].peer, "/run/a\"b\\c");
	assert_int_equal(now->conns[0].credits_granted, 16);
	assert_int_equal(now->procedures.n, 1);
	procedure = &now->procedures.procedures[0];
	assert_true(procedure->is_requester);
	assert_int_equal(procedure->prog, 100003);
	assert_string_equal(procedure->versions, "3");
	assert_int_equal(procedure->times.count, 50);
	assert_int_equal(procedure->times.sum_ns, 500000);
	assert_int_equal(procedure->nstages, 2);
	assert_string_equal(procedure->stages[1].name, "sent");
	assert_int_equal(procedure->stages[1].sum_ns, 400000);
}

static void read__what_a_program_asks_for(void **state)
{
	const struct watch_scope none = {.conns = 0, .wait_ms = LONG_MS};
	const struct watch_scope hurried = {.conns = 8, .wait_ms = 0};

	(void)state;
	assert_int_equal(read_now(), WATCH_OK);
	assert_int_equal(watch_read(&sock, &none, now), WATCH_OK);
	assert_int_equal(now->nconns, 0);
	assert_int_equal(now->conns_total, 2);
	assert_int_equal(now->procedures.procedures[0].nstages, 0);
	/* Engines and calls are always read. */
	assert_int_equal(watch_read(&sock, &hurried, now), WATCH_OK);
	assert_true(now->is_partial);
	assert_int_equal(now->nengines, 1);
	assert_int_equal(now->ncalls, 1);
	assert_int_equal(now->nconns, 0);
	assert_int_equal(now->procedures.n, 0);
	assert_int_equal(now->procedures.left_out, 1);
}

static void read__engines_that_are_not_polled_or_gone(void **state)
{
	(void)state;
	fake_answer(&fake, "/weir/engines",
		    "{\"/weir/engines\":{\"1\":{\"state\":\"not polled\"},\"2\":{\"state\":"
		    "\"polled\"}}}",
		    0);
	fake_answer(&fake, "/weir/engines,2",
		    "{\"/weir/engines\":{\"error\":\"there is no engine 2\"}}", 0);
	assert_int_equal(read_now(), WATCH_OK);
	assert_int_equal(now->nengines, 1);
	assert_false(now->engines[0].is_polled);
}

static void read__engines_of_a_slow_process(void **state)
{
	const struct watch_scope hurried = {.conns = 8, .wait_ms = 0};

	(void)state;
	fake_answer(&fake, "/weir/engines",
		    "{\"/weir/engines\":{\"1\":{\"state\":\"polled\"},\"2\":{\"state\":"
		    "\"polled\"}}}",
		    0);
	fake_answer(&fake, "/weir/engines,2", fake_good_answer(1)->text, 0);
	assert_int_equal(read_now(), WATCH_OK);
	assert_int_equal(now->nengines, 2);
	assert_int_equal(watch_read(&sock, &hurried, now), WATCH_OK);
	assert_int_equal(now->nengines, 1);
	assert_true(now->is_partial);
}

static void read__ends_at_its_limit(void **state)
{
	const struct watch_scope limited = {.wait_ms = LONG_MS, .limit_ms = 50};

	(void)state;
	assert_int_equal(read_now(), WATCH_OK);
	fake_answer(&fake, "/weir/calls", "", 0);
	assert_int_equal(watch_read(&sock, &limited, now), WATCH_SILENT);
	assert_non_null(strstr(sock.why, "did not answer before the end of the reading"));
}

static void read__a_process_without_weir(void **state)
{
	(void)state;
	fake_answer(&fake, "/weir/engines", "{\"/weir/engines\":null}", 0);
	assert_int_equal(read_now(), WATCH_UNKNOWN);
	assert_true(sock.fd >= 0);
}

/* Reads with one answer replaced. The result is valid, or the answer is refused. */
static enum watch_result read_with(const char *command, const char *text)
{
	enum watch_result result;

	fake_answer(&fake, command, text, 0);
	result = read_now();
	assert_true(result == WATCH_OK || result == WATCH_MALFORMED || result == WATCH_UNKNOWN);
	assert_int_equal(sock.fd >= 0, result != WATCH_MALFORMED);
	assert_true(now->nengines <= WATCH_ENGINES && now->nconns <= scope.conns);
	return result;
}

static void read__answers_that_are_cut_off(void **state)
{
	(void)state;
	for (size_t i = 0; i < fake_good_answers(); i++) {
		const struct fake_answer *good = fake_good_answer(i);

		for (size_t len = 1; len < strlen(good->text); len++) {
			char *text = strndup(good->text, len);

			assert_int_equal(read_with(good->command, text), WATCH_MALFORMED);
			fake_answer(&fake, good->command, good->text, 0);
			free(text);
		}
	}
}

/* Reads with each value of an answer replaced by others. 'value' is inside of 'all'. Counts the
 * answers that were refused. */
static uint32_t damage(const char *command, json_t *all, json_t *value)
{
	static const char *const others[] = {"null", "-1",   "\"text\"", "[]",
					     "{}",   "true", "[{}]",	 "9223372036854775807"};
	uint32_t refused = 0;
	const char *name;
	json_t *member;
	void *tmp;

	json_object_foreach_safe(value, tmp, name, member)
	{
		char *key = strdup(name);

		json_incref(member);
		for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
			char *text;

			json_object_set_new(value, key,
					    json_loads(others[i], JSON_DECODE_ANY, NULL));
			text = json_dumps(all, 0);
			refused += read_with(command, text) == WATCH_MALFORMED;
			fake_answer(&fake, command, "{}", 0);
			free(text);
		}
		json_object_set(value, key, member);
		if (json_is_object(member))
			refused += damage(command, all, member);
		json_decref(member);
		free(key);
	}
	return refused;
}

static void read__answers_with_other_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < fake_good_answers(); i++) {
		const struct fake_answer *good = fake_good_answer(i);
		json_t *all = json_loads(good->text, 0, NULL);

		/* Each answer has members that are not optional. */
		assert_true(damage(good->command, all, all) > 4);
		json_decref(all);
		fake_answer(&fake, good->command, good->text, 0);
	}
}

static void read__more_than_there_is_room_for(void **state)
{
	json_t *list = json_object(), *all = json_object();
	char *text;

	(void)state;
	for (uint32_t i = 1; i <= WATCH_ENGINES + 5; i++) {
		char id[16];

		snprintf(id, sizeof(id), "%u", i);
		json_object_set_new(list, id, json_pack("{ss}", "state", "not polled"));
	}
	json_object_set_new(all, "/weir/engines", list);
	text = json_dumps(all, 0);
	assert_int_equal(read_with("/weir/engines", text), WATCH_OK);
	assert_int_equal(now->nengines, WATCH_ENGINES);
	fake_good_state(&fake);
	free(text);
	json_decref(all);
}

static void times__buckets_and_quantiles(void **state)
{
	static struct watch_times times, before;
	const struct watch_times *read;

	(void)state;
	assert_int_equal(watch_bucket_high(0), 63);
	assert_int_equal(watch_bucket_high(1), 71);
	assert_int_equal(watch_bucket_high(8), 127);
	assert_int_equal(watch_bucket_high(9), 143);
	assert_true(watch_bucket_high(240) == (1ull << 36) - 1);
	assert_true(watch_bucket_high(241) == UINT64_MAX);
	assert_int_equal(read_now(), WATCH_OK);
	read = &now->procedures.procedures[0].times;
	assert_int_equal(watch_times_quantile(read, 0.5), 8191);
	assert_int_equal(watch_times_quantile(read, 0.8), 8191);
	assert_int_equal(watch_times_quantile(read, 0.81), 16383);
	assert_int_equal(watch_times_quantile(read, 0.999), 62000); /* the maximum */
	times = before = *read;
	watch_times_add(&times, read);
	assert_int_equal(times.count, 100);
	assert_int_equal(times.sum_ns, 1000000);
	watch_times_subtract(&times, &before);
	assert_int_equal(times.count, 50);
	assert_int_equal(times.sum_ns, 500000);
	watch_times_subtract(&times, &before);
	assert_int_equal(times.count, 0);
	assert_int_equal(watch_times_quantile(&times, 0.5), 0);
	watch_times_subtract(&times, &before);
	assert_int_equal(times.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(read__everything, start, stop),
		cmocka_unit_test_setup_teardown(read__what_a_program_asks_for, start, stop),
		cmocka_unit_test_setup_teardown(read__engines_that_are_not_polled_or_gone, start,
						stop),
		cmocka_unit_test_setup_teardown(read__engines_of_a_slow_process, start, stop),
		cmocka_unit_test_setup_teardown(read__ends_at_its_limit, start, stop),
		cmocka_unit_test_setup_teardown(read__a_process_without_weir, start, stop),
		cmocka_unit_test_setup_teardown(read__answers_that_are_cut_off, start, stop),
		cmocka_unit_test_setup_teardown(read__answers_with_other_values, start, stop),
		cmocka_unit_test_setup_teardown(read__more_than_there_is_room_for, start, stop),
		cmocka_unit_test_setup_teardown(times__buckets_and_quantiles, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
