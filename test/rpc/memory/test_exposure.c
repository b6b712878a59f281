/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the exposure policies between two engines: which policy is chosen, which side
 * invalidates keys, and which calls wait. test_windows.c tests the access that a key gives to a
 * peer.
 */
#include "pair_main.h"

#include <errno.h>
#include <string.h>

#include "requester.h"
#include "sim.h"

#define LEN 5000u

static struct pair pair;
static struct outcome outcome, other;

static void few_windows(struct weir_profile *profile)
{
	profile->windows = 64;
}

static int setup_pair(void **state)
{
	(void)state;
	pair_start(&pair, few_windows);
	pair_connect(&pair);
	return 0;
}

static int teardown_pair(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static struct weir_call *begin(uint32_t proc, struct outcome *out)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(out, &pair);
	params = pair_params(proc, out);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	return call;
}

static void multi(uint32_t n)
{
	static struct outcome outcomes[32];
	uint32_t i;

	assert_true(n <= 32);
	for (i = 0; i < n; i++) {
		uint8_t *mem = pair.client_mem + i * 65536;
		struct weir_call_params params;
		struct weir_call *call;

		outcome_init(&outcomes[i], &pair);
		params = pair_params(PAIR_MULTI, &outcomes[i]);
		/* Offers a Reply chunk as well, which stays unused. */
		params.results_max_bytes = 10000;
		call = weir_call_begin(pair.conn, &params);
		assert_non_null(call);
		for (uint32_t j = 0; j < 8192; j++)
			mem[j] = pair_byte(
				/*
				 * all calls write the same data, because the program has one buffer
				 * for data
				 */
				j);
		weir_xdr_put_u32(weir_call_args(call), i);
		assert_int_equal(weir_call_arg_item(call, pair.client_region, mem, LEN), 0);
		weir_xdr_put_u32(weir_call_args(call), 2);
		assert_int_equal(weir_call_arg_item(call, pair.client_region, mem + LEN, 3000), 0);
		weir_xdr_put_u32(weir_call_args(call), 3);
		assert_int_equal(weir_call_result_item(call, pair.client_region, mem + 8192, LEN),
				 0);
		assert_int_equal(weir_call_result_item(call, pair.client_region, mem + 16384, 3000),
				 0);
		assert_int_equal(weir_call_submit(call), 0);
		if (i == 0)
			/* its reply grants more than one credit */
			pair_until(&pair, &outcomes[0].done, 1);
	}
	for (i = 0; i < n; i++) {
		const uint8_t *mem = pair.client_mem + i * 65536;

		pair_until(&pair, &outcomes[i].done, 1);
		assert_int_equal(outcomes[i].status, 0);
		assert_memory_equal(mem + 8192, mem, LEN);
		assert_memory_equal(mem + 16384, mem + LEN, 3000);
	}
	assert_int_equal(pair.client->nwindows, pair.client->nwindows_free);
	if (pair.world)
		assert_int_equal(sim_windows_bound(pair.client->dev), 0);
}

static void call__8797_one_key_ends_with_the_reply_and_the_others_here(void **state)
{
	struct engine_counters stats = {0};

	(void)state;
	multi(1);
	test_counters(pair.client, &stats);
	assert_int_equal(stats.windows_bound, 5);
	assert_int_equal(stats.keys_ended_remote, 1);
	assert_int_equal(stats.keys_ended_local, 4);
}

static void call__waits_for_windows(void **state)
{
	struct engine_counters stats = {0};

	(void)state;
	multi(8);
	test_counters(pair.client, &stats);
	assert_int_equal(stats.windows_bound, 8 * 5);
	/*
	 * Other connections hold nearly all windows, so that the calls are carried out one after
	 * the other.
	 */
	for (uint32_t left = 7; left >= 5; left--) {
		struct fabric_mw *taken[64];
		uint32_t n = 0;

		while (pair.client->nwindows_free > left)
			taken[n++] = pair.client->windows_free[--pair.client->nwindows_free];
		pair.client->nwindows -= n;
		multi(8);
		pair.client->nwindows += n;
		while (n > 0)
			pair.client->windows_free[pair.client->nwindows_free++] = taken[--n];
	}
	test_counters(pair.client, &stats);
	assert_true(stats.window_waits > 0);
}

