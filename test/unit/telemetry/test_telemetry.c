/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the commands of rte_telemetry, with a requester and a responder over shm in one process. */
#include "pair.h"

#include "client.h"

static struct pair pair;
static struct client client;

static void with_telemetry(struct weir_profile *profile)
{
	profile->telemetry = WEIR_TELEMETRY_ON;
	profile->latency = WEIR_LATENCY_STAGES;
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

/* Asks with a number after the command. */
static json_t *ask_about(const char *command, json_int_t id)
{
	char request[64];

	snprintf(request, sizeof(request), "%s,%lld", command, (long long)id);
	return client_ask(&client, &pair, request);
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

/* Sets the IDs of the connection on both sides. */
static void find_conns(json_int_t *requester, json_int_t *responder)
{
	json_t *value = client_ask(&client, &pair, "/weir/conns"), *entry;
	const char *id;

	*requester = *responder = 0;
	json_object_foreach(json_object_get(value, "conns"), id, entry)
	{
		const char *line = json_string_value(entry);

		assert_non_null(line);
		if (strstr(line, ", requester, open, "))
			*requester = atoll(id);
		if (strstr(line, ", responder, open, "))
			*responder = atoll(id);
	}
	assert_int_equal(number(value, "total"), 2);
	assert_int_equal(number(value, "engines_not_polled"), 0);
	assert_true(*requester > 0 && *responder > 0 && *requester != *responder);
	json_decref(value);
}

static void commands__are_listed_and_have_a_help_text(void **state)
{
	static const char *const names[] = {"engines", "conns",	    "conn",    "calls",	 "memory",
					    "profile", "histogram", "buckets", "capture"};
	json_t *all = client_ask(&client, &pair, "/");

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char name[32], request[64];
		bool is_listed = false;
		json_t *entry, *help;
		size_t at;

		snprintf(name, sizeof(name), "/weir/%s", names[i]);
		json_array_foreach(all, at, entry) is_listed |=
			strcmp(json_string_value(entry), name) == 0;
		assert_true(is_listed);
		snprintf(request, sizeof(request), "/help,%s", name);
		help = client_ask(&client, &pair, request);
		assert_true(strlen(text(help, name)) > 10);
		json_decref(help);
	}
	json_decref(all);
}

static void engines__with_their_counters(void **state)
{
	json_t *all = client_ask(&client, &pair, "/weir/engines"), *entry, *one;
	json_int_t completed = 0;
	const char *id;

	(void)state;
	assert_int_equal(json_object_size(all), 2);
	json_object_foreach(all, id, entry)
	{
		assert_string_equal(text(entry, "state"), "polled");
		assert_string_equal(text(entry, "driver"), "shm");
		assert_int_equal(number(entry, "connections"), 1);
		completed += number(entry, "calls_completed");
		one = ask_about("/weir/engines", atoll(id));
		assert_int_equal(json_object_size(one), weir_counters() + 5);
		assert_int_equal(number(one, "calls_completed"), number(entry, "calls_completed"));
		assert_true(number(one, "polls") > 0);
		json_decref(one);
	}
	assert_int_equal(completed, 1);
	json_decref(all);
}

static void conn__describes_both_sides(void **state)
{
	json_int_t ids[2];

	(void)state;
	find_conns(&ids[0], &ids[1]);
	for (int i = 0; i < 2; i++) {
		json_t *conn = ask_about("/weir/conn", ids[i]);

		assert_string_equal(text(conn, "side"), i == 0 ? "requester" : "responder");
		assert_string_equal(text(conn, "state"), "open");
		assert_int_equal(number(conn, "version"), 1);
		assert_int_equal(number(conn, "calls"), 1);
		assert_true(number(conn, "message_bytes_sent") > 0);
		assert_true(strlen(text(conn, "peer")) > 0);
		json_decref(conn);
	}
}

static void conns__after_an_id(void **state)
{
	json_int_t ids[2], low;
	json_t *value;

	(void)state;
	find_conns(&ids[0], &ids[1]);
	low = ids[0] < ids[1] ? ids[0] : ids[1];
	value = ask_about("/weir/conns", low);
	assert_int_equal(json_object_size(json_object_get(value, "conns")), 1);
	assert_int_equal(number(value, "total"), 2);
	json_decref(value);
	value = ask_about("/weir/conns", ids[0] + ids[1]);
	assert_int_equal(json_object_size(json_object_get(value, "conns")), 0);
	json_decref(value);
}

/* The ID of a connection that has ended does not exist, and the next connection has another one. */
static void conn__that_has_ended(void **state)
{
	static const char *const commands[] = {"/weir/conn", "/weir/calls"};
	json_int_t old[2], new[2];

	(void)state;
	find_conns(&old[0], &old[1]);
	weir_conn_close(pair.conn);
	pair_until(&pair, &pair.closed, 1);
	pair_until(&pair, &pair.server_closed, 1);
	pair_settle(&pair);
	for (int i = 0; i < 4; i++) {
		json_t *gone = ask_about(commands[i / 2], old[i % 2]);
		char error[64];

		snprintf(error, sizeof(error), "there is no connection %lld",
			 (long long)old[i % 2]);
		assert_string_equal(text(gone, "error"), error);
		json_decref(gone);
	}
	pair_connect(&pair);
	find_conns(&new[0], &new[1]);
	for (int i = 0; i < 4; i++)
		assert_true(new[i / 2] > old[i % 2]);
}

static void calls__of_both_sides(void **state)
{
	static const char *const states[] = {"sent", "handling"};
	struct outcome outcome;
	json_int_t ids[2];

	(void)state;
	find_conns(&ids[0], &ids[1]);
	(void)pair_hold(&pair, &outcome);
	for (int i = 0; i < 2; i++) {
		json_t *value = ask_about("/weir/calls", ids[i]), *call;

		assert_int_equal(number(value, "total"), 1);
		call = json_object_get(json_object_get(value, "calls"), "0");
		assert_string_equal(text(call, "state"), states[i]);
		assert_string_equal(text(call, "waits_for"),
				    i == 0 ? "the reply" : "the reply of the program");
		assert_int_equal(number(call, "prog"), PAIR_PROG);
		assert_int_equal(number(call, "proc"), PAIR_LATER);
		assert_int_equal(strlen(text(call, "xid")), 10);
		json_decref(value);
	}
	pair_release_later(&pair);
	pair_until(&pair, &outcome.done, 1);
	pair_settle(&pair);
	for (int i = 0; i < 2; i++) {
		json_t *value = ask_about("/weir/calls", ids[i]);

		assert_int_equal(number(value, "total"), 0);
		json_decref(value);
	}
}

static void histogram__of_each_procedure(void **state)
{
	json_t *all, *entry, *value;
	char request[96];
	size_t i;

	(void)state;
	all = client_ask(&client, &pair, "/weir/histogram");
	assert_int_equal(json_array_size(all), 1 + PAIR_NPROCS);
	json_array_foreach(all, i, entry)
	{
		bool is_requester = strncmp(json_string_value(entry), "requester/", 10) == 0;

		snprintf(request, sizeof(request), "/weir/histogram,%s", json_string_value(entry));
		value = client_ask(&client, &pair, request);
		assert_int_equal(number(value, "count"), i <= 1 ? 1 : 0);
		assert_true(number(value, "p50_ns") <= number(value, "max_ns"));
		assert_int_equal(
			number(json_object_get(value, is_requester ? "sent" : "handled"), "count"),
			i <= 1 ? 1 : 0);
		assert_int_equal(json_object_get(value, "credit") != NULL, is_requester);
		if (is_requester)
			assert_int_equal(number(json_object_get(value, "credit"), "count"), 1);
		json_decref(value);
	}
	json_decref(all);
	snprintf(request, sizeof(request), "/weir/histogram,requester/%u/%u/77", PAIR_PROG,
		 PAIR_VERS);
	value = client_ask(&client, &pair, request);
	assert_string_equal(text(value, "error"), "no engine that answered measures this "
						  "procedure; 0 did not answer");
	json_decref(value);
}

static void memory__of_each_engine(void **state)
{
	json_t *all = client_ask(&client, &pair, "/weir/memory"), *entry;
	const char *id;

	(void)state;
	assert_int_equal(json_object_size(all), 2);
	json_object_foreach(all, id, entry)
	{
		json_t *one = ask_about("/weir/memory", atoll(id));
		json_int_t sum = 0;
		const char *name;
		json_t *pool;

		json_object_foreach(one, name, pool) if (json_is_object(pool)) sum +=
			number(pool, "bytes");
		assert_int_equal(sum, number(entry, "pool_bytes"));
		assert_int_equal(number(entry, "regions"), 1);
		assert_int_equal(number(json_object_get(one, "send"), "buffers"), 128);
		json_decref(one);
	}
	json_decref(all);
}

static void profile__has_each_key(void **state)
{
	json_t *all = client_ask(&client, &pair, "/weir/engines"), *one;
	const char *id = json_object_iter_key(json_object_iter(all));
	char line[2000];
	uint32_t nkeys = 0;

	(void)state;
	one = ask_about("/weir/profile", atoll(id));
	while (weir_profile_key_help(nkeys, line, sizeof(line)) == 0)
		nkeys++;
	assert_int_equal(json_object_size(one), nkeys);
	assert_string_equal(text(one, "engine/driver"), "shm");
	assert_string_equal(text(one, "engine/telemetry"), "on");
	assert_string_equal(text(one, "connection/credits"), "16");
	assert_string_equal(text(one, "connection/inline_bytes"), "4k");
	json_decref(one);
	json_decref(all);
	one = client_ask(&client, &pair, "/weir/profile");
	assert_string_equal(text(one, "error"),
			    "there are 2 engines: name one of /weir/engines after a comma");
	json_decref(one);
}

static void parameters__that_are_malformed(void **state)
{
	static const char *const commands[] = {"engines",   "conns",   "conn",
					       "calls",	    "memory",  "profile",
					       "histogram", "buckets", "capture"};
	static const char *const bad[] = {
		"0",
		"-1",
		"+1",
		" 1",
		"1x",
		"1,2",
		"0x1",
		"1.5",
		"%s%n",
		"99999999999999999999999",
		"responder/1/2",
		"responder/1/2/3/4",
		"requester/+1/2/3",
		"nobody/1/2/3",
		"requester/4294967297/2/3",
		"\"}",
	};

	(void)state;
	for (size_t c = 0; c < sizeof(commands) / sizeof(commands[0]); c++) {
		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
			char request[128];
			json_t *value;

			snprintf(request, sizeof(request), "/weir/%s,%s", commands[c], bad[i]);
			value = client_ask(&client, &pair, request);
			assert_non_null(strstr(text(value, "error"), " is not "));
			json_decref(value);
		}
	}
}

