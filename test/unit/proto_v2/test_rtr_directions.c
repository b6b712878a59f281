/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of directions for results: to which result each belongs, how the responder uses them, and
 * how the requester reads the reply.
 */
#include "rtr_directions.h"
#include "rtr_msg.h"

/* Makes the sets [40, 60) with two directions, [60, 60) with one and [64, 80) with one. Each
 * direction has its own minimum length. */
static struct rtr_decoded three_sets(struct msg *m)
{
	static const uint32_t ranges[3][3] = {{40, 60, 2}, {60, 60, 1}, {64, 80, 1}};
	uint32_t n = 0;

	rtr_msg_begin(m, RDMA1_CALL, 5);
	msg_u32(m, 0);
	msg_u32(m, 3);
	for (uint32_t i = 0; i < 3; i++) {
		for (uint32_t k = 0; k < 3; k++)
			msg_u32(m, ranges[i][k]);
		for (uint32_t k = 0; k < ranges[i][2]; k++) {
			msg_u32(m, 100 + n++);
			msg_u32(m, RTR_TBSN);
		}
	}
	msg_u32(m, 1);
	msg_u32(m, 1);
	msg_u32(m, 0);
	rtr_msg_end(m);
	return rtr_msg_decode(m);
}

static void next__7_4_a_range_ties_directions_to_a_part_of_the_request(void **state)
{
	static const struct {
		uint32_t position;
		bool is_there;
		uint32_t index;
	} asked[] = {{39, false, 0}, {64, true, 3},  {40, true, 0},  {59, true, 1}, {40, false, 0},
		     {60, false, 0}, {63, false, 0}, {79, false, 0}, {80, false, 0}};
	struct rtr_rsditem item;
	struct rtr_directions direct;
	struct rtr_decoded d;
	uint32_t index;
	struct msg m;

	(void)state;
	d = three_sets(&m);
	assert_int_equal(d.verdict, RDMA2_V_OK);
	assert_int_equal(rtr_directions_init(&direct, &d.rtr), 0);
	assert_int_equal(rtr_directions_count(&d.rtr), 4);
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		assert_int_equal(rtr_directions_next(&direct, asked[i].position, &item, &index),
				 asked[i].is_there);
		if (!asked[i].is_there)
			continue;
		assert_int_equal(index, asked[i].index);
		assert_int_equal(item.minlen, 100 + asked[i].index);
	}
	rtr_msg_free(&d);
}

static void init__more_sets_than_are_kept_are_refused(void **state)
{
	struct rtr_header request = {.nsets = RTR_DIRECT_SETS_MAX + 1};
	struct rtr_directions direct;

	(void)state;
	assert_int_equal(rtr_directions_init(&direct, &request), -E2BIG);
	request.nsets--;
	assert_int_equal(rtr_directions_init(&direct, &request), 0);
}

/* Makes one direction with two segments of 100 bytes each. */
static struct rtr_rsditem direction(uint8_t *wire, enum rtr_type type, uint32_t minlen,
				    uint32_t dsdov)
{
	memset(wire, 0, 32);
	wire[7] = wire[23] = 100;
	return (struct rtr_rsditem){.minlen = minlen,
				    .type = type,
				    .dsdov = dsdov,
				    .segments = {wire, type == RTR_TBSN ? 0 : 2}};
}

static void choose__7_4_by_type_length_and_what_is_possible(void **state)
{
	static const struct {
		enum rtr_type type;
		uint32_t length;
		bool can_place, prefers_exrw;
		uint32_t expected;
	} cases[] = {
		{RTR_EXRW, 10, true, false, RTR_EXRW},	   {RTR_EXRW, 200, false, false, RTR_EXRW},
		{RTR_EXRW, 201, true, false, 0},	   {RTR_TBSN, 10, true, true, RTR_TBSN},
		{RTR_TBSN, 10, false, true, RTR_TOOSHORT}, {RTR_CHOICE, 10, true, false, RTR_TBSN},
		{RTR_CHOICE, 10, true, true, RTR_EXRW},	   {RTR_CHOICE, 10, false, false, RTR_EXRW},
		{RTR_CHOICE, 201, true, true, RTR_TBSN},   {RTR_CHOICE, 201, false, true, 0},
		{RTR_BYSIZE, 50, true, true, RTR_TBSN},	   {RTR_BYSIZE, 51, true, false, RTR_EXRW},
		{RTR_BYSIZE, 50, false, false, RTR_EXRW},  {RTR_BYSIZE, 201, true, false, RTR_TBSN},
		{RTR_BYSIZE, 201, false, false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t wire[32];
		struct rtr_rsditem item = direction(wire, cases[i].type, 0, 50);

		assert_int_equal(rtr_directions_choose(&item, cases[i].length, cases[i].can_place,
						       cases[i].prefers_exrw),
				 cases[i].expected);
	}
}

static void choose__7_4_what_is_shorter_than_the_minimum_goes_inline(void **state)
{
	(void)state;
	for (enum rtr_type type = RTR_EXRW; type <= RTR_BYSIZE; type++) {
		uint8_t wire[32];
		struct rtr_rsditem item = direction(wire, type, 20, 50);

		assert_int_equal(rtr_directions_choose(&item, 19, true, true), RTR_TOOSHORT);
		assert_int_not_equal(rtr_directions_choose(&item, 20, true, true), RTR_TOOSHORT);
	}
}

/*
 * Checks a direction without memory. The result is placed by TBSN whatever its size is, or cannot
 * be sent in this way.
 */
static void choose__bysize_without_segments(void **state)
{
	struct rtr_rsditem item = {.type = RTR_BYSIZE, .dsdov = 50};

	(void)state;
	assert_int_equal(rtr_directions_choose(&item, 51, true, false), RTR_TBSN);
	assert_int_equal(rtr_directions_choose(&item, 51, false, false), 0);
	assert_int_equal(rtr_directions_choose(&item, 0, false, false), RTR_EXRW);
}

static void result__table_2(void **state)
{
	static const enum rtr_type asked[] = {RTR_EXRW, RTR_TBSN, RTR_CHOICE, RTR_BYSIZE};
	static const enum rtr_type got[] = {RTR_EXRW, RTR_TBSN, RTR_TOOSHORT, RTR_NOITEM};
	static const bool valid[4][4] = {{true, false, true, true},
					 {false, true, true, true},
					 {true, true, true, true},
					 {true, true, true, true}};
	bool deregisters;

	(void)state;
	for (uint32_t a = 0; a < 4; a++) {
		for (uint32_t g = 0; g < 4; g++) {
			assert_int_equal(rtr_directions_result(asked[a], got[g], &deregisters),
					 valid[a][g]);
			assert_int_equal(deregisters, asked[a] != RTR_TBSN);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(next__7_4_a_range_ties_directions_to_a_part_of_the_request),
		cmocka_unit_test(init__more_sets_than_are_kept_are_refused),
		cmocka_unit_test(choose__7_4_by_type_length_and_what_is_possible),
		cmocka_unit_test(choose__7_4_what_is_shorter_than_the_minimum_goes_inline),
		cmocka_unit_test(choose__bysize_without_segments),
		cmocka_unit_test(result__table_2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
