/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of connections that share the receives of their engine: how many receives each connection
 * uses, and how many a peer must leave to other peers. */
#include "pair_main.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "raw.h"
#include "responder.h"
#include "shared_recv.h"

#define CONNS	 12u
#define CALLS	 24u
#define CREDITS	 16u
#define BURST	 8u /* number of calls; fewer than the credits that each of two connections gets */
#define SEGMENTS 60u

static struct pair pair;
static struct raw raw;
static struct weir_conn *conns[CONNS];
static int nopen, nclosed;

static void share(struct weir_profile *profile)
{
	profile->shared_receives = WEIR_SHARED_RECEIVES_ON;
	profile->connections = 16;
	profile->send_buffers = 1024;
}

static int setup(void **state)
{
	(void)state;
	nopen = nclosed = 0;
	pair_start(&pair, share);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	(void)error;
	(void)arg;
	nopen += event == WEIR_CONN_OPEN;
	nclosed += event == WEIR_CONN_CLOSED;
	for (uint32_t i = 0; i < CONNS && event == WEIR_CONN_CLOSED; i++)
		if (conns[i] == conn)
			conns[i] = NULL;
}

static void connect_all(void)
{
	const struct weir_connect_options options = {.struct_bytes = sizeof(options),
						     .on_event = on_event};

	for (uint32_t i = 0; i < CONNS; i++)
		assert_int_equal(weir_connect(pair.client, pair.addr, &options, &conns[i]), 0);
	pair_until(&pair, &nopen, CONNS);
	pair_until(&pair, &pair.server_opened, CONNS);
}

static void submit(struct weir_conn *conn, uint32_t proc, struct outcome *outcome)
{
	pair_submit(&pair, conn, proc, 1, outcome);
}

static void expect_within(const struct weir_engine *engine)
{
	const struct engine_srq *srq = engine->srq;
	uint32_t nheld = 0;

	for (uint32_t i = 0; i < srq->nbufs; i++)
		nheld += engine_srq_is_held(srq->bufs[i]);
	assert_in_range(srq->credits.shared, 0, srq->credits.capacity);
	/* For each granted credit whose call has not yet arrived, a receive is posted. */
	assert_true(srq->credits.shared - nheld <= srq->nbufs - nheld - srq->slack);
	assert_int_equal(engine->dev->stats.rnr, 0);
}

static void idle__connections_take_no_receives_and_no_requests(void **state)
{
	uint32_t taken = pair.server->recv_pool->in_use;
	struct outcome outcome;

	(void)state;
	connect_all();
	assert_int_equal(pair.server->recv_pool->in_use, taken);
	assert_int_equal(pair.client->recv_pool->in_use, taken);
	/* one credit for each connection */
	assert_int_equal(pair.server->srq->credits.shared, CONNS);
	/* A requester's connections give back the credits with which they begin as well. */
	for (uint32_t polls = 0;
	     pair.client->srq->credits.shared > CONNS && pair_wait(&pair, polls); polls++)
		pair_poll(&pair);
	assert_int_equal(pair.client->srq->credits.shared, CONNS);
	submit(conns[0], PAIR_NULL, &outcome);
	assert_int_equal(pair.client->srq->credits.shared, CONNS - 1 + CREDITS);
	pair_until(&pair, &outcome.done, 1);
	assert_int_equal(pair.server->requests->refs, CONNS);
}

static void busy__all_at_once_stay_within_the_queue(void **state)
{
	static struct outcome outcomes[CONNS][CALLS];
	uint32_t left = CONNS * CALLS;

	(void)state;
	connect_all();
	for (uint32_t i = 0; i < CONNS * CALLS; i++)
		submit(conns[i % CONNS], i % 3 == 0 ? PAIR_LATER : PAIR_NULL,
		       &outcomes[i % CONNS][i / CONNS]);
	for (uint32_t polls = 0; left > 0 && pair_wait(&pair, polls); polls++) {
		pair_poll(&pair);
		expect_within(pair.server);
		expect_within(pair.client);
		if (pair.nlater >= 16 || polls % 64 == 63)
			pair_release_later(&pair);
		left = 0;
		for (uint32_t i = 0; i < CONNS * CALLS; i++)
			left += outcomes[i % CONNS][i / CONNS].done == 0;
	}
	for (uint32_t i = 0; i < CONNS * CALLS; i++)
		assert_int_equal(outcomes[i % CONNS][i / CONNS].status, 0);
}

