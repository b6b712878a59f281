/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the driver contract: Sends and receives, the number of entries of queues, and errors
 * that end a connection.
 */
#include "conformance_support.h"

#include <string.h>

static void send__sizes_from_zero_up(void **state)
{
	static const uint32_t sizes[] = {0,    1,    2,	   3,	 5,    7,    8,	  9,
					 15,   16,   17,   63,	 64,   127,  255, 256,
					 1023, 1024, 4095, 4096, 8191, 16384};
	struct conf *c = *state;

	conf_pair(c);
	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t len = sizes[i], from = 3 * i, to = 32768 + 5 * i;
		struct fabric_wc wc;

		conf_fill(c->a.mem + from, len, i);
		memset(c->b.mem + to, 0xee, 16384 + 8);
		conf_recv(c, c->qp[1], &c->b, 100 + i, to, 16384);
		conf_send(c, c->qp[0], i, SIGNAL, conf_sge(&c->a, from, len));
		wc = conf_expect(c, &c->b, 100 + i, FABRIC_RECV, FABRIC_OK);
		assert_int_equal(wc.byte_len, len);
		assert_int_equal(wc.inv_rkey, 0);
		assert_true(conf_filled(c->b.mem + to, len, i));
		assert_int_equal(c->b.mem[to + 16384], 0xee);
		conf_expect(c, &c->a, i, FABRIC_SEND, FABRIC_OK);
	}
}

static void send__without_elements_is_empty(void **state)
{
	struct conf *c = *state;
	const struct fabric_wr wr = {.wr_id = 1, .op = FABRIC_SEND, .flags = SIGNAL};

	conf_pair(c);
	conf_recv(c, c->qp[1], &c->b, 2, 0, 64);
	conf_post(c, c->qp[0], &wr);
	assert_int_equal(conf_expect(c, &c->b, 2, FABRIC_RECV, FABRIC_OK).byte_len, 0);
	conf_expect(c, &c->a, 1, FABRIC_SEND, FABRIC_OK);
}

static void send__arrives_in_order(void **state)
{
	struct conf *c = *state;
	uint32_t sent = 0, got = 0, done = 0;

	conf_pair(c);
	for (uint32_t i = 0; i < 32; i++)
		conf_recv(c, c->qp[1], &c->b, i, i * 64, 64);
	while (got < 400 || done < 400) {
		/* There are never more messages in flight than posted receives. */
		for (; sent < 400 && sent < got + 32 && sent < done + 32; sent++) {
			memcpy(c->a.mem + sent % 64 * 64, &sent, sizeof(sent));
			conf_send(c, c->qp[0], sent, SIGNAL,
				  conf_sge(&c->a, sent % 64 * 64, 4 + sent % 60));
		}
		WAIT_FOR(c, c->a.nwcs + c->b.nwcs > 0);
		if (c->a.nwcs > 0) {
			conf_expect(c, &c->a, done++, FABRIC_SEND, FABRIC_OK);
			continue;
		}
		assert_int_equal(conf_expect(c, &c->b, got % 32, FABRIC_RECV, FABRIC_OK).byte_len,
				 4 + got % 60);
		assert_memory_equal(c->b.mem + got % 32 * 64, &got, sizeof(got));
		conf_recv(c, c->qp[1], &c->b, got % 32, got % 32 * 64, 64);
		got++;
	}
}

static void send__gathers(void **state)
{
	struct conf *c = *state;
	struct fabric_sge sges[4];
	const struct fabric_wr wr = {.wr_id = 1,
				     .op = FABRIC_SEND,
				     .flags = SIGNAL,
				     .sge = sges,
				     .nsge = c->attr.max_sge};
	uint32_t at = 0;

	conf_pair(c);
	for (uint32_t i = 0; i < c->attr.max_sge; i++) {
		sges[i] = conf_sge(&c->a, 1000 * i + i, 333 * i); /* the first element is empty */
		conf_fill(sges[i].addr, sges[i].len, i);
	}
	conf_recv(c, c->qp[1], &c->b, 2, 0, 4096);
	conf_post(c, c->qp[0], &wr);
	memset(sges, 0, sizeof(sges)); /* the driver copies the list when it is posted */
	conf_expect(c, &c->b, 2, FABRIC_RECV, FABRIC_OK);
	for (uint32_t i = 0; i < c->attr.max_sge; at += 333 * i++)
		assert_true(conf_filled(c->b.mem + at, 333 * i, i));
	conf_expect(c, &c->a, 1, FABRIC_SEND, FABRIC_OK);
}

