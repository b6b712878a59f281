/* SPDX-License-Identifier: BSD-3-Clause */
/* Determines the outcome that a responder's answer means (RFC 8166 sections 4.2 to 4.5). */
#include "hostile.h"

#include <stdio.h>

#include "rdma1.h"
#include "rpc_msg.h"

/*
 * Limits that accept everything that fits a message, because the other side answers whatever it was
 * asked for.
 */
const struct rdma1_limits judge_no_limits = {
	.read_segments_max = UINT16_MAX,
	.read_chunks_max = RDMA1_READ_CHUNKS_CAP,
	.write_chunks_max = UINT16_MAX,
	.segments_per_chunk_max = UINT16_MAX,
	.read_bytes_max = UINT64_MAX,
	.write_bytes_max = UINT64_MAX,
};

static const char *const names[GOT_OUTCOMES] = {
	"reply",    "RPC error",   "ERR_VERS",	   "ERR_CHUNK",	 "dropped",
	"closed",   "refused",	   "call ended",   "UNSOUND",	 "DEAD",
	"untested", "RDMA2_ERROR", "Report Error", "sent again",
};

const char *outcome_name(enum outcome outcome)
{
	return names[__builtin_ctz(outcome)];
}

void outcome_names(uint32_t set, char *text, size_t size)
{
	size_t at = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < GOT_OUTCOMES && at < size; i++)
		if (set >> i & 1)
			at += (size_t)snprintf(text + at, size - at, "%s%s", at ? ", " : "",
					       names[i]);
}

enum outcome judge_unsound(char detail[48], const char *why)
{
	snprintf(detail, 48, "%s", why);
	return GOT_UNSOUND;
}

enum outcome judge_rpc(struct weir_xdr_in *in, uint32_t xid, char detail[48])
{
	static const char *const accept[] = {
		"", "PROG_UNAVAIL", "PROG_MISMATCH", "PROC_UNAVAIL", "GARBAGE_ARGS", "SYSTEM_ERR"};
	struct weir_rpc_reply_header reply;

	if (rpc_reply_decode(in, &reply) != 0 || reply.xid != xid)
		return judge_unsound(detail, "no RPC reply");
	if (reply.reply_stat == WEIR_RPC_MSG_DENIED) {
		if (reply.reject_stat == WEIR_RPC_MISMATCH)
			snprintf(detail, 48, "RPC_MISMATCH");
		else
			snprintf(detail, 48, "AUTH_ERROR %u", reply.auth_stat);
		return GOT_RPC_ERROR;
	}
	if (reply.accept_stat == WEIR_RPC_SUCCESS)
		return GOT_REPLY;
	snprintf(detail, 48, "%s", accept[reply.accept_stat]);
	return GOT_RPC_ERROR;
}

/*
 * Returns the outcome that an RPC message in the Reply chunk means. The message must be in one
 * segment. Segments without bytes can name any address.
 */
enum outcome judge_long(const struct peer *peer, const struct rdma1_header *hdr, char detail[48])
{
	struct rdma1_segment_iter segments;
	struct rdma1_segment segment;
	struct weir_xdr_in in;
	uint64_t at;

	rdma1_reply_begin(hdr, &segments);
	do {
		if (!rdma1_segments_next(&segments, &segment))
			return judge_unsound(detail, "RDMA_NOMSG without a segment");
	} while (segment.length == 0);
	at = segment.offset - peer->mr.raddr;
	if (at > EXPOSED_BYTES || segment.length > EXPOSED_BYTES - at)
		return judge_unsound(detail, "a Reply chunk that was not offered");
	weir_xdr_in_init(&in, peer->exposed + at, segment.length);
	return judge_rpc(&in, hdr->xid, detail);
}

bool judge_was_sent(const struct sent *sent, uint32_t xid)
{
	for (uint32_t i = 0; i < sent->count && i < SENT_MAX; i++)
		if (sent->xids[i] == xid)
			return true;
	return false;
}

enum outcome judge_answer(const struct peer *peer, const struct peer_message *answer,
			  const struct sent *sent, char detail[48])
{
	struct rdma1_header hdr;
	enum rdma1_reason reason;
	struct weir_xdr_in in;

	if (rdma1_decode(answer->bytes, answer->len, RDMA1_REPLY, &judge_no_limits, &hdr,
			 &reason) != RDMA1_V_OK)
		return judge_unsound(detail, rdma1_reason_name(reason));
	if (!judge_was_sent(sent, hdr.xid))
		return judge_unsound(detail, "an XID that was not sent");
	if (hdr.credit == 0)
		return judge_unsound(detail, "a grant of no credits");
	if (hdr.proc == RDMA1_ERROR) {
		if (hdr.err == RDMA1_ERR_CHUNK)
			return GOT_ERR_CHUNK;
		if (hdr.vers_low > 1 || hdr.vers_high < 1)
			return judge_unsound(detail, "ERR_VERS without version 1");
		snprintf(detail, 48, "versions %u to %u", hdr.vers_low, hdr.vers_high);
		return GOT_ERR_VERS;
	}
	if (hdr.proc == RDMA1_NOMSG)
		return judge_long(peer, &hdr, detail);
	weir_xdr_in_init(&in, answer->bytes + hdr.header_bytes, answer->len - hdr.header_bytes);
	return judge_rpc(&in, hdr.xid, detail);
}
