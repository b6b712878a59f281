/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of calls that are lists of operations (rtrext-01 section 7.4), with each version and each
 * part of the extension. They check which result is written to which memory.
 */
#include "pair_main.h"

#include <errno.h>
#include <string.h>

#include "compound.h"
#include "requester.h"

static struct pair pair;
static struct outcome outcome;
static const struct compound_op *asked;
static uint32_t nasked;
/* The memory for the data of each operation. With NULL, the data are inside the reply message. */
static uint8_t *memory[COMPOUND_OPS_MAX];

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, NULL);
	pair_connect(&pair);
	memset(memory, 0, sizeof(memory));
	return 0;
}

static void reconnecting(struct weir_profile *profile)
{
	profile->reconnect = WEIR_RECONNECT_ON;
	profile->reconnect_delay_ms = 1;
	profile->reconnect_delay_max_ms = 4;
}

static int setup_remade(void **state)
{
	static const bool non_idempotent[PAIR_NPROCS] = {[PAIR_COMPOUND] = true};

	(void)state;
	pair_non_idempotent = non_idempotent;
	pair_start(&pair, reconnecting);
	pair_non_idempotent = NULL;
	pair_connect(&pair);
	memset(memory, 0, sizeof(memory));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

/*
 * Returns whether the transport header identifies the operation to which a chunk belongs. Otherwise
 * the call has one chunk for each operation, and a chunk can be empty.
 */
static bool tells_operations(void)
{
	return pair_client_protocol == WEIR_PROTOCOL_V2 &&
	       (pair_extension & (WEIR_EXTENSION_DIRECTION | WEIR_EXTENSION_PLACEMENT));
}

static void check(struct outcome *got, struct weir_call *call, const struct weir_result *result)
{
	struct weir_xdr_in *in = result->results;
	uint32_t n = 0, item = 0;

	(void)got;
	assert_int_equal(weir_xdr_get_u32(in, &n), 0);
	assert_int_equal(n, nasked);
	for (uint32_t op = 0; op < n; op++) {
		uint32_t kind = 0, len = 0;
		const void *data = NULL;

		assert_int_equal(weir_xdr_get_u32(in, &kind), 0);
		assert_int_equal(kind, asked[op].kind);
		if (kind == COMPOUND_PLAIN)
			continue;
		if (kind == COMPOUND_FAIL) {
			bool is_offered = memory[op] || !tells_operations();

			if (is_offered)
				assert_true(result->item_bytes[item] == 0 ||
					    result->item_bytes[item] == WEIR_ITEM_INLINE);
			item += is_offered;
			continue;
		}
		if (memory[op] || !tells_operations())
			assert_int_equal(weir_result_opaque(call, result, item++, &data,
							    COMPOUND_BYTES_MAX, &len),
					 0);
		else
			assert_int_equal(
				weir_xdr_get_opaque_ref(in, &data, COMPOUND_BYTES_MAX, &len), 0);
		assert_int_equal(len, asked[op].count);
		for (uint32_t i = 0; i < len; i++)
			assert_int_equal(((const uint8_t *)data)[i], compound_byte(op, i));
	}
	assert_int_equal(weir_xdr_remaining(in), 0);
}

static struct weir_call *begin(uint32_t results_max)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(&outcome, &pair);
	outcome.check = check;
	params = pair_params(PAIR_COMPOUND, &outcome);
	params.args_max_bytes = 4 + COMPOUND_OP_BYTES * nasked;
	params.results_max_bytes = results_max;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), nasked);
	return call;
}

static struct weir_call *describe(const struct compound_op *ops, uint32_t n)
{
	uint32_t results_max = 4 + 8 * n;
	struct weir_call *call;

	asked = ops;
	nasked = n;
	for (uint32_t op = 0; op < n; op++)
		if (!memory[op] && ops[op].kind == COMPOUND_READ)
			results_max += ops[op].count + 3;
	call = begin(results_max);
	for (uint32_t op = 0; op < n; op++) {
		assert_int_equal(weir_call_operation(call), 0);
		weir_xdr_put_u32(weir_call_args(call), ops[op].kind);
		weir_xdr_put_u32(weir_call_args(call), ops[op].count);
		if (ops[op].kind == COMPOUND_PLAIN || (!memory[op] && tells_operations()))
			continue;
		assert_int_equal(weir_call_result_item(call, pair.client_region, memory[op],
						       memory[op] ? COMPOUND_BYTES_MAX : 0),
				 0);
	}
	return call;
}

static void finish(void)
{
	pair_until(&pair, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.reply.accept_stat, WEIR_RPC_SUCCESS);
}

static void run_ops(const struct compound_op *ops, uint32_t n)
{
	assert_int_equal(weir_call_submit(describe(ops, n)), 0);
	finish();
}

