/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of transmission groups: what forms a group, each way to break one, and how a payload is
 * divided among the transmissions.
 */
#include "rtr_group.h"
#include "rtr_msg.h"

#define XMTREQ	5u
#define XMTRESP 6u
#define XMTCONT 7u
#define REPTERR 8u
#define MAX	4u

static void first(struct msg *m, uint32_t xid, uint32_t count, uint32_t pslen, uint32_t room)
{
	rtr_msg_begin(m, RDMA1_CALL, XMTREQ);
	msg_set_u32(m, 0, xid);
	msg_u32(m, 0);
	msg_u32(m, 0);
	msg_u32(m, count);
	msg_u32(m, 1);
	msg_u32(m, pslen);
	rtr_msg_end(m);
	if (room >= 8) {
		msg_u32(m, xid);
		msg_u32(m, RDMA1_CALL);
		m->len += room - 8;
	} else {
		m->len += room;
	}
}

static void cont(struct msg *m, uint32_t xid, uint32_t xnum, uint32_t pslen, uint32_t room)
{
	rtr_msg_begin(m, RDMA1_CALL, XMTCONT);
	msg_set_u32(m, 0, xid);
	msg_u32(m, xnum);
	msg_u32(m, XMTREQ);
	msg_u32(m, pslen);
	rtr_msg_end(m);
	m->len += room;
}

static struct rtr_step receive(struct rtr_group *group, const struct msg *m)
{
	struct decoded d = msg2_decode(m);
	struct rtr_step step;
	struct rtr_header rtr;
	bool is_rtr = false;
	uint32_t reason;

	assert_int_equal(d.verdict, RDMA2_V_OK);
	if (d.hdr.lists.proc == RDMA2_OPTIONAL)
		is_rtr = rtr_decode(d.msg, m->len, &d.hdr, &rtr_limits_default, &rtr, &reason) ==
			 RDMA2_V_OK;
	rtr_group_receive(group, &d.hdr, is_rtr ? &rtr : NULL, MAX, &step);
	msg2_free(&d);
	return step;
}

static void assert_taken(struct rtr_group *group, const struct msg *m, enum rtr_action take)
{
	struct rtr_step step = receive(group, m);

	assert_int_equal(step.action, take);
	assert_false(step.drops_group || step.has_report);
}

/*
 * Checks that the message is treated as 'take' says, and that the report says the given error and
 * values. Returns the report.
 */
static struct rtr_report assert_reported(struct rtr_group *group, const struct msg *m,
					 enum rtr_action take, enum rtr_err err, uint32_t a,
					 uint32_t b, uint32_t c)
{
	bool was_open = group->is_open;
	struct rtr_step step = receive(group, m);

	assert_int_equal(step.action, take);
	assert_true(step.has_report);
	assert_int_equal(step.drops_group, was_open);
	assert_int_equal(step.report.has_lead, was_open);
	assert_int_equal(step.report.err, err);
	assert_int_equal(step.report.values[0], a);
	assert_int_equal(step.report.values[1], b);
	assert_int_equal(step.report.values[2], c);
	return step.report;
}

/* Opens a group of three transmissions with XID 7, of which one has arrived. */
static void open_group(struct rtr_group *group)
{
	struct msg m;

	rtr_group_init(group);
	first(&m, 7, 3, 40, 40);
	assert_taken(group, &m, RTR_ACTION_FIRST);
	assert_true(group->is_open);
}

/*
 * Checks that the remaining transmissions of XID 7 are discarded without a report, and that the
 * next group can start.
 */
static void assert_recovers(struct rtr_group *group)
{
	struct msg m;

	assert_false(group->is_open);
	for (uint32_t xnum = 1; xnum < 4; xnum++) {
		cont(&m, 7, xnum, 8, 8);
		assert_taken(group, &m, RTR_ACTION_DISCARD);
	}
	first(&m, 7, 2, 40, 40);
	assert_taken(group, &m, RTR_ACTION_FIRST);
	cont(&m, 7, 1, 8, 8);
	assert_taken(group, &m, RTR_ACTION_LAST);
}

static void receive__4_2_a_group_in_order_is_taken(void **state)
{
	struct rtr_group group;
	struct msg m;

	(void)state;
	rtr_group_init(&group);
	first(&m, 7, 4, 40, 44);
	assert_taken(&group, &m, RTR_ACTION_FIRST);
	cont(&m, 7, 1, 400, 400);
	assert_taken(&group, &m, RTR_ACTION_NEXT);
	cont(&m, 7, 2, 0, 100); /* bulk data only (9.4) */
	assert_taken(&group, &m, RTR_ACTION_NEXT);
	cont(&m, 7, 3, 4, 4);
	assert_taken(&group, &m, RTR_ACTION_LAST);
	assert_false(group.is_open);
	assert_int_equal(group.payload_bytes, 444);
}

