/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of reconnection: what happens to the calls of a lost connection, and when calls and
 * connections are given up.
 */
#include "reconnect.h"

static void resend__same_xid_same_bytes(void **state)
{
	uint32_t xid;

	(void)state;
	start_later(0, 0);
	until_later(1);
	xid = weir_request_header(pair.later[0])->xid;
	lose();
	assert_false(weir_conn_is_open(pair.conn));
	assert_int_equal(outcomes[0].done, 0);
	until_later(2);
	assert_int_equal(weir_request_header(pair.later[1])->xid, xid);
	assert_null(weir_request_conn(pair.later[0]));
	pair_release_later(&pair); /* the connection of the first request has ended */
	expect_done(0, 0);
	assert_int_equal(outcomes[0].words[0], 1);
	assert_int_equal(pair.opened, 2);
	assert_int_equal(pair.closed, 0);
	assert_int_equal(stats().calls_resent, 1);
	assert_int_equal(stats().reconnects, 1);
	assert_int_equal(stats().reconnect_attempts, 1);
	assert_int_equal(stats().calls_given_up, 0);
}

static void check_read(struct outcome *outcome, struct weir_call *call,
		       const struct weir_result *result)
{
	const uint8_t *data;
	uint32_t len;

	assert_int_equal(result->status, 0);
	assert_int_equal(weir_result_opaque(call, result, 0, (const void **)&data, BYTES, &len), 0);
	assert_int_equal(len, BYTES);
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(data[i], pair_byte(i));
	outcome->bytes = weir_call_retransmits(call);
}

static void check_write(struct outcome *outcome, struct weir_call *call,
			const struct weir_result *result)
{
	uint32_t value, bytes = outcome->bytes, sum = 0;

	assert_int_equal(result->status, 0);
	for (uint32_t i = 0; i < bytes; i++)
		sum = sum * 33 + pair.client_mem[i];
	weir_xdr_get_u32(result->results, &value);
	assert_int_equal(value, 7);
	weir_xdr_get_u32(result->results, &value);
	assert_int_equal(value, bytes);
	weir_xdr_get_u32(result->results, &value);
	assert_int_equal(value, sum);
	outcome->bytes = weir_call_retransmits(call);
}

static void start_read(uint32_t i)
{
	struct weir_call *call = begin(i, PAIR_READ, 0);

	outcomes[i].check = check_read;
	weir_xdr_put_u32(weir_call_args(call), BYTES);
	assert_int_equal(weir_call_result_item(call, pair.client_region,
					       pair.client_mem + (i + 1) * 65536, BYTES),
			 0);
	assert_int_equal(weir_call_submit(call), 0);
}

static void start_write(uint32_t i, uint32_t bytes)
{
	struct weir_call *call = begin(i, PAIR_WRITE, 0);

	outcomes[i].check = check_write;
	outcomes[i].bytes = bytes;
	weir_xdr_put_u32(weir_call_args(call), 3);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, bytes), 0);
	weir_xdr_put_u32(weir_call_args(call), 4);
	assert_int_equal(weir_call_submit(call), 0);
}

static void start_big(uint32_t i)
{
	struct weir_call *call = begin(i, PAIR_BIG, 0);

	outcomes[i].check = check_read;
	weir_xdr_put_u32(weir_call_args(call), BYTES);
	assert_int_equal(weir_call_submit(call), 0);
}

#define SHORT_BYTES 99u /* sent inline; copied into one buffer if the driver does not gather */

/*
 * Begins 'n' calls. Their forms are in turn: a Short Call, a call with a Write chunk, a call with a
 * Read chunk or a short item, and a call with a Reply chunk.
 */
static void start_each(uint32_t n)
{
	memset(pair.client_mem, 0x5a, BYTES);
	for (uint32_t i = 0; i < n; i++) {
		if (i % 4 == 0)
			start_later(i, 0);
		else if (i % 4 == 1)
			start_read(i);
		else if (i % 4 == 2)
			start_write(i, i % 8 == 2 ? BYTES : SHORT_BYTES);
		else
			start_big(i);
	}
}

