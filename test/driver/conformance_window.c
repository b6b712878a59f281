/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the driver contract: memory windows. b binds a window to expose part of its memory to a,
 * and invalidates it again.
 */
#include "conformance_support.h"

#include <string.h>

#define WINDOW_AT  1000u
#define WINDOW_LEN 500u

enum { BIND = 100, INV = 101, SEND = 102, RECV = 103, ACCESS = 104 };

static const uint32_t both = FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE;

struct window {
	/* a region of b's memory without remote rights; only the window exposes it */
	struct fabric_mr mr;
	struct fabric_mw mw;
	uint64_t raddr; /* remote address of the start of the window */
};

static void window_start(struct conf *c, struct window *window)
{
	if (!c->b.dev->attr.has_mw)
		skip();
	assert_int_equal(c->ops->mr_register(c->b.dev, c->b.mem, MEM_BYTES,
					     FABRIC_LOCAL_WRITE | FABRIC_BIND, c->b.fd, GUARD_BYTES,
					     &window->mr),
			 0);
	assert_int_equal(window->mr.rkey, 0);
	window->raddr = window->mr.raddr + WINDOW_AT;
	assert_int_equal(c->ops->mw_alloc(c->b.dev, &window->mw), 0);
}

static void window_stop(struct conf *c, struct window *window)
{
	c->ops->mw_free(c->b.dev, &window->mw);
	c->ops->mr_deregister(c->b.dev, &window->mr);
}

/*
 * Posts a bind and does not wait for its completion. The key is valid for work requests that are
 * posted after the bind.
 */
static void bind_post(struct conf *c, struct fabric_qp *qp, struct window *window, uint32_t access)
{
	struct fabric_sge sge = {c->b.mem + WINDOW_AT, WINDOW_LEN, window->mr.lkey};
	const struct fabric_wr wr = {.wr_id = BIND,
				     .op = FABRIC_BIND_MW,
				     .flags = SIGNAL,
				     .sge = &sge,
				     .nsge = 1,
				     .mw = &window->mw,
				     .access = access};
	uint32_t before = window->mw.rkey;

	conf_post(c, qp, &wr);
	assert_int_not_equal(window->mw.rkey, 0);
	assert_int_not_equal(window->mw.rkey, before);
}

static void bind(struct conf *c, struct window *window, uint32_t access)
{
	bind_post(c, c->qp[1], window, access);
	conf_expect(c, &c->b, BIND, FABRIC_BIND_MW, FABRIC_OK);
}

static void invalidate(struct conf *c, uint32_t rkey)
{
	const struct fabric_wr wr = {
		.wr_id = INV, .op = FABRIC_LOCAL_INV, .flags = SIGNAL, .rkey = rkey};

	conf_post(c, c->qp[1], &wr);
	conf_expect(c, &c->b, INV, FABRIC_LOCAL_INV, FABRIC_OK);
}

static void send_inv(struct conf *c, struct fabric_qp *qp, uint32_t rkey)
{
	struct fabric_sge sge = conf_sge(&c->a, 0, 16);
	const struct fabric_wr wr = {.wr_id = SEND,
				     .op = FABRIC_SEND_INV,
				     .flags = SIGNAL,
				     .sge = &sge,
				     .nsge = 1,
				     .rkey = rkey};

	conf_post(c, qp, &wr);
}

static void write_ok(struct conf *c, uint32_t rkey, uint64_t raddr, uint32_t len, uint32_t seed)
{
	conf_fill(c->a.mem, len, seed);
	conf_write(c, c->qp[0], ACCESS, SIGNAL, conf_sge(&c->a, 0, len), rkey, raddr);
	conf_expect(c, &c->a, ACCESS, FABRIC_WRITE, FABRIC_OK);
}

