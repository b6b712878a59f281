/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the stubs, the dispatchers and the bindings that weirgen writes: the program of stubs.x,
 * between the two engines of a pair. */
#include "pair_main.h"

#include <errno.h>

#include "stubs_server.h"

#define SHORT 100u
#define LONG  50000u

static struct pair pair;
static struct weir_listener *listener;
static struct weir_conn *conn;
static int opened;
static _Alignas(WEIR_XDR_ARENA_ALIGN) uint8_t client_arena[LIST_ARENA_BYTES];

/* How a call ended. */
struct ended {
	int done;
	int status; /* of the stub */
	uint32_t accept_stat;
	uint32_t low, high; /* of PROG_MISMATCH */
	int (*decode)(struct weir_call *call, const struct weir_result *result, void *to);
	void *to;
};

/* ---- calls ---- */

static void on_event(struct weir_conn *which, enum weir_conn_event event, int error, void *arg)
{
	(void)which;
	(void)error;
	(void)arg;
	if (event == WEIR_CONN_OPEN)
		opened++;
}

static int setup(void **state)
{
	char addr[64];
	const struct weir_connect_options connect = {.struct_bytes = sizeof(connect),
						     .on_event = on_event};
	struct weir_program programs[2];
	struct weir_listen_options listen = {
		.struct_bytes = sizeof(listen), .programs = programs, .nprograms = 2};

	(void)state;
	pair_start(&pair, NULL);
	stubs_start(&pair, programs);
	pair_new_addr(addr, sizeof(addr));
	assert_int_equal(weir_listen(pair.server, addr, &listen, &listener), 0);
	opened = 0;
	assert_int_equal(weir_connect(pair.client, addr, &connect, &conn), 0);
	pair_until(&pair, &opened, 1);
	for (uint32_t i = 0; i < LONG; i++) {
		pair.server_mem[FIRST_AT + i] = pair.client_mem[FIRST_AT + i] = pair_byte(i);
		pair.server_mem[SECOND_AT + i] = pair.client_mem[SECOND_AT + i] = pair_byte(i + 7);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	weir_listener_close(listener);
	pair_stop(&pair);
	return 0;
}

static void on_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct ended *ended = arg;

	ended->accept_stat = result->reply ? result->reply->accept_stat : 0;
	ended->low = result->reply ? result->reply->low : 0;
	ended->high = result->reply ? result->reply->high : 0;
	ended->status = ended->decode(call, result, ended->to);
	ended->done = 1;
}

static struct weir_call_params params_of(struct ended *ended)
{
	struct weir_call_params params = {
		.struct_bytes = sizeof(params), .done = on_done, .arg = ended};

	return params;
}

static int finish(struct weir_call *call, struct ended *ended)
{
	assert_non_null(call);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &ended->done, 1);
	return ended->status;
}

static int decode_null(struct weir_call *call, const struct weir_result *result, void *to)
{
	(void)to;
	return stub_null_1_results(call, result);
}

static int decode_store(struct weir_call *call, const struct weir_result *result, void *to)
{
	return stub_store_1_results(call, result, to);
}

/* Decodes the results of FETCH, and checks them as long as they are valid. */
static int decode_fetch(struct weir_call *call, const struct weir_result *result, void *to)
{
	struct fetched *results = to;
	int rc = stub_fetch_1_results(call, result, results);

	if (rc != 0 || results->status != FINE)
		return rc;
	assert_int_equal(results->parts.before, 11);
	assert_int_equal(results->parts.between, 12);
	assert_int_equal(results->parts.after, 13);
	assert_memory_equal(results->parts.first.data, pair.server_mem + FIRST_AT,
			    results->parts.first.len_bytes);
	assert_memory_equal(results->parts.second.data, pair.server_mem + SECOND_AT,
			    results->parts.second.len_bytes);
	return rc;
}

static int decode_sum(struct weir_call *call, const struct weir_result *result, void *to)
{
	struct weir_xdr_arena arena;

	weir_xdr_arena_init(&arena, client_arena, sizeof(client_arena));
	return stub_sum_1_results(call, result, &arena, to);
}

