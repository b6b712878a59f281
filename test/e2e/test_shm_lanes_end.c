/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes of the shm driver: how connections end beside others that wait, and what is left of them. */
#include "shm_many.h"

#include "eal.h"

/* Its peer has left behind a message of another connection's, which waits for a receive: what it sent comes before the end, if it can, and
 * the end comes, be there such a receive or not. */
static void end__waits_for_no_receive_of_others(void **state)
{
	(void)state;
	connect_many(4);
	for (uint32_t i = 2; i < 4; i++) {
		assert_true(a.ops->send_now(qps[0][1], a.mem, 10));
		send_now_on(i);
		a.ops->qp_destroy(qps[0][i]);
		qps[0][i] = NULL;
		for (uint32_t n = 0; n < 1000; n++)
			end_step(&b, NULL);
		assert_int_equal(b.nwcs + b.nevents, 0);
		if (i == 2) {
			end_recv(&b, qps[1][1], 1, 0, 100);
			assert_ptr_equal(end_wc(&b, NULL, FABRIC_RECV, FABRIC_OK).qp_ctx, &qps[1][1]);
			assert_ptr_equal(end_wc(&b, NULL, FABRIC_RECV, FABRIC_OK).qp_ctx, &qps[1][2]);
		}
		assert_ptr_equal(end_event(&b, NULL, FABRIC_CM_DISCONNECTED).qp_ctx, &qps[1][i]);
	}
	/* The lane goes on behind it. */
	end_recv(&b, qps[1][1], 1, 0, 100);
	END_WAIT(&b, NULL, b.nwcs == 2);
	b.nwcs = 0;
	send_now_on(1);
	expect_in_one_poll(1);
}

/* A message that was late for its receive: its side hears of the end, though nothing was posted that could come back. */
static void rnr__end_is_told(void **state)
{
	(void)state;
	end_close(&b);
	end_open(&b, "rnr_retry=1", MANY);
	end_listen(&b, many_addr);
	connect_many(4);
	for (uint32_t i = 0; i < 2; i++) { /* by its own ring, by the lane */
		assert_true(a.ops->send_now(qps[0][i], a.mem, 10));
		assert_ptr_equal(end_event(&b, &a, FABRIC_CM_DISCONNECTED).qp_ctx, &qps[1][i]);
		assert_ptr_equal(end_event(&a, &b, FABRIC_CM_DISCONNECTED).qp_ctx, &qps[0][i]);
	}
	send_now_on(2);
	expect_in_one_poll(2);
}

/* One for which a message waited when it ended has nothing more to be polled for. */
static void rnr__is_over_at_the_end(void **state)
{
	(void)state;
	connect_many(3);
	assert_true(a.ops->send_now(qps[0][1], a.mem, 10));
	assert_int_equal(b.ops->poll(b.dev, b.wcs, 4), 0);
	assert_true(qp_of(1, 1)->is_rnr);
	b.ops->disconnect(qps[1][1]);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(b.ops->poll(b.dev, b.wcs, 4), 0);
	assert_false(qp_of(1, 1)->is_hot);
	send_now_on(2);
	expect_in_one_poll(2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, many_setup, many_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(end__waits_for_no_receive_of_others),
		TEST(rnr__end_is_told),
		TEST(rnr__is_over_at_the_end),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
