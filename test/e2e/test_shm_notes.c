/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes of the shm driver: short messages for queue pairs that are cold; in order, whatever happens meanwhile; and peers that leave wrong ones. */
#include "shm_raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eal.h"

#define MANY 60u
#define LONG (NOTE_DATA + 1)

static struct end a, b;
static struct fabric_qp *qps[2][MANY]; /* a's and b's ends */
static char addr[64];
static uint8_t sent; /* messages begin with how many were before */
static uint8_t expected;

static struct shm_qp *qp_of(uint32_t side, uint32_t i)
{
	return (struct shm_qp *)qps[side][i];
}

static void cool_down(struct end *end)
{
	const struct shm_dev *dev = (const struct shm_dev *)end->dev;

	for (uint32_t i = 0; i < 40 * SHM_COLD_POLLS && dev->nhot > 0; i++)
		assert_int_equal(end->ops->poll(end->dev, end->wcs, END_WCS), 0);
	assert_int_equal(dev->nhot, 0);
}

static void connect_next(uint32_t i)
{
	qps[0][i] = end_connect(&a, addr, &qps[0][i]);
	qps[1][i] = end_accept(&b, &a, &qps[1][i]);
	end_event(&a, &b, FABRIC_CM_ESTABLISHED);
	end_event(&b, &a, FABRIC_CM_ESTABLISHED);
}

static int setup(void **state)
{
	(void)state;
	memset(qps, 0, sizeof(qps));
	sent = expected = 0;
	end_open(&a, "", MANY);
	end_open(&b, "", MANY);
	snprintf(addr, sizeof(addr), "%s", end_address());
	end_listen(&b, addr);
	for (uint32_t i = 0; i < 20; i++)
		connect_next(i);
	cool_down(&a);
	cool_down(&b);
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
	end_close(&a);
	end_close(&b);
	return 0;
}

/* From a to b. */
static void send_one(uint32_t i, uint32_t len)
{
	memset(a.mem, sent + 1, len);
	a.mem[0] = sent++;
	assert_true(a.ops->send_now(qps[0][i], a.mem, len));
}

static void recv_on(uint32_t i)
{
	end_recv(&b, qps[1][i], i, 4096 * i, 2048);
}

static void expect_wc(const struct fabric_wc *wc, uint32_t i, uint32_t len)
{
	const uint8_t *got = b.mem + 4096 * i;

	assert_ptr_equal(wc->qp_ctx, &qps[1][i]);
	assert_int_equal(wc->status, FABRIC_OK);
	assert_int_equal(wc->byte_len, len);
	assert_int_equal(got[0], expected);
	for (uint32_t at = 1; at < len; at++)
		assert_int_equal(got[at], (uint8_t)(expected + 1));
	expected++;
}

/* Found in one poll of b's. */
static void expect_one(uint32_t i, uint32_t len)
{
	struct fabric_wc wcs[2];

	assert_int_equal(b.ops->poll(b.dev, wcs, 2), 1);
	expect_wc(&wcs[0], i, len);
}

/* Whether the latest message to b's end lies in the note. */
static bool is_in_note(uint32_t i)
{
	return shm_note_len(qp_of(1, i)) >= 0;
}

static void cold__short_messages_lie_in_the_note(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 5; round++) {
		for (uint32_t i = 1; i < 20; i++) {
			uint64_t at = qp_of(0, i)->tx.tail;

			recv_on(i);
			send_one(i, 1 + 13 * i);
			/* The few that are hot whenever they are used have no use for it. */
			assert_true(is_in_note(i) == !qp_of(1, i)->is_hot);
			if (is_in_note(i))
				assert_int_equal(qp_of(0, i)->tx.tail, at + RING_CELL);
			expect_one(i, 1 + 13 * i);
		}
	}
	assert_in_range(((struct shm_dev *)b.dev)->nhot, 1, 8);
}

/* A page for sixteen of them, instead of one or more for each. */
static void cold__notes_are_close(void **state)
{
	(void)state;
	assert_int_equal((uintptr_t)qp_of(1, 16)->note_in - (uintptr_t)qp_of(1, 1)->note_in, 15 * NOTE_BYTES);
	assert_int_equal((uintptr_t)qp_of(1, 1)->note_in % 4096, 0);
}

static void cold__messages_behind_a_note_are_in_order(void **state)
{
	static const uint32_t lens[][4] = {
		{10, 20, 30, 40}, {10, LONG, 20, LONG}, {LONG, 10, 20, 30}, {NOTE_DATA, LONG, LONG, 1}};

	(void)state;
	for (uint32_t n = 0; n < 4; n++) {
		for (uint32_t i = 5; i < 8; i++) {
			uint32_t got = 0, polls = 0;

			for (uint32_t j = 0; j < 4; j++)
				recv_on(i);
			assert_false(qp_of(1, i)->is_hot);
			for (uint32_t j = 0; j < 4; j++)
				send_one(i, lens[n][j]);
			assert_true(is_in_note(i) == (lens[n][0] < LONG));
			/* One at a time: all go to the same memory. */
			for (; got < 4 && polls < 10; polls++) {
				struct fabric_wc wc;

				if (b.ops->poll(b.dev, &wc, 1) == 1)
					expect_wc(&wc, i, lens[n][got++]);
			}
			assert_int_equal(got, 4);
			cool_down(&b);
		}
	}
}

