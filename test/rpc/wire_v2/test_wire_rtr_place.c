/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a responder with data that are placed by Sends (rtrext-01 sections 3.3, 7 and 8.3), as
 * messages of a raw requester.
 */
#include "pair_main.h"

#include <endian.h>
#include <string.h>

#include "mem.h"
#include "conn.h"
#include "raw_place.h"

static struct pair pair;
static struct raw raw;

static int setup(void **state)
{
	(void)state;
	pair_server_protocol = WEIR_PROTOCOL_AUTO;
	place_open(&raw, &pair);
	raw_connect(&raw);
	return 0;
}

static int setup_several(void **state)
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

static void properties__8_3_tell_the_structure(void **state)
{
	static const uint32_t expected[] = {4, 40, BUFFER, 2,	   1,	 LEAD,
					    0, 0,  NUMBER, TARGET, 2048, 1};
	struct words m = place_connprop(3), r = {0};
	struct mem_buf *taken = NULL;

	(void)state;
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[3], 6);
	assert_int_equal(r.w[4], 6); /* the number of properties */
	assert_int_equal(r.w[5], 1);
	assert_int_equal(r.w[7], BUFFER);
	assert_memory_equal(&r.w[5 + 3 * 5], expected, sizeof(expected));
	assert_int_equal(r.w[r.n - 1], 0x3f); /* a bit for each property that stays fixed */
	for (uint32_t i = 0; i < pair.server->recv_pool->count; i++) {
		struct mem_buf *buf = mem_pool_get(pair.server->recv_pool);

		if (!buf)
			break;
		assert_int_equal(((uintptr_t)buf->data + LEAD) % TARGET, 0);
		buf->user[0] = (uintptr_t)taken;
		taken = buf;
	}
	while (taken) {
		struct mem_buf *buf = taken;

		taken = (void *)(uintptr_t)buf->user[0];
		mem_pool_put(buf);
	}
}

/*
 * Sends a WRITE call with 'item', whose bytes are in its targets. 'pslen' is the length of the
 * payload that the header states. 'bytes' is the length of the message, or 0 for as many bytes as
 * the item needs.
 */
static void send_write(const struct place_item *item, uint32_t pslen, uint32_t bytes)
{
	struct words m = {0};
	uint8_t msg[BUFFER] = {0};
	uint32_t end;

	words_put(&m, 7, 9, 2, 8, 5, CALL, XMTREQ, 0);
	words_put(&m, 6, 1, 48, item->len, TBSN, item->offset, item->ntbsns);
	for (uint32_t i = 0; i < item->ntbsns; i++)
		words_put(&m, 1, item->tbsns[i]);
	words_put(&m, 4, 0, 1, 1, pslen);
	m.w[6] = htobe32((m.n - 7) * 4);
	words_put(&m, 10, 9, 0, 2, PAIR_PROG, PAIR_VERS, PAIR_WRITE, 0, 0, 0, 0);
	words_put(&m, 3, 5, item->len, 6);
	memcpy(msg, m.w, m.n * 4);
	end = place_lay(msg, item, m.n * 4);
	raw_send(&raw, msg, bytes ? bytes : end);
}

static void item__3_3_is_used_where_it_lies(void **state)
{
	static const struct place_item items[] = {
		{200, 0, 1, {0}},	 {2048, 0, 1, {1}}, {5000, 0, 3, {0, 1, 2}},
		{3000, 1048, 2, {1, 2}}, {2044, 4, 1, {2}}, {4097, 2044, 3, {0, 1, 2}},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
		struct words r = {0};

		send_write(&items[i], 52, 0);
		raw_recv_words(&raw, &r);
		assert_int_equal(r.w[5], XMTRESP);
		assert_int_equal(r.w[7], 0);
		assert_int_equal(r.w[16], 11);
		assert_int_equal(r.w[17], items[i].len);
		assert_int_equal(r.w[18], place_checksum(items[i].len));
		assert_int_equal(pair_stats(pair.server).placed_received, i + 1);
	}
	assert_int_equal(pair_stats(pair.server).bulk_copies, 0);
	assert_int_equal(pair_stats(pair.server).reads, 0);
	assert_int_equal(pair_stats(pair.server).read_chunks, 0);
}

