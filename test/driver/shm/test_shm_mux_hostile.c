/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the muxes of the driver shm against peers that break the protocol. Such a peer ends its
 * own connections, and has no other effect.
 */
#include "shm_many.h"

#include <sys/socket.h>
#include <unistd.h>

#include "eal.h"
#include "recv.h"

static struct raw raw;

/*
 * Connects the raw peer with a mux in which nothing has been sent. Returns the queue pair of b,
 * which is also b.qp.
 */
static struct shm_qp *raw_start(void)
{
	raw_init(&raw);
	raw_offer_mux(&raw);
	b.ops->unlisten(b.listener);
	raw_pair(&raw, &b);
	qps[1][MANY - 1] = b.qp;
	raw_begin_mux(&raw);
	b.ops->unlisten(b.listener);
	snprintf(many_addr, sizeof(many_addr), "%s", end_address());
	end_listen(&b, many_addr);
	connect_many(3);
	return (struct shm_qp *)b.qp;
}

static void raw_put(uint64_t tag, uint32_t len)
{
	static const uint8_t data[1024];

	assert_int_equal(ring_put_tagged(&raw.mux_tx, tag, data, len), 1);
}

static void raw_say(uint32_t kind)
{
	raw_put(raw.mux_tag | kind << MUX_KIND_SHIFT, 0);
}

static uint32_t poll_b(uint32_t polls)
{
	uint32_t n = 0;

	while (polls-- > 0)
		n += b.ops->poll(b.dev, b.wcs + n, 4);
	return n;
}

/*
 * Ends the raw peer. Checks the number of protocol errors, and that other connections still work.
 */
static void raw_end(uint32_t errors)
{
	assert_int_equal(b.dev->stats.protocol_errors, errors);
	send_now_on(2);
	expect_in_one_poll(2);
	raw_fini(&raw);
}

static void hostile__tags_of_others_are_dropped(void **state)
{
	struct shm_qp *qp = raw_start();

	(void)state;
	raw_say(MUX_HELLO);
	raw_say(MUX_SWITCH);
	for (uint32_t bit = 0; bit < 64; bit++)
		if (bit < MUX_KIND_SHIFT || bit >= MUX_TAG_SHIFT)
			raw_put(raw.mux_tag ^ 1ull << bit, 100);
	assert_int_equal(poll_b(4), 0);
	end_recv(&b, b.qp, 1, 0, 100);
	raw_put(raw.mux_tag, 100);
	assert_int_equal(poll_b(1), 1);
	assert_int_equal(qp->state, QP_READY);
	raw_end(0);
}

static void hostile__wrong_kinds_end_their_connection(void **state)
{
	(void)state;
	for (uint32_t wrong = 0; wrong < 4; wrong++) {
		struct shm_qp *qp = raw_start();

		raw_say(MUX_HELLO);
		if (wrong == 0) { /* a message before the kind SWITCH */
			raw_put(raw.mux_tag, 10);
		} else {
			raw_say(MUX_SWITCH);
			raw_say(wrong == 1 ? MUX_SWITCH : wrong == 2 ? 3 : MUX_KIND_MASK);
		}
		assert_int_equal(poll_b(2), 0);
		assert_int_equal(qp->state, QP_ERROR);
		assert_ptr_equal(end_event(&b, NULL, FABRIC_CM_DISCONNECTED).qp_ctx, &b);
		raw_end(wrong + 1);
		for (uint32_t i = 0; i < MANY; i++)
			destroy(i);
		a.nevents = b.nevents = 0;
	}
}

/* Checks words that are not valid headers. They end the mux and all connections in it. */
static void hostile__headers(void **state)
{
	static const uint32_t words[] = {1,
					 RING_VALID,
					 RING_VALID | 7,
					 RING_INV | 8,
					 RING_VALID | RING_LEN_MASK,
					 RING_VALID | (SHM_MSG_MAX + RING_TAG + 1)};

	(void)state;
	for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct shm_qp *qp = raw_start();
		const struct ring_writer *tx = &raw.mux_tx;

		raw_say(MUX_HELLO);
		assert_int_equal(poll_b(2), 0);
		atomic_store(ring_header_at(&tx->cells, ring_tail(tx)),
			     ring_number(ring_tail(tx)) | words[i]);
		assert_int_equal(poll_b(2), 0);
		assert_int_equal(qp->state, QP_ERROR);
		assert_true(qp->mux->is_broken);
		assert_ptr_equal(end_event(&b, NULL, FABRIC_CM_DISCONNECTED).qp_ctx, &b);
		raw_end(i + 1);
		for (uint32_t n = 0; n < MANY; n++)
			destroy(n);
		a.nevents = b.nevents = 0;
	}
}

