/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the pools in the section [memory] of the profile, and of windows. Each test uses the
 * last free element and then needs one more, and checks the counter for it.
 */
#include "pair_main.h"

#include <errno.h>

#include "engine.h"

#define ITEM	 8192u
#define BUFS_MAX 16u

static struct pair pair;
static struct outcome outcomes[2];
static struct mem_buf *bufs[BUFS_MAX];
static uint32_t nbufs;

static int setup(void **state)
{
	(void)state;
	nbufs = 0;
	pair_start(&pair, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

/* Takes bulk buffers of the responder until only 'left' are free. */
static void take_all_but(uint32_t left)
{
	while (nbufs < BUFS_MAX && (bufs[nbufs] = mem_pool_get(pair.server->bulk_pool)))
		nbufs++;
	while (left-- > 0)
		mem_pool_put(bufs[--nbufs]);
}

static void put_all(void)
{
	while (nbufs > 0)
		mem_pool_put(bufs[--nbufs]);
}

static void write_call(uint32_t i, uint32_t bytes)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(&outcomes[i], &pair);
	params = pair_params(PAIR_WRITE, &outcomes[i]);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), 1);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, bytes), 0);
	weir_xdr_put_u32(weir_call_args(call), 1);
	assert_int_equal(weir_call_submit(call), 0);
}

/*
 * Checks that a connection is accepted if the pool has as many free receives as a connection needs,
 * and refused if it has one less.
 */
static void recv_buffers__too_few_for_one_more_connection(void **state)
{
	struct mem_pool *pool = pair.server->recv_pool;
	struct mem_buf *recvs[256];
	uint32_t n = 0, need = engine_recvs(pair.profile.credits);

	(void)state;
	while (n < 256 && (recvs[n] = mem_pool_get(pool)))
		n++;
	assert_in_range(n, need, 255);
	for (uint32_t i = 1; i < need; i++)
		mem_pool_put(recvs[--n]);
	assert_int_equal(pair_connect_begin(&pair), 0);
	pair_until(&pair, &pair.closed, 1);
	assert_int_equal(pair.close_error, -ECONNREFUSED);
	assert_int_equal(pair_stats(pair.server).connections_refused, 1);
	assert_in_range(pair_stats(pair.server).recv_pool_empty, 1, 2);
	mem_pool_put(recvs[--n]);
	pair_connect(&pair);
	assert_int_equal(pool->in_use, pool->count);
	assert_int_equal(pair_stats(pair.server).connections_refused, 1);
	while (n > 0)
		mem_pool_put(recvs[--n]);
}

/*
 * Checks the longest Long Call that a bulk buffer holds, and a Long Call that is one byte longer.
 */
static void bulk_buffer_bytes__of_a_call_that_is_pulled(void **state)
{
	(void)state;
	pair.server->profile.bulk_buffer_bytes = ITEM;
	pair.server->limits.read_bytes_max = 3 * ITEM;
	pair_connect(&pair);
	for (uint32_t more = 0; more <= 1; more++) {
		write_call(more, ITEM + more);
		pair_until(&pair, &outcomes[more].done, 1);
		assert_int_equal(outcomes[more].status, more ? -EREMOTEIO : 0);
		assert_int_equal(pair_stats(pair.server).limits_exceeded, more);
	}
	assert_int_equal(pair.closed, 0);
}

/*
 * Checks the largest sizes of arguments and of results that a call can state, and sizes that are
 * one byte larger.
 */
static void long_buffer_bytes__of_arguments_and_of_results(void **state)
{
	const uint32_t most = (uint32_t)pair.profile.long_buffer_bytes;
	struct weir_call_params params;
	struct weir_call *call;

	(void)state;
	pair_connect(&pair);
	for (uint32_t more = 0; more <= 1; more++) {
		params = pair_params(PAIR_ECHO, &outcomes[0]);
		params.args_max_bytes = most - ENGINE_HEADROOM - WEIR_RPC_CALL_HEADER_MIN + more;
		call = weir_call_begin(pair.conn, &params);
		assert_int_equal(call == NULL, more);
		if (call)
			weir_call_abandon(call);
		else
			assert_int_equal(errno, EMSGSIZE);
		params = pair_params(PAIR_ECHO, &outcomes[0]);
		params.results_max_bytes = most - WEIR_RPC_REPLY_HEADER_MIN - 8 + more;
		call = weir_call_begin(pair.conn, &params);
		assert_int_equal(call == NULL, more);
		if (call)
			weir_call_abandon(call);
		else
			assert_int_equal(errno, EMSGSIZE);
	}
}

