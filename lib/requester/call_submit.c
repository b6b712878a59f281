/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending a call: the reducer's plan is carried out, a credit taken, the Send queued. */
#include "call_plain.h"

#include <errno.h>
#include <stdatomic.h>

#include "compiler.h"
#include "forked.h"
#include "log.h"
#include "reserve.h"

/* Right in front of the message, or to a buffer of its own. */
int call_place_header(struct weir_call *call, uint32_t bytes)
{
	if (bytes <= ENGINE_HEADROOM) {
		call->header = call->out.start - bytes;
		return 0;
	}
	/* One that is being sent again may have the reserve: it goes out at once. */
	call->header_buf = call->needs_header
				   ? engine_reserve_get(call_engine(call),
							&requester_of(call->conn)->buf_waiter)
				   : mem_pool_get(call_engine(call)->send_pool);
	if (!call->header_buf)
		return -ENOBUFS;
	call->header = call->header_buf->data;
	return 0;
}

/* Memory for the Reply chunk, and for the private copy of what arrives in it where that is needed.
 */
static int offer_reply_chunk(struct weir_call *call, struct remote_buf *reply)
{
	struct weir_engine *engine = call_engine(call);

	if (call->plan.reply_bytes > engine->profile.long_buffer_bytes)
		return -EMSGSIZE;
	call->long_reply = mem_pool_get(engine->long_pool);
	if (!call->long_reply)
		return -ENOBUFS;
	call->reply_handle = call->long_reply->rkey;
	if (!engine->revokes_access) {
		if (call->plan.reply_bytes > engine->profile.bulk_buffer_bytes)
			return -EMSGSIZE;
		call->reply_copy = mem_pool_get(engine->bulk_pool);
		if (!call->reply_copy)
			return -ENOBUFS;
	}
	*reply = (struct remote_buf){
		.rkey = call->long_reply->rkey,
		.len = call->plan.reply_bytes,
		.raddr = call->long_reply->raddr,
	};
	return 0;
}

/* The segments of a Long Call, as they are listed. */
struct segment_list {
	struct remote_buf segs[2 * CALL_PIECES_MAX];
	uint8_t *base[2 * CALL_PIECES_MAX];
	uint32_t n;
	uint32_t copied; /* bytes of call->long_call in use */
};

static void list_segment(struct segment_list *list, uint8_t *base, struct remote_buf seg)
{
	list->base[list->n] = base;
	list->segs[list->n++] = seg;
}

/* Copy 'len' bytes (NULL: zeros) to memory that the peer may read. 0; -ENOBUFS; -EMSGSIZE. */
static int list_copied(struct weir_call *call, struct segment_list *list, const uint8_t *src,
		       uint32_t len)
{
	struct remote_buf *last = list->n > 0 ? &list->segs[list->n - 1] : NULL;
	struct mem_buf *buf;
	uint8_t *base;
	uint64_t raddr;

	if (!call->long_call)
		call->long_call = mem_pool_get(call_engine(call)->long_pool);
	buf = call->long_call;
	if (!buf)
		return -ENOBUFS;
	if (len > buf->size_bytes - list->copied)
		return -EMSGSIZE;
	base = buf->data + list->copied;
	if (src)
		memcpy(base, src, len);
	else
		memset(base, 0, len);
	raddr = buf->raddr + list->copied;
	list->copied += len;
	if (last && last->rkey == buf->rkey && last->raddr + last->len == raddr)
		last->len += len;
	else
		list_segment(list, base, (struct remote_buf){buf->rkey, len, raddr});
	return 0;
}

/* An item that is too long to be copied, in memory that peers can't be given. */
static cold_code int refuse_unexposed(const struct weir_engine *engine, const struct piece *piece)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		LOG(ERR,
		    "an argument of %u bytes is in memory that driver %s can't expose to peers, "
		    "and too long "
		    "to be copied: "
		    "use a region of weir_region_create() without WEIR_REGION_PRIVATE, or of a "
		    "memfd with "
		    "F_SEAL_SHRINK; or "
		    "raise long_buffer_bytes (%llu) in the profile's [memory]",
		    piece->len, engine->ops->name,
		    (unsigned long long)engine->profile.long_buffer_bytes);
	return -EOPNOTSUPP;
}

