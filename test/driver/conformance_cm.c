/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the driver contract: how connections begin and end. */
#include "conformance_support.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void private_data_is(const struct conf *c, const struct fabric_cm_event *event, uint32_t len,
			    uint32_t seed)
{
	if (c->harness->shortfalls & DRIVER_PRIVATE_DATA_PADDED) {
		assert_in_range(event->private_len, len, FABRIC_PRIVATE_DATA_MAX);
		for (uint32_t i = len; i < event->private_len; i++)
			assert_int_equal(event->private_data[i], 0);
	} else {
		assert_int_equal(event->private_len, len);
	}
	assert_true(conf_filled(event->private_data, len, seed));
}

static void connect__private_data_goes_both_ways(void **state)
{
	struct conf *c = *state;
	uint8_t there[FABRIC_PRIVATE_DATA_MAX], back[20];
	struct fabric_cm_event event;

	conf_fill(there, sizeof(there), 1);
	conf_fill(back, sizeof(back), 2);
	conf_listen(c);
	c->attr.ctx = &c->a;
	assert_int_equal(c->ops->connect(c->a.dev, c->harness->addr, &c->attr, there, sizeof(there),
					 &c->qps[0]),
			 0);
	memset(there, 0, sizeof(there));
	event = conf_event(c, &c->b, FABRIC_CM_REQUEST);
	assert_int_equal(event.private_len, sizeof(there));
	assert_true(conf_filled(event.private_data, sizeof(there), 1));
	assert_true(strlen(event.peer.address) > 0);
	c->attr.ctx = &c->b;
	assert_int_equal(
		c->ops->accept(c->b.dev, event.req, &c->attr, back, sizeof(back), &c->qps[1]), 0);
	memset(back, 0, sizeof(back));
	event = conf_event(c, &c->a, FABRIC_CM_ESTABLISHED);
	assert_ptr_equal(event.qp_ctx, &c->a);
	private_data_is(c, &event, sizeof(back), 2);
	event = conf_event(c, &c->b, FABRIC_CM_ESTABLISHED);
	assert_ptr_equal(event.qp_ctx, &c->b);
}

/*
 * Checks the identity of the peer, which the event REQUEST and both ESTABLISHED events contain. If
 * the driver reports credentials, they are those of this process, because it is both sides.
 */
static void identity_is(const struct conf *c, const struct weir_peer *peer)
{
	assert_true(strlen(peer->address) > 0 && strlen(peer->address) < sizeof(peer->address));
	assert_int_equal(peer->has_credentials, c->harness->has_credentials);
	if (!peer->has_credentials)
		return;
	assert_int_equal(peer->uid, geteuid());
	assert_int_equal(peer->gid, getegid());
	assert_int_equal(peer->pid, getpid());
}

static void connect__events_say_who_the_peer_is(void **state)
{
	struct conf *c = *state;
	struct fabric_cm_event event;
	struct weir_peer first;

	conf_listen(c);
	conf_connect(c, &c->a);
	event = conf_event(c, &c->b, FABRIC_CM_REQUEST);
	identity_is(c, &event.peer);
	first = event.peer;
	conf_accept(c, &c->b, event.req, &c->b);
	event = conf_event(c, &c->a, FABRIC_CM_ESTABLISHED);
	identity_is(c, &event.peer);
	event = conf_event(c, &c->b, FABRIC_CM_ESTABLISHED);
	identity_is(c, &event.peer);
	assert_string_equal(event.peer.address, first.address);
}

/*
 * Connects to an address without a listener. Returns false if connect() failed at once, and true if
 * an event will follow.
 */
static bool connect_to_nobody(struct conf *c)
{
	int rc;

	c->attr.ctx = &c->a;
	rc = c->ops->connect(c->a.dev, c->harness->addr, &c->attr, NULL, 0, &c->qps[0]);
	if (rc != 0)
		c->qps[0] = NULL;
	assert_true(rc == 0 || rc == -ECONNREFUSED);
	return rc == 0;
}

