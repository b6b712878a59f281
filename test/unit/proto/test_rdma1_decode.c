/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the decoder of the version 1 transport header: which messages it accepts, and the
 * verdicts on all others.
 */
#include <stdlib.h>

#include "rdma1_msg.h"

static void decode__short_message_has_all_fields(void **state)
{
	enum rdma1_reason reason;
	struct rdma1_header hdr;
	struct msg m;

	(void)state;
	for (uint32_t payload = 4; payload < 48; payload++) {
		msg_short(&m, payload);
		memset(&hdr, 0xff, sizeof(hdr));
		assert_int_equal(msg_decode(&m, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason),
				 RDMA1_V_OK);
		assert_int_equal(reason, RDMA1_R_NONE);
		assert_int_equal(hdr.xid, MSG_XID);
		assert_int_equal(hdr.vers, 1);
		assert_int_equal(hdr.credit, MSG_CREDIT);
		assert_int_equal(hdr.proc, RDMA1_MSG);
		assert_int_equal(hdr.header_bytes, RDMA1_HEADER_MIN);
		assert_int_equal(hdr.err | hdr.vers_low | hdr.vers_high, 0);
		assert_int_equal(hdr.nread_segments | hdr.nread_chunks | hdr.nwrite_chunks |
					 hdr.nreply_segments,
				 0);
		assert_false(hdr.has_reply_chunk || hdr.has_position_zero);
		assert_ptr_equal(hdr.reads, m.buf + 16);
		assert_ptr_equal(hdr.writes, m.buf + 20);
		assert_null(hdr.reply);
		assert_int_equal(hdr.read_bytes | hdr.write_bytes | hdr.reply_bytes, 0);
	}
}

static void decode__short_message_is_the_same_in_both_directions(void **state)
{
	struct msg m;

	(void)state;
	msg_short(&m, 40);
	assert_call(&m, RDMA1_V_OK, RDMA1_R_NONE);
	assert_reply(&m, RDMA1_V_OK, RDMA1_R_NONE);
}

/*
 * Checks that a change of any word makes a message other than a short one. The XID is at the offset
 * that it has in a short message, so that only the changed word differs.
 */
static void decode__short_message_is_told_by_every_word(void **state)
{
	struct msg m;

	(void)state;
	for (uint32_t at = 16; at < RDMA1_HEADER_MIN; at += 4) {
		for (uint32_t bit = 1; bit < 32; bit++) {
			msg_short(&m, 40);
			msg_set_u32(&m, at, 1u << bit);
			assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_BAD_BOOL);
		}
	}
}

