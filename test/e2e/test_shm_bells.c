/* SPDX-License-Identifier: BSD-3-Clause */
/* Bells of the shm driver: which of many queue pairs is looked at, by count; and peers that ring wrongly. */
#include "shm_raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eal.h"

#define MANY	     300u
#define FLOOD	     32u
#define HOT_MOST     8u /* that poll.c leaves hot where all are used seldom */
#define RINGS_A_POLL 64u
#define BURST	     20u

static struct end a, b;
static struct fabric_qp *qps[2][MANY]; /* a's and b's ends */

static struct shm_qp *qp_of(uint32_t side, uint32_t i)
{
	return (struct shm_qp *)qps[side][i];
}

static const struct shm_dev *dev_of(const struct end *end)
{
	return (const struct shm_dev *)end->dev;
}

static uint32_t count_hot(const struct end *end)
{
	const struct shm_dev *dev = dev_of(end);

	assert_int_equal(dev->nhot, dev->nqps - dev->cold.n - dev->belled.n);
	return dev->nhot;
}

static int setup(void **state)
{
	(void)state;
	memset(qps, 0, sizeof(qps));
	end_open(&a, "", MANY);
	end_open(&b, "", MANY);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		a.ops->qp_destroy(qps[0][i]);
		b.ops->qp_destroy(qps[1][i]);
	}
	a.qp = b.qp = NULL;
	assert_int_equal(dev_of(&a)->nlanes + dev_of(&b)->nlanes, 0);
	assert_true(LIST_EMPTY(&dev_of(&a)->bells) && LIST_EMPTY(&dev_of(&b)->bells));
	end_close(&a);
	end_close(&b);
	return 0;
}

static void connect_next(uint32_t i, const char *addr)
{
	qps[0][i] = end_connect(&a, addr, &qps[0][i]);
	qps[1][i] = end_accept(&b, &a, &qps[1][i]);
	end_event(&a, &b, FABRIC_CM_ESTABLISHED);
	end_event(&b, &a, FABRIC_CM_ESTABLISHED);
}

static const char *connect_many(uint32_t n)
{
	static char addr[64];

	snprintf(addr, sizeof(addr), "%s", end_address());
	end_listen(&b, addr);
	for (uint32_t i = 0; i < n; i++)
		connect_next(i, addr);
	return addr;
}

static void cool_down(struct end *end)
{
	for (uint32_t i = 0; i < 20 * SHM_COLD_POLLS && count_hot(end) > 0; i++)
		assert_int_equal(end->ops->poll(end->dev, end->wcs, END_WCS), 0);
	assert_int_equal(count_hot(end), 0);
}

static void send_on(uint32_t i, uint32_t len)
{
	struct fabric_sge sge = end_sge(&a, 0, len);
	const struct fabric_wr wr = {.op = FABRIC_SEND, .flags = FABRIC_SIGNALED, .sge = &sge, .nsge = 1};

	assert_int_equal(a.ops->post_send(qps[0][i], &wr, 1), 1);
}

/* As calls are sent: without a completion. */
static void send_now_on(uint32_t i)
{
	end_recv(&b, qps[1][i], i, 0, 100);
	assert_true(a.ops->send_now(qps[0][i], a.mem, 10));
}

/* One poll of b's, in which one message came, on this queue pair. */
static void expect_in_one_poll(uint32_t i)
{
	struct fabric_wc wcs[2];

	assert_int_equal(b.ops->poll(b.dev, wcs, 2), 1);
	assert_ptr_equal(wcs[0].qp_ctx, &qps[1][i]);
	assert_int_equal(wcs[0].status, FABRIC_OK);
}

static void lane__is_shared_by_all_but_the_first(void **state)
{
	const char *addr = connect_many(5);

	(void)state;
	assert_null(qp_of(0, 0)->lane);
	assert_null(qp_of(1, 0)->lane);
	for (uint32_t i = 1; i < 5; i++) {
		assert_ptr_equal(qp_of(0, i)->lane, qp_of(0, 1)->lane);
		assert_ptr_equal(qp_of(1, i)->lane, qp_of(1, 1)->lane);
		assert_int_equal(qp_of(0, i)->place, i - 1);
		assert_int_equal(qp_of(1, i)->place, i - 1);
	}
	/* A place is used again, though the other side still has its former user. */
	b.ops->qp_destroy(qps[1][2]);
	qps[1][2] = NULL;
	end_event(&a, NULL, FABRIC_CM_DISCONNECTED);
	connect_next(5, addr);
	assert_int_equal(qp_of(1, 5)->place, 1);
	assert_int_equal(qp_of(0, 5)->place, 1);
	assert_null(qp_of(0, 2)->lane);
	assert_non_null(qp_of(0, 5)->lane);
}

