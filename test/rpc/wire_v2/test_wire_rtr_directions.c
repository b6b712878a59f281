/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of items and of directions for results, as messages (rtrext-01 sections 7.3 and 7.4): of a
 * responder, and of a requester whose responder sends what the test composes. */
#include "pair_main.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "compound.h"
#include "engine.h"
#include "raw.h"
#include "requester.h"

#define CALL	0u
#define REPLY	1u
#define XMTREQ	5u
#define XMTRESP 6u
#define REPTERR 8u

enum { EXRW = 1, TBSN, CHOICE, BYSIZE, TOOSHORT, NOITEM };

static struct pair pair;
static struct raw raw;
static struct weir_conn *conn;
static struct outcome outcome;

static int setup(void **state)
{
	(void)state;
	pair_server_protocol = WEIR_PROTOCOL_AUTO;
	pair_extension = WEIR_EXTENSION_DIRECTION;
	pair_start(&pair, NULL);
	raw_open(&raw, &pair);
	raw_connect(&raw);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	raw_end(&raw);
	return 0;
}

/* Makes the start of a message with a Transmit Request, up to the length of the operation header.
 * The caller adds that header and the payload. */
static struct words header(uint32_t xid)
{
	struct words m = {0};

	words_put(&m, 7, xid, 2, 8, 5, CALL, XMTREQ, 0);
	return m;
}

static void end_header(struct words *m, uint32_t pslen)
{
	words_put(m, 3, 1, 1, pslen);
	m->w[6] = htobe32((m->n - 7) * 4);
}

/* Makes a READ of 300 bytes with one direction for the whole call. The direction has the type
 * 'type'. */
static struct words read_call(uint32_t begin, uint32_t type, uint32_t minlen, uint32_t room)
{
	struct words m = header(9);

	words_put(&m, 7, 0, 1, begin, 44, 1, minlen, type);
	if (type == BYSIZE)
		words_put(&m, 1, 100);
	if (type != TBSN) {
		words_put(&m, 1, 2);
		raw_put_segment(&raw, &m, 100, 0);
		raw_put_segment(&raw, &m, room - 100, 1000);
	}
	end_header(&m, 44);
	words_put_rpc(&m, 9, PAIR_READ);
	words_put(&m, 1, 300);
	return m;
}

static void expect_error(uint32_t err)
{
	struct words r = {0};

	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[0], 9);
	assert_int_equal(r.w[3], 4);
	assert_int_equal(r.w[4], err);
}

/* Receives a reply that has one entry of type 'type' for 300 bytes, and 'payload' bytes of payload.
 * Returns the reply. */
static struct words expect_entry(uint32_t type, uint32_t payload)
{
	struct words r = {0};

	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[0], 9);
	assert_int_equal(r.w[3], 5);
	assert_int_equal(r.w[4], REPLY);
	assert_int_equal(r.w[5], XMTRESP);
	assert_int_equal(r.w[7], 1);
	assert_int_equal(r.w[8], type == NOITEM ? 0 : 28);
	assert_int_equal(r.w[9], type == NOITEM ? 0 : 300);
	assert_int_equal(r.w[10], type);
	assert_int_equal(r.w[6], type == EXRW ? 28 + r.w[11] * 16 : 24);
	assert_int_equal(r.n * 4, 28 + r.w[6] + payload);
	return r;
}

static void direction__7_4_an_eligible_result_is_written(void **state)
{
	static const uint32_t types[] = {EXRW, CHOICE, BYSIZE};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct words m = read_call(0, types[i], 300, 500), r;

		memset(raw.mem, 0, 2000);
		raw_send_words(&raw, &m);
		r = expect_entry(EXRW, 28);
		assert_int_equal(r.w[11], 2);
		assert_int_equal(r.w[12], raw.mr.rkey);
		assert_int_equal(r.w[13], 100);
		assert_int_equal(r.w[17], 200);
		assert_int_equal(r.w[20], 1);
		assert_int_equal(r.w[21], 28);
		for (uint32_t k = 0; k < 300; k++)
			assert_int_equal(raw.mem[k < 100 ? k : 900 + k], pair_byte(k));
		assert_int_equal(raw.mem[100], 0);
		assert_int_equal(raw.mem[1200], 0);
	}
}

