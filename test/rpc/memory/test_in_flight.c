/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a connection that ends while work requests are in flight. A device can access the memory
 * of these work requests until the queue pair is destroyed, which can take several polls. Until
 * then, the buffers do not return to their pools, and the program is not called back about its
 * memory.
 */
#include "pair_main.h"

#include <errno.h>
#include <string.h>

#include "raw.h"
#include "request.h"
#include "sim.h"

#define BUFS_MAX    256u
#define TIMEOUT_MS  100u
#define QUIET_LOOKS 3u /* number of checks that find that the peer still accesses memory */
#define SEGMENTS    20u
#define SEG_BYTES   8u
#define ITEM	    (SEGMENTS * SEG_BYTES)
#define BIG	    300u
#define TICK_NS	    (2u * ENGINE_TICK_NS)
#define HOUR_NS	    3600000000000ull

static struct pair pair;
static struct raw raw;
static struct mem_buf *bufs[BUFS_MAX], *spare;
static uint32_t nbufs;

/* Values that the test records when the watched engine destroys a queue pair. */
static struct fabric_ops watched_ops;
static void (*destroy)(struct fabric_qp *qp);
static const struct weir_engine *watched;
static uint32_t looks, used_at_destroy;
static int freed, freed_at_destroy, destroyed;

/* Returns the number of buffers in use in all pools except the pool of receives. */
static uint32_t used(const struct weir_engine *engine)
{
	return engine->send_pool->in_use + engine->long_pool->in_use + engine->bulk_pool->in_use +
	       engine->reserve_pool->in_use;
}

static void watch_destroy(struct fabric_qp *qp)
{
	destroyed++;
	used_at_destroy = used(watched);
	freed_at_destroy = freed;
	destroy(qp);
}

static bool watch_writes_have_ended(struct fabric_qp *qp)
{
	(void)qp;
	return looks++ >= QUIET_LOOKS;
}

static void watch(struct weir_conn *conn)
{
	watched_ops = *conn->ops;
	destroy = watched_ops.qp_destroy;
	watched_ops.qp_destroy = watch_destroy;
	watched_ops.writes_have_ended = watch_writes_have_ended;
	conn->ops = &watched_ops;
	watched = conn->ep.engine;
	looks = used_at_destroy = 0;
	freed = freed_at_destroy = destroyed = 0;
}

/*
 * Polls the watched engine until it destroys the queue pair. The simulated device does nothing
 * meanwhile.
 */
static void end_with_device_held(struct weir_engine *engine)
{
	uint32_t before = used(engine);

	for (uint32_t i = 0; destroyed == 0 && i < 10 * QUIET_LOOKS; i++) {
		pair.now_ns += TICK_NS;
		weir_engine_poll(engine, 0, pair.now_ns);
	}
	assert_int_equal(destroyed, 1);
	assert_true(looks > QUIET_LOOKS);
	assert_int_equal(used_at_destroy, before);
	assert_int_equal(freed_at_destroy, 0);
	sim_run_until(pair.world, pair.now_ns);
}

static void hasty(struct weir_profile *profile)
{
	profile->send_timeout_ms = TIMEOUT_MS;
}

