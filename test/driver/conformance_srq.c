/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the driver contract: shared receives. The queue pairs of side b use the receives of one
 * queue (SRQ).
 */
#include "conformance_support.h"

#include <errno.h>
#include <string.h>

#define RECVS 8u
#define LEN   64u

static int shared_ctx;

static struct fabric_srq *shared_open(struct conf *c)
{
	const struct fabric_srq_attr attr = {.max_wr = RECVS, .ctx = &shared_ctx};
	struct fabric_srq *srq;

	assert_true(c->b.dev->attr.max_srq_wr >= RECVS);
	assert_int_equal(c->ops->srq_create(c->b.dev, &attr, &srq), 0);
	return srq;
}

/* Destroys all queue pairs, and then the shared queue. */
static void shared_close(struct conf *c, struct fabric_srq *srq)
{
	for (uint32_t i = 0; i < CONF_QPS_MAX; i++)
		conf_destroy(c, c->qps[i]);
	c->ops->srq_destroy(srq);
}

static void shared_connection(struct conf *c, struct fabric_srq *srq, struct fabric_qp *qp[2],
			      void *ctx_a, void *ctx_b)
{
	struct fabric_cm_event event;

	if (!c->listener)
		conf_listen(c);
	qp[0] = conf_connect(c, ctx_a);
	event = conf_event(c, &c->b, FABRIC_CM_REQUEST);
	c->attr.srq = srq;
	qp[1] = conf_accept(c, &c->b, event.req, ctx_b);
	c->attr.srq = NULL;
	conf_event(c, &c->a, FABRIC_CM_ESTABLISHED);
	conf_event(c, &c->b, FABRIC_CM_ESTABLISHED);
}

static void post_shared(struct conf *c, struct fabric_srq *srq, uint64_t wr_id)
{
	const struct fabric_recv_wr wr = {wr_id, c->b.mem + wr_id * LEN, LEN, c->b.mr.lkey};

	assert_int_equal(c->ops->srq_post_recv(srq, &wr, 1), 1);
}

static void send_to(struct conf *c, struct fabric_qp *qp, uint32_t len, uint32_t seed)
{
	conf_fill(c->a.mem, len, seed);
	conf_send(c, qp, seed, SIGNAL, conf_sge(&c->a, 0, len));
	conf_expect(c, &c->a, seed, FABRIC_SEND, FABRIC_OK);
}

/*
 * Returns the next completion at b. It must have 'status' and be of a receive in the set *posted.
 * Removes the receive from that set.
 */
static struct fabric_wc expect_one_of(struct conf *c, uint32_t *posted, enum fabric_status status)
{
	struct fabric_wc wc = conf_wc(c, &c->b);

	assert_int_equal(wc.status, status);
	assert_int_equal(wc.op, FABRIC_RECV);
	assert_in_range(wc.wr_id, 0, RECVS - 1);
	assert_true(*posted >> wc.wr_id & 1);
	*posted &= ~(1u << wc.wr_id);
	return wc;
}

static void srq__each_message_takes_one_that_is_posted(void **state)
{
	struct conf *c = *state;
	struct fabric_srq *srq = shared_open(c);
	struct fabric_qp *qp[2][2];
	uint32_t posted = 0;
	int ctx[4];

	shared_connection(c, srq, qp[0], &ctx[0], &ctx[1]);
	shared_connection(c, srq, qp[1], &ctx[2], &ctx[3]);
	for (uint32_t i = 0; i < 4 * RECVS; i++) {
		/* three messages on one connection, then three on the other */
		uint32_t from = i / 3 % 2;
		struct fabric_wc wc;

		/*
		 * Receives are used until one is left, and then all are posted again. The indexes
		 * of the queue wrap with the receives in any order.
		 */
		for (uint32_t j = 0; j < RECVS && i % (RECVS - 1) == 0; j++)
			if (!(posted >> j & 1))
				post_shared(c, srq, j);
		if (i % (RECVS - 1) == 0)
			posted = (1u << RECVS) - 1;
		send_to(c, qp[from][0], 1 + i, i);
		wc = expect_one_of(c, &posted, FABRIC_OK);
		assert_ptr_equal(wc.qp_ctx, &ctx[2 * from + 1]);
		assert_int_equal(wc.byte_len, 1 + i);
		assert_true(conf_filled(c->b.mem + wc.wr_id * LEN, 1 + i, i));
	}
	shared_close(c, srq);
}