/* Checks a peer that has one credit and sends many calls, none of which the program answers. */
static void excess__of_credits_ends_the_connection_and_no_other(void **state)
{
	struct engine_counters stats = {0};
	struct outcome outcome;

	(void)state;
	connect_all();
	raw_open(&raw, &pair);
	raw_connect(&raw);
	raw_until(&raw, &pair.server_opened, CONNS + 1);
	/* The peer sends as many calls as its one credit and the reserve of receives allow. */
	for (uint32_t i = 0; i < 2 + ENGINE_RECV_RESERVE; i++) {
		struct words m = {0};

		if (i == 1 + ENGINE_RECV_RESERVE) {
			raw_settle(&raw);
			assert_int_equal(raw.disconnected, 0);
			assert_int_equal(pair.nlater, 1 + ENGINE_RECV_RESERVE);
		}
		words_put(&m, 7, 50 + i, 1, 16, 0, 0, 0, 0);
		words_put(&m, 11, 50 + i, 0, 2, PAIR_PROG, PAIR_VERS, PAIR_LATER, 0, 0, 0, 0, 7);
		raw_send_words(&raw, &m);
	}
	raw_until(&raw, &raw.disconnected, 1);
	test_counters(pair.server, &stats);
	assert_int_equal(stats.credits_exceeded, 1);
	/* The calls that the program holds stay, together with their receives. */
	raw_settle(&raw);
	assert_int_equal(pair.nlater, 1 + ENGINE_RECV_RESERVE);
	assert_int_equal(pair.server->srq->credits.shared, CONNS + pair.nlater);
	pair_release_later(&pair);
	assert_int_equal(pair.server->srq->credits.shared, CONNS);
	for (uint32_t i = 0; i < CONNS; i++) {
		submit(conns[i], PAIR_NULL, &outcome);
		pair_until(&pair, &outcome.done, 1);
		assert_int_equal(outcome.status, 0);
	}
	expect_within(pair.server);
	raw_close(&raw);
}

static void idle__gives_credits_back(void **state)
{
	static struct outcome outcomes[CALLS];
	struct outcome outcome;

	(void)state;
	connect_all();
	for (uint32_t i = 0; i < CALLS; i++)
		submit(conns[0], PAIR_NULL, &outcomes[i]);
	for (uint32_t i = 0; i < CALLS; i++)
		pair_until(&pair, &outcomes[i].done, 1);
	assert_true(pair.server->srq->credits.shared > CONNS);
	assert_true(pair.client->srq->credits.shared > CONNS);
	/* The requester finds out by itself that a connection is idle. The responder must announce
	 * a lower grant in its replies, so that an occasional call is necessary. */
	for (uint32_t i = 0; i < 12; i++) {
		pair_pass_ms(&pair, 2500);
		submit(conns[0], PAIR_NULL, &outcome);
		pair_until(&pair, &outcome.done, 1);
	}
	pair_pass_ms(&pair, 2500);
	assert_int_equal(pair.client->srq->credits.shared, CONNS);
	assert_int_equal(pair.server->srq->credits.shared, CONNS);
}

/* Makes CALLS calls at once. The program holds each of them for 2.5 s. Returns the number of times
 * that it had to answer the calls it held. */
