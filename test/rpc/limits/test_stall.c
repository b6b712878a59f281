/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a peer that stalls, for each pool that its calls can use. The peer gets its quota of the
 * pool and no more, and calls of another connection continue. The peer is a raw peer. It receives
 * as many replies as it has receives, and does not post these receives again. Over sim the other
 * connection belongs to another peer. Over shm both connections belong to one user.
 *
 * Each test counts the free elements of the pool and the calls that complete. No test measures
 * time.
 */
#include "pair_main.h"

#include <endian.h>

#include "engine.h"
#include "quota.h"
#include "raw.h"
#include "sim.h"

#define CREDITS	 32u
#define CALLS	 60u /* number of calls of the other connection, one at a time */
#define REPLY	 600u
#define BIG	 20000u
#define BULK	 10u
#define SENDS	 40u
#define UNREAD	 30u /* number of replies that fill the ring over shm */
#define WAITERS	 9u
#define REPLAYS	 12u
#define ITEM	 8192u
#define BUFS_MAX 64u

static struct pair pair;
static struct raw raw;
/*
 * 'granted' is the number of credits that the raw peer has. 'nfirst' is the number of its calls
 * that were answered before the test began.
 */
static uint32_t granted, nfirst;
static struct mem_buf *bufs[BUFS_MAX];
static uint32_t nbufs;

static void few(struct weir_profile *profile)
{
	profile->credits = CREDITS;
	profile->send_buffers = SENDS;
	profile->bulk_buffers = BULK;
	profile->waiting_requests = WAITERS;
	profile->replay_entries = REPLAYS;
	profile->recv_buffers = 256;
	/* no timeout, because the peer stalls for as long as the test runs */
	profile->send_timeout_ms = 0;
	if (strcmp(pair_driver, "shm") == 0)
		snprintf(profile->driver_options, sizeof(profile->driver_options),
			 "ring_kib=8,rnr_retry=7");
	else
		snprintf(profile->driver_options, sizeof(profile->driver_options),
			 "world=%u,rnr_retry=7", sim_world_id(pair.world));
}

static struct engine_counters server(void)
{
	return pair_stats(pair.server);
}

static void send_call(uint32_t xid, uint32_t proc, uint32_t word)
{
	struct words m = {0};

	words_put(&m, 7, xid, 1, CREDITS, 0, 0, 0, 0);
	words_put_rpc(&m, xid, proc);
	words_put(&m, 1, word);
	raw_send_words(&raw, &m);
}

/*
 * Sends a READ call with a Write chunk of two segments. With every driver, the reply holds a send
 * buffer until its Send completes.
 */
static void send_read(uint32_t xid)
{
	struct words m = {0};

	words_put(&m, 7, xid, 1, CREDITS, 0, 0, 1, 2);
	raw_put_segment(&raw, &m, REPLY / 2, 0);
	raw_put_segment(&raw, &m, REPLY / 2, REPLY);
	words_put(&m, 2, 0, 0);
	words_put_rpc(&m, xid, PAIR_READ);
	words_put(&m, 1, REPLY);
	raw_send_words(&raw, &m);
}

/* Sends a BIG call with a Reply chunk. */
static void send_big(uint32_t xid)
{
	struct words m = {0};

	words_put(&m, 8, xid, 1, CREDITS, 0, 0, 0, 1, 1);
	raw_put_segment(&raw, &m, BIG + 256, 0);
	words_put_rpc(&m, xid, PAIR_BIG);
	words_put(&m, 1, BIG);
	raw_send_words(&raw, &m);
}

/*
 * Sends a LATER call whose data must be read by RDMA Read. The program holds the call until
 * pair_release_later().
 */
static void send_later(uint32_t xid)
{
	struct words m = {0};

	words_put(&m, 6, xid, 1, CREDITS, 0, 1, 48);
	raw_put_segment(&raw, &m, ITEM, 0);
	words_put(&m, 3, 0, 0, 0);
	words_put_rpc(&m, xid, PAIR_LATER);
	words_put(&m, 2, 7, ITEM);
	raw_send_words(&raw, &m);
}

/*
 * Sends a Long Call with 'n' Read chunks. The responder needs a buffer for each chunk before it can
 * decode the program number.
 */