static void connect__nobody_listens_is_failed(void **state)
{
	struct conf *c = *state;
	struct fabric_cm_event event;

	if (!connect_to_nobody(c)) {
		conf_settle(c);
		assert_int_equal(c->a.nevents, 0);
		return;
	}
	conf_recv(c, c->qps[0], &c->a, 5, 0, 64);
	event = conf_event(c, &c->a, FABRIC_CM_FAILED);
	assert_ptr_equal(event.qp_ctx, &c->a);
	assert_true(event.error < 0);
	conf_expect(c, &c->a, 5, FABRIC_RECV, FABRIC_ERR_FLUSHED);
	conf_settle(c);
	assert_int_equal(c->a.nevents, 0);
}

static void connect__again_after_a_refusal(void **state)
{
	struct conf *c = *state;

	if (connect_to_nobody(c))
		conf_destroy(c, c->qps[0]);
	conf_settle(c);
	assert_int_equal(c->a.nevents, 0);
	conf_pair(c);
	conf_works(c, c->qp);
}

static void connect__receives_are_posted_before_established(void **state)
{
	struct conf *c = *state;
	struct fabric_qp *a, *b;

	conf_listen(c);
	a = conf_connect(c, &c->a);
	conf_recv(c, a, &c->a, 1, 0, 64);
	b = conf_accept(c, &c->b, conf_event(c, &c->b, FABRIC_CM_REQUEST).req, &c->b);
	conf_recv(c, b, &c->b, 2, 0, 64);
	conf_event(c, &c->a, FABRIC_CM_ESTABLISHED);
	/* b may not yet have received its ESTABLISHED event when the message arrives. */
	conf_send(c, a, 3, SIGNAL, conf_sge(&c->a, 100, 9));
	conf_expect(c, &c->b, 2, FABRIC_RECV, FABRIC_OK);
	conf_expect(c, &c->a, 3, FABRIC_SEND, FABRIC_OK);
	conf_event(c, &c->b, FABRIC_CM_ESTABLISHED);
	conf_send(c, b, 4, SIGNAL, conf_sge(&c->b, 100, 9));
	conf_expect(c, &c->a, 1, FABRIC_RECV, FABRIC_OK);
	conf_expect(c, &c->b, 4, FABRIC_SEND, FABRIC_OK);
}

static void connect__several_to_one_listener(void **state)
{
	struct conf *c = *state;
	struct fabric_qp *first[2], *second[2], *third[2];
	int ctx[6];

	conf_connection(c, first, &ctx[0], &ctx[1]);
	conf_connection(c, second, &ctx[2], &ctx[3]);
	conf_connection(c, third, &ctx[4], &ctx[5]);
	conf_works(c, second);
	conf_works(c, third);
	conf_works(c, first);
}

static void post_send__before_established_takes_none(void **state)
{
	struct conf *c = *state;
	struct fabric_sge sge = conf_sge(&c->a, 0, 8);
	const struct fabric_wr wr = {.op = FABRIC_SEND, .flags = SIGNAL, .sge = &sge, .nsge = 1};
	struct fabric_qp *a, *b;

	conf_listen(c);
	a = conf_connect(c, &c->a);
	assert_int_equal(c->ops->post_send(a, &wr, 1), 0);
	b = conf_accept(c, &c->b, conf_event(c, &c->b, FABRIC_CM_REQUEST).req, &c->b);
	sge = conf_sge(&c->b, 0, 8);
	assert_int_equal(c->ops->post_send(b, &wr, 1), 0);
	conf_settle(c);
	assert_int_equal(c->a.nwcs + c->b.nwcs, 0);
}

static void listen__twice_at_one_address_is_refused(void **state)
{
	struct conf *c = *state;
	struct fabric_listener *second;

	conf_listen(c);
	assert_int_equal(c->ops->listen(c->a.dev, c->harness->addr, 16, NULL, &second),
			 -EADDRINUSE);
}

static void unlisten__frees_the_address(void **state)
{
	struct conf *c = *state;

	for (int i = 0; i < 3; i++) {
		conf_listen(c);
		c->ops->unlisten(c->listener);
		c->listener = NULL;
	}
	conf_pair(c);
}