static void srq__takes_what_fits(void **state)
{
	struct conf *c = *state;
	struct fabric_srq *srq = shared_open(c), *another;
	const struct fabric_srq_attr one = {.max_wr = 1}, none = {.max_wr = 0},
				     many = {.max_wr = c->b.dev->attr.max_srq_wr + 1};
	struct fabric_recv_wr wrs[RECVS + 1];
	uint32_t posted = (1u << RECVS) - 1;
	struct fabric_qp *qp[2];
	int ctx[2];

	for (uint32_t i = 0; i <= RECVS; i++)
		wrs[i] =
			(struct fabric_recv_wr){i, c->b.mem + (uint64_t)i * LEN, LEN, c->b.mr.lkey};
	assert_int_equal(c->ops->srq_create(c->b.dev, &one, &another), -EBUSY);
	assert_int_equal(c->ops->srq_create(c->a.dev, &none, &another), -EINVAL);
	assert_int_equal(c->ops->srq_create(c->a.dev, &many, &another), -EINVAL);
	shared_connection(c, srq, qp, &ctx[0], &ctx[1]);
	/* The queue pair at b has no receive queue of its own. */
	assert_int_equal(c->ops->post_recv(qp[1], wrs, 1), 0);
	assert_int_equal(c->ops->srq_post_recv(srq, wrs, RECVS + 1), RECVS);
	assert_int_equal(c->ops->srq_post_recv(srq, wrs, 1), 0);
	send_to(c, qp[0], LEN, 0);
	expect_one_of(c, &posted, FABRIC_OK);
	assert_int_equal(c->ops->srq_post_recv(srq, wrs, 2), 1);
	shared_close(c, srq);
}

/*
 * Checks srq_post_again(), which posts receives again in the order in which they were used, with
 * their memory unchanged. It does not post a receive that was not used.
 */
static void srq__posts_again_what_was_taken(void **state)
{
	struct conf *c = *state;
	struct fabric_srq *srq;
	uint64_t ids[RECVS + 1] = {0}, never = RECVS;
	struct fabric_qp *qp[2];
	uint32_t posted = (1u << RECVS) - 1, n;
	int ctx[2];

	if (!c->ops->srq_post_again)
		skip();
	srq = shared_open(c);
	shared_connection(c, srq, qp, &ctx[0], &ctx[1]);
	assert_int_equal(c->ops->srq_post_again(srq, &never, 1), 0);
	for (uint32_t i = 0; i < RECVS; i++)
		post_shared(c, srq, i);
	/* All receives are posted, so that none can be posted again. */
	assert_int_equal(c->ops->srq_post_again(srq, ids, 1), 0);
	for (uint32_t round = 0; round < 5; round++) {
		for (n = 0; n < 1 + round; n++) {
			send_to(c, qp[0], LEN - n, round * RECVS + n);
			ids[n] = expect_one_of(c, &posted, FABRIC_OK).wr_id;
			assert_true(
				conf_filled(c->b.mem + ids[n] * LEN, LEN - n, round * RECVS + n));
		}
		ids[n] = never; /* the first receive in the list was not used */
		assert_int_equal(c->ops->srq_post_again(srq, ids, n + 1), 0);
		assert_int_equal(c->ops->srq_post_again(srq, ids, n), n);
		posted = (1u << RECVS) - 1;
	}
	/*
	 * The list is out of order. The function posts receives until it finds one that is not the
	 * next used one.
	 */
	for (n = 0; n < 4; n++) {
		send_to(c, qp[0], LEN, n);
		ids[n] = expect_one_of(c, &posted, FABRIC_OK).wr_id;
	}
	never = ids[1];
	ids[1] = ids[0];
	ids[0] = never;
	assert_int_equal(c->ops->srq_post_again(srq, ids, 4), 2);
	post_shared(c, srq, ids[1]);
	post_shared(c, srq, ids[0]);
	posted = (1u << RECVS) - 1;
	for (n = 0; n < RECVS; n++) {
		send_to(c, qp[0], LEN, 100 + n);
		ids[n] = expect_one_of(c, &posted, FABRIC_OK).wr_id;
		assert_true(conf_filled(c->b.mem + ids[n] * LEN, LEN, 100 + n));
	}
	assert_int_equal(posted, 0);
	assert_int_equal(c->ops->srq_post_again(srq, ids, RECVS), RECVS);
	shared_close(c, srq);
}

static void srq__a_message_waits_for_a_receive(void **state)
{
	struct conf *c = *state;
	struct fabric_qp *qp[2];
	struct fabric_srq *srq;
	int ctx[2];

	conf_reopen(c, "rnr_retry=7");
	srq = shared_open(c);
	shared_connection(c, srq, qp, &ctx[0], &ctx[1]);
	conf_fill(c->a.mem, LEN, 5);
	conf_send(c, qp[0], 1, SIGNAL, conf_sge(&c->a, 0, LEN));
	conf_look_away(c);
	assert_int_equal(c->b.nwcs, 0);
	post_shared(c, srq, 3);
	conf_expect(c, &c->b, 3, FABRIC_RECV, FABRIC_OK);
	assert_true(conf_filled(c->b.mem + 3 * LEN, LEN, 5));
	shared_close(c, srq);
}

