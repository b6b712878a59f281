/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of calls with a repeat match (request_fast.c), made to several listeners alternately. Each
 * call must reach the program of its own listener, even in these cases:
 * - The program table has the address of a table that was freed.
 * - Another program used the request object of the previous call.
 */
#include "pair_main.h"

#include <string.h>

#include "direct_ops.h"

#define VERS	   3u
#define NPROCS	   3u
#define ROUNDS	   20u
#define CALLS	   12u
#define ITEM_BYTES 1000u

enum deed { ANSWER, DECODE_ALL, RELEASE, SET_UP };

/* The program of a listener, and how the program behaves. */
struct service {
	uint32_t id;
	enum deed deed;
	uint32_t nwords; /* number of words in the arguments, if 'deed' is DECODE_ALL */
};

static struct pair pair;
static int nopen, nclosed;

static int setup(void **state)
{
	(void)state;
	nopen = nclosed = 0;
	pair_start(&pair, NULL);
	direct_ops_add(&pair);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static void handle(struct weir_request *req, void *arg)
{
	static const uint8_t zeros[64];
	static const struct weir_xdr_part parts[2] = {{zeros, 4, 0}, {zeros, 64, 0}};
	struct weir_xdr_in *args = weir_request_args(req);
	struct service *service = arg;
	struct weir_xdr_out *out;
	uint32_t word = 0;

	switch (service->deed) {
	case ANSWER:
		assert_int_equal(weir_xdr_get_u32(args, &word), 0);
		assert_int_equal(weir_xdr_remaining(args), 0);
		break;
	case DECODE_ALL:
		for (service->nwords = 0; weir_xdr_get_u32(args, &word) == 0;)
			service->nwords++;
		break;
	case RELEASE:
		weir_request_release_args(req);
		break;
	case SET_UP:
		weir_xdr_in_init_parts(args, parts, 2);
		assert_int_equal(weir_xdr_get_u32(args, &word), 0);
		break;
	}
	out = weir_request_results(req, 8);
	assert_non_null(out);
	weir_xdr_put_u32(out, service->id);
	weir_xdr_put_u32(out, word);
	weir_request_reply(req);
}

/*
 * Creates a listener for 'service'. If 'is_last' is set, the listener has two programs, and
 * 'service' is the second of them. Nobody calls the first.
 */
static struct weir_listener *serve(struct service *service, const char *addr, bool is_last)
{
	static struct service other = {.id = 0xdead};
	struct weir_program programs[2];
	const struct weir_listen_options options = {
		.struct_bytes = sizeof(options), .programs = programs, .nprograms = 2};
	struct weir_listener *listener;

	programs[is_last] = (struct weir_program){.struct_bytes = sizeof(struct weir_program),
						  .prog = PAIR_PROG,
						  .vers_low = VERS,
						  .vers_high = VERS,
						  .nprocs = NPROCS,
						  .handle = handle,
						  .arg = service};
	programs[!is_last] = programs[is_last];
	programs[!is_last].prog = PAIR_PROG + 1;
	programs[!is_last].arg = &other;
	assert_int_equal(weir_listen(pair.server, addr, &options, &listener), 0);
	return listener;
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	(void)conn;
	(void)error;
	(void)arg;
	nopen += event == WEIR_CONN_OPEN;
	nclosed += event == WEIR_CONN_CLOSED;
}

static struct weir_conn *connect_to(const char *addr)
{
	const struct weir_connect_options options = {.struct_bytes = sizeof(options),
						     .on_event = on_event};
	struct weir_conn *conn;
	int next = nopen + 1;

	assert_int_equal(weir_connect(pair.client, addr, &options, &conn), 0);
	pair_until(&pair, &nopen, next);
	return conn;
}

static void end(struct weir_listener *listener, struct weir_conn *conn)
{
	int next = nclosed + 1;

	weir_listener_close(listener);
	weir_conn_close(conn);
	pair_until(&pair, &nclosed, next);
	for (uint32_t i = 0; i < 50; i++) /* both sides of the connection have closed */
		pair_poll(&pair);
}

struct answer {
	int done;
	uint32_t accept_stat, id, word;
};

static void on_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct answer *answer = arg;

	(void)call;
	assert_int_equal(result->status, 0);
	answer->accept_stat = result->reply->accept_stat;
	if (answer->accept_stat == WEIR_RPC_SUCCESS) {
		assert_int_equal(weir_xdr_get_u32(result->results, &answer->id), 0);
		assert_int_equal(weir_xdr_get_u32(result->results, &answer->word), 0);
	}
	answer->done = 1;
}

