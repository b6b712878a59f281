/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps replies that possibly have to be sent again (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section
 * 5.4). These are replies with results that Sends place in targets, because a requester can report
 * that it does not find such results. The base protocol has only one way to answer a Transmit
 * Request: one message with the entire reply. No field of a Transmit Request names a Reply chunk.
 * Therefore, replies that do not fit in one message are not kept.
 *
 * The results are copied, because their memory belongs to the application again when the Send
 * completes. Each engine keeps its latest replies, at most KEPT of them. A reply is kept until
 * another one replaces it, it is sent again, or its connection ends.
 */
#include <string.h>

#include "alloc.h"
#include "request_ext.h"

/* number of replies that an engine keeps */
#define KEPT 32u

struct kept {
	/* the responder of the reply; NULL: this entry keeps no reply */
	const struct responder *responder;
	uint32_t xid;
	/* length of the reply without its transport header */
	uint32_t bytes;
};

struct placed_replies {
	uint32_t refs; /* number of responders that use this object */
	uint32_t next; /* index of the entry that is replaced next */
	/* length of the longest reply that is kept, in bytes */
	uint32_t bytes_max;
	struct kept kept[KEPT];
	/* the replies, with bytes_max for each entry; the memory of entries that were never used is
	 * never touched */
	uint8_t *data;
};

/* Returns the length of the transport header with which a reply is sent again. */
static uint32_t header_bytes(void)
{
	return RDMA1_HEADER_MIN + RDMA2_EXTRA;
}

bool placed_replies_join(struct weir_engine *engine)
{
	struct placed_replies *all = engine->placed_replies;

	if (!version_extends(&engine->profile, WEIR_EXTENSION_PLACEMENT))
		return true;
	if (!all) {
		all = mem_zalloc(sizeof(*all));
		if (!all)
			return false;
		all->bytes_max = engine->msg_bytes;
		all->data = mem_reserve((size_t)KEPT * all->bytes_max);
		if (!all->data) {
			mem_free(all);
			return false;
		}
		engine->placed_replies = all;
	}
	all->refs++;
	return true;
}

void placed_replies_leave(struct weir_engine *engine, const struct responder *responder)
{
	struct placed_replies *all = engine->placed_replies;

	if (!all)
		return;
	for (uint32_t i = 0; i < KEPT; i++)
		if (all->kept[i].responder == responder)
			all->kept[i].responder = NULL;
	if (--all->refs > 0)
		return;
	engine->placed_replies = NULL;
	mem_unreserve(all->data, (size_t)KEPT * all->bytes_max);
	mem_free(all);
}

void request_keep_placed(struct weir_request *req)
{
	struct weir_engine *engine = req->responder->engine;
	struct placed_replies *all = engine->placed_replies;
	uint64_t bytes = piece_payload_bytes(req->pieces, req->npieces, 0);
	struct kept *kept;
	uint8_t *to;

	if (!all || header_bytes() + bytes > req->responder->conn->send_inline ||
	    bytes > all->bytes_max)
		return;
	kept = &all->kept[all->next];
	to = all->data + (size_t)all->next * all->bytes_max;
	all->next = (all->next + 1) % KEPT;
	*kept = (struct kept){req->responder, req->hdr.xid, (uint32_t)bytes};
	for (uint32_t i = 0; i < req->npieces; i++) {
		const struct piece *piece = &req->pieces[i];
		uint32_t pad = piece->kind == PIECE_XDR ? 0 : weir_xdr_pad(piece->len);

		memcpy(to, piece->base, piece->len);
		memset(to + piece->len, 0, pad);
		to += piece->len + pad;
	}
	engine->stats.bulk_copies++;
}

/* Returns the entry with the reply to a request's XID, and sets *data to the reply. Returns NULL if
 * the reply is not kept. */
static struct kept *kept_find(struct placed_replies *all, const struct weir_request *req,
			      const uint8_t **data)
{
	for (uint32_t i = 0; all && i < KEPT; i++) {
		*data = all->data + (size_t)i * all->bytes_max;
		if (all->kept[i].responder == req->responder && all->kept[i].xid == req->hdr.xid)
			return &all->kept[i];
	}
	return NULL;
}

bool request_resend(struct weir_request *req)
{
	struct weir_engine *engine = req->responder->engine;
	const uint8_t *data;
	struct kept *kept = kept_find(engine->placed_replies, req, &data);

	if (!kept || header_bytes() + kept->bytes > req->responder->conn->send_inline ||
	    !request_take_buffer(req, kept->bytes))
		return false;
	kept->responder = NULL; /* because a reply is sent again only once */
	/* The message of a report has no RPC header, so that req->rpc is that of an earlier call.
	 * It is cleared, so that an error which is sent instead of the reply does not contain
	 * values of that call. */
	memset(&req->rpc, 0, sizeof(req->rpc));
	req->rpc.xid = req->hdr.xid;
	weir_xdr_put_opaque_fixed(&req->out, data, kept->bytes);
	engine->stats.replies_resent++;
	return true;
}
