/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests from end to end that calls and replies are continued over several messages (rtrext-01
 * section 4), and when they are not continued.
 */
#include "pair_main.h"

#include <errno.h>
#include <string.h>

#include "engine.h"
#include "compound.h"
#include "continuation.h"
#include "requester.h"
#include "shared_recv.h"
#include "sim.h"

#define CALLS 32

static struct pair pair;
static struct outcome outcomes[CALLS];

static void eight(struct weir_profile *profile)
{
	profile->protocol = WEIR_PROTOCOL_V2;
	profile->extension = WEIR_EXTENSION_CONTINUATION;
	profile->recv_buffers = 128;
	profile->transmissions = 8;
	profile->long_buffers = profile->bulk_buffers = 3 * CALLS;
	profile->long_buffer_bytes = profile->bulk_buffer_bytes = 1u << 16;
}

static int setup(void **state)
{
	(void)state;
	pair_server_protocol = WEIR_PROTOCOL_V2;
	pair_start(&pair, eight);
	pair_connect(&pair);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static struct engine_counters client(void)
{
	return pair_stats(pair.client);
}

static struct engine_counters server(void)
{
	return pair_stats(pair.server);
}

static void check_echo(struct outcome *outcome, struct weir_call *call,
		       const struct weir_result *result)
{
	const void *data;
	uint32_t len;

	assert_int_equal(result->status, 0);
	assert_int_equal(weir_result_opaque(call, result, 0, &data, 1u << 20, &len), 0);
	assert_int_equal(len, outcome->bytes);
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(((const uint8_t *)data)[i], pair_byte(i));
}

/*
 * Makes an ECHO call with 'bytes' bytes of data. If 'by_reference' is set, the data are an argument
 * item. Otherwise they are encoded into the message. Returns the result of weir_call_submit().
 */
static int echo(uint32_t bytes, bool by_reference, struct outcome *outcome)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(outcome, &pair);
	outcome->bytes = bytes;
	outcome->check = check_echo;
	params = pair_params(PAIR_ECHO, outcome);
	params.args_max_bytes = by_reference ? 8 : bytes + 8;
	params.results_max_bytes = bytes + 8;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	if (by_reference) {
		memcpy(pair.client_mem, pair.server_mem, bytes);
		assert_int_equal(
			weir_call_arg_item(call, pair.client_region, pair.client_mem, bytes), 0);
	} else {
		weir_xdr_put_opaque(weir_call_args(call), pair.server_mem, bytes);
	}
	return weir_call_submit(call);
}

static void continue__4_2_each_size_without_explicit_rdma(void **state)
{
	/*
	 * The transport header, the RPC header and the count word take part of the first
	 * transmission. It has space for 4004 bytes of data in a call and for 4028 bytes in a
	 * reply. Each further transmission has space for 4056 bytes.
	 */
	static const uint32_t around[] = {4004, 4028, 4004 + 4056, 4028 + 4056, 4004 + 2 * 4056,
					  20000};

	(void)state;
	for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
		for (uint32_t bytes = around[i] - 6; bytes <= around[i] + 6; bytes++) {
			assert_int_equal(echo(bytes, bytes % 2, &outcomes[0]), 0);
			pair_until(&pair, &outcomes[0].done, 1);
		}
	}
	assert_true(client().continued_calls > 40);
	assert_true(server().continued_replies > 40);
	assert_int_equal(server().groups_received, client().continued_calls);
	assert_int_equal(client().groups_received, server().continued_replies);
	assert_int_equal(
		client().long_calls + client().long_replies + server().reads + server().writes, 0);
	pair_expect_idle(&pair);
}

/*
 * Checks that results for which the caller gave no memory arrive inside the reply, in whatever way
 * the reply is sent.
 */
