/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests from end to end of calls and replies whose data and payload need several transmissions
 * (rtrext-01 sections 4 and 7).
 */
#include "pair_main.h"

#include <string.h>

#include "engine.h"
#include "conn_v2.h"
#include "requester.h"

#define TARGETS	      2u
#define TARGET	      2048u
#define TRANSMISSIONS 8u
#define EACH	      (TARGETS * TARGET)
#define CALLS	      24

static struct pair pair;
static struct outcome outcomes[CALLS];

static void shape(struct weir_profile *profile)
{
	profile->lead_bytes = 1024;
	profile->targets = TARGETS;
	profile->target_bytes = TARGET;
	profile->transmissions = TRANSMISSIONS;
	profile->credits = 16;
	profile->recv_buffers = 256;
	profile->long_buffers = profile->bulk_buffers = 3 * CALLS;
	profile->long_buffer_bytes = profile->bulk_buffer_bytes = 1u << 17;
	/* All costs are zero, so that the extension is used wherever it is possible. */
	profile->operation_ns = profile->round_trip_ns = profile->message_ns = profile->copy_ns = 0;
}

static int setup(void **state)
{
	(void)state;
	pair_client_protocol = pair_server_protocol = WEIR_PROTOCOL_V2;
	pair_extension = WEIR_EXTENSION_ALL;
	pair_start(&pair, shape);
	for (uint32_t i = 0; i < 1u << 20; i++)
		pair.client_mem[i] = pair_byte(i);
	pair_connect(&pair);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static void expect_no_explicit_rdma(void)
{
	const struct engine_counters server = pair_stats(pair.server),
				     client = pair_stats(pair.client);

	assert_int_equal(server.reads + server.writes, 0);
	assert_int_equal(client.long_calls + client.long_replies + client.windows_bound, 0);
}

static uint32_t checksum(uint32_t len)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < len; i++)
		sum = sum * 33 + pair_byte(i);
	return sum;
}

static void begin_write(uint32_t len, struct outcome *outcome)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(outcome, &pair);
	outcome->bytes = len;
	params = pair_params(PAIR_WRITE, outcome);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), 5);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, len), 0);
	weir_xdr_put_u32(weir_call_args(call), 6);
	assert_int_equal(weir_call_submit(call), 0);
}

static void end_write(struct outcome *outcome)
{
	pair_until(&pair, &outcome->done, 1);
	assert_int_equal(outcome->status, 0);
	assert_int_equal(outcome->words[0], 11);
	assert_int_equal(outcome->words[1], outcome->bytes);
	assert_int_equal(outcome->words[2], checksum(outcome->bytes));
}

static void check_read(struct outcome *o, struct weir_call *call, const struct weir_result *result)
{
	const void *data;
	uint32_t len;

	assert_int_equal(result->status, 0);
	assert_int_equal(weir_result_opaque(call, result, 0, &data, 1u << 20, &len), 0);
	assert_int_equal(len, o->bytes);
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(((const uint8_t *)data)[i], pair_byte(i));
}

/* Begins READ number i, for 'len' bytes. The call has memory for a result of 'max' bytes. */
static void begin_read(uint32_t len, uint32_t max, uint32_t i)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(&outcomes[i], &pair);
	outcomes[i].check = check_read;
	outcomes[i].bytes = len;
	params = pair_params(PAIR_READ, &outcomes[i]);
	params.results_max_bytes = 64;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), len);
	assert_int_equal(weir_call_result_item(call, pair.client_region,
					       pair.client_mem + (1u << 20) + i * 65536, max),
			 0);
	assert_int_equal(weir_call_submit(call), 0);
}

static void sizes__7_no_memory_is_named_up_to_all_targets(void **state)
{
	(void)state;
	for (uint32_t n = 1; n <= TRANSMISSIONS; n++) {
		for (uint32_t len = n * EACH - 5; len <= n * EACH; len++) {
			begin_write(len, &outcomes[0]);
			end_write(&outcomes[0]);
			begin_read(len, len, 0);
			pair_until(&pair, &outcomes[0].done, 1);
		}
	}
	assert_int_equal(pair_stats(pair.client).placed_sent, 6 * TRANSMISSIONS);
	assert_int_equal(pair_stats(pair.client).placed_received, 6 * TRANSMISSIONS);
	assert_int_equal(pair_stats(pair.client).continued_calls, 6 * (TRANSMISSIONS - 1));
	assert_int_equal(pair_stats(pair.server).continued_replies, 6 * (TRANSMISSIONS - 1));
	expect_no_explicit_rdma();
	pair_expect_idle(&pair);
	/* With one byte more than the transmissions can carry, the data are read by RDMA Read. */
	begin_write(TRANSMISSIONS * EACH + 1, &outcomes[0]);
	end_write(&outcomes[0]);
	assert_int_equal(pair_stats(pair.server).reads, 1);
	begin_read(10, TRANSMISSIONS * EACH + 1, 0);
	pair_until(&pair, &outcomes[0].done, 1);
	/* The result is so short that it is inside the reply message. */
	assert_int_equal(pair_stats(pair.server).writes, 0);
	pair_expect_idle(&pair);
}

