/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the muxes of the driver shm: rings that many connections share. The order of messages
 * must be kept whatever happens meanwhile. Counters show how many connections a poll checks. */
#include "shm_many.h"

#include "eal.h"

#define FLOOD 32u
#define SOME  60u
#define SLOTS 16u /* number of receives of a connection, each with memory of its own */

static void mux__is_shared_by_all_but_the_first(void **state)
{
	(void)state;
	connect_many(5);
	assert_null(qp_of(0, 0)->mux);
	assert_null(qp_of(1, 0)->mux);
	for (uint32_t i = 1; i < 5; i++) {
		assert_ptr_equal(qp_of(0, i)->mux, qp_of(0, 1)->mux);
		assert_ptr_equal(qp_of(1, i)->mux, qp_of(1, 1)->mux);
		assert_true(qp_of(0, i)->mux_tag == qp_of(1, i)->mux_tag);
		assert_int_equal(qp_of(0, i)->mux_tag & MUX_KIND_MASK, i - 1);
	}
	/* The slot of connection 2 is reused although side a still has its queue pair. */
	b.ops->qp_destroy(qps[1][2]);
	qps[1][2] = NULL;
	end_event(&a, NULL, FABRIC_CM_DISCONNECTED);
	connect_next(5);
	assert_int_equal(qp_of(0, 5)->mux_tag & MUX_KIND_MASK, 1);
	assert_ptr_equal(qp_of(0, 5)->older, qp_of(0, 2));
	END_WAIT(&a, &b, is_in_mux(5));
	send_now_on(5);
	expect_in_one_poll(5);
}

/* Checks that each of several accepting devices has a mux of its own with the connecting device. */
static void mux__is_each_devices_own(void **state)
{
	struct fabric_qp_attr attr = end_attr;
	struct fabric_cm_event event;
	struct end c;

	(void)state;
	connect_many(3);
	end_open(&c, "", 8);
	for (uint32_t i = 3; i < 6; i++) {
		qps[0][i] = end_connect(&a, many_addr, &qps[0][i]);
		event = end_event(&b, &a, FABRIC_CM_REQUEST);
		attr.ctx = &qps[1][i];
		assert_int_equal(c.ops->accept(c.dev, event.req, &attr, NULL, 0, &qps[1][i]), 0);
		end_event(&a, &c, FABRIC_CM_ESTABLISHED);
		end_event(&c, &a, FABRIC_CM_ESTABLISHED);
		END_WAIT(&a, &c, is_in_mux(i));
	}
	assert_int_equal(dev_of(&a)->nmuxes, 2);
	assert_int_equal(dev_of(&b)->nmuxes, 1);
	assert_int_equal(dev_of(&c)->nmuxes, 1);
	for (uint32_t i = 3; i < 6; i++) {
		const struct fabric_recv_wr wr = {i, c.mem, 100, c.mr.lkey};

		assert_int_equal(c.ops->post_recv(qps[1][i], &wr, 1), 1);
		assert_true(a.ops->send_direct(qps[0][i], a.mem, 10));
		assert_int_equal(c.ops->poll(c.dev, c.wcs, 2), 1);
		send_now_on(i == 5 ? 2 : i - 2);
		expect_in_one_poll(i == 5 ? 2 : i - 2);
	}
	for (uint32_t i = 3; i < 6; i++) {
		c.ops->qp_destroy(qps[1][i]);
		qps[1][i] = NULL;
	}
	end_close(&c);
}

/* Checks that a message on any of many connections is found in the next poll, in whatever order the
 * connections send. Only the first connection has a ring of its own. */
static void many__are_found_in_one_poll(void **state)
{
	(void)state;
	connect_many(MANY);
	for (uint32_t n = 0; n < 4 * MANY; n++) {
		uint32_t i = 1 + n * 7919 % (MANY - 1);

		send_now_on(i);
		expect_in_one_poll(i);
		assert_in_range(dev_of(&a)->nhot, 0, 1);
		assert_in_range(dev_of(&b)->nhot, 0, 1);
		assert_in_range(dev_of(&a)->turns.ncold + dev_of(&b)->turns.ncold, 0, 2);
	}
	assert_int_equal(b.dev->stats.recvs, 4 * MANY);
}