static void cancel__one_that_waits_for_a_credit(void **state)
{
	struct weir_call *call[2];

	(void)state;
	call[0] = begin(PAIR_LATER, &outcome);
	call[1] = begin(PAIR_LATER, &other);
	for (int i = 0; i < 2; i++) {
		weir_xdr_put_u32(weir_call_args(call[i]), 1);
		/* the call was not submitted */
		assert_int_equal(weir_call_cancel(call[i]), -EINVAL);
		assert_int_equal(weir_call_submit(call[i]), 0);
	}
	assert_int_equal(weir_call_cancel(call[1]), 0);
	assert_int_equal(weir_call_cancel(call[1]), -EINVAL); /* the call is already about to end */
	pair_until(&pair, &other.done, 1);
	assert_int_equal(other.status, -ECANCELED);
	assert_int_equal(outcome.done, 0);
	for (uint32_t i = 0; pair.nlater < 1 && pair_wait(&pair, i); i++)
		pair_poll(&pair);
	pair_release_later(&pair);
	pair_until(&pair, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(other.done, 1);
}

static void policy__auto_is_window_where_that_keeps_peers_out(void **state)
{
	enum weir_exposure before = pair_exposure;

	(void)state;
	pair_exposure = WEIR_EXPOSURE_AUTO;
	pair_start(&pair, NULL);
	assert_int_equal(pair.client->uses_windows, strcmp(pair.driver, "shm") != 0);
	assert_int_equal(pair.client->revokes_access, strcmp(pair.driver, "shm") != 0);
	pair_stop(&pair);
	pair_exposure = WEIR_EXPOSURE_POOL;
	pair_start(&pair, NULL);
	assert_false(pair.client->uses_windows);
	/*
	 * Keys can stay valid after their call has ended, because the requester copies exposed data
	 * before it checks them.
	 */
	assert_false(pair.client->revokes_access);
	pair_connect(&pair);
	multi(2);
	pair_stop(&pair);
	pair_exposure = before;
}

/* Checks that, with the policy 'pool', only the end of the connection revokes access. */
static void cancel__4_4_1_with_pool_the_connection_ends_first(void **state)
{
	enum weir_exposure before = pair_exposure;
	struct weir_call *call;

	(void)state;
	pair_exposure = WEIR_EXPOSURE_POOL;
	pair_start(&pair, NULL);
	pair_exposure = before;
	pair_connect(&pair);
	call = begin(PAIR_READ, &outcome);
	weir_xdr_put_u32(weir_call_args(call), LEN);
	assert_int_equal(weir_call_result_item(call, pair.client_region, pair.client_mem, LEN), 0);
	assert_int_equal(weir_call_submit(call), 0);
	assert_int_equal(weir_call_cancel(call), 0);
	weir_engine_poll(pair.client, 0, pair.now_ns + 5000000);
	assert_int_equal(outcome.done, 1);
	assert_int_equal(outcome.status, -ECANCELED);
	assert_int_equal(pair.closed, 1);
	pair_stop(&pair);
}

/*
 * Checks the policy 'window' on a device without windows. Such a device cannot expose memory for
 * only the time of a call. A program that accepts a longer exposure must set another policy.
 */
static void policy__window_on_a_device_without(void **state)
{
	struct sim_options wires;

	(void)state;
	if (strcmp(pair_driver, "sim") != 0)
		skip();
	sim_options_init(&wires);
	wires.attr.has_mw = false;
	pair_wires = &wires;
	pair_start(&pair, NULL);
	pair_wires = NULL;
	assert_int_equal(pair_connect_begin(&pair), -EOPNOTSUPP);
	pair_stop(&pair);
}

static void policy__window_without_remote_invalidation(void **state)
{
	struct engine_counters stats = {0};
	struct sim_options wires;

	(void)state;
	if (strcmp(pair_driver, "sim") != 0)
		skip();
	sim_options_init(&wires);
	wires.attr.has_send_inv = false;
	pair_wires = &wires;
	pair_start(&pair, NULL);
	pair_wires = NULL;
	pair_connect(&pair);
	multi(4);
	test_counters(pair.client, &stats);
	assert_int_equal(stats.keys_ended_local, 20);
	assert_int_equal(stats.keys_ended_remote, 0);
	pair_stop(&pair);
}

static void refuse_invalidation(struct weir_profile *profile)
{
	profile->remote_invalidation = 0;
}

static void policy__window_without_remote_invalidation_by_the_profile(void **state)
{
	struct engine_counters stats = {0};

	(void)state;
	pair_start(&pair, refuse_invalidation);
	pair_connect(&pair);
	multi(4);
	test_counters(pair.client, &stats);
	assert_int_equal(stats.keys_ended_local, 20);
	assert_int_equal(stats.keys_ended_remote, 0);
	pair_stop(&pair);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			call__8797_one_key_ends_with_the_reply_and_the_others_here, setup_pair,
			teardown_pair),
		cmocka_unit_test_setup_teardown(call__waits_for_windows, setup_pair, teardown_pair),
		cmocka_unit_test_setup_teardown(cancel__one_that_waits_for_a_credit, setup_pair,
						teardown_pair),
		cmocka_unit_test(policy__auto_is_window_where_that_keeps_peers_out),
		cmocka_unit_test(cancel__4_4_1_with_pool_the_connection_ends_first),
		cmocka_unit_test(policy__window_on_a_device_without),
		cmocka_unit_test(policy__window_without_remote_invalidation),
		cmocka_unit_test(policy__window_without_remote_invalidation_by_the_profile),
	};

	return cmocka_run_group_tests_name("exposure", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	pair_buffers = PAIR_BUFFERS_MORE;
	return pair_main(argc, argv, run);
}
