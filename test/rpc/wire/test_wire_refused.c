/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of messages that a responder must not carry out: replies, calls with invalid credentials,
 * and calls with chunks for data that are not DDP-eligible.
 */
#include <endian.h>

#include "raw_client.h"
#include "rdma1.h"

static void put_segment_of_mem(struct words *m, uint32_t len)
{
	put_segment(m, raw.mr.rkey, len, raw.raddr);
}

/*
 * Checks that a responder drops a reply (RFC 8167 section 4). A responder makes no calls, so that
 * no call could have this reply. Therefore RDMA_ERROR would be no answer to a call either.
 */
static void receive__8167_4_a_reply_is_dropped(void **state)
{
	struct engine_counters before = {0};
	struct engine_counters after = {0};
	struct words m;

	(void)state;
	/*
	 * A call is sent first, so that the following messages are compared with it
	 * (request_fast.c).
	 */
	expect_alive();
	test_counters(pair.server, &before);
	memset(raw.mem, 0, 100);
	memcpy(raw.mem, (const uint32_t[]){htobe32(9), htobe32(1)}, 8);
	for (uint32_t form = 0; form < 7; form++) {
		memset(&m, 0, sizeof(m));
		put_fixed(&m, form == 6 ? 8 : 9, 1, 4, form >= 4 && form < 6 ? 1 : 0);
		/* a Read chunk, or a Long Call that contains a reply */
		if (form == 3 || form == 5) {
			words_put(&m, 2, 1, form == 3 ? 48 : 0);
			put_segment_of_mem(&m, 100);
		}
		words_put(&m, 1, 0);
		if (form == 1) {
			words_put(&m, 2, 1, 1);
			put_segment_of_mem(&m, 100);
		}
		words_put(&m, 1, 0);
		/* a Reply chunk; in form 4 the message is a Long Reply */
		if (form == 2 || form == 4) {
			words_put(&m, 2, 1, 1);
			put_segment_of_mem(&m, 100);
		} else {
			words_put(&m, 1, 0);
		}
		if (form < 4 || form == 6) /* in form 6 the XID of the transport header differs */
			words_put(&m, 13, 9, 1, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7);
		raw_send_words(&raw, &m);
		raw_settle(&raw);
		assert_int_equal(raw.nmsgs, 0);
		assert_int_equal(raw.disconnected, 0);
	}
	test_counters(pair.server, &after);
	assert_int_equal(after.dropped - before.dropped, 7);
	assert_int_equal(after.errors_sent, before.errors_sent);
	expect_alive();
	/* The receive of each message is posted again. */
	for (uint32_t i = 0; i < 100; i++)
		raw_send_words(&raw, &m);
	raw_settle(&raw);
	assert_int_equal(raw.nmsgs, 0);
	expect_alive();
}

static void expect_denied(uint32_t xid, enum weir_rpc_auth_stat stat)
{
	struct words r = {0};

	raw_recv_words(&raw, &r);
	assert_int_equal(r.n, 12);
	assert_int_equal(r.w[0], xid);
	assert_int_equal(r.w[3], RDMA1_MSG);
	assert_int_equal(r.w[7], xid);
	assert_int_equal(r.w[8], 1);
	assert_int_equal(r.w[9], WEIR_RPC_MSG_DENIED);
	assert_int_equal(r.w[10], WEIR_RPC_AUTH_ERROR);
	assert_int_equal(r.w[11], stat);
	expect_alive();
}

/*
 * Checks that malformed credentials and verifiers get the authentication errors of RFC 5531 section
 * 9. RFC 8166 section 4.5.2 uses ERR_CHUNK for errors of the Transport stream only.
 */
