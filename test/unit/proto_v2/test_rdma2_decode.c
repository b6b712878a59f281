/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the decoder of the version 2 transport header: which messages it accepts, and the
 * verdicts on all others.
 */
#include "rdma2_msg.h"

/* Adds the RPC header of a call or reply, as far as the decoder checks it, and some more words. */
static void rpc(struct msg *m, uint32_t type)
{
	msg_u32(m, MSG_XID);
	msg_u32(m, type);
	for (uint32_t i = 0; i < 10; i++)
		msg_u32(m, 0);
}

static void lists_begin(struct msg *m, uint32_t proc, uint32_t direction, uint32_t inv_handle)
{
	msg2_begin(m, proc);
	msg_u32(m, direction);
	msg_u32(m, inv_handle);
}

static void short_message(struct msg *m, uint32_t direction)
{
	lists_begin(m, RDMA2_MSG, direction, 0);
	for (uint32_t i = 0; i < 3; i++)
		msg_u32(m, 0);
	rpc(m, direction);
}

static void decode__vector_K_is_a_short_call(void **state)
{
	struct decoded d;
	struct msg m;

	(void)state;
	vector_read("K", &m);
	d = msg2_decode(&m);
	assert_int_equal(d.verdict, RDMA2_V_OK);
	assert_int_equal(d.hdr.lists.xid, 0x18);
	assert_int_equal(d.hdr.lists.vers, 2);
	assert_int_equal(d.hdr.lists.credit, 32);
	assert_int_equal(d.hdr.lists.proc, RDMA2_MSG);
	assert_int_equal(d.hdr.lists.header_bytes, RDMA2_HEADER_MIN);
	assert_int_equal(d.hdr.direction, RDMA1_CALL);
	assert_int_equal(d.hdr.inv_handle, 0);
	assert_false(d.hdr.may_invalidate);
	msg2_free(&d);
}

static void decode__vector_L_is_an_error(void **state)
{
	struct decoded d;
	struct msg m;

	(void)state;
	vector_read("L", &m);
	d = msg2_decode(&m);
	assert_int_equal(d.verdict, RDMA2_V_OK);
	assert_int_equal(d.hdr.lists.proc, RDMA2_ERROR);
	assert_int_equal(d.hdr.lists.err, RDMA2_ERR_INVAL_OPTION);
	assert_int_equal(d.hdr.direction, RDMA1_REPLY);
	assert_int_equal(d.hdr.lists.header_bytes, 20);
	msg2_free(&d);
}

static void decode__6_2_2_direction_is_in_the_header(void **state)
{
	struct msg m;

	(void)state;
	short_message(&m, RDMA1_REPLY);
	assert_judged(&m, RDMA2_V_OK, RDMA1_R_NONE);
	msg_set_u32(&m, 16, 2);
	assert_judged(&m, RDMA2_V_ERR_BAD_XDR, RDMA2_R_BAD_DIRECTION);
	short_message(&m, RDMA1_CALL);
	msg_set_u32(&m, RDMA2_HEADER_MIN + 4, RDMA1_REPLY);
	assert_judged(&m, RDMA2_V_ERR_BAD_XDR, RDMA2_R_DIRECTION_MISMATCH);
	short_message(&m, RDMA1_REPLY);
	msg_set_u32(&m, RDMA2_HEADER_MIN + 4, RDMA1_CALL);
	assert_judged(&m, RDMA2_V_DROP, RDMA2_R_DIRECTION_MISMATCH);
}

