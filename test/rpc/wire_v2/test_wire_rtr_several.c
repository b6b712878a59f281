/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of a responder with items and directions in calls and replies of several transmissions
 * (rtrext-01 sections 4, 7 and 9), as messages of a raw requester. */
#include "pair_main.h"

#include <string.h>

#include "engine.h"
#include "raw_place.h"
#include "reassemble.h"

static struct pair pair;
static struct raw raw;

static int setup(void **state)
{
	(void)state;
	pair_server_protocol = WEIR_PROTOCOL_AUTO;
	place_open_as(&raw, &pair, WEIR_EXTENSION_ALL);
	raw_connect(&raw);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	raw_end(&raw);
	return 0;
}

static struct words header(void)
{
	struct words m = {0};

	words_put(&m, 7, 9, 2, 16, 5, CALL, XMTREQ, 0);
	return m;
}

static void end_header(struct words *m, uint32_t count, uint32_t rsbuf, uint32_t pslen)
{
	words_put(m, 3, count, rsbuf, pslen);
	m->w[6] = htobe32((m->n - 7) * 4);
}

static struct words next(uint32_t xnum, uint32_t pslen)
{
	struct words m = {0};

	words_put(&m, 10, 9, 2, 16, 5, CALL, XMTCONT, 12, xnum, XMTREQ, pslen);
	return m;
}

static void put_rpc(struct words *m, uint32_t proc)
{
	words_put_rpc(m, 9, proc);
}

/* Adds the 'len' bytes pair_byte(from), pair_byte(from + 1) and so on. 'len' is a multiple of 4. */
static void put_bytes(struct words *m, uint32_t from, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		((uint8_t *)m->w)[m->n * 4 + i] = pair_byte(from + i);
	m->n += len / 4;
}

static void fill_mem(void)
{
	for (uint32_t i = 0; i < 8000; i++)
		raw.mem[i] = pair_byte(i);
}

static void expect_error(uint32_t err)
{
	struct words r = {0};

	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[0], 9);
	assert_int_equal(r.w[3], 4);
	assert_int_equal(r.w[4], err);
}

static void expect_rpc_error(uint32_t stat)
{
	struct words r = {0};

	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[5], XMTRESP);
	assert_int_equal(r.w[r.n - 1], stat);
	assert_int_equal(pair.handled, 0);
}

static void expect_calm(void)
{
	raw_settle(&raw);
	assert_int_equal(raw.nmsgs + raw.disconnected, 0);
	expect_no_parts(pair.server_conn);
	assert_int_equal(pair.server->bulk_pool->in_use, 0);
	assert_int_equal(pair.server->send_pool->in_use, 1); /* the engine's buffer of zeros */
}

/* Checks that a WRITE by the base protocol is answered. */
static void expect_alive(void)
{
	struct words m = {0}, r = {0};

	words_put(&m, 9, 9, 2, 16, 0, CALL, 0, 0, 0, 0);
	put_rpc(&m, PAIR_WRITE);
	words_put(&m, 4, 1, 4, 0, 2);
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[3], 0);
	assert_int_equal(r.w[15], 3);
	expect_calm();
}

/* ---- explicit RDMA ---- */

/* Sends a MULTI call in two transmissions. Its payload is divided at offset 'cut'. The first
 * argument is an item of 200 bytes. If 'second' is 0, the second argument has 3000 bytes in the
 * payload. Otherwise it is an item at position 'second'. The directions for both results are in a
 * set whose range ends at 'end'. */
static void send_multi(uint32_t cut, uint32_t second, uint32_t end)
{
	struct words all = {0}, m = header();
	uint32_t total = 40 + 12 + 8 + (second ? 0 : 3000), n = 0;

	words_put(&m, 5, 1 + (second > 0), 48, 200, EXRW, 1);
	raw_put_segment(&raw, &m, 200, 0);
	if (second) {
		words_put(&m, 4, second, 300, EXRW, 2);
		raw_put_segment(&raw, &m, 100, 1000);
		raw_put_segment(&raw, &m, 200, 1100);
	}
	words_put(&m, 4, 1, 40, end, 2);
	for (uint32_t i = 0; i < 2; i++) {
		words_put(&m, 3, 0, EXRW, 1);
		raw_put_segment(&raw, &m, 4000, 4096 * (i + 2));
	}
	end_header(&m, 2, 1, cut);
	put_rpc(&all, PAIR_MULTI);
	words_put(&all, 4, 0xa, 200, 0xb, second ? 300 : 3000);
	if (!second)
		put_bytes(&all, 0, 3000);
	words_put(&all, 1, 0xc);
	assert_int_equal(all.n * 4, total);
	for (; n < cut / 4; n++)
		m.w[m.n++] = all.w[n];
	raw_send_words(&raw, &m);
	m = next(1, total - cut);
	for (; n < total / 4; n++)
		m.w[m.n++] = all.w[n];
	raw_send_words(&raw, &m);
}

