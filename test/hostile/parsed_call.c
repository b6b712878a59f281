/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses the calls of a requester of version 2 (parsed_call.h). */
#include "parsed_call.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pattern.h"
#include "rpc_msg.h"
#include "rtr_place.h"
#include "wire.h"

enum { BENCH_NULL, BENCH_ECHO, BENCH_READ, BENCH_WRITE }; /* see bench/weir-bench/program.x */

void parsing_begin(struct parsing *parsing, struct parsed_call *parsed_call)
{
	*parsing = (struct parsing){.parsed_call = parsed_call};
	rdma2_properties_init(&parsing->told);
	rtr_group_init(&parsing->group);
}

void parsing_note_sent(struct parsing *parsing, const uint8_t *bytes, uint32_t len)
{
	struct rdma2_header hdr;
	uint32_t reason;

	if (rdma2_decode(bytes, len, &judge_no_limits, &hdr, &reason) != RDMA2_V_OK)
		return;
	if (hdr.lists.proc == RDMA2_CONNPROP && !parsing->has_told) {
		parsing->has_told = true;
		rdma2_properties_start(&parsing->told, &hdr.set, &hdr.subset);
	} else if (hdr.lists.proc == RDMA2_UPDPROP) {
		(void)rdma2_properties_update(&parsing->told, &hdr.set);
	}
}

static enum came unsound(char detail[48], const char *why)
{
	snprintf(detail, 48, "%s", why);
	return CAME_UNSOUND;
}

/* ---- the stream of a call: the message, with the data of items at their positions ---- */

struct stream {
	struct hostile *h;
	struct parsed_call *parsed_call;
	const uint8_t *payload;
	uint32_t left;
	bool has_failed;
};

static void add(struct stream *s, const uint8_t *bytes, uint32_t len)
{
	struct parsed_call *parsed_call = s->parsed_call;

	if (len > ASKED_BYTES_MAX - parsed_call->rpc_bytes)
		s->has_failed = true;
	if (s->has_failed)
		return;
	memcpy(parsed_call->rpc + parsed_call->rpc_bytes, bytes, len);
	parsed_call->rpc_bytes += len;
}

/* Copies payload up to 'position' in the stream. */
static void go_on(struct stream *s, uint32_t position)
{
	uint32_t len = position - s->parsed_call->rpc_bytes;

	if (position < s->parsed_call->rpc_bytes || len > s->left) {
		s->has_failed = true;
		return;
	}
	add(s, s->payload, len);
	s->payload += len;
	s->left -= len;
}

static void add_read(struct stream *s, const struct rdma1_segment *seg)
{
	if (seg->length > EXPOSED_BYTES ||
	    !peer_read(&s->h->peer, seg->handle, seg->offset, seg->length))
		s->has_failed = true;
	else
		add(s, s->h->peer.exposed, seg->length);
}

static void add_padding(struct stream *s)
{
	static const uint8_t zeros[4];

	add(s, zeros, weir_xdr_pad(s->parsed_call->rpc_bytes));
}

static void end(struct stream *s)
{
	add(s, s->payload, s->left);
}

/* ---- RDMA2_MSG and RDMA2_NOMSG, and those of version 1 ---- */

static bool parse_lists(struct hostile *h, struct parsed_call *parsed_call,
			const struct rdma1_header *hdr, const struct peer_message *message)
{
	struct stream s = {h, parsed_call, message->bytes + hdr->header_bytes,
			   message->len - hdr->header_bytes, false};
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
	parsed_call->has_result = rdma1_writes_next(&writes, &segments) &&
				  rdma1_segments_next(&segments, &parsed_call->result);
	rdma1_reply_begin(hdr, &segments);
	parsed_call->has_reply = rdma1_segments_next(&segments, &parsed_call->reply);
	return !s.has_failed;
}

/* ---- Transmit Request ---- */

static void add_placed(struct stream *s, const struct rtr_item *item, const struct parsing *parsing)
{
	struct rtr_pieces pieces;
	struct rtr_piece piece;

	rtr_pieces_begin(item, &parsing->told.buffer, &pieces);
	while (rtr_pieces_next(&pieces, &piece))
		add(s, parsing->parts[piece.transmission].message.bytes + piece.at, piece.len);
}