static void send_long(uint32_t xid, uint32_t n)
{
	struct words m = {0};

	words_put(&m, 4, xid, 1, CREDITS, 1);
	for (uint32_t i = 0; i < n; i++) {
		words_put(&m, 2, 1, i == 0 ? 0 : 40 + (i - 1) * (512 + 4));
		raw_put_segment(&raw, &m, 512, 512 * i);
	}
	words_put(&m, 3, 0, 0, 0);
	raw_send_words(&raw, &m);
}

static void one_call(uint32_t proc, uint32_t word)
{
	struct outcome outcome;
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(&outcome, &pair);
	params = pair_params(proc, &outcome);
	params.results_max_bytes = proc == PAIR_BIG ? BIG + 8 : 64;
	params.ulb = NULL;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), word);
	assert_int_equal(weir_call_submit(call), 0);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.reply.accept_stat, WEIR_RPC_SUCCESS);
}

/*
 * Connects the raw peer and makes it stall, and then connects the other peer. The raw peer receives
 * no more messages. It has credits for 'granted' more calls.
 */
static void stall(void)
{
	raw_open(&raw, &pair);
	raw.stops = true;
	nfirst = RAW_RECVS + 1;
	raw_connect(&raw);
	for (int i = 0; i < (int)RAW_RECVS; i++) {
		send_call((uint32_t)i, PAIR_READ, REPLY);
		raw_until(&raw, &raw.nmsgs, i + 1);
	}
	memcpy(&granted, raw.msgs[RAW_RECVS - 1] + 8, sizeof(granted));
	granted = be32toh(granted);
	assert_in_range(granted, 8, CREDITS);
	pair_connect(&pair);
	one_call(PAIR_NULL, 0);
}

static int setup(void **state)
{
	(void)state;
	nbufs = 0;
	pair_start(&pair, few);
	stall();
	return 0;
}

/* Fills the ring over shm, which accepts messages for which no receive is posted. */
static int setup_full(void **state)
{
	setup(state);
	for (uint32_t i = 0; strcmp(pair_driver, "shm") == 0 && i < UNREAD; i++) {
		send_call(i, PAIR_READ, REPLY);
		raw_settle(&raw);
		nfirst++;
	}
	return 0;
}

static const bool all_kept[PAIR_NPROCS] = {[PAIR_LATER] = true, [PAIR_ECHO] = true};

static int setup_replay(void **state)
{
	pair_non_idempotent = all_kept;
	return setup(state);
}

static int teardown(void **state)
{
	(void)state;
	raw_end(&raw);
	pair_non_idempotent = NULL;
	return 0;
}

/* Checks that no message of the stalled peer was lost, and that its connection is open. */
static void expect_stalled(void)
{
	assert_int_equal(pair.server_closed, 0);
	assert_int_equal(server().credits_exceeded, 0);
	assert_int_equal(server().send_timeouts, 0);
}

static uint32_t left(const struct mem_pool *pool)
{
	return pool->count - pool->in_use;
}

/*
 * Checks replies that the peer does not receive, which hold send buffers and request objects. The
 * peer's calls still arrive, as far as its credits and the receives allow.
 */
static void replies__that_are_not_taken_leave_half_of_the_send_buffers(void **state)
{
	uint32_t before = left(pair.server->send_pool);

	(void)state;
	for (uint32_t i = 0; i < granted; i++)
		send_read(100 + i);
	raw_settle(&raw);
	assert_in_range(left(pair.server->send_pool), before / 2, before - 2);
	for (uint32_t i = 0; i < CALLS; i++)
		one_call(PAIR_NULL, 0);
	assert_int_equal(server().send_pool_empty, 0);
	expect_stalled();
}

/* Checks that the waiting calls are answered when the peer receives replies again. */
static void replies__go_on_when_the_peer_does(void **state)
{
	int n = (int)granted + (int)(nfirst - RAW_RECVS - 1);

	(void)state;
	for (uint32_t i = 0; i < granted; i++)
		send_read(100 + i);
	raw_settle(&raw);
	assert_in_range(server().quota_refusals, 1, UINT64_MAX);
	assert_in_range(server().replies_sent, 1, nfirst + granted - 1);
	for (int i = 0; i < n; i++) {
		raw_take_one(&raw);
		raw_until(&raw, &raw.nmsgs, 1);
	}
	raw_settle(&raw);
	assert_int_equal(server().replies_sent, nfirst + granted);
	assert_int_equal(pair.server->npending, 0);
	expect_stalled();
}

