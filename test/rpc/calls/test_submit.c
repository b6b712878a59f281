/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of calls that are submitted but cannot be sent yet. */
#include "pair_main.h"

#include <string.h>

#include "raw.h"
#include "requester.h"

static struct pair pair;
static struct raw raw;

static void one_long_buffer(struct weir_profile *profile)
{
	profile->long_buffers = 1;
}

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, one_long_buffer);
	pair_connect(&pair);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static struct weir_call *begin(struct outcome *outcome, uint32_t proc)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(outcome, &pair);
	params = pair_params(proc, outcome);
	params.args_max_bytes = 400;
	params.results_max_bytes =
		3 * pair.profile.inline_bytes; /* so large that the call offers a Reply chunk */
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	return call;
}

/*
 * Checks that a call whose submission is refused stays unchanged. The program can add more
 * arguments and submit the call again, any number of times.
 */
static void submit__refused_many_times_is_as_it_was(void **state)
{
	struct outcome holder, outcome;
	struct engine_counters stats = {0};
	struct weir_call *call;

	(void)state;
	call = begin(&holder, PAIR_LATER);
	weir_xdr_put_u32(weir_call_args(call), 1);
	/* This call holds the only long buffer until it is answered. */
	assert_int_equal(weir_call_submit(call), 0);
	pair_settle(&pair);
	test_counters(pair.client, &stats);
	assert_int_equal(stats.long_pool_empty, 0);
	call = begin(&outcome, PAIR_ECHO);
	weir_xdr_put_u32(weir_call_args(call), 4 * 40);
	for (uint32_t i = 0; i < 40; i++) {
		weir_xdr_put_u32(weir_call_args(call), i);
		assert_int_equal(weir_call_submit(call), -ENOBUFS);
		assert_int_equal(call->npieces, 0);
	}
	test_counters(pair.client, &stats);
	assert_int_equal(stats.long_pool_empty, 40);
	pair_release_later(&pair);
	pair_until(&pair, &holder.done, 1);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.reply.accept_stat, WEIR_RPC_SUCCESS);
}

#define FIRST 32u /* number of calls, equal to the credits that are granted first */
#define ALL   64u

static struct outcome outcomes[ALL];

/* Submits a NULL call with arguments that are gathered from the application's memory. */
static void submit_gathered(uint32_t i)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(&outcomes[i], &pair);
	params = pair_params(PAIR_NULL, &outcomes[i]);
	params.ulb = NULL;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	for (uint32_t k = 0; k < 5; k++)
		assert_int_equal(weir_call_arg_item(call, pair.client_region,
						    pair.client_mem + 1000 * i + 100 * k, 5),
				 0);
	assert_int_equal(weir_call_submit(call), 0);
}

static struct words reply_to(uint32_t xid, uint32_t credit)
{
	struct words m = {0};

	words_put(&m, 7, xid, 1, credit, 0, 0, 0, 0);
	words_put(&m, 6, xid, 1, 0, 0, 0, 0);
	return m;
}

/*
 * Posts a message and does not wait for its completion, so that several messages arrive in one
 * poll.
 */
static void post(const struct words *m, uint32_t slot)
{
	struct fabric_sge sge = {raw.mem + 4096 * slot, m->n * 4, raw.mr.lkey};
	const struct fabric_wr wr = {
		.op = FABRIC_SEND, .flags = FABRIC_SIGNALED, .sge = &sge, .nsge = 1};

	memcpy(sge.addr, m->w, sge.len);
	assert_int_equal(raw.ops->post_send(raw.qp, &wr, 1), 1);
}

/*
 * Checks what happens if the responder answers a call whose Send is still in the batch, not yet
 * posted. The responder can do so because XIDs are predictable. The requester then makes space in
 * the send queue for the next call, and in that step the reply ends the call. No call is sent
 * twice, and no more calls are sent than credits were granted.
 */
static void submit__a_reply_ahead_of_its_call_sends_none_twice(void **state)
{
	uint32_t xids[FIRST], seen[2];
	struct words m = {0};

	(void)state;
	pair_start(&pair, NULL);
	raw_open(&raw, &pair);
	raw_serve(&raw);
	for (uint32_t i = 0; i < FIRST; i++)
		submit_gathered(i);
	for (uint32_t i = 0; i < FIRST; i++) {
		struct words reply;

		raw_recv_words(&raw, &m);
		xids[i] = m.w[0];
		reply = reply_to(m.w[0], i == FIRST - 1 ? 2 : 1);
		raw_send_words(&raw, &reply);
	}
	raw_until(&raw, &outcomes[FIRST - 1].done, 1);
	raw_settle(&raw);
	for (uint32_t i = FIRST; i < ALL; i++)
		submit_gathered(i); /* two of these calls are sent, and the others are queued */
	for (uint32_t i = 0; i < 2; i++) {
		raw_recv_words(&raw, &m);
		seen[i] = m.w[0];
	}
	for (uint32_t i = 0; i < 3; i++) {
		/*
		 * The second answer is for a queued call. Its XID is the next XID of that call's
		 * slot.
		 */
		const uint32_t answered[] = {seen[0], xids[FIRST - 3] + (seen[0] - xids[FIRST - 1]),
					     seen[1]};
		const struct words reply = reply_to(answered[i], i == 0 ? 2 : 16);

		post(&reply, i);
	}
	raw_settle(&raw);
	assert_in_range(raw.nmsgs, 1,
			/* the call that was answered, and the 16 calls that the answer granted */
			17);
	for (int i = 0; i < raw.nmsgs; i++)
		for (int j = 0; j < i; j++)
			assert_memory_not_equal(raw.msgs[i], raw.msgs[j], 4);
	raw_end(&raw);
	for (uint32_t i = 0; i < ALL; i++)
		assert_int_equal(outcomes[i].done, 1);
}

