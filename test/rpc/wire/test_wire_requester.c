/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of a requester: how it treats each kind of message that a responder can send. */
#include "pair_main.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "raw_server.h"
#include "rdma1.h"

static void call__4_2_fields_are_as_the_rfc_says(void **state)
{
	struct words call;

	(void)state;
	start_null(&call);
	assert_int_equal(call.n, 17);
	assert_int_equal(call.w[1], 1);
	assert_int_equal(call.w[2], 16); /* the number of requested credits */
	assert_int_equal(call.w[3], 0);
	assert_int_equal(call.w[7], call.w[0]);
	assert_int_equal(call.w[8], 0);
	assert_int_equal(call.w[9], 2);
	finish(&call);
}

static void reply__4_5_and_4_2_4_unsound_headers_are_dropped_without_an_answer(void **state)
{
	struct words call, m;
	struct engine_counters stats = {0};

	(void)state;
	start_null(&call);
	m = reply_to(&call, 4);
	for (uint32_t len = 1; len < 28; len++)
		raw_send(&raw, (const uint8_t *)m.w, len);
	m.w[1] = htobe32(2); /* an unknown version */
	raw_send_words(&raw, &m);
	m = reply_to(&call, 4);
	m.w[3] = htobe32(2); /* RDMA_MSGP (RFC 8166 section 4.6.1) */
	raw_send_words(&raw, &m);
	m.w[3] = htobe32(3); /* RDMA_DONE (RFC 8166 section 4.6.2) */
	raw_send_words(&raw, &m);
	m.w[3] = htobe32(9);
	raw_send_words(&raw, &m);
	m = reply_to(&call, 4);
	/* the XID of the RPC header differs from that of the transport header */
	m.w[7] = htobe32(call.w[0] + 1);
	raw_send_words(&raw, &m);
	expect_still_waiting();
	test_counters(pair.client, &stats);
	assert_int_equal(stats.dropped, 27 + 5);
	finish(&call);
	assert_int_equal(raw.nmsgs, 0);
}

static void reply__for_hours_unsound_ones_cost_no_receive(void **state)
{
	struct words call, m;

	(void)state;
	start_null(&call);
	m = reply_to(&call, 4);
	m.w[1] = htobe32(7);
	for (int i = 0; i < 500; i++)
		raw_send_words(&raw, &m);
	expect_still_waiting();
	finish(&call);
}

static void reply__without_a_call_is_dropped_and_counted(void **state)
{
	struct engine_counters stats = {0};
	struct words call, m;

	(void)state;
	start_null(&call);
	for (uint32_t i = 1; i < 40; i++) {
		m = reply_to(&call, 4);
		m.w[0] = m.w[7] = htobe32(call.w[0] + i * 0x01010101u);
		raw_send_words(&raw, &m);
	}
	expect_still_waiting();
	test_counters(pair.client, &stats);
	assert_int_equal(stats.replies_unmatched, 39);
	finish(&call);
	/* The same reply is sent again after its call has ended. */
	m = reply_to(&call, 4);
	raw_send_words(&raw, &m);
	raw_settle(&raw);
	assert_int_equal(outcome.done, 1);
	test_counters(pair.client, &stats);
	assert_int_equal(stats.replies_unmatched, 40);
}

static void odd_credits(struct weir_profile *profile)
{
	profile->credits = 17; /* allows 34 calls, so that 6 bits of an XID are the slot */
}

static int setup_odd_credits(void **state)
{
	(void)state;
	pair_start(&pair, odd_credits);
	raw_open(&raw, &pair);
	raw_serve(&raw);
	return 0;
}

/*
 * Checks replies whose XID names a slot that does not exist. The slot bits of an XID can name more
 * slots than there are calls.
 */