/* The Payload stream of a Long Call: data where they lie when the peer may read them there; what
 * lies in our private buffers, and padding, from a copy. */
static int list_segments(struct weir_call *call, struct segment_list *list)
{
	struct weir_engine *engine = call_engine(call);
	int rc = 0;

	list->n = 0;
	list->copied = 0;
	for (uint32_t i = 0; i < call->npieces && rc == 0; i++) {
		const struct piece *piece = &call->pieces[i];
		uint32_t pad = piece->kind == PIECE_PLAIN ? 0 : weir_xdr_pad(piece->len);

		if (call->plan.reduced & 1u << i)
			continue;
		if (piece->rkey) {
			list_segment(list, piece->base,
				     (struct remote_buf){piece->rkey, piece->len, piece->raddr});
		} else {
			rc = list_copied(call, list, piece->base, piece->len);
			engine->stats.bulk_copies += piece->kind != PIECE_PLAIN;
			if (rc == -EMSGSIZE && piece->kind != PIECE_PLAIN)
				return refuse_unexposed(engine, piece);
		}
		if (rc == 0 && pad)
			rc = list_copied(call, list, NULL, pad);
	}
	return rc;
}

/* What the header names, in its order: the exposures that the windows of the call are to be bound
 * over. For each segment rkey is the key to bind over, and a placeholder in the header. */
static void plan_window_bindings(struct weir_call *call, const struct segment_list *list)
{
	for (uint32_t i = 0; i < list->n; i++)
		call_windows_add(call, list->base[i], list->segs[i].len, list->segs[i].rkey,
				 FABRIC_REMOTE_READ, NULL);
	call_plan_chunks(call, call->plan.reduced, call->plan.use_write_list);
	if (call->long_reply)
		call_windows_add(call, call->long_reply->data, call->plan.reply_bytes,
				 call->long_reply->rkey, FABRIC_REMOTE_WRITE, &call->reply_handle);
}

void call_plan_chunks(struct weir_call *call, uint32_t reduced, bool writes_results)
{
	for (uint32_t i = 0; i < call->npieces; i++)
		if (reduced & 1u << i)
			call_windows_add(call, call->pieces[i].base, call->pieces[i].len,
					 call->pieces[i].rkey, FABRIC_REMOTE_READ, NULL);
	for (uint32_t i = 0; i < call->nresults && writes_results; i++) {
		struct call_result *result = &call->results[i];

		if (result->target.len > 0)
			call_windows_add(call, result->data, result->target.len,
					 result->target.rkey, FABRIC_REMOTE_WRITE,
					 &result->target.rkey);
	}
}

static int write_header(struct weir_call *call, struct reduce_call_in *in)
{
	uint32_t extra = call->conn->extra_bytes;
	struct segment_list list;
	struct remote_buf reply;
	int rc = 0;

	list.n = 0;
	if (call->plan.form == REDUCE_LONG) {
		rc = list_segments(call, &list);
		if (rc != 0)
			return rc;
		/* The plan counted one segment for the Payload stream. */
		call->plan.header_bytes += (list.n - 1) * RDMA1_READ_SEGMENT_SIZE;
		if (call->plan.header_bytes > in->call_inline_bytes)
			return -EMSGSIZE;
	}
	if (call->plan.need_reply_chunk)
		rc = offer_reply_chunk(call, &reply);
	if (rc == 0)
		rc = call_place_header(call, call->plan.header_bytes + call->conn->extra_bytes);
	if (rc != 0)
		return rc;
	rc = reduce_call_encode(in, &call->plan, call->xid,
				requester_of(call->conn)->credits.wanted, list.segs, list.n,
				call->plan.need_reply_chunk ? &reply : NULL, call->header + extra,
				call->plan.header_bytes, &call->header_bytes);
	call->header_bytes += extra;
	if (unlikely(extra > 0))
		call->conn->protocol->finish_header(call);
	if (rc == 0 && call->window_bindings)
		plan_window_bindings(call, &list);
	return rc;
}

