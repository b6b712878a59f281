/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for a received message of version 2 and its content: properties, and operations of
 * the extension. The input is the message.
 *
 * The target checks that:
 * - an accepted message is encoded to the same bytes, and its iterators return the elements that it
 *   counts
 * - a bad reply or error message is never answered
 * - the properties in effect after the message are usable, whatever the peer sends
 */
#include "fuzz.h"
#include "fuzz_lists.h"
#include "rdma2_prop_state.h"
#include "rtr_place.h"

#define ENCODED_MAX  (1u << 20)
#define SEGMENTS_MAX 16u

static uint8_t encoded[ENCODED_MAX];

static void require_same(const uint8_t *msg, uint32_t len, uint32_t header_bytes)
{
	REQUIRE(len == header_bytes);
	REQUIRE(memcmp(encoded, msg, len) == 0);
}

/* ---- the base ---- */

static void check_chunks(const uint8_t *msg, const struct rdma2_header *hdr)
{
	const struct rdma1_header *lists = &hdr->lists;
	struct rdma1_writer w;

	rdma1_write_begin(&w, encoded + RDMA2_EXTRA, sizeof(encoded) - RDMA2_EXTRA, lists->xid,
			  lists->credit, (enum rdma1_proc)lists->proc);
	fuzz_encode_lists(lists, &rdma1_limits_default, &w);
	REQUIRE(!w.failed);
	rdma2_write_over(encoded, hdr->direction, hdr->inv_handle);
	require_same(msg, rdma1_writer_len(&w) + RDMA2_EXTRA, lists->header_bytes);
	REQUIRE(!hdr->may_invalidate || (hdr->inv_handle != 0 && hdr->direction == RDMA1_CALL));
}

static void check_error(const uint8_t *msg, const struct rdma2_header *hdr)
{
	const struct rdma1_header *lists = &hdr->lists;
	bool is_vers = lists->err == RDMA2_ERR_VERS;

	require_same(msg,
		     rdma2_encode_error(encoded, lists->xid, lists->vers, lists->credit,
					(enum rdma2_err)lists->err,
					is_vers ? lists->vers_low : hdr->segment_index,
					is_vers ? lists->vers_high : hdr->length_needed),
		     lists->header_bytes);
	REQUIRE(hdr->direction == RDMA1_REPLY);
}

/* ---- properties ---- */

static void check_usable(const struct rdma2_properties *props)
{
	uint32_t targets = rtr_buffer_targets(&props->buffer);
	struct rtr_target target;

	REQUIRE(props->send_bytes_max >= 1024);
	REQUIRE(props->request_count_max >= 1 && props->response_count_max >= 1);
	REQUIRE(props->bkreqsup <= RDMA2_BKREQSUP_GENL);
	REQUIRE(props->buffer.is_consistent && props->buffer.ngroups > 0);
	REQUIRE(!rtr_buffer_target(&props->buffer, targets, &target));
	for (uint32_t i = 0; i < 2 && targets > 0; i++) { /* the first and the last target */
		REQUIRE(rtr_buffer_target(&props->buffer, i == 0 ? 0 : targets - 1, &target));
		REQUIRE(target.length > 0 && target.offset <= props->buffer.length);
		REQUIRE(target.length <= props->buffer.length - target.offset);
	}
}

static void check_properties(const uint8_t *msg, uint32_t len, const struct rdma2_header *hdr)
{
	struct rdma2_properties props, again;
	struct rdma2_propset left = hdr->set;
	struct rdma2_propval value;
	uint32_t n = 0;

	while (rdma2_propset_next(&left, &value)) {
		REQUIRE(value.data >= msg && value.len_bytes <= (size_t)(msg + len - value.data));
		(void)rdma2_propsubset_has(&hdr->subset, n);
		(void)rdma2_disposition(&hdr->set, n++, &hdr->subset, &hdr->rejected, &hdr->set,
					&value);
	}
	REQUIRE(n == hdr->set.count && left.p <= msg + len);
	rdma2_properties_init(&props);
	check_usable(&props);
	(void)rdma2_properties_update(&props, &hdr->set);
	check_usable(&props);
	rdma2_properties_start(&props, &hdr->set, &hdr->subset);
	check_usable(&props);
	again = props;
	(void)rdma2_properties_update(&again,
				      &hdr->set); /* the same values a second time change nothing */
	REQUIRE(again.send_bytes_max == props.send_bytes_max && again.rtrs == props.rtrs);
	REQUIRE(again.request_count_max == props.request_count_max &&
		again.bkreqsup == props.bkreqsup);
}