static void refused(struct conf *c, enum fabric_op op, uint32_t rkey, uint64_t raddr, uint32_t len)
{
	struct fabric_sge sge = conf_sge(&c->a, 0, len);
	const struct fabric_wr wr = {
		.wr_id = ACCESS, .op = op, .sge = &sge, .nsge = 1, .rkey = rkey, .raddr = raddr};

	memset(c->b.map, 0xbb, MEM_BYTES + 2 * GUARD_BYTES);
	conf_post(c, c->qp[0], &wr);
	conf_expect(c, &c->a, ACCESS, op, FABRIC_ERR_REMOTE_ACCESS);
	conf_lost(c, &c->b);
	for (uint32_t i = 0; i < MEM_BYTES + 2 * GUARD_BYTES; i++)
		assert_int_equal(c->b.map[i], 0xbb);
}

static void bind__opens_part_of_a_region(void **state)
{
	struct conf *c = *state;
	struct window window;

	window_start(c, &window);
	conf_pair(c);
	bind(c, &window, both);
	memset(c->b.mem, 0xee, 4096);
	write_ok(c, window.mw.rkey, window.raddr, WINDOW_LEN, 1);
	assert_true(conf_filled(c->b.mem + WINDOW_AT, WINDOW_LEN, 1));
	assert_int_equal(c->b.mem[WINDOW_AT - 1], 0xee);
	assert_int_equal(c->b.mem[WINDOW_AT + WINDOW_LEN], 0xee);
	write_ok(c, window.mw.rkey, window.raddr + WINDOW_LEN - 1, 1, 2);
	conf_read(c, c->qp[0], ACCESS, SIGNAL, conf_sge(&c->a, 9000, WINDOW_LEN), window.mw.rkey,
		  window.raddr);
	conf_expect(c, &c->a, ACCESS, FABRIC_READ, FABRIC_OK);
	assert_memory_equal(c->a.mem + 9000, c->b.mem + WINDOW_AT, WINDOW_LEN);
	window_stop(c, &window);
}

/*
 * Binds a window with the rights 'access', and checks that the access 'op' to 'len' bytes at offset
 * 'delta' is refused.
 */
static void bound_refuses(struct conf *c, uint32_t access, enum fabric_op op, uint64_t delta,
			  uint32_t len)
{
	struct window window;

	if (delta != 0 && c->harness->shortfalls & DRIVER_WINDOWS_UNBOUNDED)
		skip();
	window_start(c, &window);
	conf_pair(c);
	bind(c, &window, access);
	refused(c, op, window.mw.rkey, window.raddr + delta, len);
	window_stop(c, &window);
}

static void bind__refuses_one_past_the_end(void **state)
{
	bound_refuses(*state, both, FABRIC_WRITE, 1, WINDOW_LEN);
}

static void bind__refuses_one_before_the_start(void **state)
{
	bound_refuses(*state, both, FABRIC_READ, UINT64_MAX, WINDOW_LEN);
}

static void bind__refuses_the_rest_of_the_region(void **state)
{
	bound_refuses(*state, both, FABRIC_READ, 3000, 8);
}

static void bind__refuses_writes_when_for_reads(void **state)
{
	bound_refuses(*state, FABRIC_REMOTE_READ, FABRIC_WRITE, 0, 8);
}

static void bind__refuses_reads_when_for_writes(void **state)
{
	bound_refuses(*state, FABRIC_REMOTE_WRITE, FABRIC_READ, 0, 8);
}

static void bind__is_for_one_connection(void **state)
{
	struct conf *c = *state;
	struct fabric_qp *other[2];
	struct window window;
	int ctx[2];

	window_start(c, &window);
	conf_connection(c, other, &ctx[0], &ctx[1]);
	conf_pair(c);
	bind_post(c, other[1], &window, both);
	conf_expect(c, &c->b, BIND, FABRIC_BIND_MW, FABRIC_OK);
	refused(c, FABRIC_WRITE, window.mw.rkey, window.raddr, 8);
	conf_works(c, other);
	conf_write(c, other[0], ACCESS, SIGNAL, conf_sge(&c->a, 0, 8), window.mw.rkey,
		   window.raddr);
	conf_expect(c, &c->a, ACCESS, FABRIC_WRITE, FABRIC_OK);
	window_stop(c, &window);
}

