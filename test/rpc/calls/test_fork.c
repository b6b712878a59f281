/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of fork(2) in a program that has engines. In the child, each function of the library
 * returns an error and changes nothing that belongs to the parent. The parent continues as if it
 * had not forked.
 */
#include "pair.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/inspect.h>
#include <weir/latency.h>

#include "engine.h"
#include "pair_main.h"
#include "pair_memory.h"

#define POLLS	  2000u
#define NO_ANSWER 4u

static struct pair pair;
/* a call that was begun before the fork and is not yet submitted */
static struct weir_call *begun;
static struct weir_call *long_begun; /* a second such call, which will offer a Reply chunk */
static struct outcome later;	     /* of a call that the server's program holds */
static bool is_child;
static const char *step; /* name of the test that the child runs */

static int setup(void **state)
{
	struct outcome outcome;

	(void)state;
	memset(&pair, 0, sizeof(pair));
	pair_start(&pair, NULL);
	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
	pair_hold(&pair, &later);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

/* Called in the child: ends the process with a message if a check fails. */
static void expect(bool is_right, const char *what)
{
	if (is_right)
		return;
	fprintf(stderr, "child: %s: %s\n", step, what);
	_exit(NO_ANSWER);
}

/*
 * Runs 'body' in a child process and waits until that process ends. Then makes calls in the parent,
 * to check that its engines still work.
 */
static void in_child(const char *name, void (*body)(void))
{
	struct weir_call_params params;
	struct outcome outcome;
	int status;
	pid_t pid;

	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_ECHO, &outcome);
	begun = weir_call_begin(pair.conn, &params);
	assert_non_null(begun);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		is_child = true;
		step = name;
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);

	/*
	 * The fork changed nothing for the parent: it can submit the call that was begun, the
	 * server can answer the call that it holds, and new calls succeed.
	 */
	weir_xdr_put_opaque(weir_call_args(begun), "data", 4);
	assert_int_equal(weir_call_submit(begun), 0);
	pair_until(&pair, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	pair_release_later(&pair);
	pair_until(&pair, &later.done, 1);
	assert_int_equal(later.status, 0);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(pair.closed, 0);
	assert_int_equal(pair.server_closed, 0);
}

static void nothing(struct weir_engine *engine, void *arg)
{
	(void)engine;
	(void)arg;
	expect(false, "a message of the mailbox is run");
}

static void try_each(void)
{
	const struct weir_region_options options = {
		.struct_bytes = sizeof(options), .len_bytes = 4096, .numa_node = -1};
	const struct weir_program program = {.struct_bytes = sizeof(program),
					     .prog = PAIR_PROG,
					     .vers_low = 1,
					     .vers_high = 1,
					     .nprocs = 1,
					     .handle = NULL};
	const struct weir_listen_options listen = {
		.struct_bytes = sizeof(listen), .programs = &program, .nprograms = 1};
	struct weir_call_params params;
	struct weir_listener *listener;
	struct engine_counters stats = {0};
	struct weir_region *region;
	struct weir_conn *conn;
	struct outcome outcome;

	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_NULL, &outcome);
	expect(!weir_conn_is_open(pair.conn), "weir_conn_is_open");
	errno = 0;
	expect(!weir_call_begin(pair.conn, &params) && errno == ECHILD, "weir_call_begin");
	weir_xdr_put_opaque(weir_call_args(begun), "evil", 4);
	errno = 0;
	expect(weir_call_submit(begun) == -ECHILD && errno == ECHILD, "weir_call_submit");
	expect(weir_call_cancel(begun) == -ECHILD, "weir_call_cancel");
	expect(weir_connect(pair.client, pair.addr, NULL, &conn) == -ECHILD, "weir_connect");
	expect(weir_listen(pair.server, "weir-test-fork", &listen, &listener) == -ECHILD,
	       "weir_listen");
	expect(weir_engine_post(pair.client, nothing, NULL) == -ECHILD, "weir_engine_post");
	expect(weir_region_create(&options, &region) == 0, "weir_region_create");
	expect(weir_engine_add_region(pair.client, region) == -ECHILD, "weir_engine_add_region");
	weir_region_destroy(region);
	expect(weir_engine_set_clock(pair.client, NULL, NULL) == -ECHILD, "weir_engine_set_clock");
	errno = 0;
	expect(!weir_request_results(pair.later[0], 4) && errno == ECHILD, "weir_request_results");
	expect(weir_request_retry_when_buffers(pair.later[0]) == -ECHILD,
	       "weir_request_retry_when_buffers");
	weir_request_reply_error(pair.later[0], WEIR_RPC_SYSTEM_ERR);
	errno = 0;
	expect(weir_engine_poll(pair.client, 0, pair.now_ns) == 0 && errno == ECHILD,
	       "weir_engine_poll");
	test_counters(pair.client, &stats);
	expect(stats.calls_sent > 0, "weir_engine_counters");
	errno = 0;
	expect(weir_engine_conns(pair.client, NULL, 0) == 0 && errno == ECHILD,
	       "weir_engine_conns");
	errno = 0;
	expect(weir_engine_calls(pair.client, NULL, 0) == 0 && errno == ECHILD,
	       "weir_engine_calls");
	errno = 0;
	expect(weir_engine_requests(pair.server, NULL, 0) == 0 && errno == ECHILD,
	       "weir_engine_requests");
	weir_conn_shutdown(pair.conn);
	weir_conn_reset(pair.conn);
	weir_conn_close(pair.conn);
	weir_listener_close(pair.listener);
	weir_engine_remove_region(pair.client, pair.client_region);
}

