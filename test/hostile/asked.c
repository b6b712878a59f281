/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of a requester of version 2, taken apart. */
#include "asked.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pattern.h"
#include "rpc_msg.h"
#include "rtr_place.h"
#include "wire.h"

enum { BENCH_NULL, BENCH_ECHO, BENCH_READ, BENCH_WRITE }; /* bench/weir-bench/program.h */

void asking_begin(struct asking *asking, struct asked *asked)
{
	*asking = (struct asking){.asked = asked};
	rdma2_properties_init(&asking->told);
	rtr_group_init(&asking->group);
}

void asking_note_sent(struct asking *asking, const uint8_t *bytes, uint32_t len)
{
	struct rdma2_header hdr;
	uint32_t reason;

	if (rdma2_decode(bytes, len, &judge_no_limits, &hdr, &reason) != RDMA2_V_OK)
		return;
	if (hdr.lists.proc == RDMA2_CONNPROP && !asking->has_told) {
		asking->has_told = true;
		rdma2_properties_start(&asking->told, &hdr.set, &hdr.subset);
	} else if (hdr.lists.proc == RDMA2_UPDPROP) {
		(void)rdma2_properties_update(&asking->told, &hdr.set);
	}
}

static enum came unsound(char detail[48], const char *why)
{
	snprintf(detail, 48, "%s", why);
	return CAME_UNSOUND;
}

/* ---- the call's stream: what is in the message, with what was taken out where it was ---- */

struct stream {
	struct hostile *h;
	struct asked *asked;
	const uint8_t *payload;
	uint32_t left;
	bool has_failed;
};

static void add(struct stream *s, const uint8_t *bytes, uint32_t len)
{
	struct asked *asked = s->asked;

	if (len > ASKED_BYTES_MAX - asked->rpc_bytes)
		s->has_failed = true;
	if (s->has_failed)
		return;
	memcpy(asked->rpc + asked->rpc_bytes, bytes, len);
	asked->rpc_bytes += len;
}

/* Payload up to this place in the stream. */
static void go_on(struct stream *s, uint32_t position)
{
	uint32_t len = position - s->asked->rpc_bytes;

	if (position < s->asked->rpc_bytes || len > s->left) {
		s->has_failed = true;
		return;
	}
	add(s, s->payload, len);
	s->payload += len;
	s->left -= len;
}

static void add_read(struct stream *s, const struct rdma1_segment *seg)
{
	if (seg->length > EXPOSED_BYTES || !peer_read(&s->h->peer, seg->handle, seg->offset, seg->length))
		s->has_failed = true;
	else
		add(s, s->h->peer.exposed, seg->length);
}

static void add_padding(struct stream *s)
{
	static const uint8_t zeros[4];

	add(s, zeros, weir_xdr_pad(s->asked->rpc_bytes));
}

static void end(struct stream *s)
{
	add(s, s->payload, s->left);
}

/* ---- RDMA2_MSG and RDMA2_NOMSG, and those of version 1 ---- */

static bool take_lists(struct hostile *h, struct asked *asked, const struct rdma1_header *hdr,
		       const struct peer_message *message)
{
	struct stream s = {h, asked, message->bytes + hdr->header_bytes, message->len - hdr->header_bytes,
			   false};
	struct rdma1_segment_iter segments;
	struct rdma1_read_segment read;
	struct rdma1_write_iter writes;
	struct rdma1_read_iter reads;
	uint32_t position = UINT32_MAX;

	rdma1_reads_begin(hdr, &reads);
	while (rdma1_reads_next(&reads, &read)) {
		if (read.position != position) {
			add_padding(&s);
			go_on(&s, position = read.position);
		}
		add_read(&s, &read.target);
	}
	add_padding(&s);
	end(&s);
	rdma1_writes_begin(hdr, &writes);
	asked->has_result =
		rdma1_writes_next(&writes, &segments) && rdma1_segments_next(&segments, &asked->result);
	rdma1_reply_begin(hdr, &segments);
	asked->has_reply = rdma1_segments_next(&segments, &asked->reply);
	return !s.has_failed;
}

/* ---- Transmit Request ---- */

static void add_placed(struct stream *s, const struct rtr_item *item, const struct asking *asking)
{
	struct rtr_pieces pieces;
	struct rtr_piece piece;

	rtr_pieces_begin(item, &asking->told.buffer, &pieces);
	while (rtr_pieces_next(&pieces, &piece))
		add(s, asking->parts[piece.transmission].message.bytes + piece.at, piece.len);
}

static void take_directions(struct asked *asked, const struct rtr_header *rtr)
{
	struct rtr_rsditem item;
	struct rtr_iter sets;
	struct rtr_set set;

	asked->ndirections = 0;
	rtr_sets_begin(rtr, &sets);
	while (rtr_sets_next(&sets, &set)) {
		while (rtr_rsditems_next(&set.items, &item)) {
			if (asked->ndirections++ > 0)
				continue;
			asked->results_by = item.type;
			asked->has_result =
				item.type != RTR_TBSN && rdma1_segments_next(&item.segments, &asked->result);
		}
	}
}

