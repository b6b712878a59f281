/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests READ, WRITE and ECHO calls of each size from 1 to 4,100 bytes, with inline thresholds of 1
 * KiB and 4 KiB, and checks each byte. Each WRITE is made twice: with Read chunks wherever they are
 * possible, and with Read chunks only where they are necessary.
 */
#include "pair_main.h"

#include <string.h>

#include "conn.h"

#define SIZE_MAX_BYTES 4100u

static struct pair pair;
/* the data that the server received or sends, in a buffer or in a chunk */
static uint8_t served[SIZE_MAX_BYTES];

static void inline_1k(struct weir_profile *profile)
{
	profile->inline_bytes = 1024;
}

static int setup_1k(void **state)
{
	(void)state;
	pair_start(&pair, inline_1k);
	pair_connect(&pair);
	return 0;
}

static void chunks_always(struct weir_profile *profile)
{
	profile->chunk_bytes = 4;
}

static int setup_chunks_always(void **state)
{
	(void)state;
	pair_start(&pair, chunks_always);
	pair_connect(&pair);
	return 0;
}

static void chunks_rarely(struct weir_profile *profile)
{
	profile->chunk_bytes = 64u << 10;
}

static int setup_chunks_rarely(void **state)
{
	(void)state;
	pair_start(&pair, chunks_rarely);
	pair_connect(&pair);
	return 0;
}

static int setup_default(void **state)
{
	(void)state;
	pair_start(&pair, NULL);
	pair_connect(&pair);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(pair.closed, 0);
	pair_stop(&pair);
	return 0;
}

/*
 * Returns the size to test after 'size'. Simulation is slow. Therefore, over sim, the sizes near
 * the thresholds are all tested, and only a sample of the others.
 */
static uint32_t next_size(uint32_t size)
{
	if (!pair.world || size < 64 || (size > 880 && size < 1100) || size > 3900)
		return size + 1;
	return size + 13;
}

static void check_data(struct outcome *outcome, struct weir_call *call,
		       const struct weir_result *result)
{
	const void *data;
	uint32_t len;

	assert_int_equal(result->status, 0);
	assert_int_equal(result->reply->accept_stat, WEIR_RPC_SUCCESS);
	assert_int_equal(weir_result_opaque(call, result, 0, &data, SIZE_MAX_BYTES, &len), 0);
	assert_int_equal(len, outcome->bytes);
	assert_memory_equal(data, served, len);
	assert_int_equal(weir_xdr_remaining(result->results), 0);
}

static void read_one(uint32_t size, bool offers_chunk)
{
	struct weir_call_params params;
	struct outcome outcome;
	struct weir_call *call;

	outcome_init(&outcome, &pair);
	outcome.bytes = size;
	outcome.check = check_data;
	params = pair_params(PAIR_READ, &outcome);
	params.results_max_bytes = offers_chunk ? 4 : 8 + size;
	memset(pair.client_mem, 0xee, size + 8);
	call = weir_call_begin(pair.conn, &params);
	weir_xdr_put_u32(weir_call_args(call), size);
	if (offers_chunk)
		assert_int_equal(
			weir_call_result_item(call, pair.client_region, pair.client_mem, size), 0);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &outcome.done, 1);
	if (offers_chunk) /* the byte after the data is unchanged (RFC 8166 section 3.4.6) */
		for (uint32_t i = 0; i < 8; i++)
			assert_int_equal(pair.client_mem[size + i], 0xee);
}

static void sizes__read(void **state)
{
	(void)state;
	for (uint32_t size = 1; size <= SIZE_MAX_BYTES; size = next_size(size)) {
		read_one(size, true);
		read_one(size, false);
	}
}

/*
 * Returns whether the data of a WRITE are sent in a Read chunk. Version 2 uses Read chunks only
 * where they are necessary. The result is not valid for connections with the extension, which sends
 * data in other ways.
 */