static void receive__one_transmission_is_whole(void **state)
{
	struct rtr_group group;
	struct msg m;

	(void)state;
	rtr_group_init(&group);
	first(&m, 7, 1, 40, 40);
	assert_taken(&group, &m, RTR_ACTION_LAST);
	vector_read("K", &m);
	assert_taken(&group, &m, RTR_ACTION_ALONE);
	vector_read("H", &m);
	assert_taken(&group, &m, RTR_ACTION_ALONE);
}

static void receive__badcont_of_no_group(void **state)
{
	struct rtr_report report;
	struct rtr_group group;
	struct msg m;

	(void)state;
	rtr_group_init(&group);
	cont(&m, 0x16, 1, 8, 8);
	report = assert_reported(&group, &m, RTR_ACTION_DISCARD, RTR_BADCONT, 0, 0, 0);
	assert_int_equal(report.bad.xid, 0x16);
	assert_int_equal(report.bad.direction, RDMA1_CALL);
	assert_int_equal(report.bad.seq, 1);
	assert_int_equal(rtr_report_direction(&report), RDMA1_REPLY);
}

static void receive__extra_transmission_after_the_last(void **state)
{
	struct rtr_group group;
	struct msg m;

	(void)state;
	open_group(&group);
	cont(&m, 7, 1, 8, 8);
	assert_taken(&group, &m, RTR_ACTION_NEXT);
	cont(&m, 7, 2, 8, 8);
	assert_taken(&group, &m, RTR_ACTION_LAST);
	cont(&m, 7, 3, 8, 8);
	(void)assert_reported(&group, &m, RTR_ACTION_DISCARD, RTR_BADCONT, 0, 0, 0);
}

static void receive__badseq_of_gaps_and_repeats(void **state)
{
	static const uint32_t numbers[] = {0, 2, 3, 0xffffffff};
	struct rtr_report report;
	struct rtr_group group;
	struct msg m;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		open_group(&group);
		cont(&m, 7, numbers[i], 8, 8);
		report = assert_reported(&group, &m, RTR_ACTION_DISCARD, RTR_BADSEQ, 1, numbers[i],
					 0);
		assert_int_equal(report.lead.xid, 7);
		assert_int_equal(report.lead.seq, 0);
		assert_int_equal(report.bad.seq, numbers[i]);
		assert_recovers(&group);
	}
}

static void receive__badxid_of_another_continuation(void **state)
{
	struct rtr_group group;
	struct msg m;

	(void)state;
	open_group(&group);
	cont(&m, 8, 1, 8, 8);
	(void)assert_reported(&group, &m, RTR_ACTION_DISCARD, RTR_BADXID, 7, 8, 0);
	assert_recovers(&group);
}

static void receive__badcont_of_the_other_direction(void **state)
{
	struct rtr_group group;
	struct msg m;

	(void)state;
	open_group(&group);
	cont(&m, 7, 1, 8, 8);
	msg_set_u32(&m, 16, RDMA1_REPLY);
	(void)assert_reported(&group, &m, RTR_ACTION_DISCARD, RTR_BADCONT, 0, 0, 0);
	assert_recovers(&group);
}

static void receive__badomt_of_another_first_type(void **state)
{
	struct rtr_group group;
	struct msg m;

	(void)state;
	open_group(&group);
	cont(&m, 7, 1, 8, 8);
	msg_set_u32(&m, 32, XMTRESP);
	(void)assert_reported(&group, &m, RTR_ACTION_DISCARD, RTR_BADOMT, XMTREQ, XMTRESP, 0);
	assert_recovers(&group);
}

static void receive__badpl_beyond_the_transmission(void **state)
{
	static const uint32_t lengths[] = {12, 7, 0xfffffffc};
	struct rtr_group group;
	struct msg m;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		open_group(&group);
		cont(&m, 7, 1, lengths[i], 8);
		(void)assert_reported(&group, &m, RTR_ACTION_DISCARD, RTR_BADPL, lengths[i], 0, 8);
		assert_recovers(&group);

		rtr_group_init(&group);
		first(&m, 7, 3, lengths[i], 8);
		(void)assert_reported(&group, &m, RTR_ACTION_DISCARD, RTR_BADPL, lengths[i], 8, 8);
		assert_recovers(&group);
	}
	rtr_group_init(&group);
	first(&m, 7, 1, 4, 40); /* no room for the first words of an RPC message */
	(void)assert_reported(&group, &m, RTR_ACTION_DISCARD, RTR_BADPL, 4, 8, 40);
}

/*
 * Checks calls whose payload is read by explicit RDMA (rtrext-01 section 5.2), so that none of it
 * is sent.
 */
