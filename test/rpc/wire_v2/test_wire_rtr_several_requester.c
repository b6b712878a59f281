/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a requester with items and directions in calls and replies of several transmissions
 * (rtrext-01 sections 4, 5.4, 7 and 9). The responder is a raw peer, which sends what the test
 * composes.
 */
#include "pair_main.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "raw_place.h"
#include "conn_v2.h"
#include "requester.h"

#define ALL_TARGETS (NUMBER * TARGET)

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

/*
 * Connects to a raw responder that grants 'credits' credits. It accepts requests of up to 'limit'
 * transmissions, and sends replies of up to 'limit' transmissions.
 */
static void begin(uint32_t credits, uint32_t limit)
{
	const struct words properties = place_connprop_several(0, credits, limit);

	pair_client_protocol = WEIR_PROTOCOL_V2;
	place_open_as(&raw, &pair, WEIR_EXTENSION_ALL);
	raw_serve_v2(&raw, &properties);
	conn = pair.conn;
}

static int setup(void **state)
{
	(void)state;
	begin(16, 4);
	return 0;
}

static int setup_two_credits(void **state)
{
	(void)state;
	begin(2, 4);
	return 0;
}

static int setup_alone(void **state)
{
	(void)state;
	begin(16, 1);
	return 0;
}

static void expect_idle(void)
{
	raw_settle(&raw);
	assert_int_equal(requester_of(conn)->credits.in_flight, 0);
	assert_int_equal(requester_of(conn)->reply_reserved, 0);
	assert_int_equal(pair.client->nwindows_free, pair.client->nwindows);
	assert_int_equal(pair.client->send_pool->in_use,
			 1); /* the buffer of zeros that the engine holds */
	assert_int_equal(pair.client->bulk_pool->in_use, 0);
}

/* ---- arguments ---- */

static void submit_write(uint32_t len)
{
	place_submit_write(&pair, &outcome, len);
}

/* Begins a WRITE of 'len' bytes, and checks that it has 'count' transmissions. Returns the XID. */
static uint32_t begin_write(uint32_t len, uint32_t count)
{
	uint32_t ntbsns = (len + TARGET - 1) / TARGET, done = 0, xid = 0;

	submit_write(len);
	for (uint32_t n = 0; n < count; n++) {
		uint8_t msg[RAW_BUF];
		uint32_t bytes = raw_recv(&raw, msg), w[40], used = 40, here = len - done;

		for (uint32_t i = 0; i < 40; i++)
			w[i] = be32toh(((const uint32_t *)(const void *)msg)[i]);
		assert_int_equal(w[3], 5);
		assert_int_equal(w[4], CALL);
		assert_int_equal(w[5], n == 0 ? XMTREQ : XMTCONT);
		if (n == 0) {
			xid = w[0];
			assert_int_equal(w[7], 1);
			assert_int_equal(w[8], 48);
			assert_int_equal(w[9], len);
			assert_int_equal(w[10], TBSN);
			assert_int_equal(w[12], ntbsns);
			for (uint32_t i = 0; i < ntbsns; i++)
				assert_int_equal(w[13 + i], i);
			assert_int_equal(w[14 + ntbsns], count);
			assert_int_equal(w[16 + ntbsns], 52);
			used = 28 + w[6] + 52;
		} else {
			assert_int_equal(w[0], xid);
			assert_int_equal(w[7], n);
			assert_int_equal(w[8], XMTREQ);
			assert_int_equal(w[9], 0);
		}
		if (here > ALL_TARGETS)
			here = ALL_TARGETS;
		assert_int_equal(bytes, LEAD + here);
		for (uint32_t i = used; i < LEAD; i++)
			assert_int_equal(msg[i], 0);
		for (uint32_t i = 0; i < here; i++)
			assert_int_equal(msg[LEAD + i], pair_byte(done + i));
		done += here;
	}
	assert_int_equal(done, len);
	return xid;
}

static void reply_write(uint32_t xid, uint32_t len)
{
	struct words r = {0};

	words_put(&r, 10, xid, 2, 16, 5, REPLY, XMTRESP, 12, 0, 1, 36);
	words_put(&r, 9, xid, 1, 0, 0, 0, 0, 11, len, place_checksum(len));
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	expect_idle();
}