static void unlisten__keeps_connections(void **state)
{
	struct conf *c = *state;

	conf_pair(c);
	c->ops->unlisten(c->listener);
	c->listener = NULL;
	conf_works(c, c->qp);
}

static void unlisten__ends_what_waits(void **state)
{
	struct conf *c = *state;

	conf_listen(c);
	conf_connect(c, &c->a);
	for (int i = 0; i < 3; i++)
		conf_round(c, true);
	c->ops->unlisten(c->listener);
	c->listener = NULL;
	/* A connection request that was polled must be answered. */
	if (c->b.nevents > 0)
		c->ops->reject(c->b.dev, c->b.events[0].req, NULL, 0);
	c->b.nevents = 0;
	WAIT_FOR(c, c->a.nevents > 0);
	assert_true(c->a.events[0].kind == FABRIC_CM_FAILED ||
		    c->a.events[0].kind == FABRIC_CM_REJECTED);
}

static void accept__on_another_device(void **state)
{
	struct conf *c = *state;
	struct fabric_qp *a, *b;
	int first, second;

	conf_listen(c);
	a = conf_connect(c, &first);
	b = conf_accept(c, &c->a, conf_event(c, &c->b, FABRIC_CM_REQUEST).req, &second);
	conf_recv(c, b, &c->a, 1, 0, 64);
	conf_event(c, &c->a, FABRIC_CM_ESTABLISHED);
	conf_event(c, &c->a, FABRIC_CM_ESTABLISHED);
	conf_send(c, a, 2, 0, conf_sge(&c->a, 100, 9));
	assert_ptr_equal(conf_expect(c, &c->a, 1, FABRIC_RECV, FABRIC_OK).qp_ctx, &second);
	c->ops->disconnect(b);
	assert_ptr_equal(conf_event(c, &c->a, FABRIC_CM_DISCONNECTED).qp_ctx, &first);
}

static void accept__of_one_that_gave_up_is_failed(void **state)
{
	struct conf *c = *state;
	struct fabric_cm_event event;
	struct fabric_qp *a;

	conf_listen(c);
	a = conf_connect(c, &c->a);
	event = conf_event(c, &c->b, FABRIC_CM_REQUEST);
	conf_destroy(c, a);
	c->attr.ctx = &c->b;
	if (c->ops->accept(c->b.dev, event.req, &c->attr, NULL, 0, &c->qps[0]) != 0) {
		/*
		 * connect() can report the failure itself. Then the connection request has ended.
		 */
		c->qps[0] = NULL;
		conf_settle(c);
		assert_int_equal(c->a.nevents + c->b.nevents, 0);
		return;
	}
	conf_settle(c);
	/*
	 * b's connection was established for a short time, or not at all. In both cases it has
	 * ended.
	 */
	assert_true(c->b.nevents > 0);
	event = c->b.events[c->b.nevents - 1];
	assert_true(event.kind == FABRIC_CM_FAILED || event.kind == FABRIC_CM_DISCONNECTED);
	assert_ptr_equal(event.qp_ctx, &c->b);
	assert_int_equal(c->a.nevents, 0);
}

static void reject__private_data_comes_along(void **state)
{
	struct conf *c = *state;
	struct fabric_cm_event event;
	uint8_t data[33];

	conf_fill(data, sizeof(data), 3);
	conf_listen(c);
	conf_recv(c, conf_connect(c, &c->a), &c->a, 5, 0, 64);
	event = conf_event(c, &c->b, FABRIC_CM_REQUEST);
	assert_int_equal(c->ops->reject(c->b.dev, event.req, data, sizeof(data)), 0);
	event = conf_event(c, &c->a, FABRIC_CM_REJECTED);
	assert_ptr_equal(event.qp_ctx, &c->a);
	private_data_is(c, &event, sizeof(data), 3);
	conf_expect(c, &c->a, 5, FABRIC_RECV, FABRIC_ERR_FLUSHED);
	conf_settle(c);
	assert_int_equal(c->a.nevents + c->b.nevents, 0);
}