static void item__in_targets_apart_is_put_together(void **state)
{
	static const struct place_item item = {3000, 0, 2, {0, 2}};
	struct words r = {0};

	(void)state;
	send_write(&item, 52, 0);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[5], XMTRESP);
	assert_int_equal(r.w[18], place_checksum(3000));
	assert_int_equal(pair_stats(pair.server).bulk_copies, 1);
	raw_settle(&raw);
	assert_int_equal(pair.server->bulk_pool->in_use, 0);
}

static void item__9_5_that_is_wrong_is_reported(void **state)
{
	static const struct {
		struct place_item item;
		uint32_t pslen, bytes, err, value, min, max;
	} cases[] = {
		/* the target does not exist */
		{{200, 0, 1, {3}}, 52, 0, BADTBSN, 3, 0, 2},
		/* the target does not exist */
		{{200, 0, 1, {UINT32_MAX}}, 52, 0, BADTBSN, UINT32_MAX, 0, 2},
		/* one target too many */
		{{200, 0, 2, {0, 1}}, 52, 0, BADTBSN, 1, 0, 2},
		/* one target too few */
		{{3000, 0, 1, {0}}, 52, 0, BADTBSN, 0, 0, 2},
		/* the same target twice */
		{{3000, 0, 2, {1, 1}}, 52, 0, BADOFF, 0, TARGET, TARGET - 4},
		{{200, TARGET, 1, {0}}, 52, 0, BADOFF, TARGET, 0, TARGET - 4},
		{{200, 2, 1, {0}}, 52, 0, BADOFF, 2, 0, TARGET - 4},
		{{200, UINT32_MAX & ~3u, 1, {0}}, 52, 0, BADOFF, UINT32_MAX & ~3u, 0, TARGET - 4},
		/* The message ends before the end of the item. */
		{{200, 0, 1, {1}}, 52, LEAD + TARGET + 199, BADTBSN, 1, 0, 0},
		/* the payload overlaps the target */
		{{200, 0, 1, {0}}, LEAD, 0, BADOFF, 0, 72, TARGET - 4},
		/* payload longer than the message */
		{{200, 0, 1, {0}}, 4 * LEAD, 0, BADPL, 4 * LEAD, 8, LEAD + 200 - 72},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct words r = {0};

		send_write(&cases[i].item, cases[i].pslen, cases[i].bytes);
		raw_recv_words(&raw, &r);
		assert_int_equal(r.w[4], REPLY);
		assert_int_equal(r.w[5], REPTERR);
		assert_int_equal(r.w[7], 9);
		assert_int_equal(r.w[8], CALL);
		assert_int_equal(r.w[11], cases[i].err);
		assert_int_equal(r.w[12], cases[i].value);
		assert_int_equal(r.w[13], cases[i].min);
		assert_int_equal(r.w[14], cases[i].max);
	}
	assert_int_equal(pair.handled, 0);
	assert_int_equal(pair_stats(pair.server).reports_sent, sizeof(cases) / sizeof(cases[0]));
	raw_settle(&raw);
	assert_int_equal(raw.nmsgs, 0);
}

/*
 * Checks that a call under RPCSEC_GSS integrity (service 2) or privacy (service 3) has no items, in
 * whatever way they are sent (RFC 8166 sections 6.1 and 8.2.2).
 */
