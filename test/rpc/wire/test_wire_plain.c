/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the replies that a requester decodes on the fast path. The tests change one byte of a
 * reply at a time. Each change must have the same consequence as for a call to which the fast path
 * does not apply.
 */
#include "pair_main.h"

#include <stdio.h>
#include <string.h>

#include "raw.h"
#include "requester.h"

#define RESULT_BYTES 300u

static struct pair pair;
static struct raw raw;
static struct outcome outcome;

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, NULL);
	raw_open(&raw, &pair);
	raw_serve(&raw);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	raw_end(&raw);
	return 0;
}

/*
 * The effect of a reply on its call ('done' to 'left_bytes') and on the counters of the requester.
 */
struct consequence {
	int done, status;
	uint32_t rdma_err;
	uint32_t nitems, item_bytes;
	/* accept_stat of the reply; bytes of results that were not decoded */
	uint32_t accept_stat, left_bytes;
	uint32_t granted, in_flight;
	uint32_t dropped, unmatched, zero_grants, errors;
};

static struct consequence seen;

static void look(struct outcome *o, struct weir_call *call, const struct weir_result *result)
{
	(void)o;
	(void)call;
	seen.done++;
	seen.status = result->status;
	seen.rdma_err = result->rdma_err;
	seen.nitems = result->nitems;
	if (result->status != 0)
		return;
	seen.item_bytes = result->nitems > 0 ? result->item_bytes[0] : 0;
	seen.accept_stat = result->reply->accept_stat;
	seen.left_bytes = (uint32_t)weir_xdr_remaining(result->results);
}

static void call(bool has_chunk, bool keeps_away, struct words *m)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(&outcome, &pair);
	outcome.check = look;
	params = pair_params(PAIR_READ, &outcome);
	params.results_max_bytes = 64;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), RESULT_BYTES);
	if (has_chunk)
		assert_int_equal(weir_call_result_item(call, pair.client_region, pair.client_mem,
						       RESULT_BYTES),
				 0);
	assert_int_equal(weir_call_submit(call), 0);
	call->has_extra |= keeps_away;
	memset(m, 0, sizeof(*m));
	raw_recv_words(&raw, m);
}

/*
 * Makes a reply to the call message 'm', with a result of two words. If 'has_chunk' is set, the
 * reply returns the Write chunk of the call.
 */
static struct words reply_to(const struct words *m, bool has_chunk)
{
	struct words r = {0};

	words_put(&r, 5, m->w[0], 1, 4, 0, 0);
	if (has_chunk)
		words_put(&r, 6, 1, 1, m->w[7], RESULT_BYTES, m->w[9], m->w[10]);
	words_put(&r, 2, 0, 0);
	words_put(&r, 6, m->w[0], 1, 0, 0, 0, 0);
	words_put(&r, 2, RESULT_BYTES, 0);
	return r;
}

static struct consequence send_changed(bool has_chunk, bool keeps_away, uint32_t at, uint8_t change)
{
	struct requester *req = requester_of(pair.conn);
	struct engine_counters before = {0};
	struct engine_counters after = {0};
	struct consequence result;
	struct words m, good, bad;

	call(has_chunk, keeps_away, &m);
	good = bad = reply_to(&m, has_chunk);
	((uint8_t *)bad.w)[at] ^= change;
	memset(&seen, 0, sizeof(seen));
	req->credits.granted = 2; /* the same number of credits before each reply */
	test_counters(pair.client, &before);
	raw_send_words(&raw, &bad);
	raw_settle(&raw);
	test_counters(pair.client, &after);
	assert_int_equal(raw.disconnected, 0);
	seen.granted = req->credits.granted;
	seen.in_flight = req->credits.in_flight;
	seen.dropped = (uint32_t)(after.dropped - before.dropped);
	seen.unmatched = (uint32_t)(after.replies_unmatched - before.replies_unmatched);
	seen.zero_grants = (uint32_t)(after.zero_grants - before.zero_grants);
	seen.errors = (uint32_t)(after.errors_received - before.errors_received);
	result = seen;
	if (result.done == 0) {
		raw_send_words(&raw, &good);
		raw_until(&raw, &outcome.done, 1);
	}
	return result;
}

/*
 * Changes each of the first 'bytes' bytes of a reply, in several ways. Checks that the consequences
 * on the fast path and on the general path are equal. Returns the number of changed replies with
 * which the call succeeded.
 */
static uint32_t change_each_byte(bool has_chunk, uint32_t bytes)
{
	static const uint8_t changes[] = {1, 2, 3, 4, 5, 6, 8, 16, 32, 64, 128, 255};
	uint32_t ngood = 0;

	for (uint32_t at = 0; at < bytes; at++) {
		for (size_t i = 0; i < sizeof(changes); i++) {
			struct consequence quick = send_changed(has_chunk, false, at, changes[i]);
			struct consequence full = send_changed(has_chunk, true, at, changes[i]);

			assert_memory_equal(&quick, &full, sizeof(quick));
			ngood += quick.done && quick.status == 0 && quick.accept_stat == 0;
		}
	}
	return ngood / (uint32_t)sizeof(changes);
}

static void reply__without_chunks_each_byte_changed(void **state)
{
	(void)state;
	assert_int_equal(change_each_byte(false, 28 + 24),
			 8); /* changes of the credits and of the flavor of the verifier */
}

static void reply__with_a_chunk_each_byte_changed(void **state)
{
	(void)state;
	/*
	 * Changes of the credits, of the flavor, and to some lengths that are below the offered
	 * one.
	 */
	assert_in_range(change_each_byte(true, 52 + 24), 8, 9);
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(reply__without_chunks_each_byte_changed),
		T(reply__with_a_chunk_each_byte_changed),
	};

	return cmocka_run_group_tests_name("wire_plain", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