static void parse_directions(struct parsed_call *parsed_call, const struct rtr_header *rtr)
{
	struct rtr_rsditem item;
	struct rtr_iter sets;
	struct rtr_set set;

	parsed_call->ndirections = 0;
	rtr_sets_begin(rtr, &sets);
	while (rtr_sets_next(&sets, &set)) {
		while (rtr_rsditems_next(&set.items, &item)) {
			if (parsed_call->ndirections++ > 0)
				continue;
			parsed_call->results_by = item.type;
			parsed_call->has_result =
				item.type != RTR_TBSN &&
				rdma1_segments_next(&item.segments, &parsed_call->result);
		}
	}
}

/* Decodes the header of the first transmission again, which was valid when it arrived. */
static void decode_first(const struct parsing *parsing, struct rtr_header *rtr)
{
	const struct peer_message *first = &parsing->parts[0].message;
	struct rdma2_header hdr;
	uint32_t reason;

	(void)rdma2_decode(first->bytes, first->len, &judge_no_limits, &hdr, &reason);
	(void)rtr_decode(first->bytes, first->len, &hdr, &rtr_limits_default, rtr, &reason);
}

/* Copies the payload of all transmissions to 'payload'. Returns its length. */
static uint32_t join_payload(const struct parsing *parsing, uint8_t *payload)
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < parsing->nparts; i++) {
		const struct asked_part *part = &parsing->parts[i];

		memcpy(payload + bytes, part->message.bytes + part->header_bytes, part->pslen);
		bytes += part->pslen;
	}
	return bytes;
}

/* Parses a call of which all transmissions have arrived. */
static enum came parse_whole(struct hostile *h, struct parsing *parsing, char detail[48])
{
	static uint8_t payload[RTR_TRANSMISSIONS_MAX * PEER_RECV_BYTES];
	struct rtr_received received[RTR_TRANSMISSIONS_MAX];
	struct parsed_call *parsed_call = parsing->parsed_call;
	struct stream s = {h, parsed_call, payload, join_payload(parsing, payload), false};
	struct rtr_report report;
	struct rtr_header rtr;
	int placed;
	struct rtr_item item;
	struct rtr_iter items;

	decode_first(parsing, &rtr);
	for (uint32_t i = 0; i < parsing->nparts; i++)
		received[i] = (struct rtr_received){parsing->parts[i].message.len,
						    parsing->parts[i].header_bytes +
							    parsing->parts[i].pslen};
	placed =
		rtr_place(&rtr, &parsing->told.buffer, received, parsing->nparts, NULL, 0, &report);
	if (placed == -EBADMSG)
		return unsound(detail, "an item that is wrong about its place");
	parsed_call->vers = RDMA2_VERSION;
	parsed_call->base = rtr.base;
	parsed_call->xid = rtr.xid;
	parsed_call->count = rtr.count;
	parsed_call->reply_count = rtr.rsbuf;
	parsed_call->rpc_bytes = 0;
	parsed_call->has_reply = parsed_call->has_result = false;
	rtr_items_begin(&rtr, &items);
	while (rtr_items_next(&items, &item)) {
		struct rdma1_segment seg;

		go_on(&s, item.disp);
		/* the item is in more targets than this side can check */
		if (item.type == RTR_TBSN && placed < 0)
			s.has_failed = true;
		else if (item.type == RTR_TBSN)
			add_placed(&s, &item, parsing);
		while (item.type == RTR_EXRW && rdma1_segments_next(&item.segments, &seg))
			add_read(&s, &seg);
		add_padding(&s);
	}
	end(&s);
	parse_directions(parsed_call, &rtr);
	return s.has_failed ? unsound(detail, "items that make no message") : CAME_CALL;
}

/*
 * Stores a transmission that the group has accepted. The group limits the number of transmissions.
 */
