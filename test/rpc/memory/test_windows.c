/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the exposure policy 'window': which access the keys of a call give to a peer, and until
 * when (RFC 8166 sections 4.4.1, 4.5.4 and 8.1; RFC 8797). In most tests the responder is a raw
 * peer, which uses keys as the test chooses.
 */
#include "pair_main.h"

#include <errno.h>
#include <string.h>

#include "engine.h"
#include "raw.h"
#include "requester.h"
#include "sim.h"

#define LEN 5000u

static struct pair pair;
static struct raw raw;
static struct outcome outcome, other;

static int setup_with(bool may_invalidate)
{
	pair_start(&pair, NULL);
	raw_open(&raw, &pair);
	raw.may_invalidate = may_invalidate;
	raw_serve(&raw);
	return 0;
}

static int setup_plain(void **state)
{
	(void)state;
	return setup_with(false);
}

static int setup_invalidating(void **state)
{
	(void)state;
	return setup_with(true);
}

static int teardown(void **state)
{
	(void)state;
	raw_close(&raw);
	/* Until the connection has ended. Then all windows must be free, however it ended. */
	raw.qp = NULL;
	while (pair.client->nconnections > 0)
		pair_poll(&pair);
	assert_int_equal(pair.client->nwindows_free, pair.client->nwindows);
	pair_stop(&pair);
	return 0;
}

/* The first segment of a chunk in the header of a call. */
struct named {
	uint32_t handle;
	uint64_t offset;
};

static struct named named_at(const struct words *m, uint32_t at)
{
	return (struct named){m->w[at], (uint64_t)m->w[at + 2] << 32 | m->w[at + 3]};
}

static struct weir_call *begin(uint32_t proc, struct outcome *out, uint64_t timeout_ns)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(out, &pair);
	params = pair_params(proc, out);
	params.timeout_ns = timeout_ns;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	return call;
}

/* Begins a READ into the first LEN bytes of the client's region. */
static struct weir_call *start_read(struct outcome *out, uint64_t timeout_ns, struct words *m,
				    struct named *named)
{
	struct weir_call *call = begin(PAIR_READ, out, timeout_ns);

	weir_xdr_put_u32(weir_call_args(call), LEN);
	assert_int_equal(weir_call_result_item(call, pair.client_region, pair.client_mem, LEN), 0);
	assert_int_equal(weir_call_submit(call), 0);
	memset(m, 0, sizeof(*m));
	raw_recv_words(&raw, m);
	assert_int_equal(m->w[6], 1);
	*named = named_at(m, 7);
	return call;
}

/*
 * Begins a WRITE of LEN bytes. Stores the call message in 'm', and the first segment of its Read
 * chunk in 'named'.
 */
static void start_write(struct words *m, struct named *named)
{
	struct weir_call *call = begin(PAIR_WRITE, &outcome, 0);

	weir_xdr_put_u32(weir_call_args(call), 1);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, LEN), 0);
	weir_xdr_put_u32(weir_call_args(call), 2);
	assert_int_equal(weir_call_submit(call), 0);
	memset(m, 0, sizeof(*m));
	raw_recv_words(&raw, m);
	assert_int_equal(m->w[4], 1); /* a Read chunk */
	*named = named_at(m, 6);
}

/* Makes the shortest answer to the call 'm', which is an RDMA_ERROR. */
static struct words answer(const struct words *m)
{
	struct words r = {0};

	words_put(&r, 5, m->w[0], 1, 4, 4, 2);
	return r;
}

static void expect_refused(enum fabric_op op, const struct named *named)
{
	struct engine_counters before = {0};
	struct engine_counters after = {0};

	test_counters(pair.client, &before);
	assert_int_not_equal(raw_access(&raw, op, named->handle, named->offset, 8), FABRIC_OK);
	raw_settle(&raw);
	while (pair.client->nconnections > 0)
		raw_poll(&raw);
	test_counters(pair.client, &after);
	assert_int_equal(after.connections_lost, before.connections_lost + 1);
}

static void regions_have_no_key_of_their_own(void **state)
{
	(void)state;
	assert_true(pair.client->uses_windows);
	/*
	 * The responder exposes nothing and has no windows. Therefore a requester can name no
	 * memory of it.
	 */
	assert_int_equal(pair.server->nwindows, 0);
	for (uint32_t i = 0; i < 2; i++) {
		const struct weir_engine *engine = i ? pair.server : pair.client;
		const struct weir_region *region = i ? pair.server_region : pair.client_region;
		const struct mem_keys *keys = engine_keys(engine, region);
		const struct named named = {keys->lkey, keys->raddr};

		/* the key of the region can only be used to bind windows */
		assert_int_equal(keys->rkey, keys->lkey);
		if (i == 0)
			expect_refused(FABRIC_READ, &named);
	}
}