/* Checks that consecutive messages are in consecutive cells of the mux, whichever connections they
 * belong to. Therefore they share pages and cache lines. */
static void many__messages_are_close(void **state)
{
	uint64_t tail;

	(void)state;
	connect_many(20);
	tail = ring_tail(&qp_of(0, 1)->mux->tx);
	for (uint32_t i = 1; i < 20; i++)
		send_now_on(i);
	assert_int_equal(ring_tail(&qp_of(0, 1)->mux->tx) - tail, 19 * RING_CELL);
	assert_int_equal(b.ops->poll(b.dev, b.wcs, 64), 19);
}

/* --- the order of messages, whatever happens between them --- */

/* One direction of a connection: numbers of messages that were sent and that arrived, and of
 * receives that were posted. */
struct stream {
	uint32_t sent, got, posted;
};

static struct stream streams[2][MANY]; /* index: the receiving side, then the connection */

static struct end *end_of(uint32_t side)
{
	return side == 0 ? &a : &b;
}

static uint32_t len_of(uint32_t side, uint32_t i, uint32_t n)
{
	uint32_t pick = side * 7 + i * 31 + n * 17;

	return pick % 5 == 0 ? 4 + pick % 1000 : 4 + pick % 120;
}

static uint8_t *slot_of(uint32_t side, uint32_t i, uint32_t n)
{
	return end_of(side)->mem + (i * SLOTS + n % SLOTS) * 1024;
}

static void post_recvs(uint32_t side, uint32_t i)
{
	struct stream *stream = &streams[side][i];

	while (stream->posted - stream->got < SLOTS) {
		const struct fabric_recv_wr wr = {stream->posted, slot_of(side, i, stream->posted),
						  1024, end_of(side)->mr.lkey};

		assert_int_equal(end_of(side)->ops->post_recv(qps[side][i], &wr, 1), 1);
		stream->posted++;
	}
}

/* Sends the next message of connection i to 'side', in one piece or gathered, directly or through
 * the send queue. Returns false if it could not be sent now. */
static bool send_next(uint32_t side, uint32_t i)
{
	struct stream *stream = &streams[side][i];
	struct end *from = end_of(1 - side);
	uint8_t *data = from->mem + END_MEM_BYTES - 1024;
	uint32_t len = len_of(side, i, stream->sent);
	struct fabric_sge sges[2] = {{data, 3, from->mr.lkey}, {data + 3, len - 3, from->mr.lkey}};
	const struct fabric_wr wr = {.op = FABRIC_SEND,
				     .sge = sges,
				     .nsge = 2,
				     .flags = FABRIC_SIGNALED | FABRIC_INLINE};
	bool is_sent;

	memset(data, (int)(stream->sent * 3 + i), len);
	memcpy(data, &stream->sent, 4);
	is_sent = len <= 256 && random() % 4 == 0
			  ? from->ops->post_send(qps[1 - side][i], &wr, 1) == 1
			  : from->ops->send_direct(qps[1 - side][i], data, len);
	stream->sent += is_sent;
	return is_sent;
}

/* Checks for each message that arrived that it is the next one of its connection, and complete. */
static void check_messages(uint32_t side, const struct fabric_wc *wcs, uint32_t n)
{
	for (uint32_t w = 0; w < n; w++) {
		uint32_t i = (uint32_t)((struct fabric_qp **)wcs[w].qp_ctx - qps[side]);
		struct stream *stream = &streams[side][i];
		const uint8_t *data = slot_of(side, i, stream->got);

		assert_int_equal(wcs[w].status, FABRIC_OK);
		if (wcs[w].op != FABRIC_RECV)
			continue;
		assert_int_equal(wcs[w].byte_len, len_of(side, i, stream->got));
		assert_memory_equal(data, &stream->got, 4);
		for (uint32_t at = 4; at < wcs[w].byte_len; at++)
			assert_int_equal(data[at], (uint8_t)(stream->got * 3 + i));
		stream->got++;
	}
}

/* Checks the messages that arrived while the test waited for events, and those of one poll. */
static void take_messages(uint32_t side, uint32_t max)
{
	struct end *end = end_of(side);
	struct fabric_wc wcs[64];

	check_messages(side, end->wcs, end->nwcs);
	end->nwcs = 0;
	check_messages(side, wcs, end->ops->poll(end->dev, wcs, max));
}