static void decode__lists_are_counted_and_iterated(void **state)
{
	struct rdma1_segment_iter chunk;
	struct rdma1_write_iter writes;
	struct rdma1_read_segment read;
	struct rdma1_read_iter reads;
	struct rdma1_segment seg;
	enum rdma1_reason reason;
	struct rdma1_header hdr;
	struct msg m;

	(void)state;
	msg_rich_call(&m, 80);
	assert_int_equal(msg_decode(&m, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason),
			 RDMA1_V_OK);
	assert_int_equal(hdr.header_bytes, m.len - 80);
	assert_int_equal(hdr.nread_segments, 3);
	assert_int_equal(hdr.nread_chunks, 2);
	assert_int_equal(hdr.nwrite_chunks, 2);
	assert_int_equal(hdr.nreply_segments, 3);
	assert_true(hdr.has_reply_chunk);
	assert_false(hdr.has_position_zero);
	assert_int_equal(hdr.read_bytes, 1001 + 5 + 4091);
	assert_int_equal(hdr.write_bytes, 4096 + 6);
	assert_int_equal(hdr.reply_bytes, 6);

	rdma1_reads_begin(&hdr, &reads);
	assert_true(rdma1_reads_next(&reads, &read));
	assert_int_equal(read.position, 48);
	assert_int_equal(read.target.handle, 0x11);
	assert_int_equal(read.target.length, 1001);
	assert_int_equal(read.target.offset, 0x1000);
	assert_true(rdma1_reads_next(&reads, &read));
	assert_int_equal(read.target.length, 5);
	assert_true(rdma1_reads_next(&reads, &read));
	assert_int_equal(read.position, 1080);
	assert_int_equal(read.target.handle, 0x23);
	assert_true(read.target.offset == 0x200000000);
	assert_false(rdma1_reads_next(&reads, &read));
	assert_false(rdma1_reads_next(&reads, &read));

	rdma1_writes_begin(&hdr, &writes);
	assert_true(rdma1_writes_next(&writes, &chunk));
	assert_int_equal(chunk.left, 2);
	assert_true(rdma1_segments_next(&chunk, &seg));
	assert_int_equal(seg.handle, 0x31);
	assert_int_equal(seg.length, 4096);
	assert_true(rdma1_segments_next(&chunk, &seg));
	assert_int_equal(seg.length, 0);
	assert_false(rdma1_segments_next(&chunk, &seg));
	assert_true(rdma1_writes_next(&writes, &chunk));
	assert_int_equal(chunk.left, 0);
	assert_false(rdma1_segments_next(&chunk, &seg));
	assert_false(rdma1_writes_next(&writes, &chunk));

	rdma1_reply_begin(&hdr, &chunk);
	assert_int_equal(chunk.left, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(rdma1_segments_next(&chunk, &seg));
		assert_int_equal(seg.handle, 0x41 + i);
		assert_int_equal(seg.length, 1 + i);
	}
	assert_true(seg.offset == 0xfffffffffffffff0);
	assert_false(rdma1_segments_next(&chunk, &seg));
}

/*
 * Checks a reply that returns an unused Reply chunk before an inline message, at which other
 * implementations read the body at the wrong offset. The header has 16 fixed bytes, 4 of Read list,
 * 4 of Write list and 8 + 2 * 16 of Reply chunk.
 */
static void decode__reply_chunk_in_an_inline_reply_moves_the_body(void **state)
{
	enum rdma1_reason reason;
	struct rdma1_header hdr;
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_MSG);
	msg_end(&m);
	msg_end(&m);
	msg_chunk(&m, 2);
	msg_segment(&m, 1, 0, 0x1000);
	msg_segment(&m, 2, 0, 0x2000);
	msg_payload(&m, 24);
	assert_int_equal(msg_decode(&m, RDMA1_REPLY, &rdma1_limits_default, &hdr, &reason),
			 RDMA1_V_OK);
	assert_int_equal(hdr.header_bytes, 64);
}

static void decode__4_2_1_xids_must_be_the_same(void **state)
{
	struct msg m;

	(void)state;
	for (uint32_t bit = 0; bit < 32; bit++) {
		msg_short(&m, 40);
		msg_set_u32(&m, 28, MSG_XID ^ (1u << bit));
		assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_XID_MISMATCH);
		assert_reply(&m, RDMA1_V_DROP, RDMA1_R_XID_MISMATCH);
	}
	for (uint32_t payload = 0; payload < 4; payload++) {
		msg_short(&m, 4);
		m.len = RDMA1_HEADER_MIN + payload;
		assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_PAYLOAD_SHORT);
		assert_reply(&m, RDMA1_V_DROP, RDMA1_R_PAYLOAD_SHORT);
	}
}

static void decode__4_2_2_and_4_5_1_unknown_version_is_err_vers(void **state)
{
	static const uint32_t versions[] = {0, 2, 3, 0x01000000, 0xffffffff};
	struct msg m;

	(void)state;
	for (uint32_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		/*
		 * The rest of the message does not matter, because only the other version defines
		 * its form.
		 */
		for (uint32_t proc = 0; proc < 10; proc++) {
			if (proc == RDMA1_ERROR)
				continue;
			msg_short(&m, 40);
			msg_set_u32(&m, 4, versions[i]);
			msg_set_u32(&m, 12, proc);
			msg_set_u32(&m, 16, 0xdeadbeef);
			assert_call(&m, RDMA1_V_ERR_VERS, RDMA1_R_VERSION);
			assert_reply(&m, RDMA1_V_DROP, RDMA1_R_VERSION);
		}
	}
}

