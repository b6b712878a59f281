/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a requester with data that are placed by Sends (rtrext-01 sections 3.3, 7.3 and 7.4).
 * The responder is a raw peer, which sends what the test composes.
 */
#include "pair_main.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "raw_place.h"
#include "requester.h"
#include "sim.h"

static struct pair pair;
static struct raw raw;
static struct weir_conn *conn;
static struct outcome outcome;

static int teardown(void **state)
{
	(void)state;
	raw_end(&raw);
	return 0;
}

static int setup(void **state)
{
	const struct words properties = place_connprop(0);

	(void)state;
	pair_client_protocol = WEIR_PROTOCOL_V2;
	place_open(&raw, &pair);
	raw_serve_v2(&raw, &properties);
	conn = pair.conn;
	return 0;
}

static void expect_idle(void)
{
	raw_settle(&raw);
	assert_int_equal(requester_of(conn)->credits.in_flight, 0);
	assert_int_equal(pair.client->nwindows_free, pair.client->nwindows);
	assert_int_equal(pair.client->send_pool->in_use,
			 1); /* the buffer of zeros that the engine holds */
}

/* Begins a WRITE of 'len' bytes of the client's memory, and checks the message. Returns the XID. */
static uint32_t begin_write(uint32_t len)
{
	uint32_t w[32], used, ntbsns = (len + TARGET - 1) / TARGET;
	uint8_t msg[RAW_BUF];

	place_submit_write(&pair, &outcome, len);
	used = raw_recv(&raw, msg);
	assert_int_equal(used, LEAD + len);
	for (uint32_t i = 0; i < 32; i++)
		w[i] = be32toh(((const uint32_t *)(const void *)msg)[i]);
	assert_int_equal(w[5], XMTREQ);
	assert_int_equal(w[7], 1);
	assert_int_equal(w[8], 48);
	assert_int_equal(w[9], len);
	assert_int_equal(w[10], TBSN);
	assert_int_equal(w[11], 0);
	assert_int_equal(w[12], ntbsns);
	assert_int_equal(w[13], 0);
	used = 28 + w[6] + 52;
	assert_int_equal(w[13 + ntbsns], 0); /* the number of directions */
	assert_int_equal(w[16 + ntbsns], 52);
	for (uint32_t i = used; i < LEAD; i++)
		assert_int_equal(msg[i], 0);
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(msg[LEAD + i], pair_byte(i));
	return w[0];
}

static void write__3_3_takes_one_message(void **state)
{
	struct words r = {0};
	uint32_t xid = begin_write(5001);

	(void)state;
	words_put(&r, 10, xid, 2, 16, 5, REPLY, XMTRESP, 12, 0, 1, 36);
	words_put(&r, 9, xid, 1, 0, 0, 0, 0, 11, 5001, place_checksum(5001));
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(pair_stats(pair.client).placed_sent, 1);
	assert_int_equal(pair_stats(pair.client).windows_bound, 0);
	assert_int_equal(pair_stats(pair.client).bulk_copies, 0);
	expect_idle();
}

static void write__5_4_that_is_refused_goes_by_the_base(void **state)
{
	struct words m = {0}, r = {0};
	uint32_t xid = begin_write(5000);

	(void)state;
	words_put(&r, 15, xid, 2, 16, 5, REPLY, REPTERR, 32, xid, CALL, 0, 0, BADTBSN, 0, 0, 0);
	raw_send_words(&raw, &r);
	raw_recv_words(&raw, &m);
	assert_int_equal(m.w[0], xid);
	assert_int_equal(m.w[3], 0);
	assert_int_equal(m.w[6], 1); /* a Read chunk */
	assert_int_equal(m.w[7], 48);
	assert_int_equal(m.w[9], 5000);
	r.n = 0;
	words_put(&r, 9, xid, 2, 16, 0, REPLY, 0, 0, 0, 0);
	words_put(&r, 9, xid, 1, 0, 0, 0, 0, 11, 5000, place_checksum(5000));
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	expect_idle();
}

/*
 * Checks a WRITE whose data are longer than all targets of a receive. The data are read by RDMA
 * Read (explicit RDMA).
 */
