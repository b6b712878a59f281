/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of RDMA Reads: as many as the device can have in flight, and more. The additional Reads
 * wait, and none fails.
 */
#include "pair_main.h"

#include <string.h>

#include "raw.h"
#include "sim.h"

#define LIMIT	  2u
#define CALLS	  12u
#define ITEM	  8192u
#define SEGMENTS  (LIMIT + 5u)
#define SEG_BYTES 512u

static struct pair pair;
static struct raw raw;
static struct outcome outcomes[CALLS];

static void limit(struct weir_profile *profile)
{
	size_t used = strlen(profile->driver_options);

	snprintf(profile->driver_options + used, sizeof(profile->driver_options) - used,
		 ",max_rd_atomic=%u", LIMIT);
}

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, limit);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static void write_calls(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct weir_call_params params;
		struct weir_call *call;

		outcome_init(&outcomes[i], &pair);
		params = pair_params(PAIR_WRITE, &outcomes[i]);
		call = weir_call_begin(pair.conn, &params);
		assert_non_null(call);
		weir_xdr_put_u32(weir_call_args(call), i);
		assert_int_equal(
			weir_call_arg_item(call, pair.client_region, pair.client_mem, ITEM), 0);
		weir_xdr_put_u32(weir_call_args(call), 1);
		assert_int_equal(weir_call_submit(call), 0);
	}
	for (uint32_t i = 0; i < n; i++) {
		pair_until(&pair, &outcomes[i].done, 1);
		assert_int_equal(outcomes[i].status, 0);
		assert_int_equal(outcomes[i].words[0], i + 1);
		assert_int_equal(outcomes[i].words[1], ITEM);
	}
}

static void reads__of_calls_at_the_limit_and_past_it(void **state)
{
	struct outcome outcome;

	(void)state;
	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome); /* its reply grants more than one credit */
	for (uint32_t n = LIMIT; n <= CALLS; n++) {
		write_calls(n);
		assert_in_range(sim_reads_most(pair.world), 1, LIMIT);
	}
	assert_int_equal(sim_reads_most(pair.world), LIMIT);
	assert_int_equal(pair.server_closed, 0);
}

/*
 * Sends a call with one chunk of 'nsegs' segments, each of which takes one RDMA Read. Expects that
 * the call succeeds.
 */
static void expect_pulled(uint32_t nsegs)
{
	struct words m = {0}, r = {0};

	words_put(&m, 4, 9, 1, 8, 0);
	for (uint32_t i = 0; i < nsegs; i++)
		words_put(&m, 6, 1, 48, raw.mr.rkey, SEG_BYTES, (uint32_t)(raw.raddr >> 32),
			  (uint32_t)raw.raddr + i * SEG_BYTES);
	words_put(&m, 3, 0, 0, 0);
	words_put(&m, 10, 9, 0, 2, PAIR_PROG, PAIR_VERS, PAIR_WRITE, 0, 0, 0, 0);
	words_put(&m, 3, 5, nsegs * SEG_BYTES, 6);
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[3], 0);
	assert_int_equal(r.w[12], 0); /* SUCCESS */
	assert_int_equal(r.w[13], 11);
	assert_int_equal(r.w[14], nsegs * SEG_BYTES);
	assert_in_range(sim_reads_most(pair.world), 1, LIMIT);
}

static void reads__of_one_chunk_at_the_limit_and_past_it(void **state)
{
	(void)state;
	raw_open(&raw, &pair);
	raw_connect(&raw);
	raw_until(&raw, &pair.server_opened, 1);
	expect_pulled(LIMIT);
	expect_pulled(LIMIT + 1);
	expect_pulled(SEGMENTS);
	assert_int_equal(sim_reads_most(pair.world), LIMIT);
	assert_int_equal(raw.disconnected, 0);
	raw_close(&raw);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads__of_calls_at_the_limit_and_past_it, setup,
						teardown),
		cmocka_unit_test_setup_teardown(reads__of_one_chunk_at_the_limit_and_past_it, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("reads", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	pair_buffers = PAIR_BUFFERS_MORE;
	return pair_main(argc, argv, run);
}
