/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the chunks that a requester offers, and of its treatment of the chunks in a reply. */
#include "pair_main.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine.h"
#include "raw.h"

#define BIG_BYTES 5000u

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

static struct weir_call *begin(uint32_t proc, uint32_t results_max)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(&outcome, &pair);
	params = pair_params(proc, &outcome);
	params.results_max_bytes = results_max;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	return call;
}

static void submit(struct weir_call *call, struct words *m)
{
	assert_int_equal(weir_call_submit(call), 0);
	memset(m, 0, sizeof(*m));
	raw_recv_words(&raw, m);
}

static void expect_dropped(const struct words *m)
{
	struct engine_counters before = {0};
	struct engine_counters after = {0};

	test_counters(pair.client, &before);
	raw_send_words(&raw, m);
	raw_settle(&raw);
	test_counters(pair.client, &after);
	assert_int_equal(after.dropped, before.dropped + 1);
	assert_int_equal(outcome.done, 0);
	assert_int_equal(raw.disconnected, 0);
}

static void call__3_4_6_a_write_chunk_has_no_room_for_padding(void **state)
{
	(void)state;
	for (uint32_t max = 1001; max <= 1004; max++) {
		struct weir_call *call = begin(PAIR_READ, 64);
		struct words m, r = {0};

		weir_xdr_put_u32(weir_call_args(call), max);
		assert_int_equal(
			weir_call_result_item(call, pair.client_region, pair.client_mem, max), 0);
		submit(call, &m);
		assert_int_equal(m.w[6], 1);
		assert_int_equal(m.w[8], max);
		words_put(&r, 5, m.w[0], 1, 4, 4, 2);
		raw_send_words(&raw, &r);
		raw_until(&raw, &outcome.done, 1);
	}
}

/*
 * Returns the length in bytes of the Position Zero Read chunk of a message. Checks that the Read
 * list has no other chunk.
 */
static uint32_t position_zero_bytes(const struct words *m)
{
	uint32_t sum = 0, at = 4;

	assert_int_equal(m->w[3], 1); /* RDMA_NOMSG */
	for (; m->w[at] == 1; at += 6) {
		assert_int_equal(m->w[at + 1], 0);
		sum += m->w[at + 3];
	}
	return sum;
}

static void call__3_5_3_the_chunk_of_a_long_call_includes_roundup_padding(void **state)
{
	(void)state;
	for (uint32_t len = BIG_BYTES; len < BIG_BYTES + 5; len++) {
		struct weir_call *call = begin(PAIR_ECHO, 64);
		struct words m, r = {0};

		assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, len),
				 0);
		submit(call, &m);
		assert_int_equal(position_zero_bytes(&m), 40 + 4 + (len + 3) / 4 * 4);
		words_put(&r, 5, m.w[0], 1, 4, 4, 2);
		raw_send_words(&raw, &r);
		raw_until(&raw, &outcome.done, 1);
	}
}

static void call__3_4_2_an_empty_item_is_the_one_that_the_binding_allows(void **state)
{
	struct weir_call *call = begin(PAIR_WRITE, 64);
	struct words m, r = {0};

	(void)state;
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, 0), 0);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, BIG_BYTES),
			 0);
	submit(call, &m);
	/* no argument is in another chunk */
	assert_int_equal(position_zero_bytes(&m), 40 + 4 + 4 + BIG_BYTES);
	words_put(&r, 5, m.w[0], 1, 4, 4, 2);
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
}

/*
 * Overwrites the memory of the Reply chunk while the requester decodes the reply, as a peer could
 * that has mapped this memory. The result must not change.
 */
static void check_big(struct outcome *o, struct weir_call *call, const struct weir_result *result)
{
	const struct weir_region *exposed = pair.client->long_pool->region;
	const void *data;
	uint32_t len;

	(void)o;
	(void)call;
	assert_int_equal(result->status, 0);
	if (!pair.client->dev->attr.revokes_access)
		memset(exposed->base, 0xee, exposed->len_bytes);
	assert_int_equal(weir_xdr_get_opaque_ref(result->results, &data, BIG_BYTES, &len), 0);
	assert_int_equal(len, BIG_BYTES);
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(((const uint8_t *)data)[i], pair_byte(i));
}

/*
 * Begins a call that offers a Reply chunk, and writes a Long Reply into that chunk. Sets *m to the
 * call message and returns the reply message, which the test sends.
 */
static struct words start_big(struct words *m)
{
	struct weir_call *call = begin(PAIR_BIG, 2 * BIG_BYTES);
	struct words stream = {0}, r = {0};

	outcome.check = check_big;
	weir_xdr_put_u32(weir_call_args(call), BIG_BYTES);
	submit(call, m);
	assert_int_equal(m->w[6], 1); /* a Reply chunk */
	assert_int_equal(m->w[7], 1); /* of one segment */
	words_put(&stream, 7, m->w[0], 1, 0, 0, 0, 0, BIG_BYTES);
	memcpy(raw.mem, stream.w, 28);
	for (uint32_t i = 0; i < BIG_BYTES; i++)
		raw.mem[28 + i] = pair_byte(i);
	raw_write(&raw, m->w[8], (uint64_t)m->w[10] << 32 | m->w[11], 28 + BIG_BYTES);
	words_put(&r, 6, m->w[0], 1, 4, 1, 0, 0);
	words_put(&r, 6, 1, 1, m->w[8], 28 + BIG_BYTES, m->w[10], m->w[11]);
	return r;
}

