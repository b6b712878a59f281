/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls and replies of each form, from end to end. */
#include "pair_main.h"

#include <errno.h>
#include <string.h>

static struct pair pair;

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, NULL);
	pair_connect(&pair);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static void call__null_has_no_results(void **state)
{
	struct outcome outcome;

	(void)state;
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.reply.accept_stat, WEIR_RPC_SUCCESS);
	assert_int_equal(outcome.nwords, 0);
	assert_int_equal(pair.handled, 1);
}

static void call__accept_states_arrive(void **state)
{
	struct outcome outcome;

	(void)state;
	pair_call(&pair, PAIR_GARBAGE, NULL, 0, &outcome);
	assert_int_equal(outcome.reply.accept_stat, WEIR_RPC_GARBAGE_ARGS);
	pair_call(&pair, PAIR_FAIL, NULL, 0, &outcome);
	assert_int_equal(outcome.reply.accept_stat, WEIR_RPC_SYSTEM_ERR);
	pair_call(&pair, PAIR_NPROCS, NULL, 0, &outcome);
	assert_int_equal(outcome.reply.accept_stat, WEIR_RPC_PROC_UNAVAIL);
	assert_int_equal(outcome.status, 0);
}

static void call__denied_reply_says_why(void **state)
{
	struct outcome outcome;

	(void)state;
	pair_call(&pair, PAIR_DENY, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.reply.reply_stat, WEIR_RPC_MSG_DENIED);
	assert_int_equal(outcome.reply.reject_stat, WEIR_RPC_AUTH_ERROR);
	assert_int_equal(outcome.reply.auth_stat, WEIR_RPC_AUTH_TOOWEAK);
}

static void call_as(uint32_t prog, uint32_t vers, struct outcome *outcome)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(outcome, &pair);
	params = pair_params(PAIR_NULL, outcome);
	params.prog = prog;
	params.vers = vers;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &outcome->done, 1);
}

static void call__program_and_version_are_checked(void **state)
{
	struct outcome outcome;

	(void)state;
	call_as(PAIR_PROG + 1, PAIR_VERS, &outcome);
	assert_int_equal(outcome.reply.accept_stat, WEIR_RPC_PROG_UNAVAIL);
	call_as(PAIR_PROG, PAIR_VERS + 1, &outcome);
	assert_int_equal(outcome.reply.accept_stat, WEIR_RPC_PROG_MISMATCH);
	assert_int_equal(outcome.reply.low, PAIR_VERS);
	assert_int_equal(outcome.reply.high, PAIR_VERS);
	assert_int_equal(pair.handled, 0);
}

static void call__results_over_the_handlers_bound_are_a_system_error(void **state)
{
	struct outcome outcome;

	(void)state;
	pair_call(&pair, PAIR_OVERRUN, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.reply.accept_stat, WEIR_RPC_SYSTEM_ERR);
}

static void call__reply_may_come_later_and_out_of_order(void **state)
{
	struct outcome later, now;
	struct weir_call_params params;
	struct weir_call *call;

	(void)state;
	outcome_init(&later, &pair);
	params = pair_params(PAIR_LATER, &later);
	call = weir_call_begin(pair.conn, &params);
	weir_xdr_put_u32(weir_call_args(call), 41);
	assert_int_equal(weir_call_submit(call), 0);
	/* The requester has one credit until the first reply arrives (RFC 8166 section 3.3.3).
	 * Therefore the second call waits for that reply. */
	pair_settle(&pair);
	assert_int_equal(pair.nlater, 1);
	pair_release_later(&pair);
	pair_until(&pair, &later.done, 1);
	assert_int_equal(later.words[0], 42);

	outcome_init(&later, &pair);
	params = pair_params(PAIR_LATER, &later);
	call = weir_call_begin(pair.conn, &params);
	weir_xdr_put_u32(weir_call_args(call), 1);
	assert_int_equal(weir_call_submit(call), 0);
	pair_call(&pair, PAIR_NULL, NULL, 0, &now);
	assert_int_equal(later.done, 0);
	pair_release_later(&pair);
	pair_until(&pair, &later.done, 1);
	assert_int_equal(later.words[0], 2);
}