static void direction__7_4_what_is_too_short_is_in_the_message(void **state)
{
	struct words m = read_call(40, EXRW, 301, 500);

	(void)state;
	raw_send_words(&raw, &m);
	expect_entry(TOOSHORT, 328);
	/* The direction asks for placement by Sends, which is not possible for this result. */
	m = read_call(40, TBSN, 0, 0);
	raw_send_words(&raw, &m);
	expect_entry(TOOSHORT, 328);
}

static void direction__of_another_part_of_the_call_is_not_used(void **state)
{
	struct words m = read_call(41, EXRW, 0, 500);

	(void)state;
	raw_send_words(&raw, &m);
	expect_entry(NOITEM, 328);
}

/* Checks a call without arguments. The end of its RPC header is the end of the call. */
static void direction__of_a_whole_call_without_arguments(void **state)
{
	struct words m = header(9);

	(void)state;
	words_put(&m, 8, 0, 1, 0, 40, 1, 0, EXRW, 1);
	raw_put_segment(&raw, &m, PAIR_FIXED_BYTES, 0);
	end_header(&m, 40);
	words_put_rpc(&m, 9, PAIR_FIXED);
	memset(raw.mem, 0, PAIR_FIXED_BYTES);
	raw_send_words(&raw, &m);
	expect_entry(EXRW, 28);
	for (uint32_t k = 0; k < PAIR_FIXED_BYTES; k++)
		assert_int_equal(raw.mem[k], pair_byte(k));
}

/* Checks directions of operations with two cases. In the first case, two READs have memory and
 * the first READ fails. In the second case, the second READ has no memory, so that its data are
 * inline. */
static void direction__7_4_of_an_operation_is_for_its_result_alone(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct words m = header(9), r = {0};

		words_put(&m, 2, 0, i == 0 ? 2 : 1);
		for (uint32_t op = 0; op < 2 - i; op++) {
			words_put(&m, 6, 44 + 8 * op, 52 + 8 * op, 1, 0, EXRW, 1);
			raw_put_segment(&raw, &m, 500, 1000 * op);
		}
		end_header(&m, 60);
		words_put_rpc(&m, 9, PAIR_COMPOUND);
		words_put(&m, 5, 2, i == 0 ? COMPOUND_FAIL : COMPOUND_READ, 300, COMPOUND_READ,
			  200);
		memset(raw.mem, 0, 2000);
		raw_send_words(&raw, &m);
		raw_recv_words(&raw, &r);
		assert_int_equal(r.w[5], XMTRESP);
		assert_int_equal(r.w[7], 2 - i);
		assert_int_equal(r.w[10], i == 0 ? NOITEM : EXRW);
		if (i == 0)
			assert_int_equal(r.w[13], EXRW);
		for (uint32_t k = 0; k < 200; k++) {
			assert_int_equal(raw.mem[k], i == 0 ? 0 : compound_byte(0, k));
			assert_int_equal(raw.mem[1000 + k], i == 0 ? compound_byte(1, k) : 0);
		}
	}
}

static void direction__one_without_room_is_a_lack_of_resource(void **state)
{
	struct words m = read_call(0, EXRW, 0, 299);

	(void)state;
	raw_send_words(&raw, &m);
	expect_error(3);
}

/* Checks a call with more directions than a reply can answer. A direction takes twelve bytes in the
 * reply and eight in the call. The reply's entries would be longer than a message and longer than a
 * header buffer. */
static void direction__more_than_a_reply_has_room_to_answer(void **state)
{
	struct words m = header(9), again;
	uint32_t i;

	(void)state;
	words_put(&m, 2, 0, 32);
	for (i = 0; i < 32; i++) {
		words_put(&m, 3, 44, 44, 14);
		for (uint32_t k = 0; k < 14; k++)
			words_put(&m, 2, 0, TBSN);
	}
	end_header(&m, 44);
	again = m;
	words_put_rpc(&m, 9, PAIR_READ);
	words_put(&m, 1, 300);
	raw_send_words(&raw, &m);
	expect_error(3);
	/* A reply that is an RPC error cannot contain the entries either. */
	words_put_rpc(&again, 9, 77);
	words_put(&again, 1, 300);
	raw_send_words(&raw, &again);
	expect_error(3);
	raw_settle(&raw);
	assert_int_equal(pair.server->send_pool->in_use, 1);
}

