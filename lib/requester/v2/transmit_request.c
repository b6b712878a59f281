/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls by the extension: Transmit Request (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 9.2).
 *
 * Message continuation replaces a Position Zero Read chunk or a Reply chunk of the base protocol.
 * This file prepares calls without items and directions. directions.c prepares the others, for
 * which call_take_group() takes the resources for several transmissions. A call is sent in as many
 * transmissions as it needs. Each transmission takes a credit, because it takes a receive of the
 * responder.
 *
 * If the longest reply does not fit into one transmission, a receive of this side is reserved for
 * each of its transmissions, until the call has ended. With the receive for the call's credit, this
 * is one receive more than needed, because the draft leaves open whether optxrq_rsbuf counts the
 * first transmission.
 *
 * If there are too few credits, receives or buffers, or if a limit of either side is exceeded, the
 * call is sent by the base protocol at once. No call waits while it holds only a part of what it
 * needs (section 4.3). A call that the responder refuses was not executed, and is sent again by the
 * base protocol (section 5.4).
 */
#include "call_ext.h"

/* Returns the number of transmissions of a message whose first transmission has a header of
 * 'header_bytes', if no transmission is longer than 'send_bytes_max'. Returns 0 if the payload is
 * too long. */
static uint32_t count_of(uint64_t payload_bytes, uint32_t header_bytes, uint32_t send_bytes_max)
{
	const struct rtr_split split = {(uint32_t)payload_bytes, header_bytes, send_bytes_max};

	return payload_bytes > UINT32_MAX - 3 ? 0 : rtr_split_count(&split);
}

uint32_t call_count_max(const struct weir_conn *conn)
{
	const struct weir_profile *profile = &conn->ep.engine->profile;
	const struct rdma2_properties *peer = &conn->v2->peer;

	if (!(profile->extension & WEIR_EXTENSION_CONTINUATION) || !(peer->rtrs & RDMA2_RTRS_XCONT))
		return 1;
	return peer->request_count_max < profile->transmissions ? peer->request_count_max
								: profile->transmissions;
}

uint32_t call_reply_count_max(const struct weir_conn *conn)
{
	const struct weir_engine *engine = conn->ep.engine;
	uint32_t theirs = conn->v2->peer.response_count_max;

	return theirs < engine->group_max ? theirs : engine->group_max; /* 1 without continuation */
}

/* Returns the length of the payload of the longest reply. Calls in this file have no memory for
 * results, so all results are in the payload. */
static uint64_t reply_payload(const struct weir_call *call)
{
	uint64_t bytes = (uint64_t)call->reply_max_bytes + weir_xdr_pad(call->reply_max_bytes);

	for (uint32_t i = 0; i < call->nresults; i++)
		bytes += (uint64_t)call->results[i].max_bytes +
			 weir_xdr_pad(call->results[i].max_bytes);
	return bytes;
}

/* Returns the number of transmissions of a message, like count_of(). Returns 0 if the number
 * exceeds 'max'. */
static uint32_t plan(uint64_t payload_bytes, uint32_t header_bytes, uint32_t send_bytes_max,
		     uint32_t max)
{
	uint32_t n = count_of(payload_bytes, header_bytes, send_bytes_max);

	return n <= max ? n : 0;
}

/* Returns whether message continuation costs more than explicit RDMA, by the costs in the profile.
 * The message of the call has 'bytes' bytes in 'count' transmissions. */
static bool is_dearer(const struct weir_call *call, uint64_t bytes, uint32_t count,
		      uint32_t reply_count)
{
	const struct rtr_costs costs = requester_costs(call_engine(call));
	const struct rtr_load request = {bytes, count, call->plan.form == REDUCE_LONG};
	const struct rtr_load reply = {reply_payload(call), reply_count,
				       call->plan.need_reply_chunk};

	return !rtr_choose_continued(&costs, &request, &reply);
}

/* Returns the number of credits that a new call can get. If other calls are queued, these are all
 * granted credits, because the call can wait until the calls before it have given their credits
 * back. Otherwise they are the credits that are free at present. */
static uint32_t credits_for(const struct requester *req)
{
	return TAILQ_EMPTY(&req->queue) ? credit_available(&req->credits) : req->credits.granted;
}

/* Returns the description of a call's transmissions, by which lib/conn/v2 sends them. */
static struct conn_group_out group_of(struct weir_call *call)
{
	const struct weir_conn *conn = call->conn;
	const struct mem_buf *header_buf = call->header_buf ? call->header_buf : call->args;
	const uint32_t reduced = call->has_lists ? call->plan.reduced : 0;

	return (struct conn_group_out){
		.xid = call->xid,
		.credit = requester_of(conn)->credits.wanted,
		.direction = RDMA1_CALL,
		.base = call->extension,
		.rsbuf = call->reply_count_max,
		.count = 1 + call->more,
		.split = {(uint32_t)piece_payload_bytes(call->pieces, call->npieces, reduced),
			  call->has_lists ? call->header_bytes : RTR_XMTREQ_SIZE, call->lead_bytes},
		.header = call->has_lists ? call->header : NULL,
		.header_lkey = header_buf->lkey,
		.pieces = call->pieces,
		.npieces = call->npieces,
		.reduced = reduced,
		.placed = call->placed,
		.bufs = call->group_bufs,
		.tx = &call->tx,
	};
}