static void resend__each_form_at_each_moment(void **state)
{
	uint32_t losses = 0;

	(void)state;
	for (uint32_t polls = 0; polls < 60; polls++) {
		warm_up();
		start_each(NCALLS);
		for (uint32_t i = 0; i < polls; i++)
			pair_poll(&pair);
		if (pair.server_conn && weir_conn_is_open(pair.conn))
			lose();
		for (uint32_t i = 0; i < NCALLS; i++)
			for (uint32_t k = 0; !outcomes[i].done && pair_wait(&pair, k); k++) {
				pair_poll(&pair);
				pair_release_later(&pair);
			}
		for (uint32_t i = 0; i < NCALLS; i++) {
			assert_int_equal(outcomes[i].done, 1);
			assert_int_equal(outcomes[i].status, 0);
			losses += i % 4 ? outcomes[i].bytes : 0;
		}
	}
	assert_true(losses >= 9);
	assert_int_equal(pair.closed, 0);
	pair_settle(&pair);
	assert_int_equal(pair.client->send_pool->in_use, 1);
	assert_int_equal(pair.client->long_pool->in_use, 0);
	assert_int_equal(pair.client->bulk_pool->in_use, 0);
}

/*
 * Checks the order of retransmission: the call that was submitted first is sent first, although it
 * has the latest deadline. Calls that had not been sent before the loss follow after the others.
 */
static void resend__3_3_3_oldest_first_by_one_credit(void **state)
{
	uint32_t value;

	(void)state;
	if (pair_client_protocol == WEIR_PROTOCOL_V2)
		skip(); /* version 2 grants credits before the first call */
	warm_up();
	for (uint32_t i = 0; i < 8; i++) {
		start_later(i, 2000 * MS - i * 100 * MS);
		if (i == 3)
			until_later(4);
	}
	until_later(8);
	lose();
	pair_release_later(&pair);
	/* the requester has one credit until the first reply (RFC 8166 section 3.3.3) */
	until_later(1);
	weir_xdr_get_u32(weir_request_args(pair.later[0]), &value);
	assert_int_equal(value, 0);
	pair_release_later(&pair);
	expect_done(0, 0);
	until_later(7);
	for (uint32_t i = 0; i < 7; i++) {
		weir_xdr_get_u32(weir_request_args(pair.later[i]), &value);
		assert_int_equal(value, i + 1);
	}
	for (uint32_t i = 0; i < 7; i++)
		weir_request_reply_error(pair.later[i], WEIR_RPC_GARBAGE_ARGS);
	pair.nlater = 0;
	for (uint32_t i = 1; i < 8; i++)
		expect_done(i, 0);
}

static void begin__while_it_is_remade_waits(void **state)
{
	(void)state;
	lose();
	start_read(0);
	start_write(1, BYTES);
	start_big(2);
	start_write(3, SHORT_BYTES);
	assert_int_equal(requester_of(pair.conn)->nactive, 4);
	for (uint32_t i = 0; i < 4; i++)
		expect_done(i, 0);
	/* these calls had not been sent before the loss */
	assert_int_equal(stats().calls_resent, 0);
}

static void timeout__goes_on_while_it_is_remade(void **state)
{
	uint64_t begun_ns;

	(void)state;
	warm_up();
	begun_ns = weir_engine_now(pair.client);
	start_later(0, 60 * MS);
	until_later(1);
	stop_server();
	pair_until(&pair, &pair.lost, 1);
	start_later(1, 30 * MS);
	expect_done(1, -ETIMEDOUT);
	expect_done(0, -ETIMEDOUT);
	assert_true(weir_engine_now(pair.client) - begun_ns >= 60 * MS);
	assert_int_equal(pair.closed, 0);
	pair_server_start(&pair);
	pair_until(&pair, &pair.opened, 2);
	warm_up();
}

/*
 * Checks a call that times out while the responder can still access its memory. Therefore the
 * requester ends the connection. Other calls are retransmitted and succeed.
 */
static void timeout__of_exposed_memory_costs_the_others_nothing(void **state)
{
	struct weir_call *call;

	(void)state;
	if (pair_extension != WEIR_EXTENSION_OFF)
		skip(); /* with the extension, such a call exposes no memory */
	warm_up();
	start_later(0, 0);
	until_later(1);
	call = begin(1, PAIR_LATER, 20 * MS);
	call->ulb = NULL;
	weir_xdr_put_u32(weir_call_args(call), 1);
	call->reply_max_bytes = BYTES; /* makes the call offer a Reply chunk */
	assert_int_equal(weir_call_submit(call), 0);
	expect_done(1, -ETIMEDOUT);
	assert_int_equal(outcomes[0].done, 0);
	/* With windows, the key of the call is invalidated and the connection stays open. */
	if (!pair.client->uses_windows)
		pair_until(&pair, &pair.opened, 2);
	/* Otherwise the call that has not timed out is retransmitted, as a third request. */
	until_later(pair.client->uses_windows ? 2 : 3);
	pair_release_later(&pair);
	expect_done(0, 0);
	assert_int_equal(pair.closed, 0);
}