static void reply__to_no_call_that_there_can_be(void **state)
{
	struct engine_counters stats = {0};
	struct words call, m;

	(void)state;
	start_null(&call);
	for (uint32_t i = 1; i < 128; i++) {
		m = reply_to(&call, 4);
		m.w[0] = m.w[7] = htobe32(i < 64 ? call.w[0] ^ i : i - 64);
		raw_send_words(&raw, &m);
	}
	expect_still_waiting();
	test_counters(pair.client, &stats);
	assert_int_equal(stats.replies_unmatched, 127);
	finish(&call);
}

static void reply__4_5_rdma_error_ends_the_call(void **state)
{
	struct words call, m;

	(void)state;
	start_null(&call);
	memset(&m, 0, sizeof(m));
	words_put(&m, 5, call.w[0], 1, 4, 4, 2); /* 20 bytes, which are shorter than a reply */
	raw_send_words(&raw, &m);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, -EREMOTEIO);
	assert_int_equal(outcome.rdma_err, 2);
	start_null(&call);
	memset(&m, 0, sizeof(m));
	words_put(&m, 7, call.w[0], 1, 4, 4, 1, 1, 1);
	raw_send_words(&raw, &m);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, -EREMOTEIO);
	assert_int_equal(outcome.rdma_err, 1);
}

static void reply__4_5_an_rdma_error_that_cannot_be_decoded_is_dropped(void **state)
{
	struct words call, m = {0};

	(void)state;
	start_null(&call);
	words_put(&m, 5, call.w[0], 1, 4, 4, 77);
	raw_send_words(&raw, &m);
	memset(&m, 0, sizeof(m));
	words_put(&m, 5, call.w[0], 1, 4, 4, 1); /* ERR_VERS without the range of versions */
	raw_send_words(&raw, &m);
	expect_still_waiting();
	finish(&call);
}

static void credit__3_3_1_a_grant_of_zero_is_taken_as_one(void **state)
{
	struct engine_counters stats = {0};
	struct words call, m;

	(void)state;
	start_null(&call);
	m = reply_to(&call, 0);
	raw_send_words(&raw, &m);
	raw_until(&raw, &outcome.done, 1);
	test_counters(pair.client, &stats);
	assert_int_equal(stats.zero_grants, 1);
	start_null(&call);
	finish(&call);
}

static void credit__3_3_1_no_more_calls_than_granted_or_asked_for(void **state)
{
	struct words call, m;

	(void)state;
	for (uint32_t grant = 1; grant < 40; grant += 5) {
		uint32_t want = grant < 16 ? grant : 16;

		start_null(&call);
		m = reply_to(&call, grant);
		raw_send_words(&raw, &m);
		raw_until(&raw, &outcome.done, 1);
		for (uint32_t i = 0; i < 20; i++)
			assert_int_equal(weir_call_submit(begin(PAIR_NULL)), 0);
		raw_settle(&raw);
		/* With shared receives, the requester has few credits after each pause. */
		assert_in_range(raw.nmsgs, pair_shared ? 1 : want, want);
		for (uint32_t i = 0; i < 20; i++) {
			raw_recv_words(&raw, &call);
			m = reply_to(&call, grant);
			raw_send_words(&raw, &m);
		}
		raw_settle(&raw);
		assert_int_equal(raw.nmsgs, 0);
	}
}

static void check_violation(struct outcome *o, struct weir_call *call,
			    const struct weir_result *result)
{
	const void *data;
	uint32_t len;

	o->bytes = 0;
	assert_int_equal(result->status, 0);
	if (weir_result_opaque(call, result, 0, &data, 4096, &len) == 0)
		o->bytes = len;
}

static void reply__4_3_2_the_result_is_what_was_returned_not_what_memory_holds(void **state)
{
	struct words call, m;

	(void)state;
	start_read(&call, 1000);
	outcome.check = check_violation;
	m = read_reply(&call, 600, 600);
	raw_send_words(&raw, &m);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.bytes, 600);
	/*
	 * The result states more bytes than the Write chunk returned. Memory after the returned
	 * bytes is not part of the result.
	 */
	start_read(&call, 1000);
	outcome.check = check_violation;
	m = read_reply(&call, 600, 1000);
	raw_send_words(&raw, &m);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.bytes, 0);
}

