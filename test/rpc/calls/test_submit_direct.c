/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of calls that qualify for a direct send while the driver refuses direct sends. Such a call
 * is sent through the send queue, and the counters are the same as if no direct send had been
 * tried.
 */
#include "pair_main.h"

#include <string.h>

#include "requester.h"

#define ITEM 2000u

static struct pair pair;
static struct fabric_ops ops;
static bool (*send_direct)(struct fabric_qp *qp, const void *data, uint32_t len);
static uint32_t nrefused;

/* A 'send_direct' operation that always refuses, so that all Sends use the send queue. */
static bool refuse(struct fabric_qp *qp, const void *data, uint32_t len)
{
	(void)qp;
	(void)data;
	(void)len;
	nrefused++;
	return false;
}

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, NULL);
	ops = *pair.client->ops;
	send_direct = ops.send_direct;
	assert_non_null(send_direct);
	pair.client->ops = &ops;
	pair_connect(&pair);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static void check_item(struct outcome *outcome, struct weir_call *call,
		       const struct weir_result *result)
{
	const void *data;

	assert_int_equal(weir_result_opaque(call, result, 0, &data, ITEM, &outcome->bytes), 0);
}

static struct weir_call *describe(uint32_t proc, struct outcome *outcome)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(outcome, &pair);
	params = pair_params(proc, outcome);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), proc == PAIR_READ ? ITEM : 3);
	if (proc == PAIR_READ) {
		outcome->check = check_item;
		assert_int_equal(
			weir_call_result_item(call, pair.client_region, pair.client_mem, ITEM), 0);
	} else if (proc == PAIR_WRITE) {
		assert_int_equal(
			weir_call_arg_item(call, pair.client_region, pair.client_mem, ITEM), 0);
		weir_xdr_put_u32(weir_call_args(call), 4);
	}
	return call;
}

/* The counters of the engine and of the connection that a submitted call changes. */
struct books {
	uint64_t sent, write_chunks, read_chunks;
	uint32_t nactive, in_flight;
};

static struct books look(void)
{
	const struct requester *req = requester_of(pair.conn);
	struct engine_counters stats = {0};

	test_counters(pair.client, &stats);
	return (struct books){stats.calls_sent, stats.write_chunks, stats.read_chunks, req->nactive,
			      req->credits.in_flight};
}

static void refused__is_as_if_nobody_had_tried(void **state)
{
	static const uint32_t procs[] = {PAIR_NULL, PAIR_READ, PAIR_WRITE};

	(void)state;
	for (uint32_t i = 0; i < 30; i++) {
		uint32_t proc = procs[i % 3], was_refused = nrefused;
		struct books before, after;
		struct weir_call *call;
		struct outcome outcome;

		/* Another call is made first, so that the connection is active. */
		ops.send_direct = send_direct;
		pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
		before = look();
		call = describe(proc, &outcome);
		ops.send_direct = refuse;
		assert_int_equal(weir_call_submit(call), 0);
		assert_in_range(nrefused - was_refused, 1, 2);
		/* the Send of the call is in the batch, and has not completed */
		assert_false(call->is_send_done);
		assert_int_equal(call->state, CALL_SENT);
		after = look();
		assert_int_equal(after.sent - before.sent, 1);
		assert_int_equal(after.write_chunks - before.write_chunks, proc == PAIR_READ);
		assert_int_equal(after.read_chunks - before.read_chunks, proc == PAIR_WRITE);
		assert_int_equal(after.nactive - before.nactive, 1);
		assert_int_equal(after.in_flight - before.in_flight, 1);
		pair_until(&pair, &outcome.done, 1);
		assert_int_equal(outcome.status, 0);
		if (proc == PAIR_READ)
			assert_int_equal(outcome.bytes, ITEM);
		if (proc == PAIR_WRITE)
			assert_int_equal(outcome.words[1], ITEM);
		after = look();
		assert_int_equal(after.sent - before.sent, 1);
		assert_int_equal(after.nactive, before.nactive);
		assert_int_equal(after.in_flight, before.in_flight);
	}
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(refused__is_as_if_nobody_had_tried, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("submit_now", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