/*
 * Checks calls that time out while they hold all credits. No reply returns a credit, and without a
 * credit nothing can be sent. After a time the requester ends the connection and establishes it
 * again.
 */
static void timeout__of_calls_that_have_all_credits(void **state)
{
	uint32_t n = credit_available(&requester_of(pair.conn)->credits);

	(void)state;
	if (weir_conn_version(pair.conn) == 2)
		skip(); /* the first grant is for more calls than this test has outcomes */
	assert_true(n > 0 && n < NCALLS);
	for (uint32_t i = 0; i < n; i++)
		start_later(i, 20 * MS);
	for (uint32_t i = 0; i < n; i++)
		expect_done(i, -ETIMEDOUT);
	assert_int_equal(pair.lost, 0); /* the connection stays, because replies can still arrive */
	start_later(n, 20 * MS);
	expect_done(n, -ETIMEDOUT);
	pair_until(&pair, &pair.opened, 2);
	warm_up();
	assert_int_equal(pair.closed, 0);
	pair_release_later(&pair);
}

static void give_up__after_its_time(void **state)
{
	uint64_t lost_ns;

	(void)state;
	start_later(0, UINT64_MAX);
	until_later(1);
	stop_server();
	pair_until(&pair, &pair.lost, 1);
	lost_ns = weir_engine_now(pair.client);
	pair_until(&pair, &pair.closed, 1);
	if (pair.world) /* in real time, this process can have been delayed */
		assert_true(weir_engine_now(pair.client) - lost_ns <= 410 * MS);
	assert_true(weir_engine_now(pair.client) - lost_ns >= 300 * MS);
	assert_int_equal(outcomes[0].done, 1);
	assert_int_not_equal(outcomes[0].status, 0);
	assert_int_equal(outcomes[0].status, pair.close_error);
	assert_int_equal(stats().reconnects_given_up, 1);
	assert_int_equal(stats().reconnects, 0);
	/*
	 * The pauses are 2, 4, 8, 8... ms, each shortened by at most half. There are no more
	 * attempts than these pauses allow.
	 */
	assert_true(stats().reconnect_attempts > 1 && stats().reconnect_attempts <= 102);
}

/*
 * Checks a call that breaks each connection on which it is sent (RFC 8166 section 4.5.3). The
 * requester stops to retransmit it, and other calls succeed.
 */
static void resend__4_5_3_what_breaks_each_connection_fails_and_nothing_else(void **state)
{
	uint32_t breaks = 0;

	(void)state;
	warm_up();
	start_later(0, 0);
	for (uint32_t i = 1; i < 8; i++)
		start_read(i);
	start_later(8, 0);
	while (breaks <= 4 && !outcomes[0].done) {
		for (uint32_t i = 0; !outcomes[0].done && pair.nlater == 0 && pair_wait(&pair, i);
		     i++)
			pair_poll(&pair);
		for (uint32_t i = 0; i < pair.nlater; i++) {
			uint32_t value = 0;

			weir_xdr_get_u32(weir_request_args(pair.later[i]), &value);
			if (value == 0 && pair.server_conn == weir_request_conn(pair.later[i])) {
				weir_conn_close(pair.server_conn);
				breaks++;
			}
		}
		pair_release_later(&pair);
	}
	expect_done(0, -ENOTRECOVERABLE);
	assert_int_equal(breaks, 4); /* the call was sent once and retransmitted three times */
	for (uint32_t k = 0; !outcomes[8].done && pair_wait(&pair, k); k++) {
		pair_poll(&pair);
		pair_release_later(&pair);
	}
	for (uint32_t i = 1; i < 9; i++)
		expect_done(i, 0);
	assert_int_equal(stats().calls_given_up, 1);
	assert_int_equal(pair.closed, 0);
}

static void until_later_is(uint32_t value)
{
	uint32_t found = UINT32_MAX;

	until_later(1);
	weir_xdr_get_u32(weir_request_args(pair.later[0]), &found);
	assert_int_equal(found, value);
}

/*
 * Checks that a call which was in flight on two lost connections is sent alone. A call that is made
 * meanwhile waits until the first call has ended, although there are credits and no other call
 * waits.
 */