/* The header of its first transmission, once more: it was accepted. */
static void decode_first(const struct asking *asking, struct rtr_header *rtr)
{
	const struct peer_message *first = &asking->parts[0].message;
	struct rdma2_header hdr;
	uint32_t reason;

	(void)rdma2_decode(first->bytes, first->len, &judge_no_limits, &hdr, &reason);
	(void)rtr_decode(first->bytes, first->len, &hdr, &rtr_limits_default, rtr, &reason);
}

/* The payload of all transmissions, in one piece. */
static uint32_t join_payload(const struct asking *asking, uint8_t *payload)
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < asking->nparts; i++) {
		const struct asked_part *part = &asking->parts[i];

		memcpy(payload + bytes, part->message.bytes + part->header_bytes, part->pslen);
		bytes += part->pslen;
	}
	return bytes;
}

/* A call, all of whose transmissions are here. */
static enum came take_whole(struct hostile *h, struct asking *asking, char detail[48])
{
	static uint8_t payload[RTR_TRANSMISSIONS_MAX * PEER_RECV_BYTES];
	struct rtr_received received[RTR_TRANSMISSIONS_MAX];
	struct asked *asked = asking->asked;
	struct stream s = {h, asked, payload, join_payload(asking, payload), false};
	struct rtr_report report;
	struct rtr_header rtr;
	int placed;
	struct rtr_item item;
	struct rtr_iter items;

	decode_first(asking, &rtr);
	for (uint32_t i = 0; i < asking->nparts; i++)
		received[i] = (struct rtr_received){asking->parts[i].message.len,
						    asking->parts[i].header_bytes + asking->parts[i].pslen};
	placed = rtr_place(&rtr, &asking->told.buffer, received, asking->nparts, NULL, 0, &report);
	if (placed == -EBADMSG)
		return unsound(detail, "an item that is wrong about its place");
	asked->vers = RDMA2_VERSION;
	asked->base = rtr.base;
	asked->xid = rtr.xid;
	asked->count = rtr.count;
	asked->reply_count = rtr.rsbuf;
	asked->rpc_bytes = 0;
	asked->has_reply = asked->has_result = false;
	rtr_items_begin(&rtr, &items);
	while (rtr_items_next(&items, &item)) {
		struct rdma1_segment seg;

		go_on(&s, item.disp);
		if (item.type == RTR_TBSN && placed < 0) /* in targets that are too many to look at */
			s.has_failed = true;
		else if (item.type == RTR_TBSN)
			add_placed(&s, &item, asking);
		while (item.type == RTR_EXRW && rdma1_segments_next(&item.segments, &seg))
			add_read(&s, &seg);
		add_padding(&s);
	}
	end(&s);
	take_directions(asked, &rtr);
	return s.has_failed ? unsound(detail, "items that make no message") : CAME_CALL;
}

/* A transmission, which the group has taken: there are no more than it may have. */
static void keep_part(struct asking *asking, const struct rtr_header *rtr, const struct peer_message *message)
{
	struct asked_part *part;

	if (rtr->op == RTR_XMTREQ)
		asking->nparts = 0;
	part = &asking->parts[asking->nparts++];
	part->message = *message;
	part->header_bytes = rtr->header_bytes;
	part->pslen = rtr->pslen;
}

/* ---- what it asks ---- */

static uint32_t get(struct weir_xdr_in *in)
{
	uint32_t word = 0;

	(void)weir_xdr_get_u32(in, &word);
	return word;
}

/* The data that it brings. */
static bool take_data(struct asked *asked, struct weir_xdr_in *in)
{
	const void *data;

	if (weir_xdr_get_opaque_ref(in, &data, ASKED_BYTES_MAX, &asked->answer_bytes) != 0)
		return false;
	memcpy(asked->answer, data, asked->answer_bytes);
	return true;
}

/* Those of a WRITE are what it says. */
static bool take_write(struct asked *asked, struct weir_xdr_in *in)
{
	uint64_t seed = 0;
	bool is_known;

	(void)weir_xdr_get_u64(in, &seed);
	is_known = get(in);
	return take_data(asked, in) &&
	       (!is_known || bench_pattern_matches(asked->answer, seed, asked->answer_bytes));
}

static bool take_read(struct asked *asked, struct weir_xdr_in *in)
{
	uint64_t offset = 0;

	(void)weir_xdr_get_u64(in, &offset);
	asked->answer_bytes = get(in);
	if (asked->answer_bytes > ASKED_BYTES_MAX)
		return false;
	bench_pattern_fill(asked->answer, offset, asked->answer_bytes);
	return true;
}

static enum came take_rpc(struct asked *asked, char detail[48])
{
	struct weir_rpc_call_header rpc;
	struct weir_xdr_in in;
	bool is_good = true;