static void direction__errors_have_entries_too(void **state)
{
	struct words m = read_call(0, EXRW, 0, 500), r;

	(void)state;
	m.w[m.n - 11 + 5] = htobe32(77); /* no such procedure */
	raw_send_words(&raw, &m);
	r = expect_entry(NOITEM, 24);
	assert_int_equal(r.w[r.n - 1], 3);
}

/* Makes a WRITE call whose first item has 200 bytes in two segments, at position 48. The caller
 * chooses the procedure, the number of items and their type. */
static struct words write_call(uint32_t proc, uint32_t nitems, uint32_t type)
{
	struct words m = header(9);

	words_put(&m, 1, nitems);
	for (uint32_t i = 0; i < nitems; i++) {
		words_put(&m, 4, 48 + 400 * i, 200, type, type == EXRW ? 2 : 0);
		if (type == TBSN) {
			words_put(&m, 2, 1, 3);
			continue;
		}
		raw_put_segment(&raw, &m, 60, 0);
		raw_put_segment(&raw, &m, 140, 500);
	}
	words_put(&m, 1, 0);
	end_header(&m, 52);
	words_put_rpc(&m, 9, proc);
	words_put(&m, 3, 5, 200, 6);
	return m;
}

static void item__7_3_is_read(void **state)
{
	struct words m = write_call(PAIR_WRITE, 1, EXRW), r = {0};
	uint32_t sum = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		raw.mem[i] = pair_byte(i);
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	for (uint32_t i = 0; i < 200; i++)
		sum = sum * 33 + pair_byte(i < 60 ? i : 440 + i);
	assert_int_equal(r.w[5], XMTRESP);
	assert_int_equal(r.w[7], 0);
	assert_int_equal(r.w[16], 11);
	assert_int_equal(r.w[17], 200);
	assert_int_equal(r.w[18], sum);
	assert_int_equal(pair.handled, 1);
}

static void item__of_what_is_not_eligible_is_garbage(void **state)
{
	struct words m = write_call(PAIR_ECHO, 1, EXRW), r = {0};

	(void)state;
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[5], XMTRESP);
	assert_int_equal(r.w[r.n - 1], 4); /* GARBAGE_ARGS */
	assert_int_equal(pair.handled, 0);
}

static void item__6_2_by_a_target_that_there_is_not(void **state)
{
	struct words m = write_call(PAIR_WRITE, 1, TBSN), r = {0};

	(void)state;
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[5], REPTERR);
	assert_int_equal(r.w[7], 9);
	assert_int_equal(r.w[11], 7); /* BADTBSN */
	assert_int_equal(pair.handled, 0);
	raw_settle(&raw);
	assert_int_equal(raw.nmsgs, 0);
}

static void item__more_than_are_taken_are_refused(void **state)
{
	struct words m = write_call(PAIR_WRITE, 17, EXRW);
	struct engine_counters stats = {0};

	(void)state;
	raw_send_words(&raw, &m);
	expect_error(6);
	test_counters(pair.server, &stats);
	assert_int_equal(stats.limits_exceeded, 1);
}

/* ---- a requester ---- */

static int setup_requester(void **state)
{
	struct words properties = {0};

	(void)state;
	pair_client_protocol = WEIR_PROTOCOL_V2;
	pair_extension = WEIR_EXTENSION_DIRECTION;
	pair_start(&pair, NULL);
	raw_open(&raw, &pair);
	words_put(&properties, 10, 0, 2, 16, 6, 1, 3, 4, 3, 1, 1);
	raw_serve_v2(&raw, &properties);
	conn = pair.conn;
	return 0;
}

static void check_read(struct outcome *o, struct weir_call *call, const struct weir_result *result)
{
	const void *data;
	uint32_t len;

	assert_int_equal(result->status, 0);
	assert_int_equal(weir_result_opaque(call, result, 0, &data, 1000, &len), 0);
	assert_int_equal(len, 8);
	assert_int_equal(*(const uint8_t *)data, 0x5a);
	assert_int_equal(result->item_bytes[0] == WEIR_ITEM_INLINE, o->bytes);
}

