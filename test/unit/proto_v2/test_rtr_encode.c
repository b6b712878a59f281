/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that encoded messages of the extension have the bytes of the vectors, and are decoded to
 * the same values.
 */
#include "rtr_msg.h"

static void assert_vector(const char *name, const uint8_t *buf, uint32_t len)
{
	struct msg m;

	vector_read(name, &m);
	assert_int_equal(len, name[0] == 'A' ? m.len - 40 : m.len);
	assert_memory_equal(buf, m.buf, len);
}

static void request__vectors_A_B_and_C(void **state)
{
	const struct rdma1_segment seg = {0xabcd, 65536, 0x1000};
	struct weir_xdr_out out;
	uint8_t buf[128];

	(void)state;
	rtr_put_begin(&out, buf, sizeof(buf), 0x11, 32, RDMA1_CALL, RTR_BASE_TABLE, RTR_XMTREQ);
	rtr_put_count(&out, 0);
	rtr_put_count(&out, 0);
	rtr_put_request(&out, 1, 1, 40);
	assert_vector("A", buf, rtr_put_end(&out));

	rtr_put_begin(&out, buf, sizeof(buf), 0x12, 32, RDMA1_CALL, RTR_BASE_TABLE, RTR_XMTREQ);
	rtr_put_count(&out, 1);
	rtr_put_item_tbsn(&out, 96, 8192, 0, 0, 2);
	rtr_put_count(&out, 0);
	rtr_put_request(&out, 1, 1, 96);
	assert_vector("B", buf, rtr_put_end(&out));

	rtr_put_begin(&out, buf, sizeof(buf), 0x13, 32, RDMA1_CALL, RTR_BASE_TABLE, RTR_XMTREQ);
	rtr_put_count(&out, 0);
	rtr_put_count(&out, 1);
	rtr_put_set(&out, 40, 88, 1);
	rtr_put_rsditem(&out, 512, RTR_BYSIZE, 8192, &seg, 1);
	rtr_put_request(&out, 1, 3, 88);
	assert_vector("C", buf, rtr_put_end(&out));
	assert_false(out.failed);
}

static void response_and_report__vectors_E_and_H(void **state)
{
	const struct rtr_report report = {.bad = {0x16, RDMA1_CALL, 1}, .err = RTR_BADCONT};
	struct weir_xdr_out out;
	uint8_t buf[128];

	(void)state;
	rtr_put_begin(&out, buf, sizeof(buf), 0x14, 32, RDMA1_REPLY, RTR_BASE_TABLE, RTR_XMTRESP);
	rtr_put_count(&out, 2);
	rtr_put_item_inline(&out, RTR_TOOSHORT, 44, 100);
	rtr_put_item_inline(&out, RTR_NOITEM, 0, 0);
	rtr_put_response(&out, 1, 144);
	assert_vector("E", buf, rtr_put_end(&out));

	rtr_put_begin(&out, buf, sizeof(buf), 0x16, 32, RDMA1_REPLY, RTR_BASE_TABLE, RTR_REPTERR);
	rtr_put_report(&out, &report);
	assert_vector("H", buf, rtr_put_end(&out));
	assert_false(out.failed);
}

/*
 * Checks buffers of each size that is too small. The function must fail and write nothing after the
 * buffer.
 */
static void begin__output_is_bounded(void **state)
{
	const struct rdma1_segment seg = {1, 8, 0};

	(void)state;
	for (uint32_t size = 0; size <= 116; size++) {
		uint8_t *buf = malloc(size > 0 ? size : 1);
		struct weir_xdr_out out;

		rtr_put_begin(&out, buf, size, 1, 1, RDMA1_CALL, RTR_BASE_XDR, RTR_XMTREQ);
		rtr_put_count(&out, 1);
		rtr_put_item_exrw(&out, 44, 8, &seg, 1);
		rtr_put_count(&out, 1);
		rtr_put_set(&out, 0, 99, 1);
		rtr_put_rsditem(&out, 0, RTR_TBSN, 0, NULL, 0);
		rtr_put_request(&out, 1, 1, 40);
		(void)rtr_put_end(&out);
		assert_int_equal(out.failed, size < 28 + 4 + 32 + 4 + 12 + 8 + 12);
		free(buf);
	}
}

/* ---- encoded messages are decoded to the same values ---- */

static uint64_t seed;

static uint32_t any(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((seed >> 33) % below);
}

#define SEGMENTS 3u

struct an_item {
	uint32_t disp, length, offset, first, n;
	enum rtr_type type;
	struct rdma1_segment segments[SEGMENTS];
};

struct an_rsditem {
	uint32_t minlen, dsdov, n;
	enum rtr_type type;
	struct rdma1_segment segments[SEGMENTS];
};

struct a_set {
	uint32_t begin, end, n;
	struct an_rsditem items[4];
};

