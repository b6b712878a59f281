/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a peer that disconnects while the program works on its calls, and that connects again.
 * Until the program has answered these calls, all that they hold counts towards the quota of that
 * peer. The peer is another engine of the simulated world.
 */
#include "pair_main.h"

#include <string.h>

#include "conn.h"
#include "pair_memory.h"
#include "request.h"
#include "shared_recv.h"

#define CREDITS	   8u
#define ROUNDS	   64u
#define SETTLE	   3000u
#define RECVS	   72u
#define SEND_FEW   32u
#define HONEST_MIN 4u
#define BULK	   8u
#define ITEM	   20000u
#define WARM_UP	   4u
#define POLLS_MAX  1000000u

/* A connection, and counts of its events. */
struct end {
	struct weir_conn *conn;
	int opened, closed;
};

static struct pair pair;
static struct weir_engine *other;
static struct outcome outcomes[CREDITS];

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct end *end = arg;

	(void)conn;
	(void)error;
	end->opened += event == WEIR_CONN_OPEN;
	end->closed += event == WEIR_CONN_CLOSED;
}

static void few(struct weir_profile *profile)
{
	profile->connections = 6;
	profile->credits = CREDITS;
	profile->recv_buffers = RECVS;
}

static void few_shared(struct weir_profile *profile)
{
	few(profile);
	profile->shared_receives = WEIR_SHARED_RECEIVES_ON;
}

static void few_sends(struct weir_profile *profile)
{
	few(profile);
	profile->send_buffers = SEND_FEW;
}

static void few_bulk(struct weir_profile *profile)
{
	few(profile);
	profile->bulk_buffers = BULK;
}

static int setup(void (*change)(struct weir_profile *))
{
	pair_start(&pair, change);
	return weir_engine_create(&pair.profile, &other);
}

static int setup_own(void **state)
{
	(void)state;
	return setup(few);
}

static int setup_shared(void **state)
{
	(void)state;
	return setup(few_shared);
}

static int setup_sends(void **state)
{
	(void)state;
	return setup(few_sends);
}

static int setup_bulk(void **state)
{
	(void)state;
	return setup(few_bulk);
}

static int teardown(void **state)
{
	(void)state;
	weir_engine_destroy(other);
	pair_stop(&pair);
	return 0;
}

static void poll_all(uint32_t polls)
{
	for (uint32_t i = 0; i < polls; i++) {
		pair_poll(&pair);
		weir_engine_poll(other, 0, pair.now_ns);
	}
}

/*
 * Connects and waits for the result. Returns true if the connection opened, and false if it was
 * refused.
 */
static bool connects(struct weir_engine *engine, struct end *end)
{
	const struct weir_connect_options options = {
		.struct_bytes = sizeof(options), .on_event = on_event, .arg = end};

	memset(end, 0, sizeof(*end));
	assert_int_equal(weir_connect(engine, pair.addr, &options, &end->conn), 0);
	for (uint32_t i = 0; i < 1000 && end->opened + end->closed == 0; i++)
		poll_all(SETTLE / 100);
	assert_int_equal(end->opened + end->closed, 1);
	return end->opened == 1;
}

/*
 * Submits a call of procedure 'proc'. If 'region' is not NULL, the call has an argument item in
 * that region.
 */
static void submit_item(struct weir_conn *conn, uint32_t proc, struct outcome *outcome,
			const struct weir_region *region, const uint8_t *mem)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(outcome, &pair);
	params = pair_params(proc, outcome);
	call = weir_call_begin(conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), 1);
	if (region)
		assert_int_equal(weir_call_arg_item(call, region, mem, ITEM), 0);
	assert_int_equal(weir_call_submit(call), 0);
}

static void submit(struct weir_conn *conn, uint32_t proc, struct outcome *outcome)
{
	submit_item(conn, proc, outcome, NULL, NULL);
}

/*
 * Makes some calls that are answered, so that more credits are granted, and then calls that the
 * program holds. Returns the number of calls that it holds.
 */
static uint32_t call_later(struct weir_conn *conn)
{
	uint32_t before = pair.nlater;

	for (uint32_t i = 0; i < WARM_UP; i++) {
		submit(conn, PAIR_NULL, &outcomes[i]);
		for (uint32_t polls = 0; !outcomes[i].done; polls++) {
			assert_true(polls < POLLS_MAX);
			poll_all(1);
		}
	}
	for (uint32_t i = 0; i < CREDITS; i++)
		submit(conn, PAIR_LATER, &outcomes[i]);
	poll_all(SETTLE);
	return pair.nlater - before;
}

/*
 * Connects, makes calls that the program holds, and disconnects, until the peer is refused. Returns
 * the number of calls that the program still holds.
 */
static uint32_t leave_behind(void)
{
	uint32_t before = pair.nlater;
	struct end end;

	for (uint32_t i = 0; i < ROUNDS && connects(other, &end); i++) {
		assert_in_range(call_later(end.conn), 1, CREDITS);
		weir_conn_close(end.conn);
		poll_all(SETTLE);
	}
	assert_int_equal(end.opened, 0);
	return pair.nlater - before;
}

static void others_go_on(void)
{
	struct end end;

	assert_in_range(call_later(pair.conn), HONEST_MIN, CREDITS);
	assert_true(connects(pair.client, &end));
	weir_conn_close(end.conn);
	poll_all(SETTLE);
}