static int decode_list(struct weir_call *call, const struct weir_result *result, void *to)
{
	struct weir_xdr_arena arena;
	list *results = to;
	int32_t n = 0;
	int rc;

	weir_xdr_arena_init(&arena, client_arena, sizeof(client_arena));
	rc = stub_list_1_results(call, result, &arena, results);
	for (const struct entry *entry = rc == 0 ? *results : NULL; entry; entry = entry->next) {
		assert_int_equal(entry->key, n * n);
		assert_int_equal(entry->name.len_bytes, n % 19);
		assert_memory_equal(entry->name.data, "entries have names", entry->name.len_bytes);
		n++;
	}
	return rc == 0 ? n : rc;
}

static int decode_list_without_memory(struct weir_call *call, const struct weir_result *result,
				      void *to)
{
	struct weir_xdr_arena arena;

	weir_xdr_arena_init(&arena, client_arena, sizeof(struct entry));
	return stub_list_1_results(call, result, &arena, to);
}

static int decode_later(struct weir_call *call, const struct weir_result *result, void *to)
{
	return stub_later_1_results(call, result, to);
}

static int decode_later_2(struct weir_call *call, const struct weir_result *result, void *to)
{
	return stub_later_2_results(call, result, to);
}

static int decode_count(struct weir_call *call, const struct weir_result *result, void *to)
{
	return stub_count_1_results(call, result, to);
}

static int decode_echo(struct weir_call *call, const struct weir_result *result, void *to)
{
	return stub_echo_1_results(call, result, to);
}

/* ---- tests ---- */

static void store__items_are_decoded(void **state)
{
	(void)state;
	for (int way = 0; way < 6; way++) {
		enum verdict outcome = BROKEN;
		struct ended ended = {.decode = decode_store, .to = &outcome};
		struct weir_call_params params = params_of(&ended);
		struct pair_args args = {.before = -1, .between = -2, .after = -3};

		args.first.data = pair.client_mem + FIRST_AT;
		args.first.len_bytes = way / 2 == 0 ? SHORT + 1 : LONG;
		args.first.region = way % 2 ? pair.client_region : NULL;
		args.second.data = pair.client_mem + SECOND_AT;
		args.second.len_bytes = way / 2 == 1 ? SHORT : 3;
		args.second.region = way % 2 ? pair.client_region : NULL;
		assert_int_equal(finish(stub_store_1_begin(conn, &params, &args), &ended), 0);
		assert_int_equal(outcome, FINE);
	}
}

static void store__items_above_the_limit_are_refused(void **state)
{
	struct ended ended = {.decode = decode_store};
	struct weir_call_params params = params_of(&ended);
	struct pair_args args = {.before = -1};

	(void)state;
	args.first.data = pair.client_mem;
	args.first.len_bytes = ITEM_MAX + 1;
	args.first.region = pair.client_region;
	args.second.data = "";
	errno = 0;
	assert_null(stub_store_1_begin(conn, &params, &args));
	assert_int_equal(errno, EINVAL);
}

static void fetch(uint32_t first, uint32_t second, uint32_t nrooms, bool is_offered)
{
	struct fetched results;
	struct ended ended = {.decode = decode_fetch, .to = &results};
	struct weir_call_params params = params_of(&ended);
	struct fetch_args args = {.first_bytes = first, .second_bytes = second};
	struct weir_xdr_room rooms[2] = {
		{pair.client_region, is_offered ? pair.client_mem : NULL, ITEM_MAX},
		{pair.client_region, pair.client_mem + ITEM_MAX, ITEM_MAX},
	};

	if (nrooms == 0)
		params.results_max_bytes = STUB_FETCH_1_RESULTS_MAX_BYTES;
	assert_int_equal(finish(stub_fetch_1_begin(conn, &params, &args, rooms, nrooms), &ended),
			 0);
	assert_int_equal(results.status, FINE);
	assert_int_equal(results.parts.first.len_bytes, first);
	assert_int_equal(results.parts.second.len_bytes, second);
	/* The extension of version 2 can return short data in the message. */
	if (nrooms > 0 && is_offered && first > SHORT)
		assert_ptr_equal(results.parts.first.data, pair.client_mem);
}

