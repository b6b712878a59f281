/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of functions that a program calls in a callback. Those that end something work as
 * documented in each kind of callback. To poll or to destroy the engine of the callback is refused
 * and changes nothing.
 */
#include "pair_main.h"

#include <errno.h>
#include <string.h>

#include <weir/log.h>

#include "pair_memory.h"

#define DESTROY_LINES 10 /* log lines about weir_engine_destroy(), per process */

enum place { IN_DONE, IN_HANDLER, IN_EVENT, IN_POSTED, IN_SENT, NPLACES };

static struct pair pair;
static struct outcome held, trigger;
static struct weir_call *held_call;
/* what the next callback does, with its engine; NULL: nothing */
static void (*act)(struct weir_engine *engine);
static int nacts;
static struct weir_conn *own; /* a connection whose events run 'act' */
static int own_closed;
static int npoll_lines, ndestroy_lines; /* in all tests of the process */
static struct weir_region *extra;

static void count_line(void *arg, enum weir_log_level level, enum weir_log_category category,
		       const char *line)
{
	(void)arg, (void)level, (void)category;
	npoll_lines += strstr(line, "weir_engine_poll() was called in a callback") != NULL;
	ndestroy_lines += strstr(line, "weir_engine_destroy() was called in a callback") != NULL;
}

/* ---- callbacks ---- */

static void run_act(struct weir_engine *engine)
{
	void (*fn)(struct weir_engine *) = act;

	if (!fn)
		return;
	act = NULL;
	nacts++;
	fn(engine);
}

static void in_done(struct outcome *outcome, struct weir_call *call,
		    const struct weir_result *result)
{
	(void)outcome, (void)call, (void)result;
	run_act(pair.client);
}

static void in_handler(struct pair *its)
{
	run_act(its->server);
}

static void in_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct weir_engine *engine = weir_conn_engine(conn);

	(void)error, (void)arg;
	if (event == WEIR_CONN_CLOSED) {
		own = NULL;
		own_closed++;
	}
	run_act(engine);
}

static void in_posted(struct weir_engine *engine, void *arg)
{
	(void)arg;
	run_act(engine);
}

static void in_sent(void *arg)
{
	run_act(arg);
}

/* ---- the ways to make a callback run ---- */

static struct weir_call *submit(struct weir_conn *conn, uint32_t proc, struct outcome *outcome)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(outcome, &pair);
	outcome->check = in_done;
	params = pair_params(proc, outcome);
	call = weir_call_begin(conn, &params);
	assert_non_null(call);
	if (proc == PAIR_LATER)
		weir_xdr_put_u32(weir_call_args(call), 41);
	assert_int_equal(weir_call_submit(call), 0);
	return call;
}

static struct weir_conn *connect_own(struct weir_engine *engine)
{
	const struct weir_connect_options options = {.struct_bytes = sizeof(options),
						     .on_event = in_event};

	assert_int_equal(weir_connect(engine, pair.addr, &options, &own), 0);
	return own;
}

/* Runs 'fn' once in a callback of the given kind. */
static void run_in(enum place place, void (*fn)(struct weir_engine *engine))
{
	nacts = 0;
	act = fn;
	if (place == IN_DONE) {
		submit(pair.conn, PAIR_NULL, &trigger);
	} else if (place == IN_HANDLER) {
		pair.on_later = in_handler;
		submit(pair.conn, PAIR_LATER, &trigger);
	} else if (place == IN_EVENT) {
		connect_own(pair.client);
	} else if (place == IN_POSTED) {
		assert_int_equal(weir_engine_post(pair.client, in_posted, NULL), 0);
	} else {
		/* The reply to the held call can be sent here, outside weir_engine_poll(). */
		weir_request_on_sent(pair.later[0], in_sent, pair.server);
		weir_request_reply_error(pair.later[0], WEIR_RPC_SYSTEM_ERR);
		pair.later[0] = pair.later[--pair.nlater];
	}
	pair_until(&pair, &nacts, 1);
	pair_settle(&pair);
	assert_int_equal(nacts, 1);
}