static void send__inline_buffer_is_free_at_once(void **state)
{
	struct conf *c = *state;
	uint32_t len;

	conf_pair(c);
	len = c->qp[0]->max_inline < 64 ? c->qp[0]->max_inline : 64;
	for (uint32_t i = 0; i < 16; i++)
		conf_recv(c, c->qp[1], &c->b, i, i * 64, 64);
	for (uint32_t i = 0; i < 16; i++) {
		uint8_t unregistered[64];
		const struct fabric_sge sge = {.addr = unregistered, .len = len};

		conf_fill(unregistered, len, i);
		conf_send(c, c->qp[0], i, FABRIC_INLINE | SIGNAL, sge);
		memset(unregistered, 0, len);
	}
	for (uint32_t i = 0; i < 16; i++) {
		assert_int_equal(conf_expect(c, &c->b, i, FABRIC_RECV, FABRIC_OK).byte_len, len);
		assert_true(conf_filled(c->b.mem + i * 64, len, i));
	}
	for (uint32_t i = 0; i < 16; i++)
		conf_expect(c, &c->a, i, FABRIC_SEND, FABRIC_OK);
}

/*
 * Checks the direct Send, if the driver has it. It keeps the order after work requests that were
 * posted before, creates no completion, and uses no entry of the send queue. If the driver has no
 * direct Send, it must not have direct WRITEs and READs either.
 */
static void send_now__goes_behind_what_was_posted(void **state)
{
	struct conf *c = *state;
	uint8_t unregistered[300];
	uint32_t n = 0;

	conf_pair(c);
	if (!c->ops->send_direct) {
		assert_null(c->ops->write_direct);
		assert_null(c->ops->read_direct);
		return;
	}
	for (uint32_t i = 0; i < 32; i++)
		conf_recv(c, c->qp[1], &c->b, i, i * 512, 512);
	while (n < 32) {
		uint32_t len = n * 9;

		conf_fill(unregistered, len, n);
		conf_fill(c->a.mem + n * 512, len, n);
		if (n % 3 == 0)
			conf_send(c, c->qp[0], n, 0, conf_sge(&c->a, n * 512, len));
		else
			assert_true(c->ops->send_direct(c->qp[0], unregistered, len));
		memset(unregistered, 0, sizeof(unregistered));
		n++;
	}
	for (uint32_t i = 0; i < 32; i++) {
		assert_int_equal(conf_expect(c, &c->b, i, FABRIC_RECV, FABRIC_OK).byte_len, i * 9);
		assert_true(conf_filled(c->b.mem + i * 512, i * 9, i));
	}
	conf_settle(c);
	assert_int_equal(c->a.nwcs, 0);
}

/*
 * Checks that a direct Send which is not possible is refused and has no effect. A posted Send would
 * report the failure by a completion.
 */
