/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of decoding Transmit Continue and Report Error. */
#include "rtr_msg.h"

#define XMTRESP 6u
#define XMTCONT 7u
#define REPTERR 8u

static void vector_H__reports_a_stray_continuation(void **state)
{
	struct rtr_decoded d = rtr_msg_vector("H");

	(void)state;
	assert_int_equal(d.verdict, RDMA2_V_OK);
	assert_int_equal(d.rtr.op, RTR_REPTERR);
	assert_int_equal(d.rtr.report.bad.xid, 0x16);
	assert_int_equal(d.rtr.report.bad.direction, RDMA1_CALL);
	assert_int_equal(d.rtr.report.bad.seq, 1);
	assert_false(d.rtr.report.has_lead);
	assert_int_equal(d.rtr.report.err, RTR_BADCONT);
	rtr_msg_free(&d);
}

static void cont__has_three_words(void **state)
{
	struct rtr_decoded d;
	struct msg m;

	(void)state;
	rtr_msg_begin(&m, RDMA1_REPLY, XMTCONT);
	msg_u32(&m, 3);
	msg_u32(&m, XMTRESP);
	msg_u32(&m, 8);
	rtr_msg_end(&m);
	msg_u32(&m, 0);
	msg_u32(&m, 0);
	d = rtr_msg_decode(&m);
	assert_int_equal(d.verdict, RDMA2_V_OK);
	assert_int_equal(d.rtr.xnum, 3);
	assert_int_equal(d.rtr.itype, XMTRESP);
	assert_int_equal(d.rtr.pslen, 8);
	assert_int_equal(d.rtr.header_bytes, RDMA2_OPTIONAL_SIZE + RTR_CONT_INFO);
	rtr_msg_free(&d);
}

static void report__9_5_each_error_has_its_values(void **state)
{
	static const uint32_t nvalues[] = {0, 2, 2, 0, 2, 2, 3, 3, 3};
	struct msg m;

	(void)state;
	for (uint32_t err = 0; err <= 9; err++) {
		bool is_known = err >= RTR_BADHMT && err <= RTR_BADPL;
		struct rtr_decoded d;

		rtr_msg_begin(&m, RDMA1_REPLY, REPTERR);
		msg_u32(&m, 7);
		msg_u32(&m, RDMA1_REPLY);
		msg_u32(&m, 2);
		msg_u32(&m, 1);
		msg_u32(&m, 8);
		msg_u32(&m, RDMA1_CALL);
		msg_u32(&m, 0);
		msg_u32(&m, err);
		for (uint32_t i = 0; is_known && i < nvalues[err]; i++)
			msg_u32(&m, 100 + i);
		rtr_msg_end(&m);
		d = rtr_msg_decode(&m);
		assert_int_equal(d.verdict, is_known ? RDMA2_V_OK : RDMA2_V_DROP);
		assert_int_equal(d.reason, is_known ? RDMA1_R_NONE : RDMA2_R_REPORT);
		if (is_known) {
			assert_int_equal(rtr_report_nvalues(d.rtr.report.err), nvalues[err]);
			for (uint32_t i = 0; i < 3; i++)
				assert_int_equal(d.rtr.report.values[i],
						 i < nvalues[err] ? 100 + i : 0);
			assert_int_equal(d.rtr.report.bad.seq, 2);
			assert_true(d.rtr.report.has_lead);
			assert_int_equal(d.rtr.report.lead.xid, 8);
		}
		rtr_msg_free(&d);
	}
}

/* Checks that an invalid report is never answered. */
static void report__bad_ones_are_dropped(void **state)
{
	struct msg m;

	(void)state;
	vector_read("H", &m);
	msg_set_u32(&m, 16, RDMA1_CALL);
	msg_set_u32(&m, 40, 2);
	assert_rtr(&m, RDMA2_V_DROP, RDMA1_R_BAD_BOOL);
	msg_set_u32(&m, 40, 0);
	msg_set_u32(&m, 32, 2);
	assert_rtr(&m, RDMA2_V_DROP, RDMA2_R_REPORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vector_H__reports_a_stray_continuation),
		cmocka_unit_test(cont__has_three_words),
		cmocka_unit_test(report__9_5_each_error_has_its_values),
		cmocka_unit_test(report__bad_ones_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