static void write__too_long_goes_by_explicit_rdma(void **state)
{
	struct weir_call_params params;
	struct weir_call *call;
	struct words m = {0};

	(void)state;
	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_WRITE, &outcome);
	call = weir_call_begin(conn, &params);
	weir_xdr_put_u32(weir_call_args(call), 5);
	assert_int_equal(
		weir_call_arg_item(call, pair.client_region, pair.client_mem, NUMBER * TARGET + 1),
		0);
	weir_xdr_put_u32(weir_call_args(call), 6);
	assert_int_equal(weir_call_submit(call), 0);
	raw_recv_words(&raw, &m);
	assert_int_equal(m.w[3], 0);
	assert_int_equal(m.w[6], 1);
	assert_int_equal(pair_stats(pair.client).fallbacks_limits, 1);
	assert_int_equal(pair_stats(pair.client).placed_sent, 0);
}

static void check_read(struct outcome *o, struct weir_call *call, const struct weir_result *result)
{
	const void *data;
	uint32_t len;

	assert_int_equal(result->status, 0);
	assert_int_equal(result->item_bytes[0], WEIR_ITEM_INLINE);
	assert_int_equal(weir_result_opaque(call, result, 0, &data, 10000, &len), 0);
	assert_int_equal(len, o->bytes);
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(((const uint8_t *)data)[i], pair_byte(i));
	o->arg = (void *)(uintptr_t)data;
}

/* the length that a direction of type BYSIZE must state */
static uint32_t by_size = NUMBER * TARGET;

/*
 * Begins a READ of at most 'max' bytes. Checks that its direction has type 'type'. Returns the XID.
 */
static uint32_t begin_read(uint32_t max, uint32_t type)
{
	struct weir_call_params params;
	struct weir_call *call;
	struct words m = {0};

	outcome_init(&outcome, &pair);
	outcome.check = check_read;
	params = pair_params(PAIR_READ, &outcome);
	params.results_max_bytes = 64;
	call = weir_call_begin(conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), max);
	assert_int_equal(weir_call_result_item(call, pair.client_region, pair.client_mem, max), 0);
	assert_int_equal(weir_call_submit(call), 0);
	raw_recv_words(&raw, &m);
	assert_int_equal(m.w[5], XMTREQ);
	assert_int_equal(m.w[7], 0);
	assert_int_equal(m.w[8], 1);
	assert_int_equal(m.w[11], 1);
	assert_int_equal(m.w[12], 256);
	assert_int_equal(m.w[13], type);
	if (type == BYSIZE)
		assert_int_equal(m.w[14], by_size);
	return m.w[0];
}

/*
 * Sends the reply to a READ. The data of the reply are in the targets of 'item', and 'word' is the
 * length that the results state.
 */
static void send_read_reply(uint32_t xid, const struct place_item *item, uint32_t word)
{
	struct words m = {0};
	uint8_t msg[BUFFER] = {0};

	words_put(&m, 7, xid, 2, 16, 5, REPLY, XMTRESP, 0);
	words_put(&m, 6, 1, 28, item->len, TBSN, item->offset, item->ntbsns);
	for (uint32_t i = 0; i < item->ntbsns; i++)
		words_put(&m, 1, item->tbsns[i]);
	words_put(&m, 2, 1, 28);
	m.w[6] = htobe32((m.n - 7) * 4);
	words_put(&m, 7, xid, 1, 0, 0, 0, 0, word);
	memcpy(msg, m.w, m.n * 4);
	raw_send(&raw, msg, place_lay(msg, item, LEAD));
}

static void read__7_4_is_used_where_it_lies(void **state)
{
	static const struct place_item items[] = {
		{1000, 0, 1, {0}}, {5000, 0, 3, {0, 1, 2}}, {300, 2044, 2, {1, 2}}, {0, 0, 0, {0}}};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t xid = begin_read(5000, TBSN);

		memset(pair.client_mem, 0, 5000);
		outcome.bytes = items[i].len;
		send_read_reply(xid, &items[i], items[i].len);
		raw_until(&raw, &outcome.done, 1);
		if (items[i].len > 0)
			assert_false((uint8_t *)outcome.arg >= pair.client_mem &&
				     (uint8_t *)outcome.arg < pair.client_mem + 5000);
		expect_idle();
	}
	assert_int_equal(pair_stats(pair.client).placed_received, 4);
	assert_int_equal(pair_stats(pair.client).windows_bound, 0);
	assert_int_equal(pair_stats(pair.client).bulk_copies, 0);
}