static void receive__5531_9_credentials_that_are_none_are_auth_error(void **state)
{
	struct engine_counters before = {0};
	struct engine_counters after = {0};

	(void)state;
	test_counters(pair.server, &before);
	for (uint32_t verf = 0; verf < 2; verf++) {
		enum weir_rpc_auth_stat stat = verf ? WEIR_RPC_AUTH_BADVERF : WEIR_RPC_AUTH_BADCRED;
		const uint32_t at = 13 + 2 * verf; /* index of the word of the flavor */

		for (uint32_t cut = 0; cut < 2; cut++) {
			struct words m = null_call(20 + cut, 1);

			m.n = at + cut;
			raw_send_words(&raw, &m);
			expect_denied(20 + cut, stat);
		}
		for (uint32_t i = 0; i < 4; i++) {
			const uint32_t bytes[] = {401, 404, 8, UINT32_MAX};
			struct words m = null_call(30 + i, 1);

			m.w[at] = htobe32(1);
			m.w[at + 1] = htobe32(bytes[i]);
			if (bytes[i] > 8 && bytes[i] < 500)
				for (uint32_t j = 0; j < 101; j++)
					/* the bytes of the body are present */
					words_put(&m, 1, 0);
			else
				m.n = at + 3; /* cuts the message before the body */
			raw_send_words(&raw, &m);
			expect_denied(30 + i, stat);
		}
	}
	/*
	 * A call with a Read chunk and a credential that is longer than allowed: the data of the
	 * chunk are not read.
	 */
	for (uint32_t long_call = 0; long_call < 2; long_call++) {
		struct words m = {0}, rpc = null_call(40, 1);

		rpc.w[13] = htobe32(1);
		rpc.w[14] = htobe32(404);
		for (uint32_t j = 0; j < 103; j++)
			words_put(&rpc, 1, 0);
		put_fixed(&m, 40, 1, 4, long_call);
		words_put(&m, 2, 1, long_call ? 0 : 448);
		memcpy(raw.mem, rpc.w + 7, 4 * (rpc.n - 7));
		put_segment_of_mem(&m, long_call ? 4 * (rpc.n - 7) : 100);
		words_put(&m, 3, 0, 0, 0);
		if (!long_call)
			for (uint32_t j = 7; j < rpc.n; j++)
				words_put(&m, 1, be32toh(rpc.w[j]));
		raw_send_words(&raw, &m);
		expect_denied(40, WEIR_RPC_AUTH_BADCRED);
	}
	test_counters(pair.server, &after);
	assert_int_equal(after.reads - before.reads, 1); /* only the Read of the Long Call itself */
	assert_int_equal(after.errors_sent, before.errors_sent);
}

/*
 * Checks Read chunks whose ranges of the Payload stream overlap. The transport header alone shows
 * the overlap, so that nothing is read.
 */
static void pull__3_4_5_chunks_that_overlap_are_err_chunk(void **state)
{
	struct engine_counters before = {0};
	struct engine_counters after = {0};
	struct words m = {0};

	(void)state;
	test_counters(pair.server, &before);
	put_fixed(&m, 67, 1, 4, 0);
	words_put(&m, 2, 1, 48);
	put_segment_of_mem(&m, 40);
	words_put(&m, 2, 1, 64);
	put_segment_of_mem(&m, 8);
	words_put(&m, 3, 0, 0, 0);
	words_put_rpc(&m, 67, PAIR_MULTI); /* a procedure with two DDP-eligible arguments */
	words_put(&m, 5, 1, 40, 2, 8, 3);
	raw_send_words(&raw, &m);
	expect_err_chunk(67, 1);
	test_counters(pair.server, &after);
	assert_int_equal(after.reads, before.reads);
}

/* Adds an RPC header with an RPCSEC_GSS credential (RFC 2203) of the given service. */
static void put_gss_rpc(struct words *m, uint32_t xid, uint32_t proc, uint32_t service)
{
	words_put(m, 6, xid, 0, 2, PAIR_PROG, PAIR_VERS, proc);
	words_put(m, 9, 6, 20, 1, 0, 7, service, 0, 0, 0);
}

