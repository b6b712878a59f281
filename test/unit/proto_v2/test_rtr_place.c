/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of items in targets: each way in which their placement can be wrong, and that the receiver
 * finds the items that the sender lays out.
 */
#include "rtr_msg.h"
#include "rtr_place.h"

/* The structure of vector J: a segment of 4096 bytes, then eight targets of 4096 bytes. */
static const struct rtr_buffer eight = {
	.length = 36864,
	.ngroups = 2,
	.is_consistent = true,
	.sum = 36864,
	.groups = {{1, 4096, 8, 0}, {8, 4096, 4096, RTR_SEG_DDP}},
};

static void layout__vectors_B_and_J(void **state)
{
	const uint32_t bytes = 8192;
	const struct rtr_layout_in in = {.buffer = &eight,
					 .send_bytes_max = 36864,
					 .count_max = 1,
					 .header_bytes = 48,
					 .payload_bytes = 96,
					 .item_bytes = &bytes,
					 .nitems = 1};
	struct rtr_layout layout;
	struct rtr_piece pieces[4];
	uint32_t offset, len;

	(void)state;
	assert_int_equal(rtr_layout_plan(&in, &layout), 0);
	assert_int_equal(layout.count, 1);
	assert_int_equal(layout.header_bytes, 76);
	assert_int_equal(layout.items[0].first_tbsn, 0);
	assert_int_equal(layout.items[0].ntbsns, 2);
	rtr_layout_payload(&layout, 0, &offset, &len);
	assert_int_equal(offset, 0);
	assert_int_equal(len, 96);
	assert_int_equal(rtr_layout_pieces(&layout, &eight, 0, pieces, 4), 2);
	assert_int_equal(pieces[0].at, 4096);
	assert_int_equal(pieces[1].at, 8192);
	assert_int_equal(pieces[1].at + pieces[1].len, 12288);
	assert_int_equal(pieces[1].item_offset, 4096);
}

static void place__vectors_B_and_J(void **state)
{
	struct rtr_decoded d = rtr_msg_vector("B");
	struct rtr_received received = {12288, 172};
	struct rtr_piece pieces[2];
	struct rtr_report report;

	(void)state;
	assert_int_equal(rtr_place(&d.rtr, &eight, NULL, 0, NULL, 0, &report), 2);
	assert_int_equal(rtr_place(&d.rtr, &eight, &received, 1, pieces, 2, &report), 2);
	assert_int_equal(pieces[0].at, 4096);
	assert_int_equal(pieces[0].len, 4096);
	assert_int_equal(pieces[1].at, 8192);
	rtr_msg_free(&d);
}

/*
 * A request with up to two items. Each has a length, an offset, and TBSNs, of which the last is
 * followed by -1.
 */
struct an_item {
	uint32_t length, offset;
	int tbsns[5];
};

static struct rtr_decoded items(struct msg *m, uint32_t count, const struct an_item *item,
				uint32_t n)
{
	rtr_msg_begin(m, RDMA1_CALL, 5);
	msg_u32(m, n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t ntbsns = 0;

		while (item[i].tbsns[ntbsns] >= 0)
			ntbsns++;
		msg_u32(m, 44 + 100000 * i);
		msg_u32(m, item[i].length);
		msg_u32(m, RTR_TBSN);
		msg_u32(m, item[i].offset);
		msg_u32(m, ntbsns);
		for (uint32_t k = 0; k < ntbsns; k++)
			msg_u32(m, (uint32_t)item[i].tbsns[k]);
	}
	msg_u32(m, 0);
	msg_u32(m, count);
	msg_u32(m, 1);
	msg_u32(m, 0);
	rtr_msg_end(m);
	return rtr_msg_decode(m);
}

/*
 * Checks each way in which the placement can be wrong. There are eight targets. Each transmission
 * is received in full, with 4096 bytes of header and payload.
 */
