/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the duplicate request cache between two engines: a retransmitted call runs once in the
 * program, and is answered.
 */
#include "pair_main.h"

#include <errno.h>
#include <string.h>

#include "drc.h"
#include "responder.h"

#define BYTES 20000u

static struct pair pair;
static struct outcome outcomes[2];
static uint8_t filler[BYTES];

static const bool non_idempotent[PAIR_NPROCS] = {
	[PAIR_ECHO] = true,  [PAIR_READ] = true,  [PAIR_WRITE] = true,
	[PAIR_MULTI] = true, [PAIR_LATER] = true, [PAIR_GARBAGE] = true,
	[PAIR_FAIL] = true,  [PAIR_DENY] = true,  [PAIR_BIG] = true,
};

static void reconnecting(struct weir_profile *profile)
{
	profile->reconnect = WEIR_RECONNECT_ON;
	profile->reconnect_delay_ms = 1;
	profile->reconnect_delay_max_ms = 4;
	profile->resends = 10;
}

static void small_cache(struct weir_profile *profile)
{
	reconnecting(profile);
	profile->replay_entries =
		5; /* allows two calls of one connection to be carried out at a time (quota.h) */
	profile->replay_bytes = 4096;
}

static int start(void (*change)(struct weir_profile *profile))
{
	pair_non_idempotent = non_idempotent;
	pair_start(&pair, change);
	pair_connect(&pair);
	for (uint32_t i = 0; i < BYTES; i++)
		filler[i] = (uint8_t)(i * 13 + 1);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	return start(reconnecting);
}

static int setup_small(void **state)
{
	(void)state;
	return start(small_cache);
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

static struct weir_call *begin(uint32_t i, uint32_t proc, uint32_t args_max, uint32_t results_max)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(&outcomes[i], &pair);
	params = pair_params(proc, &outcomes[i]);
	params.args_max_bytes = args_max;
	params.results_max_bytes = results_max;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	return call;
}

static void submit_word(uint32_t i, uint32_t proc, uint32_t word)
{
	struct weir_call *call = begin(i, proc, 64, 64);

	weir_xdr_put_u32(weir_call_args(call), word);
	assert_int_equal(weir_call_submit(call), 0);
}

/* Polls until the program has run 'n' calls. Meanwhile the requester receives no reply. */
static void until_handled(uint32_t n)
{
	for (uint32_t i = 0; pair.handled < n && pair_wait(&pair, i); i++) {
		pair_pass(&pair);
		if (i == 0) /* the call is sent */
			weir_engine_poll(pair.client, 0, pair.now_ns + 1);
		weir_engine_poll(pair.server, 0, pair.now_ns + 1);
	}
	assert_int_equal(pair.handled, n);
	assert_int_equal(outcomes[0].done, 0);
}

/* Loses the reply to one call, and waits until the call is retransmitted and answered. */
static void lose_reply_once(void)
{
	until_handled(pair.handled + 1);
	weir_conn_reset(pair.conn);
	pair_until(&pair, &outcomes[0].done, 1);
}

static void check_echo(struct outcome *outcome, struct weir_call *call,
		       const struct weir_result *result)
{
	const void *data;
	uint32_t len;

	(void)call;
	assert_int_equal(result->status, 0);
	assert_int_equal(weir_xdr_get_opaque_ref(result->results, &data, BYTES, &len), 0);
	assert_int_equal(len, outcome->bytes);
	assert_memory_equal(data, filler, len);
}

static void echo(uint32_t bytes)
{
	struct weir_call *call = begin(0, PAIR_ECHO, bytes + 8, bytes + 8);

	outcomes[0].check = check_echo;
	outcomes[0].bytes = bytes;
	weir_xdr_put_opaque(weir_call_args(call), filler, bytes);
	assert_int_equal(weir_call_submit(call), 0);
	lose_reply_once();
}

static void replay__inline(void **state)
{
	(void)state;
	for (uint32_t bytes = 0; bytes < 9; bytes++)
		echo(bytes);
	assert_int_equal(pair.handled, 9);
	assert_int_equal(replays(), 9);
}