static void decode__refused_header_keeps_what_an_answer_needs(void **state)
{
	enum rdma1_reason reason;
	struct rdma1_read_iter reads;
	struct rdma1_read_segment seg;
	struct rdma1_header hdr;
	struct msg m;

	(void)state;
	msg_rich_call(&m, 80);
	msg_set_u32(&m, 4, 7);
	assert_int_equal(msg_decode(&m, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason),
			 RDMA1_V_ERR_VERS);
	assert_int_equal(hdr.xid, MSG_XID);
	assert_int_equal(hdr.vers, 7);
	assert_int_equal(hdr.credit, MSG_CREDIT);

	msg_rich_call(&m, 80);
	m.len -= 80;
	assert_int_equal(msg_decode(&m, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason),
			 RDMA1_V_ERR_CHUNK);
	assert_int_equal(hdr.xid, MSG_XID);
	assert_int_equal(hdr.header_bytes, 0);
	rdma1_reads_begin(&hdr, &reads);
	assert_false(rdma1_reads_next(&reads, &seg));
}

/* ---- 4.2.4, 4.5: procedures ---- */

static void decode__4_2_4_nomsg_call_needs_a_position_zero_chunk(void **state)
{
	enum rdma1_reason reason;
	struct rdma1_header hdr;
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_NOMSG);
	msg_read(&m, 0, 1, 5000, 0x1000);
	msg_end(&m);
	msg_end(&m);
	msg_end(&m);
	assert_int_equal(msg_decode(&m, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason),
			 RDMA1_V_OK);
	assert_true(hdr.has_position_zero);
	assert_int_equal(hdr.nread_chunks, 1);
	assert_int_equal(hdr.header_bytes, m.len);

	msg_begin(&m, RDMA1_NOMSG); /* no chunk at all, the example of RFC 8166 section 4.5.2 */
	msg_end(&m);
	msg_end(&m);
	msg_end(&m);
	assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_NOMSG_WITHOUT_CHUNK);

	msg_begin(&m, RDMA1_NOMSG); /* a Read chunk, but not a Position Zero Read chunk */
	msg_read(&m, 48, 1, 5000, 0x1000);
	msg_end(&m);
	msg_end(&m);
	msg_chunk(&m, 1);
	msg_segment(&m, 2, 5000, 0x1000);
	assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_NOMSG_WITHOUT_CHUNK);

	msg_begin(&m, RDMA1_NOMSG); /* too short to hold even an XID */
	msg_read(&m, 0, 1, 3, 0x1000);
	msg_end(&m);
	msg_end(&m);
	msg_end(&m);
	assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_PAYLOAD_SHORT);
}

static void decode__4_2_4_no_payload_follows_a_nomsg_call(void **state)
{
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_NOMSG);
	msg_read(&m, 0, 1, 5000, 0x1000);
	msg_end(&m);
	msg_end(&m);
	msg_end(&m);
	for (uint32_t extra = 1; extra < 9; extra++) {
		m.buf[m.len++] = 0;
		assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_NOMSG_WITH_PAYLOAD);
	}
}

static void decode__4_2_4_nomsg_reply_needs_a_reply_chunk(void **state)
{
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_NOMSG);
	msg_end(&m);
	msg_end(&m);
	msg_chunk(&m, 1);
	msg_segment(&m, 1, 5000, 0x1000);
	assert_reply(&m, RDMA1_V_OK, RDMA1_R_NONE);
	msg_set_u32(&m, 36, 3);
	assert_reply(&m, RDMA1_V_DROP, RDMA1_R_PAYLOAD_SHORT);

	msg_begin(&m, RDMA1_NOMSG);
	msg_end(&m);
	msg_chunk(&m, 1);
	msg_segment(&m, 1, 5000, 0x1000);
	msg_end(&m);
	msg_end(&m);
	assert_reply(&m, RDMA1_V_DROP, RDMA1_R_NOMSG_WITHOUT_CHUNK);
}