static void reply__results_without_memory_are_reserved_for(void **state)
{
	struct weir_call_params params;
	struct weir_call *call;

	(void)state;
	for (uint32_t bytes = 3900; bytes < 20000; bytes += 4000) {
		outcome_init(&outcomes[0], &pair);
		outcomes[0].bytes = bytes;
		outcomes[0].check = check_echo;
		params = pair_params(PAIR_READ, &outcomes[0]);
		params.results_max_bytes = 4;
		call = weir_call_begin(pair.conn, &params);
		weir_xdr_put_u32(weir_call_args(call), bytes);
		assert_int_equal(weir_call_result_item(call, NULL, NULL, bytes), 0);
		assert_int_equal(weir_call_submit(call), 0);
		pair_until(&pair, &outcomes[0].done, 1);
		assert_int_equal(outcomes[0].status, 0);
	}
	assert_int_equal(server().continued_replies, 4);
	assert_int_equal(client().long_replies, 0);
	pair_expect_idle(&pair);
}

static void limits__longer_ones_go_by_explicit_rdma(void **state)
{
	(void)state;
	assert_int_equal(echo(30000, false, &outcomes[0]), 0);
	pair_until(&pair, &outcomes[0].done, 1);
	assert_int_equal(client().fallbacks_limits, 0);
	assert_int_equal(client().continued_calls, 1);
	assert_int_equal(echo(40000, false, &outcomes[0]), 0);
	pair_until(&pair, &outcomes[0].done, 1);
	assert_int_equal(client().fallbacks_limits, 1);
	assert_int_equal(client().long_calls, 1);
	assert_int_equal(client().long_replies, 1);
	pair_expect_idle(&pair);
}

/*
 * Checks that a call uses chunks (explicit RDMA) when they cost less than continuation. To send
 * 12,288 bytes each way by continuation takes 4 transmissions, which are 3 additional messages each
 * way, and 12 copies of 1024 bytes. With chunks it takes 6 operations and a round trip.
 */
static void costs__what_chunks_do_for_less_goes_by_explicit_rdma(void **state)
{
	struct weir_profile *costs = &pair.client->profile;
	/* copies of whole blocks of 1024 bytes, for the count word and the data */
	const uint32_t copies = 12;

	(void)state;
	costs->operation_ns = 100;
	costs->round_trip_ns = 1000;
	costs->message_ns = 200;
	costs->copy_ns = (6 * 100 + 1000 - 6 * 200) / (2 * copies);
	assert_int_equal(echo(12288, false, &outcomes[0]), 0);
	pair_until(&pair, &outcomes[0].done, 1);
	assert_int_equal(client().continued_calls, 1);
	assert_int_equal(client().fallbacks_costs, 0);
	costs->copy_ns++;
	assert_int_equal(echo(12288, false, &outcomes[0]), 0);
	pair_until(&pair, &outcomes[0].done, 1);
	assert_int_equal(client().continued_calls, 1);
	assert_int_equal(client().fallbacks_costs, 1);
	assert_int_equal(client().long_calls, 1);
	assert_int_equal(client().long_replies, 1);
	pair_expect_idle(&pair);
}

static void credits__4_3_calls_without_enough_of_them_do_not_wait(void **state)
{
	(void)state;
	/* Each of these calls uses 5 of the 16 credits. */
	for (int i = 0; i < 8; i++)
		assert_int_equal(echo(16384, false, &outcomes[i]), 0);
	for (int i = 0; i < 8; i++)
		pair_until(&pair, &outcomes[i].done, 1);
	assert_int_equal(client().continued_calls, 3);
	assert_true(client().fallbacks_credits > 0);
	assert_int_equal(client().long_calls, 5);
	assert_int_equal(client().fallbacks_credits + client().fallbacks_buffers, 5);
	pair_expect_idle(&pair);
}

static void credits__calls_in_the_queue_find_their_way(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < CALLS; i++) {
			uint32_t bytes = i % 3 == 0 ? 10 : 5000u + (uint32_t)i * 300;

			assert_int_equal(echo(bytes, false, &outcomes[i]), 0);
		}
		for (int i = 0; i < CALLS; i++)
			pair_until(&pair, &outcomes[i].done, 1);
	}
	assert_true(client().continued_calls > 0);
	assert_true(client().calls_queued > 0);
	pair_expect_idle(&pair);
}