static void write__7_takes_targets_of_several_transmissions(void **state)
{
	static const uint32_t lens[] = {ALL_TARGETS + 1, 2 * ALL_TARGETS - 1, 2 * ALL_TARGETS,
					4 * ALL_TARGETS};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t xid = begin_write(lens[i], (lens[i] + ALL_TARGETS - 1) / ALL_TARGETS);

		assert_int_equal(requester_of(conn)->credits.in_flight,
				 (lens[i] + ALL_TARGETS - 1) / ALL_TARGETS);
		reply_write(xid, lens[i]);
	}
	assert_int_equal(pair_stats(pair.client).placed_sent, 4);
	assert_int_equal(pair_stats(pair.client).continued_calls, 4);
	assert_int_equal(pair_stats(pair.client).windows_bound, 0);
	assert_int_equal(pair_stats(pair.client).bulk_copies, 0);
	assert_int_equal(pair_stats(pair.client).fallbacks_limits, 0);
}

static void write__5_4_that_is_refused_goes_by_the_base(void **state)
{
	struct words m = {0}, r = {0};
	uint32_t xid = begin_write(10000, 2);

	(void)state;
	words_put(&r, 18, xid, 2, 16, 5, REPLY, REPTERR, 44, xid, CALL, 1, 1, xid, CALL, 0, BADTBSN,
		  3, 0, 2);
	raw_send_words(&raw, &r);
	raw_recv_words(&raw, &m);
	assert_int_equal(m.w[0], xid);
	assert_int_equal(m.w[3], 0);
	assert_int_equal(m.w[6], 1); /* a Read chunk */
	assert_int_equal(m.w[9], 10000);
	r.n = 0;
	words_put(&r, 9, xid, 2, 16, 0, REPLY, 0, 0, 0, 0);
	words_put(&r, 9, xid, 1, 0, 0, 0, 0, 11, 10000, place_checksum(10000));
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(pair_stats(pair.client).fallbacks_refused, 1);
	expect_idle();
}

/*
 * Receives a Transmit Request of one transmission with an item of 'len' bytes that must be read by
 * RDMA Read, and answers the request.
 */
static void expect_item(uint32_t len)
{
	struct words m = {0}, r = {0};

	raw_recv_words(&raw, &m);
	assert_int_equal(m.w[5], XMTREQ);
	assert_int_equal(m.w[7], 1);
	assert_int_equal(m.w[9], len);
	assert_int_equal(m.w[10], EXRW);
	assert_int_equal(m.w[17], 1);
	words_put(&r, 10, m.w[0], 2, 16, 5, REPLY, XMTRESP, 12, 0, 1, 36);
	words_put(&r, 9, m.w[0], 1, 0, 0, 0, 0, 11, len, place_checksum(len));
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	expect_idle();
	assert_int_equal(pair_stats(pair.client).continued_calls, 0);
}

static void write__that_takes_more_than_the_limit_is_read(void **state)
{
	(void)state;
	submit_write(4 * ALL_TARGETS + 1);
	expect_item(4 * ALL_TARGETS + 1);
}

static void write__to_who_takes_one_transmission_is_read(void **state)
{
	(void)state;
	submit_write(10000);
	expect_item(10000);
}

static void write__4_3_without_the_credits_is_read(void **state)
{
	(void)state;
	/* needs three transmissions, more than the responder accepts */
	submit_write(2 * ALL_TARGETS + 1);
	expect_item(2 * ALL_TARGETS + 1);
	assert_int_equal(pair_stats(pair.client).fallbacks_credits, 1);
	reply_write(begin_write(2 * ALL_TARGETS, 2), 2 * ALL_TARGETS);
}

/*
 * Checks a WRITE that costs less with a chunk. Two transmissions cost one more message and a copy
 * of 9 KiB. A chunk costs three operations and a round trip.
 */
static void write__that_costs_more_than_a_read_is_read(void **state)
{
	struct weir_profile *costs = &pair.client->profile;

	(void)state;
	costs->message_ns = 100;
	costs->copy_ns = 10;
	costs->operation_ns = 20;
	costs->round_trip_ns = 129;
	submit_write(10000);
	expect_item(10000);
	costs->round_trip_ns = 130;
	reply_write(begin_write(10000, 2), 10000);
}

/* ---- items beside a long payload ---- */