static void place__each_way_to_be_wrong(void **state)
{
	static const struct {
		uint32_t count;
		struct an_item item[2];
		uint32_t n;
		enum rtr_err err; /* 0 if the placement is valid */
		uint32_t values[3];
	} cases[] = {
		{1, {{4096, 0, {0, -1}}}, 1, 0, {0}},
		{1, {{4096, 0, {7, -1}}}, 1, 0, {0}},
		{1, {{5, 4092, {1, 2, -1}}}, 1, 0, {0}},
		{1, {{0, 0, {-1}}}, 1, 0, {0}},
		{1, {{100, 0, {3, -1}}, {100, 100, {3, -1}}}, 2, 0, {0}},
		{2, {{8192, 0, {7, 8, -1}}}, 1, 0, {0}}, /* continues in the next transmission */
		{1, {{4096, 0, {8, -1}}}, 1, RTR_BADTBSN, {8, 0, 7}},
		{2, {{4096, 0, {16, -1}}}, 1, RTR_BADTBSN, {16, 0, 15}},
		{1, {{4097, 0, {0, -1}}}, 1, RTR_BADTBSN, {0, 0, 7}},	 /* too few */
		{1, {{4096, 0, {-1}}}, 1, RTR_BADTBSN, {0, 0, 7}},	 /* none */
		{1, {{4096, 0, {0, 1, -1}}}, 1, RTR_BADTBSN, {1, 0, 7}}, /* too many */
		{1, {{0, 0, {5, -1}}}, 1, RTR_BADTBSN, {5, 0, 7}},
		{1, {{8, 4096, {0, -1}}}, 1, RTR_BADOFF, {4096, 0, 4092}},
		{1, {{8, 0xfffffffc, {0, -1}}}, 1, RTR_BADOFF, {0xfffffffc, 0, 4092}},
		{1, {{8, 2, {0, -1}}}, 1, RTR_BADOFF, {2, 0, 4092}}, /* not aligned */
		/* the same target twice */
		{1, {{8192, 0, {0, 0, -1}}}, 1, RTR_BADOFF, {0, 4096, 4092}},
		{1, {{100, 0, {3, -1}}, {100, 96, {3, -1}}}, 2, RTR_BADOFF, {96, 100, 4092}},
	};
	const struct rtr_received received[2] = {{36864, 4096}, {36864, 40}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rtr_report report = {.err = 0};
		struct rtr_decoded d;
		struct msg m;
		int rc;

		d = items(&m, cases[i].count, cases[i].item, cases[i].n);
		assert_int_equal(d.verdict, RDMA2_V_OK);
		rc = rtr_place(&d.rtr, &eight, i % 2 == 0 ? received : NULL, 2, NULL, 0, &report);
		assert_int_equal(rc < 0, cases[i].err != 0);
		assert_int_equal(report.err, cases[i].err);
		assert_memory_equal(report.values, cases[i].values, sizeof(report.values));
		if (rc < 0) {
			assert_int_equal(report.bad.xid, MSG_XID);
			assert_int_equal(report.bad.seq, 0);
		}
		rtr_msg_free(&d);
	}
}

/*
 * Checks that an item is not in bytes that were not received, nor in those of header and payload.
 */
static void place__what_came_bounds_it(void **state)
{
	const struct an_item item = {8192, 0, {0, 1, -1}};
	struct rtr_report report;
	struct rtr_decoded d;
	struct msg m;

	(void)state;
	d = items(&m, 1, &item, 1);
	for (uint32_t bytes = 0; bytes <= 12300; bytes += 4) {
		const struct rtr_received received = {bytes, bytes < 4096 ? bytes : 4096};
		int rc = rtr_place(&d.rtr, &eight, &received, 1, NULL, 0, &report);

		assert_int_equal(rc, bytes >= 12288 ? 2 : -EBADMSG);
		if (rc < 0)
			assert_int_equal(report.err, RTR_BADTBSN);
		if (rc < 0)
			assert_int_equal(report.values[0], bytes < 8192 ? 0 : 1);
	}
	for (uint32_t used = 4092; used <= 4100; used += 4) {
		const struct rtr_received received = {12288, used};
		int rc = rtr_place(&d.rtr, &eight, &received, 1, NULL, 0, &report);

		assert_int_equal(rc, used <= 4096 ? 2 : -EBADMSG);
		if (rc < 0)
			assert_int_equal(report.err, RTR_BADOFF);
	}
	rtr_msg_free(&d);
}

