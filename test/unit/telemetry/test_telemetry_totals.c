/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the answers of rte_telemetry about all connections together: what calls wait for, the bytes
 * of engines, and the buckets of times. */
#include "pair.h"

#include "client.h"

#define CALLS	 40u
#define SHOWN	 24 /* calls in an answer */
#define STUCK_MS 1u

static struct pair pair;
static struct client client;

static void with_telemetry(struct weir_profile *profile)
{
	profile->telemetry = WEIR_TELEMETRY_ON;
	profile->latency = WEIR_LATENCY_CALLS;
	profile->stuck_call_ms = STUCK_MS;
	profile->credits = CALLS;
	profile->recv_buffers = 256;
}

static int start(void **state)
{
	struct outcome outcome;

	(void)state;
	pair_start(&pair, with_telemetry);
	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	pair_settle(&pair);
	client_open(&client);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	close(client.fd);
	pair_stop(&pair);
	return 0;
}

static json_int_t number(json_t *dict, const char *name)
{
	json_t *value = json_object_get(dict, name);

	if (!json_is_integer(value))
		fail_msg("no number '%s' in %s", name, client.answer);
	return json_integer_value(value);
}

static const char *text(json_t *dict, const char *name)
{
	json_t *value = json_object_get(dict, name);

	if (!json_is_string(value))
		fail_msg("no text '%s' in %s", name, client.answer);
	return json_string_value(value);
}

static void calls__none(void **state)
{
	json_t *value = client_ask(&client, &pair, "/weir/calls");

	(void)state;
	assert_int_equal(number(value, "total"), 0);
	assert_int_equal(number(value, "stuck"), 0);
	assert_int_equal(json_object_size(json_object_get(value, "waiting")), 0);
	assert_int_equal(json_object_size(json_object_get(value, "calls")), 0);
	json_decref(value);
}

/* Checks the entry of "waiting" for one side, of which there is one. */
static void check_waiting(json_t *value, const char *side, const char *call_state, const char *what)
{
	json_t *entry, *found = NULL;
	const char *name;

	json_object_foreach(json_object_get(value, "waiting"), name, entry)
	{
		if (strcmp(text(entry, "side"), side) != 0)
			continue;
		assert_null(found);
		found = entry;
	}
	assert_non_null(found);
	assert_string_equal(text(found, "state"), call_state);
	assert_string_equal(text(found, "waits_for"), what);
	assert_int_equal(number(found, "calls"), CALLS);
	assert_true(number(found, "oldest_ns") >= (json_int_t)(STUCK_MS * 1000000));
}

/* Checks the entries of "calls": the oldest ones of both sides. */
static void check_calls(json_t *value)
{
	json_t *list = json_object_get(value, "calls"), *entry;
	json_int_t before = INT64_MAX, nstuck = 0;
	const char *name;

	assert_int_equal(json_object_size(list), SHOWN);
	json_object_foreach(list, name, entry)
	{
		bool is_call = strcmp(text(entry, "side"), "requester") == 0;

		assert_true(number(entry, "age_ns") <= before);
		before = number(entry, "age_ns");
		assert_int_equal(number(entry, "proc"), PAIR_LATER);
		assert_string_equal(text(entry, "state"), is_call ? "sent" : "handling");
		assert_true(number(entry, "conn") > 0);
		assert_true(number(entry, "engine") > 0);
		assert_int_equal(number(entry, "stuck"),
				 before >= (json_int_t)(STUCK_MS * 1000000));
		nstuck += number(entry, "stuck");
	}
	assert_int_equal(nstuck, SHOWN);
}

static void calls__of_all_connections(void **state)
{
	static struct outcome outcomes[CALLS];
	json_t *value;

	(void)state;
	for (uint32_t i = 0; i < CALLS; i++)
		pair_submit(&pair, pair.conn, PAIR_LATER, i, &outcomes[i]);
	pair_until_later(&pair, CALLS);
	value = client_ask(&client, &pair, "/weir/calls");
	while (number(value, "stuck") < (json_int_t)(2 * CALLS)) {
		json_decref(value);
		value = client_ask(&client, &pair, "/weir/calls");
	}
	assert_int_equal(number(value, "total"), 2 * CALLS);
	assert_int_equal(number(value, "looked_at"), 2 * CALLS);
	assert_int_equal(number(value, "engines_not_polled"), 0);
	assert_int_equal(json_object_size(json_object_get(value, "waiting")), 2);
	check_waiting(value, "requester", "sent", "the reply");
	check_waiting(value, "responder", "handling", "the reply of the program");
	check_calls(value);
	json_decref(value);
	pair_release_later(&pair);
	for (uint32_t i = 0; i < CALLS; i++)
		pair_until(&pair, &outcomes[i].done, 1);
	pair_settle(&pair);
}

static const char *const byte_names[] = {"message_bytes_sent", "message_bytes_received",
					 "rdma_bytes_sent", "rdma_bytes_received"};