static void check_multi(struct outcome *outcome, struct weir_call *call,
			const struct weir_result *result)
{
	const uint32_t *len = outcome->arg;
	uint32_t a = 0, b = 0, c = 0, got[2];
	const void *data[2];

	assert_int_equal(result->status, 0);
	assert_int_equal(result->reply->accept_stat, WEIR_RPC_SUCCESS);
	weir_xdr_get_u32(result->results, &a);
	assert_int_equal(weir_result_opaque(call, result, 0, &data[0], 1u << 20, &got[0]), 0);
	weir_xdr_get_u32(result->results, &c);
	assert_int_equal(weir_result_opaque(call, result, 1, &data[1], 1u << 20, &got[1]), 0);
	weir_xdr_get_u32(result->results, &b);
	assert_false(result->results->failed);
	assert_int_equal(weir_xdr_remaining(result->results), 0);
	assert_int_equal(a, 0xa);
	assert_int_equal(b, 0xb);
	assert_int_equal(c, 0xc);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(got[i], len[i]);
		assert_memory_equal(data[i], pair.client_mem + (size_t)i * (1u << 20), len[i]);
	}
}

static void multi(uint32_t len0, uint32_t len1, bool first_inline)
{
	uint32_t len[2] = {len0, len1};
	struct weir_call_params params;
	struct outcome outcome;
	struct weir_call *call;

	outcome_init(&outcome, &pair);
	outcome.check = check_multi;
	outcome.arg = len;
	params = pair_params(PAIR_MULTI, &outcome);
	if (first_inline)
		params.results_max_bytes = 64 + len0;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	for (uint32_t i = 0; i < len0; i++)
		pair.client_mem[i] = pair_byte(i + 1);
	for (uint32_t i = 0; i < len1; i++)
		pair.client_mem[(1u << 20) + i] = pair_byte(i + 2);
	weir_xdr_put_u32(weir_call_args(call), 0xa);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, len0), 0);
	weir_xdr_put_u32(weir_call_args(call), 0xb);
	assert_int_equal(
		weir_call_arg_item(call, pair.client_region, pair.client_mem + (1u << 20), len1),
		0);
	weir_xdr_put_u32(weir_call_args(call), 0xc);
	assert_int_equal(weir_call_result_item(call, pair.client_region,
					       first_inline ? NULL : pair.client_mem + (2u << 20),
					       len0 ? len0 : 4),
			 0);
	assert_int_equal(weir_call_result_item(call, pair.client_region,
					       pair.client_mem + (3u << 20), len1 ? len1 : 4),
			 0);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &outcome.done, 1);
}

static void call__3_4_5_arguments_before_between_and_after_read_chunks(void **state)
{
	static const uint32_t lengths[] = {0, 1, 2, 3, 4, 5, 7, 8, 1000, 1023, 4096, 4099, 70001};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (size_t j = 0; j < sizeof(lengths) / sizeof(lengths[0]); j++)
			multi(lengths[i], lengths[j], false);
	assert_int_equal(pair.closed, 0);
}

static void call__4_3_2_an_empty_write_chunk_asks_for_the_item_inline(void **state)
{
	(void)state;
	multi(100, 5000, true);
	multi(3001, 5003, true);
	/* the inline result does not fit the reply, so that the Reply chunk is used */
	multi(20000, 3, true);
	assert_int_equal(pair.closed, 0);
}

static void check_absent(struct outcome *outcome, struct weir_call *call,
			 const struct weir_result *result)
{
	uint32_t a = 0, c = 0, got = 0;
	const void *data = NULL;

	(void)outcome;
	assert_int_equal(result->status, 0);
	assert_int_equal(result->reply->accept_stat, WEIR_RPC_SUCCESS);
	weir_xdr_get_u32(result->results, &a);
	assert_int_equal(a, PAIR_ABSENT);
	/* The first operation returned no data, and therefore the results contain no count word for
	 * them. */
	weir_xdr_get_u32(result->results, &c);
	assert_int_equal(c, 0xc);
	assert_int_equal(weir_result_opaque(call, result, 1, &data, 1u << 20, &got), 0);
	assert_int_equal(got, 2000);
	assert_memory_equal(data, pair.client_mem + 5000, 2000);
	assert_int_equal(result->nitems, 2);
	assert_int_equal(result->item_bytes[0], 0);
	assert_int_equal(result->item_bytes[1],
			 pair_extension & WEIR_EXTENSION_PLACEMENT ? WEIR_ITEM_INLINE : 2000);
}

/* Checks RFC 8267: an operation that fails leaves its Write chunk unused, and the next operation
 * uses the next chunk. */