static void bind__counts_before_the_send_behind_it(void **state)
{
	struct conf *c = *state;
	struct window window;

	window_start(c, &window);
	conf_pair(c);
	for (uint32_t round = 0; round < 10; round++) {
		uint32_t rkey;

		conf_recv(c, c->qp[0], &c->a, RECV, 8192, 64);
		bind_post(c, c->qp[1], &window, both);
		memcpy(c->b.mem, &window.mw.rkey, sizeof(rkey));
		conf_send(c, c->qp[1], SEND, SIGNAL, conf_sge(&c->b, 0, sizeof(rkey)));
		conf_expect(c, &c->a, RECV, FABRIC_RECV, FABRIC_OK);
		memcpy(&rkey, c->a.mem + 8192, sizeof(rkey));
		write_ok(c, rkey, window.raddr, WINDOW_LEN, round);
		conf_expect(c, &c->b, BIND, FABRIC_BIND_MW, FABRIC_OK);
		conf_expect(c, &c->b, SEND, FABRIC_SEND, FABRIC_OK);
		assert_true(conf_filled(c->b.mem + WINDOW_AT, WINDOW_LEN, round));
		invalidate(c, rkey);
	}
	window_stop(c, &window);
}

static void local_inv__ends_the_key(void **state)
{
	struct conf *c = *state;
	struct window window;

	window_start(c, &window);
	conf_pair(c);
	bind(c, &window, both);
	write_ok(c, window.mw.rkey, window.raddr, 8, 1);
	invalidate(c, window.mw.rkey);
	refused(c, FABRIC_WRITE, window.mw.rkey, window.raddr, 8);
	window_stop(c, &window);
}

static void local_inv__old_keys_stay_ended(void **state)
{
	struct conf *c = *state;
	uint32_t first, binds = c->harness->shortfalls & DRIVER_WINDOW_KEYS_256 ? 255 : 300;
	struct window window;

	window_start(c, &window);
	conf_pair(c);
	bind(c, &window, both);
	first = window.mw.rkey;
	invalidate(c, first);
	for (uint32_t i = 0; i < binds; i++) {
		bind(c, &window, both);
		assert_int_not_equal(window.mw.rkey, first);
		if (i < binds - 1)
			invalidate(c, window.mw.rkey);
	}
	write_ok(c, window.mw.rkey, window.raddr, 8, 1);
	refused(c, FABRIC_READ, first, window.raddr, 8);
	window_stop(c, &window);
}

static void send_inv__ends_the_key_and_says_so(void **state)
{
	struct conf *c = *state;
	struct window window;

	if (!c->a.dev->attr.has_send_inv)
		skip();
	window_start(c, &window);
	conf_pair(c);
	for (uint32_t round = 0; round < 5; round++) {
		bind(c, &window, both);
		conf_recv(c, c->qp[1], &c->b, RECV, 0, 64);
		conf_fill(c->a.mem, WINDOW_LEN, round);
		conf_write(c, c->qp[0], ACCESS, 0, conf_sge(&c->a, 0, WINDOW_LEN), window.mw.rkey,
			   window.raddr);
		send_inv(c, c->qp[0], window.mw.rkey);
		assert_int_equal(conf_expect(c, &c->b, RECV, FABRIC_RECV, FABRIC_OK).inv_rkey,
				 window.mw.rkey);
		assert_true(conf_filled(c->b.mem + WINDOW_AT, WINDOW_LEN, round));
		conf_expect(c, &c->a, SEND, FABRIC_SEND_INV, FABRIC_OK);
	}
	refused(c, FABRIC_WRITE, window.mw.rkey, window.raddr, 8);
	window_stop(c, &window);
}

