/* SPDX-License-Identifier: BSD-3-Clause */
/* Data that Sends place, on the wire (rtrext-01 sections 3.3, 7 and 8.3): what a responder makes of them and a requester whose
 * responder says what a test wants. Receives of either side have three targets of 2,048 bytes behind a lead of 1,024. */
#include "pair_main.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "raw.h"
#include "requester.h"

#define CALL	0u
#define REPLY	1u
#define XMTREQ	5u
#define XMTRESP 6u
#define REPTERR 8u

#define LEAD   1024u
#define TARGET 2048u
#define NUMBER 3u
#define BUFFER (LEAD + NUMBER * TARGET)

enum { EXRW = 1, TBSN, CHOICE, BYSIZE, TOOSHORT, NOITEM };
enum { BADOFF = 6, BADTBSN, BADPL };

static struct pair pair;
static struct raw raw;
static struct weir_conn *conn;
static struct outcome outcome;
static int opened;

static void shape(struct weir_profile *profile)
{
	profile->lead_bytes = LEAD;
	profile->targets = NUMBER;
	profile->target_bytes = TARGET;
}

static struct weir_engine_stats stats(struct weir_engine *engine)
{
	struct weir_engine_stats s;

	weir_engine_stats(engine, &s);
	return s;
}

/* RDMA2_CONNPROP of a peer with such receives. */
static struct words connprop(uint32_t xid)
{
	struct words m = {0};

	words_put(&m, 5, xid, 2, 16, 6, 3);
	words_put(&m, 3, 3, 4, 3);	/* XREQ, XRESP */
	words_put(&m, 3, 1, 4, BUFFER); /* RBSIZ */
	words_put(&m, 12, 4, 40, BUFFER, 2, 1, LEAD, 0, 0, NUMBER, TARGET, 2048, 1);
	words_put(&m, 2, 1, 7);
	return m;
}

static void open_raw(void)
{
	pair_extension = WEIR_EXTENSION_PLACEMENT;
	pair_start(&pair, shape);
	raw_open(&raw, &pair);
	raw.msg_bytes = BUFFER;
}

static int setup(void **state)
{
	(void)state;
	pair_server_protocol = WEIR_PROTOCOL_AUTO;
	open_raw();
	raw_connect(&raw);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	raw_close(&raw);
	pair_stop(&pair);
	return 0;
}

/* ---- a responder ---- */

static void properties__8_3_tell_the_structure(void **state)
{
	static const uint32_t expected[] = {4, 40, BUFFER, 2, 1, LEAD, 0, 0, NUMBER, TARGET, 2048, 1};
	struct words m = connprop(3), r = {0};

	(void)state;
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[3], 6);
	assert_int_equal(r.w[4], 6); /* properties */
	assert_int_equal(r.w[5], 1);
	assert_int_equal(r.w[7], BUFFER);
	assert_memory_equal(&r.w[5 + 3 * 5], expected, sizeof(expected));
	assert_int_equal(r.w[r.n - 1], 0x3f); /* none of them changes */
	for (uint32_t i = 0; i < pair.server->recv_pool->count; i++) {
		struct mem_buf *buf = mem_pool_get(pair.server->recv_pool);

		if (!buf)
			break;
		assert_int_equal(((uintptr_t)buf->data + LEAD) % TARGET, 0);
		buf->user[0] = (uintptr_t)outcome.arg;
		outcome.arg = buf;
	}
	while (outcome.arg) {
		struct mem_buf *buf = outcome.arg;

		outcome.arg = (void *)(uintptr_t)buf->user[0];
		mem_pool_put(buf);
	}
}

/* An item of a WRITE: where its TBSNs say that it is. */
struct item {
	uint32_t len, offset, ntbsns, tbsns[4];
};

/* WRITE of that item, whose bytes lie so; of the message, that many bytes are sent in all: 0: as many as it needs. */
static void send_write(const struct item *item, uint32_t pslen, uint32_t bytes)
{
	struct words m = {0};
	uint8_t msg[BUFFER] = {0};
	uint32_t end = 0, done = 0;

	words_put(&m, 7, 9, 2, 8, 5, CALL, XMTREQ, 0);
	words_put(&m, 6, 1, 48, item->len, TBSN, item->offset, item->ntbsns);
	for (uint32_t i = 0; i < item->ntbsns; i++)
		words_put(&m, 1, item->tbsns[i]);
	words_put(&m, 4, 0, 1, 1, pslen);
	m.w[6] = htobe32((m.n - 7) * 4);
	words_put(&m, 10, 9, 0, 2, PAIR_PROG, PAIR_VERS, PAIR_WRITE, 0, 0, 0, 0);
	words_put(&m, 3, 5, item->len, 6);
	memcpy(msg, m.w, m.n * 4);
	for (uint32_t i = 0; i < item->ntbsns; i++) {
		uint32_t start = i == 0 ? item->offset : 0, at = LEAD + item->tbsns[i] * TARGET + start;

		for (; start < TARGET && done < item->len && at < BUFFER; start++, done++)
			msg[at++] = pair_byte(done);
		if (at > end && at <= BUFFER)
			end = at;
	}
	raw_send(&raw, msg, bytes ? bytes : end > m.n * 4 ? end : m.n * 4);
}