static void item__7_3_goes_with_a_long_payload(void **state)
{
	struct weir_call_params params;
	struct words m = {0}, c = {0}, r = {0};
	struct weir_call *call;
	uint32_t xid, disp = 40 + 8 + 5000 + 8;

	(void)state;
	/*
	 * The connection behaves as if its responder had announced no targets, so that the data
	 * must be read by RDMA Read.
	 */
	conn->v2->places = false;
	memset(pair.client_mem, 7, 9000);
	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_MULTI, &outcome);
	params.args_max_bytes = 6000;
	call = weir_call_begin(conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), 1);
	weir_xdr_put_opaque(weir_call_args(call), pair.server_mem, 5000);
	weir_xdr_put_u32(weir_call_args(call), 2);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, 9000), 0);
	weir_xdr_put_u32(weir_call_args(call), 3);
	assert_int_equal(weir_call_submit(call), 0);
	raw_recv_words(&raw, &m);
	raw_recv_words(&raw, &c);
	xid = m.w[0];
	assert_int_equal(m.w[5], XMTREQ);
	assert_int_equal(m.w[7], 1);
	assert_int_equal(m.w[8], disp);
	assert_int_equal(m.w[9], 9000);
	assert_int_equal(m.w[10], EXRW);
	assert_int_equal(m.w[16], 0);
	assert_int_equal(m.w[17], 2);
	assert_int_equal(m.w[19], 4096 - 80);
	assert_int_equal(m.n, 1024);
	assert_int_equal(c.w[5], XMTCONT);
	assert_int_equal(c.w[9], disp + 4 - (4096 - 80));
	assert_int_equal(
		raw_access(&raw, FABRIC_READ, m.w[12], (uint64_t)m.w[14] << 32 | m.w[15], 9000),
		FABRIC_OK);
	assert_int_equal(raw.mem[8999], 7);
	assert_int_equal(requester_of(conn)->credits.in_flight, 2);
	words_put(&r, 10, xid, 2, 16, 5, REPLY, XMTRESP, 12, 0, 1, 24);
	words_put(&r, 6, xid, 1, 0, 0, 0, 0);
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(pair_stats(pair.client).long_calls, 0);
	assert_int_equal(pair_stats(pair.client).continued_calls, 1);
	expect_idle();
}

/* ---- results ---- */

static void check_read(struct outcome *o, struct weir_call *call, const struct weir_result *result)
{
	const void *data;
	uint32_t len;

	assert_int_equal(result->status, 0);
	assert_int_equal(weir_result_opaque(call, result, 0, &data, 100000, &len), 0);
	assert_int_equal(len, o->bytes);
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(((const uint8_t *)data)[i], pair_byte(i));
	o->arg = (void *)(uintptr_t)data;
}

/*
 * Begins a READ of at most 'max' bytes. Checks that its direction has type 'type', and that the
 * call reserves 'rsbuf' transmissions for the reply. Returns the XID.
 */
static uint32_t begin_read(uint32_t max, uint32_t type, uint32_t rsbuf)
{
	struct weir_call_params params;
	struct weir_call *call;
	struct words m = {0};

	memset(pair.client_mem, 0, max);
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
	assert_int_equal(m.w[13], type);
	assert_int_equal(m.w[m.n - 11 - 2], rsbuf);
	assert_int_equal(requester_of(conn)->reply_reserved, rsbuf > 1 ? rsbuf : 0);
	return m.w[0];
}

/*
 * Sends the reply to a READ in two transmissions. The data of the reply are in the targets of
 * 'item'. 'bytes' is the length of the second transmission, or 0 for as many bytes as the item
 * needs.
 */
static void send_read_reply(uint32_t xid, const struct place_item *item, uint32_t bytes)
{
	struct words m = {0};

	words_put(&m, 7, xid, 2, 16, 5, REPLY, XMTRESP, 0);
	words_put(&m, 6, 1, 28, item->len, TBSN, item->offset, item->ntbsns);
	for (uint32_t i = 0; i < item->ntbsns; i++)
		words_put(&m, 1, item->tbsns[i]);
	words_put(&m, 2, 2, 28);
	m.w[6] = htobe32((m.n - 7) * 4);
	words_put(&m, 7, xid, 1, 0, 0, 0, 0, item->len);
	for (uint32_t n = 0; n < 2; n++) {
		uint8_t msg[BUFFER] = {0};
		uint32_t end;

		memcpy(msg, m.w, m.n * 4);
		end = place_lay_in(msg, item, n, m.n * 4);
		raw_send(&raw, msg, n == 1 && bytes ? bytes : end);
		m.n = 0;
		words_put(&m, 10, xid, 2, 16, 5, REPLY, XMTCONT, 12, 1, XMTRESP, 0);
	}
}

static void read__7_4_comes_in_targets_of_several_transmissions(void **state)
{
	static const struct place_item items[] = {{8000, 0, 4, {0, 1, 2, 3}},
						  {4000, 0, 2, {3, 4}},
						  {2000, 0, 1, {1}},
						  {3000, 0, 2, {5, 0}}};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		bool is_apart = i == 0 || i == 3;
		uint32_t xid = begin_read(12000, TBSN, 2);

		outcome.bytes = items[i].len;
		send_read_reply(xid, &items[i], 0);
		raw_until(&raw, &outcome.done, 1);
		assert_int_equal(outcome.arg == (void *)pair.client_mem, is_apart);
		assert_int_equal(pair_stats(pair.client).bulk_copies, i < 3 ? 1 : 2);
		expect_idle();
	}
	assert_int_equal(pair_stats(pair.client).placed_received, 4);
	assert_int_equal(pair_stats(pair.client).windows_bound, 0);
}