static void check_multi(struct outcome *o, struct weir_call *call, const struct weir_result *result)
{
	const uint32_t *lens = o->arg;
	uint32_t words[3] = {0};

	assert_int_equal(result->status, 0);
	for (uint32_t i = 0; i < 2; i++) {
		const void *data;
		uint32_t len;

		weir_xdr_get_u32(result->results, &words[i]);
		assert_int_equal(weir_result_opaque(call, result, i, &data, 1u << 17, &len), 0);
		assert_int_equal(len, lens[i]);
		for (uint32_t k = 0; k < len; k++)
			assert_int_equal(((const uint8_t *)data)[k], pair_byte(k + i * 100000));
	}
	weir_xdr_get_u32(result->results, &words[2]);
	assert_int_equal(words[0], 0xa);
	assert_int_equal(words[1], 0xc);
	assert_int_equal(words[2], 0xb);
	assert_int_equal(weir_xdr_remaining(result->results), 0);
}

/*
 * Makes a MULTI call with two arguments and two results. Bit i of 'how' says that argument i is an
 * item, and otherwise it is encoded in the message. Bit 2 + i says that the call has memory for
 * result i.
 */
static void multi(const uint32_t lens[2], uint32_t how)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(&outcomes[0], &pair);
	outcomes[0].check = check_multi;
	outcomes[0].arg = (void *)(uintptr_t)lens;
	params = pair_params(PAIR_MULTI, &outcomes[0]);
	params.args_max_bytes = 64 + lens[0] + lens[1];
	params.results_max_bytes = 64;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	for (uint32_t i = 0; i < 2; i++) {
		const uint8_t *data = pair.client_mem + i * 100000;

		weir_xdr_put_u32(weir_call_args(call), 0xa + i);
		if (how & 1u << i)
			assert_int_equal(
				weir_call_arg_item(call, pair.client_region, data, lens[i]), 0);
		else
			weir_xdr_put_opaque(weir_call_args(call), data, lens[i]);
	}
	weir_xdr_put_u32(weir_call_args(call), 0xc);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(
			weir_call_result_item(
				call, pair.client_region,
				how & 4u << i ? pair.client_mem + (1u << 20) + i * 65536 : NULL,
				how & 4u << i ? 30000 : lens[i]),
			0);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &outcomes[0].done, 1);
}

static void multi__what_is_placed_and_what_is_not_in_all_sizes(void **state)
{
	static const uint32_t lens[] = {1, 300, 2047, 4096, 5000, 9001, 17000};

	(void)state;
	for (uint32_t i = 0; i < 7; i++) {
		for (uint32_t k = 0; k < 7; k++) {
			const uint32_t both[2] = {lens[i], lens[k]};

			for (uint32_t how = 0; how < 16; how++)
				multi(both, how);
		}
	}
	assert_true(pair_stats(pair.client).placed_sent > 100);
	assert_true(pair_stats(pair.client).placed_received > 100);
	assert_true(pair_stats(pair.client).continued_calls > 100);
	assert_true(pair_stats(pair.server).continued_replies > 100);
	pair_expect_idle(&pair);
}

/*
 * Checks items that cannot be placed, because the responder has no free targets. Such items are
 * read by RDMA Read.
 */
static void direction__of_items_that_are_read_beside_a_long_payload(void **state)
{
	static const uint32_t lens[] = {10, 4000, 9001, 14000};

	(void)state;
	pair.conn->v2->places = false;
	for (uint32_t i = 0; i < 4; i++) {
		for (uint32_t k = 0; k < 4; k++) {
			const uint32_t both[2] = {lens[i], lens[k]};

			for (uint32_t how = 0; how < 16; how++)
				multi(both, how);
		}
	}
	assert_int_equal(pair_stats(pair.client).placed_sent, 0);
	assert_int_equal(pair_stats(pair.client).long_calls, 0);
	assert_true(pair_stats(pair.client).continued_calls > 20);
	assert_true(pair_stats(pair.server).read_chunks > 20);
	pair_expect_idle(&pair);
}

static void credits__4_3_all_calls_find_their_way(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 4; round++) {
		for (uint32_t i = 0; i < CALLS; i++) {
			if (i % 2)
				begin_write(1000 + 1300 * i, &outcomes[i]);
			else
				begin_read(900 + 1200 * i, 40000, i);
		}
		for (uint32_t i = 0; i < CALLS; i++) {
			if (i % 2)
				end_write(&outcomes[i]);
			else
				pair_until(&pair, &outcomes[i].done, 1);
		}
	}
	assert_true(pair_stats(pair.client).continued_calls > 0);
	assert_true(pair_stats(pair.client).fallbacks_credits +
			    pair_stats(pair.client).fallbacks_buffers >
		    0);
	pair_expect_idle(&pair);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		T(sizes__7_no_memory_is_named_up_to_all_targets),
		T(multi__what_is_placed_and_what_is_not_in_all_sizes),
		T(direction__of_items_that_are_read_beside_a_long_payload),
		T(credits__4_3_all_calls_find_their_way),
	};

	return cmocka_run_group_tests_name("several", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
