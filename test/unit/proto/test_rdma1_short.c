/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the short message, which the decoder recognises by one comparison. The list decoder must
 * give the same result.
 */
#include <stdlib.h>

#include "rdma1_by_lists.h"

/* Checks mutations that are near a short message, and others. */
static void decode__short_message_is_as_its_lists_say(void **state)
{
	uint32_t nshort = 0;
	struct msg m;

	(void)state;
	srandom(3);
	for (uint32_t round = 0; round < 200000; round++) {
		enum rdma1_direction direction = random() % 2 ? RDMA1_CALL : RDMA1_REPLY;
		struct rdma1_header hdr, full;
		enum rdma1_reason reason, full_reason;
		bool is_short;

		msg_short(&m, 8 + (uint32_t)random() % 60);
		msg_set_u32(&m, RDMA1_HEADER_MIN + 4, direction);
		for (long n = random() % 3; n > 0; n--)
			msg_set_u32(&m, (uint32_t)random() % 9 * 4, (uint32_t)random() % 3);
		if (random() % 8 == 0)
			m.len = (uint32_t)random() % 40;
		is_short = rdma1_is_short(m.buf, m.len, direction);
		nshort += is_short;
		memset(&hdr, 0xee, sizeof(hdr));
		if (is_short)
			rdma1_decode_short(m.buf, &hdr);
		if (m.len < RDMA1_HEADER_MIN || m.buf[7] != 1 || m.buf[15] != RDMA1_MSG) {
			assert_false(is_short);
			continue;
		}
		full_reason =
			decode_by_lists(m.buf, m.len, direction, &rdma1_limits_default, &full);
		if (is_short) {
			assert_int_equal(full_reason, RDMA1_R_NONE);
			assert_same_header(&hdr, &full);
		}
		assert_true((msg_decode(&m, direction, &rdma1_limits_default, &hdr, &reason) ==
			     RDMA1_V_OK) == (full_reason == RDMA1_R_NONE));
		if (full_reason == RDMA1_R_NONE)
			assert_same_header(&hdr, &full);
	}
	assert_in_range(nshort, 50000, 150000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode__short_message_is_as_its_lists_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