struct a_message {
	bool is_request;
	uint32_t base, xid, nitems, nsets, count, rsbuf, pslen;
	struct an_item items[5];
	struct a_set sets[4];
};

static uint32_t any_segments(struct rdma1_segment *segments, uint32_t n)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		segments[i] = (struct rdma1_segment){any(UINT32_MAX), any(5000),
						     (uint64_t)any(UINT32_MAX) << 20};
		sum += segments[i].length;
	}
	return sum;
}

static void any_item(struct an_item *item, bool is_request, uint32_t *reach)
{
	static const enum rtr_type types[] = {RTR_EXRW, RTR_TBSN, RTR_TOOSHORT, RTR_NOITEM};

	memset(item, 0, sizeof(*item));
	item->type = types[any(is_request ? 2 : 4)];
	item->disp = *reach + 4 * any(9);
	item->n = any(SEGMENTS + 1);
	if (item->type == RTR_EXRW) {
		item->length = any_segments(item->segments, item->n);
	} else {
		item->length = any(9000);
		item->offset = 4 * any(100);
		item->first = any(100);
	}
	if (item->type <= RTR_TBSN)
		*reach = item->disp + (item->length > 0 ? (item->length + 3) & ~3u
							: 4); /* never two at one displacement */
}

static void any_set(struct a_set *set, uint32_t *reach)
{
	memset(set, 0, sizeof(*set));
	set->begin = *reach + any(20);
	set->end = set->begin + any(100);
	*reach = set->end;
	set->n = any(5);
	for (uint32_t i = 0; i < set->n; i++) {
		struct an_rsditem *item = &set->items[i];

		item->type = (enum rtr_type)(RTR_EXRW + any(4));
		item->minlen = any(UINT32_MAX);
		if (item->type == RTR_BYSIZE)
			item->dsdov = any(UINT32_MAX);
		if (item->type != RTR_TBSN)
			(void)any_segments(item->segments, item->n = any(SEGMENTS + 1));
	}
}

static void any_message(struct a_message *a)
{
	uint32_t reach = 40;

	memset(a, 0, sizeof(*a));
	a->is_request = any(2) == 0;
	a->base = any(2) == 0 ? RTR_BASE_XDR : RTR_BASE_TABLE;
	a->xid = any(UINT32_MAX);
	a->nitems = any(6);
	a->count = any(UINT32_MAX);
	a->rsbuf = 1 + any(99);
	a->pslen = any(8);
	for (uint32_t i = 0; i < a->nitems; i++)
		any_item(&a->items[i], a->is_request, &reach);
	reach = 0;
	a->nsets = a->is_request ? any(5) : 0;
	for (uint32_t i = 0; i < a->nsets; i++)
		any_set(&a->sets[i], &reach);
}

static void encode(const struct a_message *a, struct msg *m)
{
	struct weir_xdr_out out;

	rtr_put_begin(&out, m->buf, sizeof(m->buf), a->xid, 32,
		      a->is_request ? RDMA1_CALL : RDMA1_REPLY, a->base,
		      a->is_request ? RTR_XMTREQ : RTR_XMTRESP);
	rtr_put_count(&out, a->nitems);
	for (uint32_t i = 0; i < a->nitems; i++) {
		const struct an_item *item = &a->items[i];

		if (item->type == RTR_EXRW)
			rtr_put_item_exrw(&out, item->disp, item->length, item->segments, item->n);
		else if (item->type == RTR_TBSN)
			rtr_put_item_tbsn(&out, item->disp, item->length, item->offset, item->first,
					  item->n);
		else
			rtr_put_item_inline(&out, item->type, item->disp, item->length);
	}
	if (!a->is_request) {
		rtr_put_response(&out, a->count, a->pslen);
		m->len = rtr_put_end(&out);
		return;
	}
	rtr_put_count(&out, a->nsets);
	for (uint32_t i = 0; i < a->nsets; i++) {
		rtr_put_set(&out, a->sets[i].begin, a->sets[i].end, a->sets[i].n);
		for (uint32_t k = 0; k < a->sets[i].n; k++) {
			const struct an_rsditem *item = &a->sets[i].items[k];

			rtr_put_rsditem(&out, item->minlen, item->type, item->dsdov, item->segments,
					item->n);
		}
	}
	rtr_put_request(&out, a->count, a->rsbuf, a->pslen);
	m->len = rtr_put_end(&out);
}

static void assert_segments(struct rdma1_segment_iter it, const struct rdma1_segment *segments,
			    uint32_t n)
{
	struct rdma1_segment seg;

	assert_int_equal(it.left, n);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(rdma1_segments_next(&it, &seg));
		assert_memory_equal(&seg, &segments[i], sizeof(seg));
	}
}