/* Checks that no receive is lost when a queue pair ends, however many receives it has used. */
static void srq__the_end_of_one_loses_no_receive(void **state)
{
	struct conf *c = *state;
	struct fabric_srq *srq = shared_open(c);
	struct fabric_qp *qp[2][2];
	uint32_t back = 0;
	int ctx[4];

	shared_connection(c, srq, qp[0], &ctx[0], &ctx[1]);
	shared_connection(c, srq, qp[1], &ctx[2], &ctx[3]);
	for (uint32_t i = 0; i < RECVS; i++)
		post_shared(c, srq, i);
	for (uint32_t i = 0; i < RECVS / 2; i++)
		conf_send(c, qp[0][0], i, 0, conf_sge(&c->a, 0, LEN));
	conf_look_away(c);
	conf_destroy(c, qp[0][1]);
	conf_settle(c);
	for (; back < c->b.nwcs; back++) {
		assert_ptr_equal(c->b.wcs[back].qp_ctx, &shared_ctx);
		assert_int_equal(c->b.wcs[back].op, FABRIC_RECV);
		assert_int_equal(c->b.wcs[back].status, FABRIC_ERR_FLUSHED);
		assert_in_range(c->b.wcs[back].wr_id, 0, RECVS - 1);
	}
	assert_in_range(back, 0, RECVS / 2);
	c->b.nwcs = 0;
	c->a.nwcs = 0;
	c->a.nevents = 0;
	for (uint32_t i = 0; i < back; i++)
		post_shared(c, srq, i);
	for (uint32_t i = 0; i < RECVS; i++) {
		send_to(c, qp[1][0], LEN, 100 + i);
		assert_ptr_equal(conf_wc(c, &c->b).qp_ctx, &ctx[3]);
	}
	shared_close(c, srq);
}

static void srq__a_message_too_long_ends_one_connection_only(void **state)
{
	struct conf *c = *state;
	struct fabric_srq *srq = shared_open(c);
	struct fabric_qp *qp[2][2];
	uint32_t posted = (1u << RECVS) - 1;
	struct fabric_wc wc;
	int ctx[4];

	shared_connection(c, srq, qp[0], &ctx[0], &ctx[1]);
	shared_connection(c, srq, qp[1], &ctx[2], &ctx[3]);
	for (uint32_t i = 0; i < RECVS; i++)
		post_shared(c, srq, i);
	conf_send(c, qp[0][0], 1, 0, conf_sge(&c->a, 0, LEN + 1));
	wc = expect_one_of(c, &posted, FABRIC_ERR_LOCAL_LEN);
	assert_ptr_equal(wc.qp_ctx, &ctx[1]);
	conf_settle(c);
	assert_int_equal(c->b.nwcs, 0); /* no receive of the shared queue is flushed */
	c->a.nwcs = 0;
	for (uint32_t i = 1; i < RECVS; i++) {
		send_to(c, qp[1][0], LEN, 100 + i);
		assert_ptr_equal(expect_one_of(c, &posted, FABRIC_OK).qp_ctx, &ctx[3]);
	}
	assert_int_equal(posted, 0);
	shared_close(c, srq);
}

static void srq__what_waits_is_dropped_with_it(void **state)
{
	struct conf *c = *state;
	struct fabric_srq *srq = shared_open(c);

	for (uint32_t i = 0; i < RECVS; i++)
		post_shared(c, srq, i);
	shared_close(c, srq);
	conf_settle(c);
	assert_int_equal(c->b.nwcs, 0);
	c->ops->srq_destroy(NULL);
	srq = shared_open(c); /* a new queue for the next test */
	shared_close(c, srq);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(srq__each_message_takes_one_that_is_posted),
	cmocka_unit_test(srq__takes_what_fits),
	cmocka_unit_test(srq__posts_again_what_was_taken),
	cmocka_unit_test(srq__a_message_waits_for_a_receive),
	cmocka_unit_test(srq__the_end_of_one_loses_no_receive),
	cmocka_unit_test(srq__a_message_too_long_ends_one_connection_only),
	cmocka_unit_test(srq__what_waits_is_dropped_with_it),
};

const struct conformance_tests conformance_srq = {tests, sizeof(tests) / sizeof(tests[0])};