static void pull__8_2_2_items_under_gss_integrity_or_privacy_are_err_chunk(void **state)
{
	struct engine_counters before = {0};
	struct engine_counters after = {0};
	uint32_t handled;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		raw.mem[i] = pair_byte(i + 3);
	for (uint32_t service = 1; service <= 4; service++) {
		for (uint32_t long_call = 0; long_call < 2; long_call++) {
			struct words m = {0}, rpc = {0}, r = {0};
			const uint32_t rpc_at = 4096;

			handled = pair.handled;
			test_counters(pair.server, &before);
			put_gss_rpc(&rpc, 70 + service, PAIR_WRITE, service);
			words_put(&rpc, 3, 1, 100, 2);
			put_fixed(&m, 70 + service, 1, 4, long_call);
			memcpy(raw.mem + rpc_at, rpc.w, 4 * rpc.n);
			if (long_call) {
				words_put(&m, 2, 1, 0);
				put_segment(&m, raw.mr.rkey, 4 * rpc.n, raw.raddr + rpc_at);
			}
			words_put(&m, 2, 1, 4 * (rpc.n - 1));
			put_segment_of_mem(&m, 100);
			words_put(&m, 3, 0, 0, 0);
			for (uint32_t j = 0; !long_call && j < rpc.n; j++)
				words_put(&m, 1, be32toh(rpc.w[j]));
			raw_send_words(&raw, &m);
			if (service == 1) {
				raw_recv_words(&raw, &r);
				assert_int_equal(r.w[3], RDMA1_MSG);
				assert_int_equal(r.w[12], WEIR_RPC_SUCCESS);
				assert_int_equal(pair.handled, handled + 1);
				continue;
			}
			expect_err_chunk(70 + service, 1);
			test_counters(pair.server, &after);
			assert_int_equal(after.reads - before.reads, long_call);
			/* counts the call of expect_alive() */
			assert_int_equal(pair.handled, handled + 1);
		}
	}
}

/*
 * Checks replies under RPCSEC_GSS integrity and privacy (RFC 8166 section 8.2.2). The Write chunks
 * of such a call stay unused. The result is in the Payload stream, and if the reply is long, in the
 * Reply chunk.
 */
static void reply__8_2_2_nothing_is_reduced_under_gss_integrity_or_privacy(void **state)
{
	(void)state;
	for (uint32_t service = 1; service <= 3; service++) {
		for (uint32_t size = 100; size <= 8000; size += 7900) {
			bool is_reduced = service == 1;
			struct words m = {0}, r = {0};

			put_fixed(&m, 90 + service, 1, 4, 0);
			words_put(&m, 3, 0, 1, 1);
			put_segment(&m, raw.mr.rkey, 8000, raw.raddr);
			words_put(&m, 3, 0, 1, 1);
			put_segment(&m, raw.mr.rkey, 16000, raw.raddr + 16384);
			put_gss_rpc(&m, 90 + service, PAIR_READ, service);
			words_put(&m, 1, size);
			memset(raw.mem, 0xee, 8000);
			raw_send_words(&raw, &m);
			raw_recv_words(&raw, &r);
			assert_int_equal(r.w[5], 1);
			assert_int_equal(r.w[6], 1);
			assert_int_equal(r.w[8], is_reduced ? size : 0);
			assert_int_equal(raw.mem[0] == 0xee && raw.mem[99] == 0xee, !is_reduced);
			if (!is_reduced)
				assert_int_equal(r.w[3], size > 4000 ? RDMA1_NOMSG : RDMA1_MSG);
			expect_alive();
		}
	}
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(receive__8167_4_a_reply_is_dropped),
		T(receive__5531_9_credentials_that_are_none_are_auth_error),
		T(pull__3_4_5_chunks_that_overlap_are_err_chunk),
		T(pull__8_2_2_items_under_gss_integrity_or_privacy_are_err_chunk),
		T(reply__8_2_2_nothing_is_reduced_under_gss_integrity_or_privacy),
	};

	return cmocka_run_group_tests_name("wire_refused", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