/* It was left while b's end was cold, which is not so any more. */
static void warm__note_is_found(void **state)
{
	(void)state;
	for (uint32_t i = 5; i < 8; i++) {
		recv_on(i);
		send_one(i, 100);
		assert_true(is_in_note(i));
		shm_qp_warm(qp_of(1, i));
		send_one(i, 50);
		recv_on(i);
		expect_one(i, 100);
		expect_one(i, 50);
		cool_down(&b);
	}
}

/* The bell was not heard. */
static void lost__note_is_found_by_looking(void **state)
{
	(void)state;
	for (uint32_t i = 5; i < 8; i++) {
		struct shm_lane *lane = qp_of(0, i)->lane;
		uint32_t polls = 0;

		recv_on(i);
		send_one(i, 100);
		assert_true(is_in_note(i));
		lane->out_next--;
		atomic_store(&lane->out->rung[lane->out_next], (uint32_t)(lane->out_lap - 1) << 16);
		while (b.ops->poll(b.dev, b.wcs, 1) == 0)
			polls++;
		assert_in_range(polls, 0, SHM_BELLED_EVERY * 21);
		expect_wc(&b.wcs[0], i, 100);
		cool_down(&b);
	}
}

static void rnr__note_waits_for_its_receive(void **state)
{
	(void)state;
	send_one(5, 100);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(b.ops->poll(b.dev, b.wcs, 1), 0);
	assert_int_equal(b.dev->stats.rnr, 1);
	recv_on(5);
	expect_one(5, 100);
	cool_down(&b);
	recv_on(5);
	send_one(5, 7);
	assert_true(is_in_note(5));
	expect_one(5, 7);
}

static void receive__is_too_short_for_a_note(void **state)
{
	(void)state;
	end_recv(&b, qps[1][5], 5, 0, 20);
	send_one(5, 21);
	assert_int_equal(b.ops->poll(b.dev, b.wcs, 2), 1);
	assert_int_equal(b.wcs[0].status, FABRIC_ERR_LOCAL_LEN);
}

/* a's end goes, with a note of its left behind; and its place is another's then. */
static void end__note_is_delivered_before_it(void **state)
{
	uint32_t place = qp_of(0, 5)->place;
	bool has_come = false, has_ended = false;

	(void)state;
	/* From b, which gives the places, to a. */
	end_recv(&a, qps[0][5], 5, 0, 2048);
	memset(b.mem, 0x5a, 100);
	assert_true(b.ops->send_now(qps[1][5], b.mem, 100));
	assert_true(shm_note_len(qp_of(0, 5)) == 100);
	b.ops->qp_destroy(qps[1][5]);
	qps[1][5] = end_connect(&a, addr, &qps[1][5]); /* a's end of the next one, for the moment */
	qps[0][20] = end_accept(&b, NULL, &qps[0][20]);
	assert_int_equal(((struct shm_qp *)qps[0][20])->place, place);
	for (uint64_t until = end_now_ns() + END_WAIT_NS; !has_ended && end_now_ns() < until;) {
		end_step(&a, &b);
		for (uint32_t i = 0; i < a.nwcs; i++)
			has_come |= a.wcs[i].qp_ctx == &qps[0][5] && a.wcs[i].op == FABRIC_RECV &&
				    a.wcs[i].status == FABRIC_OK && a.wcs[i].byte_len == 100;
		for (uint32_t i = 0; i < a.nevents; i++) {
			bool ended = a.events[i].kind == FABRIC_CM_DISCONNECTED;

			assert_true(!ended || has_come);
			has_ended |= ended;
		}
		a.nwcs = 0;
	}
	assert_true(has_come && has_ended);
	assert_int_equal(a.mem[99], 0x5a);
	a.nevents = b.nevents = 0;
	b.ops->qp_destroy(qps[0][20]);
	a.ops->qp_destroy(qps[1][5]);
	qps[0][20] = qps[1][5] = NULL;
}

static void raw_start(struct raw *raw)
{
	raw_init(raw);
	raw_offer_bells(raw);
	b.ops->unlisten(b.listener);
	raw_pair(raw, &b);
	assert_true(raw->answer.has_bells);
	qps[1][MANY - 1] = b.qp;
	cool_down(&b);
}