/* One listens, others accept: each has a lane of its own. */
static void lane__is_each_devices_own(void **state)
{
	struct fabric_qp_attr attr = end_attr;
	struct fabric_cm_event event;
	const char *addr = connect_many(3);
	struct end c;

	(void)state;
	end_open(&c, "", 8);
	for (uint32_t i = 3; i < 6; i++) {
		qps[0][i] = end_connect(&a, addr, &qps[0][i]);
		event = end_event(&b, &a, FABRIC_CM_REQUEST);
		attr.ctx = &qps[1][i];
		assert_int_equal(c.ops->accept(c.dev, event.req, &attr, NULL, 0, &qps[1][i]), 0);
		end_event(&a, &c, FABRIC_CM_ESTABLISHED);
		end_event(&c, &a, FABRIC_CM_ESTABLISHED);
	}
	assert_int_equal(dev_of(&a)->nlanes, 2);
	assert_int_equal(dev_of(&b)->nlanes, 1);
	assert_int_equal(dev_of(&c)->nlanes, 1);
	cool_down(&a);
	cool_down(&b);
	cool_down(&c);
	for (uint32_t i = 3; i < 6; i++) {
		const struct fabric_recv_wr wr = {i, c.mem, 100, c.mr.lkey};

		assert_int_equal(c.ops->post_recv(qps[1][i], &wr, 1), 1);
		assert_true(a.ops->send_now(qps[0][i], a.mem, 10));
		assert_int_equal(c.ops->poll(c.dev, c.wcs, 2), 1);
		send_now_on(i - 2 < 3 ? i - 2 : 2);
		expect_in_one_poll(i - 2 < 3 ? i - 2 : 2);
	}
	for (uint32_t i = 3; i < 6; i++) {
		c.ops->qp_destroy(qps[1][i]);
		qps[1][i] = NULL;
	}
	end_close(&c);
}

/* Of many, each is found in the very next poll, be they used in whatever order; and hardly any is looked at in vain. */
static void rung__is_found_in_one_poll(void **state)
{
	(void)state;
	connect_many(MANY);
	cool_down(&a);
	cool_down(&b);
	for (uint32_t n = 0; n < 4 * MANY; n++) {
		uint32_t i = 1 + n * 7919 % (MANY - 1);

		send_now_on(i);
		expect_in_one_poll(i);
		assert_in_range(count_hot(&a), 0, HOT_MOST);
		assert_in_range(count_hot(&b), 0, HOT_MOST);
	}
	assert_int_equal(b.dev->stats.recvs, 4 * MANY);
}

/* One that is used all the time is polled each time, and needs no bell. */
static void rung__often_is_hot(void **state)
{
	const struct shm_lane *lane;
	uint32_t rung;

	(void)state;
	connect_many(MANY);
	cool_down(&a);
	cool_down(&b);
	lane = qp_of(1, 7)->lane;
	for (uint32_t i = 0; i < 4; i++) {
		send_now_on(7);
		expect_in_one_poll(7);
	}
	assert_true(qp_of(1, 7)->is_hot);
	rung = lane->in_next;
	for (uint32_t i = 0; i < 1000; i++) {
		send_now_on(7);
		expect_in_one_poll(7);
	}
	assert_int_equal(lane->in_next, rung);
}

/* A message that comes while its queue pair is about to be cold. */
static void cooling__message_is_found(void **state)
{
	(void)state;
	connect_many(MANY);
	cool_down(&b);
	for (uint32_t pause = 1; pause < 64; pause++) {
		send_now_on(5);
		expect_in_one_poll(5);
		for (uint32_t i = 0; i < pause * SHM_COLD_POLLS / 48; i++)
			assert_int_equal(b.ops->poll(b.dev, b.wcs, 1), 0);
	}
}

static void flood(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		end_recv(&b, qps[1][0], 2, 0, 100);
		send_on(0, 10);
	}
	while (n > 0)
		n -= a.ops->poll(a.dev, a.wcs, n);
}

/* One floods; the first message of one that is cold is found in the next poll, or in the one after it where a poll gives no more than
 * one completion: messages of the flood until then. */
static void rung__waits_for_no_flood(void **state)
{
	(void)state;
	connect_many(MANY);
	cool_down(&a);
	cool_down(&b);
	for (uint32_t max = 1; max <= 64; max *= 4) {
		for (uint32_t i = 10; i < 20; i++) {
			uint32_t polls = 0, found = 0;

			flood(FLOOD);
			send_now_on(i * max % MANY);
			while (found == 0 && polls++ < 10) {
				uint32_t n = b.ops->poll(b.dev, b.wcs, max);

				for (uint32_t j = 0; j < n; j++)
					found += b.wcs[j].qp_ctx == &qps[1][i * max % MANY];
			}
			assert_int_equal(found, 1);
			assert_in_range(polls, 1, max == 1 ? 2 : 1);
			while (b.ops->poll(b.dev, b.wcs, 64) > 0)
				;
		}
	}
}