/* Sums the bytes of all engines. */
static void sum_engines(json_int_t sums[4])
{
	json_t *all = client_ask(&client, &pair, "/weir/engines"), *entry;
	const char *id;

	memset(sums, 0, 4 * sizeof(sums[0]));
	json_object_foreach(all, id, entry)
	{
		char request[64];
		json_t *one;

		snprintf(request, sizeof(request), "/weir/engines,%s", id);
		one = client_ask(&client, &pair, request);
		for (int i = 0; i < 4; i++)
			sums[i] += number(one, byte_names[i]);
		json_decref(one);
	}
	json_decref(all);
}

/* Sums the bytes of all connections. */
static void sum_conns(json_int_t sums[4])
{
	json_t *all = client_ask(&client, &pair, "/weir/conns"), *entry;
	const char *id;

	memset(sums, 0, 4 * sizeof(sums[0]));
	json_object_foreach(json_object_get(all, "conns"), id, entry)
	{
		char request[64];
		json_t *one;

		snprintf(request, sizeof(request), "/weir/conn,%s", id);
		one = client_ask(&client, &pair, request);
		for (int i = 0; i < 4; i++)
			sums[i] += number(one, byte_names[i]);
		json_decref(one);
	}
	json_decref(all);
}

static void engines__have_the_bytes_of_all_connections(void **state)
{
	json_int_t engines[4], conns[4], later[4];

	(void)state;
	sum_engines(engines);
	sum_conns(conns);
	assert_memory_equal(engines, conns, sizeof(conns));
	assert_true(engines[0] > 0 && engines[1] > 0);
	/* The bytes of connections that have ended stay. */
	weir_conn_close(pair.conn);
	pair_until(&pair, &pair.closed, 1);
	pair_until(&pair, &pair.server_closed, 1);
	pair_settle(&pair);
	sum_conns(conns);
	assert_int_equal(conns[0], 0);
	sum_engines(later);
	assert_memory_equal(later, engines, sizeof(engines));
}

static void buckets__have_each_time_once(void **state)
{
	json_int_t sum = 0, lowest = INT64_MAX, highest = 0, before = 0;
	json_t *times, *value, *count;
	char request[96];
	const char *high;

	(void)state;
	for (uint32_t i = 0; i < CALLS; i++) {
		struct outcome outcome;

		pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	}
	snprintf(request, sizeof(request), "/weir/histogram,requester/%u/%u/0", PAIR_PROG,
		 PAIR_VERS);
	times = client_ask(&client, &pair, request);
	snprintf(request, sizeof(request), "/weir/buckets,requester/%u/%u/0", PAIR_PROG, PAIR_VERS);
	value = client_ask(&client, &pair, request);
	json_object_foreach(json_object_get(value, "buckets"), high, count)
	{
		assert_true(atoll(high) > before);
		before = atoll(high);
		assert_true(json_integer_value(count) > 0);
		sum += json_integer_value(count);
		lowest = lowest < before ? lowest : before;
		highest = before;
	}
	assert_int_equal(sum, CALLS + 1);
	assert_int_equal(sum, number(times, "count"));
	/* A bucket is an eighth of a power of two, or everything below 64 ns. */
	assert_true(number(times, "max_ns") <= highest);
	assert_true(highest < 64 || number(times, "max_ns") >= highest - highest / 8);
	assert_true(number(times, "min_ns") <= lowest);
	assert_true(lowest < 64 || number(times, "min_ns") >= lowest - lowest / 8);
	assert_int_equal(number(value, "sum_ns"), number(times, "sum_ns"));
	assert_true(number(value, "sum_ns") <= sum * number(value, "max_ns"));
	assert_int_equal(number(value, "max_ns"), number(times, "max_ns"));
	json_decref(value);
	json_decref(times);
}

static void buckets__of_no_procedure(void **state)
{
	static const char *const bad[] = {"/weir/buckets", "/weir/buckets,", "/weir/buckets,1",
					  "/weir/buckets,nobody/1/2/3"};
	char request[96];
	json_t *value;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		value = client_ask(&client, &pair, bad[i]);
		assert_non_null(strstr(text(value, "error"), "' is not of the form SIDE/PROG/"));
		json_decref(value);
	}
	snprintf(request, sizeof(request), "/weir/buckets,requester/%u/%u/77", PAIR_PROG,
		 PAIR_VERS);
	value = client_ask(&client, &pair, request);
	assert_string_equal(text(value, "error"), "no engine that answered measures this "
						  "procedure; 0 did not answer");
	json_decref(value);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(calls__none, start, stop),
		cmocka_unit_test_setup_teardown(calls__of_all_connections, start, stop),
		cmocka_unit_test_setup_teardown(engines__have_the_bytes_of_all_connections, start,
						stop),
		cmocka_unit_test_setup_teardown(buckets__have_each_time_once, start, stop),
		cmocka_unit_test_setup_teardown(buckets__of_no_procedure, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	int failed;

	pair_driver = "shm";
	if (client_folder_make() != 0)
		return EXIT_FAILURE;
	failed = run();
	client_folder_remove();
	return failed;
}