static void replay__long_call_and_reply(void **state)
{
	(void)state;
	echo(BYTES);
	echo(BYTES - 1);
	assert_int_equal(pair.handled, 2);
	assert_int_equal(replays(), 2);
}

static void check_items(struct outcome *outcome, struct weir_call *call,
			const struct weir_result *result)
{
	const uint32_t words[] = {5, 7, 6};
	const void *data;
	uint32_t value, len;

	(void)outcome;
	assert_int_equal(result->status, 0);
	for (uint32_t i = 0; i < 3; i++) {
		weir_xdr_get_u32(result->results, &value);
		assert_int_equal(value, words[i]);
		if (i == 2)
			break;
		assert_int_equal(weir_result_opaque(call, result, i, &data, BYTES, &len), 0);
		assert_int_equal(len, i ? 777 : 3001);
		assert_memory_equal(data, filler, len);
	}
	assert_int_equal(weir_xdr_remaining(result->results), 0);
}

/*
 * Checks a retransmitted call with two arguments in Read chunks and two results in Write chunks.
 * The responder uses the chunks of the retransmitted call, not those of the first transmission.
 */
static void replay__chunks_are_the_new_calls(void **state)
{
	struct weir_call *call = begin(0, PAIR_MULTI, 64, 64);
	struct weir_xdr_out *out = weir_call_args(call);

	(void)state;
	outcomes[0].check = check_items;
	memcpy(pair.client_mem, filler, BYTES);
	weir_xdr_put_u32(out, 5);
	weir_call_arg_item(call, pair.client_region, pair.client_mem, 3001);
	weir_xdr_put_u32(out, 6);
	weir_call_arg_item(call, pair.client_region, pair.client_mem, 777);
	weir_xdr_put_u32(out, 7);
	weir_call_result_item(call, pair.client_region, pair.client_mem + 65536, 3001);
	weir_call_result_item(call, pair.client_region, pair.client_mem + 131072, 777);
	assert_int_equal(weir_call_submit(call), 0);
	until_handled(1);
	weir_conn_reset(pair.conn);
	pair_until(&pair, &pair.lost, 1);
	/* Until then, Writes of the first reply can still read the memory of the results. */
	pair_until(&pair, &pair.server_closed, 1);
	assert_int_equal(outcomes[0].done, 0);
	memset(pair.client_mem + 65536, 0, 131072);
	memset(pair.server_mem + (1u << 20), 0, 1u << 20); /* the server's memory of the results */
	pair_until(&pair, &outcomes[0].done, 1);
	assert_int_equal(pair.handled, 1);
	assert_int_equal(replays(), 1);
}

static void replay__errors_too(void **state)
{
	(void)state;
	submit_word(0, PAIR_GARBAGE, 1);
	lose_reply_once();
	assert_int_equal(outcomes[0].reply.accept_stat, WEIR_RPC_GARBAGE_ARGS);
	submit_word(0, PAIR_FAIL, 1);
	lose_reply_once();
	assert_int_equal(outcomes[0].reply.accept_stat, WEIR_RPC_SYSTEM_ERR);
	submit_word(0, PAIR_DENY, 1);
	lose_reply_once();
	assert_int_equal(outcomes[0].reply.reply_stat, WEIR_RPC_MSG_DENIED);
	assert_int_equal(pair.handled, 3);
	assert_int_equal(replays(), 3);
}

static void replay__same_arguments_are_two_calls_by_two_xids(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		submit_word(0, PAIR_GARBAGE, 1);
		pair_until(&pair, &outcomes[0].done, 1);
	}
	assert_int_equal(pair.handled, 2);
	assert_int_equal(replays(), 0);
}

/*
 * Checks that a peer cannot make lookups slow by repeating a call under new XIDs, because the
 * entries of these calls are in different buckets.
 */