static int setup(void **state)
{
	(void)state;
	nbufs = 0;
	pair_start(&pair, NULL);
	pair_connect(&pair);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static int start_raw(void (*change)(struct weir_profile *profile))
{
	nbufs = 0;
	pair_start(&pair, change);
	raw_open(&raw, &pair);
	raw_connect(&raw);
	return 0;
}

static int setup_raw(void **state)
{
	(void)state;
	return start_raw(NULL);
}

static int setup_raw_hasty(void **state)
{
	(void)state;
	return start_raw(hasty);
}

static int teardown_raw(void **state)
{
	(void)state;
	raw_end(&raw);
	return 0;
}

/* ---- requests of a responder ---- */

/* Takes buffers until one send buffer is free, and none of the reserve. */
static void leave_one_buffer(void)
{
	struct mem_pool *pool = pair.server->send_pool;

	while (nbufs < BUFS_MAX && (bufs[nbufs] = mem_pool_get(pool)))
		nbufs++;
	assert_in_range(nbufs, 1, BUFS_MAX - 1);
	mem_pool_put(bufs[--nbufs]);
	spare = mem_pool_get(pair.server->reserve_pool);
	assert_non_null(spare);
}

static void give_back(void)
{
	while (nbufs > 0)
		mem_pool_put(bufs[--nbufs]);
	mem_pool_put(spare);
}

/* Sends a message without advancing time. */
static void post_words(const struct words *words)
{
	struct fabric_sge sge = {raw.base + RAW_SEND_AT, words->n * 4, raw.mr.lkey};
	const struct fabric_wr wr = {
		.op = FABRIC_SEND, .flags = FABRIC_SIGNALED, .sge = &sge, .nsge = 1};

	memcpy(sge.addr, words->w, words->n * 4);
	assert_int_equal(raw.ops->post_send(raw.qp, &wr, 1), 1);
}

/*
 * Sends a MULTI call. Its first result has a Write chunk of many segments, and its second result is
 * inline.
 */
static void send_multi(void)
{
	struct words m = {0};

	words_put(&m, 7, 1, 1, 1, 0, 0, 1, SEGMENTS);
	for (uint32_t i = 0; i < SEGMENTS; i++)
		raw_put_segment(&raw, &m, SEG_BYTES, i * SEG_BYTES);
	words_put(&m, 2, 0, 0);
	words_put_rpc(&m, 1, PAIR_MULTI);
	words_put(&m, 2, 1, ITEM);
	m.n += ITEM / 4;
	words_put(&m, 4, 2, 4, 0, 3);
	post_words(&m);
}

static struct weir_request *until_request(enum request_state state)
{
	struct responder *responder = responder_of(pair.server_conn);
	struct weir_request *req = NULL;

	for (uint32_t i = 0; !req && pair_wait(&pair, i); i++) {
		raw_poll(&raw);
		req = LIST_FIRST(&responder->outstanding);
		if (req && req->state != state)
			req = NULL;
	}
	assert_non_null(req);
	return req;
}

/*
 * Overwrites the memory of a reply, as a program can do when it is called back that the reply was
 * sent.
 */
static void on_sent(void *arg)
{
	(void)arg;
	freed++;
	memset(pair.server_mem, 0xee, pair.mem_bytes);
}

/*
 * Makes a reply that has posted its Writes and waits for a buffer into which its Send is gathered.
 */
static void wait_after_writes(void)
{
	struct weir_request *req;

	pair.server_conn->max_sge = 1;
	watch(pair.server_conn);
	leave_one_buffer();
	send_multi();
	req = until_request(REQUEST_REPLYING);
	assert_int_equal(req->xfers_done, REQUEST_XFERS_MAX);
	assert_true(req->buf_waiter.is_waiting);
	assert_true(pair.server_conn->sq_posted > pair.server_conn->sq_retired);
	weir_request_on_sent(req, on_sent, NULL);
}

/* Checks that the request freed all that it held when its connection had ended. */
static void expect_returned(void)
{
	assert_int_equal(freed, 1);
	assert_int_equal(pair.server_closed, 1);
	assert_int_equal(pair.server->npending, 0);
	assert_true(TAILQ_EMPTY(&pair.server->reserve_queues));
	give_back();
	assert_int_equal(used(pair.server), 1); /* the buffer of zeros that the engine holds */
}

static void writes_ahead__of_a_reply_that_waits(void **state)
{
	(void)state;
	wait_after_writes();
	weir_conn_close(pair.server_conn);
	end_with_device_held(pair.server);
	expect_returned();
}

/* Checks a waiting reply for which a buffer becomes free after the connection has failed. */
static void writes_ahead__of_a_reply_whose_wait_ends_late(void **state)
{
	(void)state;
	wait_after_writes();
	weir_conn_close(pair.server_conn);
	mem_pool_put(bufs[--nbufs]);
	end_with_device_held(pair.server);
	expect_returned();
}

static void writes_ahead__of_a_reply_that_waits_too_long(void **state)
{
	(void)state;
	wait_after_writes();
	pair.now_ns += TIMEOUT_MS * 1000000ull;
	end_with_device_held(pair.server);
	assert_int_equal(pair.server_close_error, -ENOBUFS);
	expect_returned();
}

static void send__of_a_reply(void **state)
{
	struct weir_request *req;
	struct words m = {0};

	(void)state;
	watch(pair.server_conn);
	words_put(&m, 7, 1, 1, 1, 0, 0, 0, 0);
	words_put_rpc(&m, 1, PAIR_BIG);
	words_put(&m, 1, BIG);
	post_words(&m);
	req = until_request(REQUEST_SENT);
	assert_non_null(req->reply);
	weir_request_on_sent(req, on_sent, NULL);
	weir_conn_close(pair.server_conn);
	end_with_device_held(pair.server);
	assert_int_equal(freed, 1);
	assert_int_equal(used(pair.server), 1);
}

/* Checks a call whose RDMA Reads are in flight. */
static void reads__of_a_call(void **state)
{
	struct weir_request *req;
	struct words m = {0};

	(void)state;
	watch(pair.server_conn);
	words_put(&m, 4, 1, 1, 1, 0);
	for (uint32_t i = 0; i < SEGMENTS; i++) {
		words_put(&m, 2, 1, 48);
		raw_put_segment(&raw, &m, SEG_BYTES, i * SEG_BYTES);
	}
	words_put(&m, 3, 0, 0, 0);
	words_put_rpc(&m, 1, PAIR_WRITE);
	words_put(&m, 3, 5, ITEM, 6);
	post_words(&m);
	req = until_request(REQUEST_PULL_ITEMS);
	assert_true(req->has_posted);
	assert_non_null(req->chunk_bufs[0]);
	weir_conn_close(pair.server_conn);
	end_with_device_held(pair.server);
	assert_int_equal(pair.handled, 0);
	assert_int_equal(used(pair.server), 1);
}

/* ---- calls of a requester ---- */

static void on_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	(void)call;
	(void)arg;
	freed++;
	assert_int_not_equal(result->status, 0);
	memset(pair.client_mem, 0xee, pair.mem_bytes);
}

