/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of the extension to a requester: Transmit Response with its continuations, and Report
 * Error (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 sections 9.3 to 9.5). The receives of the
 * transmissions of a reply are kept until the last transmission has arrived. The reply is then read
 * in these receives, without a copy. Section numbers in this file are those of this draft.
 */
#include <errno.h>

#include "call_ext.h"
#include "rpc_msg.h"
#include "rtr_reduce.h"
#include "rtr_stream.h"
#include "xdr_ref.h"

_Static_assert(CALL_REPLY_PARTS_MAX >= RTR_TRANSMISSIONS_MAX + 2 * CALL_ITEMS_MAX,
	       "all transmissions and results fit");

void requester_drop_group(struct weir_conn *conn)
{
	struct mem_buf *chain = conn->v2->group_chain;

	conn->v2->group_chain = NULL;
	conn_chain_done(conn, chain);
}

/* Reads the entries of a reply, which answer the directions of the call. Sets item_bytes to what
 * weir_result.item_bytes will say, and *result accordingly. Returns false if the entries do not
 * answer the directions. A call without directions must get no entries. */
static bool judge_items(const struct weir_call *call, const struct rtr_header *rtr,
			uint32_t item_bytes[CALL_ITEMS_MAX], struct weir_result *result)
{
	struct reduce_result results[CALL_ITEMS_MAX];

	call_list_results(call, results);
	result->nitems = call->plan.use_write_list ? call->nresults : 0;
	result->item_bytes = item_bytes;
	return rtr_reduce_results(rtr, results, result->nitems, call->results_by, item_bytes);
}

/* Finds result 'i', which arrived in targets. If the result is contiguous, returns its address in
 * the receives. Otherwise copies the result to the memory that was offered for it. If the result is
 * longer than that memory, copies it to the buffer call->reply_join instead, of which *joined bytes
 * are in use. Returns the address of the copy, or NULL if the result fits into neither. */
static const uint8_t *find_placed(struct weir_call *call, const struct rtr_item *item, uint32_t i,
				  const struct mem_buf *chain, uint32_t *joined)
{
	const uint8_t *data = conn_find_placed(call->conn, item, chain);
	const struct mem_buf *join = call->reply_join;
	uint8_t *to = call->results[i].data;

	if (data)
		return data;
	if (item->length > call->results[i].max_bytes) {
		if (!join || item->length > join->size_bytes - *joined)
			return NULL;
		to = join->data + *joined;
		*joined += item->length;
		*joined += weir_xdr_pad(*joined); /* the size of the buffer is a multiple of this */
	}
	conn_copy_placed(call->conn, item, chain, to);
	return to;
}

/* Returns the number of results that arrived in targets. */
static uint32_t count_placed(const struct rtr_header *rtr)
{
	struct rtr_item item;
	struct rtr_iter it;
	uint32_t n = 0;

	rtr_items_begin(rtr, &it);
	while (rtr_items_next(&it, &item))
		n += item.type == RTR_TBSN;
	return n;
}

/* Returns the number of bytes that the responder wrote to memory of the call. */
static uint64_t count_written(const struct rtr_header *rtr)
{
	struct rtr_item item;
	struct rtr_iter it;
	uint64_t bytes = 0;

	rtr_items_begin(rtr, &it);
	while (rtr_items_next(&it, &item))
		bytes += item.type == RTR_EXRW ? item.length : 0;
	return bytes;
}

/* Lists the parts of the RPC reply, with the results that arrived in targets at their positions.
 * Returns the number of parts, or one of these errors:
 *
 * - -EAGAIN: the targets in the reply are wrong, and a Report Error was sent to the responder. The
 *   responder might send the reply again, or answer that it will not. At most one Report Error is
 *   sent for each call.
 * - another error: the targets or the parts in the reply are wrong. */
static int place_results(struct weir_call *call, const struct rtr_header *rtr,
			 const struct mem_buf *chain,
			 struct weir_xdr_part parts[CALL_REPLY_PARTS_MAX], uint32_t *joined)
{
	struct weir_conn *conn = call->conn;
	struct weir_engine *engine = conn->ep.engine;
	struct rtr_received received[RTR_TRANSMISSIONS_MAX];
	struct weir_xdr_part sections[RTR_TRANSMISSIONS_MAX];
	struct rtr_stream_item items[CALL_ITEMS_MAX];
	uint32_t n = 0, nsections, bytes;
	struct rtr_report report;
	struct rtr_item item;
	struct rtr_iter it;
	int rc;