/*
 * Checks an invalid header that arrives before this side has its ESTABLISHED event. This side gets
 * the event FAILED instead.
 */
static void hostile__before_it_is_established(void **state)
{
	(void)state;
	raw_init(&raw);
	raw_offer_mux(&raw);
	raw_connect(&raw, many_addr);
	raw_send(&raw, &raw.hello, sizeof(raw.hello), raw.fds, raw.nfds);
	qps[1][0] = end_accept(&b, NULL, &b);
	assert_true(raw_recv(&raw, &b));
	raw_begin_mux(&raw);
	raw_say(MUX_SWITCH);
	assert_int_equal(poll_b(2), 0);
	assert_int_equal(qp_of(1, 0)->state, QP_ERROR);
	assert_ptr_equal(end_event(&b, NULL, FABRIC_CM_FAILED).qp_ctx, &b);
	raw_fini(&raw);
}

/*
 * Checks messages that are longer than was agreed, or longer than the receive. They have the same
 * effect as in a ring of one connection.
 */
static void hostile__lengths(void **state)
{
	struct shm_qp *qp = raw_start();

	(void)state;
	raw_say(MUX_HELLO);
	raw_say(MUX_SWITCH);
	end_recv(&b, b.qp, 1, 0, 8192);
	assert_int_equal(poll_b(2), 0);
	b.mem[qp->rx.max_msg + 1] = 0x77;
	{
		static uint8_t data[SHM_MSG_MAX];

		assert_int_equal(
			ring_put_tagged(&raw.mux_tx, raw.mux_tag, data, qp->rx.max_msg + 1), 1);
	}
	assert_int_equal(poll_b(1), 1);
	assert_int_equal(b.wcs[0].status, FABRIC_ERR_FATAL);
	assert_int_equal(b.mem[qp->rx.max_msg + 1], 0x77);
	raw_end(1);
}

/*
 * Checks a message that is too long and follows valid messages. Its completion is the next one, and
 * no byte is written after the receive.
 */
static void hostile__length_behind_good_ones(void **state)
{
	static uint8_t data[SHM_MSG_MAX];
	struct shm_qp *qp = raw_start();
	struct fabric_wc wcs[32], none;

	(void)state;
	raw_say(MUX_HELLO);
	raw_say(MUX_SWITCH);
	assert_int_equal(poll_b(2), 0);
	for (uint32_t i = 0; i < 4; i++)
		end_recv(&b, b.qp, i, 0, 8192);
	for (uint32_t i = 0; i < 3; i++)
		raw_put(raw.mux_tag, 10);
	assert_int_equal(ring_put_tagged(&raw.mux_tx, raw.mux_tag, data, qp->rx.max_msg + 1), 1);
	memset(wcs, 0x77, sizeof(wcs));
	memset(&none, 0x77, sizeof(none));
	assert_int_equal(shm_recv_mux(dev_of(&b), qp->mux, wcs, 16), 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(wcs[i].wr_id, i);
		assert_int_equal(wcs[i].status, i < 3 ? FABRIC_OK : FABRIC_ERR_FATAL);
	}
	for (uint32_t i = 4; i < 32; i++)
		assert_memory_equal(&wcs[i], &none, sizeof(none));
	raw_end(1);
}

/*
 * Checks an invalid position of a mux's reader. It ends the connection that reads the position,
 * which happens in a Send.
 */
