/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of memory that arg_sink chose for the items of a call, when the call ends in each possible
 * way. The function of weir_request_on_sent(), which arg_sink sets, runs exactly once for each
 * call. After that, weir does not write to the memory.
 */
#include "pair_main.h"

#include <errno.h>
#include <string.h>

#include "engine.h"
#include "fault.h"
#include "pair_memory.h"
#include "raw.h"
#include "sim.h"

#define ITEM	   20000u
#define BULK_BYTES 65536u /* the profile's bulk_buffer_bytes */
#define REUSED	   0xee	  /* what the program stores in its memory when it has it again */

static struct pair pair;
static struct raw raw;
static struct outcome outcome;
static int nchosen; /* calls for which arg_sink has chosen memory */
static int nback;   /* calls of the function of weir_request_on_sent() */
static uint32_t handled_before;

static uint8_t *sink(uint32_t item)
{
	return pair.server_mem + 65536 + item * (2u << 20);
}

static void on_back(void *arg)
{
	(void)arg;
	nback++;
	for (uint32_t item = 0; item < 2; item++)
		memset(sink(item), REUSED, 1u << 18);
}

static void expect_untouched(void)
{
	uint32_t nchanged = 0;

	for (uint32_t item = 0; item < 2; item++)
		for (uint32_t i = 0; i < 1u << 18; i++)
			nchanged += sink(item)[i] != REUSED;
	assert_int_equal(nchanged, 0);
}

/* ---- what arg_sink does ---- */

static int choose(struct weir_request *req, uint32_t item, struct weir_arg_sink *memory)
{
	(void)memory;
	if (item == 0) {
		nchosen++;
		weir_request_on_sent(req, on_back, NULL);
	}
	return 0;
}

/* The memory for the second item is not known to the engine. */
static int choose_wrong(struct weir_request *req, uint32_t item, struct weir_arg_sink *memory)
{
	if (item == 1) {
		memory->region = pair.client_region;
		memory->data = pair.client_mem;
	}
	return choose(req, item, memory);
}

/* There is no memory for the second item. */
static int choose_first(struct weir_request *req, uint32_t item, struct weir_arg_sink *memory)
{
	return item == 1 ? -1 : choose(req, item, memory);
}

/* ---- a call, and its end ---- */

static void over_fault(struct weir_profile *profile)
{
	char options[sizeof(profile->driver_options)];

	memcpy(options, profile->driver_options, sizeof(options));
	snprintf(profile->driver_options, sizeof(profile->driver_options), "over=%.16s,%.200s",
		 profile->driver, options);
	snprintf(profile->driver, sizeof(profile->driver), "fault");
	profile->bulk_buffer_bytes = BULK_BYTES;
}

static void no_check(struct outcome *its, struct weir_call *call, const struct weir_result *result)
{
	(void)its, (void)call, (void)result;
}

static int setup(void **state)
{
	struct outcome first;

	(void)state;
	pair_start(&pair, over_fault);
	pair.place_writes = true;
	pair.on_sink = choose;
	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &first);
	pair_settle(&pair);
	nchosen = nback = 0;
	handled_before = pair.handled;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

/* Submits a call with two items, the second of which has the given length. */
static void begin(uint32_t second_bytes)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(&outcome, &pair);
	outcome.check = no_check;
	params = pair_params(PAIR_MULTI, &outcome);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), 1);
	weir_call_arg_item(call, pair.client_region, pair.client_mem, ITEM);
	weir_xdr_put_u32(weir_call_args(call), 2);
	weir_call_arg_item(call, pair.client_region, pair.client_mem, second_bytes);
	weir_xdr_put_u32(weir_call_args(call), 3);
	weir_call_result_item(call, pair.client_region, pair.client_mem + (1u << 20), ITEM);
	weir_call_result_item(call, pair.client_region, pair.client_mem + (2u << 20), second_bytes);
	assert_int_equal(weir_call_submit(call), 0);
}

/* Checks the state after the end of the call. */
static void expect_back_once(void)
{
	pair_settle(&pair);
	assert_int_equal(nchosen, 1);
	assert_int_equal(nback, 1);
	expect_untouched();
}

/* Polls until arg_sink has chosen the memory, and then 'npolls' times. Returns whether the handler
 * has not run. */
static bool begin_pull(uint32_t npolls)
{
	begin(ITEM);
	pair_until(&pair, &nchosen, 1);
	for (uint32_t i = 0; i < npolls; i++)
		pair_poll(&pair);
	return pair.handled == handled_before;
}

static void close_client(void)
{
	weir_conn_close(pair.conn);
}

static void close_server(void)
{
	if (pair.server_conn)
		weir_conn_close(pair.server_conn);
}

static void kill_client(void)
{
	sim_kill(pair.world, fault_inner(pair.client->dev));
}

/* Destroys the engine of the server. The memory remains until the test has checked it. */
static void destroy_server(void)
{
	weir_listener_close(pair.listener);
	weir_engine_destroy(pair.server);
	pair.listener = NULL;
	pair.server = NULL;
	assert_int_equal(nback, 1);
}