static void disconnect__peer_is_told_once(void **state)
{
	struct conf *c = *state;

	conf_pair(c);
	c->ops->disconnect(c->qp[0]);
	c->ops->disconnect(c->qp[0]);
	assert_ptr_equal(conf_event(c, &c->b, FABRIC_CM_DISCONNECTED).qp_ctx, &c->b);
	conf_settle(c);
	assert_int_equal(c->b.nevents, 0);
	assert_int_equal(c->a.nevents, 0); /* the side that ends the connection gets no event */
	c->ops->disconnect(c->qp[1]);
	conf_settle(c);
	assert_int_equal(c->a.nevents + c->b.nevents, 0);
}

static void disconnect__drops_the_event_that_was_not_polled(void **state)
{
	struct conf *c = *state;

	conf_pair(c);
	c->ops->disconnect(c->qp[0]);
	conf_look_away(c);
	c->ops->disconnect(c->qp[1]);
	conf_settle(c);
	assert_int_equal(c->a.nevents + c->b.nevents, 0);
}

static void disconnect__of_both_tells_nobody(void **state)
{
	struct conf *c = *state;

	conf_pair(c);
	c->ops->disconnect(c->qp[0]);
	c->ops->disconnect(c->qp[1]);
	conf_settle(c);
	assert_int_equal(c->a.nevents + c->b.nevents, 0);
}

static void disconnect__flushes_receives_on_both_sides(void **state)
{
	struct conf *c = *state;

	conf_pair(c);
	for (uint32_t i = 0; i < 3; i++) {
		conf_recv(c, c->qp[0], &c->a, 10 + i, i * 64, 64);
		conf_recv(c, c->qp[1], &c->b, 20 + i, i * 64, 64);
	}
	c->ops->disconnect(c->qp[0]);
	for (uint32_t i = 0; i < 3; i++) {
		conf_expect(c, &c->a, 10 + i, FABRIC_RECV, FABRIC_ERR_FLUSHED);
		conf_expect(c, &c->b, 20 + i, FABRIC_RECV, FABRIC_ERR_FLUSHED);
	}
	conf_event(c, &c->b, FABRIC_CM_DISCONNECTED);
}

static void disconnect__flushes_what_is_posted_later(void **state)
{
	struct conf *c = *state;

	conf_pair(c);
	c->ops->disconnect(c->qp[0]);
	conf_event(c, &c->b, FABRIC_CM_DISCONNECTED);
	conf_recv(c, c->qp[1], &c->b, 1, 0, 64);
	conf_expect(c, &c->b, 1, FABRIC_RECV, FABRIC_ERR_FLUSHED);
	conf_send(c, c->qp[1], 2, 0,
		  /* no FABRIC_SIGNALED flag; a Send that fails completes nevertheless */
		  conf_sge(&c->b, 0, 8));
	conf_expect(c, &c->b, 2, FABRIC_SEND, FABRIC_ERR_FLUSHED);
	conf_send(c, c->qp[0], 3, SIGNAL, conf_sge(&c->a, 0, 8));
	conf_expect(c, &c->a, 3, FABRIC_SEND, FABRIC_ERR_FLUSHED);
}

static void qp_destroy__drops_what_is_outstanding(void **state)
{
	struct conf *c = *state;

	conf_pair(c);
	for (uint32_t i = 0; i < 8; i++) {
		conf_recv(c, c->qp[0], &c->a, i, 65536 + i * 64, 64);
		conf_recv(c, c->qp[1], &c->b, i, 65536 + i * 64, 64);
	}
	for (uint32_t i = 0; i < 4; i++) {
		conf_write(c, c->qp[0], i, SIGNAL, conf_sge(&c->a, 0, 4096), c->b.mr.rkey,
			   c->b.mr.raddr);
		conf_read(c, c->qp[0], i, SIGNAL, conf_sge(&c->a, 8192, 4096), c->b.mr.rkey,
			  c->b.mr.raddr);
		conf_send(c, c->qp[0], i, SIGNAL, conf_sge(&c->a, 0, 64));
		conf_send(c, c->qp[1], i, SIGNAL, conf_sge(&c->b, 0, 64));
	}
	conf_look_away(c); /* some of the work requests are carried out */
	conf_destroy(c, c->qp[0]);
	conf_event(c, &c->b, FABRIC_CM_DISCONNECTED);
	conf_settle(c);
	assert_int_equal(c->a.nwcs, 0);
	assert_int_equal(c->a.nevents, 0);
	conf_destroy(c, c->qp[1]);
	conf_pair(c);
	c->b.nwcs = 0;
	conf_works(c, c->qp);
}