	rc = rtr_place(rtr, &conn->v2->mine, received, conn_chain_received(chain, received), NULL,
		       0, &report);
	if (rc == -EBADMSG && !call->has_reported &&
	    conn_send_report(conn, &report, rtr->base, requester_of(conn)->credits.wanted)) {
		call->has_reported = true;
		return -EAGAIN;
	}
	if (rc < 0)
		return -EBADMSG;
	rtr_items_begin(rtr, &it);
	for (uint32_t i = 0; rtr_items_next(&it, &item); i++) {
		const uint8_t *base =
			item.type == RTR_TBSN ? find_placed(call, &item, i, chain, joined) : NULL;

		if (item.type == RTR_TBSN && !base)
			return -EBADMSG;
		engine->stats.placed_received += item.type == RTR_TBSN;
		if (item.type == RTR_TBSN || item.type == RTR_EXRW)
			items[n++] = (struct rtr_stream_item){item.disp, item.length, base};
	}
	nsections = conn_chain_parts(chain, sections, &bytes);
	return rtr_stream_parts(sections, nsections, items, n, parts, CALL_REPLY_PARTS_MAX);
}

/* Reads the reply of a call, and sets *content and *result, which 'done' gets. The status is
 * -EBADMSG if the reply is not valid. Returns false if the call must wait for another reply. */
static bool read_results(struct weir_call *call, const struct rtr_header *rtr,
			 const struct mem_buf *chain, struct call_content *content,
			 struct weir_result *result)
{
	struct weir_xdr_in *in = &content->in;
	uint32_t bytes, joined = 0;
	int n;

	*result = (struct weir_result){.status = -EBADMSG};
	/* If an entry answers no direction, the call ends (section 7.4), because it is not known
	 * what was written. */
	if (!judge_items(call, rtr, content->item_bytes, result))
		n = -EBADMSG;
	else if (count_placed(rtr) > 0)
		n = place_results(call, rtr, chain, content->parts, &joined);
	else
		n = (int)conn_chain_parts(chain, content->parts, &bytes);
	if (n == -EAGAIN)
		return false;
	weir_xdr_in_init_parts(in, content->parts, n > 0 ? (uint32_t)n : 0);
	if (call->reply_join)
		xdr_in_join(in, call->reply_join->data + joined,
			    call->reply_join->size_bytes - joined);
	if (n >= 0 && rpc_reply_decode(in, &content->reply) == 0 &&
	    content->reply.xid == call->xid) {
		call->conn->rdma_bytes_received += count_written(rtr);
		result->status = 0;
		result->reply = &content->reply;
		result->results = in;
	}
	return true;
}

/* Decodes the header of a reply's first transmission again, which was accepted before, into *rtr.
 * Returns the credits that it grants. */
static uint32_t decode_again(const struct weir_conn *conn, const struct mem_buf *buf, uint32_t len,
			     struct rtr_header *rtr)
{
	struct rdma2_header hdr;
	uint32_t reason;

	rdma2_decode(buf->data, len, &conn->ep.engine->limits, &hdr, &reason);
	rtr_decode(buf->data, len, &hdr, &rtr_limits_default, rtr, &reason);
	return hdr.lists.credit;
}

bool requester_read_group(struct weir_call *call, const struct mem_buf *chain, uint32_t len,
			  uint32_t *credit, struct call_content *content,
			  struct weir_result *result)
{
	struct rtr_header rtr;

	*credit = decode_again(call->conn, chain, len, &rtr);
	return !content || read_results(call, &rtr, chain, content, result);
}

/* Handles a reply of which all transmissions have arrived. The first one has 'len' bytes. Returns
 * REPLY_GROUP and sets *in if a call waits for the reply. Otherwise drops and counts the reply, and
 * returns REPLY_NONE. */