static void decode__4_2_4_responder_discards_rdma_error(void **state)
{
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_ERROR);
	msg_u32(&m, RDMA1_ERR_VERS);
	msg_u32(&m, 1);
	msg_u32(&m, 1);
	assert_call(&m, RDMA1_V_DROP, RDMA1_R_ERROR_TO_RESPONDER);
	msg_set_u32(
		&m, 4,
		2); /* dropped in any version: the answer would be an error that answers an error */
	assert_call(&m, RDMA1_V_DROP, RDMA1_R_ERROR_TO_RESPONDER);
	m.len = RDMA1_ERR_CHUNK_SIZE;
	assert_call(&m, RDMA1_V_DROP, RDMA1_R_SHORT);
}

static void decode__4_5_short_message_is_dropped(void **state)
{
	struct msg m;

	(void)state;
	for (uint32_t proc = 0; proc < 7; proc++) {
		for (uint32_t len = 0; len < RDMA1_HEADER_MIN; len++) {
			msg_short(&m, 40);
			msg_set_u32(&m, 12, proc);
			m.len = len;
			assert_call(&m, RDMA1_V_DROP, RDMA1_R_SHORT);
			assert_reply(&m, RDMA1_V_DROP, RDMA1_R_SHORT);
		}
	}
}

static void decode__4_5_requester_discards_every_bad_reply(void **state)
{
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_MSG);
	msg_end(&m);
	msg_u32(&m, 2);
	msg_end(&m);
	msg_payload(&m, 24);
	assert_reply(&m, RDMA1_V_DROP, RDMA1_R_BAD_BOOL);
	msg_begin(&m, RDMA1_MSG);
	msg_end(&m);
	msg_chunk(&m, 1000000);
	msg_payload(&m, 24);
	assert_reply(&m, RDMA1_V_DROP, RDMA1_R_TOO_MANY_SEGMENTS);
	msg_short(&m, 24);
	msg_set_u32(&m, 12, 5);
	assert_reply(&m, RDMA1_V_DROP, RDMA1_R_PROC);
}

static void decode__4_5_err_chunk_of_20_bytes_is_accepted(void **state)
{
	enum rdma1_reason reason;
	struct rdma1_header hdr;
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_ERROR);
	msg_u32(&m, RDMA1_ERR_CHUNK);
	for (uint32_t extra = 0; extra < 12; extra++, m.len++) {
		assert_int_equal(msg_decode(&m, RDMA1_REPLY, &rdma1_limits_default, &hdr, &reason),
				 RDMA1_V_OK);
		assert_int_equal(hdr.err, RDMA1_ERR_CHUNK);
		assert_int_equal(hdr.xid, MSG_XID);
		assert_int_equal(hdr.credit, MSG_CREDIT);
		assert_int_equal(hdr.header_bytes, 20);
	}
	msg_set_u32(&m, 4, 2); /* only ERR_VERS has the same form in all versions */
	assert_reply(&m, RDMA1_V_DROP, RDMA1_R_VERSION);
}

static void decode__4_5_err_vers_is_accepted_with_any_version(void **state)
{
	static const uint32_t versions[] = {0, 1, 2, 0xffffffff};
	enum rdma1_reason reason;
	struct rdma1_header hdr;
	struct msg m;

	(void)state;
	for (uint32_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		msg_begin(&m, RDMA1_ERROR);
		msg_u32(&m, RDMA1_ERR_VERS);
		msg_u32(&m, 1);
		msg_u32(&m, 3);
		msg_set_u32(&m, 4, versions[i]);
		assert_int_equal(msg_decode(&m, RDMA1_REPLY, &rdma1_limits_default, &hdr, &reason),
				 RDMA1_V_OK);
		assert_int_equal(hdr.err, RDMA1_ERR_VERS);
		assert_int_equal(hdr.vers, versions[i]);
		assert_int_equal(hdr.vers_low, 1);
		assert_int_equal(hdr.vers_high, 3);
		assert_int_equal(hdr.header_bytes, 28);
	}
}

