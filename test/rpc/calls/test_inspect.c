/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the descriptions of connections, calls and requests, and the reports about stuck calls. */
#include "pair_main.h"

#include <errno.h>
#include <string.h>

#include <weir/inspect.h>
#include <weir/log.h>

#define MS	  1000000u
#define STUCK_MS  200u
#define CREDITS	  4u
#define CALLS	  (2 * CREDITS)
#define FIRST	  8u /* calls at the start, which get more credits than the first one */
#define INFOS	  40u
#define LINES_MAX 32u

static struct pair pair;
static struct outcome outcomes[CALLS];
static struct weir_conn_info conns[INFOS];
static struct weir_call_info calls[INFOS];
static struct weir_request_info requests[INFOS];

/* The objects that the log has written since the start of the test. */
static struct {
	enum weir_log_category category;
	char text[600];
} lines[LINES_MAX];
static uint32_t nlines;

static void keep_line(void *arg, enum weir_log_level level, enum weir_log_category category,
		      const char *text)
{
	(void)arg;
	if (level != WEIR_LOG_WARNING || nlines == LINES_MAX)
		return;
	lines[nlines].category = category;
	snprintf(lines[nlines++].text, sizeof(lines[0].text), "%s", text);
}

static void few_credits(struct weir_profile *profile)
{
	profile->credits = CREDITS;
	profile->stuck_call_ms = STUCK_MS;
	profile->call_timeout_ms = 100000;
}

static void no_reports(struct weir_profile *profile)
{
	few_credits(profile);
	profile->stuck_call_ms = 0;
}

static void start(void (*change)(struct weir_profile *profile))
{
	struct outcome outcome;

	nlines = 0;
	conns[0].struct_bytes = sizeof(conns[0]);
	calls[0].struct_bytes = sizeof(calls[0]);
	requests[0].struct_bytes = sizeof(requests[0]);
	pair_start(&pair, change);
	pair_connect(&pair);
	for (uint32_t i = 0; i < FIRST; i++)
		pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	pair_settle(&pair);
	assert_int_equal(weir_log_set(keep_line, NULL, WEIR_LOG_DEBUG), 0);
}

static int setup(void **state)
{
	(void)state;
	start(few_credits);
	return 0;
}

static int setup_without_reports(void **state)
{
	(void)state;
	start(no_reports);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(weir_log_set(NULL, NULL, WEIR_LOG_OFF), 0);
	pair_stop(&pair);
	return 0;
}

/* Submits 'n' calls that the program holds, as far as credits allow. Returns how many it holds. */
static uint32_t hold(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct weir_call_params params;
		struct weir_call *call;

		outcome_init(&outcomes[i], &pair);
		params = pair_params(PAIR_LATER, &outcomes[i]);
		call = weir_call_begin(pair.conn, &params);
		assert_non_null(call);
		weir_xdr_put_u32(weir_call_args(call), i);
		assert_int_equal(weir_call_submit(call), 0);
	}
	pair_until_later(&pair, 1);
	if (n > 1)
		pair_settle(&pair);
	assert_in_range(pair.nlater, 1, n < CREDITS ? n : CREDITS);
	return pair.nlater;
}

/* Releases the calls of hold(), some of which arrive later. */
static void release(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		pair_release_later(&pair);
		while (outcomes[i].done == 0) {
			if (pair.nlater > 0)
				pair_release_later(&pair);
			pair_poll(&pair);
		}
		assert_int_equal(outcomes[i].status, 0);
	}
	pair_settle(&pair);
}

static uint32_t list_calls(void)
{
	return weir_engine_calls(pair.client, calls, INFOS);
}

static uint32_t list_requests(void)
{
	return weir_engine_requests(pair.server, requests, INFOS);
}