static uint32_t rounds_of_slow_calls(void)
{
	static struct outcome outcomes[CALLS];
	uint32_t rounds = 0, left = CALLS;

	for (uint32_t i = 0; i < CALLS; i++)
		submit(conns[0], PAIR_LATER, &outcomes[i]);
	for (; left > 0 && rounds < CALLS; rounds++) {
		pair_pass_ms(&pair, 2500);
		pair_release_later(&pair);
		pair_pass_ms(&pair, 100);
		left = 0;
		for (uint32_t i = 0; i < CALLS; i++)
			left += outcomes[i].done == 0;
	}
	assert_int_equal(left, 0);
	for (uint32_t i = 0; i < CALLS; i++)
		assert_int_equal(outcomes[i].status, 0);
	return rounds;
}

/* Checks that calls which wait for credits count as demand, even if the replies that grant these
 * credits take long. Otherwise the calls would be carried out one by one. */
static void slow__replies_do_not_keep_calls_one_by_one(void **state)
{
	(void)state;
	connect_all();
	/* the rounds have 1, 2, 4, 8 and 9 calls, or there are fewer rounds */
	assert_in_range(rounds_of_slow_calls(), 1, 6);
}

/* Checks the same for calls that are queued behind a call that takes long. Meanwhile the connection
 * requests one credit only. The queued calls must request more when they are sent. */
static void slow__call_does_not_keep_calls_behind_it_one_by_one(void **state)
{
	struct outcome outcome;

	(void)state;
	connect_all();
	submit(conns[0], PAIR_LATER, &outcome);
	pair_pass_ms(&pair, 2500);
	/* the rounds have 1, 1, 2, 4, 8 and 9 calls, or there are fewer rounds */
	assert_in_range(rounds_of_slow_calls(), 1, 7);
	assert_int_equal(outcome.status, 0);
}

static void connection__that_finds_no_receive_left_is_refused(void **state)
{
	const struct weir_connect_options options = {.struct_bytes = sizeof(options),
						     .on_event = on_event};
	struct credit_pool *pool = &pair.client->srq->credits;
	uint32_t shared = pool->shared;

	(void)state;
	/* as if other connections had been granted all shared receives */
	pool->shared = pool->capacity;
	assert_int_equal(weir_connect(pair.client, pair.addr, &options, &conns[0]), -ENOBUFS);
	pool->shared = shared;
	assert_int_equal(pair.client->nconnections, 0);
	connect_all();
}

static void choose(struct weir_profile *profile)
{
	profile->shared_receives = WEIR_SHARED_RECEIVES_AUTO;
	profile->connections = 16;
	profile->recv_buffers = 256;
}

static void choose_with_few(struct weir_profile *profile)
{
	choose(profile);
	profile->connections = 64;
	profile->recv_buffers = 64; /* sufficient for one connection of 16 credits */
}

static void choose_with_domains(struct weir_profile *profile)
{
	choose(profile);
	profile->protection = WEIR_PROTECTION_CONNECTION;
}

/* Checks the setting 'auto': receives are shared only over shm, and only if there are enough
 * receives. */
static void automatic__shares_over_shm(void **state)
{
	bool is_shm = strcmp(pair_driver, "shm") == 0;

	(void)state;
	pair_start(&pair, choose);
	assert_int_equal(pair.client->srq != NULL, is_shm);
	assert_int_equal(pair.server->srq != NULL, is_shm);
	pair_stop(&pair);
	pair_start(&pair, choose_with_few);
	assert_null(pair.client->srq);
	pair_stop(&pair);
	pair_start(&pair, choose_with_domains);
	assert_null(pair.client->srq);
}

static void patient(struct weir_profile *profile)
{
	size_t used = strlen(profile->driver_options);

	share(profile);
	snprintf(profile->driver_options + used, sizeof(profile->driver_options) - used,
		 "%srnr_retry=7", used > 0 ? "," : "");
}

static int setup_patient(void **state)
{
	(void)state;
	nopen = nclosed = 0;
	pair_start(&pair, patient);
	return 0;
}

/* Sends a READ call whose Write chunk has 'nsegs' segments, more than the responder lists at a
 * time. */
