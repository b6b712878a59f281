/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a protection domain for each connection (policy 'pool' with 'protection = connection').
 * A key that was given to one peer gives no access to another peer (RFC 8166 section 8.1). Two raw
 * peers are the responders of one engine.
 */
#include "pair_main.h"

#include <errno.h>
#include <string.h>

#include "engine.h"
#include "raw.h"
#include "requester.h"

#define LEN 5000u

static struct pair pair;
static struct raw raws[2];
static struct weir_conn *conns[2];
static struct outcome outcomes[2];

static void poll_both(void)
{
	raw_poll(&raws[0]);
	raw_poll(&raws[1]);
}

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, NULL);
	assert_true(pair.client->own_domains);
	for (int i = 0; i < 2; i++) {
		char addr[80];

		raw_open(&raws[i], &pair);
		pair_new_addr(addr, sizeof(addr));
		raw_listen(&raws[i], addr);
		assert_int_equal(weir_connect(pair.client, addr, NULL, &conns[i]), 0);
		raw_until(&raws[i], &raws[i].established, 1);
		while (!weir_conn_is_open(conns[i]))
			raw_poll(&raws[i]);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++)
		raw_close(&raws[i]);
	while (pair.client->nconnections > 0)
		pair_poll(&pair);
	pair_stop(&pair);
	return 0;
}

struct named {
	uint32_t xid;
	uint32_t handle;
	uint64_t offset;
};

/*
 * Begins a READ of LEN bytes on connection i. Returns the segment that the header of the call
 * names.
 */
static struct named start_read(int i)
{
	struct weir_call_params params;
	struct weir_call *call;
	struct words m = {0};

	outcome_init(&outcomes[i], &pair);
	params = pair_params(PAIR_READ, &outcomes[i]);
	call = weir_call_begin(conns[i], &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), LEN);
	assert_int_equal(weir_call_result_item(call, pair.client_region, pair.client_mem, LEN), 0);
	assert_int_equal(weir_call_submit(call), 0);
	raw_recv_words(&raws[i], &m);
	assert_int_equal(m.w[6], 1);
	return (struct named){m.w[0], m.w[7], (uint64_t)m.w[9] << 32 | m.w[10]};
}

/* Writes the result to the memory of the chunk, and ends the call with the shortest answer. */
static void finish(int i, const struct named *named)
{
	struct words r = {0};

	memset(raws[i].mem, 0x33, LEN);
	assert_int_equal(raw_access(&raws[i], FABRIC_WRITE, named->handle, named->offset, LEN),
			 FABRIC_OK);
	words_put(&r, 5, named->xid, 1, 4, 4, 2);
	raw_send_words(&raws[i], &r);
	raw_until(&raws[i], &outcomes[i].done, 1);
	assert_int_equal(outcomes[i].status, -EREMOTEIO);
	assert_int_equal(pair.client_mem[0], 0x33);
	assert_memory_equal(pair.client_mem, pair.client_mem + 1, LEN - 1);
}

static void key__each_connection_has_its_own(void **state)
{
	struct named named[2];

	(void)state;
	named[0] = start_read(0);
	named[1] = start_read(1);
	assert_int_not_equal(named[0].handle, named[1].handle);
	finish(0, &named[0]);
	finish(1, &named[1]);
	/*
	 * The next call on this connection names the same memory with the same key, which stays
	 * valid.
	 */
	assert_int_equal(start_read(0).handle, named[0].handle);
}

static void refused(enum fabric_op op)
{
	struct engine_counters before = {0};
	struct engine_counters after = {0};
	struct named named;

	memset(pair.client_mem, 0x11, LEN);
	memset(raws[1].mem, 0x22, LEN);
	named = start_read(0);
	test_counters(pair.client, &before);
	assert_int_not_equal(raw_access(&raws[1], op, named.handle, named.offset, LEN), FABRIC_OK);
	while (pair.client->nconnections > 1)
		poll_both();
	test_counters(pair.client, &after);
	assert_int_equal(after.connections_lost, before.connections_lost + 1);
	assert_int_equal(pair.client_mem[0], 0x11);
	assert_memory_equal(pair.client_mem, pair.client_mem + 1, LEN - 1);
	assert_int_equal(raws[1].mem[0], 0x22);
	assert_memory_equal(raws[1].mem, raws[1].mem + 1, LEN - 1);
	/* The connection that owns the key continues. */
	assert_int_equal(outcomes[0].done, 0);
	finish(0, &named);
	named = start_read(0);
	finish(0, &named);
	assert_int_equal(raws[0].disconnected, 0);
}

static void key__8_1_is_refused_over_another_connection_to_write(void **state)
{
	(void)state;
	refused(FABRIC_WRITE);
}

static void key__8_1_is_refused_over_another_connection_to_read(void **state)
{
	(void)state;
	refused(FABRIC_READ);
}

/*
 * Checks that no key gives access to a responder's memory: neither the values that stand for absent
 * keys, nor any key of its memory.
 */
static void responder__has_no_keys(void **state)
{
	const struct mem_keys *keys;
	struct raw *raw = &raws[0];

	(void)state;
	pair_start(&pair, NULL);
	keys = engine_keys(pair.server, pair.server_region);
	raw_open(raw, &pair);
	raw_connect(raw);
	memset(raw->mem, 0x22, 64);
	assert_int_not_equal(raw_access(raw, FABRIC_READ, keys->rkey, keys->raddr, 64), FABRIC_OK);
	assert_int_equal(raw->mem[0], 0x22);
	raw_close(raw);
	while (pair.server->nconnections > 0)
		pair_poll(&pair);
	pair_stop(&pair);
}

static void policy__not_with_shared_receives(void **state)
{
	struct weir_profile profile;
	struct weir_engine *engine;

	(void)state;
	pair_start(&pair, NULL);
	profile = pair.profile;
	profile.shared_receives = WEIR_SHARED_RECEIVES_ON;
	profile.connections = 16;
	assert_int_equal(weir_engine_create(&profile, &engine), -EINVAL);
	profile.protection = WEIR_PROTECTION_SHARED;
	assert_int_equal(weir_engine_create(&profile, &engine), 0);
	weir_engine_destroy(engine);
	/* The policy 'window' does not use domains. */
	profile.protection = WEIR_PROTECTION_CONNECTION;
	profile.exposure = WEIR_EXPOSURE_WINDOW;
	assert_int_equal(weir_engine_create(&profile, &engine), 0);
	assert_false(engine->own_domains);
	weir_engine_destroy(engine);
	pair_stop(&pair);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(key__each_connection_has_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(
			key__8_1_is_refused_over_another_connection_to_write, setup, teardown),
		cmocka_unit_test_setup_teardown(key__8_1_is_refused_over_another_connection_to_read,
						setup, teardown),
		cmocka_unit_test(responder__has_no_keys),
		cmocka_unit_test(policy__not_with_shared_receives),
	};

	return cmocka_run_group_tests_name("domains", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