/*
 * Makes a call and returns its result. If 'has_chunk' is set, the call offers a Write chunk, which
 * stays unused.
 */
static struct answer ask(struct weir_conn *conn, uint32_t proc, uint32_t word, bool has_chunk)
{
	static const struct weir_ulb_proc procs[] = {{.proc = 0, .result_items_max = 1},
						     {.proc = 1, .result_items_max = 1},
						     {.proc = 2, .result_items_max = 1}};
	static const struct weir_ulb ulb = {.struct_bytes = sizeof(ulb),
					    .name = "again",
					    .prog = PAIR_PROG,
					    .vers_low = VERS,
					    .vers_high = VERS,
					    .nprocs = 3,
					    .procs = procs};
	struct answer answer = {0};
	const struct weir_call_params params = {.struct_bytes = sizeof(params),
						.prog = PAIR_PROG,
						.vers = VERS,
						.proc = proc,
						.args_max_bytes = 4,
						.results_max_bytes = 8,
						.ulb = &ulb,
						.done = on_done,
						.arg = &answer};
	struct weir_call *call = weir_call_begin(conn, &params);

	assert_non_null(call);
	if (has_chunk)
		assert_int_equal(weir_call_result_item(call, pair.client_region, pair.client_mem,
						       ITEM_BYTES),
				 0);
	weir_xdr_put_u32(weir_call_args(call), word);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &answer.done, 1);
	return answer;
}

static void assert_answers(struct weir_conn *conn, const struct service *service)
{
	for (uint32_t i = 0; i < CALLS; i++) {
		struct answer answer = ask(conn, i % NPROCS, i, i % 4 == 3);

		assert_int_equal(answer.accept_stat, WEIR_RPC_SUCCESS);
		assert_int_equal(answer.id, service->id);
		assert_int_equal(answer.word, i);
		if (i % 5 == 4)
			assert_int_equal(ask(conn, NPROCS + i, i, false).accept_stat,
					 WEIR_RPC_PROC_UNAVAIL);
	}
}

/*
 * Checks calls to a listener whose program table was freed and allocated again. The new table is
 * often at the address of the old one.
 */
static void calls__reach_the_program_of_their_own_listener(void **state)
{
	struct service stays = {.id = 1}, first = {.id = 2}, second = {.id = 3};
	char stays_addr[64], addr[64];
	struct weir_listener *listener;
	struct weir_conn *conn;

	(void)state;
	pair_new_addr(stays_addr, sizeof(stays_addr));
	pair_new_addr(addr, sizeof(addr));
	listener = serve(&stays, stays_addr, true);
	conn = connect_to(stays_addr);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		bool is_first = round % 2 == 0;
		struct service *service = is_first ? &first : &second;
		struct weir_listener *next = serve(service, addr, is_first);
		struct weir_conn *next_conn = connect_to(addr);

		assert_answers(conn, &stays);
		assert_answers(next_conn, service);
		end(next, next_conn);
	}
	end(listener, conn);
}

static void calls__find_nothing_of_what_a_program_did_before(void **state)
{
	static const enum deed deeds[] = {SET_UP, RELEASE, DECODE_ALL, SET_UP, DECODE_ALL, ANSWER};
	struct service service = {.id = 7};
	struct weir_listener *listener;
	struct weir_conn *conn;
	char addr[64];

	(void)state;
	pair_new_addr(addr, sizeof(addr));
	listener = serve(&service, addr, false);
	conn = connect_to(addr);
	for (uint32_t round = 0; round < 60; round++) {
		bool has_chunk = round % 3 == 2;

		service.deed = deeds[round % 6];
		service.nwords = 1;
		/*
		 * Makes each call twice, because a driver can deliver every other message by
		 * upcall.
		 */
		for (uint32_t i = 0; i < 2; i++) {
			assert_int_equal(ask(conn, 0, round, has_chunk).id, service.id);
			assert_int_equal(service.nwords, 1);
		}
	}
	end(listener, conn);
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(calls__reach_the_program_of_their_own_listener),
		T(calls__find_nothing_of_what_a_program_did_before),
	};

	return cmocka_run_group_tests_name("again", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