static void call__an_absent_item_leaves_its_write_chunk_unused(void **state)
{
	struct weir_call_params params;
	struct outcome outcome;
	struct weir_call *call;

	(void)state;
	outcome_init(&outcome, &pair);
	outcome.check = check_absent;
	params = pair_params(PAIR_MULTI, &outcome);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	for (uint32_t i = 0; i < 7000; i++)
		pair.client_mem[i] = pair_byte(i);
	memset(pair.client_mem + 8192, 0x5a, 4096);
	weir_xdr_put_u32(weir_call_args(call), PAIR_ABSENT);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, 5000), 0);
	weir_xdr_put_u32(weir_call_args(call), 0xb);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem + 5000, 2000),
			 0);
	weir_xdr_put_u32(weir_call_args(call), 0xc);
	assert_int_equal(
		weir_call_result_item(call, pair.client_region, pair.client_mem + 8192, 4096), 0);
	assert_int_equal(
		weir_call_result_item(call, pair.client_region, pair.client_mem + 16384, 4096), 0);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &outcome.done, 1);
	for (uint32_t i = 0; i < 4096; i++)
		assert_int_equal(pair.client_mem[8192 + i], 0x5a);
	assert_int_equal(pair.closed, 0);
}

static void call__items_go_where_the_program_says(void **state)
{
	struct weir_call_params params;
	struct engine_counters before = {0};
	struct engine_counters after = {0};
	struct outcome outcome;
	struct weir_call *call;

	(void)state;
	pair.place_writes = true;
	memset(pair.client_mem, 0x5c, 100000);
	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_WRITE, &outcome);
	test_counters(pair.server, &before);
	call = weir_call_begin(pair.conn, &params);
	weir_xdr_put_u32(weir_call_args(call), 1);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, 100000), 0);
	weir_xdr_put_u32(weir_call_args(call), 2);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &outcome.done, 1);
	assert_int_equal(outcome.words[0], 3);
	assert_int_equal(outcome.words[1], 100000);
	assert_memory_equal(pair.server_mem + 65536, pair.client_mem, 100000);
	test_counters(pair.server, &after);
	assert_int_equal(after.bulk_copies - before.bulk_copies, 0);
	assert_int_equal(after.reads - before.reads, 1);
}

static void check_big(struct outcome *outcome, struct weir_call *call,
		      const struct weir_result *result)
{
	const void *data;
	uint32_t len;

	(void)call;
	assert_int_equal(result->status, 0);
	assert_int_equal(weir_xdr_get_opaque_ref(result->results, &data, 1u << 20, &len), 0);
	assert_int_equal(len, outcome->bytes);
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(((const uint8_t *)data)[i], pair_byte(i));
}

/* Makes a call whose reply has 'bytes' bytes of results that are not DDP-eligible. The requester
 * states that it accepts up to 'said' bytes. */
static void big(uint32_t bytes, uint32_t said, struct outcome *outcome)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(outcome, &pair);
	outcome->bytes = bytes;
	params = pair_params(PAIR_BIG, outcome);
	params.results_max_bytes = said;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), bytes);
	assert_int_equal(weir_call_submit(call), 0);
}

static void call__4_3_3_a_reply_above_the_threshold_comes_by_the_reply_chunk(void **state)
{
	static const uint32_t lengths[] = {0,	 1,    3,    900,  1023, 1024, 3990, 4000, 4020,
					   4040, 4041, 4042, 4043, 4044, 4045, 4096, 5001, 300003};
	struct engine_counters stats = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct outcome outcome;

		big(lengths[i], 8 + lengths[i], &outcome);
		outcome.check = check_big;
		pair_until(&pair, &outcome.done, 1);
	}
	test_counters(pair.client, &stats);
	assert_true(stats.long_replies + stats.groups_received >= 3);
	assert_int_equal(pair.closed, 0);
}

static void call__4_5_3_a_reply_chunk_too_small_is_err_chunk_and_the_connection_stays(void **state)
{
	struct outcome outcome;

	(void)state;
	big(9000, 16, &outcome); /* 'said' is so small that the requester offers no Reply chunk */
	pair_until(&pair, &outcome.done, 1);
	assert_int_equal(outcome.status, -EREMOTEIO);
	assert_int_equal(outcome.rdma_err, weir_conn_version(pair.conn) == 2 ? 3 : 2);
	big(9000, 8000, &outcome); /* the Reply chunk is smaller than the reply */
	pair_until(&pair, &outcome.done, 1);
	assert_int_equal(outcome.status, -EREMOTEIO);
	assert_int_equal(outcome.rdma_err, weir_conn_version(pair.conn) == 2 ? 3 : 2);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(pair.closed + pair.server_closed, 0);
}

