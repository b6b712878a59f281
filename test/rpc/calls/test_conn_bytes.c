/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the numbers of bytes in the descriptions of connections. One side has received all that the
 * other side has sent. Each test makes its calls one by one and all at once, so that some of them
 * are sent at once and others wait for a credit.
 */
#include "pair_main.h"

#include <string.h>

#include <weir/inspect.h>

#include "conn.h"

#define CALLS	    20u
#define ITEM_BYTES  12289u /* its padding is not in a chunk */
#define LONG_BYTES  30001u /* too long for a message */
#define CALL_BYTES  (RDMA1_HEADER_MIN + WEIR_RPC_CALL_HEADER_MIN)
#define REPLY_BYTES (RDMA1_HEADER_MIN + WEIR_RPC_REPLY_HEADER_MIN)

static struct pair pair;
static struct outcome outcomes[CALLS];
static uint8_t text[LONG_BYTES];

/* The descriptions of both sides of the connection. */
struct ends {
	struct weir_conn_info client, server;
};

static int setup(void **state)
{
	struct outcome outcome;

	(void)state;
	pair_buffers = CALLS;
	pair_start(&pair, NULL);
	pair_buffers = PAIR_BUFFERS;
	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	pair_settle(&pair);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static struct weir_conn_info describe(const struct weir_engine *engine)
{
	struct weir_conn_info info = {.struct_bytes = sizeof(info)};

	assert_int_equal(weir_engine_conns(engine, &info, 1), 1);
	return info;
}

/* Describes both sides, which must agree. */
static struct ends look(void)
{
	struct ends ends;

	pair_settle(&pair);
	ends.client = describe(pair.client);
	ends.server = describe(pair.server);
	assert_int_equal(ends.client.message_bytes_sent, ends.server.message_bytes_received);
	assert_int_equal(ends.server.message_bytes_sent, ends.client.message_bytes_received);
	assert_int_equal(ends.client.rdma_bytes_sent, ends.server.rdma_bytes_received);
	assert_int_equal(ends.server.rdma_bytes_sent, ends.client.rdma_bytes_received);
	return ends;
}

static struct weir_call *begin(uint32_t proc, uint32_t results_max_bytes, uint32_t i)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(&outcomes[i], &pair);
	params = pair_params(proc, &outcomes[i]);
	params.results_max_bytes = results_max_bytes;
	params.args_max_bytes = proc == PAIR_ECHO ? LONG_BYTES + 8 : 16;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	return call;
}

static void null(uint32_t i)
{
	assert_int_equal(weir_call_submit(begin(PAIR_NULL, 0, i)), 0);
}

static void read_item(uint32_t i)
{
	struct weir_call *call = begin(PAIR_READ, 4, i);

	weir_xdr_put_u32(weir_call_args(call), ITEM_BYTES);
	assert_int_equal(weir_call_result_item(call, pair.client_region,
					       pair.client_mem + i * 2 * ITEM_BYTES, ITEM_BYTES),
			 0);
	assert_int_equal(weir_call_submit(call), 0);
}

static void write_item(uint32_t i)
{
	struct weir_call *call = begin(PAIR_WRITE, 12, i);

	weir_xdr_put_u32(weir_call_args(call), 1);
	assert_int_equal(weir_call_arg_item(call, pair.client_region,
					    pair.client_mem + i * 2 * ITEM_BYTES, ITEM_BYTES),
			 0);
	weir_xdr_put_u32(weir_call_args(call), 2);
	assert_int_equal(weir_call_submit(call), 0);
}

static void echo_long(uint32_t i)
{
	struct weir_call *call = begin(PAIR_ECHO, LONG_BYTES + 8, i);

	weir_xdr_put_opaque(weir_call_args(call), text, LONG_BYTES);
	assert_int_equal(weir_call_submit(call), 0);
}

/* Makes CALLS calls one by one, and 'together' calls at once. */
static void make_calls(void (*submit)(uint32_t i), uint32_t together)
{
	for (uint32_t i = 0; i < CALLS; i++) {
		submit(i);
		pair_until(&pair, &outcomes[i].done, 1);
		assert_int_equal(outcomes[i].status, 0);
	}
	for (uint32_t i = 0; i < together; i++)
		submit(i);
	for (uint32_t i = 0; i < together; i++) {
		pair_until(&pair, &outcomes[i].done, 1);
		assert_int_equal(outcomes[i].status, 0);
	}
}

static void messages__are_counted_with_their_headers(void **state)
{
	struct ends before = look(), after;
	uint32_t extra = pair.conn->extra_bytes;

	(void)state;
	make_calls(null, CALLS);
	after = look();
	assert_int_equal(after.client.message_bytes_sent - before.client.message_bytes_sent,
			 2 * CALLS * (CALL_BYTES + extra));
	assert_int_equal(after.server.message_bytes_sent - before.server.message_bytes_sent,
			 2 * CALLS * (REPLY_BYTES + extra));
	assert_int_equal(after.client.rdma_bytes_sent, 0);
	assert_int_equal(after.server.rdma_bytes_sent, 0);
}

/* Checks the bytes that one side has sent with the items of 2 * CALLS calls. An extension may send
 * a part of them in messages. */
static void expect_items(uint64_t rdma, uint64_t messages)
{
	if (pair_extension == WEIR_EXTENSION_OFF)
		assert_int_equal(rdma, 2 * CALLS * ITEM_BYTES);
	else
		assert_in_range(rdma + messages, 2 * CALLS * ITEM_BYTES,
				2 * CALLS * (ITEM_BYTES + 3000));
}

static void results__are_counted_where_they_go(void **state)
{
	struct ends before = look(), after;

	(void)state;
	make_calls(read_item, CALLS);
	after = look();
	assert_int_equal(after.client.rdma_bytes_sent, 0);
	expect_items(after.server.rdma_bytes_sent - before.server.rdma_bytes_sent,
		     after.server.message_bytes_sent - before.server.message_bytes_sent);
}

static void items__are_counted_where_they_go(void **state)
{
	struct ends before = look(), after;

	(void)state;
	make_calls(write_item, CALLS);
	after = look();
	assert_int_equal(after.server.rdma_bytes_sent, 0);
	expect_items(after.client.rdma_bytes_sent - before.client.rdma_bytes_sent,
		     after.client.message_bytes_sent - before.client.message_bytes_sent);
}

/* A Long Call with all of its RPC message in chunks, and a Long Reply. */
static void long_messages__are_counted_as_chunks(void **state)
{
	struct ends before = look(), after;
	uint64_t call_bytes, reply_bytes;

	(void)state;
	make_calls(echo_long, 2);
	after = look();
	call_bytes = after.client.rdma_bytes_sent - before.client.rdma_bytes_sent;
	reply_bytes = after.server.rdma_bytes_sent - before.server.rdma_bytes_sent;
	if (pair_extension != WEIR_EXTENSION_OFF)
		return; /* look() has compared both sides */
	assert_int_equal(call_bytes, (CALLS + 2) * (WEIR_RPC_CALL_HEADER_MIN + 4 + LONG_BYTES + 3));
	assert_int_equal(reply_bytes,
			 (CALLS + 2) * (WEIR_RPC_REPLY_HEADER_MIN + 4 + LONG_BYTES + 3));
}

#define BYTES_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		BYTES_TEST(messages__are_counted_with_their_headers),
		BYTES_TEST(results__are_counted_where_they_go),
		BYTES_TEST(items__are_counted_where_they_go),
		BYTES_TEST(long_messages__are_counted_as_chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