static void send_now__refuses(void **state)
{
	struct conf *c = *state;
	static uint8_t large[65536];
	uint32_t n = 0;

	conf_pair(c);
	if (!c->ops->send_direct)
		return;
	assert_false(c->ops->send_direct(c->qp[0], large, c->attr.max_msg_bytes + 1));
	/*
	 * The ring is full, or the Send would have to wait for work requests that were posted
	 * before. Then even a short Send is refused.
	 */
	while (n < 65536 && c->ops->send_direct(c->qp[0], large, c->attr.max_msg_bytes))
		n++;
	assert_in_range(n, 1, 65535);
	conf_send(c, c->qp[0], 7, SIGNAL, conf_sge(&c->a, 0, c->attr.max_msg_bytes));
	assert_false(c->ops->send_direct(c->qp[0], large, 1));
	for (uint32_t i = 0; i < n; i++) {
		conf_recv(c, c->qp[1], &c->b, i, 0, c->attr.max_msg_bytes);
		conf_expect(c, &c->b, i, FABRIC_RECV, FABRIC_OK);
	}
	conf_recv(c, c->qp[1], &c->b, 7, 0, c->attr.max_msg_bytes);
	assert_int_equal(conf_expect(c, &c->b, 7, FABRIC_RECV, FABRIC_OK).byte_len,
			 c->attr.max_msg_bytes);
	conf_expect(c, &c->a, 7, FABRIC_SEND, FABRIC_OK);
	/* When the work requests have completed, the direct Send works again. */
	assert_true(c->ops->send_direct(c->qp[0], large, 1));
	conf_recv(c, c->qp[1], &c->b, 8, 0, 1);
	assert_int_equal(conf_expect(c, &c->b, 8, FABRIC_RECV, FABRIC_OK).byte_len, 1);
	c->ops->disconnect(c->qp[0]);
	assert_false(c->ops->send_direct(c->qp[0], large, 1));
}

static void send__both_ways_at_once(void **state)
{
	struct conf *c = *state;
	struct side *side[2] = {&c->a, &c->b};

	conf_pair(c);
	for (uint32_t s = 0; s < 2; s++)
		for (uint32_t i = 0; i < 32; i++)
			conf_recv(c, c->qp[s], side[s], i, 65536 + i * 512, 512);
	for (uint32_t s = 0; s < 2; s++) {
		for (uint32_t i = 0; i < 32; i++) {
			conf_fill(side[s]->mem + i * 512, 512, s * 100 + i);
			conf_send(c, c->qp[s], 100 + i, SIGNAL, conf_sge(side[s], i * 512, 512));
		}
	}
	for (uint32_t s = 0; s < 2; s++) {
		uint32_t recvs = 0, sends = 0;

		while (recvs < 32 || sends < 32) {
			struct fabric_wc wc = conf_wc(c, side[s]);

			assert_int_equal(wc.status, FABRIC_OK);
			assert_int_equal(wc.wr_id, wc.op == FABRIC_RECV ? recvs++ : 100 + sends++);
		}
		for (uint32_t i = 0; i < 32; i++)
			assert_true(conf_filled(side[s]->mem + 65536 + i * 512, 512,
						(1 - s) * 100 + i));
	}
}

static void post_send__takes_what_fits(void **state)
{
	struct conf *c = *state;
	struct fabric_sge sge = conf_sge(&c->a, 0, 8);
	struct fabric_wr wrs[12];

	c->attr.max_send_wr = 8;
	conf_pair(c);
	for (uint32_t i = 0; i < 16; i++)
		conf_recv(c, c->qp[1], &c->b, i, i * 64, 64);
	for (uint32_t i = 0; i < 12; i++)
		wrs[i] = (struct fabric_wr){
			.wr_id = i, .op = FABRIC_SEND, .flags = SIGNAL, .sge = &sge, .nsge = 1};
	assert_int_equal(c->ops->post_send(c->qp[0], wrs, 12), 8);
	assert_int_equal(c->ops->post_send(c->qp[0], wrs, 1), 0);
	for (uint32_t i = 0; i < 8; i++)
		conf_expect(c, &c->a, i, FABRIC_SEND, FABRIC_OK);
	assert_int_equal(c->ops->post_send(c->qp[0], wrs + 8, 4), 4);
	for (uint32_t i = 8; i < 12; i++)
		conf_expect(c, &c->a, i, FABRIC_SEND, FABRIC_OK);
	conf_settle(c);
	assert_int_equal(c->b.nwcs, 12);
}