static void read__in_targets_apart_is_put_together(void **state)
{
	static const struct place_item item = {3000, 0, 2, {0, 2}};
	uint32_t xid = begin_read(5000, TBSN);

	(void)state;
	outcome.bytes = 3000;
	send_read_reply(xid, &item, 3000);
	raw_until(&raw, &outcome.done, 1);
	assert_ptr_equal(outcome.arg, pair.client_mem);
	assert_int_equal(pair_stats(pair.client).bulk_copies, 1);
	expect_idle();
}

/*
 * Checks a READ whose result can be longer than the targets. Its direction also names memory for
 * such a result.
 */
static void read__7_4_of_more_than_the_targets_is_by_size(void **state)
{
	static const struct place_item item = {1000, 0, 1, {0}};
	uint32_t xid = begin_read(NUMBER * TARGET + 1, BYSIZE);

	(void)state;
	outcome.bytes = 1000;
	send_read_reply(xid, &item, 1000);
	raw_until(&raw, &outcome.done, 1);
	expect_idle();
}

/*
 * Checks a READ for which copying costs more than an RDMA Write. Its direction names memory, to
 * which such a result is written.
 */
static void read__of_more_than_copies_are_worth_is_by_size(void **state)
{
	static const struct place_item item = {1000, 0, 1, {0}};
	struct weir_profile *costs = &pair.client->profile;

	(void)state;
	costs->operation_ns = 1;
	costs->copy_ns = 3;
	by_size = 1024;
	for (uint32_t max = 1024; max <= 1025; max++) {
		uint32_t xid = begin_read(max, max == 1024 ? TBSN : BYSIZE);

		outcome.bytes = 1000;
		send_read_reply(xid, &item, 1000);
		raw_until(&raw, &outcome.done, 1);
		expect_idle();
	}
	by_size = NUMBER * TARGET;
}

/*
 * Answers a report in one of three ways, by how % 3: with the reply by the base protocol, with an
 * error, or with a reply that has another wrong item.
 */
static void answer_report(uint32_t xid, uint32_t how)
{
	static const struct place_item wrong = {1000, 0, 1, {3}};
	struct words r = {0};

	raw_settle(&raw);
	assert_int_equal(outcome.done, 0);
	assert_int_equal(requester_of(conn)->credits.in_flight, 1);
	if (how % 3 == 0) {
		outcome.check = check_read;
		outcome.bytes = 300;
		words_put(&r, 9, xid, 2, 16, 0, REPLY, 0, 0, 0, 0);
		words_put(&r, 7, xid, 1, 0, 0, 0, 0, 300);
		for (uint32_t i = 0; i < 300; i++)
			((uint8_t *)r.w)[r.n * 4 + i] = pair_byte(i);
		r.n += 75;
		raw_send_words(&raw, &r);
	} else if (how % 3 == 1) {
		words_put(&r, 5, xid, 2, 16, 4, 6); /* RDMA2_ERR_SYSTEM */
		raw_send_words(&raw, &r);
	} else {
		send_read_reply(xid, &wrong, wrong.len);
	}
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, how % 3 == 0 ? 0 : how % 3 == 1 ? -EREMOTEIO : -EBADMSG);
}

static void read__9_5_whose_place_is_wrong_is_reported(void **state)
{
	static const struct {
		struct place_item item;
		uint32_t err, value, min, max;
	} cases[] = {
		{{1000, 0, 1, {3}}, BADTBSN, 3, 0, 2},
		{{3000, 0, 2, {0, 0}}, BADOFF, 0, TARGET, TARGET - 4},
		{{1000, 6, 1, {0}}, BADOFF, 6, 0, TARGET - 4},
		{{3000, 0, 1, {0}}, BADTBSN, 0, 0, 2},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t xid = begin_read(5000, TBSN);
		struct words r = {0};

		outcome.check = NULL;
		send_read_reply(xid, &cases[i].item, cases[i].item.len);
		raw_recv_words(&raw, &r);
		assert_int_equal(r.w[4], CALL);
		assert_int_equal(r.w[5], REPTERR);
		assert_int_equal(r.w[7], xid);
		assert_int_equal(r.w[8], REPLY);
		assert_int_equal(r.w[11], cases[i].err);
		assert_int_equal(r.w[12], cases[i].value);
		assert_int_equal(r.w[13], cases[i].min);
		assert_int_equal(r.w[14], cases[i].max);
		answer_report(xid, i);
		expect_idle();
	}
}