static void item__8_2_2_under_gss_integrity_or_privacy_is_garbage(void **state)
{
	const uint64_t raddr = raw.raddr;
	uint32_t service, count, type;

	(void)state;
	for (uint32_t i = 0; i < 12; i++) {
		struct words m = {0}, c = {0}, r = {0};
		uint64_t reads = pair_stats(pair.server).reads;
		uint32_t handled = pair.handled;

		service = 1 + i % 3;
		count = 1 + i / 3 % 2; /* number of transmissions */
		type = i < 6 ? EXRW : TBSN;
		words_put(&m, 7, 9, 2, 8, 5, CALL, XMTREQ, 0);
		words_put(&m, 4, 1, 68, 8, type);
		if (type == EXRW)
			words_put(&m, 5, 1, raw.mr.rkey, 8, (uint32_t)(raddr >> 32),
				  (uint32_t)raddr);
		else
			words_put(&m, 3, 0, 1, 0);
		words_put(&m, 4, 0, count, 1, count == 1 ? 72 : 68);
		m.w[6] = htobe32((m.n - 7) * 4);
		words_put(&m, 6, 9, 0, 2, PAIR_PROG, PAIR_VERS, PAIR_WRITE);
		words_put(&m, 9, 6, 20, 1, 0, 7, service, 0, 0, 0);
		words_put(&m, 3, 5, 8, 6);
		m.n -= count - 1;
		if (type == TBSN)
			m.n = (LEAD + 8) / 4;
		raw_send_words(&raw, &m);
		words_put(&c, 11, 9, 2, 8, 5, CALL, XMTCONT, 12, 1, XMTREQ, 4, 6);
		if (count > 1)
			raw_send_words(&raw, &c);
		raw_recv_words(&raw, &r);
		assert_int_equal(r.w[5], XMTRESP);
		assert_int_equal(r.w[15], service == 1 ? WEIR_RPC_SUCCESS : WEIR_RPC_GARBAGE_ARGS);
		assert_int_equal(pair.handled - handled, service == 1);
		assert_int_equal(pair_stats(pair.server).reads - reads,
				 service == 1 && type == EXRW);
	}
}

static void item__of_another_length_than_the_message_says_is_garbage(void **state)
{
	struct words m = {0}, r = {0};

	(void)state;
	words_put(&m, 7, 9, 2, 8, 5, CALL, XMTREQ, 44);
	words_put(&m, 7, 1, 48, 8, TBSN, 0, 1, 0);
	words_put(&m, 4, 0, 1, 1, 52);
	words_put(&m, 10, 9, 0, 2, PAIR_PROG, PAIR_VERS, PAIR_WRITE, 0, 0, 0, 0);
	words_put(&m, 3, 5, 12, 6);
	m.n = (LEAD + 8) / 4;
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[5], XMTRESP);
	assert_int_equal(r.w[r.n - 1], 4);
	assert_int_equal(pair.handled, 0);
}

static uint32_t read_xid = 9;

/*
 * Sends a READ of 'count' bytes with one direction for the whole call. The direction has type
 * 'type', size limit 'dsdov', and memory of 'room' bytes.
 */
static void send_read(uint32_t count, uint32_t type, uint32_t dsdov, uint32_t room)
{
	struct words m = {0};

	words_put(&m, 7, read_xid, 2, 8, 5, CALL, XMTREQ, 0);
	words_put(&m, 7, 0, 1, 0, 44, 1, 256, type);
	if (type == BYSIZE)
		words_put(&m, 1, dsdov);
	if (type != TBSN)
		words_put(&m, 5, 1, raw.mr.rkey, room, (uint32_t)(raw.raddr >> 32),
			  (uint32_t)raw.raddr);
	words_put(&m, 3, 1, 1, 44);
	m.w[6] = htobe32((m.n - 7) * 4);
	words_put(&m, 11, read_xid, 0, 2, PAIR_PROG, PAIR_VERS, PAIR_READ, 0, 0, 0, 0, count);
	raw_send_words(&raw, &m);
}

static void meet(void)
{
	struct words m = place_connprop(3), r = {0};

	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
}

/*
 * Receives a reply whose data of 'count' bytes are in targets from the first one on. Checks the
 * entry of the reply, the data in the targets, and that all bytes between are zeros.
 */
