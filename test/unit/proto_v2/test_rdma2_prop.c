/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of property lists: which are accepted, which are refused, and what is encoded. */
#include "rdma2_msg.h"

static void prop(struct msg *m, uint32_t which, uint32_t value)
{
	msg_u32(m, which);
	msg_u32(m, 4);
	msg_u32(m, value);
}

static void connprop__vector_J_has_all_six(void **state)
{
	struct rdma2_propval value;
	struct rdma2_propset left;
	struct rtr_target target;
	struct rtr_buffer buffer;
	struct weir_xdr_in in;
	struct decoded d;
	struct msg m;

	(void)state;
	vector_read("J", &m);
	d = msg2_decode(&m);
	assert_int_equal(d.verdict, RDMA2_V_OK);
	assert_int_equal(d.hdr.lists.proc, RDMA2_CONNPROP);
	assert_int_equal(d.hdr.lists.header_bytes, m.len);
	assert_int_equal(d.hdr.set.count, 6);
	left = d.hdr.set;
	for (uint32_t n = 0; n < 6; n++) {
		assert_true(rdma2_propset_next(&left, &value));
		assert_int_equal(value.which, n + 1);
		assert_true(rdma2_propsubset_has(&d.hdr.subset, n));
		if (value.which != RDMA2_PROPID_RBSTRUCT)
			continue;
		weir_xdr_in_init(&in, value.data, value.len_bytes);
		assert_int_equal(rtr_buffer_get(&in, &buffer), 0);
		assert_true(buffer.is_consistent);
		assert_int_equal(rtr_buffer_targets(&buffer), 8);
		assert_true(rtr_buffer_target(&buffer, 7, &target));
		assert_int_equal(target.offset, 32768);
		assert_int_equal(target.length, 4096);
	}
	assert_false(rdma2_propset_next(&left, &value));
	assert_false(rdma2_propsubset_has(&d.hdr.subset, 6));
	assert_false(rdma2_propsubset_has(&d.hdr.subset, 32));
	msg2_free(&d);
}

static void connprop__vector_J_is_encoded(void **state)
{
	const struct rtr_buffer buffer = {
		.length = 36864,
		.ngroups = 2,
		.groups = {{1, 4096, 8, 0}, {8, 4096, 4096, RTR_SEG_DDP}}};
	struct weir_xdr_out out;
	uint8_t buf[200];
	struct msg m;

	(void)state;
	vector_read("J", &m);
	weir_xdr_out_init(&out, buf, sizeof(buf));
	rdma2_put_fixed(&out, 1, 32, RDMA2_CONNPROP);
	(void)weir_xdr_put_u32(&out, 6);
	rdma2_put_prop_u32(&out, RDMA2_PROPID_RBSIZ, 36864);
	rdma2_put_prop_u32(&out, RDMA2_PROPID_BRS, RDMA2_BKREQSUP_INLINE);
	rdma2_put_prop_u32(&out, RDMA2_PROPID_RTRSUPP,
			   RDMA2_RTRS_XREQ | RDMA2_RTRS_XRESP | RDMA2_RTRS_XCONT);
	rdma2_put_prop_buffer(&out, &buffer);
	rdma2_put_prop_u32(&out, RDMA2_PROPID_REQRXLIM, 8);
	rdma2_put_prop_u32(&out, RDMA2_PROPID_RESPSXLIM, 8);
	rdma2_put_subset_first(&out, 6);
	assert_false(out.failed);
	assert_int_equal(weir_xdr_out_len(&out), m.len);
	assert_memory_equal(buf, m.buf, m.len);
}

static void propset__5_1_1_unknown_properties_are_no_error(void **state)
{
	struct rdma2_propval value;
	struct rdma2_propset left;
	struct decoded d;
	struct msg m;

	(void)state;
	msg2_begin(&m, RDMA2_UPDPROP);
	msg_u32(&m, 4);
	prop(&m, 0xffffff00, 1);
	msg_u32(&m, 7);
	msg_u32(&m, 5);
	msg_u32(&m, 0x61626364);
	msg_u32(&m, 0x65000000);
	prop(&m, 0xffffff00, 2); /* an unknown property, twice */
	prop(&m, 0, 2);
	d = msg2_decode(&m);
	assert_int_equal(d.verdict, RDMA2_V_OK);
	left = d.hdr.set;
	assert_true(rdma2_propset_next(&left, &value));
	assert_true(rdma2_propset_next(&left, &value));
	assert_int_equal(value.len_bytes, 5);
	assert_memory_equal(value.data, "abcde", 5);
	assert_true(rdma2_propset_next(&left, &value));
	assert_int_equal(rdma2_propval_u32(&value, 0), 2);
	msg2_free(&d);
}