static void parameters__that_are_long_or_missing(void **state)
{
	static const char *const without[] = {"/weir/conn", "/weir/conn,"};
	char request[1000];
	json_t *value;

	(void)state;
	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		value = client_ask(&client, &pair, without[i]);
		assert_string_equal(text(value, "error"), "'' is not the ID of a connection");
		json_decref(value);
	}
	memset(request, '7', sizeof(request));
	memcpy(request, "/weir/conn,", 11);
	request[sizeof(request) - 1] = '\0';
	value = client_ask(&client, &pair, request);
	assert_non_null(strstr(text(value, "error"), "is not the ID of a connection"));
	json_decref(value);
}

static void engines__that_do_not_exist(void **state)
{
	static const char *const commands[] = {"/weir/engines", "/weir/memory", "/weir/profile"};

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		json_t *value = ask_about(commands[i], 1000000);

		assert_string_equal(text(value, "error"), "there is no engine 1000000");
		json_decref(value);
	}
}

#define MANY_CONNS 60u /* each of them has two sides */
#define MANY_CALLS 60u
#define LIST_CONNS 96u
#define LIST_CALLS 48u

static void many_conns(struct weir_profile *profile)
{
	with_telemetry(profile);
	profile->connections = 2 * MANY_CONNS;
	profile->credits = 1;
	profile->recv_buffers = 512;
}