static enum reply_kind receive_group(struct weir_conn *conn, uint32_t xid, struct mem_buf *chain,
				     uint32_t len, struct reply_in *in)
{
	struct engine_counters *stats = &conn->ep.engine->stats;

	in->call = call_find(requester_of(conn), xid);
	if (!in->call || !in->call->extension || !call_waits_for_reply(in->call)) {
		stats->dropped++;
		stats->replies_unmatched++;
		conn_chain_done(conn, chain);
		return REPLY_NONE;
	}
	in->chain = chain;
	in->chain_bytes = len;
	return REPLY_GROUP;
}

/* Returns how many transmissions the reply with this XID may have. */
static uint32_t count_max(const struct weir_conn *conn, uint32_t xid)
{
	const struct weir_call *call = call_find(requester_of(conn), xid);

	return call && call->extension && call_waits_for_reply(call) ? call->reply_count_max : 1;
}

/* Returns whether a Report Error is about a call by the extension. If so, sets in->call to that
 * call. Counts the Report Error. */
static bool is_report_of_call(struct weir_conn *conn, const struct rtr_report *report,
			      struct reply_in *in)
{
	in->call = call_find(requester_of(conn), report->bad.xid);
	conn->ep.engine->stats.reports_received++;
	if (report->bad.direction == RDMA1_CALL && in->call && in->call->extension)
		return true;
	conn->ep.engine->stats.dropped++;
	return false;
}

/* Decodes the operation of a message into *rtr. Returns false if the message has no valid
 * operation, or has one that only a responder can handle. */
static bool get_op(const struct mem_buf *buf, uint32_t len, const struct rdma2_header *hdr,
		   struct rtr_header *rtr)
{
	uint32_t reason;

	return hdr->lists.proc == RDMA2_OPTIONAL &&
	       rtr_decode(buf->data, len, hdr, &rtr_limits_default, rtr, &reason) == RDMA2_V_OK &&
	       rtr->op != RTR_XMTREQ;
}

/* Keeps a transmission of a reply. Returns REPLY_NONE, or, after the last transmission, the result
 * of receive_group(). */
static enum reply_kind keep(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
			    const struct rtr_header *rtr, bool is_last, struct reply_in *in)
{
	struct conn_v2 *v2 = conn->v2;
	struct mem_buf *chain;

	conn_chain_end(buf, len, rtr->header_bytes, rtr->pslen);
	if (rtr->op == RTR_XMTRESP) {
		v2->group_chain = buf;
		v2->group_bytes = len;
	} else {
		conn_chain_add(v2->group_chain, buf);
	}
	if (!is_last)
		return REPLY_NONE;
	chain = v2->group_chain;
	v2->group_chain = NULL;
	return receive_group(conn, rtr->xid, chain, v2->group_bytes, in);
}

enum reply_kind requester_receive_rtr(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
				      const struct rdma2_header *hdr, struct reply_in *in)
{
	struct conn_v2 *v2 = conn->v2;
	struct rtr_header rtr = {0};
	struct rtr_step step;
	bool has_op;

	if (!hdr) { /* the invalid message might be a transmission of the open group */
		if (conn_group_break(conn))
			requester_drop_group(conn);
		return REPLY_MESSAGE;
	}
	if (hdr->lists.proc != RDMA2_OPTIONAL && !v2->group.is_open)
		return REPLY_MESSAGE;
	has_op = get_op(buf, len, hdr, &rtr);
	conn_group_receive(conn, hdr, has_op ? &rtr : NULL, count_max(conn, hdr->lists.xid),
			   requester_of(conn)->credits.wanted, &step);
	if (step.drops_group)
		requester_drop_group(conn);
	switch (step.action) {
	case RTR_ACTION_FIRST:
	case RTR_ACTION_NEXT:
	case RTR_ACTION_LAST:
		return keep(conn, buf, len, &rtr, step.action == RTR_ACTION_LAST, in);
	case RTR_ACTION_ALONE:
		if (!has_op)
			return REPLY_MESSAGE;
		if (is_report_of_call(conn, &rtr.report, in))
			return REPLY_REFUSED;
		break;
	case RTR_ACTION_DISCARD:
		conn->ep.engine->stats.dropped++;
		/* If the reply has more transmissions than receives are reserved for it, some of
		 * them might find no receive. */
		if (rtr.op == RTR_XMTRESP && rtr.count > count_max(conn, rtr.xid))
			conn_fail(conn, -EPROTO);
		break;
	}
	conn_recv_done(conn, buf);
	return REPLY_NONE;
}
