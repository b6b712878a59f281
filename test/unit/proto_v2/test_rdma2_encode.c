/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that messages which are encoded in version 2 have the bytes of the draft and can be
 * decoded.
 */
#include "rdma2_msg.h"

#include "shape.h"
#include "wire.h"

static void write_over__is_vector_K(void **state)
{
	uint8_t *buf = malloc(RDMA2_HEADER_MIN + 4);
	struct msg m;

	(void)state;
	vector_read("K", &m);
	shape_encode(buf + RDMA2_EXTRA, SHAPE_INLINE, 0x18, 32, 0, NULL);
	rdma2_write_over(buf, RDMA1_CALL, 0);
	assert_memory_equal(buf, m.buf, RDMA2_HEADER_MIN);
	free(buf);
}

static void encode_error__is_vector_L(void **state)
{
	uint8_t buf[RDMA2_ERROR_SIZE_MAX];
	struct msg m;

	(void)state;
	vector_read("L", &m);
	assert_int_equal(rdma2_encode_error(buf, 0x11, 2, 32, RDMA2_ERR_INVAL_OPTION, 0, 0), m.len);
	assert_memory_equal(buf, m.buf, m.len);
}

/*
 * Checks that a requester of version 1 understands the message: the words at 16, 20 and 24 have the
 * same meaning in both versions.
 */
static void encode_error__err_vers_is_that_of_version_1(void **state)
{
	uint8_t one[RDMA1_ERR_VERS_SIZE], two[RDMA2_ERROR_SIZE_MAX];

	(void)state;
	assert_int_equal(rdma1_encode_err_vers(one, 9, 3, 32, 1, 2), sizeof(one));
	assert_int_equal(rdma2_encode_error(two, 9, 3, 32, RDMA2_ERR_VERS, 1, 2), sizeof(one));
	assert_memory_equal(one, two, sizeof(one));
}

static void write_over__lists_follow_direction_and_handle(void **state)
{
	const struct rdma1_segment seg = {0xabcd, 4096, 0x1000};
	struct rdma1_segment_iter chunk;
	struct rdma1_segment got;
	struct rdma1_writer w;
	struct decoded d;
	struct msg m = {.len = 0};

	(void)state;
	rdma1_write_begin(&w, m.buf + RDMA2_EXTRA, sizeof(m.buf) - RDMA2_EXTRA, 77, 5, RDMA1_NOMSG);
	rdma1_write_list_end(&w);
	rdma1_write_list_end(&w);
	rdma1_write_reply_chunk(&w, 1);
	rdma1_write_segment(&w, &seg);
	assert_false(w.failed);
	rdma2_write_over(m.buf, RDMA1_REPLY, 0);
	m.len = rdma1_writer_len(&w) + RDMA2_EXTRA;
	d = msg2_decode(&m);
	assert_int_equal(d.verdict, RDMA2_V_OK);
	assert_int_equal(d.hdr.lists.xid, 77);
	assert_int_equal(d.hdr.lists.credit, 5);
	assert_int_equal(d.hdr.direction, RDMA1_REPLY);
	assert_int_equal(d.hdr.lists.header_bytes, m.len);
	rdma1_reply_begin(&d.hdr.lists, &chunk);
	assert_true(rdma1_segments_next(&chunk, &got));
	assert_memory_equal(&got, &seg, sizeof(seg));
	msg2_free(&d);
}

static void inv_handle__is_what_the_decoder_finds(void **state)
{
	struct msg m = {.len = RDMA2_LISTS_AT};

	(void)state;
	wire_put_u32(rdma2_inv_handle(m.buf), 0x12345678);
	assert_int_equal(wire_get_u32(m.buf + 20), 0x12345678);
}

static void verdict_err__names_the_error_to_send(void **state)
{
	(void)state;
	assert_int_equal(rdma2_verdict_err(RDMA2_V_ERR_VERS), RDMA2_ERR_VERS);
	assert_int_equal(rdma2_verdict_err(RDMA2_V_ERR_BAD_XDR), RDMA2_ERR_BAD_XDR);
	assert_int_equal(rdma2_verdict_err(RDMA2_V_ERR_INVAL_PROC), RDMA2_ERR_INVAL_PROC);
	assert_int_equal(rdma2_verdict_err(RDMA2_V_ERR_INVAL_OPTION), RDMA2_ERR_INVAL_OPTION);
	assert_int_equal(rdma2_verdict_err(RDMA2_V_ERR_SYSTEM), RDMA2_ERR_SYSTEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_over__is_vector_K),
		cmocka_unit_test(encode_error__is_vector_L),
		cmocka_unit_test(encode_error__err_vers_is_that_of_version_1),
		cmocka_unit_test(write_over__lists_follow_direction_and_handle),
		cmocka_unit_test(inv_handle__is_what_the_decoder_finds),
		cmocka_unit_test(verdict_err__names_the_error_to_send),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