static uint32_t checksum(uint32_t len)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < len; i++)
		sum = sum * 33 + pair_byte(i);
	return sum;
}

static void item__3_3_is_used_where_it_lies(void **state)
{
	static const struct item items[] = {
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
		assert_int_equal(r.w[18], checksum(items[i].len));
		assert_int_equal(stats(pair.server).placed_received, i + 1);
	}
	assert_int_equal(stats(pair.server).bulk_copies, 0);
	assert_int_equal(stats(pair.server).reads, 0);
	assert_int_equal(stats(pair.server).read_chunks, 0);
}

static void item__in_targets_apart_is_put_together(void **state)
{
	static const struct item item = {3000, 0, 2, {0, 2}};
	struct words r = {0};

	(void)state;
	send_write(&item, 52, 0);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[5], XMTRESP);
	assert_int_equal(r.w[18], checksum(3000));
	assert_int_equal(stats(pair.server).bulk_copies, 1);
	raw_settle(&raw);
	assert_int_equal(pair.server->bulk_pool->in_use, 0);
}

static void item__9_5_that_is_wrong_is_reported(void **state)
{
	static const struct {
		struct item item;
		uint32_t pslen, bytes, err, value, min, max;
	} cases[] = {
		{{200, 0, 1, {3}}, 52, 0, BADTBSN, 3, 0, 2},		       /* out of range */
		{{200, 0, 1, {UINT32_MAX}}, 52, 0, BADTBSN, UINT32_MAX, 0, 2}, /* the same */
		{{200, 0, 2, {0, 1}}, 52, 0, BADTBSN, 1, 0, 2},		       /* one too many */
		{{3000, 0, 1, {0}}, 52, 0, BADTBSN, 0, 0, 2},		       /* one too few */
		{{3000, 0, 2, {1, 1}}, 52, 0, BADOFF, 0, TARGET, TARGET - 4},  /* twice the same */
		{{200, TARGET, 1, {0}}, 52, 0, BADOFF, TARGET, 0, TARGET - 4},
		{{200, 2, 1, {0}}, 52, 0, BADOFF, 2, 0, TARGET - 4},
		{{200, UINT32_MAX & ~3u, 1, {0}}, 52, 0, BADOFF, UINT32_MAX & ~3u, 0, TARGET - 4},
		{{200, 0, 1, {1}}, 52, LEAD + TARGET + 199, BADTBSN, 1, 0, 0}, /* its end did not come */
		{{200, 0, 1, {0}}, LEAD, 0, BADOFF, 0, 72, TARGET - 4},	       /* payload in front of it */
		{{200, 0, 1, {0}}, 4 * LEAD, 0, BADPL, 4 * LEAD, 8, LEAD + 200 - 72}, /* beyond the message */
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
	assert_int_equal(stats(pair.server).reports_sent, sizeof(cases) / sizeof(cases[0]));
	raw_settle(&raw);
	assert_int_equal(raw.nmsgs, 0);
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

/* READ of that many bytes, with one direction of that type for the whole call. */
static void send_read(uint32_t count, uint32_t type, uint32_t dsdov, uint32_t room)
{
	struct words m = {0};

	words_put(&m, 7, 9, 2, 8, 5, CALL, XMTREQ, 0);
	words_put(&m, 7, 0, 1, 0, 44, 1, 256, type);
	if (type == BYSIZE)
		words_put(&m, 1, dsdov);
	if (type != TBSN)
		words_put(&m, 5, 1, raw.mr.rkey, room, (uint32_t)(raw.raddr >> 32), (uint32_t)raw.raddr);
	words_put(&m, 3, 1, 1, 44);
	m.w[6] = htobe32((m.n - 7) * 4);
	words_put(&m, 11, 9, 0, 2, PAIR_PROG, PAIR_VERS, PAIR_READ, 0, 0, 0, 0, count);
	raw_send_words(&raw, &m);
}

static void meet(void)
{
	struct words m = connprop(3), r = {0};

	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
}

/* The reply's entry, whose targets start with the first; and the data in their places, zeros between. */
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
	assert_int_equal(stats(pair.server).placed_sent, 3);
	assert_int_equal(stats(pair.server).writes, 0);
}

static void result__7_4_goes_another_way_where_it_has_to(void **state)
{
	struct words r = {0};

	(void)state;
	meet();
	send_read(3001, BYSIZE, 3000, 10000); /* longer than that */
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[10], EXRW);
	send_read(NUMBER * TARGET + 1, BYSIZE, 10000, 10000); /* than all targets */
	r.n = 0;
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[10], EXRW);
	send_read(255, TBSN, 0, 0); /* shorter than the minimum */
	r.n = 0;
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[10], TOOSHORT);
	send_read(NUMBER * TARGET + 1, TBSN, 0, 0); /* and no way at all: RDMA2_ERR_REPLY_RESOURCE */
	r.n = 0;
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[3], 4);
	assert_int_equal(r.w[4], 3);
	assert_int_equal(stats(pair.server).placed_sent, 0);
}