/* Checks that calls get the only bulk buffer for their arguments one after the other. */
static void bulk_buffers__one_call_past_them_waits(void **state)
{
	struct engine_counters stats = {0};

	(void)state;
	pair_connect(&pair);
	take_all_but(1);
	write_call(0, ITEM);
	pair_until(&pair, &outcomes[0].done, 1);
	pair_settle(&pair); /* and until the buffer of the call is free */
	stats = pair_stats(pair.server);
	assert_int_equal(stats.buffer_waits, 0);
	take_all_but(0);
	write_call(1, ITEM);
	pair_settle(&pair);
	assert_int_equal(outcomes[1].done, 0);
	assert_int_equal(pair_stats(pair.server).buffer_waits, 1);
	assert_in_range(pair_stats(pair.server).bulk_pool_empty, stats.bulk_pool_empty + 1,
			UINT64_MAX);
	put_all();
	pair_until(&pair, &outcomes[1].done, 1);
	assert_int_equal(outcomes[1].status, 0);
}

#define WINDOWS 64u /* the minimum of the profile */

static void few_windows(struct weir_profile *profile)
{
	profile->exposure = WEIR_EXPOSURE_WINDOW;
	profile->windows = WINDOWS;
	profile->credits = WINDOWS + 16;
	profile->recv_buffers = 256;
	profile->send_buffers = 256;
}

/*
 * Checks calls that use one window each until no window is free. The next call waits, and is sent
 * when a window becomes free.
 */
static void windows__one_call_past_them_waits(void **state)
{
	static const struct weir_ulb_proc proc = {.proc = PAIR_LATER, .result_items_max = 1};
	static const struct weir_ulb ulb = {.struct_bytes = sizeof(ulb),
					    .name = "windows",
					    .prog = PAIR_PROG,
					    .vers_low = PAIR_VERS,
					    .vers_high = PAIR_VERS,
					    .procs = &proc,
					    .nprocs = 1};
	static struct outcome ends[WINDOWS + 1];
	struct outcome outcome;

	(void)state;
	pair_start(&pair, few_windows);
	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome); /* its reply grants more than one credit */
	for (uint32_t i = 0; i <= WINDOWS; i++) {
		struct weir_call_params params;
		struct weir_call *call;

		outcome_init(&ends[i], &pair);
		params = pair_params(PAIR_LATER, &ends[i]);
		params.ulb = &ulb;
		call = weir_call_begin(pair.conn, &params);
		assert_non_null(call);
		weir_xdr_put_u32(weir_call_args(call), i);
		assert_int_equal(weir_call_result_item(call, pair.client_region,
						       pair.client_mem + 64 * i, 64),
				 0);
		assert_int_equal(pair_stats(pair.client).window_waits, 0);
		assert_int_equal(weir_call_submit(call), 0);
	}
	pair_settle(&pair);
	assert_int_equal(pair.client->nwindows_free, 0);
	assert_int_equal(pair.nlater, WINDOWS);
	assert_in_range(pair_stats(pair.client).window_waits, 1, UINT64_MAX);
	pair_release_later(&pair);
	for (uint32_t i = 0; i < WINDOWS; i++) {
		pair_until(&pair, &ends[i].done, 1);
		assert_int_equal(ends[i].status, 0);
	}
	for (uint32_t i = 0; pair.nlater < 1 && pair_wait(&pair, i); i++)
		pair_poll(&pair);
	pair_release_later(&pair);
	pair_until(&pair, &ends[WINDOWS].done, 1);
	assert_int_equal(ends[WINDOWS].status, 0);
	pair_stop(&pair);
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(recv_buffers__too_few_for_one_more_connection),
		T(long_buffer_bytes__of_arguments_and_of_results),
		T(bulk_buffer_bytes__of_a_call_that_is_pulled),
		T(bulk_buffers__one_call_past_them_waits),
		cmocka_unit_test(windows__one_call_past_them_waits),
	};

	return cmocka_run_group_tests_name("pools", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	pair_buffers = PAIR_BUFFERS_MORE;
	return pair_main(argc, argv, run);
}