/* ---- the extension ---- */

static uint32_t segments(struct rdma1_segment_iter *it, struct rdma1_segment *all)
{
	uint32_t n = 0;

	REQUIRE(it->left <= SEGMENTS_MAX);
	while (rdma1_segments_next(it, &all[n]))
		n++;
	return n;
}

/* Encodes the TBSNs of an item, which must be consecutive. Returns false if they are not. */
static bool put_tbsns(struct weir_xdr_out *out, const struct rtr_item *item)
{
	struct rtr_iter it = item->tbsns;
	uint32_t first = 0, tbsn;

	for (uint32_t i = 0; rtr_tbsns_next(&it, &tbsn); i++) {
		if (i == 0)
			first = tbsn;
		if (tbsn != first + i)
			return false;
	}
	rtr_put_item_tbsn(out, item->disp, item->length, item->offset, first, item->tbsns.left);
	return true;
}

static bool put_items(struct weir_xdr_out *out, const struct rtr_header *rtr)
{
	struct rdma1_segment all[SEGMENTS_MAX];
	struct rtr_item item;
	struct rtr_iter it;

	rtr_put_count(out, rtr->nitems);
	rtr_items_begin(rtr, &it);
	while (rtr_items_next(&it, &item)) {
		if (item.type == RTR_EXRW)
			rtr_put_item_exrw(out, item.disp, item.length, all,
					  segments(&item.segments, all));
		else if (item.type != RTR_TBSN)
			rtr_put_item_inline(out, item.type, item.disp, item.length);
		else if (!put_tbsns(out, &item))
			return false;
	}
	return true;
}

static void put_sets(struct weir_xdr_out *out, const struct rtr_header *rtr)
{
	struct rdma1_segment all[SEGMENTS_MAX];
	struct rtr_rsditem item;
	struct rtr_iter it;
	struct rtr_set set;

	rtr_put_count(out, rtr->nsets);
	rtr_sets_begin(rtr, &it);
	while (rtr_sets_next(&it, &set)) {
		rtr_put_set(out, set.begin, set.end, set.items.left);
		while (rtr_rsditems_next(&set.items, &item)) {
			uint32_t n = segments(&item.segments, all);

			rtr_put_rsditem(out, item.minlen, item.type, item.dsdov, all, n);
		}
	}
}

/*
 * Checks that the pieces of each item are within the received bytes, and that together they have
 * the length of the item.
 */
static void check_place(const struct rtr_header *rtr, uint32_t len)
{
	static const struct rtr_buffer own = {
		.length = 4096,
		.ngroups = 2,
		.is_consistent = true,
		.sum = 4096,
		.groups = {{1, 64, 0, 0}, {63, 64, 0, RTR_SEG_DDP}},
	};
	struct rtr_received received[8];
	/* transmissions that arrived: fewer than the header states, as many, or more */
	const uint32_t nreceived = len % 9;
	struct rtr_piece pieces[RTR_PLACE_TARGETS_MAX];
	struct rtr_report report;
	uint64_t bytes = 0, expected = 0;
	struct rtr_item item;
	struct rtr_iter it;
	int n;

	if (rtr->op > RTR_XMTRESP || rtr->count > 8)
		return;
	for (uint32_t i = 0; i < 8; i++)
		received[i] = (struct rtr_received){len, i == 0 ? 64 : 40};
	n = rtr_place(rtr, &own, received, nreceived, pieces, RTR_PLACE_TARGETS_MAX, &report);
	if (n < 0) {
		REQUIRE(n == -EBADMSG && (report.err == RTR_BADTBSN || report.err == RTR_BADOFF));
		return;
	}
	REQUIRE(n <= (int)RTR_PLACE_TARGETS_MAX);
	for (int i = 0; i < n; i++) {
		REQUIRE(pieces[i].transmission < rtr->count && pieces[i].transmission < nreceived);
		REQUIRE(pieces[i].at >= 64);
		REQUIRE(pieces[i].at + pieces[i].len <= len && pieces[i].len <= 64);
		bytes += pieces[i].len;
	}
	rtr_items_begin(rtr, &it);
	for (int i = 0; rtr_items_next(&it, &item);) {
		struct rtr_pieces again;
		struct rtr_piece piece;

		if (item.type != RTR_TBSN)
			continue;
		expected += item.length;
		rtr_pieces_begin(&item, &own, &again);
		while (rtr_pieces_next(&again, &piece)) {
			REQUIRE(i < n && piece.at == pieces[i].at && piece.len == pieces[i].len);
			REQUIRE(piece.transmission == pieces[i].transmission);
			REQUIRE(piece.item_offset == pieces[i++].item_offset);
		}
	}
	REQUIRE(bytes == expected);
}