static void buffers__receives_are_reserved_for_replies(void **state)
{
	struct weir_call_params params;

	(void)state;
	/* Each of these calls reserves 5 of the 16 credits. */
	for (int i = 0; i < 5; i++) {
		struct weir_call *call;

		outcome_init(&outcomes[i], &pair);
		params = pair_params(PAIR_LATER, &outcomes[i]);
		params.results_max_bytes = 20000;
		call = weir_call_begin(pair.conn, &params);
		weir_xdr_put_u32(weir_call_args(call), 7);
		assert_int_equal(weir_call_submit(call), 0);
		assert_true(requester_of(pair.conn)->reply_reserved <= 16);
	}
	assert_int_equal(client().extended_calls, 3);
	assert_int_equal(client().fallbacks_buffers, 2);
	pair_settle(&pair);
	pair_release_later(&pair);
	for (int i = 0; i < 5; i++) {
		pair_until(&pair, &outcomes[i].done, 1);
		assert_int_equal(outcomes[i].words[0], 8);
	}
	pair_expect_idle(&pair);
}

static void share_eight(struct weir_profile *profile)
{
	eight(profile);
	profile->shared_receives = WEIR_SHARED_RECEIVES_ON;
}

static void submit_later(struct outcome *outcome)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(outcome, &pair);
	params = pair_params(PAIR_LATER, outcome);
	params.results_max_bytes = 20000;
	call = weir_call_begin(pair.conn, &params);
	weir_xdr_put_u32(weir_call_args(call), 7);
	assert_int_equal(weir_call_submit(call), 0);
}

static void shared__what_is_reserved_is_of_the_share(void **state)
{
	const struct requester *req;
	struct credit_pool *pool;
	uint32_t left;

	(void)state;
	teardown(NULL);
	pair_start(&pair, share_eight);
	pair_connect(&pair);
	req = requester_of(pair.conn);
	pool = &pair.client->srq->credits;
	submit_later(&outcomes[0]);
	assert_int_equal(req->reply_reserved, 5);
	assert_int_equal(pair.conn->share.size, req->credits.wanted + 5);
	left = pool->left;
	pool->left = 0; /* as if other connections had been granted all shared receives */
	submit_later(&outcomes[1]);
	pool->left = left;
	assert_int_equal(req->reply_reserved, 5);
	assert_int_equal(client().extended_calls, 1);
	assert_int_equal(client().fallbacks_buffers, 1);
	for (int i = 0; i < 2; i++) {
		/* the second call waits for the credits that the first call holds */
		pair_settle(&pair);
		pair_release_later(&pair);
		pair_until(&pair, &outcomes[i].done, 1);
		assert_int_equal(outcomes[i].status, 0);
	}
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(echo(20000, false, &outcomes[0]), 0);
		pair_until(&pair, &outcomes[0].done, 1);
	}
	assert_true(server().continued_replies > 0);
	pair_expect_idle(&pair);
	assert_int_equal(pair.conn->share.size, req->credits.wanted);
}

/*
 * Checks that an idle requester keeps the credits that the peer granted in its connection
 * properties. No reply has granted other credits since. The requester gives back its own unused
 * shared receives, but that does not end the grant.
 */
static void shared__an_unused_connection_keeps_what_it_was_granted(void **state)
{
	const struct requester *req;

	(void)state;
	teardown(NULL);
	pair_start(&pair, share_eight);
	pair_server_stop(&pair);
	/*
	 * The server does not share receives, so that it grants as many credits as it has receives.
	 */
	pair.profile.shared_receives = WEIR_SHARED_RECEIVES_OFF;
	pair_server_start(&pair);
	pair_connect(&pair);
	req = requester_of(pair.conn);
	for (uint32_t i = 0; req->credits.wanted > 1 && pair_wait(&pair, i); i++)
		pair_poll(&pair);
	assert_int_equal(req->credits.wanted, 1);
	pair_settle(&pair); /* the connection is idle for some more time */
	assert_int_equal(echo(16384, false, &outcomes[0]), 0);
	assert_int_equal(client().continued_calls, 1);
	assert_int_equal(client().fallbacks_credits, 0);
	pair_until(&pair, &outcomes[0].done, 1);
	assert_int_equal(outcomes[0].status, 0);
	pair_expect_idle(&pair);
}