static void replay__same_arguments_lie_in_different_buckets(void **state)
{
	const struct drc *drc = responder_of(pair.server_conn)->drc;
	const struct drc_entry *entry;
	uint32_t ncalls = 64, nfound = 0;

	(void)state;
	for (uint32_t i = 0; i < ncalls; i++) {
		submit_word(0, PAIR_GARBAGE, 1);
		pair_until(&pair, &outcomes[0].done, 1);
	}
	for (uint32_t i = 0; i <= drc->bucket_mask; i++) {
		uint32_t length = 0;

		LIST_FOREACH(entry, &drc->buckets[i], bucket)
		length++;
		assert_true(length <= ncalls / 4);
		nfound += length;
	}
	assert_int_equal(nfound, ncalls);
}

static void replay__idempotent_ones_run_again(void **state)
{
	struct weir_call *call = begin(0, PAIR_NULL, 0, 0);

	(void)state;
	assert_int_equal(weir_call_submit(call), 0);
	lose_reply_once();
	assert_int_equal(outcomes[0].status, 0);
	assert_int_equal(pair.handled, 2);
}

static void until_busy(uint32_t n)
{
	uint32_t busy = 0;

	for (uint32_t i = 0; busy < n && pair_wait(&pair, i); i++) {
		pair_poll(&pair);
		busy = pair.server_conn ? responder_of(pair.server_conn)->nbusy : 0;
	}
	assert_int_equal(busy, n);
}

/*
 * Checks a duplicate that arrives before the first call has ended. The duplicate waits for the end
 * of the first call, and is answered on the connection on which the latest duplicate arrived.
 */
static void duplicate__waits_for_the_first(void **state)
{
	(void)state;
	submit_word(0, PAIR_LATER, 41);
	until_handled(1);
	for (int n = 1; n <= 3; n++) {
		weir_conn_reset(pair.conn);
		pair_until(&pair, &pair.opened, n + 1);
		until_busy(1);
		assert_int_equal(outcomes[0].done, 0);
		assert_int_equal(pair.handled, 1);
	}
	pair_release_later(&pair);
	pair_until(&pair, &outcomes[0].done, 1);
	assert_int_equal(outcomes[0].status, 0);
	assert_int_equal(outcomes[0].words[0], 42);
	assert_int_equal(pair.handled, 1);
	assert_int_equal(replays(), 1);
	pair_settle(&pair);
	assert_int_equal(pair.server->send_pool->in_use, 1);
}

/* Checks a call that the program answers while there is no connection to send the reply on. */
static void replay__of_a_reply_that_could_not_be_sent(void **state)
{
	(void)state;
	submit_word(0, PAIR_LATER, 41);
	until_handled(1);
	weir_conn_close(pair.server_conn);
	pair_until(&pair, &pair.lost, 1);
	assert_null(weir_request_conn(pair.later[0]));
	pair_release_later(&pair);
	pair_until(&pair, &outcomes[0].done, 1);
	assert_int_equal(outcomes[0].words[0], 42);
	assert_int_equal(pair.handled, 1);
}

static void skip_replay_cache__what_had_no_effect_runs_again(void **state)
{
	(void)state;
	pair.forgets = true;
	submit_word(0, PAIR_FAIL, 1);
	lose_reply_once();
	assert_int_equal(outcomes[0].reply.accept_stat, WEIR_RPC_SYSTEM_ERR);
	assert_int_equal(pair.handled, 2);
	assert_int_equal(replays(), 0);
}

/*
 * Checks that the program is not called back for memory for the data of a call that could be a
 * duplicate.
 */
static void place__is_not_asked(void **state)
{
	struct weir_call *call = begin(0, PAIR_WRITE, 64, 64);

	(void)state;
	pair.place_writes = true;
	memset(pair.server_mem + 65536, 0x11, 64);
	weir_xdr_put_u32(weir_call_args(call), 3);
	weir_call_arg_item(call, pair.client_region, pair.client_mem, BYTES);
	weir_xdr_put_u32(weir_call_args(call), 4);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &outcomes[0].done, 1);
	assert_int_equal(outcomes[0].words[0], 7);
	assert_int_equal(pair.server_mem[65536], 0x11);
}

/*
 * Checks that a call does not run if the cache has no free entry for it, because it could run
 * twice.
 */