static void decode__4_5_undecodable_rdma_error_is_dropped(void **state)
{
	static const uint32_t codes[] = {0, 3, 4, 0x02000000, 0xffffffff};
	struct msg m;

	(void)state;
	for (uint32_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		msg_begin(&m, RDMA1_ERROR);
		msg_u32(&m, codes[i]);
		assert_reply(&m, RDMA1_V_DROP, RDMA1_R_SHORT);
		msg_u32(&m, 0);
		msg_u32(&m, 0);
		assert_reply(&m, RDMA1_V_DROP, RDMA1_R_ERROR_MALFORMED);
	}
	msg_begin(&m, RDMA1_ERROR);
	msg_u32(&m, RDMA1_ERR_VERS);
	msg_u32(&m, 1);
	msg_u32(&m, 1);
	for (m.len = 27; m.len > 0; m.len--)
		assert_reply(&m, RDMA1_V_DROP, RDMA1_R_SHORT);
}

static void decode__4_5_2_unknown_procedure_is_err_chunk(void **state)
{
	static const uint32_t procs[] = {5, 6, 255, 0x01000000, 0xffffffff};
	struct msg m;

	(void)state;
	for (uint32_t i = 0; i < sizeof(procs) / sizeof(procs[0]); i++) {
		msg_short(&m, 40);
		msg_set_u32(&m, 12, procs[i]);
		assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_PROC);
		assert_reply(&m, RDMA1_V_DROP, RDMA1_R_PROC);
	}
}

static void decode__4_6_1_msgp_is_err_chunk_to_a_call_and_dropped_as_a_reply(void **state)
{
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_MSGP);
	msg_u32(&m, 64);
	msg_u32(&m, 1024);
	msg_end(&m);
	msg_end(&m);
	msg_end(&m);
	msg_payload(&m, 40);
	assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_MSGP);
	assert_reply(&m, RDMA1_V_DROP, RDMA1_R_MSGP);
}

static void decode__4_6_2_done_is_dropped(void **state)
{
	struct msg m;

	(void)state;
	msg_short(&m, 40);
	msg_set_u32(&m, 12, RDMA1_DONE);
	assert_call(&m, RDMA1_V_DROP, RDMA1_R_DONE);
	assert_reply(&m, RDMA1_V_DROP, RDMA1_R_DONE);
	m.len = 16; /* the form in which some implementations sent it */
	assert_call(&m, RDMA1_V_DROP, RDMA1_R_SHORT);
	assert_reply(&m, RDMA1_V_DROP, RDMA1_R_SHORT);
}

static void reason__each_has_a_name_and_a_sentence(void **state)
{
	(void)state;
	for (int i = 0; i < RDMA1_R_MAX; i++) {
		const char *name = rdma1_reason_name((enum rdma1_reason)i);
		const char *text = rdma1_reason_text((enum rdma1_reason)i);

		assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789"),
				 strlen(name));
		assert_true(strlen(name) > 0);
		assert_int_equal(text[strlen(text) - 1], '.');
		for (int j = 0; j < i; j++)
			assert_string_not_equal(name, rdma1_reason_name((enum rdma1_reason)j));
	}
	assert_string_equal(rdma1_reason_name(RDMA1_R_MAX), "unknown");
	assert_string_equal(rdma1_reason_text((enum rdma1_reason) - 1), "Unknown reason.");
}

/*
 * Checks limits above 65535, which mean 65535, because a header stores counts in 16 bits (RFC 8166
 * section 4.3 has no bound).
 */