static void resend__4_5_3_beside_what_was_lost_twice_nothing_is_sent(void **state)
{
	bool has_one =
		/* the requester has one credit until the first reply */
		weir_conn_version(pair.conn) == 1 || pair_shared;
	uint32_t first = 0;

	(void)state;
	warm_up();
	for (uint32_t i = 0; i < 3; i++)
		start_later(i, 2000 * MS + i * MS);
	until_later(3);
	lose();
	pair_release_later(&pair);
	if (has_one) {
		until_later_is(first);
		pair_release_later(&pair);
		expect_done(first++, 0);
	}
	until_later(3 - first);
	lose();
	pair_release_later(&pair);
	for (uint32_t i = first; i < 4; i++) {
		until_later(1);
		if (i == 2)
			start_later(3, 0);
		pair_settle(&pair);
		until_later_is(i);
		pair_release_later(&pair);
		expect_done(i, 0);
	}
}

/*
 * Checks that RDMA_ERROR ends a call, which is then not retransmitted, because the error is an
 * answer (RFC 8166 section 4.5).
 */
static void resend__not_after_rdma_error(void **state)
{
	struct weir_call *call;

	(void)state;
	warm_up();
	call = begin(0, PAIR_BIG, 0);
	/* the call offers no Reply chunk, although the reply does not fit inline */
	call->reply_max_bytes = 64;
	weir_xdr_put_u32(weir_call_args(call), BYTES);
	assert_int_equal(weir_call_submit(call), 0);
	expect_done(0, -EREMOTEIO);
	assert_int_equal(outcomes[0].rdma_err, weir_conn_version(pair.conn) == 2 ? 3 : 2);
	assert_int_equal(pair.handled, 2);
	pair_settle(&pair);
	assert_int_equal(pair.handled, 2);
	assert_int_equal(pair.lost, 0);
}

static void resend__by_the_new_connections_threshold(void **state)
{
	uint8_t bytes[3000];
	struct weir_call *call;
	struct weir_call_params params;

	(void)state;
	warm_up();
	memset(bytes, 0x33, sizeof(bytes));
	start_later(0, 0);
	until_later(1);
	outcome_init(&outcomes[1], &pair);
	params = pair_params(PAIR_ECHO, &outcomes[1]);
	params.args_max_bytes = params.results_max_bytes = 3200;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_opaque(weir_call_args(call), bytes, sizeof(bytes));
	assert_int_equal(stats().long_calls, 0);
	assert_int_equal(weir_call_submit(call), 0);
	assert_int_equal(stats().long_calls, 0);
	stop_server();
	pair.profile.inline_bytes = 1024;
	pair_server_start(&pair);
	for (uint32_t k = 0; (!outcomes[1].done || !outcomes[0].done) && pair_wait(&pair, k); k++) {
		pair_poll(&pair);
		pair_release_later(&pair);
	}
	expect_done(0, 0);
	expect_done(1, 0);
	assert_int_equal(outcomes[1].words[0], sizeof(bytes));
	assert_int_equal(outcomes[1].words[1], 0x33333333);
	/* In version 2, receives have at least 4096 bytes, so that the call fits inline. */
	assert_int_equal(weir_conn_send_inline(pair.conn),
			 weir_conn_version(pair.conn) == 2 ? 4096 : 1024);
	assert_int_equal(stats().long_calls, weir_conn_version(pair.conn) == 2 ? 0 : 1);
}
static void connect__once_more_after_each_pause(void **state)
{
	(void)state;
	for (int n = 1; n <= 20; n++) {
		lose();
		pair_until(&pair, &pair.opened, n + 1);
		warm_up();
	}
	assert_int_equal(stats().reconnects, 20);
	assert_int_equal(stats().connections_opened, 21);
	assert_int_equal(stats().connections_lost, 20);
	assert_int_equal(pair.client->nconnections, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define MORE(name) cmocka_unit_test_setup_teardown(name, setup_more, teardown)

PAIR_SETUP_MORE(setup_more, setup)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		TEST(resend__same_xid_same_bytes),
		MORE(resend__each_form_at_each_moment),
		TEST(resend__3_3_3_oldest_first_by_one_credit),
		MORE(begin__while_it_is_remade_waits),
		TEST(timeout__goes_on_while_it_is_remade),
		TEST(timeout__of_exposed_memory_costs_the_others_nothing),
		TEST(timeout__of_calls_that_have_all_credits),
		cmocka_unit_test_setup_teardown(give_up__after_its_time, setup_given_up, teardown),
		MORE(resend__4_5_3_what_breaks_each_connection_fails_and_nothing_else),
		TEST(resend__4_5_3_beside_what_was_lost_twice_nothing_is_sent),
		TEST(resend__not_after_rdma_error),
		TEST(resend__by_the_new_connections_threshold),
		TEST(connect__once_more_after_each_pause),
	};

	return cmocka_run_group_tests_name("reconnect", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