/* Receives the reply to a MULTI call. Checks that it has results of 'first' and 'second' bytes, and
 * that RDMA Writes stored both. The data of the second result begin with pair_byte(second_from). */
static void expect_multi(uint32_t first, uint32_t second, uint32_t second_from)
{
	struct words r = {0};

	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[5], XMTRESP);
	assert_int_equal(r.w[7], 2);
	assert_int_equal(r.w[9], first);
	assert_int_equal(r.w[10], EXRW);
	assert_int_equal(r.w[17], second);
	assert_int_equal(r.w[18], EXRW);
	for (uint32_t i = 0; i < first; i++)
		assert_int_equal(raw.mem[2 * 4096 + i], pair_byte(i));
	for (uint32_t i = 0; i < second; i++)
		assert_int_equal(raw.mem[3 * 4096 + i], pair_byte(second_from + i));
	memset(raw.mem + 2 * 4096, 0, 2 * 4096);
}

static void items__7_3_displacements_are_of_the_whole_message(void **state)
{
	/* The cuts are in the RPC header, after it, in the arguments, and around length words. */
	static const uint32_t cuts[] = {8, 40, 44, 48, 52, 56, 60, 1000, 3056};

	(void)state;
	fill_mem();
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		send_multi(cuts[i], 0, 4000);
		expect_multi(200, 3000, 0);
		if (cuts[i] <= 56) {
			send_multi(cuts[i], 48 + 200 + 8, 4000);
			expect_multi(200, 300, 1000);
		}
	}
	assert_int_equal(pair_stats(pair.server).read_chunks, 9 + 2 * 6);
	assert_int_equal(pair_stats(pair.server).long_calls, 0);
	expect_calm();
	expect_alive();
}

/* Checks that items are read to the memory that the program chose. */
static void items__are_read_to_their_places(void **state)
{
	(void)state;
	fill_mem();
	pair.place_writes = true;
	send_multi(48, 256, 4000);
	expect_multi(200, 300, 1000);
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(pair.server_mem[65536 + i], pair_byte(i));
	expect_calm();
}

static void items__that_are_wrong_about_the_message_are_garbage(void **state)
{
	static const uint32_t seconds[] = {252, 260, 20000};

	(void)state;
	for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
		send_multi(48, seconds[i], 4000);
		expect_rpc_error(4);
	}
	expect_calm();
	expect_alive();
}

static void items__more_than_there_is_room_for(void **state)
{
	struct words m = header();

	(void)state;
	words_put(&m, 1, REASSEMBLE_CHUNKS_MAX);
	for (uint32_t i = 0; i < REASSEMBLE_CHUNKS_MAX; i++) {
		words_put(&m, 4, 48 + 8 * i, 4, EXRW, 1);
		raw_put_segment(&raw, &m, 4, 0);
	}
	words_put(&m, 1, 0);
	end_header(&m, 2, 1, 48);
	put_rpc(&m, PAIR_MULTI);
	words_put(&m, 2, 0xa, 4);
	raw_send_words(&raw, &m);
	m = next(1, 8);
	words_put(&m, 2, 0, 0);
	raw_send_words(&raw, &m);
	expect_error(6);
	expect_calm();
	expect_alive();
}

static void items__of_what_is_not_eligible_are_garbage(void **state)
{
	struct words m = header();

	(void)state;
	words_put(&m, 5, 1, 44, 200, EXRW, 1);
	raw_put_segment(&raw, &m, 200, 0);
	words_put(&m, 1, 0);
	end_header(&m, 2, 1, 40);
	put_rpc(&m, PAIR_ECHO);
	raw_send_words(&raw, &m);
	m = next(1, 4);
	words_put(&m, 1, 200);
	raw_send_words(&raw, &m);
	expect_rpc_error(4);
	expect_calm();
}

/* Directions are not used if their range ends where the operation begins, wherever the cut is. */
static void directions__7_4_of_another_part_of_the_call_are_not_used(void **state)
{
	struct words m = header(), r = {0};

	(void)state;
	for (uint32_t end = 40; end <= 41; end++) {
		m = header();
		words_put(&m, 8, 0, 1, 0, end, 1, 0, EXRW, 1);
		raw_put_segment(&raw, &m, 300, 0);
		end_header(&m, 2, 1, 40);
		put_rpc(&m, PAIR_READ);
		raw_send_words(&raw, &m);
		m = next(1, 4);
		words_put(&m, 1, 300);
		raw_send_words(&raw, &m);
		r.n = 0;
		raw_recv_words(&raw, &r);
		assert_int_equal(r.w[7], 1);
		assert_int_equal(r.w[10], end == 40 ? NOITEM : EXRW);
	}
	expect_calm();
}