static void decode__lists_are_those_of_version_1(void **state)
{
	struct rdma1_segment_iter chunk;
	struct rdma1_write_iter writes;
	struct rdma1_read_segment read;
	struct rdma1_read_iter reads;
	struct rdma1_segment seg;
	struct decoded d;
	struct msg m;

	(void)state;
	lists_begin(&m, RDMA2_MSG, RDMA1_CALL, 0x22);
	msg_u32(&m, 1);
	msg_u32(&m, 48);
	msg_segment(&m, 0x11, 1001, 1u << 30);
	msg_u32(&m, 0);
	msg_u32(&m, 1);
	msg_u32(&m, 2);
	msg_segment(&m, 0x21, 5, 1);
	msg_segment(&m, 0x22, 6, 2);
	msg_u32(&m, 0);
	msg_u32(&m, 1);
	msg_u32(&m, 1);
	msg_segment(&m, 0x31, 7, 3);
	rpc(&m, RDMA1_CALL);
	d = msg2_decode(&m);
	assert_int_equal(d.reason, RDMA1_R_NONE);
	assert_int_equal(d.hdr.lists.header_bytes, m.len - 48);
	rdma1_reads_begin(&d.hdr.lists, &reads);
	assert_true(rdma1_reads_next(&reads, &read));
	assert_int_equal(read.position, 48);
	assert_int_equal(read.target.handle, 0x11);
	assert_false(rdma1_reads_next(&reads, &read));
	rdma1_writes_begin(&d.hdr.lists, &writes);
	assert_true(rdma1_writes_next(&writes, &chunk));
	assert_int_equal(chunk.left, 2);
	assert_true(rdma1_segments_next(&chunk, &seg));
	assert_int_equal(seg.length, 5);
	rdma1_reply_begin(&d.hdr.lists, &chunk);
	assert_true(rdma1_segments_next(&chunk, &seg));
	assert_int_equal(seg.handle, 0x31);
	assert_true(d.hdr.may_invalidate);
	msg2_free(&d);
}

/*
 * Checks the handle to invalidate: one of the Read list, of the Write list, of the Reply chunk, or
 * of none of them.
 */
static void decode__6_2_3_only_a_handle_of_the_call_may_be_invalidated(void **state)
{
	static const struct {
		uint32_t handle;
		bool may;
	} cases[] = {{0x11, true}, {0x21, true}, {0x31, true}, {0x41, false}, {0, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct decoded d;
		struct msg m;

		lists_begin(&m, RDMA2_MSG, RDMA1_CALL, cases[i].handle);
		msg_u32(&m, 1);
		msg_u32(&m, 48);
		msg_segment(&m, 0x11, 8, 0);
		msg_u32(&m, 0);
		msg_u32(&m, 1);
		msg_u32(&m, 1);
		msg_segment(&m, 0x21, 5, 1);
		msg_u32(&m, 0);
		msg_u32(&m, 1);
		msg_u32(&m, 1);
		msg_segment(&m, 0x31, 7, 3);
		rpc(&m, RDMA1_CALL);
		d = msg2_decode(&m);
		assert_int_equal(d.verdict, RDMA2_V_OK);
		assert_int_equal(d.hdr.inv_handle, cases[i].handle);
		assert_int_equal(d.hdr.may_invalidate, cases[i].may);
		msg2_free(&d);
	}
}

static void decode__inv_handle_of_a_reply_means_nothing(void **state)
{
	struct decoded d;
	struct msg m;

	(void)state;
	lists_begin(&m, RDMA2_NOMSG, RDMA1_REPLY, 0x31);
	msg_u32(&m, 0);
	msg_u32(&m, 0);
	msg_u32(&m, 1);
	msg_u32(&m, 1);
	msg_segment(&m, 0x31, 700, 3);
	d = msg2_decode(&m);
	assert_int_equal(d.verdict, RDMA2_V_OK);
	assert_false(d.hdr.may_invalidate);
	msg2_free(&d);
}

static void decode__nomsg_needs_its_chunk(void **state)
{
	struct msg m;

	(void)state;
	lists_begin(&m, RDMA2_NOMSG, RDMA1_CALL, 0);
	for (uint32_t i = 0; i < 3; i++)
		msg_u32(&m, 0);
	assert_judged(&m, RDMA2_V_ERR_BAD_XDR, RDMA1_R_NOMSG_WITHOUT_CHUNK);
	msg_set_u32(&m, 16, RDMA1_REPLY);
	assert_judged(&m, RDMA2_V_DROP, RDMA1_R_NOMSG_WITHOUT_CHUNK);
}

static void decode__6_2_1_msg_has_a_payload(void **state)
{
	struct msg m;

	(void)state;
	short_message(&m, RDMA1_CALL);
	for (m.len = RDMA2_HEADER_MIN; m.len < RDMA2_HEADER_MIN + 8; m.len++)
		assert_judged(&m, RDMA2_V_ERR_BAD_XDR, RDMA1_R_PAYLOAD_SHORT);
	msg_set_u32(&m, RDMA2_HEADER_MIN, MSG_XID + 1);
	assert_judged(&m, RDMA2_V_ERR_BAD_XDR, RDMA1_R_XID_MISMATCH);
}

static void decode__cut_short_anywhere_is_never_accepted(void **state)
{
	static const char *const names[] = {"A", "J", "K", "L"};
	static const uint32_t headers[] = {28 + 20, 136, 36 + 8, 20};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct msg m;

		vector_read(names[i], &m);
		for (m.len = headers[i]; m.len-- > 0;) {
			struct decoded d = msg2_decode(&m);

			assert_int_not_equal(d.verdict, RDMA2_V_OK);
			if (m.len < 16)
				assert_int_equal(d.verdict, RDMA2_V_DROP);
			assert_int_equal(d.hdr.lists.header_bytes, 0);
			msg2_free(&d);
		}
	}
}