static void call__3_5_3_a_long_call_takes_a_position_zero_chunk(void **state)
{
	static const uint32_t sizes[] = {3000, 4000, 4028, 4032, 5000, 65536, 900000};
	struct engine_counters stats = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct weir_call_params params;
		struct outcome outcome;
		struct weir_call *call;
		uint8_t *at;

		outcome_init(&outcome, &pair);
		outcome.bytes = sizes[i];
		outcome.check = check_big;
		params = pair_params(PAIR_ECHO, &outcome);
		params.args_max_bytes = sizes[i] + 8;
		params.results_max_bytes = sizes[i] + 8;
		call = weir_call_begin(pair.conn, &params);
		assert_non_null(call);
		weir_xdr_put_u32(weir_call_args(call), sizes[i]);
		at = weir_xdr_reserve(weir_call_args(call), sizes[i]);
		for (uint32_t j = 0; j < sizes[i]; j++)
			at[j] = pair_byte(j);
		assert_int_equal(weir_call_submit(call), 0);
		pair_until(&pair, &outcome.done, 1);
	}
	test_counters(pair.client, &stats);
	assert_true(stats.long_calls + stats.continued_calls >= 3);
}

static void call__3_3_1_calls_beyond_the_credits_wait_their_turn(void **state)
{
	/* With version 2, a peer grants credits in its connection properties, before the first
	 * call. A peer with shared receives grants one credit. */
	const uint32_t first = weir_conn_version(pair.conn) == 2 && !pair_shared ? 16 : 1;
	struct outcome outcomes[32];
	struct engine_counters stats = {0};

	(void)state;
	for (int i = 0; i < 32; i++) {
		struct weir_call_params params;
		struct weir_call *call;

		outcome_init(&outcomes[i], &pair);
		params = pair_params(PAIR_LATER, &outcomes[i]);
		call = weir_call_begin(pair.conn, &params);
		assert_non_null(call);
		weir_xdr_put_u32(weir_call_args(call), (uint32_t)i);
		assert_int_equal(weir_call_submit(call), 0);
	}
	pair_until_later(&pair, first);
	for (int i = 0; i < 100 && outcomes[31].done == 0; i++) {
		pair_settle(&pair);		/* sends all calls for which there are credits */
		assert_true(pair.nlater <= 16); /* the responder granted 16 */
		if (i == 0)
			assert_int_equal(pair.nlater, first);
		pair_release_later(&pair);
	}
	for (int i = 0; i < 32; i++) {
		assert_int_equal(outcomes[i].done, 1);
		assert_int_equal(outcomes[i].words[0], i + 1);
	}
	test_counters(pair.client, &stats);
	assert_int_equal(stats.calls_queued, 32 - first);
}

static int rounds_left;

static void few_buffers(struct weir_profile *profile)
{
	profile->long_buffers =
		3; /* two buffers for a call, and one for the reply that the callback still reads */
	profile->bulk_buffers = 2;
}

static int setup_few_buffers(void **state)
{
	(void)state;
	pair_start(&pair, few_buffers);
	pair_connect(&pair);
	return 0;
}

/* Makes a Long Call with a Long Reply. If 'item' is set, the data are in a region of the
 * application. Otherwise they are in the buffer of the arguments. */
static void echo_long(struct outcome *outcome, bool item)
{
	struct weir_call_params params = pair_params(PAIR_ECHO, outcome);
	struct weir_call *call;

	params.args_max_bytes = item ? 8 : 8 + 70000;
	params.results_max_bytes = 8 + 70000;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	if (item)
		assert_int_equal(
			weir_call_arg_item(call, pair.client_region, pair.client_mem, 70000), 0);
	else
		weir_xdr_put_opaque(weir_call_args(call), pair.client_mem, 70000);
	assert_int_equal(weir_call_submit(call), 0);
}