static void fetch__items_go_to_the_rooms(void **state)
{
	(void)state;
	fetch(LONG, SHORT, 2, true);
	fetch(LONG - 1, LONG - 3, 2, true);
}

static void fetch__items_without_rooms_are_inline(void **state)
{
	(void)state;
	fetch(SHORT, 13, 0, true);
	fetch(SHORT, 14, 1, true);
	fetch(SHORT, LONG, 2, false);
}

static void fetch__items_without_region_are_copied(void **state)
{
	(void)state;
	stubs.is_copied = true;
	fetch(SHORT, 13, 0, true);
}

static void fetch__other_arm_has_no_items(void **state)
{
	struct fetched results;
	struct ended ended = {.decode = decode_fetch, .to = &results};
	struct weir_call_params params = params_of(&ended);
	struct fetch_args args = {.first_bytes = ITEM_MAX + 1};

	(void)state;
	assert_int_equal(finish(stub_fetch_1_begin(conn, &params, &args, NULL, 0), &ended), 0);
	assert_int_equal(results.status, BROKEN);
	assert_int_equal(results.reason.len_bytes, 14);
}

static void sum__arrays_are_in_the_arena(void **state)
{
	int32_t items[50];
	struct summary results;
	struct ended ended = {.decode = decode_sum, .to = &results};
	struct weir_call_params params = params_of(&ended);
	struct numbers args = {.len = 50, .items = items};

	(void)state;
	for (int32_t i = 0; i < 50; i++)
		items[i] = 1000 - 50 * i;
	assert_int_equal(finish(stub_sum_1_begin(conn, &params, &args), &ended), 0);
	assert_int_equal(results.sum, 50 * 1000 - 50 * 49 * 25);
	assert_int_equal(results.count, 50);
	assert_int_equal(results.copies.len, 50);
	assert_memory_equal(results.copies.items, items, sizeof(items));
	args.len = 51;
	assert_null(stub_sum_1_begin(conn, &params, &args));
	assert_int_equal(errno, EINVAL);
}

static void sum__arena_that_is_too_small_is_a_system_error(void **state)
{
	int32_t items[50] = {0};
	struct summary results;
	struct ended ended = {.decode = decode_sum, .to = &results};
	struct weir_call_params params = params_of(&ended);
	struct numbers args = {.len = 50, .items = items};

	(void)state;
	stubs.v1.memory_bytes = 192;
	assert_int_equal(finish(stub_sum_1_begin(conn, &params, &args), &ended), -EPROTO);
	assert_int_equal(ended.accept_stat, WEIR_RPC_SYSTEM_ERR);
	args.len = 48;
	ended.done = 0;
	assert_int_equal(finish(stub_sum_1_begin(conn, &params, &args), &ended), 0);
}

static void list__entries_are_in_the_arena(void **state)
{
	(void)state;
	for (int32_t n = 0; n <= 30; n += 5) {
		list results;
		struct ended ended = {.decode = decode_list, .to = &results};
		struct weir_call_params params = params_of(&ended);

		assert_int_equal(finish(stub_list_1_begin(conn, &params, &n), &ended), n);
	}
}

static void list__arena_that_is_too_small_is_an_error(void **state)
{
	list results;
	struct ended ended = {.decode = decode_list_without_memory, .to = &results};
	struct weir_call_params params = params_of(&ended);
	int32_t n = 2;

	(void)state;
	assert_int_equal(finish(stub_list_1_begin(conn, &params, &n), &ended), -ENOMEM);
}

static void later__reply_comes_after_the_handler(void **state)
{
	int32_t results = 0, sum;
	struct ended ended = {.decode = decode_later, .to = &results};
	struct weir_call_params params = params_of(&ended);
	struct stub_later_1_arguments args = {.arg1 = 5, .arg2 = -7};

	(void)state;
	stubs.later = NULL;
	assert_int_equal(weir_call_submit(stub_later_1_begin(conn, &params, &args)), 0);
	while (!stubs.later)
		pair_poll(&pair);
	assert_int_equal(ended.done, 0);
	sum = stubs.later_sum;
	assert_int_equal(stub_later_1_reply(stubs.later, &sum), 0);
	pair_until(&pair, &ended.done, 1);
	assert_int_equal(ended.status, 0);
	assert_int_equal(results, -2);
}