static void post_send__counts_unsignalled(void **state)
{
	struct conf *c = *state;
	struct fabric_sge sge = conf_sge(&c->a, 0, 8);
	const struct fabric_wr quiet = {.wr_id = 1, .op = FABRIC_SEND, .sge = &sge, .nsge = 1};
	const struct fabric_wr loud = {
		.wr_id = 2, .op = FABRIC_SEND, .flags = SIGNAL, .sge = &sge, .nsge = 1};

	c->attr.max_send_wr = 8;
	conf_pair(c);
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 8; i++)
			conf_recv(c, c->qp[1], &c->b, i, i * 64, 64);
		for (uint32_t i = 0; i < 7; i++)
			conf_post(c, c->qp[0], &quiet);
		conf_settle(c);
		/*
		 * The seven Sends were delivered. None of them completes at a until a signaled Send
		 * is posted.
		 */
		assert_int_equal(c->b.nwcs, 7);
		assert_int_equal(c->a.nwcs, 0);
		conf_post(c, c->qp[0], &loud);
		assert_int_equal(c->ops->post_send(c->qp[0], &quiet, 1), 0);
		conf_expect(c, &c->a, 2, FABRIC_SEND, FABRIC_OK);
		conf_settle(c);
		assert_int_equal(c->b.nwcs, 8);
		c->b.nwcs = 0;
	}
}

static void post_recv__takes_what_fits(void **state)
{
	struct conf *c = *state;
	struct fabric_recv_wr wrs[12];

	c->attr.max_recv_wr = 8;
	conf_pair(c);
	for (uint32_t i = 0; i < 12; i++)
		wrs[i] = (struct fabric_recv_wr){i, c->b.mem + i * 64, 64, c->b.mr.lkey};
	assert_int_equal(c->ops->post_recv(c->qp[1], wrs, 12), 8);
	assert_int_equal(c->ops->post_recv(c->qp[1], wrs, 1), 0);
	conf_send(c, c->qp[0], 1, SIGNAL, conf_sge(&c->a, 0, 8));
	conf_expect(c, &c->b, 0, FABRIC_RECV, FABRIC_OK);
	assert_int_equal(c->ops->post_recv(c->qp[1], wrs + 8, 4), 1);
}

static void send__longer_than_the_receive(void **state)
{
	struct conf *c = *state;

	conf_pair(c);
	memset(c->b.mem, 0xee, 256);
	conf_recv(c, c->qp[1], &c->b, 1, 0, 99);
	conf_recv(c, c->qp[1], &c->b, 2, 128, 128);
	conf_send(c, c->qp[0], 3, 0, conf_sge(&c->a, 0, 100));
	conf_send(c, c->qp[0], 4, SIGNAL, conf_sge(&c->a, 0, 10));
	conf_expect(c, &c->b, 1, FABRIC_RECV, FABRIC_ERR_LOCAL_LEN);
	conf_expect(c, &c->b, 2, FABRIC_RECV, FABRIC_ERR_FLUSHED);
	assert_int_equal(c->b.mem[99], 0xee);
	if (c->harness->shortfalls & DRIVER_SENDS_UNANSWERED) {
		conf_lost(c, &c->a);
		return;
	}
	conf_expect(c, &c->a, 3, FABRIC_SEND,
		    c->harness->shortfalls & DRIVER_RECV_ERRORS_VAGUE ? FABRIC_ERR_FATAL
								      : FABRIC_ERR_REMOTE_LEN);
	conf_expect(c, &c->a, 4, FABRIC_SEND, FABRIC_ERR_FLUSHED);
	conf_lost(c, NULL);
}

/* Checks that Send 3 of a fails, because the peer has no receive for its message. */
static void not_ready(struct conf *c)
{
	if (c->harness->shortfalls & DRIVER_SENDS_UNANSWERED) {
		conf_expect(c, &c->a, 3, FABRIC_SEND, FABRIC_OK);
		conf_lost(c, &c->a);
	} else {
		conf_expect(c, &c->a, 3, FABRIC_SEND, FABRIC_ERR_RNR);
		conf_lost(c, &c->b);
	}
}