static void limits__counts_over_65535_mean_65535(void **state)
{
	struct rdma1_limits wide = rdma1_limits_default;
	const uint32_t size = 16 + 65536 * RDMA1_READ_SEGMENT_SIZE + 64;
	const struct rdma1_segment empty = {1, 0, 0x1000};
	uint8_t *msg = malloc(size);
	enum rdma1_reason reason;
	struct rdma1_header hdr;
	struct rdma1_writer w;

	(void)state;
	assert_non_null(msg);
	wide.read_segments_max = wide.write_chunks_max = UINT32_MAX;
	for (uint32_t n = 65535; n <= 65536; n++) {
		enum rdma1_verdict verdict = n == 65535 ? RDMA1_V_OK : RDMA1_V_ERR_CHUNK;

		rdma1_write_begin(&w, msg, size, 7, 1, RDMA1_NOMSG);
		for (uint32_t i = 0; i < n; i++)
			rdma1_write_read_segment(
				&w, 0, &(struct rdma1_segment){1, i == 0 ? 64 : 0, 0x1000});
		rdma1_write_list_end(&w);
		rdma1_write_list_end(&w);
		rdma1_write_no_reply_chunk(&w);
		assert_int_equal(
			rdma1_decode(msg, rdma1_writer_len(&w), RDMA1_CALL, &wide, &hdr, &reason),
			verdict);
		assert_int_equal(reason, n == 65535 ? RDMA1_R_NONE : RDMA1_R_TOO_MANY_READS);

		rdma1_write_begin(&w, msg, size, 7, 1, RDMA1_NOMSG);
		rdma1_write_read_segment(&w, 0, &(struct rdma1_segment){1, 64, 0x1000});
		rdma1_write_list_end(&w);
		for (uint32_t i = 0; i < n; i++)
			rdma1_write_chunk(&w, 0);
		rdma1_write_list_end(&w);
		rdma1_write_reply_chunk(&w, 1);
		rdma1_write_segment(&w, &empty);
		assert_int_equal(
			rdma1_decode(msg, rdma1_writer_len(&w), RDMA1_CALL, &wide, &hdr, &reason),
			verdict);
		assert_int_equal(reason, n == 65535 ? RDMA1_R_NONE : RDMA1_R_TOO_MANY_WRITES);
	}
	free(msg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode__short_message_has_all_fields),
		cmocka_unit_test(decode__short_message_is_the_same_in_both_directions),
		cmocka_unit_test(decode__short_message_is_told_by_every_word),
		cmocka_unit_test(decode__lists_are_counted_and_iterated),
		cmocka_unit_test(decode__reply_chunk_in_an_inline_reply_moves_the_body),
		cmocka_unit_test(decode__4_2_1_xids_must_be_the_same),
		cmocka_unit_test(decode__4_2_2_and_4_5_1_unknown_version_is_err_vers),
		cmocka_unit_test(decode__refused_header_keeps_what_an_answer_needs),
		cmocka_unit_test(decode__4_2_4_nomsg_call_needs_a_position_zero_chunk),
		cmocka_unit_test(decode__4_2_4_no_payload_follows_a_nomsg_call),
		cmocka_unit_test(decode__4_2_4_nomsg_reply_needs_a_reply_chunk),
		cmocka_unit_test(decode__4_2_4_responder_discards_rdma_error),
		cmocka_unit_test(decode__4_5_short_message_is_dropped),
		cmocka_unit_test(decode__4_5_requester_discards_every_bad_reply),
		cmocka_unit_test(decode__4_5_err_chunk_of_20_bytes_is_accepted),
		cmocka_unit_test(decode__4_5_err_vers_is_accepted_with_any_version),
		cmocka_unit_test(decode__4_5_undecodable_rdma_error_is_dropped),
		cmocka_unit_test(decode__4_5_2_unknown_procedure_is_err_chunk),
		cmocka_unit_test(decode__4_6_1_msgp_is_err_chunk_to_a_call_and_dropped_as_a_reply),
		cmocka_unit_test(decode__4_6_2_done_is_dropped),
		cmocka_unit_test(reason__each_has_a_name_and_a_sentence),
		cmocka_unit_test(limits__counts_over_65535_mean_65535),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