static void receive__badpl_of_a_call_that_is_fetched_too(void **state)
{
	struct rtr_group group;
	struct msg m;

	(void)state;
	for (uint32_t pslen = 0; pslen <= 8; pslen += 8) {
		rtr_group_init(&group);
		rtr_msg_begin(&m, RDMA1_CALL, XMTREQ);
		msg_u32(&m, 1);
		msg_u32(&m, 0);
		msg_u32(&m, 200);
		msg_u32(&m, RTR_EXRW);
		msg_u32(&m, 1);
		msg_segment(&m, 1, 200, 0);
		msg_u32(&m, 0);
		msg_u32(&m, 1);
		msg_u32(&m, 1);
		msg_u32(&m, pslen);
		rtr_msg_end(&m);
		rtr_msg_payload(&m, RDMA1_CALL, pslen);
		if (pslen == 0)
			assert_taken(&group, &m, RTR_ACTION_LAST);
		else
			(void)assert_reported(&group, &m, RTR_ACTION_DISCARD, RTR_BADPL, 8, 0, 0);
	}
}

/* Checks that only transmissions of the same XID and direction belong to the group. */
static void receive__badcont_next_to_what_is_left_of_a_group(void **state)
{
	struct rtr_group group;
	struct msg m;

	(void)state;
	open_group(&group);
	assert_true(rtr_group_abandon(&group));
	cont(&m, 8, 1, 8, 8);
	(void)assert_reported(&group, &m, RTR_ACTION_DISCARD, RTR_BADCONT, 0, 0, 0);
	cont(&m, 7, 1, 8, 8);
	msg_set_u32(&m, 16, RDMA1_REPLY);
	(void)assert_reported(&group, &m, RTR_ACTION_DISCARD, RTR_BADCONT, 0, 0, 0);
	assert_recovers(&group);
}

/* Checks that reports about replies are sent to the responder. */
static void report_direction__is_against_that_of_the_group(void **state)
{
	struct rtr_report report;
	struct rtr_group group;
	struct msg m;

	(void)state;
	rtr_group_init(&group);
	vector_read("E", &m);
	msg_set_u32(&m, m.len - 8, 2);
	msg_set_u32(&m, m.len - 4, 8);
	msg_u32(&m, 0x14);
	msg_u32(&m, RDMA1_REPLY);
	assert_taken(&group, &m, RTR_ACTION_FIRST);
	vector_read("H", &m);
	report = assert_reported(&group, &m, RTR_ACTION_ALONE, RTR_BADOMT, XMTCONT, REPTERR, 0);
	assert_int_equal(report.lead.direction, RDMA1_REPLY);
	report.bad.direction = RDMA1_REPLY;
	assert_int_equal(rtr_report_direction(&report), RDMA1_CALL);
}

/*
 * Checks a message between the transmissions of a group. It is treated as if there were no group.
 */
static void receive__badhmt_of_a_message_between(void **state)
{
	static const char *const names[] = {"J", "K", "L"};
	static const uint32_t procs[] = {RDMA2_CONNPROP, RDMA2_MSG, RDMA2_ERROR};
	struct rtr_group group;
	struct msg m;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		open_group(&group);
		vector_read(names[i], &m);
		(void)assert_reported(&group, &m, RTR_ACTION_ALONE, RTR_BADHMT, RDMA2_OPTIONAL,
				      procs[i], 0);
		assert_recovers(&group);
	}
}

static void receive__badomt_of_an_operation_between(void **state)
{
	struct rtr_group group;
	struct msg m;

	(void)state;
	open_group(&group);
	vector_read("H", &m);
	(void)assert_reported(&group, &m, RTR_ACTION_ALONE, RTR_BADOMT, XMTCONT, REPTERR, 0);
	assert_recovers(&group);
	open_group(&group);
	first(&m, 9, 1, 40, 40);
	(void)assert_reported(&group, &m, RTR_ACTION_LAST, RTR_BADOMT, XMTCONT, XMTREQ, 0);
	open_group(&group);
	msg_set_u32(&m, 20, 99); /* an unknown one */
	(void)assert_reported(&group, &m, RTR_ACTION_ALONE, RTR_BADOMT, XMTCONT, 99, 0);
}

/*
 * Checks a transmission that cannot be decoded. The caller answers with RDMA2_ERR_BAD_XDR, so that
 * no report is needed.
 */
static void receive__continuation_that_cannot_be_decoded_ends_the_group(void **state)
{
	struct rtr_group group;
	struct rtr_step step;
	struct msg m;

	(void)state;
	open_group(&group);
	cont(&m, 7, 1, 8, 8);
	msg_set_u32(&m, 24, 16);
	step = receive(&group, &m);
	assert_int_equal(step.action, RTR_ACTION_ALONE);
	assert_true(step.drops_group);
	assert_false(step.has_report);
	assert_false(group.is_open);
}