static void version__handlers_are_those_of_the_version(void **state)
{
	int32_t results = 0, args = 5;
	struct ended ended = {.decode = decode_later_2, .to = &results};
	struct weir_call_params params = params_of(&ended);

	(void)state;
	assert_int_equal(finish(stub_later_2_begin(conn, &params, &args), &ended), 0);
	assert_int_equal(results, 6);
}

static void handler__none_answers_null(void **state)
{
	struct ended ended = {.decode = decode_null};
	struct weir_call_params params = params_of(&ended);

	(void)state;
	assert_int_equal(finish(stub_null_1_begin(conn, &params), &ended), 0);
}

/* Makes a call without stubs. Returns its accept_stat. */
static uint32_t call_raw(uint32_t vers, uint32_t proc, uint32_t nwords)
{
	struct ended ended = {.decode = decode_null};
	struct weir_call_params params = params_of(&ended);
	struct weir_call *call;

	params.prog = STUB_PROGRAM;
	params.vers = vers;
	params.proc = proc;
	call = weir_call_begin(conn, &params);
	assert_non_null(call);
	for (uint32_t i = 0; i < nwords; i++)
		weir_xdr_put_u32(weir_call_args(call), UINT32_MAX);
	assert_int_equal(finish(call, &ended), -EPROTO);
	if (ended.accept_stat == WEIR_RPC_PROG_MISMATCH) {
		assert_int_equal(ended.low, STUB_V1);
		assert_int_equal(ended.high, STUB_V2);
	}
	return ended.accept_stat;
}

static void handler__none_is_proc_unavail(void **state)
{
	(void)state;
	assert_int_equal(call_raw(STUB_V1, STUB_ABSENT, 1), WEIR_RPC_PROC_UNAVAIL);
	assert_int_equal(call_raw(STUB_V1, 6, 1), WEIR_RPC_PROC_UNAVAIL);
	assert_int_equal(call_raw(STUB_V2, STUB_COUNT, 1), WEIR_RPC_PROC_UNAVAIL);
	assert_int_equal(call_raw(3, STUB_NULL, 1), WEIR_RPC_PROG_MISMATCH);
}

static void args__malformed_are_garbage_args(void **state)
{
	(void)state;
	assert_int_equal(call_raw(STUB_V1, STUB_STORE, 5), WEIR_RPC_GARBAGE_ARGS);
	assert_int_equal(call_raw(STUB_V1, STUB_FETCH, 1), WEIR_RPC_GARBAGE_ARGS);
	assert_int_equal(call_raw(STUB_V1, STUB_SUM, 4), WEIR_RPC_GARBAGE_ARGS);
	assert_int_equal(call_raw(STUB_V1, STUB_LATER, 2), WEIR_RPC_GARBAGE_ARGS);
}

static void count__calls_are_not_idempotent(void **state)
{
	struct weir_program program = stub_v1_program(&stubs.v1);
	int32_t results = 0;
	struct ended ended = {.decode = decode_count, .to = &results};
	struct weir_call_params params = params_of(&ended);

	(void)state;
	assert_int_equal(program.nprocs, 10);
	for (uint32_t proc = 0; proc < program.nprocs; proc++)
		assert_int_equal(program.non_idempotent[proc], proc == STUB_COUNT);
	assert_null(stub_v2_program(&stubs.v2).non_idempotent);
	stubs.ncounted = 0;
	assert_int_equal(finish(stub_count_1_begin(conn, &params), &ended), 0);
	assert_int_equal(results, 1);
}

static void echo__sizes_above_the_annotation_are_refused(void **state)
{
	opaque_text results;
	struct ended ended = {.decode = decode_echo, .to = &results};
	struct weir_call_params params = params_of(&ended);
	opaque_text args = {pair.client_mem, 3996};

	(void)state;
	assert_int_equal(finish(stub_echo_1_begin(conn, &params, &args), &ended), 0);
	assert_int_equal(results.len_bytes, 3996);
	args.len_bytes = 3997;
	assert_null(stub_echo_1_begin(conn, &params, &args));
	assert_int_equal(errno, EINVAL);
	args.len_bytes = 1;
	ended.done = 0;
	assert_int_equal(finish(stub_echo_1_begin(conn, &params, &args), &ended), -EPROTO);
	assert_int_equal(stubs.reply_error, -ENOSPC);
}