static void read__9_5_whose_place_is_wrong_is_reported(void **state)
{
	static const struct place_item good = {8000, 0, 4, {0, 1, 2, 3}};
	static const struct {
		struct place_item item;
		uint32_t bytes, seq, err, value, min, max;
	} cases[] = {
		{{2000, 0, 1, {6}}, 0, 0, BADTBSN, 6, 0, 5},
		{{8000, 0, 4, {0, 1, 2, 3}}, 40, 1, BADTBSN, 3, 0, 2},
		{{8000, 0, 4, {0, 1, 2, 3}}, LEAD + 8000 - ALL_TARGETS - 1, 1, BADTBSN, 3, 0, 2},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t xid = begin_read(12000, TBSN, 2), at = cases[i].seq > 0 ? 14 : 11;
		struct words r = {0};

		outcome.check = NULL;
		send_read_reply(xid, &cases[i].item, cases[i].bytes);
		raw_recv_words(&raw, &r);
		assert_int_equal(r.w[4], CALL);
		assert_int_equal(r.w[5], REPTERR);
		assert_int_equal(r.w[7], xid);
		assert_int_equal(r.w[8], REPLY);
		assert_int_equal(r.w[9], cases[i].seq);
		assert_int_equal(r.w[10], cases[i].seq > 0);
		assert_int_equal(r.w[at], cases[i].err);
		assert_int_equal(r.w[at + 1], cases[i].value);
		assert_int_equal(r.w[at + 2], cases[i].min);
		assert_int_equal(r.w[at + 3], cases[i].max);
		raw_settle(&raw);
		/* the call continues, because the responder can send the reply again */
		assert_int_equal(outcome.done, 0);
		assert_int_equal(requester_of(conn)->reply_reserved, 2);
		send_read_reply(xid, &good, 0);
		raw_until(&raw, &outcome.done, 1);
		assert_int_equal(outcome.status, 0);
		expect_idle();
	}
}

/*
 * Checks a result that must be assembled and is longer than the memory that the call offered. The
 * requester assembles it in other memory, and writes nothing after the end of the offered memory.
 */
static void read__that_is_longer_than_its_memory_is_put_together_elsewhere(void **state)
{
	static const struct place_item item = {8000, 0, 4, {0, 1, 2, 3}};
	uint32_t xid = begin_read(ALL_TARGETS + 1, TBSN, 2);

	(void)state;
	memset(pair.client_mem + ALL_TARGETS + 1, 0x5a, 8000);
	outcome.bytes = 8000;
	send_read_reply(xid, &item, 0);
	raw_until(&raw, &outcome.done, 1);
	for (uint32_t i = 0; i < 8000; i++)
		assert_int_equal(pair.client_mem[ALL_TARGETS + 1 + i], 0x5a);
	assert_int_equal(pair_stats(pair.client).bulk_copies, 1);
	expect_idle();
}

/*
 * Checks the type of directions. A result that fits the targets of the reserved transmissions gets
 * TBSN. A longer result gets BYSIZE, and the direction names memory.
 */
static void read__of_more_than_the_targets_is_by_size(void **state)
{
	static const struct place_item item = {6000, 0, 3, {0, 1, 2}};
	uint32_t xid;

	(void)state;
	xid = begin_read(4 * ALL_TARGETS, TBSN, 4);
	outcome.bytes = 6000;
	send_read_reply(xid, &item, 0);
	raw_until(&raw, &outcome.done, 1);
	expect_idle();
	xid = begin_read(4 * ALL_TARGETS + 1, BYSIZE, 1);
	outcome.check = NULL;
	weir_conn_close(conn);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, -ECONNABORTED);
}

#define T(name)	       cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TAS(name, how) cmocka_unit_test_setup_teardown(name, how, teardown)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		T(write__7_takes_targets_of_several_transmissions),
		T(write__5_4_that_is_refused_goes_by_the_base),
		T(write__that_takes_more_than_the_limit_is_read),
		TAS(write__to_who_takes_one_transmission_is_read, setup_alone),
		TAS(write__4_3_without_the_credits_is_read, setup_two_credits),
		T(write__that_costs_more_than_a_read_is_read),
		T(item__7_3_goes_with_a_long_payload),
		T(read__7_4_comes_in_targets_of_several_transmissions),
		T(read__9_5_whose_place_is_wrong_is_reported),
		T(read__that_is_longer_than_its_memory_is_put_together_elsewhere),
		T(read__of_more_than_the_targets_is_by_size),
	};

	return cmocka_run_group_tests_name("wire_rtr_several_requester", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
