/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the structure of receives: its targets, and structures that contradict themselves. */
#include "rdma1_msg.h"
#include "rtr_buffer.h"

static int get(const struct msg *m, struct rtr_buffer *buffer)
{
	struct weir_xdr_in in;

	weir_xdr_in_init(&in, m->buf, m->len);
	return rtr_buffer_get(&in, buffer);
}

static void group(struct msg *m, uint32_t count, uint32_t length, uint32_t flags)
{
	msg_u32(m, count);
	msg_u32(m, length);
	msg_u32(m, 8);
	msg_u32(m, flags);
}

static void default__is_one_segment_and_no_target(void **state)
{
	struct rtr_buffer buffer;
	struct rtr_target target;

	(void)state;
	rtr_buffer_default(&buffer, 5000);
	assert_int_equal(buffer.length, 5000);
	assert_true(buffer.is_consistent);
	assert_int_equal(rtr_buffer_targets(&buffer), 0);
	assert_false(rtr_buffer_target(&buffer, 0, &target));
}

static void target__counts_ddp_segments_only(void **state)
{
	static const struct rtr_target expected[] = {{100, 8}, {108, 8}, {120, 16}};
	struct rtr_buffer buffer;
	struct rtr_target target;
	struct msg m = {.len = 0};

	(void)state;
	msg_u32(&m, 140);
	msg_u32(&m, 5);
	group(&m, 2, 50, 0);
	group(&m, 2, 8, RTR_SEG_DDP | 0x80);
	group(&m, 0, 99, RTR_SEG_DDP); /* skipped */
	group(&m, 1, 4, 2);
	group(&m, 1, 20, RTR_SEG_DDP);
	assert_int_equal(get(&m, &buffer), 0);
	assert_true(buffer.is_consistent);
	assert_int_equal(rtr_buffer_targets(&buffer), 3);
	for (uint32_t n = 0; n < 3; n++) {
		assert_true(rtr_buffer_target(&buffer, n, &target));
		assert_int_equal(target.offset, expected[n].offset);
	}
	assert_int_equal(target.length, 20);
	assert_false(rtr_buffer_target(&buffer, 3, &target));
	assert_false(rtr_buffer_target(&buffer, UINT32_MAX, &target));
}

static void get__more_groups_than_are_kept_is_inconsistent(void **state)
{
	struct rtr_buffer buffer;

	(void)state;
	for (uint32_t n = RTR_BUFFER_GROUPS_MAX; n <= RTR_BUFFER_GROUPS_MAX + 1; n++) {
		struct msg m = {.len = 0};

		msg_u32(&m, n * 64);
		msg_u32(&m, n);
		for (uint32_t i = 0; i < n; i++)
			group(&m, 1, 64, RTR_SEG_DDP);
		assert_int_equal(get(&m, &buffer), 0);
		assert_int_equal(buffer.is_consistent, n == RTR_BUFFER_GROUPS_MAX);
		assert_int_equal(buffer.sum, n * 64);
		assert_int_equal(rtr_buffer_targets(&buffer), n == RTR_BUFFER_GROUPS_MAX ? n : 0);
	}
}

static void get__sum_stays_at_its_largest(void **state)
{
	struct rtr_buffer buffer;
	struct msg m = {.len = 0};

	(void)state;
	msg_u32(&m, 4096);
	msg_u32(&m, 3);
	for (uint32_t i = 0; i < 3; i++)
		group(&m, 0xffffffff, 0xffffffff, RTR_SEG_DDP);
	assert_int_equal(get(&m, &buffer), 0);
	assert_int_equal(buffer.sum, UINT64_MAX);
	assert_false(buffer.is_consistent);
}

static void get__cut_short_is_none(void **state)
{
	struct rtr_buffer buffer;
	struct msg m = {.len = 0};

	(void)state;
	msg_u32(&m, 64);
	msg_u32(&m, 1);
	group(&m, 1, 64, 0);
	assert_int_equal(get(&m, &buffer), 0);
	while (m.len-- > 0)
		assert_int_equal(get(&m, &buffer), -EBADMSG);
	m.len = 24;
	msg_set_u32(&m, 4, 0x10000001);
	assert_int_equal(get(&m, &buffer), -EBADMSG);
}

static void put__is_what_get_reads(void **state)
{
	struct rtr_buffer buffer, again;
	struct weir_xdr_out out;
	struct weir_xdr_in in;
	uint8_t wire[64];
	struct msg m = {.len = 0};

	(void)state;
	msg_u32(&m, 4096 + 3 * 512);
	msg_u32(&m, 2);
	group(&m, 1, 4096, 0);
	group(&m, 3, 512, RTR_SEG_DDP);
	assert_int_equal(get(&m, &buffer), 0);
	weir_xdr_out_init(&out, wire, sizeof(wire));
	rtr_buffer_put(&out, &buffer);
	assert_int_equal(weir_xdr_out_len(&out), rtr_buffer_wire_bytes(&buffer));
	assert_int_equal(weir_xdr_out_len(&out), m.len);
	assert_memory_equal(wire, m.buf, m.len);
	weir_xdr_in_init(&in, wire, m.len);
	assert_int_equal(rtr_buffer_get(&in, &again), 0);
	assert_memory_equal(again.groups, buffer.groups, sizeof(again.groups));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default__is_one_segment_and_no_target),
		cmocka_unit_test(target__counts_ddp_segments_only),
		cmocka_unit_test(get__more_groups_than_are_kept_is_inconsistent),
		cmocka_unit_test(get__sum_stays_at_its_largest),
		cmocka_unit_test(get__cut_short_is_none),
		cmocka_unit_test(put__is_what_get_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
