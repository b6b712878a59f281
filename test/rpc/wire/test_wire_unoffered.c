/* SPDX-License-Identifier: BSD-3-Clause */
/* Replies with chunks that their calls did not offer (RFC 8166 section 6.1). */
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

/* Makes a good reply to NULL, except that its Write list has 'nchunks' chunks of one segment
 * each. */
static struct words reduced_reply_to(uint32_t xid, uint32_t credit, uint32_t nchunks)
{
	struct words m = {0};

	words_put(&m, 5, xid, 1, credit, RDMA1_MSG, 0);
	for (uint32_t i = 0; i < nchunks; i++)
		words_put(&m, 6, 1, 1, 1234, 24, 0, 0);
	words_put(&m, 8, 0, 0, xid, 1, 0, 0, 0, 0);
	return m;
}

/* Checks that the call ends, and that the connection continues with the credits that the reply
 * grants. */
static void expect_violation(const struct words *reply)
{
	struct weir_engine_stats before = {.struct_bytes = sizeof(before)};
	struct weir_engine_stats after = {.struct_bytes = sizeof(after)};
	struct words call;

	weir_engine_stats(pair.client, &before);
	raw_send_words(&raw, reply);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, -EBADMSG);
	weir_engine_stats(pair.client, &after);
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
	/* Two chunks, although one was offered. */
	start_read(&call, 1000);
	memset(&m, 0, sizeof(m));
	words_put(&m, 5, call.w[0], 1, 4, 0, 0);
	words_put(&m, 6, 1, 1, call.w[7], 1000, call.w[9], call.w[10]);
	words_put(&m, 6, 1, 1, call.w[7], 1000, call.w[9], call.w[10]);
	words_put(&m, 2, 0, 0);
	words_put(&m, 7, call.w[0], 1, 0, 0, 0, 0, 1000);
	expect_violation(&m);
}

/* Such a reply has an effect only on its own call. With the XID of another call, or of none, it is
 * dropped. */
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
	 * The header has the XID of its call, and the RPC message another one: the header is in
	 * error (4.5.2).
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