static void hostile__marks(void **state)
{
	struct shm_qp *qp = raw_start();
	struct fabric_sge sge = end_sge(&b, 0, 100);
	const struct fabric_wr wr = {.op = FABRIC_SEND, .sge = &sge, .nsge = 1};
	struct ring_shared *mark;
	uint32_t sent = 0;

	(void)state;
	raw_say(MUX_HELLO);
	raw_say(MUX_SWITCH);
	assert_int_equal(poll_b(2), 0);
	assert_true(qp->tx_in_mux);
	mark = ring_shared_of(&qp->mux->tx.cells);
	atomic_store(&mark->head, ring_tail(&qp->mux->tx) + MUX_BYTES);
	while (b.ops->send_direct(b.qp, b.mem, 100))
		assert_in_range(sent++, 0, MUX_BYTES / RING_CELL);
	assert_int_equal(qp->state, QP_READY);
	b.ops->post_send(b.qp, &wr, 1);
	while (b.ops->poll(b.dev, b.wcs, 4) > 0)
		;
	assert_int_equal(qp->state, QP_ERROR);
	raw_end(1);
}

/*
 * Checks a peer that constantly fills the mux with messages for no queue pair. Each poll skips a
 * limited number of them, and other connections are served.
 */
static void hostile__messages_for_nobody(void **state)
{
	struct shm_qp *qp = raw_start();

	(void)state;
	for (uint32_t round = 0; round < 200; round++) {
		uint64_t before;

		while (ring_put_tagged(&raw.mux_tx, raw.mux_tag ^ 0xff, NULL, 0) == 1)
			;
		before = qp->mux->rx.head;
		send_now_on(round % 3);
		for (uint32_t polls = 0; b.ops->poll(b.dev, b.wcs, 2) == 0; polls++)
			assert_in_range(polls, 0, 4);
		assert_ptr_equal(b.wcs[0].qp_ctx, &qps[1][round % 3]);
		assert_in_range(qp->mux->rx.head - before, 0, 5 * MUX_VAIN * RING_CELL);
	}
	raw_end(0);
}

/*
 * Checks an acceptor that gives the same slot to all connections. For each message, only a limited
 * number of them is searched.
 */
static void hostile__one_place_for_all(void **state)
{
	static struct raw raws[4 * MUX_OLDER];
	const char *addr = end_address();
	int listener = raw_listen(addr);
	uint32_t n = 0;

	(void)state;
	for (uint32_t i = 0; i < 4 * MUX_OLDER; i++) {
		struct shm_msg msg;

		qps[0][i] = end_connect(&a, addr, &qps[0][i]);
		raw_init(&raws[i]);
		raw_welcome(&raws[i], listener, &a);
		msg = raws[i].hello;
		msg.type = SHM_ACCEPT;
		msg.has_mux = raws[i].answer.has_mux;
		msg.slot = (struct mux_slot){.mux = 3, .slot = 5, .start = 7};
		raw_send(&raws[i], &msg, sizeof(msg), raws[i].fds + 1, 1);
		end_event(&a, NULL, FABRIC_CM_ESTABLISHED);
	}
	for (const struct shm_qp *qp = qp_of(0, 1)->mux->qps[5]; qp; qp = qp->older)
		n++;
	assert_int_equal(n, MUX_OLDER);
	for (uint32_t i = 0; i < 4 * MUX_OLDER; i++)
		raw_fini(&raws[i]);
	close(listener);
}

/*
 * Checks a peer that offers other memory for muxes with each connection. Only a limited number of
 * such memories is accepted.
 */
static void hostile__memory_for_each_connection(void **state)
{
	static struct raw raws[MUX_COUNT + 2];

	(void)state;
	for (uint32_t i = 0; i < MUX_COUNT + 2; i++) {
		raw_init(&raws[i]);
		raw_offer_mux(&raws[i]);
		b.ops->unlisten(b.listener);
		raw_pair(&raws[i], &b);
		qps[1][i] = b.qp;
		assert_int_equal(raws[i].answer.has_mux, i < MUX_COUNT);
	}
	assert_int_equal(dev_of(&b)->nmuxes, MUX_COUNT);
	for (uint32_t i = 0; i < MUX_COUNT + 2; i++)
		raw_fini(&raws[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, many_setup, many_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(hostile__tags_of_others_are_dropped),
		TEST(hostile__wrong_kinds_end_their_connection),
		TEST(hostile__headers),
		TEST(hostile__before_it_is_established),
		TEST(hostile__lengths),
		TEST(hostile__length_behind_good_ones),
		TEST(hostile__marks),
		TEST(hostile__one_place_for_all),
		TEST(hostile__messages_for_nobody),
		TEST(hostile__memory_for_each_connection),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
