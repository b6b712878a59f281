/* SPDX-License-Identifier: BSD-3-Clause */
/* Determines the outcome that a responder's answer of version 2 and its extension means. */
#include "hostile.h"

#include <stdio.h>

#include "rpc_msg.h"
#include "rtr_directions.h"
#include "rtr_place.h"

#define PIECES_MAX 16

const struct rtr_buffer own_structure = {
	.length = 8192,
	.ngroups = 2,
	.is_consistent = true,
	.sum = 8192,
	.groups = {{1, 2048, 1, 0}, {3, 2048, 4, RTR_SEG_DDP}},
};

void judge_structure(const struct peer_message *message, struct rtr_buffer *structure)
{
	struct rdma2_propval value;
	struct rdma2_header hdr;
	struct weir_xdr_in in;
	uint32_t reason;

	*structure = (struct rtr_buffer){0};
	if (rdma2_decode(message->bytes, message->len, &judge_no_limits, &hdr, &reason) !=
		    RDMA2_V_OK ||
	    hdr.lists.proc != RDMA2_CONNPROP)
		return;
	while (rdma2_propset_next(&hdr.set, &value)) {
		if (value.which != RDMA2_PROPID_RBSTRUCT || value.len_bytes == 0)
			continue;
		weir_xdr_in_init(&in, value.data, value.len_bytes);
		(void)rtr_buffer_get(&in, structure);
	}
}

static enum outcome judge_error(const struct rdma2_header *hdr, char detail[48])
{
	static const char *const names[] = {
		"", "VERS", "BAD_XDR", "REPLY_RESOURCE", "INVAL_PROC", "INVAL_OPTION", "SYSTEM"};

	if (hdr->lists.err == RDMA2_ERR_VERS) {
		snprintf(detail, 48, "versions %u to %u", hdr->lists.vers_low,
			 hdr->lists.vers_high);
		return hdr->lists.vers_low <= 2 && hdr->lists.vers_high >= 2
			       ? GOT_ERR_VERS
			       : judge_unsound(detail, "ERR_VERS without version 2");
	}
	snprintf(detail, 48, "%s", names[hdr->lists.err]);
	return GOT_ERROR;
}

/*
 * Finds the request that a reply answers. Returns false unless it is the first message that was
 * sent, and well formed.
 */
static bool get_request(const struct hostile *h, uint32_t xid, struct rtr_header *request)
{
	struct rdma2_header hdr;
	uint32_t reason;

	return rdma2_decode(h->bytes, h->first_len, &judge_no_limits, &hdr, &reason) ==
		       RDMA2_V_OK &&
	       hdr.lists.proc == RDMA2_OPTIONAL && hdr.lists.xid == xid &&
	       rtr_decode(h->bytes, h->first_len, &hdr, &rtr_limits_default, request, &reason) ==
		       RDMA2_V_OK &&
	       request->op == RTR_XMTREQ;
}

/* Returns true if the segments 'got' are within the memory that was offered for them. */
static bool is_written_there(struct rdma1_segment_iter offered, struct rdma1_segment_iter got)
{
	struct rdma1_segment there, seg;

	while (rdma1_segments_next(&got, &seg))
		if (!rdma1_segments_next(&offered, &there) || seg.handle != there.handle ||
		    seg.offset != there.offset || seg.length > there.length)
			return false;
	return true;
}

/*
 * Checks that there is an entry for each direction, as Table 2 of the extension's draft requires.
 * Returns NULL if so, and otherwise what is wrong.
 */
static const char *judge_entries(const struct rtr_header *request, const struct rtr_header *reply)
{
	struct rtr_iter sets, items;
	struct rtr_rsditem parsed_call;
	struct rtr_item got;
	struct rtr_set set;
	bool deregisters;

	if (reply->nitems != rtr_directions_count(request))
		return "other entries than directions";
	rtr_items_begin(reply, &items);
	rtr_sets_begin(request, &sets);
	while (rtr_sets_next(&sets, &set)) {
		while (rtr_rsditems_next(&set.items, &parsed_call) &&
		       rtr_items_next(&items, &got)) {
			if (!rtr_directions_result(parsed_call.type, got.type, &deregisters))
				return "an entry that Table 2 has not";
			if (got.type == RTR_EXRW &&
			    !is_written_there(parsed_call.segments, got.segments))
				return "an entry of memory that was not offered";
		}
	}
	return NULL;
}