static void is_admitted_again(void)
{
	struct end end;

	pair_release_later(&pair);
	poll_all(SETTLE);
	assert_true(connects(other, &end));
	weir_conn_close(end.conn);
	poll_all(SETTLE);
	assert_int_equal(pair.server->nrecvs_orphaned, 0);
}

static void left__calls_hold_part_of_the_shared_receives(void **state)
{
	uint32_t capacity;

	(void)state;
	pair_connect(&pair);
	capacity = pair.server->srq->credits.capacity;
	assert_in_range(leave_behind(), capacity / 4, capacity * 7 / 8);
	others_go_on();
	is_admitted_again();
}

static void left__calls_hold_part_of_the_receives(void **state)
{
	uint32_t before;

	(void)state;
	pair_connect(&pair);
	before = pair.server->recv_pool->in_use;
	/*
	 * The calls hold about half of the receives. The difference is at most the calls of one
	 * connection.
	 */
	assert_in_range(leave_behind(), RECVS / 2 - CREDITS, RECVS / 2 + CREDITS);
	assert_int_equal(pair.server->recv_pool->in_use, before + pair.server->nrecvs_orphaned);
	others_go_on();
	is_admitted_again();
}

static void left__calls_are_bounded_by_send_buffers(void **state)
{
	(void)state;
	pair_connect(&pair);
	assert_in_range(leave_behind(), SEND_FEW / 4, SEND_FEW / 2 + CREDITS);
	others_go_on();
	is_admitted_again();
}

/* Free request objects that were taken from a pool. */
struct spare {
	struct weir_request *free;
	uint32_t nused;
};

/*
 * Takes all free request objects from the pool, so that messages that arrive wait for one. Returns
 * what must be put back.
 */
static struct spare empty_pool(struct request_pool *pool)
{
	const struct spare spare = {pool->free, pool->nused};

	pool->free = NULL;
	pool->nused = pool->nrequests;
	return spare;
}

static void refill_pool(struct request_pool *pool, struct spare spare)
{
	struct weir_request **end = &pool->free;

	while (*end)
		end = &(*end)->next_free;
	*end = spare.free;
	pool->nused = spare.nused;
}

static void answer(struct weir_request *req)
{
	weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
}

static void answer_second(struct pair *p)
{
	p->on_later = NULL;
	answer(p->later[1]);
}

/*
 * Checks a connection that has ended while the program holds two of its calls. The reply to the
 * first call frees a request object, which is used for a message of another connection. The handler
 * of that message replies to the second call.
 */
static void left__last_call_ends_while_another_is_released(void **state)
{
	struct request_pool *pool;
	struct spare spare;
	struct outcome outcome;
	struct end end;

	(void)state;
	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome); /* its reply grants more than one credit */
	pool = pair.server->requests;
	assert_true(connects(other, &end));
	assert_in_range(call_later(end.conn), 2, CREDITS);
	weir_conn_close(end.conn);
	poll_all(SETTLE);
	while (pair.nlater > 2)
		answer(pair.later[--pair.nlater]);
	spare = empty_pool(pool);
	submit(pair.conn, PAIR_LATER, &outcome);
	poll_all(SETTLE);
	assert_int_equal(pair.nlater, 2);
	pair.on_later = answer_second;
	answer(pair.later[0]);
	assert_null(pair.on_later);
	refill_pool(pool, spare);
	assert_int_equal(pair.nlater, 3);
	pair.later[0] = pair.later[2];
	pair.nlater = 1;
	pair_release_later(&pair);
	poll_all(SETTLE);
	assert_int_equal(outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(pair.server->nrecvs_orphaned, 0);
}

/*
 * Checks that the program's calls can hold only part of the bulk buffers. The arguments of each
 * call were read into a bulk buffer.
 */
static void left__calls_hold_part_of_the_bulk_buffers(void **state)
{
	struct weir_region *region;
	uint8_t *mem = pair_memory_make(other, false, &region);
	struct end end;

	(void)state;
	for (uint32_t i = 0; i < BULK; i++) {
		assert_true(connects(other, &end));
		submit_item(end.conn, PAIR_LATER, &outcomes[0], region, mem);
		poll_all(SETTLE);
		weir_conn_close(end.conn);
		poll_all(SETTLE);
	}
	assert_int_equal(pair.nlater, BULK / 2);
	assert_int_equal(pair.server->bulk_pool->in_use, BULK / 2);
	pair_release_later(&pair);
	poll_all(SETTLE);
	assert_int_equal(pair.server->bulk_pool->in_use, 0);
	weir_engine_remove_region(other, region);
	pair_memory_end(region);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(left__calls_hold_part_of_the_shared_receives,
						setup_shared, teardown),
		cmocka_unit_test_setup_teardown(left__calls_hold_part_of_the_receives, setup_own,
						teardown),
		cmocka_unit_test_setup_teardown(left__calls_are_bounded_by_send_buffers,
						setup_sends, teardown),
		cmocka_unit_test_setup_teardown(left__last_call_ends_while_another_is_released,
						setup_shared, teardown),
		cmocka_unit_test_setup_teardown(left__calls_hold_part_of_the_bulk_buffers,
						setup_bulk, teardown),
	};

	return cmocka_run_group_tests_name("left", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
