/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a receive is posted before a message can arrive for it. The test intercepts the
 * driver's operations on each side.
 */
#include "pair_main.h"

#include "engine.h"

#define CREDITS 16
/* Number of calls in flight: more than the credits, and fewer than a requester has slots. */
#define CALLS 24

static struct pair pair;
static struct outcome outcomes[CALLS];

/* Counts for one engine, over all of its connections. */
static struct watch {
	const struct fabric_ops *ops;
	struct fabric_ops watched;
	int posted; /* number of receives that are posted and not yet used */
	int received;
	int sent;
	/*
	 * the minimum over all Sends of: receives that are posted, plus receives that are in use by
	 * messages without an answer
	 */
	int min_at_send;
	int max_in_flight;
	bool is_short; /* set when fewer receives were posted than messages could arrive */
} server, client;

static uint32_t count_posts(struct watch *watch, struct fabric_qp *qp,
			    const struct fabric_recv_wr *wrs, uint32_t n)
{
	uint32_t taken = watch->ops->post_recv(qp, wrs, n);

	watch->posted += (int)taken;
	return taken;
}

static void note_sends(struct watch *watch, int n)
{
	watch->sent += n;
	if (watch->posted + watch->received - watch->sent < watch->min_at_send)
		watch->min_at_send = watch->posted + watch->received - watch->sent;
	if (watch->sent - watch->received > watch->max_in_flight)
		watch->max_in_flight = watch->sent - watch->received;
	watch->is_short |= watch->posted < watch->sent - watch->received;
}

static uint32_t count_sends(struct watch *watch, struct fabric_qp *qp, const struct fabric_wr *wrs,
			    uint32_t n)
{
	int sends = 0;

	for (uint32_t i = 0; i < n; i++)
		sends += wrs[i].op == FABRIC_SEND;
	note_sends(watch, sends);
	return watch->ops->post_send(qp, wrs, n);
}

static bool count_send_direct(struct watch *watch, struct fabric_qp *qp, const void *data,
			      uint32_t len)
{
	if (!watch->ops->send_direct(qp, data, len))
		return false;
	note_sends(watch, 1);
	return true;
}

static uint32_t count_received(struct watch *watch, struct fabric_dev *dev, struct fabric_wc *wcs,
			       uint32_t max)
{
	uint32_t n = watch->ops->poll(dev, wcs, max);

	for (uint32_t i = 0; i < n; i++) {
		if (wcs[i].op != FABRIC_RECV)
			continue;
		watch->posted--;
		watch->received++;
	}
	return n;
}

static uint32_t server_post_recv(struct fabric_qp *qp, const struct fabric_recv_wr *wrs, uint32_t n)
{
	return count_posts(&server, qp, wrs, n);
}

static uint32_t server_post_send(struct fabric_qp *qp, const struct fabric_wr *wrs, uint32_t n)
{
	return count_sends(&server, qp, wrs, n);
}

static bool server_send_direct(struct fabric_qp *qp, const void *data, uint32_t len)
{
	return count_send_direct(&server, qp, data, len);
}

static bool client_send_direct(struct fabric_qp *qp, const void *data, uint32_t len)
{
	return count_send_direct(&client, qp, data, len);
}

static uint32_t server_poll(struct fabric_dev *dev, struct fabric_wc *wcs, uint32_t max)
{
	return count_received(&server, dev, wcs, max);
}

static uint32_t client_post_recv(struct fabric_qp *qp, const struct fabric_recv_wr *wrs, uint32_t n)
{
	return count_posts(&client, qp, wrs, n);
}

static uint32_t client_post_send(struct fabric_qp *qp, const struct fabric_wr *wrs, uint32_t n)
{
	return count_sends(&client, qp, wrs, n);
}

static uint32_t client_poll(struct fabric_dev *dev, struct fabric_wc *wcs, uint32_t max)
{
	return count_received(&client, dev, wcs, max);
}

static void watch(struct watch *watch, struct weir_engine *engine)
{
	*watch = (struct watch){
		.ops = engine->ops, .watched = *engine->ops, .min_at_send = INT32_MAX};
	engine->ops = &watch->watched;
}

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, NULL);
	watch(&server, pair.server);
	watch(&client, pair.client);
	server.watched.post_recv = server_post_recv;
	server.watched.post_send = server_post_send;
	server.watched.poll = server_poll;
	client.watched.post_recv = client_post_recv;
	client.watched.post_send = client_post_send;
	client.watched.poll = client_poll;
	if (server.ops->send_direct) {
		server.watched.send_direct = server_send_direct;
		client.watched.send_direct = client_send_direct;
	}
	pair_connect(&pair);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

/* Begins CALLS calls at once, which are more than there are credits. */
static void many_calls(uint32_t proc)
{
	struct outcome first;

	pair_call(&pair, PAIR_NULL, NULL, 0, &first); /* its reply grants more than one credit */
	for (uint32_t i = 0; i < CALLS; i++) {
		struct weir_call_params params;
		struct weir_call *call;

		outcome_init(&outcomes[i], &pair);
		params = pair_params(proc, &outcomes[i]);
		call = weir_call_begin(pair.conn, &params);
		assert_non_null(call);
		weir_xdr_put_u32(weir_call_args(call), i);
		assert_int_equal(weir_call_submit(call), 0);
	}
	for (uint32_t i = 0; outcomes[CALLS - 1].done == 0 && pair_wait(&pair, i); i++) {
		pair_poll(&pair);
		/*
		 * All calls for which there are credits are in flight before the first of them
		 * ends.
		 */
		if (i % 500 == 499)
			pair_release_later(&pair);
	}
	for (uint32_t i = 0; i < CALLS; i++)
		assert_int_equal(outcomes[i].status, 0);
}

static void reply__3_3_1_receives_for_all_that_is_granted_stand_before_it(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++)
		/* no call waits, because a grant that is reduced applies only to new calls */
		many_calls(PAIR_NULL);
	assert_true(server.sent >= 20 * CALLS);
	assert_true(server.min_at_send >= (int)(CREDITS + ENGINE_RECV_RESERVE));
}

static void call__3_3_1_a_receive_stands_for_each_reply_expected(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++)
		many_calls(i % 2 ? PAIR_LATER : PAIR_NULL);
	assert_int_equal(client.max_in_flight, CREDITS);
	assert_false(client.is_short);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			reply__3_3_1_receives_for_all_that_is_granted_stand_before_it, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			call__3_3_1_a_receive_stands_for_each_reply_expected, setup, teardown),
	};

	return cmocka_run_group_tests_name("receives", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