static bool is_zero(const uint8_t *bytes, uint32_t from, uint32_t to)
{
	while (from < to)
		if (bytes[from++] != 0)
			return false;
	return true;
}

/*
 * Checks that results which were placed are within the targets of this side, with zeros around
 * them. Returns NULL if so, and otherwise what is wrong.
 */
static const char *judge_placement(const struct peer_message *answer,
				   const struct rtr_header *reply)
{
	const struct rtr_received received = {answer->len, reply->header_bytes + reply->pslen};
	struct rtr_piece pieces[PIECES_MAX];
	uint32_t at = received.used_bytes;
	struct rtr_report report;
	int n;

	if (reply->count != 1)
		return NULL; /* the content of earlier transmissions is not available */
	n = rtr_place(reply, &own_structure, &received, 1, pieces, PIECES_MAX, &report);
	if (n < 0 || n > PIECES_MAX)
		return "an entry that is wrong about its place";
	for (int i = 0; i < n; i++) {
		if (pieces[i].at >= at && !is_zero(answer->bytes, at, pieces[i].at))
			return "padding that is not zero";
		at = pieces[i].at + pieces[i].len;
	}
	return is_zero(answer->bytes, at, answer->len) ? NULL : "bytes behind the message";
}

static enum outcome judge_operation(const struct hostile *h, const struct peer_message *answer,
				    const struct rdma2_header *hdr, char detail[48])
{
	static const char *const names[] = {"",	      "BADHMT", "BADOMT",  "BADCONT", "BADSEQ",
					    "BADXID", "BADOFF", "BADTBSN", "BADPL"};
	struct rtr_header rtr, request;
	const char *wrong = NULL;
	struct weir_xdr_in in;
	uint32_t reason;

	if (rtr_decode(answer->bytes, answer->len, hdr, &rtr_limits_default, &rtr, &reason) !=
	    RDMA2_V_OK)
		return judge_unsound(detail, rdma2_reason_name(reason));
	if (rtr.op == RTR_REPTERR) {
		snprintf(detail, 48, "%s", names[rtr.report.err]);
		return GOT_REPORT;
	}
	/*
	 * The direction of a report is the opposite of that of the message that it reports. That
	 * message need not be a call.
	 */
	if (hdr->direction != RDMA1_REPLY || rtr.op == RTR_XMTREQ || rtr.pslen > rtr.room)
		return judge_unsound(detail, "no reply");
	if (rtr.op == RTR_XMTCONT)
		return GOT_REPLY;
	if (get_request(h, rtr.xid, &request))
		wrong = judge_entries(&request, &rtr);
	if (!wrong)
		wrong = judge_placement(answer, &rtr);
	if (wrong)
		return judge_unsound(detail, wrong);
	if (rtr.count > 1 && rtr.pslen < RTR_POSITION_REPLY)
		return GOT_REPLY;
	weir_xdr_in_init(&in, rtr_payload(&rtr, answer->bytes), rtr.pslen);
	return judge_rpc(&in, rtr.xid, detail);
}

enum outcome judge_answer_v2(const struct hostile *h, const struct peer_message *answer,
			     char detail[48])
{
	struct rdma2_header hdr;
	struct weir_xdr_in in;
	uint32_t reason;

	if (rdma2_decode(answer->bytes, answer->len, &judge_no_limits, &hdr, &reason) != RDMA2_V_OK)
		return judge_unsound(detail, rdma2_reason_name(reason));
	if (!judge_was_sent(&h->sent, hdr.lists.xid))
		return judge_unsound(detail, "an XID that was not sent");
	if (hdr.lists.credit == 0)
		return judge_unsound(detail, "a grant of no credits");
	if (hdr.lists.proc >= RDMA2_CONNPROP) { /* the answer to RDMA2_CONNPROP */
		snprintf(detail, 48, "properties");
		return GOT_REPLY;
	}
	if (hdr.lists.proc == RDMA2_ERROR)
		return judge_error(&hdr, detail);
	if (hdr.lists.proc == RDMA2_OPTIONAL)
		return judge_operation(h, answer, &hdr, detail);
	if (hdr.direction != RDMA1_REPLY)
		return judge_unsound(detail, "a call");
	if (hdr.lists.proc == RDMA2_NOMSG)
		return judge_long(&h->peer, &hdr.lists, detail);
	weir_xdr_in_init(&in, answer->bytes + hdr.lists.header_bytes,
			 answer->len - hdr.lists.header_bytes);
	return judge_rpc(&in, hdr.lists.xid, detail);
}