static void send_scattered(uint32_t nsegs)
{
	struct words m = {0};

	words_put(&m, 7, 5, 1, CREDITS, 0, 0, 1, nsegs);
	for (uint32_t i = 0; i < nsegs; i++)
		words_put(&m, 4, raw.mr.rkey, 8, (uint32_t)(raw.raddr >> 32),
			  (uint32_t)raw.raddr + 8 * i);
	words_put(&m, 2, 0, 0);
	words_put(&m, 11, 5, 0, 2, PAIR_PROG, PAIR_VERS, PAIR_READ, 0, 0, 0, 0, 8 * nsegs);
	raw_send_words(&raw, &m);
}

/* Checks a connection that ends while the Writes of its replies wait for space in the send queue.
 * Its request objects are then used for other connections, and have none of their old state. */
static void reply__cut_off_amid_its_writes_is_forgotten(void **state)
{
	static struct outcome outcomes[BURST];
	uint32_t ncut = 0;

	(void)state;
	pair_connect(&pair);
	submit(pair.conn, PAIR_NULL, &outcomes[0]);
	pair_until(&pair, &outcomes[0].done, 1); /* its reply grants more than one credit */
	raw_open(&raw, &pair);
	raw.stops = true;
	raw_connect(&raw);
	raw_until(&raw, &pair.server_opened, 2);
	for (int i = 0; i < (int)RAW_RECVS; i++) {
		send_scattered(SEGMENTS);
		raw_until(&raw, &raw.nmsgs, i + 1);
	}
	/* The first reply leaves space in the send queue for 16 Writes of the next reply, but not
	 * for the 16 Writes after those. */
	raw_settle(&raw);
	send_scattered(conn_tx_room(pair.server_conn) - 24);
	for (uint32_t i = 1; i < BURST; i++)
		send_scattered(SEGMENTS);
	raw_settle(&raw);
	for (uint32_t i = 0; i < pair.server->requests->nrequests; i++) {
		const struct weir_request *req = &pair.server->requests->requests[i];

		ncut += req->tx_waiter.is_waiting && req->xfers_done > 0 && req->xfers_after > 0;
	}
	/* Over shm, the ring accepts messages for which no receive is posted, so that no reply
	 * waits. */
	if (pair.world)
		assert_in_range(ncut, 1, BURST);
	raw_close(&raw);
	pair_until(&pair, &pair.server_closed, 1);
	for (uint32_t i = 0; i < BURST; i++)
		submit(pair.conn, PAIR_LATER, &outcomes[i]);
	for (uint32_t i = 0; pair.nlater < 2 && pair_wait(&pair, i); i++)
		pair_poll(&pair);
	for (uint32_t i = 0; outcomes[BURST - 1].done == 0 && pair_wait(&pair, i); i++) {
		pair_poll(&pair);
		pair_release_later(&pair);
	}
	for (uint32_t i = 0; i < BURST; i++)
		assert_int_equal(outcomes[i].status, 0);
	assert_int_equal(pair.closed, 0);
}

static void narrow(struct weir_profile *profile)
{
	share(profile);
	snprintf(profile->driver_options, sizeof(profile->driver_options), "ring_kib=4");
}

static int setup_narrow(void **state)
{
	(void)state;
	nopen = nclosed = 0;
	pair_start(&pair, narrow);
	pair_connect(&pair);
	return 0;
}

/* Checks replies while the ring of shm is full. Replies are sent at once as long as the ring has
 * space. Other replies wait for space, together with the credits that they grant. No credit is lost
 * or granted twice. */