static uint32_t under_way(uint32_t from, uint32_t to)
{
	uint32_t sum = 0;

	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t i = from; i < to; i++)
			sum += streams[side][i].sent - streams[side][i].got;
	return sum;
}

static void drain(uint32_t n)
{
	uint32_t polls = 0;

	while (under_way(0, n) > 0) {
		assert_in_range(polls++, 0, 100000);
		for (uint32_t side = 0; side < 2; side++) {
			for (uint32_t i = 0; i < n; i++)
				post_recvs(side, i);
			take_messages(side, 64);
		}
	}
}

/* Checks the order while both sides send from the first moment on, poll sometimes, and change to
 * the mux. */
static void order__is_kept_from_the_first_message_on(void **state)
{
	(void)state;
	memset(streams, 0, sizeof(streams));
	srandom(9);
	for (uint32_t i = 0; i < 24; i++) {
		uint32_t side = (uint32_t)random() % 2;

		connect_next(i);
		post_recvs(0, i);
		post_recvs(1, i);
		for (uint32_t n = 0; n < 200; n++) {
			uint32_t pick = (uint32_t)random() % 8;

			side = pick < 5 ? (uint32_t)random() % 2 : side;
			if (pick < 6 && streams[side][i].sent - streams[side][i].got < SLOTS)
				send_next(side, i);
			else
				take_messages((uint32_t)random() % 2, 1 + (uint32_t)random() % 4);
			post_recvs(0, i);
			post_recvs(1, i);
		}
	}
	drain(24);
	for (uint32_t i = 1; i < 24; i++)
		assert_true(is_in_mux(i));
}

/* Checks the order while there are more messages than the mux holds. Messages for which there is no
 * space wait at their sender. */
static void order__is_kept_where_the_mux_is_full(void **state)
{
	uint32_t refused = 0;

	(void)state;
	memset(streams, 0, sizeof(streams));
	srandom(10);
	connect_many(SOME);
	for (uint32_t round = 0; round < 4; round++) {
		for (uint32_t n = 0; n < 50 * SOME; n++)
			refused += !send_next(1, n % SOME);
		assert_true(refused > 0);
		drain(SOME);
		END_WAIT(&a, NULL, dev_of(&a)->nhot <= 1);
	}
}

/* Checks a message that waits for a receive. Later messages in the mux wait as well, even those of
 * another connection. */
static void rnr__makes_the_mux_wait(void **state)
{
	(void)state;
	connect_many(3);
	end_recv(&b, qps[1][2], 2, 0, 100);
	assert_true(a.ops->send_direct(qps[0][1], a.mem, 10));
	assert_true(a.ops->send_direct(qps[0][2], a.mem, 10));
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(b.ops->poll(b.dev, b.wcs, 4), 0);
	assert_int_equal(b.dev->stats.rnr, 1);
	end_recv(&b, qps[1][1], 1, 0, 100);
	expect_in_one_poll(1);
	expect_in_one_poll(2);
	/* When a connection ends, its message does not make others wait any longer. */
	assert_true(a.ops->send_direct(qps[0][1], a.mem, 10));
	send_now_on(2);
	assert_int_equal(b.ops->poll(b.dev, b.wcs, 4), 0);
	b.ops->disconnect(qps[1][1]);
	expect_in_one_poll(2);
}

static void receive__is_too_short(void **state)
{
	(void)state;
	connect_many(3);
	end_recv(&b, qps[1][1], 1, 0, 20);
	assert_true(a.ops->send_direct(qps[0][1], a.mem, 21));
	send_now_on(2);
	assert_int_equal(b.ops->poll(b.dev, b.wcs, 4), 2);
	assert_int_equal(b.wcs[0].status, FABRIC_ERR_LOCAL_LEN);
	assert_ptr_equal(b.wcs[1].qp_ctx, &qps[1][2]);
	/* The lengths are up to the payload of the first cell, and slightly more. */
	for (uint32_t len = 0; len < 60; len++) {
		end_recv(&b, qps[1][2], 2, 0, len);
		b.mem[len] = 0x77;
		memset(a.mem, 1 + (int)len, 60);
		assert_true(a.ops->send_direct(qps[0][2], a.mem, len));
		expect_in_one_poll(2);
		assert_memory_equal(b.mem, a.mem, len);
		assert_int_equal(b.mem[len], 0x77);
	}
}