static void keep_part(struct parsing *parsing, const struct rtr_header *rtr,
		      const struct peer_message *message)
{
	struct asked_part *part;

	if (rtr->op == RTR_XMTREQ)
		parsing->nparts = 0;
	part = &parsing->parts[parsing->nparts++];
	part->message = *message;
	part->header_bytes = rtr->header_bytes;
	part->pslen = rtr->pslen;
}

/* ---- the parsed call ---- */

static uint32_t get(struct weir_xdr_in *in)
{
	uint32_t word = 0;

	(void)weir_xdr_get_u32(in, &word);
	return word;
}

/* Copies the data in the arguments of a call. */
static bool parse_data(struct parsed_call *parsed_call, struct weir_xdr_in *in)
{
	const void *data;

	if (weir_xdr_get_opaque_ref(in, &data, ASKED_BYTES_MAX, &parsed_call->answer_bytes) != 0)
		return false;
	memcpy(parsed_call->answer, data, parsed_call->answer_bytes);
	return true;
}

/*
 * Copies the data in the arguments of a WRITE. Checks that the data are those that their seed
 * determines.
 */
static bool parse_write(struct parsed_call *parsed_call, struct weir_xdr_in *in)
{
	uint64_t seed = 0;
	bool is_known;

	(void)weir_xdr_get_u64(in, &seed);
	is_known = get(in);
	return parse_data(parsed_call, in) &&
	       (!is_known ||
		bench_pattern_matches(parsed_call->answer, seed, parsed_call->answer_bytes));
}

static bool parse_read(struct parsed_call *parsed_call, struct weir_xdr_in *in)
{
	uint64_t offset = 0;

	(void)weir_xdr_get_u64(in, &offset);
	parsed_call->answer_bytes = get(in);
	if (parsed_call->answer_bytes > ASKED_BYTES_MAX)
		return false;
	bench_pattern_fill(parsed_call->answer, offset, parsed_call->answer_bytes);
	return true;
}

static enum came parse_rpc(struct parsed_call *parsed_call, char detail[48])
{
	struct weir_rpc_call_header rpc;
	struct weir_xdr_in in;
	bool is_good = true;

	weir_xdr_in_init(&in, parsed_call->rpc, parsed_call->rpc_bytes);
	if (rpc_call_decode(&in, &rpc) != 0 || rpc.xid != parsed_call->xid)
		return unsound(detail, "no RPC call");
	parsed_call->proc = rpc.proc;
	parsed_call->answer_bytes = 0;
	switch (rpc.proc) {
	case BENCH_ECHO:
		is_good = parse_data(parsed_call, &in);
		break;
	case BENCH_READ:
		is_good = parse_read(parsed_call, &in);
		break;
	case BENCH_WRITE:
		is_good = parse_write(parsed_call, &in);
		break;
	default:
		return CAME_CALL;
	}
	return is_good && !in.failed && weir_xdr_remaining(&in) == 0
		       ? CAME_CALL
		       : unsound(detail, "data that are not what it says");
}

/* ---- messages ---- */

static enum came parse_v1(struct hostile *h, struct parsed_call *parsed_call,
			  const struct peer_message *message, char detail[48])
{
	struct rdma1_header hdr;
	enum rdma1_reason reason;

	if (rdma1_decode(message->bytes, message->len, RDMA1_CALL, &judge_no_limits, &hdr,
			 &reason) != RDMA1_V_OK)
		return unsound(detail, rdma1_reason_name(reason));
	parsed_call->vers = RDMA1_VERSION;
	parsed_call->base = parsed_call->rpc_bytes = parsed_call->ndirections = parsed_call->count =
		parsed_call->reply_count = 0;
	parsed_call->xid = hdr.xid;
	if (!parse_lists(h, parsed_call, &hdr, message))
		return unsound(detail, "chunks that make no message");
	return parse_rpc(parsed_call, detail);
}

