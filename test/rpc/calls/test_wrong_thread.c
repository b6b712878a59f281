/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of calls from a thread that does not own the engine, in a build with checks of threads.
 * Each function says so and changes nothing, and the owner's engines still work.
 */
#include "pair.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <weir/inspect.h>
#include <weir/latency.h>
#include <weir/log.h>
#include <weir/metrics.h>

#include "pair_main.h"

#define WRONG_MAX 64u

static struct pair pair;
static struct weir_call *begun;		/* a call that is not yet submitted */
static struct outcome later;		/* of a call that the server's program holds */
static _Atomic uint32_t nlines;		/* log lines about a wrong thread */
static const char *accepted[WRONG_MAX]; /* functions that did not refuse */
static uint32_t naccepted, ntried;
static struct weir_engine *idle_engine;

static void count_line(void *arg, enum weir_log_level level, enum weir_log_category category,
		       const char *line)
{
	(void)arg, (void)level, (void)category;
	if (strstr(line, "owns the engine"))
		nlines++;
}

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

/* Notes whether a function refused. errno is set in any case, and is cleared for the next one. */
static void note(const char *function, bool has_refused)
{
	ntried++;
	if ((!has_refused || errno != EPERM) && naccepted < WRONG_MAX)
		accepted[naccepted++] = function;
	errno = 0;
}

#define ERROR(call)	note(#call, (call) == -EPERM)
#define NOTHING(call)	note(#call, !(call))
#define NO_RESULT(call) ((call), note(#call, true))

static void try_engines(void)
{
	uint64_t values[4], timeout_ns;

	NOTHING(weir_engine_poll(pair.client, 0, pair.now_ns + 1));
	NOTHING(weir_engine_now(pair.client));
	ERROR(weir_engine_set_clock(pair.client, NULL, NULL));
	ERROR(weir_engine_fd(pair.client));
	ERROR(weir_engine_arm(pair.client, pair.now_ns, &timeout_ns));
	NO_RESULT(weir_engine_disarm(pair.client));
	NO_RESULT(weir_engine_idle(pair.client, 0, pair.now_ns));
	NO_RESULT(weir_engine_idle_until(pair.client, 0, pair.now_ns, pair.now_ns + 1));
	NO_RESULT(weir_engine_disown(pair.client));
	ERROR(weir_engine_add_region(pair.client, pair.client_region));
	NO_RESULT(weir_engine_remove_region(pair.client, pair.client_region));
	NOTHING(weir_engine_counter(pair.client, 0));
	NOTHING(weir_engine_counters(pair.client, values, 4));
	NOTHING(weir_engine_conns(pair.client, NULL, 0));
	NOTHING(weir_engine_calls(pair.client, NULL, 0));
	NOTHING(weir_engine_requests(pair.server, NULL, 0));
	NO_RESULT(weir_engine_destroy(pair.client));
}

static void try_connections(void)
{
	struct weir_listen_options listen = {.struct_bytes = sizeof(listen)};
	struct weir_peer peer = {.struct_bytes = sizeof(peer)};
	struct weir_listener *listener;
	struct weir_conn *conn;

	ERROR(weir_connect(pair.client, pair.addr, NULL, &conn));
	ERROR(weir_listen(pair.server, "weir-test-wrong", &listen, &listener));
	NO_RESULT(weir_listener_close(pair.listener));
	NOTHING(weir_conn_is_open(pair.conn));
	NOTHING(weir_conn_version(pair.conn));
	NOTHING(weir_conn_send_inline(pair.conn));
	NOTHING(weir_conn_recv_inline(pair.conn));
	ERROR(weir_conn_peer(pair.conn, &peer));
	NO_RESULT(weir_conn_shutdown(pair.conn));
	NO_RESULT(weir_conn_reset(pair.conn));
	NO_RESULT(weir_conn_close(pair.conn));
}

static void try_calls(void)
{
	const struct weir_result result = {0};
	struct weir_call_params params;
	struct outcome outcome;
	const void *data;
	uint32_t len;

	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_NULL, &outcome);
	NOTHING(weir_call_begin(pair.conn, &params));
	NOTHING(weir_call_reuse(begun, pair.conn));
	NOTHING(weir_call_args(begun));
	ERROR(weir_call_arg_item(begun, pair.client_region, pair.client_mem, 8));
	ERROR(weir_call_result_item(begun, pair.client_region, pair.client_mem, 8));
	ERROR(weir_call_operation(begun));
	ERROR(weir_call_submit(begun));
	ERROR(weir_call_cancel(begun));
	NO_RESULT(weir_call_abandon(begun));
	NOTHING(weir_call_retransmits(begun));
	ERROR(weir_result_opaque(begun, &result, 0, &data, 8, &len));
}