static void propset__5_1_1_empty_data_is_the_default(void **state)
{
	struct rdma2_propval value;
	struct rdma2_propset left;
	struct decoded d;
	struct msg m;

	(void)state;
	msg2_begin(&m, RDMA2_REQPROP);
	msg_u32(&m, RDMA2_PROPID_KNOWN_MAX);
	for (uint32_t which = 1; which <= RDMA2_PROPID_KNOWN_MAX; which++) {
		msg_u32(&m, which);
		msg_u32(&m, 0);
	}
	d = msg2_decode(&m);
	assert_int_equal(d.verdict, RDMA2_V_OK);
	left = d.hdr.set;
	while (rdma2_propset_next(&left, &value))
		assert_int_equal(rdma2_propval_u32(&value, 4711), 4711);
	msg2_free(&d);
}

static void propset__5_1_1_data_of_another_type_is_an_xdr_error(void **state)
{
	struct msg m;

	(void)state;
	for (uint32_t which = 1; which <= RDMA2_PROPID_KNOWN_MAX; which++) {
		for (uint32_t len = 1; len <= 12; len++) {
			if (len == 4 && which != RDMA2_PROPID_RBSTRUCT)
				continue;
			msg2_begin(&m, RDMA2_REQPROP);
			msg_u32(&m, 1);
			msg_u32(&m, which);
			msg_u32(&m, len);
			for (uint32_t at = 0; at < len; at += 4)
				msg_u32(&m, 1);
			assert_judged(&m, RDMA2_V_ERR_BAD_XDR, RDMA2_R_PROPERTY);
		}
	}
	msg2_begin(&m, RDMA2_REQPROP);
	msg_u32(&m, 1);
	prop(&m, RDMA2_PROPID_BRS, 3);
	assert_judged(&m, RDMA2_V_ERR_BAD_XDR, RDMA2_R_PROPERTY);
}

static void propset__5_1_1_data_beyond_the_message_is_an_xdr_error(void **state)
{
	struct msg m;

	(void)state;
	msg2_begin(&m, RDMA2_UPDPROP);
	msg_u32(&m, 1);
	msg_u32(&m, 99);
	msg_u32(&m, 5);
	msg_u32(&m, 0);
	assert_judged(&m, RDMA2_V_ERR_BAD_XDR, RDMA1_R_TRUNCATED);
	msg_set_u32(&m, 24, 0xfffffffd);
	assert_judged(&m, RDMA2_V_ERR_BAD_XDR, RDMA1_R_TRUNCATED);
	msg_set_u32(&m, 16, 0x20000001); /* a count that overflows when it is multiplied */
	assert_judged(&m, RDMA2_V_ERR_BAD_XDR, RDMA1_R_TRUNCATED);
}

static void propset__a_property_given_twice_is_an_xdr_error(void **state)
{
	struct msg m;

	(void)state;
	for (uint32_t which = 1; which <= RDMA2_PROPID_KNOWN_MAX; which++) {
		if (which == RDMA2_PROPID_RBSTRUCT)
			continue;
		msg2_begin(&m, RDMA2_CONNPROP);
		msg_u32(&m, 3);
		prop(&m, which, 2);
		prop(&m, 99, 2);
		prop(&m, which, 2);
		msg_u32(&m, 0);
		assert_judged(&m, RDMA2_V_ERR_BAD_XDR, RDMA2_R_PROPERTY_TWICE);
	}
}

static void procedures__bytes_left_over_are_an_xdr_error(void **state)
{
	struct msg m;

	(void)state;
	for (uint32_t proc = RDMA2_CONNPROP; proc <= RDMA2_UPDPROP; proc++) {
		uint32_t arrays = proc == RDMA2_CONNPROP ? 2 : proc == RDMA2_RESPROP ? 3 : 1;

		msg2_begin(&m, proc);
		for (uint32_t i = 0; i < arrays; i++) {
			assert_judged(&m, RDMA2_V_ERR_BAD_XDR, RDMA1_R_TRUNCATED);
			msg_u32(&m, 0);
		}
		assert_judged(&m, RDMA2_V_OK, RDMA1_R_NONE);
		msg_u32(&m, 0);
		assert_judged(&m, RDMA2_V_ERR_BAD_XDR, RDMA2_R_TRAILING);
	}
}

static void subset__words_that_are_missing_are_zero(void **state)
{
	struct decoded d;
	struct msg m;

	(void)state;
	msg2_begin(&m, RDMA2_RESPROP);
	msg_u32(&m, 2);
	msg_u32(&m, 0x80000001);
	msg_u32(&m, 2);
	msg_u32(&m, 0);
	msg_u32(&m, 0);
	d = msg2_decode(&m);
	assert_int_equal(d.verdict, RDMA2_V_OK);
	for (uint32_t n = 0; n < 200; n++) {
		assert_int_equal(rdma2_propsubset_has(&d.hdr.subset, n),
				 n == 0 || n == 31 || n == 33);
		assert_false(rdma2_propsubset_has(&d.hdr.rejected, n));
	}
	msg2_free(&d);
	msg_set_u32(&m, 16, 0x40000001);
	assert_judged(&m, RDMA2_V_ERR_BAD_XDR, RDMA1_R_TRUNCATED);
}