/* And those that ring without a pause leave the flood its half. */
static void rung__leaves_half_to_hot_ones(void **state)
{
	uint32_t of_flood = 0, all = 0, max = 16;

	(void)state;
	connect_many(MANY);
	cool_down(&a);
	cool_down(&b);
	flood(1);
	while (b.ops->poll(b.dev, b.wcs, 1) == 0)
		;
	flood(FLOOD);
	flood(FLOOD);
	for (uint32_t i = 1; i < MANY; i++)
		send_now_on(i);
	for (uint32_t polls = 0; polls < 2 * FLOOD / max; polls++) {
		uint32_t n = b.ops->poll(b.dev, b.wcs, max);

		assert_int_equal(n, max);
		for (uint32_t i = 0; i < n; i++)
			of_flood += b.wcs[i].qp_ctx == &qps[1][0];
		all += n;
	}
	assert_in_range(of_flood, all / 4, all * 3 / 4);
}

/* A bell that does not ring costs polls, by count, and no message. */
static void lost__is_found_by_looking(void **state)
{
	(void)state;
	connect_many(MANY);
	cool_down(&a);
	cool_down(&b);
	for (uint32_t n = 1; n < MANY; n += 37) {
		uint32_t polls = 0;

		qp_of(0, n)->peer_mark = &bells_never;
		send_now_on(n);
		while (b.ops->poll(b.dev, b.wcs, 2) == 0)
			polls++;
		assert_in_range(polls, 0, SHM_BELLED_EVERY * (MANY + 1));
	}
}

/* More rings than the queue holds, while nobody looks. */
static void missed__all_messages_are_found(void **state)
{
	uint32_t got = 0, polls = 0;

	(void)state;
	connect_many(MANY);
	cool_down(&a);
	cool_down(&b);
	for (uint32_t n = 0; n < BURST; n++)
		for (uint32_t i = 1; i < MANY; i++)
			send_now_on(i);
	assert_true(BURST * (MANY - 1) > BELL_QUEUE);
	for (; got < BURST * (MANY - 1) && polls < MANY; polls++)
		got += b.ops->poll(b.dev, b.wcs, 64);
	assert_int_equal(got, BURST * (MANY - 1));
}

/* A peer that rings for all there is and is not, all the time: so many of its rings are taken in a poll, and others are served. */
static void hostile__rings_without_end(void **state)
{
	struct raw raw;
	struct shm_lane *lane;
	uint32_t at = 0;

	(void)state;
	raw_init(&raw);
	raw_offer_bells(&raw);
	raw_pair(&raw, &b);
	assert_true(raw.answer.has_bells);
	lane = ((struct shm_qp *)b.qp)->lane;
	assert_ptr_not_equal(lane, NULL);
	qps[1][MANY - 1] = b.qp;
	b.ops->unlisten(b.listener);
	connect_many(20);
	cool_down(&b);
	srandom(7);
	for (uint32_t round = 0; round < 2000; round++) {
		uint32_t n = 0, before = lane->in_next;

		for (uint32_t i = 0; i < BELL_QUEUE; i++, at++) {
			uint32_t place = random() % 4 ? raw.answer.bells_place : (uint32_t)random() & 0xffff;
			uint32_t lap = random() % 4 ? at / BELL_QUEUE + 1 : (uint32_t)random();

			atomic_store(&raw.bells->lanes[raw.answer.bells_lane].to_acceptor.rung[i],
				     lap << 16 | place);
		}
		send_now_on(round % 20);
		for (uint32_t polls = 0; n == 0; polls++) {
			assert_in_range(polls, 0, 2);
			n = b.ops->poll(b.dev, b.wcs, 2);
		}
		assert_int_equal(n, 1);
		assert_ptr_equal(b.wcs[0].qp_ctx, &qps[1][round % 20]);
		assert_in_range((lane->in_next - before) % BELL_QUEUE, 0, 3 * RINGS_A_POLL);
	}
	assert_int_equal(b.dev->stats.protocol_errors, 0);
	raw_fini(&raw);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lane__is_shared_by_all_but_the_first),
		TEST(lane__is_each_devices_own),
		TEST(rung__is_found_in_one_poll),
		TEST(rung__often_is_hot),
		TEST(cooling__message_is_found),
		TEST(rung__waits_for_no_flood),
		TEST(rung__leaves_half_to_hot_ones),
		TEST(lost__is_found_by_looking),
		TEST(missed__all_messages_are_found),
		TEST(hostile__rings_without_end),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