static void cache__full_of_calls_that_run(void **state)
{
	struct engine_counters stats = {0};
	struct outcome third;
	uint32_t word = 3;

	(void)state;
	pair_call(&pair, PAIR_NULL, NULL, 0, &third); /* its reply grants more than one credit */
	submit_word(0, PAIR_LATER, 1);
	submit_word(1, PAIR_LATER, 2);
	for (uint32_t i = 0; pair.nlater < 2 && pair_wait(&pair, i); i++)
		pair_poll(&pair);
	test_counters(pair.server, &stats);
	assert_int_equal(stats.replays_refused, 0);
	pair_call(&pair, PAIR_LATER, &word, 1, &third);
	assert_int_equal(third.reply.accept_stat, WEIR_RPC_SYSTEM_ERR);
	assert_int_equal(pair.nlater, 2);
	test_counters(pair.server, &stats);
	assert_int_equal(stats.replays_refused, 1);
	pair_release_later(&pair);
	pair_until(&pair, &outcomes[0].done, 1);
	pair_until(&pair, &outcomes[1].done, 1);
	submit_word(0, PAIR_LATER, 3);
	until_handled(4);
	pair_release_later(&pair);
	pair_until(&pair, &outcomes[0].done, 1);
	assert_int_equal(outcomes[0].words[0], 4);
}

/*
 * Checks a reply that is too long for the cache. The requester then does not learn the result, but
 * the call does not run twice.
 */
static void cache__too_long_a_reply(void **state)
{
	/*
	 * One eighth of the cache, less the RPC header, the count word, two words for the entry and
	 * three words for the only piece of the reply.
	 */
	const uint32_t longest = 4096 / 8 - 24 - 4 - 20;
	struct engine_counters stats = {0};
	struct weir_call *call;

	(void)state;
	echo(longest);
	assert_int_equal(pair.handled, 1);
	test_counters(pair.server, &stats);
	assert_int_equal(stats.replay_cache_overflows, 0);
	call = begin(0, PAIR_ECHO, BYTES + 8, BYTES + 8);
	weir_xdr_put_opaque(weir_call_args(call), filler, longest + 1);
	assert_int_equal(weir_call_submit(call), 0);
	lose_reply_once();
	assert_int_equal(outcomes[0].reply.accept_stat, WEIR_RPC_SYSTEM_ERR);
	assert_int_equal(pair.handled, 2);
	test_counters(pair.server, &stats);
	assert_int_equal(stats.replay_cache_overflows, 1);
}

static void destroy__with_calls_that_wait(void **state)
{
	(void)state;
	submit_word(0, PAIR_LATER, 41);
	until_handled(1);
	weir_conn_reset(pair.conn);
	pair_until(&pair, &pair.opened, 2);
	until_busy(1);
	pair_server_stop(&pair);
	weir_request_reply_error(pair.later[0], WEIR_RPC_SYSTEM_ERR);
	pair.nlater = 0;
}

#define TEST(name)  cmocka_unit_test_setup_teardown(name, setup, teardown)
#define MORE(name)  cmocka_unit_test_setup_teardown(name, setup_more, teardown)
#define SMALL(name) cmocka_unit_test_setup_teardown(name, setup_small, teardown)

PAIR_SETUP_MORE(setup_more, setup)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		TEST(replay__inline),
		MORE(replay__long_call_and_reply),
		TEST(replay__chunks_are_the_new_calls),
		TEST(replay__errors_too),
		TEST(replay__same_arguments_are_two_calls_by_two_xids),
		TEST(replay__same_arguments_lie_in_different_buckets),
		TEST(replay__idempotent_ones_run_again),
		TEST(duplicate__waits_for_the_first),
		TEST(replay__of_a_reply_that_could_not_be_sent),
		TEST(skip_replay_cache__what_had_no_effect_runs_again),
		TEST(place__is_not_asked),
		SMALL(cache__full_of_calls_that_run),
		SMALL(cache__too_long_a_reply),
		TEST(destroy__with_calls_that_wait),
	};

	return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