/* Begins a READ of up to 1,000 bytes. Returns the message with its Transmit Request. */
static struct words begin_read(void)
{
	struct weir_call_params params;
	struct weir_call *call;
	struct words m = {0};

	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_READ, &outcome);
	params.results_max_bytes = 64;
	call = weir_call_begin(conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), 8);
	assert_int_equal(weir_call_result_item(call, pair.client_region, pair.client_mem, 1000), 0);
	assert_int_equal(weir_call_submit(call), 0);
	raw_recv_words(&raw, &m);
	assert_int_equal(m.w[3], 5);
	assert_int_equal(m.w[5], XMTREQ);
	assert_int_equal(m.w[7], 0);
	assert_int_equal(m.w[8], 1);
	assert_int_equal(m.w[9], 0);
	assert_int_equal(m.w[10], 44);
	assert_int_equal(m.w[11], 1);
	assert_int_equal(m.w[12], 256);
	assert_int_equal(m.w[13], EXRW);
	assert_int_equal(m.w[14], 1);
	assert_int_equal(m.w[16], 1000);
	return m;
}

static void put_results(struct words *r, uint32_t xid, bool is_inline)
{
	words_put(r, 7, xid, 1, 0, 0, 0, 0, 8);
	if (is_inline)
		words_put(r, 2, 0x5a000000, 0);
}

static void expect_idle(void)
{
	raw_settle(&raw);
	assert_int_equal(requester_of(conn)->credits.in_flight, 0);
	assert_int_equal(pair.client->nwindows_free, pair.client->nwindows);
	assert_int_equal(pair.client->long_pool->in_use, 0);
}

static void reply__7_4_by_either_entry(void **state)
{
	(void)state;
	for (uint32_t is_inline = 0; is_inline < 2; is_inline++) {
		struct words m = begin_read(), r = {0};

		outcome.check = check_read;
		outcome.bytes = is_inline;
		words_put(&r, 7, m.w[0], 2, 16, 5, REPLY, XMTRESP, is_inline ? 24 : 44);
		words_put(&r, 4, 1, 28, 8, is_inline ? TOOSHORT : EXRW);
		if (!is_inline) {
			raw.mem[0] = 0x5a;
			raw_write(&raw, m.w[15], (uint64_t)m.w[17] << 32 | m.w[18], 8);
			words_put(&r, 5, 1, m.w[15], 8, m.w[17], m.w[18]);
		}
		words_put(&r, 2, 1, is_inline ? 36 : 28);
		put_results(&r, m.w[0], is_inline);
		raw_send_words(&raw, &r);
		raw_until(&raw, &outcome.done, 1);
		expect_idle();
	}
}

static void reply__what_answers_no_direction_ends_the_call(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct words m = begin_read(), r = {0};

		words_put(&r, 7, m.w[0], 2, 16, 5, REPLY, XMTRESP, i == 0 ? 12 : 44);
		words_put(&r, 1, i != 0); /* no entry in the first case */
		if (i == 1)		  /* longer than the memory that the call offered */
			words_put(&r, 8, 28, 1001, EXRW, 1, m.w[15], 1001, m.w[17], m.w[18]);
		if (i == 2) /* at another address */
			words_put(&r, 8, 28, 8, EXRW, 1, m.w[15], 8, m.w[17], m.w[18] + 8);
		words_put(&r, 2, 1, 36);
		put_results(&r, m.w[0], true);
		raw_send_words(&raw, &r);
		raw_until(&raw, &outcome.done, 1);
		assert_int_equal(outcome.status, -EBADMSG);
		expect_idle();
	}
}

static void reply__by_the_base_has_all_in_the_message(void **state)
{
	struct words m = begin_read(), r = {0};

	(void)state;
	outcome.check = check_read;
	outcome.bytes = 1;
	words_put(&r, 9, m.w[0], 2, 16, 0, REPLY, 0, 0, 0, 0);
	put_results(&r, m.w[0], true);
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	expect_idle();
}

/* Checks a call that the responder refuses and that the requester sends again by the base protocol.
 * The keys of the call are invalidated before that. With the policy 'window' the call then has
 * other keys. */
