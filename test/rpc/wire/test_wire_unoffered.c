/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of replies with chunks that their calls did not offer (RFC 8166 section 6.1). */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "raw_server.h"
#include "rdma1.h"

/* Makes a reply with a Reply chunk, which no call of these tests offers. */
static struct words long_reply_to(uint32_t xid, uint32_t credit)
{
	struct words m = {0};

	words_put(&m, 6, xid, 1, credit, RDMA1_NOMSG, 0, 0);
	words_put(&m, 6, 1, 1, 1234, 24, 0, 0);
	return m;
}

/*
 * Makes a reply to a NULL call that is valid except for its Write list, which has 'nchunks' chunks
 * of one segment each.
 */
static struct words reduced_reply_to(uint32_t xid, uint32_t credit, uint32_t nchunks)
{
	struct words m = {0};

	words_put(&m, 5, xid, 1, credit, RDMA1_MSG, 0);
	for (uint32_t i = 0; i < nchunks; i++)
		words_put(&m, 6, 1, 1, 1234, 24, 0, 0);
	words_put(&m, 8, 0, 0, xid, 1, 0, 0, 0, 0);
	return m;
}

/*
 * Sends 'reply'. Checks that its call ends with -EBADMSG, and that the connection continues with
 * the credits that the reply grants.
 */
static void expect_violation(const struct words *reply)
{
	struct engine_counters before = {0};
	struct engine_counters after = {0};
	struct words call;

	test_counters(pair.client, &before);
	raw_send_words(&raw, reply);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, -EBADMSG);
	test_counters(pair.client, &after);
	assert_int_equal(after.dropped, before.dropped);
	assert_int_equal(after.calls_failed - before.calls_failed, 1);
	start_null(&call);
	finish(&call);
	assert_int_equal(raw.disconnected, 0);
}

static void reply__6_1_a_reply_chunk_that_was_not_offered_ends_the_call(void **state)
{
	struct words call, m;

	(void)state;
	start_null(&call);
	m = long_reply_to(call.w[0], 4);
	expect_violation(&m);
}

static void reply__6_1_write_chunks_that_were_not_offered_end_the_call(void **state)
{
	struct words call, m;

	(void)state;
	for (uint32_t nchunks = 1; nchunks <= 3; nchunks++) {
		start_null(&call);
		m = reduced_reply_to(call.w[0], 4, nchunks);
		expect_violation(&m);
	}
	/* The reply has two chunks, although the call offered one. */
	start_read(&call, 1000);
	memset(&m, 0, sizeof(m));
	words_put(&m, 5, call.w[0], 1, 4, 0, 0);
	words_put(&m, 6, 1, 1, call.w[7], 1000, call.w[9], call.w[10]);
	words_put(&m, 6, 1, 1, call.w[7], 1000, call.w[9], call.w[10]);
	words_put(&m, 2, 0, 0);
	words_put(&m, 7, call.w[0], 1, 0, 0, 0, 0, 1000);
	expect_violation(&m);
}

/*
 * Checks that such a reply has an effect only on its own call. A reply with the XID of a call that
 * has ended, or of no call, is dropped.
 */
static void reply__with_chunks_that_were_not_offered_to_another_xid_is_dropped(void **state)
{
	struct words call, old, m;

	(void)state;
	start_null(&old);
	finish(&old);
	start_null(&call);
	m = long_reply_to(old.w[0], 4);
	raw_send_words(&raw, &m);
	m = reduced_reply_to(old.w[0], 4, 1);
	raw_send_words(&raw, &m);
	m = long_reply_to(call.w[0] + 1, 4);
	raw_send_words(&raw, &m);
	/*
	 * The XID of the RPC message differs from that of the transport header. Then the transport
	 * header is in error (RFC 8166 section 4.5.2).
	 */
	m = reduced_reply_to(call.w[0], 4, 1);
	m.w[13] ^= htobe32(1);
	raw_send_words(&raw, &m);
	expect_still_waiting();
	finish(&call);
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(reply__6_1_a_reply_chunk_that_was_not_offered_ends_the_call),
		T(reply__6_1_write_chunks_that_were_not_offered_end_the_call),
		T(reply__with_chunks_that_were_not_offered_to_another_xid_is_dropped),
	};

	return cmocka_run_group_tests_name("wire_unoffered", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