static void count_forms(struct weir_call *call)
{
	struct weir_engine_stats *stats = &call_engine(call)->stats;

	stats->long_calls += call->plan.form == REDUCE_LONG;
	stats->read_chunks += (uint32_t)__builtin_popcount(call->plan.reduced);
	if (call->plan.use_write_list)
		stats->write_chunks += call->nresults;
}

/* Of one that is not sent yet. */
static hot_inline bool prepare_short(struct weir_call *call)
{
	if (!call_encode_short(call, call->conn, 0))
		return false;
	call_plan_plain(call, RDMA1_HEADER_MIN, false, false, call->state, false);
	return true;
}

static hot_inline bool prepare_one_write(struct weir_call *call)
{
	if (!call_encode_one_write(call, call->conn, 0))
		return false;
	call_plan_plain(call, RDMA1_ONE_WRITE_SIZE, true, false, call->state, false);
	call_engine(call)->stats.write_chunks++;
	return true;
}

static bool prepare_one_read(struct weir_call *call)
{
	if (!call_encode_one_read(call, call->conn))
		return false;
	call_plan_plain(call, RDMA1_ONE_READ_SIZE, false, true, call->state, false);
	call_engine(call)->stats.read_chunks++;
	return true;
}

#define COPIED_MAX 512u /* bytes */

/* A short item that goes inline, copied to where it belongs, so that all lies in one piece: that is
 * less than gathering it. */
static out_of_line bool prepare_copied(struct weir_call *call)
{
	const struct weir_conn *conn = call->conn;
	const struct piece *item = &call->pieces[1];
	uint32_t bytes = item->len + weir_xdr_pad(item->len), front = call->piece_start;
	size_t behind = weir_xdr_out_len(&call->out) - front;
	bool is_xdr =
		((front | (uint32_t)behind) & 3u) == 0; /* else it is refused, however it goes */
	uint8_t *at = call->out.start + front;

	if (call->nitems != 1 || call->npieces != 2 || call->nresults > 0 || !is_xdr ||
	    item->len > COPIED_MAX || reduce_is_bulk(item->len, conn->ep.engine->chunk_bytes) ||
	    !conn->ops->send_direct || (size_t)(call->out.end - call->out.p) < bytes ||
	    RDMA1_HEADER_MIN + front + bytes + behind > conn->send_inline ||
	    RDMA1_HEADER_MIN + call->reply_max_bytes > conn->recv_inline)
		return false;
	memmove(at + bytes, at, behind);
	memcpy(at, item->base, item->len);
	memset(at + item->len, 0, bytes - item->len);
	call->out.p += bytes;
	call->npieces = 0;
	call->nitems = 0;
	call->piece_start = 0;
	return prepare_short(call);
}

static bool prepare_plain(struct weir_call *call)
{
	if (unlikely(call->conn->extra_bytes > 0))
		return call->conn->protocol->prepare_plain(call);
	if ((call->nitems | call->nresults) == 0)
		return prepare_short(call);
	if (call->nitems == 0)
		return prepare_one_write(call);
	return prepare_one_read(call) || prepare_copied(call);
}

static int prepare_message(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;
	struct reduce_result results[CALL_ITEMS_MAX];
	struct reduce_call_in in;
	int rc;

	call_close_piece(call);
	call_list_results(call, results);
	call->has_extra = true;
	in = (struct reduce_call_in){
		.pieces = call->pieces,
		.npieces = call->npieces,
		.call_inline_bytes = conn->send_inline - conn->extra_bytes,
		.chunk_bytes = conn->chunk_bytes,
		.reply_inline_bytes = conn->recv_inline - conn->extra_bytes,
		.reply_max_bytes = call->reply_max_bytes,
		.results = results,
		.nresults = call->nresults,
		.may_reduce = call->may_reduce,
	};
	rc = reduce_call_plan(&in, &call->plan);
	if (rc == 0 && unlikely(conn->via_protocol) && conn->protocol->prepare(call, &in))
		return 0;
	if (rc == 0)
		rc = write_header(call, &in);
	if (rc != 0)
		return rc;
	call->is_exposed = call->plan.form == REDUCE_LONG || call->plan.reduced ||
			   call->plan.use_write_list || call->plan.need_reply_chunk;
	count_forms(call);
	return 0;
}