	weir_xdr_in_init(&in, asked->rpc, asked->rpc_bytes);
	if (rpc_call_decode(&in, &rpc) != 0 || rpc.xid != asked->xid)
		return unsound(detail, "no RPC call");
	asked->proc = rpc.proc;
	asked->answer_bytes = 0;
	switch (rpc.proc) {
	case BENCH_ECHO:
		is_good = take_data(asked, &in);
		break;
	case BENCH_READ:
		is_good = take_read(asked, &in);
		break;
	case BENCH_WRITE:
		is_good = take_write(asked, &in);
		break;
	default:
		return CAME_CALL;
	}
	return is_good && !in.failed && weir_xdr_remaining(&in) == 0
		       ? CAME_CALL
		       : unsound(detail, "data that are not what it says");
}

/* ---- messages ---- */

static enum came take_v1(struct hostile *h, struct asked *asked, const struct peer_message *message,
			 char detail[48])
{
	struct rdma1_header hdr;
	enum rdma1_reason reason;

	if (rdma1_decode(message->bytes, message->len, RDMA1_CALL, &judge_no_limits, &hdr, &reason) !=
	    RDMA1_V_OK)
		return unsound(detail, rdma1_reason_name(reason));
	asked->vers = RDMA1_VERSION;
	asked->base = asked->rpc_bytes = asked->ndirections = asked->count = asked->reply_count = 0;
	asked->xid = hdr.xid;
	if (!take_lists(h, asked, &hdr, message))
		return unsound(detail, "chunks that make no message");
	return take_rpc(asked, detail);
}

static enum came take_operation(struct hostile *h, struct asking *asking, const struct rdma2_header *hdr,
				const struct peer_message *message, char detail[48])
{
	static const char *const names[] = {"",	      "BADHMT", "BADOMT",  "BADCONT", "BADSEQ",
					    "BADXID", "BADOFF", "BADTBSN", "BADPL"};
	struct rtr_header rtr;
	struct rtr_step step;
	uint32_t reason;
	enum came came;

	if (rtr_decode(message->bytes, message->len, hdr, &rtr_limits_default, &rtr, &reason) != RDMA2_V_OK)
		return unsound(detail, rdma2_reason_name(reason));
	if (rtr.op == RTR_REPTERR) {
		snprintf(detail, 48, "%s", names[rtr.report.err]);
		return CAME_REPORT;
	}
	if (rtr.op == RTR_XMTRESP || rtr.direction != RDMA1_CALL)
		return unsound(detail, "a reply");
	rtr_group_receive(&asking->group, hdr, &rtr,
			  asking->told.request_count_max < RTR_TRANSMISSIONS_MAX
				  ? asking->told.request_count_max
				  : RTR_TRANSMISSIONS_MAX,
			  &step);
	if (step.has_report)
		return unsound(detail, names[step.report.err]);
	keep_part(asking, &rtr, message);
	if (step.take != RTR_TAKE_LAST)
		return CAME_PART;
	came = take_whole(h, asking, detail);
	return came == CAME_CALL ? take_rpc(asking->asked, detail) : came;
}

static enum came take_error(const struct rdma2_header *hdr, char detail[48])
{
	static const char *const names[] = {"",		  "VERS",	  "BAD_XDR", "REPLY_RESOURCE",
					    "INVAL_PROC", "INVAL_OPTION", "SYSTEM"};

	snprintf(detail, 48, "%s", names[hdr->lists.err]);
	return CAME_ERROR;
}

static enum came take_v2(struct hostile *h, struct asking *asking, const struct rdma2_header *hdr,
			 const struct peer_message *message, char detail[48])
{
	struct asked *asked = asking->asked;

	switch (hdr->lists.proc) {
	case RDMA2_ERROR:
		return take_error(hdr, detail);
	case RDMA2_OPTIONAL:
		return take_operation(h, asking, hdr, message, detail);
	case RDMA2_MSG:
	case RDMA2_NOMSG:
		if (hdr->direction != RDMA1_CALL)
			return unsound(detail, "a reply");
		asked->vers = RDMA2_VERSION;
		asked->base = asked->rpc_bytes = asked->ndirections = asked->count = asked->reply_count = 0;
		asked->xid = hdr->lists.xid;
		if (!take_lists(h, asked, &hdr->lists, message))
			return unsound(detail, "chunks that make no message");
		return take_rpc(asked, detail);
	default:
		asking->xid = hdr->lists.xid;
		snprintf(detail, 48, "%s", hdr->lists.proc == RDMA2_CONNPROP ? "connection" : "answer");
		return CAME_PROPERTIES;
	}
}

enum came asking_take(struct hostile *h, struct asking *asking, const struct peer_message *message,
		      char detail[48])
{
	struct rdma2_header hdr;
	uint32_t reason;

	/* ERR_VERS has the version of what it answers. */
	if (message->len >= 16 && wire_get_u32(message->bytes + 4) == RDMA1_VERSION &&
	    wire_get_u32(message->bytes + 12) != RDMA2_ERROR)
		return take_v1(h, asking->asked, message, detail);
	if (rdma2_decode(message->bytes, message->len, &judge_no_limits, &hdr, &reason) != RDMA2_V_OK)
		return unsound(detail, rdma2_reason_name(reason));
	if (hdr.lists.credit == 0)
		return unsound(detail, "a request for no credits");
	if (message->len > asking->told.send_bytes_max)
		return unsound(detail, "a message longer than the receive");
	return take_v2(h, asking, &hdr, message, detail);
}