static void read_chunk__can_be_read(void **state)
{
	struct words m, r;
	struct named named;

	(void)state;
	for (uint32_t i = 0; i < LEN; i++)
		pair.client_mem[i] = pair_byte(i);
	start_write(&m, &named);
	assert_int_equal(raw_access(&raw, FABRIC_READ, named.handle, named.offset, LEN), FABRIC_OK);
	assert_memory_equal(raw.mem, pair.client_mem, LEN);
	r = answer(&m);
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, -EREMOTEIO);
	expect_refused(FABRIC_READ, &named);
}

static void read_chunk__8_1_can_not_be_written(void **state)
{
	struct named named;
	struct words m;

	(void)state;
	memset(pair.client_mem, 0x11, LEN);
	memset(raw.mem, 0x22, LEN);
	start_write(&m, &named);
	expect_refused(FABRIC_WRITE, &named);
	assert_int_equal(outcome.done, 1);
	assert_true(outcome.status < 0);
	assert_int_equal(pair.client_mem[0], 0x11);
	assert_memory_equal(pair.client_mem, pair.client_mem + 1, LEN - 1);
}

static void write_chunk__8_1_can_not_be_read(void **state)
{
	struct named named;
	struct words m;

	(void)state;
	memset(pair.client_mem, 0x11, LEN);
	memset(raw.mem, 0x22, LEN);
	start_read(&outcome, 0, &m, &named);
	expect_refused(FABRIC_READ, &named);
	assert_int_equal(outcome.done, 1);
	assert_int_equal(raw.mem[0], 0x22);
	assert_memory_equal(raw.mem, raw.mem + 1, LEN - 1);
}

static void check_ended(struct outcome *out, struct weir_call *call,
			const struct weir_result *result)
{
	(void)out;
	(void)result;
	assert_int_equal(call->nvalid, 0);
	if (pair.world)
		assert_int_equal(sim_windows_bound(pair.client->dev), 0);
}

static void reply__its_keys_have_ended_before_the_call_does(void **state)
{
	struct engine_counters stats = {0};
	struct words m, r;
	struct named named;

	(void)state;
	start_read(&outcome, 0, &m, &named);
	outcome.check = check_ended;
	memset(raw.mem, 0x33, LEN);
	assert_int_equal(raw_access(&raw, FABRIC_WRITE, named.handle, named.offset, LEN),
			 FABRIC_OK);
	r = answer(&m);
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	test_counters(pair.client, &stats);
	assert_int_equal(stats.windows_bound, 1);
	assert_int_equal(stats.keys_ended_local, 1);
	assert_int_equal(stats.keys_ended_remote, 0);
	assert_int_equal(pair.client_mem[LEN - 1], 0x33);
	memset(raw.mem, 0x44, 8);
	expect_refused(FABRIC_WRITE, &named);
	assert_int_equal(pair.client_mem[0], 0x33);
}

static void reply__8797_the_responder_ends_the_key(void **state)
{
	struct engine_counters stats = {0};
	struct words m, r;
	struct named named;

	(void)state;
	start_read(&outcome, 0, &m, &named);
	outcome.check = check_ended;
	r = answer(&m);
	raw_send_inv(&raw, &r, named.handle);
	raw_until(&raw, &outcome.done, 1);
	test_counters(pair.client, &stats);
	assert_int_equal(stats.keys_ended_local, 0);
	assert_int_equal(stats.keys_ended_remote, 1);
	expect_refused(FABRIC_WRITE, &named);
}

static void reply__8797_a_key_of_another_call_ends_the_connection(void **state)
{
	struct words m, r;
	struct named named, named_other;

	(void)state;
	/* Makes one call. Its reply grants more than one credit. */
	start_read(&outcome, 0, &m, &named);
	r = answer(&m);
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	start_read(&other, 0, &m, &named_other);
	start_read(&outcome, 0, &m, &named);
	r = answer(&m);
	raw_send_inv(&raw, &r, named_other.handle);
	while (pair.client->nconnections > 0)
		raw_poll(&raw);
	assert_int_equal(outcome.done, 1);
	assert_int_equal(outcome.status, -EPROTO);
	assert_int_equal(other.done, 1);
	assert_int_equal(other.status, -EPROTO);
}