static void connection__is_described_on_both_sides(void **state)
{
	struct outcome outcome;

	(void)state;
	pair_pass_ms(&pair, 5);
	for (uint32_t i = 0; i < 5; i++)
		pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	pair_settle(&pair);
	assert_int_equal(weir_engine_conns(pair.client, conns, INFOS), 1);
	assert_ptr_equal(conns[0].conn, pair.conn);
	assert_int_equal(conns[0].side, WEIR_REQUESTER);
	assert_int_equal(conns[0].state, WEIR_CONN_STATE_OPEN);
	assert_int_equal(conns[0].version, weir_conn_version(pair.conn));
	assert_in_range(conns[0].send_inline_bytes, 1024, UINT32_MAX);
	assert_in_range(conns[0].recv_inline_bytes, 1024, UINT32_MAX);
	assert_in_range(conns[0].credits_granted, 1, CREDITS);
	assert_int_equal(conns[0].credits_used, 0);
	assert_int_equal(conns[0].calls_active, 0);
	assert_int_equal(conns[0].calls, FIRST + 5);
	assert_in_range(conns[0].age_ns, 5 * MS, 60000ull * MS);
	assert_true(strlen(conns[0].peer) > 0);
	assert_int_equal(weir_engine_conns(pair.server, conns, INFOS), 1);
	assert_ptr_equal(conns[0].conn, pair.server_conn);
	assert_int_equal(conns[0].side, WEIR_RESPONDER);
	assert_int_equal(conns[0].state, WEIR_CONN_STATE_OPEN);
	assert_int_equal(conns[0].calls, FIRST + 5);
	assert_int_equal(conns[0].calls_active, 0);
	assert_int_equal(list_calls(), 0);
	assert_int_equal(list_requests(), 0);
}

/* 'calls' is counted on all paths, and is not lost when ticks extend it. */
static void calls__are_counted(void **state)
{
	struct outcome outcome;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		hold(CALLS);
		release(CALLS);
		pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
		pair_pass_ms(&pair, 2);
	}
	assert_int_equal(weir_engine_conns(pair.client, conns, INFOS), 1);
	assert_int_equal(conns[0].calls, FIRST + 3 * (CALLS + 1));
	assert_int_equal(weir_engine_conns(pair.server, conns, INFOS), 1);
	assert_int_equal(conns[0].calls, FIRST + 3 * (CALLS + 1));
}

static void calls__are_described_on_both_sides(void **state)
{
	uint32_t sent = 0, queued = 0, n, held;

	(void)state;
	held = hold(CALLS);
	pair_pass_ms(&pair, 20);
	n = list_calls();
	assert_int_equal(n, CALLS);
	for (uint32_t i = 0; i < n; i++) {
		assert_ptr_equal(calls[i].conn, pair.conn);
		assert_int_equal(calls[i].struct_bytes, sizeof(calls[0]));
		assert_int_equal(calls[i].prog, PAIR_PROG);
		assert_int_equal(calls[i].vers, PAIR_VERS);
		assert_int_equal(calls[i].proc, PAIR_LATER);
		assert_int_equal(calls[i].bytes, 44);
		assert_int_equal(calls[i].retransmits, 0);
		assert_in_range(calls[i].age_ns, 20 * MS, 60000ull * MS);
		if (calls[i].state == WEIR_CALL_SENT) {
			assert_string_equal(calls[i].waits_for, "the reply");
			sent++;
		} else {
			assert_int_equal(calls[i].state, WEIR_CALL_QUEUED);
			queued += strcmp(calls[i].waits_for, "a credit") == 0;
		}
	}
	assert_int_equal(sent, held);
	assert_int_equal(queued, 1);
	weir_engine_conns(pair.client, conns, INFOS);
	assert_int_equal(conns[0].credits_used, held);
	assert_int_equal(conns[0].calls_active, CALLS);
	assert_int_equal(list_requests(), held);
	for (uint32_t i = 0; i < held; i++) {
		bool is_known = false;

		assert_ptr_equal(requests[i].conn, pair.server_conn);
		assert_int_equal(requests[i].state, WEIR_REQUEST_HANDLING);
		assert_string_equal(requests[i].waits_for, "the reply of the program");
		assert_int_equal(requests[i].prog, PAIR_PROG);
		assert_int_equal(requests[i].vers, PAIR_VERS);
		assert_int_equal(requests[i].proc, PAIR_LATER);
		assert_in_range(requests[i].bytes, 44, 200);
		assert_in_range(requests[i].age_ns, 15 * MS, 60000ull * MS);
		for (uint32_t j = 0; j < n; j++)
			is_known |= calls[j].xid == requests[i].xid;
		assert_true(is_known);
	}
	release(CALLS);
	assert_int_equal(list_calls(), 0);
	assert_int_equal(list_requests(), 0);
}