/* A chain of calls, each of which reuses the one before. */
struct chain {
	uint32_t round;
	int done;
};

static void on_chain(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct chain *chain = arg;
	struct fetch_args args = {.first_bytes = SHORT + chain->round};
	struct weir_xdr_room room = {pair.client_region, pair.client_mem, ITEM_MAX};
	struct fetched results;

	assert_int_equal(stub_fetch_1_results(call, result, &results), 0);
	assert_int_equal(results.parts.first.len_bytes, SHORT + chain->round - 1);
	assert_memory_equal(results.parts.first.data, pair.server_mem + FIRST_AT,
			    results.parts.first.len_bytes);
	if (++chain->round > 20) {
		chain->done = 1;
		return;
	}
	call = stub_fetch_1_reuse(call, conn, &args, &room, 1);
	assert_non_null(call);
	assert_int_equal(weir_call_submit(call), 0);
}

static void reuse__next_call_has_its_own_arguments(void **state)
{
	struct chain chain = {.round = 1};
	struct weir_call_params params = {
		.struct_bytes = sizeof(params), .done = on_chain, .arg = &chain};
	struct fetch_args args = {.first_bytes = SHORT};
	struct weir_xdr_room room = {pair.client_region, pair.client_mem, ITEM_MAX};
	struct weir_call *call = stub_fetch_1_begin(conn, &params, &args, &room, 1);

	(void)state;
	assert_non_null(call);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &chain.done, 1);
}

static void begin__room_that_is_invalid_is_an_error(void **state)
{
	struct ended ended = {.decode = decode_fetch};
	struct weir_call_params params = params_of(&ended);
	struct fetch_args args = {.first_bytes = SHORT};
	struct weir_xdr_room rooms[3] = {{NULL, NULL, 0}, {NULL, NULL, 0}, {NULL, NULL, 0}};

	(void)state;
	errno = 0;
	assert_null(stub_fetch_1_begin(conn, &params, &args, rooms, 3));
	assert_int_equal(errno, E2BIG);
}

static void names__are_those_of_the_procedures(void **state)
{
	(void)state;
	assert_string_equal(stub_v1_proc_name(STUB_STORE), "STUB_STORE");
	assert_string_equal(stub_v1_proc_name(6), "?");
	assert_string_equal(stub_v2_proc_name(STUB_STORE), "?");
	assert_string_equal(stub_v1_ulb.name, "STUB_PROGRAM version 1");
	assert_int_equal(weir_ulb_find(&stub_v1_ulb, STUB_STORE)->arg_items_max, 2);
	assert_int_equal(weir_ulb_find(&stub_v1_ulb, STUB_FETCH)->result_items_max, 2);
	assert_int_equal(weir_ulb_find(&stub_v1_ulb, STUB_SUM)->result_items_max, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		TEST(store__items_are_decoded),
		TEST(store__items_above_the_limit_are_refused),
		TEST(fetch__items_go_to_the_rooms),
		TEST(fetch__items_without_rooms_are_inline),
		TEST(fetch__items_without_region_are_copied),
		TEST(fetch__other_arm_has_no_items),
		TEST(sum__arrays_are_in_the_arena),
		TEST(sum__arena_that_is_too_small_is_a_system_error),
		TEST(list__entries_are_in_the_arena),
		TEST(list__arena_that_is_too_small_is_an_error),
		TEST(later__reply_comes_after_the_handler),
		TEST(version__handlers_are_those_of_the_version),
		TEST(handler__none_answers_null),
		TEST(handler__none_is_proc_unavail),
		TEST(args__malformed_are_garbage_args),
		TEST(count__calls_are_not_idempotent),
		TEST(echo__sizes_above_the_annotation_are_refused),
		TEST(reuse__next_call_has_its_own_arguments),
		TEST(begin__room_that_is_invalid_is_an_error),
		TEST(names__are_those_of_the_procedures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