/* Checks long replies that the peer does not receive, which hold bulk buffers. */
static void bulk__of_replies_that_are_not_taken(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < granted; i++)
		send_big(100 + i);
	raw_settle(&raw);
	assert_in_range(left(pair.server->bulk_pool), BULK / 2, BULK - 2);
	for (uint32_t i = 0; i < CALLS; i++)
		one_call(PAIR_BIG, BIG);
	assert_int_equal(server().bulk_pool_empty, 0);
	expect_stalled();
}

/* Checks calls that the program does not answer, whose data hold bulk buffers. */
static void bulk__of_calls_that_the_program_keeps(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < granted; i++)
		send_later(100 + i);
	raw_settle(&raw);
	assert_in_range(pair.nlater, 2, BULK / 2);
	assert_int_equal(left(pair.server->bulk_pool), BULK - pair.nlater);
	for (uint32_t i = 0; i < CALLS; i++)
		one_call(PAIR_BIG, BIG);
	/* When the held calls have ended, the waiting calls are served in turn. */
	for (uint32_t handled = 0; handled < granted;) {
		handled += pair.nlater;
		pair_release_later(&pair);
		raw_settle(&raw);
		if (pair.nlater == 0)
			/* the peer does not receive the replies, which have a quota of their own */
			break;
	}
	expect_stalled();
}

/*
 * Checks a request that needs more buffers than the peer could get even if no other peer had any.
 * Such a request does not make other peers wait.
 */
static void bulk__that_the_peer_itself_holds_keeps_nobody_waiting(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < BULK * 2 / 5; i++) /* the quota of a connection */
		send_later(100 + i);
	raw_settle(&raw);
	assert_int_equal(left(pair.server->bulk_pool), BULK - BULK * 2 / 5);
	send_long(200, BULK - BULK * 2 / 5 + 1);
	raw_settle(&raw);
	assert_int_equal(pair.server->nwaiting, 1);
	assert_int_equal(pair.server->nblocking, 0);
	for (uint32_t i = 0; i < CALLS; i++)
		one_call(PAIR_BIG, BIG);
	pair_release_later(&pair);
	raw_settle(&raw);
	expect_stalled();
}

static void take_bulk(void)
{
	while ((bufs[nbufs] = mem_pool_get(pair.server->bulk_pool)))
		nbufs++;
}

static void put_bulk(void)
{
	while (nbufs > 0)
		mem_pool_put(bufs[--nbufs]);
}

/*
 * Checks two peers, of which the first holds buffers and the second needs more buffers than are
 * free. Calls of a third peer continue.
 */
static void bulk__that_two_peers_withhold_leaves_time_to_others(void **state)
{
	(void)state;
	take_bulk();
	for (uint32_t i = 0; i < 2; i++)
		mem_pool_put(bufs[--nbufs]);
	send_long(200, 3);
	raw_settle(&raw);
	assert_int_equal(pair.server->nblockers, 1);
	for (uint32_t i = 0; i < CALLS; i++)
		one_call(PAIR_BIG, BIG);
	assert_int_equal(pair.server->nwaiting, 1);
	put_bulk();
	raw_settle(&raw);
	assert_int_equal(pair.server->nwaiting, 0);
	expect_stalled();
}

/*
 * Checks the entries for waiting requests: one connection does not use all of them, so that
 * requests of the other connection can wait as well.
 */
static void waiters__of_one_connection_leave_places_for_others(void **state)
{
	struct outcome outcomes[2];

	(void)state;
	take_bulk();
	for (uint32_t i = 0; i < WAITERS; i++)
		send_big(100 + i);
	raw_settle(&raw);
	assert_in_range(pair.server->nwaiting, 2, WAITERS / 2);
	assert_in_range(server().waits_rejected, 1, WAITERS);
	for (uint32_t i = 0; i < 2; i++) {
		struct weir_call_params params;
		struct weir_call *call;

		outcome_init(&outcomes[i], &pair);
		params = pair_params(PAIR_BIG, &outcomes[i]);
		params.results_max_bytes = BIG + 8;
		call = weir_call_begin(pair.conn, &params);
		assert_non_null(call);
		weir_xdr_put_u32(weir_call_args(call), BIG);
		assert_int_equal(weir_call_submit(call), 0);
	}
	raw_settle(&raw);
	put_bulk();
	for (uint32_t i = 0; i < 2; i++)
		raw_until(&raw, &outcomes[i].done, 1);
	assert_int_equal(outcomes[0].reply.accept_stat, WEIR_RPC_SUCCESS);
	expect_stalled();
}

