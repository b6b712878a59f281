/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the faults that the driver 'fault' injects into connections in each of their states, and
 * into registrations of memory. Each kind is tested by itself.
 */
#include "sim_net.h"

#include <errno.h>
#include <string.h>

#include "fault_dev.h"
#include "sim.h"

static struct fabric_cm_event next_event(struct fabric_dev *dev, enum fabric_cm_kind kind)
{
	struct fabric_cm_event event;

	while (net.ops->cm_poll(dev, &event, 1) == 0)
		assert_true(sim_step(net.world) || fault_held(dev) > 0);
	assert_int_equal(event.kind, kind);
	return event;
}

/* Checks that neither side gets a further event. */
static void expect_quiet(void)
{
	struct fabric_cm_event event;
	bool stepped;

	do {
		stepped = sim_step(net.world);
		assert_int_equal(net.ops->cm_poll(net.a.dev, &event, 1), 0);
		assert_int_equal(net.ops->cm_poll(net.b.dev, &event, 1), 0);
	} while (stepped || fault_held(net.a.dev) + fault_held(net.b.dev) > 0);
}

static int connect_a(void)
{
	net.attr.ctx = &net.a;
	return net.ops->connect(net.a.dev, "b", &net.attr, NULL, 0, &net.a.qp);
}

static int accept_b(struct fabric_conn_req *req)
{
	net.attr.ctx = &net.b;
	return net.ops->accept(net.b.dev, req, &net.attr, NULL, 0, &net.b.qp);
}

static void connect__fails_at_once(void **state)
{
	(void)state;
	sim_net_open(1, NULL, "");
	assert_true(fault_at(net.a.dev, FAULT_CONNECT, 1, ENOBUFS));
	assert_int_equal(connect_a(), -ENOBUFS);
	sim_net_connect(); /* the next connection succeeds */
	sim_net_close();
}

static void connecting__breaks_before_the_answer(void **state)
{
	struct fabric_cm_event event;

	(void)state;
	sim_net_open(1, NULL, "");
	assert_true(fault_at(net.a.dev, FAULT_CONNECTING, 1, EHOSTUNREACH));
	assert_int_equal(connect_a(), 0);
	event = next_event(net.a.dev, FABRIC_CM_FAILED);
	assert_int_equal(event.error, -EHOSTUNREACH);
	assert_ptr_equal(event.qp_ctx, &net.a);
	expect_quiet();
	sim_net_close();
}

static void failed__instead_of_established(void **state)
{
	(void)state;
	for (int rejected = 0; rejected < 2; rejected++) {
		sim_net_open(1, NULL, "");
		assert_true(fault_at(net.a.dev, rejected ? FAULT_REJECTED : FAULT_FAILED, 1,
				     FAULT_SOME_HOW));
		assert_int_equal(connect_a(), 0);
		assert_int_equal(accept_b(next_event(net.b.dev, FABRIC_CM_REQUEST).req), 0);
		next_event(net.a.dev, rejected ? FABRIC_CM_REJECTED : FABRIC_CM_FAILED);
		/*
		 * The other side has accepted. It must get an event which says that the connection
		 * does not exist.
		 */
		for (struct fabric_cm_event event = {.kind = FABRIC_CM_REQUEST};
		     event.kind != FABRIC_CM_FAILED && event.kind != FABRIC_CM_DISCONNECTED;)
			if (net.ops->cm_poll(net.b.dev, &event, 1) == 0)
				assert_true(sim_step(net.world));
		expect_quiet();
		sim_net_close();
	}
}

static void accept__that_fails_ends_the_request(void **state)
{
	(void)state;
	sim_net_open(1, NULL, "");
	assert_true(fault_at(net.b.dev, FAULT_ACCEPT, 1, ENOMEM));
	assert_int_equal(connect_a(), 0);
	assert_int_equal(accept_b(next_event(net.b.dev, FABRIC_CM_REQUEST).req), -ENOMEM);
	next_event(net.a.dev, FABRIC_CM_REJECTED);
	expect_quiet();
	sim_net_close();
}

static void accepted__breaks_before_established(void **state)
{
	struct fabric_cm_event event;

	(void)state;
	sim_net_open(1, NULL, "");
	assert_true(fault_at(net.b.dev, FAULT_ACCEPTED, 1, FAULT_SOME_HOW));
	assert_int_equal(connect_a(), 0);
	assert_int_equal(accept_b(next_event(net.b.dev, FABRIC_CM_REQUEST).req), 0);
	next_event(net.b.dev, FABRIC_CM_FAILED);
	/* The connecting side gets either ESTABLISHED or FAILED. */
	while (net.ops->cm_poll(net.a.dev, &event, 1) == 0)
		assert_true(sim_step(net.world));
	if (event.kind == FABRIC_CM_ESTABLISHED)
		next_event(net.a.dev, FABRIC_CM_DISCONNECTED);
	else
		assert_int_equal(event.kind, FABRIC_CM_FAILED);
	expect_quiet();
	sim_net_close();
}