static void put_subset_first__has_just_those(void **state)
{
	(void)state;
	for (uint32_t n = 0; n <= 70; n++) {
		struct rdma2_propsubset subset;
		struct weir_xdr_out out;
		struct weir_xdr_in in;
		uint8_t buf[32];

		weir_xdr_out_init(&out, buf, sizeof(buf));
		rdma2_put_subset_first(&out, n);
		weir_xdr_in_init(&in, buf, (uint32_t)weir_xdr_out_len(&out));
		assert_int_equal(rdma2_propsubset_get(&in, &subset), 0);
		for (uint32_t i = 0; i < 128; i++)
			assert_int_equal(rdma2_propsubset_has(&subset, i), i < n);
	}
}

/*
 * Checks an answer to a request for properties 1, 2, 3, 5 and 6. It says that 1 was done, 2
 * rejected, and that 3 has a new value. Property 5 is in both subsets, 6 in none. The answer also
 * names 4, which was not requested.
 */
static void disposition__5_3_3_what_is_not_said_once_is_rejected(void **state)
{
	static const enum rdma2_disposition expected[] = {RDMA2_DONE, RDMA2_REJECTED, RDMA2_OTHER,
							  RDMA2_REJECTED, RDMA2_REJECTED};
	static const uint32_t asked[] = {1, 2, 3, 5, 6};
	struct rdma2_propval value;
	struct decoded want, got;
	struct msg m;

	(void)state;
	msg2_begin(&m, RDMA2_REQPROP);
	msg_u32(&m, 5);
	for (uint32_t i = 0; i < 5; i++)
		prop(&m, asked[i], 2);
	want = msg2_decode(&m);
	msg2_begin(&m, RDMA2_RESPROP);
	msg_u32(&m, 1);
	msg_u32(&m, 0x9);
	msg_u32(&m, 1);
	msg_u32(&m, 0xa);
	msg_u32(&m, 2);
	msg_u32(&m, 4);
	msg_u32(&m, 0);
	prop(&m, 3, 7);
	got = msg2_decode(&m);
	assert_int_equal(want.verdict | got.verdict, RDMA2_V_OK);
	for (uint32_t n = 0; n < 5; n++) {
		assert_int_equal(rdma2_disposition(&want.hdr.set, n, &got.hdr.subset,
						   &got.hdr.rejected, &got.hdr.set, &value),
				 expected[n]);
		if (expected[n] == RDMA2_OTHER)
			assert_int_equal(rdma2_propval_u32(&value, 0), 7);
	}
	assert_int_equal(rdma2_disposition(&want.hdr.set, 5, &got.hdr.subset, &got.hdr.rejected,
					   &got.hdr.set, &value),
			 RDMA2_REJECTED);
	msg2_free(&want);
	msg2_free(&got);
}

static void put_prop_default__is_read_as_empty(void **state)
{
	struct rdma2_propset set;
	struct rdma2_propval value;
	struct weir_xdr_out out;
	struct weir_xdr_in in;
	uint8_t buf[12];

	(void)state;
	weir_xdr_out_init(&out, buf, sizeof(buf));
	(void)weir_xdr_put_u32(&out, 1);
	rdma2_put_prop_default(&out, RDMA2_PROPID_RBSTRUCT);
	weir_xdr_in_init(&in, buf, sizeof(buf));
	assert_int_equal(rdma2_propset_get(&in, &set), RDMA2_PROPSET_OK);
	assert_true(rdma2_propset_next(&set, &value));
	assert_int_equal(value.len_bytes, 0);
	rdma2_put_prop_u32(&out, 1, 1);
	assert_true(out.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connprop__vector_J_has_all_six),
		cmocka_unit_test(connprop__vector_J_is_encoded),
		cmocka_unit_test(propset__5_1_1_unknown_properties_are_no_error),
		cmocka_unit_test(propset__5_1_1_empty_data_is_the_default),
		cmocka_unit_test(propset__5_1_1_data_of_another_type_is_an_xdr_error),
		cmocka_unit_test(propset__5_1_1_data_beyond_the_message_is_an_xdr_error),
		cmocka_unit_test(propset__a_property_given_twice_is_an_xdr_error),
		cmocka_unit_test(procedures__bytes_left_over_are_an_xdr_error),
		cmocka_unit_test(subset__words_that_are_missing_are_zero),
		cmocka_unit_test(put_subset_first__has_just_those),
		cmocka_unit_test(disposition__5_3_3_what_is_not_said_once_is_rejected),
		cmocka_unit_test(put_prop_default__is_read_as_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
