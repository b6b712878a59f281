/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of sim beyond the driver contract: the same events for the same seed, time, keys, and the
 * ways in which connections and devices end.
 */
#include "sim_net.h"

#include <errno.h>
#include <string.h>

#include "sim.h"

/* Makes work requests of all kinds. Returns a hash of the completions and events. */
static uint64_t course(uint64_t seed, uint64_t *now_ns)
{
	struct fabric_wc wc;
	uint64_t hash;

	sim_net_start(seed);
	for (uint32_t i = 0; i < 8; i++) {
		sim_net_recv(&net.b, i, 32768 + i * 64, 64);
		sim_net_post(&net.a, FABRIC_WRITE, i, 0, 1000, i * 1000);
		sim_net_post(&net.a, FABRIC_READ, i, 8192, 1000, i * 1000);
		sim_net_post(&net.a, FABRIC_SEND, i, 0, 64, 0);
	}
	while (sim_step(net.world))
		while (net.ops->poll(net.a.dev, &wc, 1) + net.ops->poll(net.b.dev, &wc, 1) > 0)
			assert_int_equal(wc.status, FABRIC_OK);
	net.ops->disconnect(net.a.qp);
	while (sim_step(net.world))
		;
	hash = sim_trace_hash(net.world);
	*now_ns = sim_now(net.world);
	sim_net_close();
	return hash;
}

static void sim_trace_hash__is_of_the_seed(void **state)
{
	uint64_t hash[2], now_ns[2], others = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		hash[0] = course(seed, &now_ns[0]);
		hash[1] = course(seed, &now_ns[1]);
		assert_int_equal(hash[0], hash[1]);
		assert_int_equal(now_ns[0], now_ns[1]);
		assert_int_not_equal(hash[0], others);
		others = hash[0];
	}
}

static void sim_step__time_only_grows(void **state)
{
	uint64_t before, next;

	(void)state;
	sim_net_start(1);
	for (uint32_t i = 0; i < 20; i++)
		sim_net_post(&net.a, FABRIC_WRITE, i, 0, 1000, 0);
	for (;;) {
		before = sim_now(net.world);
		next = sim_next(net.world);
		if (!sim_step(net.world))
			break;
		assert_true(next >= before);
		assert_int_equal(sim_now(net.world), next);
	}
	assert_int_equal(next, UINT64_MAX);
	assert_int_equal(sim_now(net.world), before);
	/* The time limit for the connection has no event left. */
	assert_true(before < 1000000000u);
	sim_net_close();
}

static void sim_run_until__stops_there(void **state)
{
	(void)state;
	sim_net_start(1);
	sim_net_post(&net.a, FABRIC_WRITE, 1, 0, 1000, 0);
	sim_run_until(net.world, sim_next(net.world) - 1);
	assert_true(sim_next(net.world) == sim_now(net.world) + 1);
	sim_run_until(net.world, sim_now(net.world) + 1);
	assert_true(sim_next(net.world) > sim_now(net.world));
	sim_run_until(net.world, 5000000000ull);
	assert_int_equal(sim_now(net.world), 5000000000ull);
	sim_net_wc(&net.a, 1, FABRIC_OK);
	sim_net_close();
}

static void mr_register__keys_and_addresses_are_nobodys_guess(void **state)
{
	static uint32_t keys[600];
	uint32_t n = 0, near = 0;
	struct fabric_mr mr;

	(void)state;
	sim_net_open(1, NULL, "");
	for (int i = 0; i < 300; i++) {
		assert_int_equal(
			net.ops->mr_register(net.a.dev, net.a.mem, 64, ALL_RIGHTS, -1, 0, &mr), 0);
		assert_true(mr.raddr != (uintptr_t)net.a.mem);
		keys[n++] = mr.lkey;
		keys[n++] = mr.rkey;
		net.ops->mr_deregister(net.a.dev, &mr);
	}
	for (uint32_t i = 0; i < n; i++) {
		assert_int_not_equal(keys[i], 0);
		for (uint32_t j = 0; j < i; j++) {
			assert_int_not_equal(keys[i], keys[j]);
			near += keys[i] - keys[j] + 256 < 512;
		}
	}
	assert_in_range(near, 0, 5); /* of 600 * 599 / 2 pairs, 512 / 2^32 of the keys are near */
	sim_net_close();
}