static void fork__each_function_says_so(void **state)
{
	(void)state;
	in_child("each function", try_each);
}

/*
 * Checks that the child cannot submit a call with a Reply chunk. Otherwise a long reply would be
 * written to a buffer that the child shares with its parent.
 */
static void call_long(void)
{
	errno = 0;
	expect(weir_call_submit(long_begun) == -ECHILD && errno == ECHILD, "weir_call_submit");
	expect(pair.client->long_pool->in_use == 0, "the Reply chunk has a buffer");
}

static void fork__child_takes_no_shared_buffer(void **state)
{
	struct weir_call_params params;
	struct outcome outcome;

	(void)state;
	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_NULL, &outcome);
	params.results_max_bytes = pair.client->profile.inline_bytes;
	long_begun = weir_call_begin(pair.conn, &params);
	assert_non_null(long_begun);
	in_child("calls for a long reply", call_long);
	assert_int_equal(weir_call_submit(long_begun), 0);
	pair_until(&pair, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
}

static void poll_on(void)
{
	for (uint32_t i = 0; i < POLLS; i++) {
		errno = 0;
		expect(weir_engine_poll(pair.client, 0, pair.now_ns) == 0 && errno == ECHILD,
		       "client");
		errno = 0;
		expect(weir_engine_poll(pair.server, 0, pair.now_ns) == 0 && errno == ECHILD,
		       "server");
		/* Calls that time out do so only in the parent. */
		pair.now_ns += 1000000000;
	}
	expect(later.done == 0, "a call ended");
}

static void fork__child_polls(void **state)
{
	(void)state;
	in_child("polls", poll_on);
}

static void destroy(void)
{
	weir_engine_destroy(pair.client);
	weir_engine_destroy(pair.server);
	weir_region_destroy(pair.client_region);
	weir_region_destroy(pair.server_region);
}

static void fork__child_destroys(void **state)
{
	(void)state;
	in_child("destroys", destroy);
}

static void destroy_in_child(void)
{
	if (is_child)
		destroy();
}

static void end_normally(void)
{
	exit(0); /* runs destroy_in_child() and the destructors of DPDK's EAL */
}

static void fork__child_ends_by_exit(void **state)
{
	/* atexit() was called; the program can run this test with several seeds */
	static bool is_registered;

	(void)state;
	if (!is_registered)
		atexit(destroy_in_child);
	is_registered = true;
	in_child("ends by exit", end_normally);
}

/* Creates new engines in the child and makes a call with them, which is possible after fork(). */
static void begin_anew(void)
{
	static struct pair own;
	struct outcome outcome;

	setenv("CMOCKA_TEST_ABORT", "1", 1);
	pair_start(&own, NULL);
	pair_connect(&own);
	pair_call(&own, PAIR_NULL, NULL, 0, &outcome);
	expect(outcome.status == 0, "a call of its own");
	pair_stop(&own);
}

static void fork__child_makes_engines_of_its_own(void **state)
{
	(void)state;
	in_child("makes engines", begin_anew);
}

static pid_t forked;

static void fork_in_callback(struct outcome *outcome, struct weir_call *call,
			     const struct weir_result *result)
{
	struct weir_call *next;

	(void)result;
	fflush(NULL);
	forked = fork();
	if (forked != 0)
		return;
	step = "in a callback";
	next = weir_call_reuse(call, pair.conn);
	expect(!next || weir_call_submit(next) == -ECHILD, "weir_call_reuse");
	(void)outcome;
}

/* Forks in a 'done' callback. The child then returns from the callback into weir_engine_poll(). */
static void fork__in_a_callback(void **state)
{
	struct weir_call_params params;
	struct outcome outcome;
	struct weir_call *call;
	int status;

	(void)state;
	outcome_init(&outcome, &pair);
	outcome.check = fork_in_callback;
	params = pair_params(PAIR_NULL, &outcome);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	forked = -1;
	assert_int_equal(weir_call_submit(call), 0);
	for (uint32_t i = 0; outcome.done == 0 && pair_wait(&pair, i); i++)
		pair_poll(&pair);
	if (forked == 0) {
		for (uint32_t i = 0; i < POLLS; i++)
			weir_engine_poll(pair.client, 0, pair.now_ns);
		_exit(0);
	}
	assert_true(forked > 0);
	assert_int_equal(waitpid(forked, &status, 0), forked);
	assert_int_equal(status, 0);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
	pair_release_later(&pair);
	pair_until(&pair, &later.done, 1);
	assert_int_equal(later.status, 0);
	assert_int_equal(pair.closed, 0);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(fork__each_function_says_so, setup, teardown),
		cmocka_unit_test_setup_teardown(fork__child_takes_no_shared_buffer, setup,
						teardown),
		cmocka_unit_test_setup_teardown(fork__child_polls, setup, teardown),
		cmocka_unit_test_setup_teardown(fork__child_destroys, setup, teardown),
		cmocka_unit_test_setup_teardown(fork__child_ends_by_exit, setup, teardown),
		cmocka_unit_test_setup_teardown(fork__child_makes_engines_of_its_own, setup,
						teardown),
		cmocka_unit_test_setup_teardown(fork__in_a_callback, setup, teardown),
	};

	return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
