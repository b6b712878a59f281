/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the properties in effect: their defaults, which of them can change, and values that
 * contradict each other.
 */
#include "rdma2_msg.h"
#include "rdma2_prop_state.h"

/* A propset, followed by a subset. */
struct told {
	struct msg m;
	uint32_t count;
};

static void told_begin(struct told *t)
{
	memset(t, 0, sizeof(*t));
	msg_u32(&t->m, 0);
}

static void told_u32(struct told *t, uint32_t which, uint32_t value)
{
	msg_u32(&t->m, which);
	msg_u32(&t->m, 4);
	msg_u32(&t->m, value);
	msg_set_u32(&t->m, 0, ++t->count);
}

/*
 * Adds the structure of receives that state 'length' bytes, and have one first segment and
 * 'ntargets' targets.
 */
static void told_buffer(struct told *t, uint32_t length, uint32_t first, uint32_t ntargets,
			uint32_t size)
{
	msg_u32(&t->m, RDMA2_PROPID_RBSTRUCT);
	msg_u32(&t->m, 40);
	msg_u32(&t->m, length);
	msg_u32(&t->m, 2);
	msg_u32(&t->m, 1);
	msg_u32(&t->m, first);
	msg_u32(&t->m, 0);
	msg_u32(&t->m, 0);
	msg_u32(&t->m, ntargets);
	msg_u32(&t->m, size);
	msg_u32(&t->m, 4096);
	msg_u32(&t->m, RTR_SEG_DDP);
	msg_set_u32(&t->m, 0, ++t->count);
}

static struct rdma2_propset told_set(struct told *t, struct weir_xdr_in *in)
{
	struct rdma2_propset set;

	weir_xdr_in_init(in, t->m.buf, t->m.len);
	assert_int_equal(rdma2_propset_get(in, &set), RDMA2_PROPSET_OK);
	return set;
}

static void start(struct rdma2_properties *props, struct told *t, uint32_t nochg)
{
	struct rdma2_propsubset subset;
	struct rdma2_propset set;
	struct weir_xdr_in in;

	msg_u32(&t->m, 1);
	msg_u32(&t->m, nochg);
	set = told_set(t, &in);
	assert_int_equal(rdma2_propsubset_get(&in, &subset), 0);
	rdma2_properties_start(props, &set, &subset);
}

static uint32_t update(struct rdma2_properties *props, struct told *t)
{
	struct rdma2_propset set;
	struct weir_xdr_in in;

	set = told_set(t, &in);
	return rdma2_properties_update(props, &set);
}

static void assert_default(const struct rdma2_properties *props)
{
	assert_int_equal(props->send_bytes_max, 4096);
	assert_int_equal(props->bkreqsup, RDMA2_BKREQSUP_INLINE);
	assert_int_equal(props->rtrs, 0);
	assert_int_equal(props->request_count_max, 1);
	assert_int_equal(props->response_count_max, 1);
	assert_int_equal(props->buffer.length, 4096);
	assert_int_equal(rtr_buffer_targets(&props->buffer), 0);
}

static void init__8_1_defaults_of_a_peer_that_tells_nothing(void **state)
{
	struct rdma2_properties props;
	struct told t;

	(void)state;
	rdma2_properties_init(&props);
	assert_default(&props);
	told_begin(&t);
	start(&props, &t, 0);
	assert_default(&props);
}

static void start__takes_what_is_told(void **state)
{
	struct rdma2_properties props;
	struct told t;

	(void)state;
	told_begin(&t);
	told_u32(&t, RDMA2_PROPID_RBSIZ, 36864);
	told_u32(&t, RDMA2_PROPID_BRS, RDMA2_BKREQSUP_GENL);
	told_u32(&t, RDMA2_PROPID_RTRSUPP, 5);
	told_buffer(&t, 36864, 4096, 8, 4096);
	told_u32(&t, RDMA2_PROPID_REQRXLIM, 7);
	told_u32(&t, RDMA2_PROPID_RESPSXLIM, 9);
	start(&props, &t, 0);
	assert_int_equal(props.send_bytes_max, 36864);
	assert_int_equal(props.bkreqsup, RDMA2_BKREQSUP_GENL);
	assert_int_equal(props.rtrs, RDMA2_RTRS_XREQ | RDMA2_RTRS_XCONT);
	assert_int_equal(props.request_count_max, 7);
	assert_int_equal(props.response_count_max, 9);
	assert_int_equal(rtr_buffer_targets(&props.buffer), 8);
}

static void start__values_that_make_no_sense_are_bounded(void **state)
{
	struct rdma2_properties props;
	struct told t;

	(void)state;
	told_begin(&t);
	told_u32(&t, RDMA2_PROPID_RBSIZ, 0);
	told_u32(&t, RDMA2_PROPID_REQRXLIM, 0);
	told_u32(&t, RDMA2_PROPID_RESPSXLIM, 0);
	start(&props, &t, 0);
	assert_int_equal(props.send_bytes_max, 1024);
	assert_int_equal(props.request_count_max, 1);
	assert_int_equal(props.response_count_max, 1);
}