static void mr_deregister__ends_what_is_on_its_way(void **state)
{
	uint32_t seen[FABRIC_ERR_FATAL + 1] = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct side *side = seed % 2 ? &net.a : &net.b;
		struct fabric_wc wc;

		sim_net_start(seed);
		sim_net_post(&net.a, FABRIC_WRITE, 1, 0, 1000, 0);
		for (uint64_t i = 0; i < seed % 5; i++)
			sim_step(net.world);
		net.ops->mr_deregister(side->dev, &side->mr);
		while (net.ops->poll(net.a.dev, &wc, 1) == 0)
			assert_true(sim_step(net.world));
		seen[wc.status]++;
		sim_net_close();
	}
	assert_true(seen[FABRIC_OK] > 0);
	assert_true(seen[FABRIC_ERR_LOCAL_PROT] > 0);
	assert_true(seen[FABRIC_ERR_REMOTE_ACCESS] > 0);
	assert_int_equal(seen[FABRIC_OK] + seen[FABRIC_ERR_LOCAL_PROT] +
				 seen[FABRIC_ERR_REMOTE_ACCESS],
			 SEEDS);
}

static void bind(struct fabric_mw *mw, uint32_t lkey, uint64_t wr_id)
{
	struct fabric_sge sge = {net.b.mem, 100, lkey};
	const struct fabric_wr wr = {.wr_id = wr_id,
				     .op = FABRIC_BIND_MW,
				     .flags = FABRIC_SIGNALED,
				     .sge = &sge,
				     .nsge = 1,
				     .mw = mw,
				     .access = FABRIC_REMOTE_WRITE};

	assert_int_equal(net.ops->post_send(net.b.qp, &wr, 1), 1);
}

static void bind__over_memory_without_a_key(void **state)
{
	struct fabric_mr mr;
	struct fabric_mw mw;

	(void)state;
	sim_net_start(1);
	net.ops->mr_deregister(net.b.dev, &net.b.mr);
	net.ops->mr_register(net.b.dev, net.b.mem, MEM_BYTES, FABRIC_LOCAL_WRITE | FABRIC_BIND, -1,
			     0, &mr);
	assert_int_equal(net.ops->mw_alloc(net.b.dev, &mw), 0);
	bind(&mw, mr.lkey, 1);
	sim_net_wc(&net.b, 1, FABRIC_OK);
	net.b.mr.rkey = mw.rkey;
	net.b.mr.raddr = mr.raddr;
	net.a.mem[0] = 7;
	sim_net_post(&net.a, FABRIC_WRITE, 2, 0, 100, 0);
	sim_net_wc(&net.a, 2, FABRIC_OK);
	assert_int_equal(net.b.mem[0], 7);
	net.ops->mw_free(net.b.dev, &mw);
	net.ops->mr_deregister(net.b.dev, &mr);
	sim_net_close();
}

static void bind__wants_a_free_window(void **state)
{
	struct fabric_mw mw;

	(void)state;
	sim_net_start(1);
	net.ops->mw_alloc(net.b.dev, &mw);
	bind(&mw, net.b.mr.lkey, 1);
	bind(&mw, net.b.mr.lkey, 2);
	sim_net_wc(&net.b, 1, FABRIC_OK);
	sim_net_wc(&net.b, 2, FABRIC_ERR_LOCAL_PROT);
	net.ops->mw_free(net.b.dev, &mw);
	sim_net_close();
}

/*
 * Checks LOCAL_INV of a key that the peer has invalidated before, which the owner cannot know yet.
 */
static void local_inv__of_what_the_peer_has_invalidated(void **state)
{
	struct fabric_wr inv = {.wr_id = 3, .op = FABRIC_LOCAL_INV, .flags = FABRIC_SIGNALED};
	struct fabric_mw mw;

	(void)state;
	sim_net_start(1);
	net.ops->mw_alloc(net.b.dev, &mw);
	bind(&mw, net.b.mr.lkey, 1);
	sim_net_wc(&net.b, 1, FABRIC_OK);
	sim_net_recv(&net.b, 2, 1000, 64);
	net.b.mr.rkey = inv.rkey = mw.rkey;
	sim_net_post(&net.a, FABRIC_SEND_INV, 4, 0, 8, 0);
	assert_int_equal(sim_net_wc(&net.b, 2, FABRIC_OK).inv_rkey, mw.rkey);
	assert_int_equal(net.ops->post_send(net.b.qp, &inv, 1), 1);
	sim_net_wc(&net.b, 3, FABRIC_OK);
	net.ops->mw_free(net.b.dev, &mw);
	sim_net_close();
}