static void delay__established_holds_back_sends(void **state)
{
	struct fabric_sge sge;
	const struct fabric_wr wr = {.op = FABRIC_SEND, .sge = &sge, .nsge = 1};
	struct fabric_conn_req *req;
	struct fabric_cm_event event;

	(void)state;
	sim_net_open(1, NULL, "");
	sim_net_request(&req);
	assert_true(fault_at(net.b.dev, FAULT_DELAY, 1, 50));
	assert_int_equal(accept_b(req), 0);
	next_event(net.a.dev, FABRIC_CM_ESTABLISHED);
	while (fault_held(net.b.dev) == 0) {
		assert_true(sim_step(net.world));
		assert_int_equal(net.ops->cm_poll(net.b.dev, &event, 1), 0);
	}
	sge = (struct fabric_sge){net.b.mem, 8, net.b.mr.lkey};
	for (uint32_t i = 1; i < 50; i++) {
		assert_int_equal(net.ops->post_send(net.b.qp, &wr, 1), 0);
		assert_int_equal(net.ops->cm_poll(net.b.dev, &event, 1), 0);
	}
	next_event(net.b.dev, FABRIC_CM_ESTABLISHED);
	assert_int_equal(net.ops->post_send(net.b.qp, &wr, 1), 1);
	sim_net_close();
}

static void disconnecting__comes_when_all_is_flushed(void **state)
{
	struct fabric_cm_event event;
	struct fabric_wc wc;

	(void)state;
	sim_net_start(1);
	sim_net_recv(&net.b, 1, 0, 64);
	assert_true(fault_at(net.b.dev, FAULT_DISCONNECTING, 1, 100));
	net.ops->disconnect(net.a.qp);
	while (sim_step(net.world))
		;
	assert_int_equal(net.ops->poll(net.b.dev, &wc, 1), 1);
	assert_int_equal(wc.status, FABRIC_ERR_FLUSHED);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(net.ops->cm_poll(net.b.dev, &event, 1), 0);
	next_event(net.b.dev, FABRIC_CM_DISCONNECTED);
	expect_quiet();
	sim_net_close();
}

static void disconnect__no_event_that_was_held_follows(void **state)
{
	struct fabric_cm_event event;

	(void)state;
	sim_net_start(1);
	assert_true(fault_at(net.b.dev, FAULT_DISCONNECTING, 1, 100));
	net.ops->disconnect(net.a.qp);
	while (sim_step(net.world))
		;
	assert_int_equal(net.ops->cm_poll(net.b.dev, &event, 1), 0);
	assert_int_equal(fault_held(net.b.dev), 1);
	net.ops->disconnect(net.b.qp);
	expect_quiet();
	sim_net_close();
}

static void unlisten__ends_requests_that_are_held(void **state)
{
	struct fabric_cm_event event;

	(void)state;
	sim_net_open(1, NULL, "");
	assert_true(fault_at(net.b.dev, FAULT_DELAY, 1, 1000000));
	assert_int_equal(connect_a(), 0);
	while (fault_held(net.b.dev) == 0) {
		assert_true(sim_step(net.world));
		net.ops->cm_poll(net.b.dev, &event, 1);
	}
	net.ops->unlisten(net.listener);
	net.listener = NULL;
	next_event(net.a.dev, FABRIC_CM_REJECTED);
	expect_quiet();
	sim_net_close();
}

static void listen_and_memory__fail(void **state)
{
	struct fabric_listener *listener;
	struct fabric_mr mr;
	struct fabric_mw mw;

	(void)state;
	sim_net_open(1, NULL, "");
	assert_true(fault_at(net.a.dev, FAULT_LISTEN, 1, EACCES));
	assert_int_equal(net.ops->listen(net.a.dev, "c", 1, NULL, &listener), -EACCES);
	assert_int_equal(net.ops->listen(net.a.dev, "c", 1, NULL, &listener), 0);
	net.ops->unlisten(listener);
	assert_true(fault_at(net.a.dev, FAULT_MR, 2, FAULT_SOME_HOW));
	assert_int_equal(net.ops->mr_register(net.a.dev, net.a.mem, 64, ALL_RIGHTS, -1, 0, &mr), 0);
	net.ops->mr_deregister(net.a.dev, &mr);
	assert_int_equal(net.ops->mr_register(net.a.dev, net.a.mem, 64, ALL_RIGHTS, -1, 0, &mr),
			 -ENOMEM);
	assert_true(fault_at(net.a.dev, FAULT_MW, 1, FAULT_SOME_HOW));
	assert_int_equal(net.ops->mw_alloc(net.a.dev, &mw), -ENOMEM);
	assert_int_equal(net.ops->mw_alloc(net.a.dev, &mw), 0);
	net.ops->mw_free(net.a.dev, &mw);
	sim_net_close();
}