/* Without a structure of the peer's. */
static void result__to_a_peer_without_targets_is_in_the_message(void **state)
{
	struct words r = {0};

	(void)state;
	send_read(300, TBSN, 0, 0);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[10], TOOSHORT);
}

/* ---- a requester ---- */

static void on_event(struct weir_conn *c, enum weir_conn_event event, int error, void *arg)
{
	(void)c;
	(void)error;
	(void)arg;
	opened += event == WEIR_CONN_OPEN;
}

static int setup_requester(void **state)
{
	const struct weir_connect_options options = {.on_event = on_event};
	struct words m = {0}, r;
	char addr[80];

	(void)state;
	opened = 0;
	pair_client_protocol = WEIR_PROTOCOL_V2;
	open_raw();
	pair_new_addr(addr, sizeof(addr));
	raw_listen(&raw, addr);
	assert_int_equal(weir_connect(pair.client, addr, &options, &conn), 0);
	raw_recv_words(&raw, &m);
	raw_until(&raw, &raw.established, 1);
	r = connprop(m.w[0]);
	raw_send_words(&raw, &r);
	raw_until(&raw, &opened, 1);
	return 0;
}

static void expect_idle(void)
{
	raw_settle(&raw);
	assert_int_equal(requester_of(conn)->credits.in_flight, 0);
	assert_int_equal(pair.client->nwindows_free, pair.client->nwindows);
	assert_int_equal(pair.client->send_pool->in_use, 1); /* the zeros */
}

/* WRITE of the client's memory; returns its XID when the message was as it has to be. */
static uint32_t begin_write(uint32_t len)
{
	uint32_t w[32], used, ntbsns = (len + TARGET - 1) / TARGET;
	struct weir_call_params params;
	struct weir_call *call;
	uint8_t msg[RAW_BUF];

	for (uint32_t i = 0; i < len; i++)
		pair.client_mem[i] = pair_byte(i);
	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_WRITE, &outcome);
	call = weir_call_begin(conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), 5);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, len), 0);
	weir_xdr_put_u32(weir_call_args(call), 6);
	assert_int_equal(weir_call_submit(call), 0);
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
	assert_int_equal(w[13 + ntbsns], 0); /* directions */
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
	words_put(&r, 9, xid, 1, 0, 0, 0, 0, 11, 5001, checksum(5001));
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(stats(pair.client).placed_sent, 1);
	assert_int_equal(stats(pair.client).windows_bound, 0);
	assert_int_equal(stats(pair.client).bulk_copies, 0);
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
	words_put(&r, 9, xid, 1, 0, 0, 0, 0, 11, 5000, checksum(5000));
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	expect_idle();
}

/* Longer than all targets. */
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
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, NUMBER * TARGET + 1),
			 0);
	weir_xdr_put_u32(weir_call_args(call), 6);
	assert_int_equal(weir_call_submit(call), 0);
	raw_recv_words(&raw, &m);
	assert_int_equal(m.w[3], 0);
	assert_int_equal(m.w[6], 1);
	assert_int_equal(stats(pair.client).fallbacks_limits, 1);
	assert_int_equal(stats(pair.client).placed_sent, 0);
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

/* READ of at most that many bytes; its XID. It asks for 'type'. */
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
		assert_int_equal(m.w[14], NUMBER * TARGET);
	return m.w[0];
}