/*
 * Checks the backlog of two entries. If one peer has both, its next request displaces one of its
 * own, and a request of another peer displaces one as well.
 */
static void listen__backlog_is_shared_by_peers(void **state)
{
	struct fabric_qp *qps[3], *other;
	struct fabric_cm_event event;

	(void)state;
	sim_net_open(1, NULL, "");
	for (int i = 0; i < 3; i++)
		assert_int_equal(net.ops->connect(net.a.dev, "b", &net.attr, NULL, 0, &qps[i]), 0);
	assert_int_equal(sim_net_event(net.a.dev, FABRIC_CM_FAILED).error, -ECONNREFUSED);
	assert_int_equal(net.b.dev->stats.requests_displaced, 1);
	assert_int_equal(net.ops->connect(net.b.dev, "b", &net.attr, NULL, 0, &other), 0);
	assert_int_equal(sim_net_event(net.a.dev, FABRIC_CM_FAILED).error, -ECONNREFUSED);
	assert_int_equal(net.b.dev->stats.requests_displaced, 2);
	event = sim_net_event(net.b.dev, FABRIC_CM_REQUEST);
	assert_string_equal(event.peer.address, "sim-1");
	assert_int_equal(net.ops->reject(net.b.dev, event.req, NULL, 0), 0);
	event = sim_net_event(net.b.dev, FABRIC_CM_REQUEST);
	assert_string_equal(event.peer.address, "sim-2");
	assert_int_equal(net.ops->reject(net.b.dev, event.req, NULL, 0), 0);
	sim_net_event(net.a.dev, FABRIC_CM_REJECTED);
	sim_net_event(net.b.dev, FABRIC_CM_REJECTED);
	for (int i = 0; i < 3; i++)
		net.ops->qp_destroy(qps[i]);
	net.ops->qp_destroy(other);
	sim_net_close();
}

static void connect__unanswered_is_failed(void **state)
{
	struct fabric_conn_req *req;

	(void)state;
	sim_net_open(1, NULL, "");
	sim_net_request(&req);
	assert_int_equal(sim_net_event(net.a.dev, FABRIC_CM_FAILED).error, -ETIMEDOUT);
	assert_true(sim_now(net.world) >= 10000000000ull);
	/* The requester has closed its queue pair, so that the late accept fails. */
	assert_int_equal(net.ops->accept(net.b.dev, req, &net.attr, NULL, 0, &net.b.qp), 0);
	assert_true(sim_net_event(net.b.dev, FABRIC_CM_FAILED).error < 0);
	sim_net_close();
}

static void sim_kill__peer_notices(void **state)
{
	uint32_t seen[FABRIC_ERR_FATAL + 1] = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct fabric_listener *listener;
		struct fabric_cm_event event;
		struct side *b = &net.b;
		struct fabric_wc wc;

		sim_net_start(seed);
		for (uint32_t i = 0; i < 3; i++)
			sim_net_post(&net.a, FABRIC_WRITE, i, 0, 1000, 0);
		sim_step(net.world);
		sim_kill(net.world, b->dev);
		memset(b->mem, 0xdd, sizeof(b->mem));
		while (net.ops->poll(net.a.dev, &wc, 1) == 0)
			assert_true(sim_step(net.world));
		seen[wc.status]++;
		sim_net_event(net.a.dev, FABRIC_CM_DISCONNECTED);
		while (sim_step(net.world))
			;
		assert_int_equal(net.ops->cm_poll(net.a.dev, &event, 1), 0);
		for (uint32_t i = 0; i < MEM_BYTES; i++)
			assert_int_equal(b->mem[i], 0xdd);
		/* This device has been killed: nothing works, and its address is free. */
		assert_int_equal(
			net.ops->cm_poll(b->dev, &event, 1) + net.ops->poll(b->dev, &wc, 1), 0);
		assert_int_equal(net.ops->listen(b->dev, "c", 1, NULL, &listener), -ENODEV);
		assert_int_equal(net.ops->listen(net.a.dev, "b", 1, NULL, &listener), 0);
		net.ops->unlisten(listener);
		sim_net_close();
	}
	assert_true(seen[FABRIC_ERR_RETRY] > 0);
	assert_true(seen[FABRIC_ERR_FLUSHED] > 0);
	assert_int_equal(seen[FABRIC_ERR_RETRY] + seen[FABRIC_ERR_FLUSHED], SEEDS);
}