static void timeout__what_was_reserved_stays_until_the_reply(void **state)
{
	struct weir_call_params params;
	struct weir_call *call;

	(void)state;
	outcome_init(&outcomes[0], &pair);
	params = pair_params(PAIR_LATER, &outcomes[0]);
	params.args_max_bytes = 9000;
	params.results_max_bytes = 20000;
	params.timeout_ns = 1000000;
	call = weir_call_begin(pair.conn, &params);
	weir_xdr_put_u32(weir_call_args(call), 7);
	memset(weir_xdr_reserve(weir_call_args(call), 8996), 0, 8996);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &outcomes[0].done, 1);
	assert_int_equal(outcomes[0].status, -ETIMEDOUT);
	pair_settle(&pair);
	assert_int_equal(requester_of(pair.conn)->credits.in_flight, 3);
	assert_int_equal(requester_of(pair.conn)->reply_reserved, 5);
	assert_int_equal(pair.nlater, 1);
	pair_release_later(&pair);
	pair_expect_idle(&pair);
	assert_int_equal(pair.closed, 0);
}

static void peer__without_the_extension_is_spoken_to_as_before(void **state)
{
	(void)state;
	teardown(NULL);
	pair_start(&pair, eight);
	pair_server_stop(&pair);
	pair.profile.extension = WEIR_EXTENSION_OFF;
	pair_server_start(&pair);
	pair_connect(&pair);
	assert_int_equal(echo(9000, false, &outcomes[0]), 0);
	pair_until(&pair, &outcomes[0].done, 1);
	assert_int_equal(client().extended_calls, 0);
	assert_int_equal(client().long_calls, 1);
	pair_expect_idle(&pair);
}

static void orphan__keeps_the_receives_of_its_arguments(void **state)
{
	struct weir_call_params params;
	struct weir_call *call;
	uint32_t value = 0;

	(void)state;
	outcome_init(&outcomes[0], &pair);
	params = pair_params(PAIR_LATER, &outcomes[0]);
	params.args_max_bytes = 9000;
	call = weir_call_begin(pair.conn, &params);
	weir_xdr_put_u32(weir_call_args(call), 7);
	memset(weir_xdr_reserve(weir_call_args(call), 8996), 0x55, 8996);
	assert_int_equal(weir_call_submit(call), 0);
	for (uint32_t i = 0; pair.nlater == 0 && pair_wait(&pair, i); i++)
		pair_poll(&pair);
	assert_int_equal(pair.nlater, 1);
	weir_conn_close(pair.server_conn);
	pair_until(&pair, &pair.server_closed, 1);
	pair_until(&pair, &pair.closed, 1);
	assert_int_equal(pair.server->recv_pool->in_use,
			 pair_recvs_at_rest(&pair) + (pair_shared ? 0 : 3));
	/* Decodes the arguments directly from the receives that they arrived in. */
	weir_xdr_get_u32(weir_request_args(pair.later[0]), &value);
	assert_int_equal(value, 7);
	weir_xdr_get_bytes(weir_request_args(pair.later[0]), NULL, 8000);
	weir_xdr_get_u32(weir_request_args(pair.later[0]), &value);
	assert_int_equal(value, 0x55555555);
	assert_int_equal(weir_xdr_remaining(weir_request_args(pair.later[0])), 992);
	weir_request_reply_error(pair.later[0], WEIR_RPC_SYSTEM_ERR);
	pair.nlater = 0;
	assert_int_equal(pair.server->recv_pool->in_use, pair_recvs_at_rest(&pair));
	assert_int_equal(pair.server->bulk_pool->in_use, 0);
}

#define WAITING 4u

static void few_buffers(struct weir_profile *profile)
{
	eight(profile);
	profile->send_buffers = 16;
	profile->credits = 40;
	profile->recv_buffers = 256;
}

/*
 * Creates a pair whose device gathers so few elements that each transmission needs a send buffer.
 */
static int setup_exhausted(void **state)
{
	static struct sim_options wires;

	(void)state;
	sim_options_init(&wires);
	wires.attr.max_sge = 4;
	pair_wires = &wires;
	pair_server_protocol = WEIR_PROTOCOL_V2;
	pair_start(&pair, few_buffers);
	pair_connect(&pair);
	return 0;
}

static int teardown_exhausted(void **state)
{
	pair_wires = NULL;
	return teardown(state);
}