static void reply__finds_the_ring_full(void **state)
{
	const uint32_t count = 2000, ncalls = 15, in_use = pair.server->send_pool->in_use;
	bool reads = pair_exposure !=
		     WEIR_EXPOSURE_WINDOW; /* the requester would first have to bind a window */
	struct outcome outcomes[15];

	(void)state;
	for (uint32_t i = 0; i < count; i++)
		pair.server_mem[i] = pair_byte(i);
	for (uint32_t round = 0; round < 20; round++) {
		const struct fabric_stats *stats = &pair.server->dev->stats;
		uint64_t sends = stats->sends + stats->sends_direct;

		for (uint32_t i = 0; i < ncalls; i++) {
			struct weir_call_params params;
			struct weir_call *call;

			outcome_init(&outcomes[i], &pair);
			memset(pair.client_mem + i * 4096, 0, count);
			params = pair_params(reads && i % 3 == 2 ? PAIR_READ : PAIR_BIG,
					     &outcomes[i]);
			params.results_max_bytes = 4 + count;
			call = weir_call_begin(pair.conn, &params);
			assert_non_null(call);
			weir_xdr_put_u32(weir_call_args(call), count);
			if (reads && i % 3 == 2)
				assert_int_equal(weir_call_result_item(call, pair.client_region,
								       pair.client_mem + i * 4096,
								       count),
						 0);
			assert_int_equal(weir_call_submit(call), 0);
		}
		for (uint32_t i = 0; i < 8 && round >= 4;
		     i++) /* in the first rounds the requester has too few credits */
			weir_engine_poll(pair.server, 0, pair.now_ns);
		if (round >= 4) {
			assert_int_equal(pair.server->stats.replies_sent, (round + 1) * ncalls);
			assert_in_range(stats->sends + stats->sends_direct - sends, 1, ncalls - 1);
		}
		for (uint32_t i = 0; i < ncalls; i++)
			pair_until(&pair, &outcomes[i].done, 1);
		for (uint32_t i = 0; i < ncalls; i++) {
			assert_int_equal(outcomes[i].status, 0);
			if (reads && i % 3 == 2)
				assert_memory_equal(pair.client_mem + i * 4096, pair.server_mem,
						    count);
		}
		pair_settle(&pair);
		assert_int_equal(pair.server_conn->share.unsent, 0);
		assert_int_equal(pair.server_conn->ep.blockers.nrecv_held, 0);
		assert_int_equal(pair.server->send_pool->in_use, in_use);
		expect_within(pair.server);
		expect_within(pair.client);
	}
}

/* Puts one message into the ring, without a poll of the ring's reader. */
static void put_words(const struct words *m)
{
	struct fabric_sge sge = {(uint8_t *)(uintptr_t)m->w, 4 * m->n, 0};
	const struct fabric_wr wr = {
		.op = FABRIC_SEND, .flags = FABRIC_INLINE, .sge = &sge, .nsge = 1};

	assert_int_equal(raw.ops->post_send(raw.qp, &wr, 1), 1);
}

static void put_call(uint32_t xid, uint32_t credits, uint32_t proc)
{
	struct words m = {0};

	words_put(&m, 7, xid, 1, credits, 0, 0, 0, 0);
	words_put_rpc(&m, xid, proc);
	words_put(&m, 1, 7);
	put_words(&m);
}

/* Checks a peer that exceeds its credits with consecutive messages. The driver delivers several of
 * these messages in one poll, and the responder's last tick has seen only the first. */
static void excess__in_a_row_ends_the_connection(void **state)
{
	static struct outcome outcomes[CONNS];
	uint32_t max;

	(void)state;
	/* More request objects than 'max' have been used before and are free. */
	connect_all();
	for (uint32_t i = 0; i < CONNS; i++)
		submit(conns[i], PAIR_LATER, &outcomes[i]);
	pair_until_later(&pair, CONNS);
	pair_release_later(&pair);
	raw_open(&raw, &pair);
	raw_connect(&raw);
	put_call(1, 1, PAIR_NULL);
	raw_until(&raw, &raw.nmsgs, 1);
	max = conn_held_max(pair.server_conn);
	assert_in_range(max, 1, CONNS - 1);
	for (uint32_t i = 0; i <= max; i++)
		put_call(10 + i, 1, PAIR_LATER);
	raw_until(&raw, &raw.disconnected, 1);
	assert_int_equal(pair.nlater, max);
	assert_int_equal(pair.server->stats.credits_exceeded, 1);
	pair_release_later(&pair);
	raw_close(&raw);
}