static void reply__a_chunk_longer_than_offered_or_of_other_segments_is_dropped(void **state)
{
	struct words call, m;

	(void)state;
	start_read(&call, 1000);
	outcome.check = check_violation;
	m = read_reply(&call, 1001, 1001);
	raw_send_words(&raw, &m);
	m = read_reply(&call, 1000, 1000);
	m.w[7] ^= 1; /* changes the handle */
	raw_send_words(&raw, &m);
	m = read_reply(&call, 1000, 1000);
	m.w[10] ^= htobe32(1); /* changes the offset */
	raw_send_words(&raw, &m);
	expect_still_waiting();
	m = read_reply(&call, 1000, 1000);
	raw_send_words(&raw, &m);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.bytes, 1000);
}

static void reply__6_1_an_item_not_put_into_its_chunk_is_a_violation(void **state)
{
	struct words call, m;

	(void)state;
	start_read(&call, 8);
	outcome.check = check_violation;
	m = read_reply(&call, 0, 8);
	words_put(&m, 2, 1, 2); /* the result is inline, although the call offered a chunk */
	raw_send_words(&raw, &m);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.bytes, 0);
	start_read(&call, 8);
	outcome.check = check_violation;
	m = read_reply(&call, 8, 7); /* the count word and the length of the chunk disagree */
	raw_send_words(&raw, &m);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.bytes, 0);
}

static void reply__whose_rpc_header_is_garbage_ends_the_call(void **state)
{
	struct words call, m;

	(void)state;
	start_null(&call);
	m = reply_to(&call, 4);
	m.w[8] = htobe32(2); /* the message is neither a call nor a reply */
	raw_send_words(&raw, &m);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, -EBADMSG);
	start_null(&call);
	m = reply_to(&call, 4);
	m.n -= 2;
	raw_send_words(&raw, &m);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, -EBADMSG);
}

/* Submits 20 calls, and checks that 'want' of them are sent at once, which is the grant. */
static void expect_credits(uint32_t want)
{
	struct words call, m;

	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(weir_call_submit(begin(PAIR_NULL)), 0);
	raw_settle(&raw);
	assert_in_range(raw.nmsgs, pair_shared ? 1 : want, want);
	for (uint32_t i = 0; i < 20; i++) {
		raw_recv_words(&raw, &call);
		m = reply_to(&call, 4);
		raw_send_words(&raw, &m);
	}
	raw_settle(&raw);
	assert_int_equal(raw.nmsgs, 0);
}

/*
 * Checks that a call from the peer is dropped even if it has the XID of a pending call (RFC 8167
 * sections 4 and 4.1). The XIDs and credits of the two directions are independent. Therefore the
 * requester checks the direction of a message before XID and credits.
 */
static void receive__8167_4_a_call_with_a_pending_calls_xid_is_dropped(void **state)
{
	struct engine_counters before = {0};
	struct engine_counters after = {0};
	struct words call, m;

	(void)state;
	start_null(&call);
	test_counters(pair.client, &before);
	for (uint32_t form = 0; form < 5; form++) {
		memset(&m, 0, sizeof(m));
		words_put(&m, 4, call.w[0], 1, 9, form == 4 ? RDMA1_NOMSG : RDMA1_MSG);
		if (form == 3) { /* a Read chunk */
			words_put(&m, 2, 1, 44);
			raw_put_segment(&raw, &m, 100, 0);
		} else if (form == 4) { /* a Long Call */
			words_put(&m, 2, 1, 0);
			raw_put_segment(&raw, &m, 100, 0);
		}
		words_put(&m, 1, 0);
		if (form == 1) { /* a Write chunk of one segment, as the fast path accepts */
			words_put(&m, 2, 1, 1);
			raw_put_segment(&raw, &m, 100, 0);
		}
		words_put(&m, 1, 0);
		if (form == 2) { /* a Reply chunk */
			words_put(&m, 2, 1, 1);
			raw_put_segment(&raw, &m, 100, 0);
		} else {
			words_put(&m, 1, 0);
		}
		if (form < 4)
			words_put(&m, 11, call.w[0], 0, 2, PAIR_PROG, PAIR_VERS, PAIR_NULL, 0, 0, 0,
				  0, 0);
		raw_send_words(&raw, &m);
		expect_still_waiting();
	}
	assert_int_equal(raw.nmsgs, 0); /* the requester answered none of these messages */
	test_counters(pair.client, &after);
	assert_int_equal(after.dropped - before.dropped, 5);
	assert_int_equal(after.replies_unmatched, before.replies_unmatched);
	/* this reply grants 4 credits; the grant of 9 in the dropped messages had no effect */
	finish(&call);
	expect_credits(4);
}

