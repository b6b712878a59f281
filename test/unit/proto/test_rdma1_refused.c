/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of well-formed messages that are refused: those of the other direction, and those whose
 * Read chunks overlap.
 */
#include "rdma1_msg.h"

/*
 * Checks that the direction is checked first (RFC 8167 section 4). Otherwise a message of the other
 * direction would be answered with RDMA_ERROR.
 */
static void decode__8167_4_the_other_direction_is_dropped(void **state)
{
	struct msg m;

	(void)state;
	for (uint32_t type = 0; type <= 2; type++) {
		for (uint32_t chunks = 0; chunks < 3; chunks++) {
			for (uint32_t bad_xid = 0; bad_xid < 2; bad_xid++) {
				enum rdma1_reason call =
					bad_xid ? RDMA1_R_XID_MISMATCH : RDMA1_R_NONE;
				enum rdma1_reason reply = call;
				uint32_t at;

				msg_begin(&m, RDMA1_MSG);
				msg_end(&m);
				if (chunks > 0) {
					msg_chunk(&m, 1);
					msg_segment(&m, 1, 100, 0x1000);
				}
				msg_end(&m);
				if (chunks > 1) {
					msg_chunk(&m, 1);
					msg_segment(&m, 1, 100, 0x1000);
				} else {
					msg_end(&m);
				}
				at = m.len;
				msg_payload(&m, 40);
				msg_set_u32(&m, at, MSG_XID + bad_xid);
				msg_set_u32(&m, at + 4, type);
				call = type == RDMA1_REPLY ? RDMA1_R_OTHER_DIRECTION : call;
				reply = type == RDMA1_CALL ? RDMA1_R_OTHER_DIRECTION : reply;
				assert_call(&m,
					    call == RDMA1_R_NONE	      ? RDMA1_V_OK
					    : call == RDMA1_R_OTHER_DIRECTION ? RDMA1_V_DROP
									      : RDMA1_V_ERR_CHUNK,
					    call);
				assert_reply(&m, reply == RDMA1_R_NONE ? RDMA1_V_OK : RDMA1_V_DROP,
					     reply);
			}
		}
	}
	/* A message whose direction is that of a reply does not become a call by its Read list. */
	for (uint32_t position = 0; position <= 48; position += 48) {
		msg_begin(&m, RDMA1_MSG);
		msg_read(&m, position, 1, 100, 0x1000);
		msg_end(&m);
		msg_end(&m);
		msg_end(&m);
		msg_payload(&m, 64);
		msg_set_u32(&m, m.len - 60, RDMA1_REPLY);
		assert_call(&m, RDMA1_V_DROP, RDMA1_R_OTHER_DIRECTION);
	}
}

/*
 * Checks RDMA_NOMSG, whose form shows its direction. A call has a Position Zero Read chunk. A reply
 * has a Reply chunk and no Read list.
 */
static void decode__8167_4_a_long_reply_is_no_call(void **state)
{
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_NOMSG);
	msg_end(&m);
	msg_end(&m);
	msg_chunk(&m, 2);
	msg_segment(&m, 1, 3, 0x1000);
	msg_segment(&m, 1, 997, 0x1000);
	assert_call(&m, RDMA1_V_DROP, RDMA1_R_OTHER_DIRECTION);
	assert_reply(&m, RDMA1_V_OK, RDMA1_R_NONE);
	/*
	 * The Reply chunk holds no message, so that the message has the form of neither direction.
	 */
	msg_set_u32(&m, 52, 0);
	assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_NOMSG_WITHOUT_CHUNK);
	msg_begin(&m, RDMA1_NOMSG);
	msg_read(&m, 0, 1, 100, 0x1000);
	msg_end(&m);
	msg_end(&m);
	msg_chunk(&m, 1);
	msg_segment(&m, 1, 1000, 0x1000);
	assert_call(&m, RDMA1_V_OK, RDMA1_R_NONE);
	assert_reply(&m, RDMA1_V_DROP, RDMA1_R_READ_LIST_IN_REPLY);
}

/*
 * Checks that chunks which share bytes of the unreduced stream, in which positions count, are
 * refused (RFC 8166 section 3.4.5).
 */
static void reads__3_4_5_chunks_that_overlap_are_refused(void **state)
{
	struct msg m;

	(void)state;
	for (uint32_t long_call = 0; long_call < 2; long_call++) {
		for (uint32_t len = 1; len <= 40; len++) {
			uint32_t end = 48 + ((len + 3) & ~3u);

			for (uint32_t position = 52; position <= 96; position += 4) {
				msg_begin(&m, long_call ? RDMA1_NOMSG : RDMA1_MSG);
				msg_read(&m, position, 2, 8, 0x2000);
				msg_read(&m, 48, 1, len - len / 2, 0x1000); /* in two segments */
				msg_read(&m, 48, 3, len / 2, 0x3000);
				if (long_call)
					msg_read(&m, 0, 4, 128, 0x4000);
				msg_end(&m);
				msg_end(&m);
				msg_end(&m);
				if (!long_call)
					msg_payload(&m, 128);
				if (position < end)
					assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_READS_OVERLAP);
				else
					assert_call(&m, RDMA1_V_OK, RDMA1_R_NONE);
			}
		}
	}
	/* A chunk of no bytes overlaps nothing. */
	msg_begin(&m, RDMA1_MSG);
	msg_read(&m, 48, 1, 0, 0x1000);
	msg_read(&m, 52, 1, 8, 0x1000);
	msg_end(&m);
	msg_end(&m);
	msg_end(&m);
	msg_payload(&m, 128);
	assert_call(&m, RDMA1_V_OK, RDMA1_R_NONE);
}

/*
 * Checks that Write chunks can name the same memory. The requester decides where a result is
 * written, and handles do not show which memory they expose.
 */
static void writes__4_3_2_chunks_of_the_same_memory_are_legal(void **state)
{
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_MSG);
	msg_end(&m);
	msg_chunk(&m, 2);
	msg_segment(&m, 1, 100, 0x1000);
	msg_segment(&m, 1, 100, 0x1032);
	msg_chunk(&m, 1);
	msg_segment(&m, 1, 100, 0x1000);
	msg_end(&m);
	msg_chunk(&m, 1);
	msg_segment(&m, 1, 100, 0x1000);
	msg_payload(&m, 64);
	assert_call(&m, RDMA1_V_OK, RDMA1_R_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode__8167_4_the_other_direction_is_dropped),
		cmocka_unit_test(decode__8167_4_a_long_reply_is_no_call),
		cmocka_unit_test(reads__3_4_5_chunks_that_overlap_are_refused),
		cmocka_unit_test(writes__4_3_2_chunks_of_the_same_memory_are_legal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