static void assert_items(const struct rtr_header *rtr, const struct a_message *a)
{
	struct rtr_item item;
	struct rtr_iter it;
	uint32_t tbsn;

	rtr_items_begin(rtr, &it);
	for (uint32_t i = 0; i < a->nitems; i++) {
		assert_true(rtr_items_next(&it, &item));
		assert_int_equal(item.type, a->items[i].type);
		assert_int_equal(item.disp, a->items[i].disp);
		assert_int_equal(item.length, a->items[i].length);
		if (item.type == RTR_EXRW)
			assert_segments(item.segments, a->items[i].segments, a->items[i].n);
		if (item.type != RTR_TBSN)
			continue;
		assert_int_equal(item.offset, a->items[i].offset);
		for (uint32_t k = 0; k < a->items[i].n; k++) {
			assert_true(rtr_tbsns_next(&item.tbsns, &tbsn));
			assert_int_equal(tbsn, a->items[i].first + k);
		}
		assert_false(rtr_tbsns_next(&item.tbsns, &tbsn));
	}
	assert_false(rtr_items_next(&it, &item));
}

static void assert_sets(const struct rtr_header *rtr, const struct a_message *a)
{
	struct rtr_rsditem item;
	struct rtr_set set;
	struct rtr_iter it;

	rtr_sets_begin(rtr, &it);
	for (uint32_t i = 0; i < a->nsets; i++) {
		assert_true(rtr_sets_next(&it, &set));
		assert_int_equal(set.begin, a->sets[i].begin);
		assert_int_equal(set.end, a->sets[i].end);
		for (uint32_t k = 0; k < a->sets[i].n; k++) {
			assert_true(rtr_rsditems_next(&set.items, &item));
			assert_int_equal(item.type, a->sets[i].items[k].type);
			assert_int_equal(item.minlen, a->sets[i].items[k].minlen);
			assert_int_equal(item.dsdov, a->sets[i].items[k].dsdov);
			assert_segments(item.segments, a->sets[i].items[k].segments,
					a->sets[i].items[k].n);
		}
		assert_false(rtr_rsditems_next(&set.items, &item));
	}
	assert_false(rtr_sets_next(&it, &set));
}

static void roundtrip__what_is_encoded_is_decoded(void **state)
{
	(void)state;
	for (seed = 0; seed < 3000; seed++) {
		uint64_t start = seed;
		struct a_message a;
		struct rtr_decoded d;
		struct msg m;

		any_message(&a);
		encode(&a, &m);
		d = rtr_msg_decode(&m);
		assert_int_equal(d.reason, RDMA1_R_NONE);
		assert_int_equal(d.rtr.op, a.is_request ? RTR_XMTREQ : RTR_XMTRESP);
		assert_int_equal(d.rtr.base, a.base);
		assert_int_equal(d.rtr.xid, a.xid);
		assert_int_equal(d.rtr.count, a.count);
		assert_int_equal(d.rtr.pslen, a.pslen);
		if (a.is_request)
			assert_int_equal(d.rtr.rsbuf, a.rsbuf);
		assert_items(&d.rtr, &a);
		assert_sets(&d.rtr, &a);
		assert_int_equal(d.rtr.header_bytes, m.len);
		rtr_msg_free(&d);
		seed = start;
	}
}

/*
 * Changes bytes of messages. Each message must be refused, or its iterators must stay inside it.
 * The memory has exactly the size of the message, so that a sanitizer detects a read after the end.
 */
static void roundtrip__changed_bytes_are_judged(void **state)
{
	uint32_t accepted = 0, refused = 0;

	(void)state;
	for (seed = 0; seed < 6000; seed++) {
		uint64_t start = seed;
		struct rtr_rsditem rsditem;
		struct a_message a;
		struct rtr_decoded d;
		struct rtr_item item;
		struct rtr_set set;
		struct rtr_iter it;
		struct msg m;

		any_message(&a);
		encode(&a, &m);
		for (uint32_t n = 1 + any(3); n > 0; n--)
			m.buf[28 + any(m.len - 28)] = (uint8_t)any(256);
		d = rtr_msg_decode(&m);
		d.verdict == RDMA2_V_OK ? accepted++ : refused++;
		rtr_items_begin(&d.rtr, &it);
		while (rtr_items_next(&it, &item))
			assert_true(it.p <= d.base.msg + m.len);
		rtr_sets_begin(&d.rtr, &it);
		while (rtr_sets_next(&it, &set))
			while (rtr_rsditems_next(&set.items, &rsditem))
				assert_true(set.items.p <= d.base.msg + m.len);
		rtr_msg_free(&d);
		seed = start;
	}
	assert_true(accepted > 500 && refused > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request__vectors_A_B_and_C),
		cmocka_unit_test(response_and_report__vectors_E_and_H),
		cmocka_unit_test(begin__output_is_bounded),
		cmocka_unit_test(roundtrip__what_is_encoded_is_decoded),
		cmocka_unit_test(roundtrip__changed_bytes_are_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