/* Reserves 'count' receives for the reply of a call. Returns false if fewer are free. */
static bool take_receives(struct weir_call *call, uint32_t count)
{
	struct weir_conn *conn = call->conn;
	struct requester *req = requester_of(conn);

	if (count > req->reply_recvs - req->reply_reserved)
		return false;
	if (count > 0 && conn->srq &&
	    !credit_share_extend(&conn->srq->credits, &conn->share, count))
		return false;
	req->reply_reserved += count;
	call->reply_reserved = count;
	return true;
}

uint64_t *call_take_group(struct weir_call *call, uint32_t count, uint32_t reply_count)
{
	struct weir_engine *engine = call_engine(call);
	struct requester *req = requester_of(call->conn);
	uint32_t reserve = reply_count > 1 ? reply_count : 0;
	struct conn_group_out group;

	if (count == 0 || reply_count == 0 || reserve > req->reply_recvs)
		return &engine->stats.fallbacks_limits;
	if (count > 1 && count > credits_for(req))
		return &engine->stats.fallbacks_credits;
	if (!take_receives(call, reserve))
		return &engine->stats.fallbacks_buffers;
	if (reserve)
		call->reply_join = mem_pool_get(engine->bulk_pool);
	call->extension = call->conn->v2->rtr_base;
	call->more = count - 1;
	call->reply_count_max = reply_count;
	if (reserve && !call->reply_join)
		return &engine->stats.fallbacks_buffers;
	if (count == 1)
		return NULL;
	group = group_of(call);
	call->group_sges = conn_group_sges(call->conn, &group);
	if (call->group_sges == CONN_PLACE_NEVER)
		return &engine->stats.fallbacks_limits;
	return conn_group_take_bufs(call->conn, &group, NULL, &call->group_bufs)
		       ? NULL
		       : &engine->stats.fallbacks_buffers;
}

bool call_prepare_group(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;
	struct weir_engine *engine = conn->ep.engine;
	uint64_t payload_bytes, *wanting;
	struct conn_group_out group;
	uint32_t count, reply_count;

	if (!conn->v2->extends || call->avoids_extension ||
	    !(engine->profile.extension & WEIR_EXTENSION_CONTINUATION))
		return false;
	/* A call with data that are placed directly needs items or directions. If directions.c
	 * could not prepare it, it is sent by the base protocol. */
	if (call->plan.reduced || (call->plan.use_write_list && call->nresults > 0) ||
	    (call->plan.form == REDUCE_SHORT && !call->plan.need_reply_chunk))
		return false;
	payload_bytes = piece_payload_bytes(call->pieces, call->npieces, 0);
	count = plan(payload_bytes, RTR_XMTREQ_SIZE, conn->send_inline, call_count_max(conn));
	reply_count = plan(reply_payload(call), RTR_XMTRESP_SIZE, conn->recv_inline,
			   call_reply_count_max(conn));
	call->has_lists = false;
	call->lead_bytes = conn->send_inline;
	if (count > 0 && reply_count > 0 && is_dearer(call, payload_bytes, count, reply_count))
		wanting = &engine->stats.fallbacks_costs;
	else
		wanting = call_take_group(call, count, reply_count);
	if (wanting) {
		++*wanting;
		call_release_extra(call);
		call->has_extra = true;
		return false;
	}
	call->plan.form = REDUCE_SHORT;
	call->plan.use_write_list = false;
	call->plan.need_reply_chunk = false;
	call->is_exposed = false;
	if (count == 1) {
		group = group_of(call);
		call->header = call->out.start - RTR_XMTREQ_SIZE;
		call->header_bytes = conn_put_first(&group, (uint32_t)payload_bytes, call->header);
	}
	engine->stats.extended_calls++;
	return true;
}

static bool has_free(const struct mem_pool *pool, uint32_t count)
{
	return pool->count - pool->in_use >= count;
}

/* Returns whether enough buffers are free to send a call by the base protocol, as a Long Call with
 * a Reply chunk. */
static bool has_chunks(const struct weir_engine *engine)
{
	return has_free(engine->long_pool, 2) &&
	       (engine->revokes_access || has_free(engine->bulk_pool, 1));
}

enum resend call_claim_credits(struct weir_call *call)
{
	const struct credit_requester *credits = &requester_of(call->conn)->credits;

	if (call->more == 0 || credit_available(credits) > call->more)
		return RESEND_NOW;
	/* The call waits if calls in flight will give enough credits back and the base protocol
	 * would lack buffers. The call has all other resources for its transmissions. */
	if (credits->granted > call->more && !has_chunks(call_engine(call)))
		return RESEND_LATER;
	call_engine(call)->stats.fallbacks_credits++;
	call->avoids_extension = true;
	return RESEND_ANEW;
}

void call_transmit_group(struct weir_call *call)
{
	struct conn_group_out group;

	group = group_of(call);
	conn_send_group(call->conn, &group);
	for (uint32_t i = 0; i < call->npieces; i++)
		call->sends_app_memory |= call->pieces[i].kind != PIECE_XDR &&
					  (call->placed | ~group.reduced) & 1u << i;
	call_engine(call)->stats.continued_calls++;
	call_engine(call)->stats.placed_sent += (uint32_t)__builtin_popcount(call->placed);
}