static void send__finds_no_receive_and_may_not_wait(void **state)
{
	struct conf *c = *state;

	conf_reopen(c, "rnr_retry=0");
	conf_pair(c);
	conf_recv(c, c->qp[1], &c->b, 1, 0, 64);
	conf_send(c, c->qp[0], 2, SIGNAL, conf_sge(&c->a, 0, 8));
	conf_send(c, c->qp[0], 3, SIGNAL, conf_sge(&c->a, 0, 8));
	conf_expect(c, &c->b, 1, FABRIC_RECV, FABRIC_OK);
	conf_expect(c, &c->a, 2, FABRIC_SEND, FABRIC_OK);
	not_ready(c);
	assert_true((c->harness->shortfalls & DRIVER_RNR_AT_SENDER ? c->a : c->b).dev->stats.rnr >
		    0);
}

static void send__finds_no_receive_for_too_long(void **state)
{
	struct conf *c = *state;

	conf_reopen(c, "rnr_retry=1");
	conf_pair(c);
	conf_send(c, c->qp[0], 3, SIGNAL, conf_sge(&c->a, 0, 8));
	not_ready(c);
}

static void send__waits_for_a_receive(void **state)
{
	struct conf *c = *state;

	conf_reopen(c, "rnr_retry=7");
	conf_pair(c);
	for (uint32_t i = 0; i < 4; i++) {
		memset(c->a.mem + i * 8, (int)i, 8);
		conf_send(c, c->qp[0], i, SIGNAL, conf_sge(&c->a, i * 8, 8));
	}
	conf_settle(c);
	assert_int_equal(c->b.nwcs, 0);
	for (uint32_t i = 0; i < 4; i++) {
		conf_recv(c, c->qp[1], &c->b, i, i * 64, 64);
		conf_expect(c, &c->b, i, FABRIC_RECV, FABRIC_OK);
		assert_int_equal(c->b.mem[i * 64], i);
		conf_settle(c);
	}
	for (uint32_t i = 0; i < 4; i++)
		conf_expect(c, &c->a, i, FABRIC_SEND, FABRIC_OK);
}

/*
 * Posts a Send with the local buffer 'sge', which its key does not cover, and checks that it fails.
 */
static void bad_source(struct conf *c, struct fabric_sge sge)
{
	conf_pair(c);
	conf_recv(c, c->qp[1], &c->b, 1, 0, 8192);
	conf_send(c, c->qp[0], 2, 0, sge);
	conf_expect(c, &c->a, 2, FABRIC_SEND, FABRIC_ERR_LOCAL_PROT);
	conf_expect(c, &c->b, 1, FABRIC_RECV, FABRIC_ERR_FLUSHED);
	conf_lost(c, &c->b);
}

static void send__unknown_lkey(void **state)
{
	struct conf *c = *state;
	struct fabric_sge sge = conf_sge(&c->a, 0, 8);

	sge.lkey ^= 0x5a5a5a5a;
	bad_source(c, sge);
}

static void send__source_past_the_registration(void **state)
{
	struct conf *c = *state;

	bad_source(c, conf_sge(&c->a, MEM_BYTES - 7, 8));
}

static void send__source_before_the_registration(void **state)
{
	struct conf *c = *state;
	struct fabric_sge sge = conf_sge(&c->a, 0, 8);

	sge.addr = c->a.mem - 1;
	bad_source(c, sge);
}

static void recv__past_the_registration(void **state)
{
	struct conf *c = *state;

	conf_pair(c);
	memset(c->b.mem + MEM_BYTES, 0xee, 8);
	conf_recv(c, c->qp[1], &c->b, 1, MEM_BYTES - 8, 16);
	conf_send(c, c->qp[0], 2, SIGNAL, conf_sge(&c->a, 0, 16));
	conf_expect(c, &c->b, 1, FABRIC_RECV,
		    c->harness->shortfalls & DRIVER_RECV_ERRORS_VAGUE ? FABRIC_ERR_LOCAL_LEN
								      : FABRIC_ERR_LOCAL_PROT);
	if (c->harness->shortfalls & DRIVER_SENDS_UNANSWERED)
		conf_expect(c, &c->a, 2, FABRIC_SEND, FABRIC_OK);
	else
		assert_int_not_equal(conf_wc(c, &c->a).status, FABRIC_OK);
	assert_int_equal(c->b.mem[MEM_BYTES], 0xee);
	conf_lost(c, NULL);
}