static void setup(void)
{
	pair_start(&pair, NULL);
	act = NULL;
	own = NULL;
	own_closed = 0;
	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &trigger); /* its reply grants more credits */
	memset(&trigger, 0, sizeof(trigger));
	held_call = submit(pair.conn, PAIR_LATER, &held);
	pair_until_later(&pair, 1);
}

static void expect_works(void)
{
	struct outcome outcome;

	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
}

/* ---- what is refused ---- */

static void poll_and_destroy(struct weir_engine *engine)
{
	uint64_t now_ns = weir_engine_now(engine);

	for (uint32_t i = 0; i < 3; i++) {
		errno = 0;
		assert_int_equal(weir_engine_poll(engine, 0, now_ns + 1000), 0);
		assert_int_equal(errno, EDEADLK);
		errno = 0;
		weir_engine_destroy(engine);
		assert_int_equal(errno, EDEADLK);
	}
	assert_true(weir_engine_now(engine) == now_ns);
}

static void callback__refuses_to_poll_and_to_destroy(void **state)
{
	(void)state;
	assert_int_equal(weir_log_set(count_line, NULL, WEIR_LOG_ERROR), 0);
	for (uint32_t place = 0; place < NPLACES; place++) {
		setup();
		run_in(place, poll_and_destroy);
		expect_works();
		assert_int_equal(pair.closed + pair.server_closed, 0);
		pair_stop(&pair);
	}
	assert_int_equal(weir_log_set(NULL, NULL, WEIR_LOG_OFF), 0);
	assert_int_equal(npoll_lines, 1);
	assert_int_equal(ndestroy_lines, DESTROY_LINES);
}

static int nending; /* callbacks that ran in weir_engine_destroy() */

static void again_in_posted(struct weir_engine *engine, void *arg)
{
	(void)arg;
	nending++;
	poll_and_destroy(engine);
}

static void again_in_event(struct weir_engine *engine)
{
	nending++;
	poll_and_destroy(engine);
}

static void again_in_done(struct outcome *outcome, struct weir_call *call,
			  const struct weir_result *result)
{
	(void)call;
	assert_int_equal(result->status, -ECONNABORTED);
	nending++;
	poll_and_destroy(outcome->arg);
}

static void destroy__refuses_in_its_own_callbacks(void **state)
{
	struct weir_profile profile;
	struct weir_engine *third;
	int server_opened;

	(void)state;
	setup();
	profile = pair.profile;
	assert_int_equal(weir_engine_create(&profile, &third), 0);
	server_opened = pair.server_opened;
	connect_own(third);
	for (uint32_t i = 0; !weir_conn_is_open(own) && pair_wait(&pair, i); i++) {
		pair_poll(&pair);
		weir_engine_poll(third, 0, pair.now_ns + 1);
	}
	pair_until(&pair, &pair.server_opened, server_opened + 1);
	submit(own, PAIR_LATER, &trigger);
	trigger.check = again_in_done;
	trigger.arg = third;
	act = again_in_event;
	nending = 0;
	assert_int_equal(weir_engine_post(third, again_in_posted, NULL), 0);
	weir_engine_destroy(third);
	assert_int_equal(nending, 3);
	assert_int_equal(trigger.done, 1);
	assert_int_equal(own_closed, 1);
	expect_works();
	pair_stop(&pair);
}

/* ---- what works ---- */

static void close_conns(struct weir_engine *engine)
{
	weir_conn_close(engine == pair.client ? pair.conn : pair.server_conn);
	if (own)
		weir_conn_close(own);
}

static void reset_conn(struct weir_engine *engine)
{
	weir_conn_reset(engine == pair.client ? pair.conn : pair.server_conn);
}