static void receive__interleaved_groups_are_both_judged(void **state)
{
	struct rtr_group group;
	struct msg m;

	(void)state;
	open_group(&group);
	first(&m, 8, 2, 40, 40);
	(void)assert_reported(&group, &m, RTR_ACTION_FIRST, RTR_BADOMT, XMTCONT, XMTREQ, 0);
	cont(&m, 7, 1, 8, 8);
	(void)assert_reported(&group, &m, RTR_ACTION_DISCARD, RTR_BADXID, 8, 7, 0);
	cont(&m, 8, 1, 8, 8);
	assert_taken(&group, &m, RTR_ACTION_DISCARD);
}

static void receive__badseq_of_counts_out_of_bounds(void **state)
{
	struct rtr_group group;
	struct msg m;

	(void)state;
	rtr_group_init(&group);
	first(&m, 7, 0, 40, 40);
	(void)assert_reported(&group, &m, RTR_ACTION_DISCARD, RTR_BADSEQ, 1, 0, 0);
	first(&m, 7, MAX + 1, 40, 40);
	(void)assert_reported(&group, &m, RTR_ACTION_DISCARD, RTR_BADSEQ, MAX, MAX + 1, 0);
	assert_recovers(&group);
	first(&m, 7, MAX, 40, 40);
	assert_taken(&group, &m, RTR_ACTION_FIRST);
}

static void abandon__a_group_that_never_ends(void **state)
{
	struct rtr_group group;

	(void)state;
	rtr_group_init(&group);
	assert_false(rtr_group_abandon(&group));
	open_group(&group);
	assert_true(rtr_group_abandon(&group));
	assert_recovers(&group);
}

static void split__parts_are_the_payload_in_order(void **state)
{
	(void)state;
	for (uint32_t send = 60; send < 200; send += 7) {
		for (uint32_t payload = 8; payload < 2000; payload += 4) {
			const struct rtr_split split = {payload, 48, send};
			uint32_t count = rtr_split_count(&split), at = 0;

			assert_true(count > 0);
			for (uint32_t n = 0; n < count; n++) {
				uint32_t offset, len;

				rtr_split_part(&split, n, &offset, &len);
				assert_int_equal(offset, at);
				assert_true(len > 0 && len % 4 == 0);
				assert_true(len + (n == 0 ? 48 : 40) <= send);
				at += len;
			}
			assert_int_equal(at, payload);
		}
	}
}

static void split__headers_that_leave_no_room(void **state)
{
	const struct rtr_split none = {100, 48, 55}, small = {8, 48, 56},
			       large = {0xfffffffc, 48, 4096};

	(void)state;
	assert_int_equal(rtr_split_count(&none), 0);
	assert_int_equal(rtr_split_count(&small), 1);
	assert_int_equal(rtr_split_count(&large), 1 + (UINT64_C(0xfffffffc) - 4048 + 4055) / 4056);
}

static void split__no_continuation_fits(void **state)
{
	const struct rtr_split split = {100, 30, 38};

	(void)state;
	assert_int_equal(rtr_split_count(&split), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(receive__4_2_a_group_in_order_is_taken),
		cmocka_unit_test(receive__one_transmission_is_whole),
		cmocka_unit_test(receive__badcont_of_no_group),
		cmocka_unit_test(receive__extra_transmission_after_the_last),
		cmocka_unit_test(receive__badseq_of_gaps_and_repeats),
		cmocka_unit_test(receive__badxid_of_another_continuation),
		cmocka_unit_test(receive__badcont_of_the_other_direction),
		cmocka_unit_test(receive__badomt_of_another_first_type),
		cmocka_unit_test(receive__badpl_beyond_the_transmission),
		cmocka_unit_test(receive__badpl_of_a_call_that_is_fetched_too),
		cmocka_unit_test(receive__badcont_next_to_what_is_left_of_a_group),
		cmocka_unit_test(report_direction__is_against_that_of_the_group),
		cmocka_unit_test(receive__badhmt_of_a_message_between),
		cmocka_unit_test(receive__badomt_of_an_operation_between),
		cmocka_unit_test(receive__continuation_that_cannot_be_decoded_ends_the_group),
		cmocka_unit_test(receive__interleaved_groups_are_both_judged),
		cmocka_unit_test(receive__badseq_of_counts_out_of_bounds),
		cmocka_unit_test(abandon__a_group_that_never_ends),
		cmocka_unit_test(split__parts_are_the_payload_in_order),
		cmocka_unit_test(split__headers_that_leave_no_room),
		cmocka_unit_test(split__no_continuation_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