static void send_inv_on(uint32_t i, uint32_t rkey, uint32_t len)
{
	end_recv(&b, qps[1][i], i, 4096, 1024);
	memset(a.mem, (int)len, len);
	a.qp = qps[0][i];
	end_post(&a, (struct fabric_wr){.op = FABRIC_SEND_INV, .rkey = rkey}, end_sge(&a, 0, len));
	a.qp = NULL;
}

/* Checks Sends that invalidate a key, with a payload of one or several cells. One key belongs to
 * the receiver, and another key is not valid. */
static void send_inv__goes_by_the_mux(void **state)
{
	static const uint32_t lens[] = {1, RING_DATA - RING_TAG, RING_DATA - RING_TAG + 1, 200,
					1000};
	struct fabric_mw mw = {0};
	struct fabric_wr bind = {.op = FABRIC_BIND_MW,
				 .mw = &mw,
				 .flags = FABRIC_SIGNALED,
				 .access = FABRIC_REMOTE_READ};

	(void)state;
	connect_many(3);
	assert_int_equal(b.ops->mw_alloc(b.dev, &mw), 0);
	for (uint32_t n = 0; n < sizeof(lens) / sizeof(lens[0]); n++) {
		struct fabric_wc wc;

		b.qp = qps[1][1];
		end_post(&b, bind, end_sge(&b, 0, 64));
		b.qp = NULL;
		end_wc(&b, NULL, FABRIC_BIND_MW, FABRIC_OK);
		send_inv_on(1, mw.rkey, lens[n]);
		wc = end_wc(&b, NULL, FABRIC_RECV, FABRIC_OK);
		assert_int_equal(wc.inv_rkey, mw.rkey);
		assert_int_equal(wc.byte_len, lens[n]);
		assert_memory_equal(b.mem + 4096, a.mem, lens[n]);
	}
	send_inv_on(1, mw.rkey, 100);
	end_wc(&b, NULL, FABRIC_RECV, FABRIC_ERR_REMOTE_ACCESS);
	send_now_on(2);
	END_WAIT(&b, NULL, b.nwcs == 1);
	assert_ptr_equal(b.wcs[0].qp_ctx, &qps[1][2]);
	b.nwcs = 0;
	b.ops->mw_free(b.dev, &mw);
}

/* --- next to connections without a mux --- */

static void flood(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		send_now_on(0);
}

/* Checks a message in the mux while the first connection, which has its own ring, floods. The next
 * poll finds the message. If a poll returns only one completion, the poll after that finds it,
 * after messages of the flood. */
static void mux__waits_for_no_flood(void **state)
{
	(void)state;
	connect_many(20);
	for (uint32_t max = 1; max <= 64; max *= 4) {
		for (uint32_t i = 1; i < 20; i++) {
			uint32_t polls = 0, found = 0;

			flood(FLOOD);
			send_now_on(i);
			while (found == 0 && polls++ < 10) {
				uint32_t n = b.ops->poll(b.dev, b.wcs, max);

				for (uint32_t j = 0; j < n; j++)
					found += b.wcs[j].qp_ctx == &qps[1][i];
			}
			assert_int_equal(found, 1);
			assert_in_range(polls, 1, max == 1 ? 2 : 1);
			while (b.ops->poll(b.dev, b.wcs, 64) > 0)
				;
		}
	}
}

/* Checks that a mux that is never empty gets only half of the service, and the other connections
 * get the other half. */
