/* SPDX-License-Identifier: BSD-3-Clause */
/* What a responder's answer is by version 2 and its extension. */
#include "hostile.h"

#include <stdio.h>

#include "rpc_msg.h"
#include "rtr.h"

static enum outcome judge_error(const struct rdma2_header *hdr, char detail[48])
{
	static const char *const names[] = {"",		  "VERS",	  "BAD_XDR", "REPLY_RESOURCE",
					    "INVAL_PROC", "INVAL_OPTION", "SYSTEM"};

	if (hdr->lists.err == RDMA2_ERR_VERS) {
		snprintf(detail, 48, "versions %u to %u", hdr->lists.vers_low, hdr->lists.vers_high);
		return hdr->lists.vers_low <= 2 && hdr->lists.vers_high >= 2
			       ? GOT_ERR_VERS
			       : judge_unsound(detail, "ERR_VERS without version 2");
	}
	snprintf(detail, 48, "%s", names[hdr->lists.err]);
	return GOT_ERROR;
}

static enum outcome judge_operation(const struct peer_message *answer, const struct rdma2_header *hdr,
				    char detail[48])
{
	static const char *const names[] = {"",	      "BADHMT", "BADOMT",  "BADCONT", "BADSEQ",
					    "BADXID", "BADOFF", "BADTBSN", "BADPL"};
	struct rtr_header rtr;
	struct weir_xdr_in in;
	uint32_t reason;

	if (rtr_decode(answer->bytes, answer->len, hdr, &rtr_limits_default, &rtr, &reason) != RDMA2_V_OK)
		return judge_unsound(detail, rdma2_reason_name(reason));
	if (rtr.op == RTR_REPTERR) {
		snprintf(detail, 48, "%s", names[rtr.report.err]);
		return GOT_REPORT;
	}
	/* A report's direction is against that of what it is about, which need not be a call. */
	if (hdr->direction != RDMA1_REPLY || rtr.op == RTR_XMTREQ || rtr.pslen > rtr.room)
		return judge_unsound(detail, "no reply");
	if (rtr.op == RTR_XMTCONT)
		return GOT_REPLY;
	if (rtr.count > 1 && rtr.pslen < RTR_POSITION_REPLY)
		return GOT_REPLY;
	weir_xdr_in_init(&in, rtr_payload(&rtr, answer->bytes), rtr.pslen);
	return judge_rpc(&in, rtr.xid, detail);
}

enum outcome judge_answer_v2(const struct peer *peer, const struct peer_message *answer,
			     const struct sent *sent, char detail[48])
{
	struct rdma2_header hdr;
	struct weir_xdr_in in;
	uint32_t reason;

	if (rdma2_decode(answer->bytes, answer->len, &judge_no_limits, &hdr, &reason) != RDMA2_V_OK)
		return judge_unsound(detail, rdma2_reason_name(reason));
	if (!judge_was_sent(sent, hdr.lists.xid))
		return judge_unsound(detail, "an XID that was not sent");
	if (hdr.lists.credit == 0)
		return judge_unsound(detail, "a grant of no credits");
	if (hdr.lists.proc >= RDMA2_CONNPROP) { /* the answer to properties */
		snprintf(detail, 48, "properties");
		return GOT_REPLY;
	}
	if (hdr.lists.proc == RDMA2_ERROR)
		return judge_error(&hdr, detail);
	if (hdr.lists.proc == RDMA2_OPTIONAL)
		return judge_operation(answer, &hdr, detail);
	if (hdr.direction != RDMA1_REPLY)
		return judge_unsound(detail, "a call");
	if (hdr.lists.proc == RDMA2_NOMSG)
		return judge_long(peer, &hdr.lists, detail);
	weir_xdr_in_init(&in, answer->bytes + hdr.lists.header_bytes, answer->len - hdr.lists.header_bytes);
	return judge_rpc(&in, hdr.lists.xid, detail);
}