static void try_requests(void)
{
	struct weir_request *req = pair.later[0];

	NOTHING(weir_request_conn(req));
	NOTHING(weir_request_args(req));
	NOTHING(weir_request_results(req, 8));
	ERROR(weir_request_retry_when_buffers(req));
	NO_RESULT(weir_request_release_args(req));
	NOTHING(weir_request_args_released(req));
	ERROR(weir_request_result_item(req, pair.server_region, pair.server_mem, 8));
	ERROR(weir_request_result_absent(req));
	NO_RESULT(weir_request_operation(req, 0));
	NO_RESULT(weir_request_on_sent(req, NULL, NULL));
	NO_RESULT(weir_request_skip_replay_cache(req));
	NO_RESULT(weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR));
	NO_RESULT(weir_request_reply_denied(req, WEIR_RPC_AUTH_TOOWEAK));
	NO_RESULT(weir_request_reply(req));
}

static void *try_each(void *arg)
{
	errno = 0;
	try_engines();
	try_connections();
	try_calls();
	try_requests();
	return arg;
}

static void on_other_thread(void *(*body)(void *))
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, body, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void wrong_thread__each_function_refuses(void **state)
{
	struct weir_call_params params;
	struct outcome outcome;

	(void)state;
	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_ECHO, &outcome);
	begun = weir_call_begin(pair.conn, &params);
	assert_non_null(begun);
	assert_int_equal(weir_log_set(count_line, NULL, WEIR_LOG_ERROR), 0);
	on_other_thread(try_each);
	assert_int_equal(weir_log_set(NULL, NULL, WEIR_LOG_OFF), 0);
	for (uint32_t i = 0; i < naccepted; i++)
		print_error("did not refuse: %s\n", accepted[i]);
	assert_int_equal(naccepted, 0);
	assert_true(ntried > 45);
	assert_int_equal(nlines, 10);

	/* Nothing has changed for the owner. */
	weir_xdr_put_opaque(weir_call_args(begun), "data", 4);
	assert_int_equal(weir_call_submit(begun), 0);
	pair_until(&pair, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	pair_release_later(&pair);
	pair_until(&pair, &later.done, 1);
	assert_int_equal(later.status, 0);
	assert_int_equal(pair.closed, 0);
	assert_int_equal(pair.server_closed, 0);
}

static void *poll_idle_engine(void *arg)
{
	errno = 0;
	weir_engine_poll(idle_engine, 0, 1);
	note("weir_engine_poll", errno == EPERM);
	return arg;
}

static void create_idle_engine(void)
{
	struct weir_profile profile = pair.profile;

	assert_int_equal(weir_engine_create(&profile, &idle_engine), 0);
	naccepted = ntried = 0;
}

/* The owner lets another thread have the engine. */
static void wrong_thread__the_owner_disowns(void **state)
{
	(void)state;
	create_idle_engine();
	weir_engine_poll(idle_engine, 0, 1);
	on_other_thread(poll_idle_engine);
	assert_int_equal(naccepted, 0); /* it was refused */
	weir_engine_disown(idle_engine);
	on_other_thread(poll_idle_engine);
	assert_int_equal(naccepted, 1); /* it was not refused any more */
	pair_release_later(&pair);
	pair_until(&pair, &later.done, 1);
	weir_engine_destroy(idle_engine);
}

/* After the owner has ended, any thread can destroy the engine. */
static void wrong_thread__the_owner_ends(void **state)
{
	(void)state;
	create_idle_engine();
	on_other_thread(poll_idle_engine);
	assert_int_equal(naccepted, 1);
	errno = 0;
	weir_engine_poll(idle_engine, 0, 2);
	assert_int_not_equal(errno, EPERM);
	assert_int_equal(weir_engine_now(idle_engine), 2);
	pair_release_later(&pair);
	pair_until(&pair, &later.done, 1);
	weir_engine_destroy(idle_engine);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(wrong_thread__each_function_refuses, setup,
						teardown),
		cmocka_unit_test_setup_teardown(wrong_thread__the_owner_disowns, setup, teardown),
		cmocka_unit_test_setup_teardown(wrong_thread__the_owner_ends, setup, teardown),
	};

	return cmocka_run_group_tests_name("wrong_thread", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
