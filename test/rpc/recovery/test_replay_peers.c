/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the duplicate request cache with several peers: to which peer a cached reply is sent,
 * and how long the reply stays in the cache.
 */
#include "pair_main.h"

#include <stdio.h>

#include "raw.h"
#include "responder.h"

static struct pair pair;
static struct raw raws[2];

static const bool non_idempotent[PAIR_NPROCS] = {[PAIR_GARBAGE] = true};

static void small_cache(struct weir_profile *profile)
{
	profile->replay_entries =
		5; /* allows two calls of one connection to be carried out at a time (quota.h) */
	profile->replay_bytes = 4096;
}

static int setup(void **state)
{
	(void)state;
	pair_non_idempotent = non_idempotent;
	pair_start(&pair, small_cache);
	pair_connect(&pair);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static uint64_t replays(void)
{
	struct engine_counters stats = {0};

	test_counters(pair.server, &stats);
	return stats.replays;
}

static void open_raw(struct raw *raw)
{
	int nopened = pair.server_opened;

	raw_open(raw, &pair);
	raw_connect(raw);
	raw_until(raw, &pair.server_opened, nopened + 1);
}

/*
 * Makes a call that is not idempotent, and receives its answer. Calls with the same XID have the
 * same bytes.
 */
static void call_raw(struct raw *raw, uint32_t xid)
{
	struct words m = {0}, answer;

	words_put(&m, 7, xid, 1, 16, 0, 0, 0, 0);
	words_put_rpc(&m, xid, PAIR_GARBAGE);
	words_put(&m, 1, 7);
	raw_send_words(raw, &m);
	raw_recv_words(raw, &answer);
	assert_int_equal(answer.w[0], xid);
}

/*
 * Checks that a cached reply is sent only to a process with the same groups, because a user's
 * rights depend on the groups of the process.
 */
static void replay__is_not_for_other_groups(void **state)
{
	static const struct weir_peer peers[] = {
		{.has_credentials = true, .uid = 7, .gid = 8, .ngroups = 2, .groups = {8, 20}},
		{.has_credentials = true, .uid = 7, .gid = 8, .ngroups = 2, .groups = {8, 20}},
		{.has_credentials = true, .uid = 7, .gid = 8, .ngroups = 2, .groups = {8, 21}},
		{.has_credentials = true, .uid = 7, .gid = 8, .ngroups = 1, .groups = {8}},
		{.has_credentials = true, .uid = 7, .gid = 8},
		{.has_credentials = true, .uid = 7, .gid = 8, .has_more_groups = true},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		open_raw(&raws[0]);
		pair.server_conn->identity = peers[i];
		snprintf(pair.server_conn->peer, sizeof(pair.server_conn->peer), "process 9");
		call_raw(&raws[0], 5);
		assert_int_equal(pair.handled, i == 0 ? 1 : i);
		assert_int_equal(replays(), i > 0);
		raw_close(&raws[0]);
	}
}

/* Checks that the cache entry of one peer stays, however many calls another peer makes. */
static void cache__is_divided_among_peers(void **state)
{
	(void)state;
	open_raw(&raws[0]);
	open_raw(&raws[1]);
	call_raw(&raws[0], 5);
	for (uint32_t xid = 100; xid < 120; xid++)
		call_raw(&raws[1], xid);
	assert_int_equal(pair.handled, 21);
	call_raw(&raws[0], 5);
	assert_int_equal(pair.handled, 21);
	assert_int_equal(replays(), 1);
	raw_close(&raws[0]);
	raw_close(&raws[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		TEST(replay__is_not_for_other_groups),
		TEST(cache__is_divided_among_peers),
	};

	return cmocka_run_group_tests_name("replay_peers", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