int call_prepare(struct weir_call *call)
{
	uint32_t npieces = call->npieces, piece_start = call->piece_start;
	int rc = prepare_message(call);

	call->is_plain = false;
	if (unlikely(rc != 0)) {
		call->npieces = npieces;
		call->piece_start = piece_start;
		call_release_extra(call);
	}
	return rc;
}

void call_mark_sent(struct weir_call *call)
{
	credit_take(&requester_of(call->conn)->credits);
	call->state = CALL_SENT;
	call->expected_reply = EXPECTED_REPLY_ANY;
	call_engine(call)->stats.calls_sent++;
}

void call_wait_windows(struct weir_call *call)
{
	const struct mem_buf *header_buf = call->header_buf ? call->header_buf : call->args;

	call_engine(call)->stats.window_waits++;
	if (header_buf->pool == call_engine(call)->reserve_pool)
		call_drop_header(call); /* others need it meanwhile */
}

/* False: it must wait for a buffer, and was not sent. */
static bool transmit(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;
	struct weir_engine *engine = conn->ep.engine;
	struct fabric_sge sges[2 * CALL_PIECES_MAX + 1];
	struct mem_buf *header_buf = call->header_buf ? call->header_buf : call->args;
	uint32_t bytes = call->header_bytes;
	uint32_t n = conn_gather(sges, 0, call->header, call->header_bytes, header_buf->lkey);

	if (unlikely(call->has_extra) && call->extension != 0 && call_goes_apart(call))
		return conn->protocol->transmit(call);
	if (call_lacks_windows(call))
		return call_wait_windows(call), false;
	for (uint32_t i = 0; call->plan.form != REDUCE_LONG && i < call->npieces; i++) {
		struct piece *piece = &call->pieces[i];
		uint32_t pad = piece->kind == PIECE_PLAIN ? 0 : weir_xdr_pad(piece->len);

		if (call->plan.reduced & 1u << i)
			continue;
		n = conn_gather(sges, n, piece->base, piece->len, piece->lkey);
		if (pad)
			n = conn_gather(sges, n, engine->zeros->data, pad, engine->zeros->lkey);
		bytes += piece->len + pad;
		call->sends_app_memory |= piece->kind != PIECE_PLAIN;
	}
	if (unlikely(n > conn->max_sge)) {
		struct requester *req = requester_of(conn);

		if (conn_coalesce_sges(conn, sges, &n,
				       call->header_buf ? &call->header_buf : &call->spill,
				       &req->wait_queue, &req->buf_waiter) != 0)
			return false;
		call->has_extra = true;
	}
	if (call->nwindow_bindings > 0) {
		call_bind_windows(call);
		if (call->spill) /* which begins with the header */
			memcpy(call->spill->data, call->header, call->header_bytes);
	}
	call_mark_sent(call);
	conn_send(conn, sges, n, bytes, &call->tx, true);
	return true;
}

/* A plain call in one go, if the driver can; it is done with the message then. */
static inline bool transmit_now(struct weir_conn *conn, struct requester *req,
				struct weir_call *call)
{
	uint32_t bytes = call->header_bytes + (uint32_t)weir_xdr_out_len(&call->out);

	if (!conn_send_direct(conn, call->header, bytes))
		return false;
	credit_take(&req->credits);
	call->state = CALL_SENT;
	call->is_send_done = true;
	conn->ep.engine->stats.calls_sent++;
	return true;
}