static void check_compound(struct outcome *outcome, struct weir_call *call,
			   const struct weir_result *result)
{
	uint32_t n = 0, kind, len;
	const void *data;

	(void)call;
	assert_int_equal(result->status, 0);
	weir_xdr_get_u32(result->results, &n);
	assert_int_equal(n, COMPOUND_OPS_MAX);
	for (uint32_t op = 0; op < n; op++) {
		weir_xdr_get_u32(result->results, &kind);
		assert_int_equal(
			weir_xdr_get_opaque_ref(result->results, &data, COMPOUND_BYTES_MAX, &len),
			0);
		assert_int_equal(len, outcome->bytes);
		for (uint32_t i = 0; i < len; i++)
			assert_int_equal(((const uint8_t *)data)[i], compound_byte(op, i));
	}
}

/*
 * Begins a call whose reply contains the data of all operations. These data have more elements than
 * the device gathers.
 */
static void begin_compound(struct outcome *outcome, uint32_t bytes)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(outcome, &pair);
	outcome->check = check_compound;
	outcome->bytes = bytes;
	params = pair_params(PAIR_COMPOUND, outcome);
	params.args_max_bytes = 4 + COMPOUND_OPS_MAX * COMPOUND_OP_BYTES;
	params.results_max_bytes = 64 + COMPOUND_OPS_MAX * (bytes + 8);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), COMPOUND_OPS_MAX);
	for (uint32_t op = 0; op < COMPOUND_OPS_MAX; op++) {
		weir_xdr_put_u32(weir_call_args(call), COMPOUND_READ);
		weir_xdr_put_u32(weir_call_args(call), bytes);
	}
	assert_int_equal(weir_call_submit(call), 0);
}

/*
 * Checks that replies get buffers from the reserve in turn. Each send buffer of the pool is held by
 * a reply. Each reply needs one more buffer for its headers and one for each of its transmissions,
 * and only the reserve has them. No reply waits for buffers that another reply holds.
 */
static void reserve__has_what_a_reply_of_the_most_transmissions_takes(void **state)
{
	struct mem_pool *pool = pair.server->send_pool;
	struct mem_buf *taken = NULL;

	(void)state;
	pair_settle(&pair);
	while (pool->count - pool->in_use > WAITING) {
		struct mem_buf *buf = mem_pool_get(pool);

		buf->user[0] = (uintptr_t)taken;
		taken = buf;
	}
	for (uint32_t i = 0; i < WAITING; i++)
		/* the reply needs eight transmissions in total */
		begin_compound(&outcomes[i], 3901 - i);
	for (uint32_t i = 0; i < WAITING; i++)
		pair_until(&pair, &outcomes[i].done, 1);
	pair_settle(&pair);
	assert_int_equal(server().continued_replies, WAITING);
	assert_int_equal(server().send_timeouts, 0);
	assert_int_equal(pair.server->reserve_pool->in_use, 0);
	if (pair.world)
		assert_in_range(pair.server->reserve_pool->in_use_peak, 8, 10);
	assert_true(TAILQ_EMPTY(&pair.server->reserve_queues));
	conn_group_put_bufs(&taken);
	pair_expect_idle(&pair);
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(continue__4_2_each_size_without_explicit_rdma),
		T(reply__results_without_memory_are_reserved_for),
		T(limits__longer_ones_go_by_explicit_rdma),
		T(costs__what_chunks_do_for_less_goes_by_explicit_rdma),
		T(credits__4_3_calls_without_enough_of_them_do_not_wait),
		T(credits__calls_in_the_queue_find_their_way),
		T(buffers__receives_are_reserved_for_replies),
		T(shared__what_is_reserved_is_of_the_share),
		T(shared__an_unused_connection_keeps_what_it_was_granted),
		T(timeout__what_was_reserved_stays_until_the_reply),
		T(peer__without_the_extension_is_spoken_to_as_before),
		T(orphan__keeps_the_receives_of_its_arguments),
		cmocka_unit_test_setup_teardown(
			reserve__has_what_a_reply_of_the_most_transmissions_takes, setup_exhausted,
			teardown_exhausted),
	};

	return cmocka_run_group_tests_name("continue", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