static void derive__8_3_structure_from_size(void **state)
{
	struct rdma2_properties props;
	struct told t;

	(void)state;
	told_begin(&t);
	told_u32(&t, RDMA2_PROPID_RBSIZ, 9000);
	start(&props, &t, 0);
	assert_int_equal(props.buffer.length, 9000);
	assert_int_equal(props.buffer.ngroups, 1);
	assert_int_equal(props.buffer.groups[0].count, 1);
	assert_int_equal(props.buffer.groups[0].length, 9000);
	assert_int_equal(props.buffer.groups[0].flags, 0);
}

static void derive__8_3_size_from_structure(void **state)
{
	struct rdma2_properties props;
	struct told t;

	(void)state;
	told_begin(&t);
	told_buffer(&t, 4096 + 3 * 512, 4096, 3, 512);
	start(&props, &t, 0);
	assert_int_equal(props.send_bytes_max, 4096 + 3 * 512);
	assert_int_equal(rtr_buffer_targets(&props.buffer), 3);
}

static void derive__smaller_of_size_and_structure_bounds_sends(void **state)
{
	struct rdma2_properties props;
	struct told t;

	(void)state;
	for (uint32_t size = 8000; size <= 16384; size += 8384) {
		told_begin(&t);
		told_buffer(&t, 12288, 4096, 2, 4096);
		told_u32(&t, RDMA2_PROPID_RBSIZ, size);
		start(&props, &t, 0);
		assert_int_equal(props.send_bytes_max, size < 12288 ? size : 12288);
		assert_int_equal(rtr_buffer_targets(&props.buffer), 2);
	}
}

/*
 * Checks structures that contradict themselves: sums that differ, segments without bytes, or a sum
 * that exceeds 32 or 64 bits. Then Sends are within each length that was stated, and place nothing.
 */
static void derive__contradicting_structures_have_no_targets(void **state)
{
	static const struct {
		uint32_t length, first, ntargets, size, send_bytes_max;
	} cases[] = {
		{20000, 4096, 2, 4096, 12288},
		{8192, 4096, 2, 4096, 8192},
		{4096, 4096, 2, 0, 4096},
		{4096, 0, 1, 4096, 4096},
		{4096, 4096, 0x10000, 0x10000, 4096},
		{4095, 4096, 0xffffffff, 0xffffffff, 4095},
		{512, 500, 3, 4, 1024},
		{0, 0, 0, 0, 1024},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rdma2_properties props;
		struct told t;

		told_begin(&t);
		told_buffer(&t, cases[i].length, cases[i].first, cases[i].ntargets, cases[i].size);
		start(&props, &t, 0);
		assert_int_equal(props.send_bytes_max, cases[i].send_bytes_max);
		assert_int_equal(rtr_buffer_targets(&props.buffer), 0);
		assert_int_equal(props.buffer.length, cases[i].send_bytes_max);
		assert_true(props.buffer.is_consistent);
	}
}

static void update__5_3_1_what_was_left_out_may_not_change(void **state)
{
	struct rdma2_properties props;
	struct told t;

	(void)state;
	told_begin(&t);
	told_u32(&t, RDMA2_PROPID_RBSIZ, 8192);
	told_u32(&t, RDMA2_PROPID_REQRXLIM, 3);
	start(&props, &t, 2); /* the second property may not change */
	told_begin(&t);
	told_u32(&t, RDMA2_PROPID_RBSIZ, 16384);
	told_u32(&t, RDMA2_PROPID_REQRXLIM, 4);
	told_u32(&t, RDMA2_PROPID_RESPSXLIM, 4);
	told_u32(&t, 0xffffff01, 4);
	assert_int_equal(update(&props, &t), 2);
	assert_int_equal(props.send_bytes_max, 16384);
	assert_int_equal(props.request_count_max, 3);
	assert_int_equal(props.response_count_max, 1);
}

static void update__structure_never_changes(void **state)
{
	struct rdma2_properties props;
	struct told t;

	(void)state;
	told_begin(&t);
	told_buffer(&t, 12288, 4096, 2, 4096);
	start(&props, &t, 0);
	told_begin(&t);
	told_buffer(&t, 36864, 4096, 8, 4096);
	assert_int_equal(update(&props, &t), 1);
	assert_int_equal(rtr_buffer_targets(&props.buffer), 2);
	rdma2_properties_init(&props);
	assert_int_equal(update(&props, &t), 1);
	assert_default(&props);
}

static void update__is_taken_where_nothing_was_told_at_first(void **state)
{
	struct rdma2_properties props;
	struct told t;

	(void)state;
	rdma2_properties_init(&props);
	told_begin(&t);
	told_u32(&t, RDMA2_PROPID_RBSIZ, 16384);
	assert_int_equal(update(&props, &t), 0);
	assert_int_equal(props.send_bytes_max, 16384);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(init__8_1_defaults_of_a_peer_that_tells_nothing),
		cmocka_unit_test(start__takes_what_is_told),
		cmocka_unit_test(start__values_that_make_no_sense_are_bounded),
		cmocka_unit_test(derive__8_3_structure_from_size),
		cmocka_unit_test(derive__8_3_size_from_structure),
		cmocka_unit_test(derive__smaller_of_size_and_structure_bounds_sends),
		cmocka_unit_test(derive__contradicting_structures_have_no_targets),
		cmocka_unit_test(update__5_3_1_what_was_left_out_may_not_change),
		cmocka_unit_test(update__structure_never_changes),
		cmocka_unit_test(update__is_taken_where_nothing_was_told_at_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