static void timeout__4_5_4_memory_comes_back_when_its_key_has_ended(void **state)
{
	struct named named, of_other;
	struct engine_counters stats = {0};
	struct words m, r;

	(void)state;
	start_read(&outcome, 0, &m, &named); /* its reply grants more credits */
	r = answer(&m);
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	start_read(&outcome, 20000000, &m, &named);
	outcome.check = check_ended;
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, -ETIMEDOUT);
	/* The connection stays open for other calls ... */
	assert_true(weir_conn_is_open(pair.conn));
	start_read(&other, 0, &m, &of_other);
	r = answer(&m);
	raw_send_words(&raw, &r);
	raw_until(&raw, &other.done, 1);
	test_counters(pair.client, &stats);
	assert_int_equal(stats.calls_timed_out, 1);
	assert_int_equal(stats.keys_ended_local, 3);
	/* ... until the responder uses a key that was invalidated. */
	memset(pair.client_mem, 0x55, LEN);
	expect_refused(FABRIC_WRITE, &named);
	assert_int_equal(pair.client_mem[0], 0x55);
	assert_int_equal(outcome.done, 1);
}

static void timeout__a_late_reply_is_dropped(void **state)
{
	struct engine_counters before = {0};
	struct engine_counters after = {0};
	struct words m, r;
	struct named named;

	(void)state;
	test_counters(pair.client, &before);
	start_read(&outcome, 20000000, &m, &named);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, -ETIMEDOUT);
	assert_int_equal(pair.client->nwindows - pair.client->nwindows_free,
			 1); /* so that the key does not become valid again */
	r = answer(&m);
	raw_send_words(&raw, &r);
	raw_settle(&raw);
	test_counters(pair.client, &after);
	assert_int_equal(outcome.done, 1);
	assert_int_equal(after.connections_lost, before.connections_lost);
	assert_int_equal(pair.client->nwindows, pair.client->nwindows_free);
	/* succeeds, because the only credit is available again */
	start_read(&other, 0, &m, &named);
}

static void cancel__4_4_1_memory_comes_back_when_its_key_has_ended(void **state)
{
	struct engine_counters stats = {0};
	struct weir_call *call;
	struct named named;
	struct words m;

	(void)state;
	call = start_read(&outcome, 0, &m, &named);
	outcome.check = check_ended;
	assert_int_equal(weir_call_cancel(call), 0);
	assert_int_equal(outcome.done, 0);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, -ECANCELED);
	assert_int_equal(weir_call_cancel(call), -EINVAL);
	assert_true(weir_conn_is_open(pair.conn));
	test_counters(pair.client, &stats);
	assert_int_equal(stats.calls_timed_out, 0);
	assert_int_equal(stats.keys_ended_local, 1);
	expect_refused(FABRIC_WRITE, &named);
}

/* Checks that all keys have ended when a connection is lost. */
static void lost__4_4_1_all_keys_have_ended(void **state)
{
	struct named named;
	struct words m;

	(void)state;
	start_read(&outcome, 0, &m, &named);
	outcome.check = check_ended;
	raw.ops->disconnect(raw.qp);
	while (pair.client->nconnections > 0)
		raw_poll(&raw);
	assert_int_equal(outcome.done, 1);
	/* RDMA devices report a disconnect as an orderly end. */
	assert_int_equal(outcome.status, pair_is_rdma() ? -ESHUTDOWN : -ECONNRESET);
}

#define RAW_TEST(name) cmocka_unit_test_setup_teardown(name, setup_plain, teardown)
#define INV_TEST(name) cmocka_unit_test_setup_teardown(name, setup_invalidating, teardown)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		RAW_TEST(regions_have_no_key_of_their_own),
		RAW_TEST(read_chunk__can_be_read),
		RAW_TEST(read_chunk__8_1_can_not_be_written),
		RAW_TEST(write_chunk__8_1_can_not_be_read),
		RAW_TEST(reply__its_keys_have_ended_before_the_call_does),
		INV_TEST(reply__8797_the_responder_ends_the_key),
		INV_TEST(reply__8797_a_key_of_another_call_ends_the_connection),
		RAW_TEST(timeout__4_5_4_memory_comes_back_when_its_key_has_ended),
		RAW_TEST(timeout__a_late_reply_is_dropped),
		RAW_TEST(cancel__4_4_1_memory_comes_back_when_its_key_has_ended),
		RAW_TEST(lost__4_4_1_all_keys_have_ended),
	};

	return cmocka_run_group_tests_name("windows", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