static void send_inv_refused(struct conf *c, uint32_t rkey)
{
	bool is_answered =
		!(c->harness->shortfalls & (DRIVER_SENDS_UNANSWERED | DRIVER_INVALIDATION_LAX));

	conf_recv(c, c->qp[1], &c->b, RECV, 0, 64);
	send_inv(c, c->qp[0], rkey);
	assert_int_not_equal(conf_wc(c, &c->b).status, FABRIC_OK);
	conf_expect(c, &c->a, SEND, FABRIC_SEND_INV,
		    is_answered ? FABRIC_ERR_REMOTE_ACCESS : FABRIC_OK);
	conf_lost(c, is_answered ? &c->b : &c->a);
}

static void send_inv__of_an_unknown_key(void **state)
{
	struct conf *c = *state;
	struct window window;

	if (!c->a.dev->attr.has_send_inv)
		skip();
	window_start(c, &window);
	conf_pair(c);
	bind(c, &window, both);
	send_inv_refused(c, window.mw.rkey ^ 0x5a5a5a5a);
	window_stop(c, &window);
}

static void send_inv__of_a_key_that_is_no_window(void **state)
{
	struct conf *c = *state;

	if (!c->a.dev->attr.has_send_inv)
		skip();
	conf_pair(c);
	send_inv_refused(c, c->b.mr.rkey);
}

static void send_inv__of_another_connections_key(void **state)
{
	struct conf *c = *state;
	struct fabric_qp *other[2];
	struct window window;
	int ctx[2];

	if (!c->a.dev->attr.has_send_inv || c->harness->shortfalls & DRIVER_INVALIDATION_LAX)
		skip();
	window_start(c, &window);
	conf_connection(c, other, &ctx[0], &ctx[1]);
	conf_pair(c);
	bind_post(c, other[1], &window, both);
	conf_expect(c, &c->b, BIND, FABRIC_BIND_MW, FABRIC_OK);
	send_inv_refused(c, window.mw.rkey);
	conf_write(c, other[0], ACCESS, SIGNAL, conf_sge(&c->a, 0, 8), window.mw.rkey,
		   window.raddr);
	conf_expect(c, &c->a, ACCESS, FABRIC_WRITE, FABRIC_OK);
	window_stop(c, &window);
}

static void bind__outside_the_registration(void **state)
{
	struct conf *c = *state;
	struct window window;
	struct fabric_sge sge;
	const struct fabric_wr wr = {.wr_id = BIND,
				     .op = FABRIC_BIND_MW,
				     .sge = &sge,
				     .nsge = 1,
				     .mw = &window.mw,
				     .access = FABRIC_REMOTE_READ};

	window_start(c, &window);
	conf_pair(c);
	sge = (struct fabric_sge){c->b.mem + MEM_BYTES - 8, 9, window.mr.lkey};
	conf_post(c, c->qp[1], &wr);
	conf_expect(c, &c->b, BIND, FABRIC_BIND_MW, FABRIC_ERR_LOCAL_PROT);
	conf_lost(c, &c->a);
	window_stop(c, &window);
}

static void bind_refused(struct conf *c, const struct window *window, uint32_t lkey,
			 uint32_t access)
{
	struct fabric_sge sge = {c->b.mem + WINDOW_AT, WINDOW_LEN, lkey};
	struct fabric_mw mw = window->mw;
	const struct fabric_wr wr = {.wr_id = BIND,
				     .op = FABRIC_BIND_MW,
				     .sge = &sge,
				     .nsge = 1,
				     .mw = &mw,
				     .access = access};

	conf_post(c, c->qp[1], &wr);
	conf_expect(c, &c->b, BIND, FABRIC_BIND_MW, FABRIC_ERR_LOCAL_PROT);
	conf_lost(c, &c->a);
}

static void bind__of_a_window_that_is_bound(void **state)
{
	struct conf *c = *state;
	struct window window;

	window_start(c, &window);
	conf_pair(c);
	bind(c, &window, both);
	write_ok(c, window.mw.rkey, window.raddr, 8, 1);
	bind_refused(c, &window, window.mr.lkey, both);
	window_stop(c, &window);
}

