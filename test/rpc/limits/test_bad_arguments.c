/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of arguments that public functions refuse: each call returns the error of the function's
 * description and changes nothing. test_struct_bytes.c has the sizes of structures, and
 * test_wrong_thread.c the threads.
 */
#include "pair_main.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include <weir/memory.h>

#include "pair_memory.h"
#include "pair_program.h"

#define REGIONS	     48u
#define ENGINES	     64u
#define PROGRAMS_MAX 8u
#define ITEMS	     8u

static struct pair pair;
static struct outcome later; /* of a call that the server's program holds */

static void two_connections(struct weir_profile *profile)
{
	profile->connections = 2;
}

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, two_connections);
	pair_connect(&pair);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	(void)conn, (void)event, (void)error, (void)arg;
}

static void connect__refuses(void **state)
{
	struct weir_connect_options options = {.struct_bytes = sizeof(options),
					       .on_event = on_event};
	char addr[200];
	struct weir_conn *conn = NULL, *second = NULL;
	int rc;

	(void)state;
	assert_int_equal(weir_connect(pair.client, NULL, &options, &conn), -EINVAL);
	memset(addr, 'a', sizeof(addr) - 1);
	addr[sizeof(addr) - 1] = '\0';
	assert_int_equal(weir_connect(pair.client, addr, &options, &conn), -EINVAL);
	options.credits = pair.profile.credits + 1;
	assert_int_equal(weir_connect(pair.client, pair.addr, &options, &conn), -EINVAL);
	options.credits = 0;
	assert_null(conn);
	/* The profile allows two connections, of which one exists. */
	assert_int_equal(weir_connect(pair.client, pair.addr, &options, &second), 0);
	assert_int_equal(weir_connect(pair.client, pair.addr, &options, &conn), -EBUSY);
	assert_null(conn);
	weir_conn_close(second);
	pair_settle(&pair);
	rc = weir_connect(pair.client, pair.addr, &options, &second);
	assert_int_equal(rc, 0);
	weir_conn_close(second);
	pair_settle(&pair);
}

static void handle(struct weir_request *req, void *arg)
{
	(void)arg;
	weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
}

static void listen__refuses(void **state)
{
	struct weir_program programs[PROGRAMS_MAX + 1];
	struct weir_engine *engines[ENGINES + 1];
	struct weir_listen_options options = {
		.struct_bytes = sizeof(options), .programs = programs, .nprograms = 1};
	struct weir_listener *listener = NULL;
	char addr[64];

	(void)state;
	for (uint32_t i = 0; i < PROGRAMS_MAX + 1; i++)
		programs[i] = (struct weir_program){.struct_bytes = sizeof(programs[i]),
						    .prog = PAIR_PROG + i,
						    .vers_low = 1,
						    .vers_high = 1,
						    .nprocs = 1,
						    .handle = handle};
	for (uint32_t i = 0; i < ENGINES + 1; i++)
		engines[i] = pair.server;
	pair_new_addr(addr, sizeof(addr));
	assert_int_equal(weir_listen(pair.server, NULL, &options, &listener), -EINVAL);
	assert_int_equal(weir_listen(pair.server, addr, NULL, &listener), -EINVAL);
	options.nprograms = 0;
	assert_int_equal(weir_listen(pair.server, addr, &options, &listener), -EINVAL);
	options.nprograms = PROGRAMS_MAX + 1;
	assert_int_equal(weir_listen(pair.server, addr, &options, &listener), -EINVAL);
	options.nprograms = PROGRAMS_MAX;
	options.engines = engines;
	options.nengines = ENGINES + 1;
	assert_int_equal(weir_listen(pair.server, addr, &options, &listener), -EINVAL);
	options.nengines = 0;
	options.engines = NULL;
	assert_int_equal(weir_listen(pair.server, pair.addr, &options, &listener), -EADDRINUSE);
	assert_null(listener);
	assert_int_equal(weir_listen(pair.server, addr, &options, &listener), 0);
	weir_listener_close(listener);
	pair_settle(&pair);
}