/* Checks calls that the program holds, which occupy entries of the duplicate request cache. */
static void replays__that_are_carried_out_leave_entries_for_others(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < granted; i++)
		send_call(100 + i, PAIR_LATER, 7);
	raw_settle(&raw);
	assert_in_range(pair.nlater, 2, REPLAYS / 2);
	for (uint32_t i = 0; i < CALLS; i++)
		one_call(PAIR_ECHO, 0);
	pair_release_later(&pair);
	raw_settle(&raw);
	expect_stalled();
}

/*
 * Checks engine_quota_allows(): however much one peer took, another peer gets half of what it would
 * get alone.
 */
static void rule__leaves_half_to_others(void **state)
{
	(void)state;
	for (uint64_t count = 4; count <= 4096; count += count < 64 ? 1 : 61) {
		uint64_t one = 0, alone, peer = 0, conns[64] = {0}, other = 0;

		while (engine_quota_allows(one, one, count - one, 1))
			one++;
		alone = one;
		assert_in_range(alone, 1, count * 2 / 5 + 1);
		/* The first peer takes as much as it can with 64 connections. */
		for (bool more = true; more;) {
			more = false;
			for (uint32_t i = 0; i < 64; i++)
				while (engine_quota_allows(conns[i], peer, count - peer, 1)) {
					conns[i]++;
					peer++;
					more = true;
				}
		}
		assert_in_range(peer, count / 2, count / 2 + 1);
		while (engine_quota_allows(other, other, count - peer - other, 1))
			other++;
		assert_in_range(2 * (other + 1), alone, UINT64_MAX);
		assert_in_range(other, 1, UINT64_MAX);
	}
	/*
	 * A peer that holds nothing can get more than a quota, and also the last element, but must
	 * leave some elements to other peers.
	 */
	assert_true(engine_quota_allows(0, 0, 9, 6));
	assert_false(engine_quota_allows(0, 0, 9, 7));
	assert_true(engine_quota_allows(0, 0, 1, 1));
	assert_false(engine_quota_allows(0, 0, 0, 1));
	assert_false(engine_quota_allows(0, 0, 8, 9));
	assert_false(engine_quota_allows(0, 1, 7, 7));
}

/*
 * Checks that one element is left for another peer after each of many peers got one large request
 * and stalled.
 */
static void rule__large_requests_of_many_peers_leave_one(void **state)
{
	(void)state;
	for (uint64_t count = 2; count <= 64; count++) {
		uint64_t free = count;

		for (uint64_t need = count; need > 1;) {
			if (engine_quota_allows(0, 0, free, need))
				free -= need;
			else
				need--;
		}
		assert_in_range(free, 1, count);
	}
}

static int run(void)
{
#define T(name)	  cmocka_unit_test_setup_teardown(name, setup, teardown)
#define T_F(name) cmocka_unit_test_setup_teardown(name, setup_full, teardown)
#define T_R(name) cmocka_unit_test_setup_teardown(name, setup_replay, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rule__leaves_half_to_others),
		cmocka_unit_test(rule__large_requests_of_many_peers_leave_one),
		T_F(replies__that_are_not_taken_leave_half_of_the_send_buffers),
		T_F(replies__go_on_when_the_peer_does),
		T_F(bulk__of_replies_that_are_not_taken),
		T(bulk__of_calls_that_the_program_keeps),
		T(bulk__that_the_peer_itself_holds_keeps_nobody_waiting),
		T(bulk__that_two_peers_withhold_leaves_time_to_others),
		T(waiters__of_one_connection_leave_places_for_others),
		T_R(replays__that_are_carried_out_leave_entries_for_others),
	};

	return cmocka_run_group_tests_name("stall", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	pair_buffers = PAIR_BUFFERS_MORE;
	return pair_main(argc, argv, run);
}