/*
 * Checks RFC 8166 section 8.2.2: a requester moves no data into chunks under RPCSEC_GSS integrity
 * (service 2) or privacy (service 3).
 */
static void call__8_2_2_nothing_is_reduced_under_gss_integrity_or_privacy(void **state)
{
	uint8_t gss[20] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7};
	const struct weir_rpc_auth cred = {
		.flavor = WEIR_RPC_AUTH_GSS, .len_bytes = 20, .body = gss};

	(void)state;
	for (gss[15] = 1; gss[15] <= 3; gss[15]++) {
		for (uint32_t writes = 0; writes < 2; writes++) {
			uint32_t procs[] = {PAIR_READ, PAIR_WRITE};
			struct weir_call_params params;
			struct weir_call *call;
			struct words m, r = {0};
			bool is_reduced = gss[15] == 1;

			outcome_init(&outcome, &pair);
			params = pair_params(procs[writes], &outcome);
			params.cred = &cred;
			params.results_max_bytes = 64;
			call = weir_call_begin(pair.conn, &params);
			assert_non_null(call);
			weir_xdr_put_u32(weir_call_args(call), BIG_BYTES);
			if (writes)
				assert_int_equal(weir_call_arg_item(call, pair.client_region,
								    pair.client_mem, BIG_BYTES),
						 0);
			else
				assert_int_equal(weir_call_result_item(call, pair.client_region,
								       pair.client_mem, BIG_BYTES),
						 0);
			submit(call, &m);
			/*
			 * A WRITE becomes a Long Call, instead of a call with a Read chunk. A READ
			 * offers a Reply chunk, instead of a Write chunk.
			 */
			assert_int_equal(m.w[3], writes && !is_reduced);
			assert_int_equal(m.w[4], writes);
			if (writes)
				assert_int_equal(m.w[5] == 0, !is_reduced);
			else
				assert_int_equal(m.w[5], is_reduced);
			if (!writes && !is_reduced)
				assert_int_equal(m.w[6], 1);
			/* an RDMA_ERROR, which ends the call */
			words_put(&r, 5, m.w[0], 1, 4, 4, 2);
			raw_send_words(&raw, &r);
			raw_until(&raw, &outcome.done, 1);
		}
	}
}

static void reply__a_reply_chunk_of_another_segment_is_dropped(void **state)
{
	/* indexes of the words of handle and offset in the reply */
	static const uint32_t words[] = {8, 10, 11};
	struct words m, good = start_big(&m), bad;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		bad = good;
		bad.w[words[i]] ^= htobe32(4);
		expect_dropped(&bad);
	}
	bad = good;
	bad.w[9] = htobe32(m.w[9] + 4); /* longer than the segment that the call offered */
	expect_dropped(&bad);
	raw_send_words(&raw, &good);
	raw_until(&raw, &outcome.done, 1);
}

static void reply__a_long_reply_is_out_of_reach_when_it_is_looked_at(void **state)
{
	struct words m, good = start_big(&m);

	(void)state;
	raw_send_words(&raw, &good);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
}

static void check_two(struct outcome *o, struct weir_call *call, const struct weir_result *result)
{
	(void)call;
	assert_int_equal(result->status, 0);
	assert_int_equal(result->nitems, 2);
	o->bytes = result->item_bytes[0] + result->item_bytes[1];
}

static void reply__each_of_several_write_chunks_is_checked(void **state)
{
	/* indexes of the words of handle and offset of both chunks */
	static const uint32_t words[] = {7, 9, 10, 13, 15, 16};
	struct weir_call *call = begin(PAIR_MULTI, 64);
	struct words m, good = {0}, bad;

	(void)state;
	outcome.check = check_two;
	assert_int_equal(weir_call_result_item(call, pair.client_region, pair.client_mem, 100), 0);
	assert_int_equal(
		weir_call_result_item(call, pair.client_region, pair.client_mem + 4096, 200), 0);
	submit(call, &m);
	assert_int_equal(m.w[5] & m.w[6] & m.w[11] & m.w[12], 1); /* two chunks of one segment */
	words_put(&good, 5, m.w[0], 1, 4, 0, 0);
	words_put(&good, 6, 1, 1, m.w[7], 50, m.w[9], m.w[10]);
	words_put(&good, 6, 1, 1, m.w[13], 60, m.w[15], m.w[16]);
	words_put(&good, 2, 0, 0);
	words_put(&good, 6, m.w[0], 1, 0, 0, 0, 0);
	for (uint32_t i = 0; i < 6; i++) {
		bad = good;
		bad.w[words[i]] ^= htobe32(4);
		expect_dropped(&bad);
	}
	bad = good;
	bad.w[14] = htobe32(201);
	expect_dropped(&bad);
	raw_send_words(&raw, &good);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.bytes, 110);
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(call__3_4_6_a_write_chunk_has_no_room_for_padding),
		T(call__3_5_3_the_chunk_of_a_long_call_includes_roundup_padding),
		T(call__3_4_2_an_empty_item_is_the_one_that_the_binding_allows),
		T(call__8_2_2_nothing_is_reduced_under_gss_integrity_or_privacy),
		T(reply__a_reply_chunk_of_another_segment_is_dropped),
		T(reply__a_long_reply_is_out_of_reach_when_it_is_looked_at),
		T(reply__each_of_several_write_chunks_is_checked),
	};

	return cmocka_run_group_tests_name("wire_chunks", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