/*
 * Submits a LATER call with 'len' bytes of the program's memory. The server's program holds the
 * call.
 */
static struct weir_call *submit_item(uint32_t len, uint64_t timeout_ns)
{
	struct outcome unused;
	struct weir_call_params params = pair_params(PAIR_LATER, &unused);
	struct weir_call *call;

	params.done = on_done;
	params.timeout_ns = timeout_ns;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), 1);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, len), 0);
	assert_int_equal(weir_call_submit(call), 0);
	weir_engine_poll(pair.client, 0, pair.now_ns + 1);
	return call;
}

static void expect_calls_ended(void)
{
	assert_int_equal(freed, 1);
	assert_int_equal(used(pair.client), 1);
	assert_int_equal(sim_windows_bound(pair.client->dev), 0);
}

static void send__of_a_call_whose_connection_closes(void **state)
{
	(void)state;
	watch(pair.conn);
	submit_item(BIG, HOUR_NS);
	weir_conn_close(pair.conn);
	end_with_device_held(pair.client);
	expect_calls_ended();
}

static void send__of_a_call_that_is_cancelled(void **state)
{
	(void)state;
	watch(pair.conn);
	assert_int_equal(weir_call_cancel(submit_item(BIG, HOUR_NS)), 0);
	end_with_device_held(pair.client);
	expect_calls_ended();
}

static void keys__of_a_call_whose_connection_closes(void **state)
{
	(void)state;
	watch(pair.conn);
	submit_item(1u << 16, HOUR_NS);
	pair_until_later(&pair, 1);
	weir_conn_close(pair.conn);
	end_with_device_held(pair.client);
	expect_calls_ended();
}

/*
 * Checks a call whose keys cannot be invalidated, because the invalidation does not complete. The
 * end of the connection invalidates the keys.
 */
static void keys__of_a_call_whose_keys_do_not_end(void **state)
{
	(void)state;
	watch(pair.conn);
	submit_item(1u << 16, 1000000);
	for (uint32_t i = 0; pair.conn->state < CONN_LOST && i < 1000; i++) {
		pair.now_ns += TICK_NS;
		weir_engine_poll(pair.client, 0, pair.now_ns);
		assert_int_equal(freed, 0);
	}
	end_with_device_held(pair.client);
	expect_calls_ended();
}

static int run(void)
{
#define T(name)	      cmocka_unit_test_setup_teardown(name, setup, teardown)
#define T_RAW(name)   cmocka_unit_test_setup_teardown(name, setup_raw, teardown_raw)
#define T_HASTY(name) cmocka_unit_test_setup_teardown(name, setup_raw_hasty, teardown_raw)
	const struct CMUnitTest tests[] = {
		T_RAW(writes_ahead__of_a_reply_that_waits),
		T_RAW(writes_ahead__of_a_reply_whose_wait_ends_late),
		T_HASTY(writes_ahead__of_a_reply_that_waits_too_long),
		T_RAW(send__of_a_reply),
		T_RAW(reads__of_a_call),
		T(send__of_a_call_whose_connection_closes),
		T(send__of_a_call_that_is_cancelled),
		T(keys__of_a_call_whose_connection_closes),
		T(keys__of_a_call_whose_keys_do_not_end),
	};

	return cmocka_run_group_tests_name("in_flight", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
