/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of connections that share receives. When one of them ends, the engine looks only at
 * requests and receives of that connection.
 */
#include "pair_main.h"

#include <stdint.h>
#include <sys/mman.h>

#include "responder.h"
#include "shared_recv.h"

#define OF_LOST 3u
#define CALLS	(OF_LOST + 2u)

static struct pair pair;
static struct outcome outcomes[CALLS];
static struct weir_conn *lost;

static void share(struct weir_profile *profile)
{
	profile->shared_receives = WEIR_SHARED_RECEIVES_ON;
	profile->connections = 16;
}

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, share);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static void submit_to(struct weir_conn *conn, uint32_t proc, uint32_t i)
{
	pair_submit(&pair, conn, proc, i, &outcomes[i]);
}

/* Checks that request objects of other connections are not looked at, however many there are. */
static void lost__looks_at_its_own_requests(void **state)
{
	struct request_pool *pool;
	uintptr_t unused;

	(void)state;
	pair_connect(&pair);
	submit_to(pair.conn, PAIR_LATER, 0);
	pair_until_later(&pair, 1);
	pool = pair.server->requests;
	unused = ((uintptr_t)&pool->requests[pool->nused] + 4095) & ~(uintptr_t)4095;
	pool->nused = pool->nrequests;
	assert_int_equal(mprotect((void *)unused, (uintptr_t)&pool->requests[pool->nused] - unused,
				  PROT_NONE),
			 0);
	weir_conn_close(pair.conn);
	pair_until(&pair, &pair.server_closed, 1);
	pair_release_later(&pair);
	assert_null(pair.server->requests); /* the last connection has ended */
}

static uint32_t count_held(const struct engine_srq *srq)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < srq->nbufs; i++)
		n += engine_srq_is_held(srq->bufs[i]);
	return n;
}

/* Connects 'lost', the connection that a test later ends. The two sides open in different polls. */
static void connect_lost(void)
{
	const struct weir_connect_options options = {.struct_bytes = sizeof(options)};

	assert_int_equal(weir_connect(pair.client, pair.addr, &options, &lost), 0);
	pair_until(&pair, &pair.server_opened, 2);
	for (uint32_t i = 0; !weir_conn_is_open(lost) && pair_wait(&pair, i); i++)
		pair_poll(&pair);
	assert_true(weir_conn_is_open(lost));
}

/* Makes a call, whose reply grants more than one credit. */
static void warm_up(struct weir_conn *conn)
{
	submit_to(conn, PAIR_NULL, 0);
	pair_until(&pair, &outcomes[0].done, 1);
}

/* Checks that receives of other connections, and receives of no connection, are not looked at. */
static void lost__looks_at_its_own_receives(void **state)
{
	struct engine_srq *srq;
	struct mem_buf **all;

	(void)state;
	pair_connect(&pair);
	connect_lost();
	warm_up(pair.conn);
	warm_up(lost);
	for (uint32_t i = 0; i < CALLS; i++)
		submit_to(i < OF_LOST ? lost : pair.conn, PAIR_LATER, i);
	pair_until_later(&pair, CALLS);
	srq = pair.server->srq;
	all = srq->bufs;
	assert_int_equal(count_held(srq), CALLS);
	srq->bufs = NULL; /* code that reads the entries of this array would crash */
	weir_conn_close(lost);
	pair_until(&pair, &pair.server_closed, 1);
	srq->bufs = all;
	assert_int_equal(count_held(srq), CALLS); /* the program holds their messages */
	pair_release_later(&pair);
	for (uint32_t i = OF_LOST; i < CALLS; i++)
		pair_until(&pair, &outcomes[i].done, 1);
	pair_settle(&pair);
	assert_int_equal(count_held(srq), 0);
}

/*
 * Checks that a reply to a connection that has ended leaves no state in the request object. The
 * object is then used for a request of another connection.
 */
static void lost__error_is_not_the_next_requests(void **state)
{
	(void)state;
	pair_connect(&pair);
	connect_lost();
	warm_up(pair.conn);
	submit_to(lost, PAIR_LATER, 0);
	pair_until_later(&pair, 1);
	weir_conn_close(lost);
	pair_until(&pair, &pair.server_closed, 1);
	weir_request_reply_error(pair.later[0], WEIR_RPC_SYSTEM_ERR);
	assert_int_equal(pair.later[0]->state, REQUEST_FREE);
	assert_int_equal(pair.later[0]->error_bytes, 0);
	pair.nlater = 0;
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lost__looks_at_its_own_requests, setup, teardown),
		cmocka_unit_test_setup_teardown(lost__looks_at_its_own_receives, setup, teardown),
		cmocka_unit_test_setup_teardown(lost__error_is_not_the_next_requests, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("shared, lost", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