/* The application's array can be shorter, and its elements can be those of another version. */
static void arrays__have_the_size_of_the_application(void **state)
{
	struct {
		struct weir_call_info info;
		uint64_t more;
	} newer[2] = {{.info.struct_bytes = sizeof(newer[0]), .more = 4711}, {.more = 4711}};
	struct weir_call_info older = {.struct_bytes = offsetof(struct weir_call_info, xid),
				       .xid = 4711};
	struct weir_conn_info none = {.state = WEIR_CONN_STATE_DRAINING};
	uint32_t held;

	(void)state;
	held = hold(3);
	assert_int_equal(weir_engine_calls(pair.client, &newer[0].info, 2), 3);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(newer[i].info.struct_bytes, sizeof(newer[0]));
		assert_int_equal(newer[i].info.proc, PAIR_LATER);
		assert_int_equal(newer[i].more, 0);
	}
	assert_int_equal(weir_engine_calls(pair.client, &older, 1), 3);
	assert_int_equal(older.state, WEIR_CALL_SENT);
	assert_int_equal(older.xid, 4711);
	assert_int_equal(weir_engine_calls(pair.client, NULL, 0), 3);
	assert_int_equal(weir_engine_requests(pair.server, NULL, 0), held);
	assert_int_equal(weir_engine_requests(pair.client, NULL, 0), 0);
	assert_int_equal(weir_engine_calls(pair.server, NULL, 0), 0);
	assert_int_equal(weir_engine_conns(pair.server, &none, 1), 1);
	assert_int_equal(none.state, WEIR_CONN_STATE_DRAINING);
	release(3);
}

static void look_and_close(struct outcome *outcome, struct weir_call *call,
			   const struct weir_result *result)
{
	(void)call;
	(void)result;
	outcome->bytes = list_calls();
	assert_int_equal(calls[0].state, WEIR_CALL_ENDING);
	weir_conn_close(pair.conn);
	assert_int_equal(list_calls(), outcome->bytes);
	assert_int_equal(weir_engine_conns(pair.client, conns, INFOS), 1);
	assert_int_equal(conns[0].state, WEIR_CONN_STATE_ENDING);
}

/* The lists are complete also inside callbacks, which may close the connection. */
static void callback__can_look_and_close(void **state)
{
	struct weir_call_params params;
	struct weir_call *call;

	(void)state;
	outcome_init(&outcomes[0], &pair);
	outcomes[0].check = look_and_close;
	params = pair_params(PAIR_NULL, &outcomes[0]);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	assert_int_equal(list_calls(), 1);
	assert_int_equal(calls[0].state, WEIR_CALL_BUILDING);
	assert_int_equal(calls[0].age_ns, 0);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &pair.closed, 1);
	assert_int_equal(outcomes[0].bytes, 1);
	assert_int_equal(weir_engine_conns(pair.client, conns, INFOS), 0);
	assert_int_equal(list_calls(), 0);
}

/* The program still has the requests of a connection that has ended. */
static void request__without_a_connection(void **state)
{
	uint32_t held;

	(void)state;
	held = hold(2);
	weir_conn_close(pair.conn);
	pair_until(&pair, &pair.server_closed, 1);
	assert_int_equal(weir_engine_conns(pair.server, NULL, 0), 0);
	assert_int_equal(list_requests(), held);
	for (uint32_t i = 0; i < held; i++) {
		assert_null(requests[i].conn);
		assert_int_equal(requests[i].state, WEIR_REQUEST_HANDLING);
		assert_int_equal(requests[i].proc, PAIR_LATER);
	}
	pair_release_later(&pair);
	pair_settle(&pair);
	assert_int_equal(list_requests(), 0);
}

