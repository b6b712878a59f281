/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a connection that ends while its peer carries out an RDMA Write to its memory. The calls
 * keep that memory until the Write has ended, and meanwhile the engine serves other connections.
 * The tests run over shm, where the peer's CPU copies the data. A test sets the words of shared
 * memory in which the peer's driver reports that a copy is in progress.
 */
#include "pair_main.h"

#include <errno.h>
#include <time.h>

#include "conn.h"
#include "shm_qp.h"

#define POLLS 200u
#define KEY   0x12345678u
#define CONNS 5

static struct pair pair;

static void set_busy(const struct fabric_qp *qp, uint32_t key)
{
	atomic_store(&ring_shared_of(&((const struct shm_qp *)qp)->tx.cells)->busy, key);
}

static void conn_close__waits_for_a_write_under_way(void **state)
{
	struct outcome pending, other;
	struct weir_call_params params;
	struct weir_call *call;
	struct ring_shared *peer;
	struct weir_conn *old;

	(void)state;
	pair_start(&pair, NULL);
	pair_connect(&pair);
	outcome_init(&pending, &pair);
	params = pair_params(PAIR_LATER, &pending);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	assert_int_equal(weir_xdr_put_u32(weir_call_args(call), 1), 0);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until_later(&pair, 1);

	old = pair.conn;
	set_busy(old->qp, KEY);
	peer = ring_shared_of(&((struct shm_qp *)old->qp)->tx.cells);
	weir_conn_close(old);
	for (uint32_t i = 0; i < POLLS; i++)
		pair_poll(&pair);
	assert_int_equal(pending.done, 0);
	assert_int_equal(pair.closed, 0);
	assert_true(old->ep.is_reaping && old->qp);

	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &other);
	assert_int_equal(other.status, 0);
	assert_int_equal(pending.done, 0);

	atomic_store(&peer->busy, 0);
	pair_until(&pair, &pending.done, 1);
	assert_int_equal(pending.status, -ECONNABORTED);
	pair_until(&pair, &pair.closed, 1);
	pair_release_later(&pair);
	pair_stop(&pair);
}

/* Checks that the destruction of an engine also waits for the Write, but not for ever. */
static void engine_destroy__waits_for_a_write_under_way(void **state)
{
	struct engine_counters stats = {0};

	(void)state;
	pair_start(&pair, NULL);
	pair_connect(&pair);
	set_busy(pair.conn->qp, KEY);
	weir_conn_close(pair.conn);
	pair_poll(&pair);
	assert_int_equal(pair.closed, 0);
	test_counters(pair.client, &stats);
	assert_int_equal(stats.protocol_errors, 0);
	pair_stop(&pair);
	assert_int_equal(pair.closed, 1);
}

static uint64_t real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void few_credits(struct weir_profile *profile)
{
	profile->credits = 2;
}

/*
 * Checks that the destruction of an engine waits for all connections at the same time. If it waited
 * for one after the other, a peer with many connections would delay it for minutes.
 */
static void engine_destroy__waits_for_all_connections_together(void **state)
{
	uint64_t start_ns;

	(void)state;
	pair_start(&pair, few_credits);
	for (int i = 0; i < CONNS; i++) {
		pair_connect(&pair);
		set_busy(pair.conn->qp, KEY);
	}
	start_ns = real_ns();
	pair_stop(&pair);
	assert_int_equal(pair.closed, CONNS);
	assert_in_range(real_ns() - start_ns, 0, CONNS * 1000000000ull);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conn_close__waits_for_a_write_under_way),
		cmocka_unit_test(engine_destroy__waits_for_a_write_under_way),
		cmocka_unit_test(engine_destroy__waits_for_all_connections_together),
	};

	return cmocka_run_group_tests_name("quiet", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