/* Sends a READ call whose Write chunk has 'nsegs' segments of 8 bytes. Its reply needs 'nsegs'
 * entries of the send queue for Writes and one for the Send. */
static void put_read(uint32_t nsegs)
{
	struct words m = {0};

	words_put(&m, 7, 5, 1, CREDITS, 0, 0, 1, nsegs);
	for (uint32_t i = 0; i < nsegs; i++)
		raw_put_segment(&raw, &m, 8, 8 * i);
	words_put(&m, 2, 0, 0);
	words_put_rpc(&m, 5, PAIR_READ);
	words_put(&m, 1, 8 * nsegs);
	put_words(&m);
}

/* Checks a reply that waits for an entry in the send queue while later replies, which need no
 * entry, are sent before it. The later replies grant fewer credits. Nevertheless the peer can use
 * the credits that the first reply grants. */
static void reply__passed_by_others_grants_what_it_says(void **state)
{
	struct words r;

	(void)state;
	raw_open(&raw, &pair);
	raw_connect(&raw);
	put_read(1); /* after this call, the memory region does not have to be fetched */
	raw_until(&raw, &raw.nmsgs, 1);
	put_call(1, CREDITS, PAIR_NULL);
	raw_until(&raw, &raw.nmsgs, 2);
	raw_settle(&raw);
	assert_int_equal(pair.server_conn->share.size, CREDITS);
	assert_int_equal(conn_tx_room(pair.server_conn), 64);
	raw.nmsgs = 0;
	for (uint32_t i = 0; i < 3; i++)
		put_read(16);
	put_read(12); /* uses the last entries of the send queue */
	put_call(20, CREDITS, PAIR_NULL);
	for (uint32_t i = 0; i < 5; i++)
		put_call(30 + i, 1, PAIR_NULL);
	for (uint32_t i = 0; i < 10; i++)
		raw_recv_words(&raw, &r);
	assert_int_equal(r.w[0], 20);
	assert_int_equal(r.w[2], CREDITS);
	raw_settle(&raw);
	for (uint32_t i = 0; i < CREDITS; i++)
		put_call(40 + i, CREDITS, PAIR_LATER);
	raw_settle(&raw);
	assert_int_equal(raw.disconnected, 0);
	assert_int_equal(pair.nlater, CREDITS);
	expect_within(pair.server);
	pair_release_later(&pair);
	raw_settle(&raw);
	assert_int_equal(pair.server_conn->share.unsent, 0);
	assert_int_equal(pair.server_conn->ep.blockers.nrecv_held, 0);
	raw_close(&raw);
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(idle__connections_take_no_receives_and_no_requests),
		T(busy__all_at_once_stay_within_the_queue),
		T(excess__of_credits_ends_the_connection_and_no_other),
		T(connection__that_finds_no_receive_left_is_refused),
		cmocka_unit_test_teardown(automatic__shares_over_shm, teardown),
		cmocka_unit_test_setup_teardown(reply__cut_off_amid_its_writes_is_forgotten,
						setup_patient, teardown),
	};
	const struct CMUnitTest of_rings[] = {
		cmocka_unit_test_setup_teardown(reply__finds_the_ring_full, setup_narrow, teardown),
		T(reply__passed_by_others_grants_what_it_says),
		T(excess__in_a_row_ends_the_connection),
	};
	const struct CMUnitTest in_virtual_time[] = {
		T(idle__gives_credits_back),
		T(slow__replies_do_not_keep_calls_one_by_one),
		T(slow__call_does_not_keep_calls_behind_it_one_by_one),
	};
	int failed = cmocka_run_group_tests_name("shared", tests, NULL, NULL);

	if (pair_driver[0] == 's' && pair_driver[1] == 'h')
		failed += cmocka_run_group_tests_name("shared, rings", of_rings, NULL, NULL);
	if (pair_driver[0] == 's' && pair_driver[1] == 'i') /* over sim it would take a minute */
		failed += cmocka_run_group_tests_name("shared, idle", in_virtual_time, NULL, NULL);
	return failed;
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
