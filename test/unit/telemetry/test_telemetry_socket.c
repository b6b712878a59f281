/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests telemetry with engines that are silent or end, and with clients that misbehave. */
#include "pair.h"

#include <dirent.h>
#include <sched.h>
#include <sys/stat.h>

#include "client.h"
#include "helper.h"

#define REQUESTS 300u
#define CLIENTS	 16u /* more than the 10 that rte_telemetry serves at a time */

static struct pair pair;
static struct client client;

static void with_telemetry(struct weir_profile *profile)
{
	profile->telemetry = WEIR_TELEMETRY_ON;
}

static void without_telemetry(struct weir_profile *profile)
{
	profile->telemetry = WEIR_TELEMETRY_OFF;
}

static int start(void **state)
{
	(void)state;
	pair_start(&pair, with_telemetry);
	pair_connect(&pair);
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

/* Asks while only the client's engine of the pair is polled. */
static json_t *ask_half(const char *request)
{
	client_begin(&client, request);
	while (!atomic_load(&client.has_ended)) {
		pair_pass(&pair);
		weir_engine_poll(pair.client, 0, pair.now_ns);
	}
	return client_end(&client);
}

/* Returns the "state" of each of the two engines in the list, which must have both. */
static void states_of(json_t *all, const char *states[2], long long ids[2])
{
	const char *id;
	json_t *entry;
	int n = 0;

	assert_int_equal(json_object_size(all), 2);
	json_object_foreach(all, id, entry)
	{
		ids[n] = atoll(id);
		states[n++] = json_string_value(json_object_get(entry, "state"));
	}
}

static const char *error_of(json_t *value)
{
	const char *error = json_string_value(json_object_get(value, "error"));

	if (!error)
		fail_msg("no error in %s", client.answer);
	return error;
}

static void engine__that_is_not_polled(void **state)
{
	const char *states[2];
	char request[64], error[128];
	long long ids[2];
	json_t *value;

	(void)state;
	value = ask_half("/weir/engines");
	states_of(value, states, ids); /* in the order of creation: the client's engine is first */
	assert_string_equal(states[0], "polled");
	assert_string_equal(states[1], "not polled");
	json_decref(value);
	snprintf(request, sizeof(request), "/weir/profile,%lld", ids[1]);
	value = ask_half(request);
	snprintf(error, sizeof(error),
		 "engine %lld did not answer within 1000 ms: its thread does not poll", ids[1]);
	assert_string_equal(error_of(value), error);
	json_decref(value);
	value = ask_half("/weir/conn,999999");
	assert_string_equal(error_of(value), "there is no connection 999999 in the engines that "
					     "answered; 1 did not within 1000 ms");
	json_decref(value);
	value = client_ask(&client, &pair, "/weir/engines");
	states_of(value, states, ids);
	assert_string_equal(states[1], "polled");
	json_decref(value);
}

static void engine__that_is_destroyed_during_a_request(void **state)
{
	struct weir_engine *engine;
	const char *id = NULL, *last;
	char request[64];
	json_t *value, *entry;

	(void)state;
	for (int i = 0; i < 5; i++) {
		assert_int_equal(weir_engine_create(&pair.profile, &engine), 0);
		client_begin(&client, "/weir/engines");
		while (!atomic_load(&client.has_ended)) {
			pair_poll(&pair);
			weir_engine_poll(engine, 0, pair.now_ns);
		}
		value = client_end(&client);
		json_object_foreach(value, last, entry) id = last;
		snprintf(request, sizeof(request), "/weir/memory,%s", id);
		json_decref(value);
		client_begin(&client, request);
		weir_engine_destroy(engine);
		value = client_end(&client);
		assert_true(json_object_get(value, "send") != NULL ||
			    strstr(error_of(value), "there is no engine ") != NULL);
		json_decref(value);
	}
}

static void engine__with_telemetry_off(void **state)
{
	struct weir_profile profile = pair.profile;
	struct weir_engine *engine;
	json_t *value;

	(void)state;
	without_telemetry(&profile);
	assert_int_equal(weir_engine_create(&profile, &engine), 0);
	value = client_ask(&client, &pair, "/weir/engines");
	assert_int_equal(json_object_size(value), 2);
	json_decref(value);
	weir_engine_destroy(engine);
}

static void requests__many_while_engines_come_and_go(void **state)
{
	static const char *const requests[] = {
		"/weir/engines", "/weir/conns",	    "/weir/conn,1",    "/weir/calls,2",
		"/weir/memory",	 "/weir/profile,3", "/weir/histogram", "/weir/engines,2",
	};

	(void)state;
	for (uint32_t i = 0; i < REQUESTS; i++) {
		struct weir_engine *engine;

		client_begin(&client, requests[i % 8]);
		assert_int_equal(weir_engine_create(&pair.profile, &engine), 0);
		weir_engine_poll(engine, 0, pair.now_ns);
		pair_poll(&pair);
		weir_engine_destroy(engine);
		while (!atomic_load(&client.has_ended))
			pair_poll(&pair);
		json_decref(client_end(&client));
	}
}

static void clients__that_leave_and_too_many_of_them(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fds[CLIENTS];

	(void)state;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/dpdk/rte/dpdk_telemetry.v2",
		 client_folder);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		fds[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(fds[i], (struct sockaddr *)&address, sizeof(address)), 0);
	}
	/* They close with a request in progress, and without having read. */
	for (uint32_t i = 0; i < CLIENTS; i++) {
		(void)!send(fds[i], "/weir/engines", 13, MSG_NOSIGNAL);
		close(fds[i]);
	}
	json_decref(client_ask(&client, &pair, "/weir/engines"));
}

static void socket__is_in_a_folder_of_this_user(void **state)
{
	static const char *const names[] = {"dpdk", "dpdk/rte"};
	struct stat st;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%s", client_folder, names[i]);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0700);
		assert_int_equal(st.st_uid, geteuid());
	}
}

/* Returns how many threads of telemetry may run on the CPU. */
static int threads_on(size_t cpu)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	int n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		char path[300], name[32] = "";
		cpu_set_t set;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fgets(name, sizeof(name), file) && strncmp(name, "telemetry-v2", 12) == 0 &&
		    sched_getaffinity(atoi(entry->d_name), sizeof(set), &set) == 0)
			n += CPU_ISSET(cpu, &set) != 0;
		fclose(file);
	}
	closedir(dir);
	return n;
}

static void threads__keep_off_pinned_cpus(void **state)
{
	cpu_set_t all, one;
	size_t cpu = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	if (CPU_COUNT(&all) < 2)
		skip();
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	/* the thread that listens, and that of the client */
	assert_int_equal(threads_on(cpu), 2);
	helper_keep_off(&one);
	assert_int_equal(threads_on(cpu), 0);
	json_decref(client_ask(&client, &pair, "/weir/engines"));
	helper_allow(&one);
	assert_int_equal(threads_on(cpu), 2);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(threads__keep_off_pinned_cpus, start, stop),
		cmocka_unit_test_setup_teardown(engine__that_is_not_polled, start, stop),
		cmocka_unit_test_setup_teardown(engine__that_is_destroyed_during_a_request, start,
						stop),
		cmocka_unit_test_setup_teardown(engine__with_telemetry_off, start, stop),
		cmocka_unit_test_setup_teardown(requests__many_while_engines_come_and_go, start,
						stop),
		cmocka_unit_test_setup_teardown(clients__that_leave_and_too_many_of_them, start,
						stop),
		cmocka_unit_test_setup_teardown(socket__is_in_a_folder_of_this_user, start, stop),
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