/*
 * Checks that a reply which is dropped has no effect at all, so that its credits are not granted
 * (RFC 8166 section 4.5).
 */
static void credit__4_5_of_a_reply_that_is_dropped_is_not_taken(void **state)
{
	struct words call, m;

	(void)state;
	start_null(&call);
	finish(&call);
	start_read(&call, 1000);
	m = read_reply(&call, 1000, 1000);
	m.w[2] = htobe32(15);
	m.w[7] ^= 1; /* handle */
	raw_send_words(&raw, &m);
	expect_still_waiting();
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(weir_call_submit(begin(PAIR_NULL)), 0);
	raw_settle(&raw);
	/* The READ call is still outstanding and uses one of the four credits. */
	assert_in_range(raw.nmsgs, pair_shared ? 0 : 3, 3);
	m = read_reply(&call, 1000, 1000);
	raw_send_words(&raw, &m);
	for (uint32_t i = 0; i < 20; i++) {
		raw_recv_words(&raw, &call);
		m = reply_to(&call, 4);
		raw_send_words(&raw, &m);
	}
	raw_settle(&raw);
}

static void reply__of_the_largest_size_is_judged_like_any_other(void **state)
{
	struct words call;
	uint8_t big[RAW_MSG_MAX] = {0};

	(void)state;
	start_null(&call);
	/*
	 * The receives of the pair have as many bytes as its inline threshold, which is
	 * RAW_MSG_MAX. Therefore the message fits, and is checked.
	 */
	raw_send(&raw, big, sizeof(big));
	expect_still_waiting();
	finish(&call);
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(call__4_2_fields_are_as_the_rfc_says),
		T(reply__4_5_and_4_2_4_unsound_headers_are_dropped_without_an_answer),
		T(reply__for_hours_unsound_ones_cost_no_receive),
		T(reply__without_a_call_is_dropped_and_counted),
		cmocka_unit_test_setup_teardown(reply__to_no_call_that_there_can_be,
						setup_odd_credits, teardown),
		T(reply__4_5_rdma_error_ends_the_call),
		T(reply__4_5_an_rdma_error_that_cannot_be_decoded_is_dropped),
		T(credit__3_3_1_a_grant_of_zero_is_taken_as_one),
		T(credit__3_3_1_no_more_calls_than_granted_or_asked_for),
		T(reply__4_3_2_the_result_is_what_was_returned_not_what_memory_holds),
		T(reply__a_chunk_longer_than_offered_or_of_other_segments_is_dropped),
		T(reply__6_1_an_item_not_put_into_its_chunk_is_a_violation),
		T(reply__whose_rpc_header_is_garbage_ends_the_call),
		T(receive__8167_4_a_call_with_a_pending_calls_xid_is_dropped),
		T(credit__4_5_of_a_reply_that_is_dropped_is_not_taken),
		T(reply__of_the_largest_size_is_judged_like_any_other),
	};

	return cmocka_run_group_tests_name("wire_requester", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