static void expect_placed(uint32_t count)
{
	uint8_t msg[RAW_BUF];
	uint32_t len = raw_recv(&raw, msg), w[32], ntbsns = (count + TARGET - 1) / TARGET, used;

	for (uint32_t i = 0; i < 32; i++)
		w[i] = be32toh(((const uint32_t *)(const void *)msg)[i]);
	assert_int_equal(w[5], XMTRESP);
	assert_int_equal(w[6], (3 + 6) * 4 - 4 + 4 * ntbsns);
	assert_int_equal(w[7], 1);
	assert_int_equal(w[8], 28);
	assert_int_equal(w[9], count);
	assert_int_equal(w[10], TBSN);
	assert_int_equal(w[11], 0);
	assert_int_equal(w[12], ntbsns);
	for (uint32_t i = 0; i < ntbsns; i++)
		assert_int_equal(w[13 + i], i);
	assert_int_equal(w[13 + ntbsns], 1);
	assert_int_equal(w[14 + ntbsns], 28);
	used = 28 + w[6] + 28;
	assert_int_equal(len, LEAD + count);
	for (uint32_t i = used; i < LEAD; i++)
		assert_int_equal(msg[i], 0);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(msg[LEAD + i], pair_byte(i));
}

static void result__7_4_is_placed_where_it_was_asked_for(void **state)
{
	(void)state;
	meet();
	send_read(300, TBSN, 0, 0);
	expect_placed(300);
	send_read(NUMBER * TARGET, TBSN, 0, 0);
	expect_placed(NUMBER * TARGET);
	send_read(3000, BYSIZE, 3000, 10000);
	expect_placed(3000);
	assert_int_equal(pair_stats(pair.server).placed_sent, 3);
	assert_int_equal(pair_stats(pair.server).writes, 0);
}

static void result__7_4_goes_another_way_where_it_has_to(void **state)
{
	struct words r = {0};

	(void)state;
	meet();
	send_read(3001, BYSIZE, 3000, 10000); /* longer than dsdov */
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[10], EXRW);
	send_read(NUMBER * TARGET + 1, BYSIZE, 10000, 10000); /* longer than all targets */
	r.n = 0;
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[10], EXRW);
	send_read(255, TBSN, 0, 0); /* shorter than the minimum of the direction */
	r.n = 0;
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[10], TOOSHORT);
	send_read(NUMBER * TARGET + 1, TBSN, 0,
		  0); /* the result cannot be sent in another way: RDMA2_ERR_REPLY_RESOURCE */
	r.n = 0;
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[3], 4);
	assert_int_equal(r.w[4], 3);
	assert_int_equal(pair_stats(pair.server).placed_sent, 0);
}

static void report_reply(uint32_t xid)
{
	struct words m = {0};

	words_put(&m, 15, xid, 2, 16, 5, CALL, REPTERR, 32, xid, REPLY, 0, 0, BADTBSN, 0, 0, 0);
	raw_send_words(&raw, &m);
}

static void expect_no_other(uint32_t xid)
{
	struct words r = {0};

	report_reply(xid);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[0], xid);
	assert_int_equal(r.w[3], 4);
	assert_int_equal(r.w[4], 6); /* RDMA2_ERR_SYSTEM */
}

/*
 * Checks that a reply about which the requester reports an error is sent again by the base
 * protocol, if it fits one message. At most 4032 bytes of data fit, after 36 bytes of transport
 * header and 28 bytes before the data.
 */