/* The reply, with its data as that item says. */
static void send_read_reply(uint32_t xid, const struct item *item, uint32_t word)
{
	struct words m = {0};
	uint8_t msg[BUFFER] = {0};
	uint32_t end = LEAD, done = 0;

	words_put(&m, 7, xid, 2, 16, 5, REPLY, XMTRESP, 0);
	words_put(&m, 6, 1, 28, item->len, TBSN, item->offset, item->ntbsns);
	for (uint32_t i = 0; i < item->ntbsns; i++)
		words_put(&m, 1, item->tbsns[i]);
	words_put(&m, 2, 1, 28);
	m.w[6] = htobe32((m.n - 7) * 4);
	words_put(&m, 7, xid, 1, 0, 0, 0, 0, word);
	memcpy(msg, m.w, m.n * 4);
	for (uint32_t i = 0; i < item->ntbsns; i++) {
		uint32_t start = i == 0 ? item->offset : 0, at = LEAD + item->tbsns[i] * TARGET + start;

		for (; start < TARGET && done < item->len && at < BUFFER; start++, done++)
			msg[at++] = pair_byte(done);
		if (at > end && at <= BUFFER)
			end = at;
	}
	raw_send(&raw, msg, end);
}

static void read__7_4_is_used_where_it_lies(void **state)
{
	static const struct item items[] = {
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
	assert_int_equal(stats(pair.client).placed_received, 4);
	assert_int_equal(stats(pair.client).windows_bound, 0);
	assert_int_equal(stats(pair.client).bulk_copies, 0);
}

static void read__in_targets_apart_is_put_together(void **state)
{
	static const struct item item = {3000, 0, 2, {0, 2}};
	uint32_t xid = begin_read(5000, TBSN);

	(void)state;
	outcome.bytes = 3000;
	send_read_reply(xid, &item, 3000);
	raw_until(&raw, &outcome.done, 1);
	assert_ptr_equal(outcome.arg, pair.client_mem);
	assert_int_equal(stats(pair.client).bulk_copies, 1);
	expect_idle();
}

/* With memory named, should it be longer than that. */
static void read__7_4_of_more_than_the_targets_is_by_size(void **state)
{
	static const struct item item = {1000, 0, 1, {0}};
	uint32_t xid = begin_read(NUMBER * TARGET + 1, BYSIZE);

	(void)state;
	outcome.bytes = 1000;
	send_read_reply(xid, &item, 1000);
	raw_until(&raw, &outcome.done, 1);
	expect_idle();
}

static void read__9_5_whose_place_is_wrong_is_reported(void **state)
{
	static const struct {
		struct item item;
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
		raw_until(&raw, &outcome.done, 1);
		assert_int_equal(outcome.status, -EBADMSG);
		raw_recv_words(&raw, &r);
		assert_int_equal(r.w[4], CALL);
		assert_int_equal(r.w[5], REPTERR);
		assert_int_equal(r.w[7], xid);
		assert_int_equal(r.w[8], REPLY);
		assert_int_equal(r.w[11], cases[i].err);
		assert_int_equal(r.w[12], cases[i].value);
		assert_int_equal(r.w[13], cases[i].min);
		assert_int_equal(r.w[14], cases[i].max);
		expect_idle();
	}
}

static void read__that_is_not_what_its_entry_says_ends_the_call(void **state)
{
	static const struct item other = {1000, 0, 1, {0}}, apart = {5004, 0, 3, {0, 2, 1}};
	uint32_t xid = begin_read(5000, TBSN);

	(void)state;
	outcome.check = NULL;
	send_read_reply(xid, &other, 1004); /* its length word says another length */
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, -EBADMSG);
	expect_idle();
	xid = begin_read(5000, TBSN);
	outcome.check = NULL;
	send_read_reply(xid, &apart, 5004); /* to be put together, and too long for that */
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, -EBADMSG);
	expect_idle();
	assert_int_equal(stats(pair.client).reports_sent, 0);
}

#define S(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define Q(name) cmocka_unit_test_setup_teardown(name, setup_requester, teardown)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		S(properties__8_3_tell_the_structure),
		S(item__3_3_is_used_where_it_lies),
		S(item__in_targets_apart_is_put_together),
		S(item__9_5_that_is_wrong_is_reported),
		S(item__of_another_length_than_the_message_says_is_garbage),
		S(result__7_4_is_placed_where_it_was_asked_for),
		S(result__7_4_goes_another_way_where_it_has_to),
		S(result__to_a_peer_without_targets_is_in_the_message),
		Q(write__3_3_takes_one_message),
		Q(write__5_4_that_is_refused_goes_by_the_base),
		Q(write__too_long_goes_by_explicit_rdma),
		Q(read__7_4_is_used_where_it_lies),
		Q(read__in_targets_apart_is_put_together),
		Q(read__7_4_of_more_than_the_targets_is_by_size),
		Q(read__9_5_whose_place_is_wrong_is_reported),
		Q(read__that_is_not_what_its_entry_says_ends_the_call),
	};

	return cmocka_run_group_tests_name("wire_rtr_place", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