static void states__have_names(void **state)
{
	(void)state;
	assert_string_equal(weir_conn_state_name(WEIR_CONN_STATE_OPEN), "open");
	assert_string_equal(weir_conn_state_name((enum weir_conn_state)6), "unknown");
	assert_string_equal(weir_conn_state_name((enum weir_conn_state) - 1), "unknown");
	assert_string_equal(weir_call_state_name(WEIR_CALL_ENDING), "ending");
	assert_string_equal(weir_call_state_name((enum weir_call_state)7), "unknown");
	assert_string_equal(weir_request_state_name(WEIR_REQUEST_SENT), "sent");
	assert_string_equal(weir_request_state_name((enum weir_request_state)8), "unknown");
}

static uint32_t lines_of(enum weir_log_category category, const char *part)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nlines; i++)
		n += lines[i].category == category && strstr(lines[i].text, part);
	return n;
}

static void stuck_call__is_reported_once_on_each_side(void **state)
{
	char procedure[64];

	(void)state;
	snprintf(procedure, sizeof(procedure), "program %u version %u procedure %u,", PAIR_PROG,
		 PAIR_VERS, PAIR_LATER);
	for (uint32_t round = 1; round < 3; round++) {
		hold(1);
		while (list_calls() == 1 && calls[0].age_ns < STUCK_MS * MS) {
			assert_int_equal(nlines, 2 * (round - 1));
			pair_poll(&pair);
		}
		pair_pass_ms(&pair, 100);
		assert_int_equal(pair_stats(pair.client).stuck_calls, round);
		assert_int_equal(pair_stats(pair.server).stuck_calls, round);
		assert_int_equal(lines_of(WEIR_LOG_REQUESTER, procedure), round);
		assert_int_equal(lines_of(WEIR_LOG_REQUESTER, "sent, waits for the reply;"), round);
		assert_int_equal(lines_of(WEIR_LOG_RESPONDER, procedure), round);
		assert_int_equal(lines_of(WEIR_LOG_RESPONDER,
					  "handling, waits for the reply of the program"),
				 round);
		pair_pass_ms(&pair, 3 * STUCK_MS);
		assert_int_equal(nlines, 2 * round);
		release(1);
	}
	assert_int_equal(pair_stats(pair.client).stuck_calls, 2);
}

/* All are counted. Five lines in a second are written by each engine. */
static void stuck_calls__are_limited_in_rate(void **state)
{
	uint32_t held;

	(void)state;
	held = hold(CALLS);
	pair_pass_ms(&pair, STUCK_MS + 50);
	assert_int_equal(pair_stats(pair.client).stuck_calls, CALLS);
	assert_int_equal(pair_stats(pair.server).stuck_calls, held);
	assert_int_equal(lines_of(WEIR_LOG_REQUESTER, "call 0x"), 5);
	assert_int_equal(lines_of(WEIR_LOG_RESPONDER, "request 0x"), held);
	assert_int_equal(pair_stats(pair.client).log_lines_left_out, CALLS - 5);
	release(CALLS);
}

static void stuck_calls__are_not_reported_if_that_is_off(void **state)
{
	(void)state;
	hold(1);
	pair_pass_ms(&pair, 2 * STUCK_MS);
	assert_int_equal(nlines, 0);
	assert_int_equal(pair_stats(pair.client).stuck_calls, 0);
	release(1);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(connection__is_described_on_both_sides, setup,
						teardown),
		cmocka_unit_test_setup_teardown(calls__are_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(calls__are_described_on_both_sides, setup,
						teardown),
		cmocka_unit_test_setup_teardown(arrays__have_the_size_of_the_application, setup,
						teardown),
		cmocka_unit_test_setup_teardown(callback__can_look_and_close, setup, teardown),
		cmocka_unit_test_setup_teardown(request__without_a_connection, setup, teardown),
		cmocka_unit_test_setup_teardown(states__have_names, setup, teardown),
		cmocka_unit_test_setup_teardown(stuck_call__is_reported_once_on_each_side, setup,
						teardown),
		cmocka_unit_test_setup_teardown(stuck_calls__are_limited_in_rate, setup, teardown),
		cmocka_unit_test_setup_teardown(stuck_calls__are_not_reported_if_that_is_off,
						setup_without_reports, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