static void echo_next(struct outcome *outcome, struct weir_call *call,
		      const struct weir_result *result)
{
	const void *data;
	uint32_t len;

	(void)call;
	assert_int_equal(result->status, 0);
	if (rounds_left-- > 0)
		echo_long(outcome, rounds_left % 2);
	/* The second call was given a different buffer, so that the result of the first call is
	 * unchanged. */
	assert_int_equal(weir_xdr_get_opaque_ref(result->results, &data, 70000, &len), 0);
	assert_int_equal(len, 70000);
	assert_memory_equal(data, pair.client_mem, len);
}

static void done__finds_the_buffers_of_its_call_free(void **state)
{
	struct outcome outcome;

	(void)state;
	for (uint32_t i = 0; i < 70000; i++)
		pair.client_mem[i] = pair_byte(i + 9);
	outcome_init(&outcome, &pair);
	outcome.check = echo_next;
	rounds_left = 8;
	echo_long(&outcome, true);
	pair_until(&pair, &outcome.done, 9);
	assert_int_equal(pair.handled, 9);
}

static void begin__refuses_what_it_cannot_do(void **state)
{
	struct weir_call_params params;
	struct weir_call *call, *calls[64];
	struct outcome outcome;
	int n = 0;

	(void)state;
	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_NULL, &outcome);
	params.done = NULL;
	assert_null(weir_call_begin(pair.conn, &params));
	assert_int_equal(errno, EINVAL);
	params = pair_params(PAIR_NULL, &outcome);
	params.args_max_bytes = UINT32_MAX;
	assert_null(weir_call_begin(pair.conn, &params));
	assert_int_equal(errno, EMSGSIZE);
	params.args_max_bytes = 4;
	params.results_max_bytes = UINT32_MAX;
	assert_null(weir_call_begin(pair.conn, &params));
	assert_int_equal(errno, EMSGSIZE);

	params = pair_params(PAIR_WRITE, &outcome);
	call = weir_call_begin(pair.conn, &params);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem - 1, 10),
			 -EINVAL);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, UINT32_MAX),
			 -EINVAL);
	assert_int_equal(weir_call_arg_item(call, pair.server_region, pair.server_mem, 10),
			 -EINVAL);
	assert_int_equal(weir_call_result_item(call, pair.client_region, pair.client_mem, 10),
			 -E2BIG);
	weir_call_abandon(call);
	params = pair_params(PAIR_NULL, &outcome);
	while (n < 64 && (calls[n] = weir_call_begin(pair.conn, &params)))
		n++;
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(n, 32); /* twice the number of credits */
	while (n > 0)
		weir_call_abandon(calls[--n]);
	call = weir_call_begin(pair.conn, &params);
	while (weir_xdr_put_u32(weir_call_args(call), 1) == 0)
		;
	assert_int_equal(weir_call_submit(call), -ENOSPC);
	weir_call_abandon(call);
	assert_int_equal(outcome.done, 0);
}

PAIR_SETUP_MORE(setup_more, setup)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(call__null_has_no_results, setup, teardown),
		cmocka_unit_test_setup_teardown(call__accept_states_arrive, setup, teardown),
		cmocka_unit_test_setup_teardown(call__denied_reply_says_why, setup, teardown),
		cmocka_unit_test_setup_teardown(call__program_and_version_are_checked, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			call__results_over_the_handlers_bound_are_a_system_error, setup, teardown),
		cmocka_unit_test_setup_teardown(call__reply_may_come_later_and_out_of_order, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			call__3_4_5_arguments_before_between_and_after_read_chunks, setup_more,
			teardown),
		cmocka_unit_test_setup_teardown(
			call__4_3_2_an_empty_write_chunk_asks_for_the_item_inline, setup_more,
			teardown),
		cmocka_unit_test_setup_teardown(call__an_absent_item_leaves_its_write_chunk_unused,
						setup, teardown),
		cmocka_unit_test_setup_teardown(call__items_go_where_the_program_says, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			call__4_3_3_a_reply_above_the_threshold_comes_by_the_reply_chunk, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			call__4_5_3_a_reply_chunk_too_small_is_err_chunk_and_the_connection_stays,
			setup, teardown),
		cmocka_unit_test_setup_teardown(call__3_5_3_a_long_call_takes_a_position_zero_chunk,
						setup_more, teardown),
		cmocka_unit_test_setup_teardown(
			call__3_3_1_calls_beyond_the_credits_wait_their_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(done__finds_the_buffers_of_its_call_free,
						setup_few_buffers, teardown),
		cmocka_unit_test_setup_teardown(begin__refuses_what_it_cannot_do, setup, teardown),
	};

	return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