/* Checks an ECHO with a direction for no result, whose reply needs two transmissions. */
static void directions__of_a_reply_in_several(void **state)
{
	struct words m, r = {0}, c = {0};

	(void)state;
	for (uint32_t rsbuf = 1; rsbuf <= 2; rsbuf++) {
		m = header();
		words_put(&m, 8, 0, 1, 40, 6000, 1, 0, EXRW, 1);
		raw_put_segment(&raw, &m, 300, 0);
		end_header(&m, 2, rsbuf, 44);
		put_rpc(&m, PAIR_ECHO);
		words_put(&m, 1, 4040);
		raw_send_words(&raw, &m);
		m = next(1, 4040);
		put_bytes(&m, 0, 4040);
		raw_send_words(&raw, &m);
		if (rsbuf == 1) {
			expect_error(3);
			continue;
		}
		raw_recv_words(&raw, &r);
		raw_recv_words(&raw, &c);
		assert_int_equal(r.w[7], 1);
		assert_int_equal(r.w[10], NOITEM);
		assert_int_equal(r.w[11], 2);
		assert_int_equal(r.w[12], 4096 - 52);
		assert_int_equal(r.n, 1024);
		assert_int_equal(c.w[5], XMTCONT);
		assert_int_equal(c.w[8], XMTRESP);
		assert_int_equal(c.w[9], 24 + 4 + 4040 - (4096 - 52));
		assert_int_equal(c.n, 10 + 6);
	}
	expect_calm();
}

/* ---- targets ---- */

/* Sends a WRITE call with 'item' in two transmissions. The first transmission has the payload
 * except for its last word. 'bytes' is the length of the second transmission, or 0 for as many
 * bytes as the item needs. The payload of the second transmission has 'more' additional words. */
static void send_write(const struct place_item *item, uint32_t bytes, uint32_t more)
{
	struct words m = header();
	uint8_t msg[BUFFER] = {0};
	uint32_t end;

	words_put(&m, 6, 1, 48, item->len, TBSN, item->offset, item->ntbsns);
	for (uint32_t i = 0; i < item->ntbsns; i++)
		words_put(&m, 1, item->tbsns[i]);
	words_put(&m, 1, 0);
	end_header(&m, 2, 1, 48);
	put_rpc(&m, PAIR_WRITE);
	words_put(&m, 2, 5, item->len);
	for (uint32_t n = 0; n < 2; n++) {
		memset(msg, 0, sizeof(msg));
		memcpy(msg, m.w, m.n * 4);
		end = place_lay_in(msg, item, n, m.n * 4);
		raw_send(&raw, msg, n == 1 && bytes ? bytes : end);
		m = next(1, 4 + 4 * more);
		words_put(&m, 1, 6);
		m.n += more;
	}
}

static void item__7_lies_in_targets_of_all_transmissions(void **state)
{
	static const struct {
		struct place_item item;
		uint32_t copies;
	} cases[] = {
		{{2048, 0, 1, {3}}, 0}, /* the whole item is in the second transmission */
		{{4000, 0, 2, {4, 5}}, 0},	 {{3000, 1048, 2, {3, 4}}, 0},
		{{200, 4, 1, {0}}, 0},		 {{8000, 0, 4, {0, 1, 2, 3}}, 1},
		{{4096, 2044, 3, {2, 3, 4}}, 1}, {{6000, 0, 3, {5, 0, 3}}, 1},
	};
	uint32_t copies = 0;

	(void)state;
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct place_item *item = &cases[i].item;
		struct words r = {0};

		send_write(item, 0, 0);
		raw_recv_words(&raw, &r);
		assert_int_equal(r.w[5], XMTRESP);
		assert_int_equal(r.w[16], 11);
		assert_int_equal(r.w[17], item->len);
		assert_int_equal(r.w[18], place_checksum(item->len));
		copies += cases[i].copies;
		assert_int_equal(pair_stats(pair.server).bulk_copies, copies);
		assert_int_equal(pair_stats(pair.server).placed_received, i + 1);
	}
	assert_int_equal(pair_stats(pair.server).read_chunks, 0);
	expect_calm();
	expect_alive();
}