static void mux__leaves_half_to_others(void **state)
{
	uint32_t of_flood = 0, all = 0, max = 16;

	(void)state;
	connect_many(MANY);
	flood(1);
	while (b.ops->poll(b.dev, b.wcs, 1) == 0)
		;
	flood(2 * FLOOD);
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

/* --- the end of connections --- */

/* Checks that a message in the mux is delivered although its sender, b, has destroyed the queue
 * pair. Another connection then gets the slot. */
static void end__message_is_delivered_before_it(void **state)
{
	bool has_come = false, has_ended = false;
	uint64_t until;

	(void)state;
	connect_many(10);
	end_recv(&a, qps[0][5], 5, 0, 2048);
	memset(b.mem, 0x5a, 100);
	assert_true(b.ops->send_direct(qps[1][5], b.mem, 100));
	b.ops->qp_destroy(qps[1][5]);
	qps[1][5] =
		/* for a moment, this is a's queue pair of the next connection */
		end_connect(&a, many_addr, &qps[1][5]);
	qps[0][20] = end_accept(&b, NULL, &qps[0][20]);
	assert_int_equal(qp_of(0, 20)->mux_tag & MUX_KIND_MASK, 4);
	for (until = end_now_ns() + END_WAIT_NS; !has_ended && end_now_ns() < until;) {
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

/* Checks that a message on a connection that has ended does not reach the next connection in the
 * same slot. */
static void end__leaves_nothing_to_the_next(void **state)
{
	(void)state;
	connect_many(4);
	for (uint32_t round = 0; round < 50; round++) {
		/* These messages are not received, in either direction. */
		assert_true(a.ops->send_direct(qps[0][2], a.mem, 100));
		assert_true(b.ops->send_direct(qps[1][2], b.mem, 100));
		destroy(2);
		connect_next(2);
		assert_int_equal(qp_of(1, 2)->mux_tag & MUX_KIND_MASK, 1);
		END_WAIT(&a, &b, is_in_mux(2));
		send_now_on(2);
		expect_in_one_poll(2);
	}
	assert_int_equal(a.dev->stats.protocol_errors + b.dev->stats.protocol_errors, 0);
	assert_int_equal(a.dev->stats.rnr + b.dev->stats.rnr, 0);
	a.nevents = b.nevents = 0;
}

/* Checks that a new mux is started after all connections have left the old one. The first
 * connection never uses a mux. */
static void end__mux_begins_anew(void **state)
{
	(void)state;
	connect_many(1);
	for (uint32_t round = 0; round < 8; round++) {
		uint32_t start;

		for (uint32_t i = 1; i < 6; i++) {
			connect_next(i);
			END_WAIT(&a, &b, is_in_mux(i));
			for (uint32_t n = 0; n < 50 * round; n++) {
				send_now_on(i);
				expect_in_one_poll(i);
			}
		}
		start = qp_of(1, 1)->mux->start;
		for (uint32_t i = 1; i < 6; i++)
			destroy(i);
		a.nevents = b.nevents = 0;
		assert_int_equal(dev_of(&b)->nmuxes, 0);
		connect_next(1);
		assert_int_not_equal(qp_of(1, 1)->mux->start, start);
		destroy(1);
		a.nevents = b.nevents = 0;
	}
}

/* Checks new connections while the connecting side still has a connection in the old mux. They work
 * without a mux, and no message is lost. */
static void end__does_without_meanwhile(void **state)
{
	(void)state;
	connect_many(2);
	b.ops->qp_destroy(qps[1][1]);
	qps[1][1] = NULL;
	end_event(&a, NULL, FABRIC_CM_DISCONNECTED);
	connect_next(2);
	assert_null(qp_of(0, 2)->mux);
	assert_non_null(qp_of(1, 2)->mux);
	for (uint32_t i = 0; i < 50; i++) {
		send_now_on(2);
		expect_in_one_poll(2);
		end_recv(&a, qps[0][2], 0, 0, 100);
		assert_true(b.ops->send_direct(qps[1][2], b.mem, 10));
		assert_int_equal(a.ops->poll(a.dev, a.wcs, 1), 1);
	}
	a.nevents = 0;
	destroy(1);
	destroy(2);
	connect_next(1);
	END_WAIT(&a, &b, is_in_mux(1));
	a.nevents = 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, many_setup, many_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(mux__is_shared_by_all_but_the_first),
		TEST(mux__is_each_devices_own),
		TEST(many__are_found_in_one_poll),
		TEST(many__messages_are_close),
		TEST(order__is_kept_from_the_first_message_on),
		TEST(order__is_kept_where_the_mux_is_full),
		TEST(rnr__makes_the_mux_wait),
		TEST(receive__is_too_short),
		TEST(send_inv__goes_by_the_mux),
		TEST(mux__waits_for_no_flood),
		TEST(mux__leaves_half_to_others),
		TEST(end__message_is_delivered_before_it),
		TEST(end__leaves_nothing_to_the_next),
		TEST(end__mux_begins_anew),
		TEST(end__does_without_meanwhile),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