/* Runs 'end' in each kind of callback, and checks that the connection and its calls end once. */
static void end_conn(void (*end)(struct weir_engine *engine))
{
	for (uint32_t place = 0; place < NPLACES; place++) {
		bool is_server = place == IN_HANDLER || place == IN_SENT;

		setup();
		run_in(place, end);
		pair_until(&pair, &pair.closed, 1);
		pair_settle(&pair);
		assert_int_equal(pair.closed, 1);
		assert_int_equal(held.done, 1);
		assert_int_equal(trigger.done, place == IN_DONE || place == IN_HANDLER);
		if (is_server)
			assert_int_equal(pair.server_close_error, -ECONNABORTED);
		else
			assert_int_equal(held.status, -ECONNABORTED);
		assert_int_equal(pair.close_error == -ECONNABORTED, !is_server);
		if (place == IN_EVENT)
			assert_int_equal(own_closed, end == close_conns);
		pair_stop(&pair);
	}
}

static void callback__closes_connections(void **state)
{
	(void)state;
	end_conn(close_conns);
}

static void callback__resets_the_connection(void **state)
{
	(void)state;
	end_conn(reset_conn);
}

static void close_listener(struct weir_engine *engine)
{
	(void)engine;
	weir_listener_close(pair.listener);
	pair.listener = NULL;
}

static void callback__closes_the_listener(void **state)
{
	(void)state;
	for (uint32_t place = 0; place < NPLACES; place++) {
		const struct weir_connect_options options = {.struct_bytes = sizeof(options),
							     .on_event = in_event};
		int closed;

		setup();
		run_in(place, close_listener);
		expect_works();
		closed = own_closed;
		if (weir_connect(pair.client, pair.addr, &options, &own) == 0)
			pair_until(&pair, &own_closed, closed + 1);
		assert_int_equal(pair.closed, 0);
		pair_stop(&pair);
	}
}

static void cancel_held(struct weir_engine *engine)
{
	(void)engine;
	assert_int_equal(weir_call_cancel(held_call), 0);
	assert_int_equal(weir_call_cancel(held_call), -EINVAL);
	assert_int_equal(held.done, 0);
}

static void callback__cancels_a_call(void **state)
{
	(void)state;
	/* In the last kind of callback, the held call ends by its reply. */
	for (uint32_t place = 0; place < IN_SENT; place++) {
		setup();
		run_in(place, cancel_held);
		pair_until(&pair, &held.done, 1);
		pair_settle(&pair);
		assert_int_equal(held.done, 1);
		assert_int_equal(held.status, -ECANCELED);
		expect_works();
		assert_int_equal(pair.closed, 0);
		pair_stop(&pair);
	}
}

static void remove_extra(struct weir_engine *engine)
{
	weir_engine_remove_region(engine, extra);
}

static void callback__removes_a_region(void **state)
{
	(void)state;
	for (uint32_t place = 0; place < NPLACES; place++) {
		bool is_server = place == IN_HANDLER || place == IN_SENT;
		struct weir_call_params params;
		struct weir_call *call;
		uint8_t *mem;

		setup();
		mem = pair_memory_make(is_server ? pair.server : pair.client, false, &extra);
		run_in(place, remove_extra);
		params = pair_params(PAIR_WRITE, &trigger);
		call = weir_call_begin(pair.conn, &params);
		assert_int_equal(weir_call_arg_item(call, extra, mem, 8), -EINVAL);
		weir_call_abandon(call);
		pair_memory_end(extra); /* no engine has the region any more */
		expect_works();
		pair_stop(&pair);
	}
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callback__refuses_to_poll_and_to_destroy),
		cmocka_unit_test(destroy__refuses_in_its_own_callbacks),
		cmocka_unit_test(callback__closes_connections),
		cmocka_unit_test(callback__resets_the_connection),
		cmocka_unit_test(callback__closes_the_listener),
		cmocka_unit_test(callback__cancels_a_call),
		cmocka_unit_test(callback__removes_a_region),
	};

	return cmocka_run_group_tests_name("in_callbacks", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