/* Elements that the Send of a call may need. */
static uint32_t sges_max(const struct weir_call *call)
{
	if (unlikely(call->more > 0))
		return call->group_sges;
	return call->npieces == 1 ? 2 : 2 * call->npieces + 1;
}

/* The first one queued, which is no plain call. */
static out_of_line enum resend when_to_send(struct weir_call *call)
{
	enum resend when =
		call->needs_header || call->retransmits > 0 ? call_resend(call) : RESEND_NOW;

	return when == RESEND_NOW && call->more > 0 ? call->conn->protocol->claim_credits(call)
						    : when;
}

void requester_pump(struct weir_conn *conn)
{
	struct requester *req = requester_of(conn);
	struct weir_call *call;

	while ((call = TAILQ_FIRST(&req->queue)) && credit_available(&req->credits) > 0 &&
	       conn_can_send(conn) && !requester_has_probe(conn)) {
		if (unlikely(call->needs_header || call->retransmits > 0 || call->more > 0)) {
			enum resend when = when_to_send(call);

			if (when == RESEND_OTHER)
				continue;
			if (when == RESEND_LATER)
				break;
		}
		if (!call->is_plain || !transmit_now(conn, req, call)) {
			if (!conn_tx_reserve(conn, 1 + call->more + call->nwindow_bindings,
					     sges_max(call)))
				break;
			/* Making room may have ended calls, and this one been sent from there. */
			if (call != TAILQ_FIRST(&req->queue) ||
			    credit_available(&req->credits) <= call->more)
				continue;
			if (!transmit(call))
				break; /* for windows, the next tick tries again */
		}
		TAILQ_REMOVE(&req->queue, call, queue);
		if (unlikely(call->retransmits > 0))
			call_note_resent(call);
	}
}

void requester_on_buffers(struct engine_waiter *waiter)
{
	struct requester *req =
		(struct requester *)((char *)waiter - offsetof(struct requester, buf_waiter));

	if (!TAILQ_EMPTY(&req->queue)) /* nothing waits any more: no use for buffers */
		requester_pump(TAILQ_FIRST(&req->queue)->conn);
}

/* Before the call's header is made, which asks for credits. */
static out_of_line void wake(struct weir_conn *conn)
{
	engine_tick_begin(&conn->ep);
	if (conn->srq)
		requester_share_wake(conn);
}

int call_submit_any(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;
	struct requester *req = requester_of(conn);
	bool is_plain, may_send;

	if (unlikely(call->state != CALL_BUILDING))
		return -EINVAL;
	if (unlikely(call->out.failed))
		return -ENOSPC;
	if (unlikely(conn->ep.blockers.is_idle))
		wake(conn);
	is_plain = prepare_plain(call);
	if (!is_plain) {
		int rc = call_prepare(call);

		if (unlikely(rc != 0))
			return rc;
	}
	call_set_deadline(call, conn->ep.engine);
	req->nactive++;
	may_send = TAILQ_EMPTY(&req->queue) && credit_available(&req->credits) > 0 &&
		   !requester_has_probe(conn);
	if (is_plain) {
		if (likely(may_send && transmit_now(conn, req, call)))
			return 0;
		call_close_piece(call); /* as transmit() wants it */
		call->is_plain = true;
	}
	if (engine_is_forked(conn->ep.engine)) {
		req->nactive--;
		return engine_fork_refuse();
	}
	/* Making room may end calls, whose callbacks take credits: looked at again behind it. */
	if (may_send &&
	    conn_tx_reserve(conn, 1 + call->more + call->nwindow_bindings, sges_max(call)) &&
	    TAILQ_EMPTY(&req->queue) && credit_available(&req->credits) > call->more &&
	    transmit(call))
		return 0;
	call->state = CALL_QUEUED;
	conn->ep.engine->stats.calls_queued++;
	TAILQ_INSERT_TAIL(&req->queue, call, queue);
	if (!conn_can_send(conn))
		call_drop_header(call); /* its connection is remade, which may take long */
	return 0;
}