static void result__5_4_is_sent_again_by_the_base(void **state)
{
	(void)state;
	meet();
	for (uint32_t count = 4029; count <= 4036; count++) {
		struct words r = {0};

		send_read(count, TBSN, 0, 0);
		expect_placed(count);
		if (count > 4032) {
			expect_no_other(9);
			continue;
		}
		raw_settle(&raw);
		/*
		 * When the reply was sent, its memory belongs to the application again. The reply
		 * that is sent again must not depend on that memory.
		 */
		memset(pair.server_mem, 0x77, count);
		report_reply(9);
		raw_recv_words(&raw, &r);
		assert_int_equal(r.w[0], 9);
		assert_true(r.w[2] > 0);
		assert_int_equal(r.w[3], 0);
		assert_int_equal(r.w[4], REPLY);
		assert_int_equal(r.w[6] | r.w[7] | r.w[8], 0);
		assert_int_equal(r.w[9], 9);
		assert_int_equal(r.w[15], count);
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal((uint8_t)(r.w[16 + i / 4] >> (24 - 8 * (i % 4))),
					 pair_byte(i));
		for (uint32_t i = 0; i < count; i++)
			pair.server_mem[i] = pair_byte(i);
		expect_no_other(9); /* a reply is sent again once */
	}
	assert_int_equal(pair_stats(pair.server).replies_resent, 4);
	assert_int_equal(pair.handled, 8);
	raw_settle(&raw);
	assert_int_equal(raw.nmsgs, 0);
	assert_int_equal(pair.server->send_pool->in_use, 1);
}

/* Checks that only the 32 latest replies are kept to be sent again. */
static void result__so_many_are_kept(void **state)
{
	struct words r = {0};

	(void)state;
	meet();
	for (uint32_t xid = 100; xid < 133; xid++) {
		read_xid = xid;
		send_read(300, TBSN, 0, 0);
		expect_placed(300);
	}
	expect_no_other(100);
	for (uint32_t xid = 101; xid < 133; xid++) {
		r.n = 0;
		report_reply(xid);
		raw_recv_words(&raw, &r);
		assert_int_equal(r.w[0], xid);
		assert_int_equal(r.w[3], 0);
	}
	read_xid = 9;
}

/* Checks a requester that has not announced a structure of its receives. */
static void result__to_a_peer_without_targets_is_in_the_message(void **state)
{
	struct words r = {0};

	(void)state;
	send_read(300, TBSN, 0, 0);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[10], TOOSHORT);
}

/*
 * Checks a reply that waits for the send queue. The reply is kept once, when it is sent, however
 * often the responder tried to send it.
 */
static void result__5_4_that_waited_is_sent_again_once(void **state)
{
	struct weir_conn *conn;
	struct words r = {0};
	uint32_t size;

	(void)state;
	meet();
	raw_settle(&raw);
	conn = pair.server_conn;
	size = conn->sq_size;
	conn->sq_size = (uint32_t)(conn->sq_posted - conn->sq_retired) +
			conn->ep.blockers.nbatched; /* leaves no free entry after the batch */
	send_read(3000, TBSN, 0, 0);
	raw_settle(&raw);
	assert_int_equal(pair.handled, 1);
	assert_int_equal(raw.nmsgs, 0);
	conn->sq_size = size;
	assert_true(conn->sq_retired > 0);
	/* wakes waiting replies, as the completion of a Send does */
	conn_retire(conn, conn->sq_retired - 1, 0);
	expect_placed(3000);
	raw_settle(&raw);
	report_reply(read_xid);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[3], 0);
	expect_no_other(read_xid);
	assert_int_equal(pair_stats(pair.server).replies_resent, 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		T(properties__8_3_tell_the_structure),
		T(item__3_3_is_used_where_it_lies),
		T(item__in_targets_apart_is_put_together),
		T(item__9_5_that_is_wrong_is_reported),
		cmocka_unit_test_setup_teardown(
			item__8_2_2_under_gss_integrity_or_privacy_is_garbage, setup_several,
			teardown),
		T(item__of_another_length_than_the_message_says_is_garbage),
		T(result__7_4_is_placed_where_it_was_asked_for),
		T(result__7_4_goes_another_way_where_it_has_to),
		T(result__5_4_is_sent_again_by_the_base),
		T(result__5_4_that_waited_is_sent_again_once),
		T(result__so_many_are_kept),
		T(result__to_a_peer_without_targets_is_in_the_message),
	};

	return cmocka_run_group_tests_name("wire_rtr_place", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