static void read__that_is_not_what_its_entry_says_ends_the_call(void **state)
{
	static const struct place_item other = {1000, 0, 1, {0}}, apart = {5004, 0, 3, {0, 2, 1}};
	uint32_t xid = begin_read(5000, TBSN);

	(void)state;
	outcome.check = NULL;
	/* the length word in the results states another length */
	send_read_reply(xid, &other, 1004);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, -EBADMSG);
	expect_idle();
	xid = begin_read(5000, TBSN);
	outcome.check = NULL;
	/* the data are in several targets out of order, and are too long to be assembled */
	send_read_reply(xid, &apart, 5004);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, -EBADMSG);
	expect_idle();
	assert_int_equal(pair_stats(pair.client).reports_sent, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* ---- both sides ---- */

static void large_targets(struct weir_profile *profile)
{
	profile->lead_bytes = LEAD;
	profile->targets = 2;
	profile->target_bytes = 16384;
}

/* Creates a pair over sim whose device gathers no more elements than placement needs. */
static int setup_both(void **state)
{
	static struct sim_options wires;

	(void)state;
	sim_options_init(&wires);
	wires.attr.max_sge = ENGINE_PLACE_SGES;
	pair_wires = &wires;
	pair_client_protocol = pair_server_protocol = WEIR_PROTOCOL_V2;
	pair_extension = WEIR_EXTENSION_PLACEMENT;
	pair_start(&pair, large_targets);
	pair_connect(&pair);
	return 0;
}

static int teardown_both(void **state)
{
	(void)state;
	pair_stop(&pair);
	pair_wires = NULL;
	return 0;
}

static void check_both(struct outcome *o, struct weir_call *call, const struct weir_result *result)
{
	static const uint32_t lens[] = {363, 4086}, seeds[] = {1, 2};
	uint32_t word;

	(void)o;
	assert_int_equal(result->status, 0);
	for (uint32_t i = 0; i < 2; i++) {
		const void *data;
		uint32_t len;

		assert_int_equal(result->item_bytes[i], WEIR_ITEM_INLINE);
		weir_xdr_get_u32(result->results, &word);
		assert_int_equal(weir_result_opaque(call, result, i, &data, 5000, &len), 0);
		assert_int_equal(len, lens[i]);
		for (uint32_t k = 0; k < len; k++)
			assert_int_equal(((const uint8_t *)data)[k], pair_byte(k + seeds[i]));
	}
}

/* Checks two items between which there are more data than a send buffer holds. */
static void both__of_two_items_with_a_long_gap(void **state)
{
	struct weir_call_params params;
	struct weir_call *call;

	(void)state;
	outcome_init(&outcome, &pair);
	outcome.check = check_both;
	for (uint32_t i = 0; i < 5000; i++) {
		pair.client_mem[i] = pair_byte(i + 1);
		pair.client_mem[8192 + i] = pair_byte(i + 2);
	}
	params = pair_params(PAIR_MULTI, &outcome);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), 0xa);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, 363), 0);
	weir_xdr_put_u32(weir_call_args(call), 0xb);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem + 8192, 4086),
			 0);
	weir_xdr_put_u32(weir_call_args(call), 0xc);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(weir_call_result_item(call, pair.client_region,
						       pair.client_mem + (1u << 20) + i * 8192,
						       5000),
				 0);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &outcome.done, 1);
	assert_int_equal(pair_stats(pair.client).placed_sent, 2);
	assert_int_equal(pair_stats(pair.client).placed_received, 2);
	assert_int_equal(pair_stats(pair.client).bulk_copies + pair_stats(pair.server).bulk_copies,
			 0);
	assert_int_equal(pair_stats(pair.client).fallbacks_limits, 0);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		T(write__3_3_takes_one_message),
		T(write__5_4_that_is_refused_goes_by_the_base),
		T(write__too_long_goes_by_explicit_rdma),
		T(read__7_4_is_used_where_it_lies),
		T(read__in_targets_apart_is_put_together),
		T(read__7_4_of_more_than_the_targets_is_by_size),
		T(read__of_more_than_copies_are_worth_is_by_size),
		T(read__9_5_whose_place_is_wrong_is_reported),
		T(read__that_is_not_what_its_entry_says_ends_the_call),
		cmocka_unit_test_setup_teardown(both__of_two_items_with_a_long_gap, setup_both,
						teardown_both),
	};

	return cmocka_run_group_tests_name("wire_rtr_placed", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