static void bind__over_memory_that_is_not_for_windows(void **state)
{
	struct conf *c = *state;
	struct window window;

	window_start(c, &window);
	conf_pair(c);
	bind_refused(c, &window, c->b.mr.lkey,
		     /* the region has remote rights of its own, which do not apply to the window */
		     FABRIC_REMOTE_READ);
	window_stop(c, &window);
}

static void bind__for_writes_over_memory_for_reads(void **state)
{
	struct conf *c = *state;
	struct window window;
	struct fabric_mr mr;

	window_start(c, &window);
	assert_int_equal(c->ops->mr_register(c->b.dev, c->b.mem, MEM_BYTES, FABRIC_BIND, c->b.fd,
					     GUARD_BYTES, &mr),
			 0);
	conf_pair(c);
	bind_refused(c, &window, mr.lkey, FABRIC_REMOTE_WRITE);
	c->ops->mr_deregister(c->b.dev, &mr);
	window_stop(c, &window);
}

/* After qp_destroy(), the window can be bound again. */
static void qp_destroy__ends_the_key(void **state)
{
	struct conf *c = *state;
	struct fabric_qp *other[2];
	struct window window;
	uint32_t rkey;
	int ctx[2];

	window_start(c, &window);
	conf_connection(c, other, &ctx[0], &ctx[1]);
	bind_post(c, other[1], &window, both);
	conf_expect(c, &c->b, BIND, FABRIC_BIND_MW, FABRIC_OK);
	rkey = window.mw.rkey;
	c->ops->disconnect(other[1]);
	conf_destroy(c, other[1]);
	conf_event(c, &c->a, FABRIC_CM_DISCONNECTED);
	conf_pair(c);
	bind(c, &window, both);
	write_ok(c, window.mw.rkey, window.raddr, 8, 1);
	if (window.mw.rkey !=
	    /*
	     * a device can have created the window anew, so that its keys begin with the first one
	     * again
	     */
	    rkey)
		refused(c, FABRIC_WRITE, rkey, window.raddr, 8);
	window_stop(c, &window);
}

static void mw_free__ends_the_key(void **state)
{
	struct conf *c = *state;
	struct window window;
	uint32_t rkey;

	window_start(c, &window);
	conf_pair(c);
	bind(c, &window, both);
	rkey = window.mw.rkey;
	c->ops->mw_free(c->b.dev, &window.mw);
	refused(c, FABRIC_READ, rkey, window.raddr, 8);
	c->ops->mr_deregister(c->b.dev, &window.mr);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(bind__opens_part_of_a_region),
	cmocka_unit_test(bind__refuses_one_past_the_end),
	cmocka_unit_test(bind__refuses_one_before_the_start),
	cmocka_unit_test(bind__refuses_the_rest_of_the_region),
	cmocka_unit_test(bind__refuses_writes_when_for_reads),
	cmocka_unit_test(bind__refuses_reads_when_for_writes),
	cmocka_unit_test(bind__is_for_one_connection),
	cmocka_unit_test(bind__counts_before_the_send_behind_it),
	cmocka_unit_test(bind__outside_the_registration),
	cmocka_unit_test(bind__of_a_window_that_is_bound),
	cmocka_unit_test(bind__over_memory_that_is_not_for_windows),
	cmocka_unit_test(bind__for_writes_over_memory_for_reads),
	cmocka_unit_test(qp_destroy__ends_the_key),
	cmocka_unit_test(local_inv__ends_the_key),
	cmocka_unit_test(local_inv__old_keys_stay_ended),
	cmocka_unit_test(send_inv__ends_the_key_and_says_so),
	cmocka_unit_test(send_inv__of_an_unknown_key),
	cmocka_unit_test(send_inv__of_a_key_that_is_no_window),
	cmocka_unit_test(send_inv__of_another_connections_key),
	cmocka_unit_test(mw_free__ends_the_key),
};

const struct conformance_tests conformance_window = {tests, sizeof(tests) / sizeof(tests[0])};