static void item__9_5_that_is_wrong_is_reported(void **state)
{
	static const struct {
		struct place_item item;
		uint32_t bytes, more, seq, err, value, min, max;
	} cases[] = {
		/* The first header shows the error. The second transmission is discarded. */
		{{200, 0, 1, {6}}, 0, 0, 0, BADTBSN, 6, 0, 5},
		{{200, 0, 1, {UINT32_MAX}}, 0, 0, 0, BADTBSN, UINT32_MAX, 0, 5},
		{{200, 0, 2, {4, 5}}, 0, 0, 0, BADTBSN, 5, 0, 5},
		{{3000, 0, 1, {4}}, 0, 0, 0, BADTBSN, 4, 0, 5},
		{{3000, 0, 2, {4, 4}}, 0, 0, 0, BADOFF, 0, TARGET, TARGET - 4},
		{{200, TARGET, 1, {4}}, 0, 0, 0, BADOFF, TARGET, 0, TARGET - 4},
		/* The data show the error: the item's end is missing, or payload overlaps it. */
		{{200, 0, 1, {4}}, LEAD + TARGET + 199, 0, 1, BADTBSN, 4, 0, 3},
		{{8000, 0, 4, {0, 1, 2, 3}}, 44, 0, 1, BADTBSN, 3, 0, 2},
		{{200, 0, 1, {3}}, 0, 246, 1, BADOFF, 0, 4, TARGET - 4},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct words r = {0};
		uint32_t at = 11;

		send_write(&cases[i].item, cases[i].bytes, cases[i].more);
		raw_recv_words(&raw, &r);
		assert_int_equal(r.w[4], REPLY);
		assert_int_equal(r.w[5], REPTERR);
		assert_int_equal(r.w[7], 9);
		assert_int_equal(r.w[8], CALL);
		assert_int_equal(r.w[9], cases[i].seq);
		assert_int_equal(r.w[10], cases[i].seq > 0);
		if (cases[i].seq > 0) {
			assert_int_equal(r.w[11], 9);
			assert_int_equal(r.w[12], CALL);
			assert_int_equal(r.w[13], 0);
			at = 14;
		}
		assert_int_equal(r.w[at], cases[i].err);
		assert_int_equal(r.w[at + 1], cases[i].value);
		assert_int_equal(r.w[at + 2], cases[i].min);
		assert_int_equal(r.w[at + 3], cases[i].max);
		expect_calm();
	}
	assert_int_equal(pair.handled, 0);
	assert_int_equal(pair_stats(pair.server).reports_sent, sizeof(cases) / sizeof(cases[0]));
	assert_int_equal(pair_stats(pair.server).groups_broken, sizeof(cases) / sizeof(cases[0]));
	expect_alive();
}

static void item__of_another_length_than_the_message_says_is_garbage(void **state)
{
	static const struct place_item item = {4100, 0, 3, {1, 2, 3}};
	struct words m = header();
	uint8_t msg[BUFFER] = {0};

	(void)state;
	words_put(&m, 10, 1, 48, item.len, TBSN, 0, 3, 1, 2, 3, 0);
	end_header(&m, 2, 1, 48);
	put_rpc(&m, PAIR_WRITE);
	words_put(&m, 2, 5, item.len + 4);
	memcpy(msg, m.w, m.n * 4);
	raw_send(&raw, msg, BUFFER);
	m = next(1, 4);
	words_put(&m, 1, 6);
	memcpy(msg, m.w, m.n * 4);
	raw_send(&raw, msg, BUFFER);
	expect_rpc_error(4);
	expect_calm();
}

/* Checks a group whose connection ends before the last transmissions arrive. */
static void group__with_items_ends_with_its_connection(void **state)
{
	struct words m = header();

	(void)state;
	words_put(&m, 9, 1, 48, 4000, TBSN, 0, 2, 0, 1, 0);
	end_header(&m, 3, 1, 48);
	put_rpc(&m, PAIR_WRITE);
	words_put(&m, 2, 5, 4000);
	raw_send_words(&raw, &m);
	raw_settle(&raw);
	weir_conn_shutdown(pair.server_conn);
	raw_until(&raw, &pair.server_closed, 1);
	assert_int_equal(pair.server->recv_pool->in_use, pair_recvs_at_rest(&pair));
}

/* ---- results in targets ---- */