static void decode__7_other_versions_get_err_vers(void **state)
{
	static const uint32_t versions[] = {0, 1, 3, 0xffffffff};
	struct msg m;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		short_message(&m, RDMA1_CALL);
		msg_set_u32(&m, 4, versions[i]);
		assert_judged(&m, RDMA2_V_ERR_VERS, RDMA2_R_VERSION);
	}
}

static void decode__6_2_4_unknown_procedures_get_inval_proc(void **state)
{
	static const uint32_t procs[] = {2, 3, 10, 0xffffffff};
	struct msg m;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		short_message(&m, RDMA1_CALL);
		msg_set_u32(&m, 12, procs[i]);
		assert_judged(&m, RDMA2_V_ERR_INVAL_PROC, RDMA2_R_PROC);
	}
}

static void decode__6_2_4_errors_have_their_values(void **state)
{
	struct decoded d;
	struct msg m;

	(void)state;
	for (uint32_t err = RDMA2_ERR_VERS; err <= RDMA2_ERR_SYSTEM; err++) {
		bool has_values = err == RDMA2_ERR_VERS || err == RDMA2_ERR_REPLY_RESOURCE;

		msg2_begin(&m, RDMA2_ERROR);
		msg_u32(&m, err);
		assert_judged(&m, has_values ? RDMA2_V_DROP : RDMA2_V_OK,
			      has_values ? RDMA1_R_SHORT : RDMA1_R_NONE);
		msg_u32(&m, 7);
		msg_u32(&m, 9);
		d = msg2_decode(&m);
		assert_int_equal(d.verdict, RDMA2_V_OK);
		assert_int_equal(d.hdr.lists.vers_low, err == RDMA2_ERR_VERS ? 7 : 0);
		assert_int_equal(d.hdr.lists.vers_high, err == RDMA2_ERR_VERS ? 9 : 0);
		assert_int_equal(d.hdr.segment_index, err == RDMA2_ERR_REPLY_RESOURCE ? 7 : 0);
		assert_int_equal(d.hdr.length_needed, err == RDMA2_ERR_REPLY_RESOURCE ? 9 : 0);
		msg2_free(&d);
	}
	msg_set_u32(&m, 16, 0);
	assert_judged(&m, RDMA2_V_DROP, RDMA1_R_ERROR_MALFORMED);
	msg_set_u32(&m, 16, 7);
	assert_judged(&m, RDMA2_V_DROP, RDMA1_R_ERROR_MALFORMED);
}

/*
 * Checks RDMA_ERROR from responders of version 1. Some return the version of the message that they
 * did not understand, and others their own.
 */
static void decode__err_vers_is_accepted_with_any_version(void **state)
{
	struct msg m;

	(void)state;
	msg2_begin(&m, RDMA2_ERROR);
	msg_u32(&m, RDMA2_ERR_VERS);
	msg_u32(&m, 1);
	msg_u32(&m, 1);
	msg_set_u32(&m, 4, 1);
	assert_judged(&m, RDMA2_V_OK, RDMA1_R_NONE);
	msg_set_u32(&m, 16, RDMA2_ERR_SYSTEM);
	assert_judged(&m, RDMA2_V_DROP, RDMA2_R_VERSION);
}