static void check_rtr(const uint8_t *msg, uint32_t len, const struct rdma2_header *hdr,
		      const struct rtr_header *rtr)
{
	struct weir_xdr_out out;

	REQUIRE(rtr->header_bytes + rtr->room == len);
	check_place(rtr, len);
	rtr_put_begin(&out, encoded, sizeof(encoded), rtr->xid, hdr->lists.credit, rtr->direction,
		      rtr->base, rtr->op);
	switch (rtr->op) {
	case RTR_XMTREQ:
		if (!put_items(&out, rtr))
			return;
		put_sets(&out, rtr);
		/*
		 * The decoder returns 1 for a reservation of 0, so that the word of the message
		 * must be encoded.
		 */
		rtr_put_request(&out, rtr->count,
				rtr->rsbuf == 1 ? msg[rtr->header_bytes - 5] : rtr->rsbuf,
				rtr->pslen);
		break;
	case RTR_XMTRESP:
		if (!put_items(&out, rtr))
			return;
		rtr_put_response(&out, rtr->count, rtr->pslen);
		break;
	case RTR_XMTCONT:
		rtr_put_cont(&out, rtr->xnum, rtr->itype, rtr->pslen);
		break;
	case RTR_REPTERR:
		rtr_put_report(&out, &rtr->report);
		break;
	}
	require_same(msg, rtr_put_end(&out), rtr->header_bytes);
	REQUIRE(!out.failed);
}

static void check_optional(const uint8_t *msg, uint32_t len, const struct rdma2_header *hdr)
{
	enum rdma2_verdict verdict;
	struct rtr_header rtr;
	uint32_t reason;

	REQUIRE(hdr->optinfo_bytes <= hdr->lists.header_bytes - RDMA2_OPTIONAL_SIZE);
	verdict = rtr_decode(msg, len, hdr, &rtr_limits_default, &rtr, &reason);
	REQUIRE((verdict == RDMA2_V_OK) == (reason == RDMA1_R_NONE));
	if (verdict == RDMA2_V_OK)
		check_rtr(msg, len, hdr, &rtr);
	else
		REQUIRE(verdict == RDMA2_V_DROP ||
			(hdr->direction == RDMA1_CALL && rtr.op != RTR_REPTERR));
}

static void check_accepted(const uint8_t *msg, uint32_t len, const struct rdma2_header *hdr)
{
	REQUIRE(hdr->lists.header_bytes <= len);
	switch (hdr->lists.proc) {
	case RDMA2_MSG:
	case RDMA2_NOMSG:
		check_chunks(msg, hdr);
		break;
	case RDMA2_ERROR:
		check_error(msg, hdr);
		break;
	case RDMA2_OPTIONAL:
		check_optional(msg, len, hdr);
		break;
	default:
		check_properties(msg, len, hdr);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum rdma2_verdict verdict;
	struct rdma2_header hdr;
	uint32_t reason;
	uint8_t *msg;

	if (size > 65536)
		return 0;
	msg = fuzz_copy(data, size);
	verdict = rdma2_decode(msg, (uint32_t)size, &rdma1_limits_default, &hdr, &reason);
	REQUIRE((verdict == RDMA2_V_OK) == (reason == RDMA1_R_NONE));
	if (verdict == RDMA2_V_OK) {
		check_accepted(msg, (uint32_t)size, &hdr);
	} else {
		REQUIRE(hdr.lists.header_bytes == 0);
		REQUIRE(verdict == RDMA2_V_DROP || hdr.direction == RDMA1_CALL);
		(void)rdma2_verdict_err(verdict);
	}
	free(msg);
	return 0;
}