static void unlistened__once_and_listening_again_works(void **state)
{
	struct fabric_cm_event event;
	struct fabric_listener *listener;
	int ctx;

	(void)state;
	sim_net_open(1, NULL, "");
	assert_int_equal(net.ops->listen(net.a.dev, "c", 1, &ctx, &listener), 0);
	assert_true(fault_at(net.a.dev, FAULT_UNLISTENED, 3, EIO));
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(net.ops->cm_poll(net.a.dev, &event, 1), i == 2);
	assert_int_equal(event.kind, FABRIC_CM_UNLISTENED);
	assert_ptr_equal(event.listener_ctx, &ctx);
	assert_int_equal(event.error, -EIO);
	expect_quiet();
	/* Nobody listens at these addresses. */
	assert_int_equal(net.ops->connect(net.b.dev, "c", &net.attr, NULL, 0, &net.b.qp), 0);
	assert_int_equal(next_event(net.b.dev, FABRIC_CM_FAILED).error, -ECONNREFUSED);
	net.ops->unlisten(listener);
	assert_int_equal(net.ops->listen(net.a.dev, "c", 1, &ctx, &listener), 0);
	/* If an event was not polled before its listener is closed, it is dropped. */
	assert_true(fault_at(net.a.dev, FAULT_UNLISTENED, 1, FAULT_SOME_HOW));
	assert_int_equal(net.ops->cm_poll(net.a.dev, &event, 0), 0);
	net.ops->unlisten(listener);
	expect_quiet();
	sim_net_close();
}

static void at__no_more_than_can_be_planned(void **state)
{
	uint32_t planned = 0;

	(void)state;
	sim_net_open(1, NULL, "");
	while (fault_at(net.a.dev, FAULT_MR, 1000, FAULT_SOME_HOW))
		assert_true(++planned < 1000);
	assert_true(planned >= 16);
	for (uint32_t kind = 0; kind < FAULT_NKINDS; kind++)
		assert_non_null(fault_kind_name(kind));
	sim_net_close();
}

/*
 * Checks the limit of connection requests. The device has so many queue pairs that, before it
 * listens for the first time, FAULT_REQUESTS_MAX events are reserved for them.
 */
static void listen__after_many_queue_pairs(void **state)
{
	struct fabric_qp *first[FAULT_REQUESTS_MAX / 2], *second[FAULT_REQUESTS_MAX + 8];
	struct fabric_listener *listener;
	struct fabric_cm_event event;
	bool stepped;

	(void)state;
	sim_net_open(1, NULL, "");
	for (uint32_t i = 0; i < FAULT_REQUESTS_MAX / 2; i++)
		assert_int_equal(
			net.ops->connect(net.a.dev, "nobody", &net.attr, NULL, 0, &first[i]), 0);
	assert_int_equal(net.ops->listen(net.a.dev, "late", 1000, NULL, &listener), 0);
	for (uint32_t i = 0; i < FAULT_REQUESTS_MAX / 2; i++)
		net.ops->qp_destroy(first[i]);
	for (uint32_t i = 0; i < FAULT_REQUESTS_MAX + 8; i++)
		assert_int_equal(
			net.ops->connect(net.b.dev, "late", &net.attr, NULL, 0, &second[i]), 0);
	do {
		stepped = sim_step(net.world);
		assert_int_equal(net.ops->cm_poll(net.a.dev, &event, 0), 0);
	} while (stepped);
	assert_int_equal(fault_held(net.a.dev), FAULT_REQUESTS_MAX);
	net.ops->unlisten(listener);
	for (uint32_t i = 0; i < FAULT_REQUESTS_MAX + 8; i++)
		net.ops->qp_destroy(second[i]);
	sim_net_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connect__fails_at_once),
		cmocka_unit_test(connecting__breaks_before_the_answer),
		cmocka_unit_test(failed__instead_of_established),
		cmocka_unit_test(accept__that_fails_ends_the_request),
		cmocka_unit_test(accepted__breaks_before_established),
		cmocka_unit_test(delay__established_holds_back_sends),
		cmocka_unit_test(disconnecting__comes_when_all_is_flushed),
		cmocka_unit_test(disconnect__no_event_that_was_held_follows),
		cmocka_unit_test(unlisten__ends_requests_that_are_held),
		cmocka_unit_test(listen_and_memory__fail),
		cmocka_unit_test(listen__after_many_queue_pairs),
		cmocka_unit_test(unlistened__once_and_listening_again_works),
		cmocka_unit_test(at__no_more_than_can_be_planned),
	};

	sim_net_driver = "fault";
	sim_net_options = "over=sim,";
	return cmocka_run_group_tests_name("fault_cm", tests, NULL, NULL);
}
