/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of remote invalidation in version 2. The reply invalidates a key of its call if the call
 * offers that and the responder supports it.
 */
#include "pair_main.h"

#include "conn.h"

#define LEN 3000u

static struct pair pair;

static void by_version_2(struct weir_profile *profile)
{
	profile->protocol = WEIR_PROTOCOL_V2;
	profile->exposure = WEIR_EXPOSURE_WINDOW;
}

static int setup(void **state)
{
	(void)state;
	pair_server_protocol = WEIR_PROTOCOL_V2;
	pair_start(&pair, by_version_2);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

/*
 * Makes a READ. Sets 'by_peer' to the number of keys that the peer invalidated, and 'by_us' to the
 * number that the requester invalidated itself.
 */
static void read_once(uint64_t *by_peer, uint64_t *by_us)
{
	struct engine_counters before = {0};
	struct engine_counters after = {0};
	struct weir_call_params params;
	struct outcome outcome;
	struct weir_call *call;

	test_counters(pair.client, &before);
	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_READ, &outcome);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), LEN);
	assert_int_equal(weir_call_result_item(call, pair.client_region, pair.client_mem, LEN), 0);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.words[0], LEN);
	for (uint32_t i = 0; i < LEN; i++)
		assert_int_equal(pair.client_mem[i], pair_byte(i));
	test_counters(pair.client, &after);
	*by_peer = after.keys_ended_remote - before.keys_ended_remote;
	*by_us = after.keys_ended_local - before.keys_ended_local;
}

static void invalidate__6_2_3_only_what_the_call_offers(void **state)
{
	uint64_t by_peer, by_us;

	(void)state;
	pair_connect(&pair);
	assert_int_equal(weir_conn_version(pair.conn), 2);
	/*
	 * Clears the flags that version 1 sets from the private data of the connection. Version 2
	 * does not use them.
	 */
	pair.conn->remote_invalidation = pair.server_conn->remote_invalidation = false;
	read_once(&by_peer, &by_us);
	assert_int_equal(by_peer, 1);
	assert_int_equal(by_us, 0);
	pair.conn->may_invalidate = false; /* the call does not offer remote invalidation */
	read_once(&by_peer, &by_us);
	assert_int_equal(by_peer, 0);
	assert_int_equal(by_us, 1);
	pair.conn->may_invalidate = true;
	pair.server_conn->may_invalidate = false; /* the responder does not invalidate keys */
	read_once(&by_peer, &by_us);
	assert_int_equal(by_peer, 0);
	assert_int_equal(by_us, 1);
	assert_int_equal(pair.closed, 0);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(invalidate__6_2_3_only_what_the_call_offers, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("invalidate_v2", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