static uint8_t *memory_at(uint32_t op)
{
	return pair.client_mem + (size_t)op * COMPOUND_BYTES_MAX;
}

static void operation__results_go_to_their_own_memory(void **state)
{
	static const struct compound_op ops[] = {{COMPOUND_READ, 3000},
						 {COMPOUND_PLAIN, 0},
						 {COMPOUND_READ, 5001},
						 {COMPOUND_READ, 17}};

	(void)state;
	for (uint32_t op = 0; op < 4; op++)
		memory[op] = memory_at(op);
	run_ops(ops, 4);
}

static void operation__one_that_fails_leaves_no_memory_to_the_next(void **state)
{
	static const struct compound_op ops[] = {{COMPOUND_FAIL, 0},
						 {COMPOUND_READ, 9000},
						 {COMPOUND_FAIL, 0},
						 {COMPOUND_READ, 20000}};

	(void)state;
	for (uint32_t op = 0; op < 4; op++)
		memory[op] = memory_at(op);
	run_ops(ops, 4);
}

/*
 * Checks an operation without memory, followed by an operation with memory. If the memory belonged
 * to the whole call, the data of the first operation would be written there.
 */
static void operation__one_without_memory_has_its_data_in_the_message(void **state)
{
	static const struct compound_op ops[] = {{COMPOUND_READ, 600},
						 {COMPOUND_READ, 9000},
						 {COMPOUND_PLAIN, 0},
						 {COMPOUND_READ, 700}};

	(void)state;
	memory[1] = memory_at(1);
	run_ops(ops, 4);
	if (tells_operations()) {
		struct engine_counters stats = {0};

		test_counters(pair.client, &stats);
		assert_int_equal(stats.directed_calls, 1);
	}
}

static void operation__as_many_as_there_may_be(void **state)
{
	struct compound_op ops[COMPOUND_OPS_MAX];

	(void)state;
	for (uint32_t op = 0; op < COMPOUND_OPS_MAX; op++) {
		ops[op] = (struct compound_op){op == 3 ? COMPOUND_FAIL : COMPOUND_READ, 1000 + op};
		memory[op] = memory_at(op);
	}
	run_ops(ops, COMPOUND_OPS_MAX);
}

static void operation__none_of_a_call_that_is_on_its_way(void **state)
{
	static const struct compound_op ops[] = {{COMPOUND_READ, 100}};
	struct weir_call *call;

	(void)state;
	asked = ops;
	nasked = 1;
	memory[0] = memory_at(0);
	call = begin(64);
	assert_int_equal(weir_call_operation(call), 0);
	/* a second marker for the same operation changes nothing */
	assert_int_equal(weir_call_operation(call), 0);
	weir_xdr_put_u32(weir_call_args(call), ops[0].kind);
	weir_xdr_put_u32(weir_call_args(call), ops[0].count);
	assert_int_equal(weir_call_result_item(call, pair.client_region, memory[0], 1000), 0);
	assert_int_equal(weir_call_submit(call), 0);
	assert_int_equal(weir_call_operation(call), -EINVAL);
	finish();
}

/*
 * Checks a kept reply that is sent again with another transport header. The operations were carried
 * out for a call of the base protocol, whose header does not identify the operation of each result.
 */
static void operation__of_a_reply_that_was_kept_for_another_header(void **state)
{
	static const struct compound_op ops[] = {{COMPOUND_READ, 3000}, {COMPOUND_READ, 5001}};
	struct engine_counters stats = {0};
	struct weir_call *call;

	(void)state;
	memory[0] = memory_at(0);
	memory[1] = memory_at(1);
	call = describe(ops, 2);
	call->avoids_extension = true;
	assert_int_equal(weir_call_submit(call), 0);
	for (uint32_t i = 0; pair.handled < 1 && pair_wait(&pair, i); i++) {
		pair_pass(&pair);
		if (i == 0) /* the call is in flight */
			weir_engine_poll(pair.client, 0, pair.now_ns + 1);
		weir_engine_poll(pair.server, 0, pair.now_ns + 1);
	}
	weir_conn_reset(pair.conn);
	call->avoids_extension = false;
	finish();
	assert_int_equal(pair.handled, 1);
	test_counters(pair.client, &stats);
	assert_int_equal(stats.directed_calls, tells_operations());
}

#define S(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define R(name) cmocka_unit_test_setup_teardown(name, setup_remade, teardown)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		S(operation__results_go_to_their_own_memory),
		S(operation__one_that_fails_leaves_no_memory_to_the_next),
		S(operation__one_without_memory_has_its_data_in_the_message),
		S(operation__as_many_as_there_may_be),
		S(operation__none_of_a_call_that_is_on_its_way),
		R(operation__of_a_reply_that_was_kept_for_another_header),
	};

	return cmocka_run_group_tests_name("operations", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