static void add_region__has_a_limit(void **state)
{
	const struct weir_region_options options = {
		.struct_bytes = sizeof(options), .len_bytes = 4096, .numa_node = -1};
	struct weir_region *regions[REGIONS];
	uint32_t n = 0;
	int rc;

	(void)state;
	/* The engine has one region already. */
	for (; n < REGIONS; n++) {
		assert_int_equal(weir_region_create(&options, &regions[n]), 0);
		rc = weir_engine_add_region(pair.client, regions[n]);
		if (n < REGIONS - 1)
			assert_int_equal(rc, 0);
		else
			assert_int_equal(rc, -ENOSPC);
	}
	for (uint32_t i = 0; i < n; i++) {
		weir_engine_remove_region(pair.client, regions[i]);
		weir_region_destroy(regions[i]);
	}
}

static void engine_fd__needs_a_descriptor(void **state)
{
	struct rlimit before, limit;
	int rc;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	rc = weir_engine_fd(pair.client);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(rc, -EMFILE);
	assert_true(weir_engine_fd(pair.client) >= 0);
}

static void engine_create__has_a_limit(void **state)
{
	struct weir_engine *engines[ENGINES];
	struct weir_profile profile = pair.profile;
	uint32_t n = 0;
	int rc = 0;

	(void)state;
	profile.long_buffers = profile.bulk_buffers = 1;
	while (n < ENGINES && (rc = weir_engine_create(&profile, &engines[n])) == 0)
		n++;
	assert_int_equal(rc, -EBUSY);
	assert_int_equal(n, ENGINES - 2); /* the pair has two */
	while (n > 0)
		weir_engine_destroy(engines[--n]);
	assert_int_equal(weir_engine_create(&profile, &engines[0]), 0);
	weir_engine_destroy(engines[0]);
}

static void results__refuse(void **state)
{
	struct weir_request *req = pair_hold(&pair, &later);
	struct weir_region *foreign;
	uint8_t *mem = pair_memory_make(pair.client, false, &foreign);

	(void)state;
	/* No call of weir_request_results() has returned NULL. */
	assert_int_equal(weir_request_retry_when_buffers(req), -EMSGSIZE);
	assert_non_null(weir_request_results(req, 4096));
	assert_int_equal(weir_request_result_item(req, foreign, mem, 8), -EINVAL);
	assert_int_equal(weir_request_result_item(req, pair.server_region,
						  pair.server_mem + pair.mem_bytes - 4, 8),
			 -EINVAL);
	for (uint32_t i = 0; i < ITEMS; i++)
		assert_int_equal(
			weir_request_result_item(req, pair.server_region, pair.server_mem, 8), 0);
	assert_int_equal(weir_request_result_item(req, pair.server_region, pair.server_mem, 8),
			 -E2BIG);
	assert_int_equal(weir_request_result_absent(req), -E2BIG);
	weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
	pair.nlater = 0;
	pair_until(&pair, &later.done, 1);
	weir_engine_remove_region(pair.client, foreign);
	pair_memory_end(foreign);
}

/* A request outlives its engine. Nothing can be done with it but to free it. */
static void results__end_with_the_engine(void **state)
{
	struct weir_request *req = pair_hold(&pair, &later);

	(void)state;
	weir_listener_close(pair.listener);
	weir_engine_destroy(pair.server);
	assert_null(weir_request_engine(req));
	assert_null(weir_request_conn(req));
	errno = 0;
	assert_null(weir_request_results(req, 4));
	assert_int_equal(weir_request_retry_when_buffers(req), -ENOTCONN);
	weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
	pair.nlater = 0;
	pair_memory_end(pair.server_region);
	pair_server_start(&pair);
	pair_until(&pair, &later.done, 1);
	assert_true(later.status < 0);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(connect__refuses, setup, teardown),
		cmocka_unit_test_setup_teardown(listen__refuses, setup, teardown),
		cmocka_unit_test_setup_teardown(add_region__has_a_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(engine_fd__needs_a_descriptor, setup, teardown),
		cmocka_unit_test_setup_teardown(engine_create__has_a_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(results__refuse, setup, teardown),
		cmocka_unit_test_setup_teardown(results__end_with_the_engine, setup, teardown),
	};

	return cmocka_run_group_tests_name("bad_arguments", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