static enum came parse_operation(struct hostile *h, struct parsing *parsing,
				 const struct rdma2_header *hdr, const struct peer_message *message,
				 char detail[48])
{
	static const char *const names[] = {"",	      "BADHMT", "BADOMT",  "BADCONT", "BADSEQ",
					    "BADXID", "BADOFF", "BADTBSN", "BADPL"};
	struct rtr_header rtr;
	struct rtr_step step;
	uint32_t reason;
	enum came came;

	if (rtr_decode(message->bytes, message->len, hdr, &rtr_limits_default, &rtr, &reason) !=
	    RDMA2_V_OK)
		return unsound(detail, rdma2_reason_name(reason));
	if (rtr.op == RTR_REPTERR) {
		snprintf(detail, 48, "%s", names[rtr.report.err]);
		return CAME_REPORT;
	}
	if (rtr.op == RTR_XMTRESP || rtr.direction != RDMA1_CALL)
		return unsound(detail, "a reply");
	rtr_group_receive(&parsing->group, hdr, &rtr,
			  parsing->told.request_count_max < RTR_TRANSMISSIONS_MAX
				  ? parsing->told.request_count_max
				  : RTR_TRANSMISSIONS_MAX,
			  &step);
	if (step.has_report)
		return unsound(detail, names[step.report.err]);
	keep_part(parsing, &rtr, message);
	if (step.action != RTR_ACTION_LAST)
		return CAME_PART;
	came = parse_whole(h, parsing, detail);
	return came == CAME_CALL ? parse_rpc(parsing->parsed_call, detail) : came;
}

static enum came parse_error(const struct rdma2_header *hdr, char detail[48])
{
	static const char *const names[] = {
		"", "VERS", "BAD_XDR", "REPLY_RESOURCE", "INVAL_PROC", "INVAL_OPTION", "SYSTEM"};

	snprintf(detail, 48, "%s", names[hdr->lists.err]);
	return CAME_ERROR;
}

static enum came parse_v2(struct hostile *h, struct parsing *parsing,
			  const struct rdma2_header *hdr, const struct peer_message *message,
			  char detail[48])
{
	struct parsed_call *parsed_call = parsing->parsed_call;

	switch (hdr->lists.proc) {
	case RDMA2_ERROR:
		return parse_error(hdr, detail);
	case RDMA2_OPTIONAL:
		return parse_operation(h, parsing, hdr, message, detail);
	case RDMA2_MSG:
	case RDMA2_NOMSG:
		if (hdr->direction != RDMA1_CALL)
			return unsound(detail, "a reply");
		parsed_call->vers = RDMA2_VERSION;
		parsed_call->base = parsed_call->rpc_bytes = parsed_call->ndirections =
			parsed_call->count = parsed_call->reply_count = 0;
		parsed_call->xid = hdr->lists.xid;
		if (!parse_lists(h, parsed_call, &hdr->lists, message))
			return unsound(detail, "chunks that make no message");
		return parse_rpc(parsed_call, detail);
	default:
		parsing->xid = hdr->lists.xid;
		snprintf(detail, 48, "%s",
			 hdr->lists.proc == RDMA2_CONNPROP ? "connection" : "answer");
		return CAME_PROPERTIES;
	}
}

enum came parsing_take(struct hostile *h, struct parsing *parsing,
		       const struct peer_message *message, char detail[48])
{
	struct rdma2_header hdr;
	uint32_t reason;

	/*
	 * An ERR_VERS of version 2 has the version of the message that it answers, and is not a
	 * message of version 1.
	 */
	if (message->len >= 16 && wire_get_u32(message->bytes + 4) == RDMA1_VERSION &&
	    wire_get_u32(message->bytes + 12) != RDMA2_ERROR)
		return parse_v1(h, parsing->parsed_call, message, detail);
	if (rdma2_decode(message->bytes, message->len, &judge_no_limits, &hdr, &reason) !=
	    RDMA2_V_OK)
		return unsound(detail, rdma2_reason_name(reason));
	if (hdr.lists.credit == 0)
		return unsound(detail, "a request for no credits");
	if (message->len > parsing->told.send_bytes_max)
		return unsound(detail, "a message longer than the receive");
	return parse_v2(h, parsing, &hdr, message, detail);
}