static void send_read(uint32_t count, uint32_t type, uint32_t dsdov, uint32_t room, uint32_t rsbuf)
{
	struct words m = header();

	words_put(&m, 7, 0, 1, 0, 44, 1, 256, type);
	if (type == BYSIZE)
		words_put(&m, 1, dsdov);
	if (type != TBSN) {
		words_put(&m, 1, 1);
		raw_put_segment(&raw, &m, room, 0);
	}
	end_header(&m, 1, rsbuf, 44);
	put_rpc(&m, PAIR_READ);
	words_put(&m, 1, count);
	raw_send_words(&raw, &m);
}

static void meet(void)
{
	struct words m = place_connprop_several(3, 16, 4), r = {0};

	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
}

/* Receives a reply in 'ntransmissions'. Checks the data in targets, and zeros between. */
static void expect_placed(uint32_t count, uint32_t ntransmissions)
{
	uint32_t ntbsns = (count + TARGET - 1) / TARGET, done = 0;

	for (uint32_t n = 0; n < ntransmissions; n++) {
		uint8_t msg[RAW_BUF];
		uint32_t len = raw_recv(&raw, msg), w[32], used = 40, here = count - done;

		for (uint32_t i = 0; i < 32; i++)
			w[i] = be32toh(((const uint32_t *)(const void *)msg)[i]);
		assert_int_equal(w[5], n == 0 ? XMTRESP : XMTCONT);
		if (n == 0) {
			assert_int_equal(w[8], 28);
			assert_int_equal(w[9], count);
			assert_int_equal(w[10], TBSN);
			assert_int_equal(w[12], ntbsns);
			assert_int_equal(w[13 + ntbsns], ntransmissions);
			assert_int_equal(w[14 + ntbsns], 28);
			used = 28 + w[6] + 28;
		} else {
			assert_int_equal(w[7], n);
			assert_int_equal(w[8], XMTRESP);
			assert_int_equal(w[9], 0);
		}
		if (here > NUMBER * TARGET)
			here = NUMBER * TARGET;
		assert_int_equal(len, LEAD + here);
		for (uint32_t i = used; i < LEAD; i++)
			assert_int_equal(msg[i], 0);
		for (uint32_t i = 0; i < here; i++)
			assert_int_equal(msg[LEAD + i], pair_byte(done + i));
		done += here;
	}
	assert_int_equal(done, count);
}

static void result__7_4_is_placed_by_all_transmissions(void **state)
{
	(void)state;
	meet();
	send_read(NUMBER * TARGET, TBSN, 0, 0, 2);
	expect_placed(NUMBER * TARGET, 1);
	send_read(NUMBER * TARGET + 1, TBSN, 0, 0, 2);
	expect_placed(NUMBER * TARGET + 1, 2);
	send_read(2 * NUMBER * TARGET, TBSN, 0, 0, 2);
	expect_placed(2 * NUMBER * TARGET, 2);
	send_read(3 * NUMBER * TARGET, BYSIZE, 20000, 30000, 4);
	expect_placed(3 * NUMBER * TARGET, 3);
	assert_int_equal(pair_stats(pair.server).placed_sent, 4);
	assert_int_equal(pair_stats(pair.server).continued_replies, 3);
	assert_int_equal(pair_stats(pair.server).writes, 0);
	expect_calm();
}

static void result__that_takes_more_goes_another_way(void **state)
{
	struct words r = {0};

	(void)state;
	meet();
	send_read(2 * NUMBER * TARGET + 1, BYSIZE, 60000, 30000, 2);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[10], EXRW);
	send_read(2 * NUMBER * TARGET + 1, TBSN, 0, 0, 2); /* longer than all targets */
	expect_error(3);
	send_read(5000, TBSN, 0, 0, 2);
	expect_placed(5000, 1);
	expect_calm();
}

#define T(name)	   cmocka_unit_test_setup_teardown(name, setup, teardown)
#define MORE(name) cmocka_unit_test_setup_teardown(name, setup_more, teardown)

PAIR_SETUP_MORE(setup_more, setup)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		MORE(items__7_3_displacements_are_of_the_whole_message),
		MORE(items__are_read_to_their_places),
		MORE(items__that_are_wrong_about_the_message_are_garbage),
		T(items__more_than_there_is_room_for),
		T(items__of_what_is_not_eligible_are_garbage),
		T(directions__7_4_of_another_part_of_the_call_are_not_used),
		T(directions__of_a_reply_in_several),
		T(item__7_lies_in_targets_of_all_transmissions),
		T(item__9_5_that_is_wrong_is_reported),
		T(item__of_another_length_than_the_message_says_is_garbage),
		T(group__with_items_ends_with_its_connection),
		T(result__7_4_is_placed_by_all_transmissions),
		T(result__that_takes_more_goes_another_way),
	};

	return cmocka_run_group_tests_name("wire_rtr_several", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