static void error__completes_in_order(void **state)
{
	struct conf *c = *state;
	struct fabric_sge bad = conf_sge(&c->a, 0, 8);

	bad.lkey ^= 0x5a5a5a5a;
	conf_pair(c);
	for (uint32_t i = 0; i < 4; i++)
		conf_recv(c, c->qp[1], &c->b, i, i * 64, 64);
	conf_send(c, c->qp[0], 10, SIGNAL, conf_sge(&c->a, 0, 8));
	conf_send(c, c->qp[0], 11, 0, conf_sge(&c->a, 0, 8));
	conf_send(c, c->qp[0], 12, 0, bad);
	conf_send(c, c->qp[0], 13, 0, conf_sge(&c->a, 0, 8));
	conf_send(c, c->qp[0], 14, SIGNAL, conf_sge(&c->a, 0, 8));
	conf_expect(c, &c->a, 10, FABRIC_SEND, FABRIC_OK);
	conf_expect(c, &c->a, 12, FABRIC_SEND, FABRIC_ERR_LOCAL_PROT);
	conf_expect(c, &c->a, 13, FABRIC_SEND, FABRIC_ERR_FLUSHED);
	conf_expect(c, &c->a, 14, FABRIC_SEND, FABRIC_ERR_FLUSHED);
	conf_expect(c, &c->b, 0, FABRIC_RECV, FABRIC_OK);
	conf_expect(c, &c->b, 1, FABRIC_RECV, FABRIC_OK);
	conf_expect(c, &c->b, 2, FABRIC_RECV, FABRIC_ERR_FLUSHED);
	conf_expect(c, &c->b, 3, FABRIC_RECV, FABRIC_ERR_FLUSHED);
	conf_lost(c, &c->b);
}

static void error__ends_one_connection_only(void **state)
{
	struct conf *c = *state;
	struct fabric_qp *other[2];
	int ctx[2];

	conf_connection(c, other, &ctx[0], &ctx[1]);
	conf_pair(c);
	conf_write(c, c->qp[0], 1, SIGNAL, conf_sge(&c->a, 0, 8), c->b.mr.rkey ^ 0x5a5a5a5a,
		   c->b.mr.raddr);
	conf_expect(c, &c->a, 1, FABRIC_WRITE, FABRIC_ERR_REMOTE_ACCESS);
	conf_works(c, other);
	conf_lost(c, &c->b);
	conf_works(c, other);
	conf_pair(c);
	conf_works(c, c->qp);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(send__sizes_from_zero_up),
	cmocka_unit_test(send__without_elements_is_empty),
	cmocka_unit_test(send__arrives_in_order),
	cmocka_unit_test(send__gathers),
	cmocka_unit_test(send__inline_buffer_is_free_at_once),
	cmocka_unit_test(send_now__goes_behind_what_was_posted),
	cmocka_unit_test(send_now__refuses),
	cmocka_unit_test(send__both_ways_at_once),
	cmocka_unit_test(post_send__takes_what_fits),
	cmocka_unit_test(post_send__counts_unsignalled),
	cmocka_unit_test(post_recv__takes_what_fits),
	cmocka_unit_test(send__longer_than_the_receive),
	cmocka_unit_test(send__finds_no_receive_and_may_not_wait),
	cmocka_unit_test(send__finds_no_receive_for_too_long),
	cmocka_unit_test(send__waits_for_a_receive),
	cmocka_unit_test(send__unknown_lkey),
	cmocka_unit_test(send__source_past_the_registration),
	cmocka_unit_test(send__source_before_the_registration),
	cmocka_unit_test(recv__past_the_registration),
	cmocka_unit_test(error__completes_in_order),
	cmocka_unit_test(error__ends_one_connection_only),
};

const struct conformance_tests conformance_send = {tests, sizeof(tests) / sizeof(tests[0])};