static void many_calls(struct weir_profile *profile)
{
	with_telemetry(profile);
	profile->credits = MANY_CALLS;
	profile->recv_buffers = 256;
}

static void conns__more_than_a_list_holds(void **state)
{
	json_t *value, *list, *entry;
	json_int_t highest = 0;
	const char *id;

	(void)state;
	pair_start(&pair, many_conns);
	for (uint32_t i = 0; i < MANY_CONNS; i++)
		pair_connect(&pair);
	client_open(&client);
	value = client_ask(&client, &pair, "/weir/conns");
	list = json_object_get(value, "conns");
	assert_int_equal(number(value, "total"), 2 * MANY_CONNS);
	assert_int_equal(json_object_size(list), LIST_CONNS);
	json_object_foreach(list, id, entry)
	{
		assert_true(atoll(id) > highest);
		highest = atoll(id);
	}
	json_decref(value);
	value = ask_about("/weir/conns", highest);
	list = json_object_get(value, "conns");
	assert_int_equal(json_object_size(list), 2 * MANY_CONNS - LIST_CONNS);
	json_object_foreach(list, id, entry) assert_true(atoll(id) > highest);
	json_decref(value);
	stop(state);
}

static void calls__more_than_a_list_holds(void **state)
{
	static struct outcome outcomes[MANY_CALLS];
	json_int_t ids[2], oldest;

	(void)state;
	pair_start(&pair, many_calls);
	pair_connect(&pair);
	client_open(&client);
	find_conns(&ids[0], &ids[1]);
	/* The reply to the first call grants credits for the others. */
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcomes[0]);
	for (uint32_t i = 0; i < MANY_CALLS; i++)
		pair_submit(&pair, pair.conn, PAIR_LATER, i, &outcomes[i]);
	pair_until_later(&pair, MANY_CALLS);
	for (int i = 0; i < 2; i++) {
		json_t *value = ask_about("/weir/calls", ids[i]);
		json_t *list = json_object_get(value, "calls");

		assert_int_equal(number(value, "total"), MANY_CALLS);
		assert_int_equal(json_object_size(list), LIST_CALLS);
		oldest = number(json_object_get(list, "0"), "age_ns");
		assert_true(number(json_object_get(list, "47"), "age_ns") <= oldest);
		json_decref(value);
	}
	pair_release_later(&pair);
	for (uint32_t i = 0; i < MANY_CALLS; i++)
		pair_until(&pair, &outcomes[i].done, 1);
	pair_settle(&pair);
	stop(state);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(commands__are_listed_and_have_a_help_text, start,
						stop),
		cmocka_unit_test_setup_teardown(engines__with_their_counters, start, stop),
		cmocka_unit_test_setup_teardown(conn__describes_both_sides, start, stop),
		cmocka_unit_test_setup_teardown(conns__after_an_id, start, stop),
		cmocka_unit_test_setup_teardown(conn__that_has_ended, start, stop),
		cmocka_unit_test_setup_teardown(calls__of_both_sides, start, stop),
		cmocka_unit_test_setup_teardown(histogram__of_each_procedure, start, stop),
		cmocka_unit_test_setup_teardown(memory__of_each_engine, start, stop),
		cmocka_unit_test_setup_teardown(profile__has_each_key, start, stop),
		cmocka_unit_test_setup_teardown(parameters__that_are_malformed, start, stop),
		cmocka_unit_test_setup_teardown(parameters__that_are_long_or_missing, start, stop),
		cmocka_unit_test_setup_teardown(engines__that_do_not_exist, start, stop),
		cmocka_unit_test(conns__more_than_a_list_holds),
		cmocka_unit_test(calls__more_than_a_list_holds),
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