static void place__without_targets_or_with_too_many(void **state)
{
	const struct an_item item = {8, 0, {0, -1}};
	struct rtr_buffer none, many = eight;
	struct rtr_report report;
	struct rtr_decoded d;
	struct msg m;

	(void)state;
	rtr_buffer_default(&none, 4096);
	many.groups[1].count = RTR_PLACE_TARGETS_MAX / 2;
	d = items(&m, 2, &item, 1);
	assert_int_equal(rtr_place(&d.rtr, &none, NULL, 0, NULL, 0, &report), -EBADMSG);
	assert_int_equal(report.err, RTR_BADTBSN);
	assert_int_equal(report.values[0] | report.values[1] | report.values[2], 0);
	assert_int_equal(rtr_place(&d.rtr, &many, NULL, 0, NULL, 0, &report), 1);
	many.groups[1].count++;
	assert_int_equal(rtr_place(&d.rtr, &many, NULL, 0, NULL, 0, &report), -E2BIG);
	rtr_msg_free(&d);
}

/*
 * Checks targets of transmissions. Only those that arrived count, whatever number the header
 * states. The test uses the last existing target, and the one after it.
 */
static void place__no_transmission_but_those_that_came(void **state)
{
	struct rtr_received received[RTR_TRANSMISSIONS_MAX + 1];
	const uint32_t most = RTR_TRANSMISSIONS_MAX;

	(void)state;
	for (uint32_t i = 0; i <= most; i++)
		received[i] = (struct rtr_received){36864, 40};
	for (uint32_t n = 1; n <= most; n++) {
		for (uint32_t beyond = 0; beyond < 2; beyond++) {
			const struct an_item item = {4, 0, {(int)(n * 8 - 1 + beyond), -1}};
			struct rtr_report report = {.err = 0};
			struct rtr_piece piece;
			struct rtr_decoded d;
			struct msg m;
			int rc;

			d = items(&m, most + 1, &item, 1);
			rc = rtr_place(&d.rtr, &eight, received, n, &piece, 1, &report);
			assert_int_equal(rc, beyond ? -EBADMSG : 1);
			if (!beyond)
				assert_int_equal(piece.transmission, n - 1);
			if (beyond) {
				assert_int_equal(report.err, RTR_BADTBSN);
				assert_int_equal(report.values[0], n * 8);
				assert_int_equal(report.values[2], n * 8 - 1);
			}
			rtr_msg_free(&d);
		}
	}
}

/*
 * Checks an error in a later transmission. It is reported for that transmission, although the first
 * one names the target.
 */
static void place__9_5_says_which_transmission(void **state)
{
	const struct an_item item = {8192, 0, {7, 8, -1}};
	struct rtr_received received[2] = {{36864, 4096}, {8191, 40}};
	struct rtr_report report;
	struct rtr_decoded d;
	struct msg m;

	(void)state;
	d = items(&m, 2, &item, 1);
	assert_int_equal(rtr_place(&d.rtr, &eight, received, 2, NULL, 0, &report), -EBADMSG);
	assert_int_equal(report.err, RTR_BADTBSN);
	assert_int_equal(report.values[0], 8);
	assert_int_equal(report.bad.seq, 1);
	assert_true(report.has_lead);
	assert_int_equal(report.lead.xid, MSG_XID);
	assert_int_equal(report.lead.seq, 0);
	received[1] = (struct rtr_received){36864, 4100}; /* payload overlaps the target */
	assert_int_equal(rtr_place(&d.rtr, &eight, received, 2, NULL, 0, &report), -EBADMSG);
	assert_int_equal(report.err, RTR_BADOFF);
	assert_int_equal(report.bad.seq, 1);
	received[1].used_bytes = 4096;
	assert_int_equal(rtr_place(&d.rtr, &eight, received, 2, NULL, 0, &report), 2);
	received[0].bytes--;
	assert_int_equal(rtr_place(&d.rtr, &eight, received, 2, NULL, 0, &report), -EBADMSG);
	assert_int_equal(report.bad.seq, 0);
	assert_false(report.has_lead);
	rtr_msg_free(&d);
}