static void refusal__5_4_the_call_goes_by_the_base(void **state)
{
	struct words m = begin_read(), r = {0}, again = {0};

	(void)state;
	words_put(&r, 14, m.w[0], 2, 16, 5, REPLY, REPTERR, 28, m.w[0], CALL, 0, 0, 4, 1, 2);
	raw_send_words(&raw, &r);
	raw_recv_words(&raw, &again);
	assert_int_equal(again.w[0], m.w[0]);
	assert_int_equal(again.w[3], 0);
	assert_int_equal(again.w[8], 1); /* a Write chunk of one segment */
	assert_int_equal(again.w[7], 1);
	if (pair.client->nwindows > 0 && pair_exposure == WEIR_EXPOSURE_WINDOW)
		assert_int_not_equal(again.w[9], m.w[15]);
	r.n = 0;
	words_put(&r, 9, m.w[0], 2, 16, 0, REPLY, 0, 0, 1, 1);
	words_put(&r, 4, again.w[9], 8, again.w[11], again.w[12]);
	words_put(&r, 2, 0, 0);
	outcome.check = check_read;
	raw.mem[0] = 0x5a;
	raw_write(&raw, again.w[9], (uint64_t)again.w[11] << 32 | again.w[12], 8);
	put_results(&r, m.w[0], false);
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	expect_idle();
}

/* Checks the sets of directions of a call with several operations. For each operation with memory,
 * there is a set with the range of that operation. An operation without memory has no set. */
static void call__7_4_operations_have_ranges(void **state)
{
	struct weir_call_params params;
	struct words m = {0}, r = {0};
	struct weir_call *call;

	(void)state;
	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_COMPOUND, &outcome);
	params.args_max_bytes = params.results_max_bytes = 64;
	call = weir_call_begin(conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), 3);
	for (uint32_t op = 0; op < 3; op++) {
		assert_int_equal(weir_call_operation(call), 0);
		words_put(&r, 2, op == 1 ? COMPOUND_PLAIN : COMPOUND_READ, 300);
		weir_xdr_put_u32(weir_call_args(call), op == 1 ? COMPOUND_PLAIN : COMPOUND_READ);
		weir_xdr_put_u32(weir_call_args(call), 300);
		if (op != 1)
			assert_int_equal(weir_call_result_item(call, pair.client_region,
							       pair.client_mem + 1000 * op, 1000),
					 0);
	}
	assert_int_equal(weir_call_submit(call), 0);
	raw_recv_words(&raw, &m);
	assert_int_equal(m.w[5], XMTREQ);
	assert_int_equal(m.w[8], 2);
	assert_int_equal(m.w[9], 44);
	assert_int_equal(m.w[10], 52);
	assert_int_equal(m.w[11], 1);
	assert_int_equal(m.w[19], 60);
	assert_int_equal(m.w[20], 68);
	assert_int_equal(m.w[21], 1);
	assert_int_equal(m.w[m.n - 3 - 17], 1); /* one transmission in each direction */
	/* The first operation returns no data. The third operation returns as many data as it has
	 * memory for. */
	r.n = 0;
	words_put(&r, 7, m.w[0], 2, 16, 5, REPLY, XMTRESP, 56);
	words_put(&r, 4, 2, 0, 0, NOITEM);
	words_put(&r, 8, 28, 8, EXRW, 1, m.w[25], 8, m.w[27], m.w[28]);
	words_put(&r, 2, 1, 28);
	raw_write(&raw, m.w[25], (uint64_t)m.w[27] << 32 | m.w[28], 8);
	put_results(&r, m.w[0], false);
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	expect_idle();
}

#define S(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define Q(name) cmocka_unit_test_setup_teardown(name, setup_requester, teardown)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		S(direction__7_4_an_eligible_result_is_written),
		S(direction__7_4_what_is_too_short_is_in_the_message),
		S(direction__of_another_part_of_the_call_is_not_used),
		S(direction__of_a_whole_call_without_arguments),
		S(direction__7_4_of_an_operation_is_for_its_result_alone),
		S(direction__one_without_room_is_a_lack_of_resource),
		S(direction__more_than_a_reply_has_room_to_answer),
		S(direction__errors_have_entries_too),
		S(item__7_3_is_read),
		S(item__of_what_is_not_eligible_is_garbage),
		S(item__6_2_by_a_target_that_there_is_not),
		S(item__more_than_are_taken_are_refused),
		Q(call__7_4_operations_have_ranges),
		Q(reply__7_4_by_either_entry),
		Q(reply__what_answers_no_direction_ends_the_call),
		Q(reply__by_the_base_has_all_in_the_message),
		Q(refusal__5_4_the_call_goes_by_the_base),
	};

	return cmocka_run_group_tests_name("wire_rtr_direct", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