static void sim_kill__before_the_answer(void **state)
{
	struct fabric_conn_req *req;

	(void)state;
	sim_net_open(1, NULL, "");
	sim_net_request(&req);
	sim_kill(net.world, net.b.dev);
	assert_true(sim_net_event(net.a.dev, FABRIC_CM_FAILED).error < 0);
	assert_true(sim_now(net.world) < 1000000000u);
	net.ops->reject(net.b.dev, req, NULL, 0);
	sim_net_close();
}

static void sim_world_objects__counts_what_is_left(void **state)
{
	(void)state;
	sim_net_open(1, NULL, "");
	assert_int_equal(sim_world_objects(net.world),
			 5); /* the objects are two devices, two registrations and a listener */
	sim_net_connect();
	assert_int_equal(sim_world_objects(net.world), 7);
	sim_world_destroy(net.world); /* also frees these objects */
}

static void open__without_a_world_runs_by_polls(void **state)
{
	const struct fabric_ops *ops = fabric_driver_find("sim");
	const struct fabric_dev_config config = {.options = ""};
	struct fabric_listener *listener;
	struct fabric_cm_event event;
	struct fabric_dev *a, *b;
	struct fabric_qp *qp;
	uint32_t polls = 0;

	(void)state;
	assert_int_equal(ops->open(&config, &a), 0);
	assert_int_equal(ops->open(&config, &b), 0);
	assert_int_equal(ops->listen(b, "b", 1, NULL, &listener), 0);
	assert_int_equal(
		ops->connect(a, "b", &(struct fabric_qp_attr){.max_send_wr = 1}, NULL, 0, &qp), 0);
	while (ops->cm_poll(b, &event, 1) == 0)
		assert_true(polls++ < 100);
	ops->reject(b, event.req, NULL, 0);
	while (ops->cm_poll(a, &event, 1) == 0)
		assert_true(polls++ < 100);
	assert_int_equal(event.kind, FABRIC_CM_REJECTED);
	ops->qp_destroy(qp);
	ops->unlisten(listener);
	ops->close(a);
	ops->close(b);
}

static void open__bad_options_are_refused(void **state)
{
	static const char *const bad[] = {
		"world=63", "world=x", "world=", "rnr_retry=8", "max_rd_atomic=0", "nonsense"};
	struct fabric_dev *dev;

	(void)state;
	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct fabric_dev_config config = {.options = bad[i]};

		assert_true(fabric_driver_find("sim")->open(&config, &dev) < 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sim_trace_hash__is_of_the_seed),
		cmocka_unit_test(sim_step__time_only_grows),
		cmocka_unit_test(sim_run_until__stops_there),
		cmocka_unit_test(mr_register__keys_and_addresses_are_nobodys_guess),
		cmocka_unit_test(mr_deregister__ends_what_is_on_its_way),
		cmocka_unit_test(bind__over_memory_without_a_key),
		cmocka_unit_test(bind__wants_a_free_window),
		cmocka_unit_test(local_inv__of_what_the_peer_has_invalidated),
		cmocka_unit_test(listen__backlog_is_shared_by_peers),
		cmocka_unit_test(connect__unanswered_is_failed),
		cmocka_unit_test(sim_kill__peer_notices),
		cmocka_unit_test(sim_kill__before_the_answer),
		cmocka_unit_test(sim_world_objects__counts_what_is_left),
		cmocka_unit_test(open__without_a_world_runs_by_polls),
		cmocka_unit_test(open__bad_options_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