static void plan__what_does_not_fit(void **state)
{
	const uint32_t bytes[2] = {32768, 4};
	struct rtr_layout_in in = {.buffer = &eight,
				   .send_bytes_max = 36864,
				   .count_max = 1,
				   .header_bytes = 48,
				   .payload_bytes = 96,
				   .item_bytes = bytes,
				   .nitems = 1};
	struct rtr_layout layout;
	struct rtr_buffer none;

	(void)state;
	assert_int_equal(rtr_layout_plan(&in, &layout), 0);
	in.nitems = 2; /* nine targets */
	assert_int_equal(rtr_layout_plan(&in, &layout), -EMSGSIZE);
	in.count_max = 2;
	assert_int_equal(rtr_layout_plan(&in, &layout), 0);
	assert_int_equal(layout.count, 2);
	in.payload_bytes = 12000; /* of three leads */
	assert_int_equal(rtr_layout_plan(&in, &layout), -EMSGSIZE);
	in.payload_bytes = 96;
	in.send_bytes_max = 36863;
	assert_int_equal(rtr_layout_plan(&in, &layout), -EMSGSIZE);
	in.send_bytes_max = 36864;
	in.header_bytes = 4096; /* the header reaches into the first target */
	assert_int_equal(rtr_layout_plan(&in, &layout), -EMSGSIZE);
	in.header_bytes = 48;
	rtr_buffer_default(&none, 4096);
	in.buffer = &none;
	assert_int_equal(rtr_layout_plan(&in, &layout), -EMSGSIZE);
	in.nitems = RTR_LAYOUT_ITEMS_MAX + 1;
	assert_int_equal(rtr_layout_plan(&in, &layout), -EINVAL);
}

/* Checks messages that are shorter than the lead of their receive. */
static void plan__payload_stays_within_what_is_sent(void **state)
{
	const uint32_t bytes = 4096;
	struct rtr_layout_in in = {.buffer = &eight,
				   .send_bytes_max = 36864,
				   .count_max = 4,
				   .lead_max = 1024,
				   .header_bytes = 48,
				   .payload_bytes = 952,
				   .item_bytes = &bytes,
				   .nitems = 1};
	struct rtr_layout layout;
	uint32_t offset, len;

	(void)state;
	assert_int_equal(rtr_layout_plan(&in, &layout), 0);
	assert_int_equal(layout.count, 1);
	in.payload_bytes += 4;
	assert_int_equal(rtr_layout_plan(&in, &layout), 0);
	assert_int_equal(layout.count, 2);
	rtr_layout_payload(&layout, 1, &offset, &len);
	assert_int_equal(offset, 952);
	assert_int_equal(len, 4);
	in.lead_max = 8192; /* has no effect */
	assert_int_equal(rtr_layout_plan(&in, &layout), 0);
	assert_int_equal(layout.lead_bytes, 4096);
}

/* Checks small targets: no more of them are used than a receiver checks. */
static void plan__no_more_targets_than_are_looked_at(void **state)
{
	struct rtr_buffer small = {.length = 65536 + 512,
				   .ngroups = 2,
				   .is_consistent = true,
				   .sum = 65536 + 512,
				   .groups = {{1, 65536, 0, 0}, {512, 1, 0, RTR_SEG_DDP}}};
	uint32_t bytes = RTR_PLACE_TARGETS_MAX;
	struct rtr_layout_in in = {.buffer = &small,
				   .send_bytes_max = small.length,
				   .count_max = 16,
				   .header_bytes = 48,
				   .payload_bytes = 96,
				   .item_bytes = &bytes,
				   .nitems = 1};
	struct rtr_layout layout;

	(void)state;
	assert_int_equal(rtr_layout_plan(&in, &layout), 0);
	assert_int_equal(layout.count, 2);
	bytes++;
	assert_int_equal(rtr_layout_plan(&in, &layout), -EMSGSIZE);
}

/* ---- the sender lays out, the receiver finds ---- */

static uint64_t seed;

static uint32_t any(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((seed >> 33) % below);
}

static void any_structure(struct rtr_buffer *buffer)
{
	*buffer = (struct rtr_buffer){.ngroups = 1 + any(4), .is_consistent = true};
	buffer->groups[0] = (struct rtr_buffer_group){1, 400 + 4 * any(100), 0, 0};
	buffer->length = buffer->groups[0].length;
	for (uint32_t i = 1; i < buffer->ngroups; i++) {
		buffer->groups[i] = (struct rtr_buffer_group){1 + any(3), 4 + 4 * any(50), 0,
							      any(4) == 0 ? 0 : RTR_SEG_DDP};
		buffer->length += buffer->groups[i].count * buffer->groups[i].length;
	}
	buffer->sum = buffer->length;
}

static struct rtr_decoded encode(const struct rtr_layout *layout, struct msg *m)
{
	struct weir_xdr_out out;