static bool is_by_chunk(uint32_t size)
{
	uint32_t least = pair.conn->vers == RDMA1_VERSION ? pair.client->chunk_bytes : 0;
	uint32_t bytes = RDMA1_HEADER_MIN + pair.conn->extra_bytes + WEIR_RPC_CALL_HEADER_MIN + 12 +
			 size + weir_xdr_pad(size);

	return bytes > pair.conn->send_inline || (least > 0 && size >= least);
}

static uint64_t read_chunks(void)
{
	struct engine_counters stats = {0};

	test_counters(pair.client, &stats);
	return stats.read_chunks;
}

static void sizes__write(void **state)
{
	uint64_t chunks = read_chunks();

	(void)state;
	for (uint32_t size = 1; size <= SIZE_MAX_BYTES; size = next_size(size)) {
		struct weir_call_params params;
		struct outcome outcome;
		struct weir_call *call;
		uint32_t sum = 0;

		for (uint32_t i = 0; i < size; i++) {
			pair.client_mem[i] = pair_byte(i + size);
			sum = sum * 33 + pair.client_mem[i];
		}
		outcome_init(&outcome, &pair);
		params = pair_params(PAIR_WRITE, &outcome);
		call = weir_call_begin(pair.conn, &params);
		weir_xdr_put_u32(weir_call_args(call), size);
		assert_int_equal(
			weir_call_arg_item(call, pair.client_region, pair.client_mem, size), 0);
		weir_xdr_put_u32(weir_call_args(call), 5);
		assert_int_equal(weir_call_submit(call), 0);
		pair_until(&pair, &outcome.done, 1);
		assert_int_equal(outcome.status, 0);
		assert_int_equal(outcome.words[0], size + 5);
		assert_int_equal(outcome.words[1], size);
		assert_int_equal(outcome.words[2], sum);
		chunks += is_by_chunk(size);
		if (pair_extension == WEIR_EXTENSION_OFF)
			assert_int_equal(read_chunks(), chunks);
	}
}

static void sizes__echo(void **state)
{
	(void)state;
	memcpy(pair.client_mem, served, SIZE_MAX_BYTES);
	for (uint32_t size = 1; size <= SIZE_MAX_BYTES; size = next_size(size)) {
		struct weir_call_params params;
		struct outcome outcome;
		struct weir_call *call;

		outcome_init(&outcome, &pair);
		outcome.bytes = size;
		outcome.check = check_data;
		params = pair_params(PAIR_ECHO, &outcome);
		params.results_max_bytes = 8 + size;
		call = weir_call_begin(pair.conn, &params);
		/*
		 * The data are passed by reference: gathered inline, or sent as a Long Call of
		 * several segments.
		 */
		assert_int_equal(
			weir_call_arg_item(call, pair.client_region, pair.client_mem, size), 0);
		assert_int_equal(weir_call_submit(call), 0);
		pair_until(&pair, &outcome.done, 1);
		assert_int_equal(outcome.status, 0);
	}
}

PAIR_SETUP_MORE(setup_1k_more, setup_1k)
PAIR_SETUP_MORE(setup_default_more, setup_default)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sizes__read, setup_1k, teardown),
		cmocka_unit_test_setup_teardown(sizes__write, setup_1k, teardown),
		cmocka_unit_test_setup_teardown(sizes__echo, setup_1k_more, teardown),
		cmocka_unit_test_setup_teardown(sizes__write, setup_chunks_always, teardown),
		cmocka_unit_test_setup_teardown(sizes__write, setup_chunks_rarely, teardown),
		cmocka_unit_test_setup_teardown(sizes__read, setup_default, teardown),
		cmocka_unit_test_setup_teardown(sizes__write, setup_default, teardown),
		cmocka_unit_test_setup_teardown(sizes__echo, setup_default_more, teardown),
	};

	for (uint32_t i = 0; i < SIZE_MAX_BYTES; i++)
		served[i] = pair_byte(i);
	return cmocka_run_group_tests_name("sizes", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