static void qp_destroy__before_the_answer(void **state)
{
	static const uint8_t gone[1] = {7};
	struct conf *c = *state;
	struct fabric_cm_event event;
	struct fabric_qp *a;
	bool late;

	conf_listen(c);
	c->attr.ctx = &c->a;
	assert_int_equal(
		c->ops->connect(c->a.dev, c->harness->addr, &c->attr, gone, sizeof(gone), &a), 0);
	conf_recv(c, a, &c->a, 1, 0, 64);
	c->ops->qp_destroy(a);
	conf_settle(c);
	assert_int_equal(c->a.nevents + c->a.nwcs, 0);
	c->qp[0] = conf_connect(c, &c->a);
	/*
	 * The request of the other side can still be in flight, even if no event has arrived for
	 * long.
	 */
	do {
		event = conf_event(c, &c->b, FABRIC_CM_REQUEST);
		late = event.private_len > 0 && event.private_data[0] == gone[0];
		if (late)
			c->ops->reject(c->b.dev, event.req, NULL, 0);
	} while (late);
	c->qp[1] = conf_accept(c, &c->b, event.req, &c->b);
	conf_event(c, &c->a, FABRIC_CM_ESTABLISHED);
	conf_event(c, &c->b, FABRIC_CM_ESTABLISHED);
	conf_works(c, c->qp);
}

static void qp_destroy__takes_null(void **state)
{
	struct conf *c = *state;

	c->ops->qp_destroy(NULL);
	c->ops->close(NULL);
}

static void open__unknown_option_is_refused(void **state)
{
	struct conf *c = *state;
	const struct fabric_dev_config config = {
		.options = "no-such-option=1", .max_connections = 1, .max_regions = 1};
	struct fabric_dev *dev;

	assert_true(c->ops->open(&config, &dev) < 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(connect__private_data_goes_both_ways),
	cmocka_unit_test(connect__events_say_who_the_peer_is),
	cmocka_unit_test(connect__nobody_listens_is_failed),
	cmocka_unit_test(connect__again_after_a_refusal),
	cmocka_unit_test(connect__receives_are_posted_before_established),
	cmocka_unit_test(connect__several_to_one_listener),
	cmocka_unit_test(post_send__before_established_takes_none),
	cmocka_unit_test(listen__twice_at_one_address_is_refused),
	cmocka_unit_test(unlisten__frees_the_address),
	cmocka_unit_test(unlisten__keeps_connections),
	cmocka_unit_test(unlisten__ends_what_waits),
	cmocka_unit_test(accept__on_another_device),
	cmocka_unit_test(accept__of_one_that_gave_up_is_failed),
	cmocka_unit_test(reject__private_data_comes_along),
	cmocka_unit_test(disconnect__peer_is_told_once),
	cmocka_unit_test(disconnect__drops_the_event_that_was_not_polled),
	cmocka_unit_test(disconnect__of_both_tells_nobody),
	cmocka_unit_test(disconnect__flushes_receives_on_both_sides),
	cmocka_unit_test(disconnect__flushes_what_is_posted_later),
	cmocka_unit_test(qp_destroy__drops_what_is_outstanding),
	cmocka_unit_test(qp_destroy__before_the_answer),
	cmocka_unit_test(qp_destroy__takes_null),
	cmocka_unit_test(open__unknown_option_is_refused),
};

const struct conformance_tests conformance_cm = {tests, sizeof(tests) / sizeof(tests[0])};