/* Ends a call by 'end' after each number of polls, until the handler runs before. */
static void end_at_each_poll(void (*end)(void))
{
	bool is_pulling = true;
	uint32_t npolls = 0;

	for (; is_pulling; npolls++) {
		setup(NULL);
		is_pulling = begin_pull(npolls);
		end();
		expect_back_once();
		/* While a connection is being ended by the peer, the items can still arrive. */
		if (is_pulling && (end == close_server || end == destroy_server))
			assert_int_equal(pair.handled, handled_before);
		if (!pair.server)
			pair_memory_end(pair.server_region);
		teardown(NULL);
	}
	assert_true(npolls > 2);
}

static void arg_sink__the_peer_closes(void **state)
{
	(void)state;
	end_at_each_poll(close_client);
}

static void arg_sink__the_peer_dies(void **state)
{
	(void)state;
	end_at_each_poll(kill_client);
}

static void arg_sink__this_side_closes(void **state)
{
	(void)state;
	end_at_each_poll(close_server);
}

static void arg_sink__the_engine_is_destroyed(void **state)
{
	(void)state;
	end_at_each_poll(destroy_server);
}

static void arg_sink__a_read_fails(void **state)
{
	static const enum fault_kind kinds[] = {FAULT_WR, FAULT_WR_LATE};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		setup(NULL);
		assert_true(fault_at(pair.server->dev, kinds[i / 2], 1 + i % 2,
				     FABRIC_ERR_REMOTE_ACCESS));
		begin(ITEM);
		pair_until(&pair, &pair.server_closed, 1);
		assert_int_equal(nback, 1);
		expect_back_once();
		assert_int_equal(pair.server_close_error, -EPROTO);
		assert_int_equal(pair.handled, handled_before);
		teardown(NULL);
	}
}

/* The handler runs and replies. The memory comes back when the reply was sent. */
static void arg_sink__the_call_succeeds(void **state)
{
	(void)state;
	begin(ITEM);
	pair_until(&pair, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(pair.handled, handled_before + 1);
	expect_back_once();
}

static void expect_refused(uint32_t second_bytes)
{
	begin(second_bytes);
	pair_until(&pair, &outcome.done, 1);
	assert_true(outcome.status != 0 || outcome.reply.accept_stat != WEIR_RPC_SUCCESS);
	assert_int_equal(pair.handled, handled_before);
	expect_back_once();
	assert_int_equal(pair.server_closed, 0);
}

static void arg_sink__the_second_one_is_not_a_region(void **state)
{
	(void)state;
	pair.on_sink = choose_wrong;
	expect_refused(ITEM);
}

static void arg_sink__the_second_item_exceeds_a_buffer(void **state)
{
	(void)state;
	pair.on_sink = choose_first;
	expect_refused(BULK_BYTES + 4);
}

/* ---- peers that break the rules ---- */

static int setup_raw(void **state)
{
	(void)state;
	pair_start(&pair, NULL);
	pair.place_writes = true;
	pair.on_sink = choose;
	raw_open(&raw, &pair);
	raw_connect(&raw);
	raw_until(&raw, &pair.server_opened, 1);
	nchosen = nback = 0;
	return 0;
}

static int teardown_raw(void **state)
{
	(void)state;
	raw_end(&raw);
	return 0;
}

/* Sends a WRITE whose chunk has two segments. The second one has another key, and the count of the
 * item in the arguments is 'count'. */
static void send_write(uint32_t second_key, uint32_t count)
{
	struct words m = {0};

	words_put(&m, 4, 9, 1, 8, 0);
	words_put(&m, 6, 1, 48, raw.mr.rkey, 512, (uint32_t)(raw.raddr >> 32), (uint32_t)raw.raddr);
	words_put(&m, 6, 1, 48, second_key, 512, (uint32_t)(raw.raddr >> 32), (uint32_t)raw.raddr);
	words_put(&m, 3, 0, 0, 0);
	words_put_rpc(&m, 9, PAIR_WRITE);
	words_put(&m, 3, 5, count, 6);
	raw_send_words(&raw, &m);
}

static void arg_sink__a_key_is_wrong(void **state)
{
	(void)state;
	send_write(raw.mr.rkey ^ 0x5a5a, 1024);
	raw_until(&raw, &pair.server_closed, 1);
	assert_int_equal(pair.server_close_error, -EPROTO);
	assert_int_equal(pair.handled, 0);
	expect_back_once();
}

static void arg_sink__the_count_is_wrong(void **state)
{
	struct words r = {0};

	(void)state;
	send_write(raw.mr.rkey, 1000);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[12], WEIR_RPC_GARBAGE_ARGS);
	assert_int_equal(pair.handled, 0);
	expect_back_once();
	assert_int_equal(pair.server_closed, 0);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arg_sink__the_peer_closes),
		cmocka_unit_test(arg_sink__the_peer_dies),
		cmocka_unit_test(arg_sink__this_side_closes),
		cmocka_unit_test(arg_sink__the_engine_is_destroyed),
		cmocka_unit_test(arg_sink__a_read_fails),
		cmocka_unit_test_setup_teardown(arg_sink__the_call_succeeds, setup, teardown),
		cmocka_unit_test_setup_teardown(arg_sink__the_second_one_is_not_a_region, setup,
						teardown),
		cmocka_unit_test_setup_teardown(arg_sink__the_second_item_exceeds_a_buffer, setup,
						teardown),
		cmocka_unit_test_setup_teardown(arg_sink__a_key_is_wrong, setup_raw, teardown_raw),
		cmocka_unit_test_setup_teardown(arg_sink__the_count_is_wrong, setup_raw,
						teardown_raw),
	};

	return cmocka_run_group_tests_name("arg_sink", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