static void decode__4_1_optional_delimits_what_it_carries(void **state)
{
	struct decoded d;
	struct msg m;

	(void)state;
	msg2_begin(&m, RDMA2_OPTIONAL);
	msg_u32(&m, RDMA1_REPLY);
	msg_u32(&m, 77);
	msg_u32(&m, 5);
	msg_u32(&m, 0x01020304);
	msg_u32(&m, 0x05000000);
	msg_u32(&m, 0xdddddddd);
	d = msg2_decode(&m);
	assert_int_equal(d.verdict, RDMA2_V_OK);
	assert_int_equal(d.hdr.direction, RDMA1_REPLY);
	assert_int_equal(d.hdr.opttype, 77);
	assert_int_equal(d.hdr.optinfo_bytes, 5);
	assert_memory_equal(d.hdr.optinfo, "\1\2\3\4\5", 5);
	assert_int_equal(d.hdr.lists.header_bytes, 36);
	msg2_free(&d);

	msg_set_u32(&m, 16, RDMA1_CALL);
	msg_set_u32(&m, 24, 13);
	assert_judged(&m, RDMA2_V_ERR_BAD_XDR, RDMA1_R_TRUNCATED);
	msg_set_u32(&m, 24, 0xffffffff);
	assert_judged(&m, RDMA2_V_ERR_BAD_XDR, RDMA1_R_TRUNCATED);
	msg_set_u32(&m, 24, 11); /* its padding does not fit */
	m.len = 39;
	assert_judged(&m, RDMA2_V_ERR_BAD_XDR, RDMA1_R_TRUNCATED);
}

static void decode__limits_of_lists_hold(void **state)
{
	struct msg m;

	(void)state;
	lists_begin(&m, RDMA2_MSG, RDMA1_CALL, 0);
	msg_u32(&m, 0);
	msg_u32(&m, 1);
	msg_u32(&m, 0x10000001);
	msg_segment(&m, 1, 1, 1);
	assert_judged(&m, RDMA2_V_ERR_BAD_XDR, RDMA1_R_TOO_MANY_SEGMENTS);
}

static void reason__each_has_a_name_and_a_sentence(void **state)
{
	(void)state;
	for (uint32_t reason = 0; reason < RDMA2_R_MAX; reason++) {
		const char *text = rdma2_reason_text(reason);

		assert_true(strlen(rdma2_reason_name(reason)) > 0);
		assert_int_equal(text[strlen(text) - 1], '.');
	}
	assert_string_equal(rdma2_reason_name(RDMA2_R_MAX), "unknown");
	assert_string_equal(rdma2_reason_text(RDMA2_R_MAX), "Unknown reason.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode__vector_K_is_a_short_call),
		cmocka_unit_test(decode__vector_L_is_an_error),
		cmocka_unit_test(decode__6_2_2_direction_is_in_the_header),
		cmocka_unit_test(decode__lists_are_those_of_version_1),
		cmocka_unit_test(decode__6_2_3_only_a_handle_of_the_call_may_be_invalidated),
		cmocka_unit_test(decode__inv_handle_of_a_reply_means_nothing),
		cmocka_unit_test(decode__nomsg_needs_its_chunk),
		cmocka_unit_test(decode__6_2_1_msg_has_a_payload),
		cmocka_unit_test(decode__cut_short_anywhere_is_never_accepted),
		cmocka_unit_test(decode__7_other_versions_get_err_vers),
		cmocka_unit_test(decode__6_2_4_unknown_procedures_get_inval_proc),
		cmocka_unit_test(decode__6_2_4_errors_have_their_values),
		cmocka_unit_test(decode__err_vers_is_accepted_with_any_version),
		cmocka_unit_test(decode__4_1_optional_delimits_what_it_carries),
		cmocka_unit_test(decode__limits_of_lists_hold),
		cmocka_unit_test(reason__each_has_a_name_and_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