static struct bell_way *raw_way(const struct raw *raw)
{
	return &raw->bells->lanes[raw->answer.bells_lane].to_acceptor;
}

static void raw_ring(const struct raw *raw, uint32_t *n)
{
	uint32_t word = (*n / BELL_QUEUE + 1) << 16 | raw->answer.bells_place;

	atomic_store(&raw_way(raw)->rung[(*n)++ % BELL_QUEUE], word);
}

/* All that a note's header can be: b takes no more than one message of it for each position, within its receive, or ends the connection. */
static void hostile__headers(void **state)
{
	struct raw raw;
	uint32_t rings = 0, got = 0;
	struct shm_qp *qp;
	struct shm_note *note;

	(void)state;
	raw_start(&raw);
	qp = (struct shm_qp *)b.qp;
	note = &raw_way(&raw)->notes[raw.answer.bells_place];
	assert_int_equal(qp->note_base, note_base(RAW_CONN_ID, raw.answer.conn_id));
	srandom(5);
	for (uint32_t round = 0; round < 1000; round++) {
		uint64_t at = qp->rx.head,
			 header = note_position(qp->note_base, at) + (uint64_t)random() % 3 * 256;
		uint32_t n;

		cool_down(&b);
		if (qp->own.tail - qp->own.head < 8)
			end_recv(&b, b.qp, 0, 4096, 300);
		memset(note->data, (int)round, NOTE_DATA);
		atomic_store(&note->header, header | (uint32_t)random() % (NOTE_DATA + 1));
		raw_ring(&raw, &rings);
		n = b.ops->poll(b.dev, b.wcs, 16);
		assert_in_range(n, 0, 1);
		assert_int_equal(qp->rx.head, at + n * RING_CELL);
		assert_true(n == 0 || b.wcs[0].status == FABRIC_OK);
		assert_true(n == 0 || b.wcs[0].byte_len <= NOTE_DATA);
		got += n;
	}
	assert_in_range(got, 200, 500);
	assert_int_equal(b.mem[4096 + 300], 0);
	cool_down(&b);
	end_recv(&b, b.qp, 0, 4096, 300);
	atomic_store(&note->header, note_position(qp->note_base, qp->rx.head) | (NOTE_DATA + 1));
	raw_ring(&raw, &rings);
	assert_int_equal(b.ops->poll(b.dev, b.wcs, 1), 1);
	assert_int_equal(b.dev->stats.protocol_errors, 1);
	assert_int_equal(b.wcs[0].status, FABRIC_ERR_FATAL);
	raw_fini(&raw);
}

/* A reader's mark that says anything: what b writes stays within the ring and the note, and is there in full. */
static void hostile__marks(void **state)
{
	struct raw raw;
	struct bell_way *way;
	struct shm_note *note;
	struct shm_qp *qp;
	uint64_t at = 0;

	(void)state;
	raw_start(&raw);
	qp = (struct shm_qp *)b.qp;
	way = &raw.bells->lanes[raw.answer.bells_lane].to_connector;
	note = &way->notes[raw.answer.bells_place];
	srandom(6);
	for (uint32_t round = 0; round < 20000; round++) {
		uint64_t mark =
			note_position(qp->note_base, qp->tx.tail + (uint64_t)random() % 3 * RING_CELL);
		uint32_t len = (uint32_t)random() % 400;

		mark |= (uint64_t)random() % 8;
		at = qp->tx.tail;
		/* It says that it reads nothing, or all. */
		atomic_store(&raw.mark->head, random() % 2 ? at : atomic_load(&raw.mark->head));
		atomic_store(&way->marks[raw.answer.bells_place], mark);
		memset(b.mem, (int)round, len);
		if (!b.ops->send_now(b.qp, b.mem, len)) {
			assert_true(qp->tx.size - (at - qp->tx.head) < ring_cells_bytes(len));
			continue;
		}
		if (mark == (note_position(qp->note_base, at) | BELL_COLD | BELL_NOTE) && len <= NOTE_DATA) {
			assert_int_equal(qp->tx.tail, at + RING_CELL);
			assert_int_equal(atomic_load(&note->header), note_position(qp->note_base, at) | len);
			for (uint32_t i = 0; i < len; i++)
				assert_int_equal(note->data[i], (uint8_t)round);
		} else {
			assert_int_equal(qp->tx.tail, at + ring_cells_bytes(len));
		}
	}
	raw_fini(&raw);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cold__short_messages_lie_in_the_note),
		TEST(cold__notes_are_close),
		TEST(cold__messages_behind_a_note_are_in_order),
		TEST(warm__note_is_found),
		TEST(lost__note_is_found_by_looking),
		TEST(rnr__note_waits_for_its_receive),
		TEST(receive__is_too_short_for_a_note),
		TEST(end__note_is_delivered_before_it),
		TEST(hostile__headers),
		TEST(hostile__marks),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