	rtr_put_begin(&out, m->buf, sizeof(m->buf), 1, 1, RDMA1_CALL, RTR_BASE_TABLE, RTR_XMTREQ);
	rtr_put_count(&out, layout->nitems);
	for (uint32_t i = 0; i < layout->nitems; i++)
		rtr_put_item_tbsn(&out, 44 + 10000 * i, layout->items[i].len, 0,
				  layout->items[i].first_tbsn, layout->items[i].ntbsns);
	rtr_put_count(&out, 0);
	rtr_put_request(&out, layout->count, 1, 0);
	m->len = rtr_put_end(&out);
	assert_int_equal(m->len, layout->header_bytes);
	return rtr_msg_decode(m);
}

/*
 * Lays out a message. 'received' gets the bytes of each transmission. Returns the number of pieces.
 */
static uint32_t send_all(const struct rtr_layout *layout, const struct rtr_buffer *buffer,
			 struct rtr_received *received, struct rtr_piece *sent)
{
	uint32_t n = 0, payload = 0;

	for (uint32_t i = 0; i < layout->count; i++) {
		uint32_t offset, len,
			more = rtr_layout_pieces(layout, buffer, i, sent + n, 256 - n);

		rtr_layout_payload(layout, i, &offset, &len);
		assert_int_equal(offset, payload);
		payload += len;
		received[i].used_bytes = (i == 0 ? layout->header_bytes : 40) + len;
		received[i].bytes = received[i].used_bytes;
		if (more > 0)
			received[i].bytes = sent[n + more - 1].at + sent[n + more - 1].len;
		assert_true(received[i].bytes <= buffer->length);
		n += more;
	}
	assert_int_equal(payload, layout->payload_bytes);
	return n;
}

static void roundtrip__what_is_laid_out_is_found(void **state)
{
	uint32_t groups = 0, planned = 0;

	(void)state;
	for (uint64_t run = 0; run < 3000; run++) {
		struct rtr_piece sent[256], found[256];
		struct rtr_received received[8];
		uint32_t bytes[6], n, max;
		struct rtr_buffer buffer;
		struct rtr_layout layout;
		struct rtr_report report;
		struct rtr_decoded d;
		struct msg m;

		seed = run;
		any_structure(&buffer);
		for (uint32_t i = 0; i < 6; i++)
			bytes[i] = any(4) == 0 ? any(3) : any(500);
		const struct rtr_layout_in in = {.buffer = &buffer,
						 .send_bytes_max = buffer.length,
						 .count_max = 8,
						 .header_bytes = 48,
						 .payload_bytes = 8 + 4 * any(300),
						 .item_bytes = bytes,
						 .nitems = any(7)};
		if (rtr_layout_plan(&in, &layout) != 0)
			continue;
		planned++;
		groups += layout.count > 1;
		n = send_all(&layout, &buffer, received, sent);
		d = encode(&layout, &m);
		assert_int_equal(
			rtr_place(&d.rtr, &buffer, received, layout.count, found, 256, &report), n);
		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(found[i].item, sent[i].item);
			assert_int_equal(found[i].item_offset, sent[i].item_offset);
			assert_int_equal(found[i].transmission, sent[i].transmission);
			assert_int_equal(found[i].at, sent[i].at);
			assert_int_equal(found[i].len, sent[i].len);
		}
		/* One byte less in the last piece is detected. */
		max = layout.count;
		while (max > 0 && received[max - 1].bytes == received[max - 1].used_bytes)
			max--;
		if (max > 0) {
			received[max - 1].bytes--;
			assert_int_equal(rtr_place(&d.rtr, &buffer, received, layout.count, found,
						   256, &report),
					 -EBADMSG);
		}
		rtr_msg_free(&d);
	}
	assert_true(planned > 1000 && groups > 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layout__vectors_B_and_J),
		cmocka_unit_test(place__vectors_B_and_J),
		cmocka_unit_test(place__each_way_to_be_wrong),
		cmocka_unit_test(place__what_came_bounds_it),
		cmocka_unit_test(place__without_targets_or_with_too_many),
		cmocka_unit_test(place__no_transmission_but_those_that_came),
		cmocka_unit_test(place__9_5_says_which_transmission),
		cmocka_unit_test(plan__what_does_not_fit),
		cmocka_unit_test(plan__payload_stays_within_what_is_sent),
		cmocka_unit_test(plan__no_more_targets_than_are_looked_at),
		cmocka_unit_test(roundtrip__what_is_laid_out_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