/* Sets each value that limits chunks as low as a profile allows. The inline threshold is large. */
static void least_of_chunks(struct weir_profile *profile)
{
	profile->chunk_bytes = 512;
	profile->inline_bytes = 16u << 10;
	profile->bulk_buffers = 1;
	profile->bulk_buffer_bytes = 4096;
	profile->read_segments = 1;
	profile->read_chunks = 1;
	profile->read_bytes = 4096;
}

static int setup_least(void **state)
{
	(void)state;
	pair_start(&pair, least_of_chunks);
	pair_connect(&pair);
	return 0;
}

static void put_item(struct weir_call *call, uint32_t offset, uint32_t bytes)
{
	assert_int_equal(
		weir_call_arg_item(call, pair.client_region, pair.client_mem + offset, bytes), 0);
}

/* Checks that a call that fits inline is carried out, however few chunks the responder accepts. */
static void submit__what_fits_inline_takes_no_more_chunks_than_any_peer_has(void **state)
{
	static const uint32_t sizes[][2] = {
		{512, 512}, {512, 4096}, {4096, 4096}, {4100, 40}, {6000, 5000}};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct outcome outcome;
		struct weir_call_params params;
		struct weir_call *call;

		outcome_init(&outcome, &pair);
		params = pair_params(PAIR_MULTI, &outcome);
		params.results_max_bytes = 20 + sizes[i][0] + sizes[i][1];
		call = weir_call_begin(pair.conn, &params);
		assert_non_null(call);
		weir_xdr_put_u32(weir_call_args(call), 1);
		put_item(call, 0, sizes[i][0]);
		weir_xdr_put_u32(weir_call_args(call), 2);
		put_item(call, 8192, sizes[i][1]);
		weir_xdr_put_u32(weir_call_args(call), 3);
		assert_int_equal(weir_call_submit(call), 0);
		pair_until(&pair, &outcome.done, 1);
		assert_int_equal(outcome.status, 0);
		assert_int_equal(outcome.reply.accept_stat, WEIR_RPC_SUCCESS);
	}
}

static void keep(struct outcome *outcome, uint32_t value)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(outcome, &pair);
	params = pair_params(PAIR_LATER, outcome);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), value);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, 600), 0);
	assert_int_equal(weir_call_submit(call), 0);
}

/*
 * Checks short calls that the program holds for a while, and whose data can be in a Read chunk. The
 * program can hold as many of them as there are credits. The number of bulk buffers does not limit
 * them.
 */
static void submit__short_calls_that_are_kept_take_no_bulk_buffers(void **state)
{
	struct outcome kept[16];
	uint32_t n = 1; /* credits before the first reply */

	(void)state;
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < n; i++)
			keep(&kept[i], i);
		pair_until_later(&pair, n);
		pair_release_later(&pair);
		for (uint32_t i = 0; i < n; i++) {
			pair_until(&pair, &kept[i].done, 1);
			assert_int_equal(kept[i].status, 0);
			assert_int_equal(kept[i].words[0], i + 1);
		}
		n = pair.profile.credits;
		assert_in_range(n, 2 * PAIR_BUFFERS, sizeof(kept) / sizeof(kept[0]));
	}
}

/*
 * Checks that arguments which are no whole XDR words are refused, before and after an item, in
 * whatever way the item is sent.
 */
static void submit__arguments_that_are_no_xdr_are_refused(void **state)
{
	(void)state;
	for (uint32_t size = 40; size <= 4000; size *= 10) {
		for (uint32_t front = 0; front < 4; front++) {
			struct weir_call_params params;
			struct outcome outcome;
			struct weir_call *call;

			outcome_init(&outcome, &pair);
			params = pair_params(PAIR_WRITE, &outcome);
			call = weir_call_begin(pair.conn, &params);
			assert_non_null(call);
			assert_non_null(weir_xdr_reserve(weir_call_args(call), 4 + front));
			put_item(call, 0, size);
			assert_non_null(weir_xdr_reserve(weir_call_args(call), 8 - front));
			if (front == 0) {
				weir_call_abandon(call);
				continue;
			}
			assert_int_equal(weir_call_submit(call), -EINVAL);
			weir_call_abandon(call);
		}
	}
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(submit__a_reply_ahead_of_its_call_sends_none_twice),
		cmocka_unit_test_setup_teardown(submit__refused_many_times_is_as_it_was, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			submit__what_fits_inline_takes_no_more_chunks_than_any_peer_has,
			setup_least, teardown),
		cmocka_unit_test_setup_teardown(
			submit__short_calls_that_are_kept_take_no_bulk_buffers, setup, teardown),
		cmocka_unit_test_setup_teardown(submit__arguments_that_are_no_xdr_are_refused,
						setup, teardown),
	};

	return cmocka_run_group_tests_name("submit", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
