/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the contents of a reply against what the call offered, and sets the result of the call:
 *
 * - If the chunks of the reply differ from those that the call offered, the reply is not sound. It
 *   is dropped and counted, and the call waits for another reply (RFC 8166 section 4.5).
 * - If the reply has chunks where the call offered none, the call ends with an error (RFC 8166
 *   section 6.1).
 */
#include "call_read_reply.h"

#include <errno.h>

#include "compiler.h"
#include "owner.h"
#include "seeded_bugs.h"

/* Returns whether the call has exactly one result, with memory for it. */
static inline bool offers_one(const struct weir_call *call)
{
	return call->nresults == 1 && call->results[0].remote.len > 0;
}

/* Checks the Write list of a reply against the Write list that the call offered. The reply's list
 * must have the same number of chunks, with the same segments, and no segment may be longer. If the
 * reply has no Write list, all chunks count as unused. Sets item_bytes[i] to the number of bytes
 * that were written for result i. Returns false if the lists do not match. */
static bool check_write_list(const struct weir_call *call, const struct rdma1_header *hdr,
			     uint32_t *item_bytes)
{
	uint32_t offered = call->plan.use_write_list ? call->nresults : 0, i = 0;
	struct rdma1_segment_iter segments;
	struct rdma1_write_iter chunks;
	struct rdma1_segment one;

	if (call->plan.use_write_list && offers_one(call) && rdma1_is_one_write(hdr, &one)) {
		item_bytes[0] = one.length;
		return call_is_one_offered(call, &one);
	}
	if (hdr->nwrite_chunks == 0) {
		/* A call that requested results without Write chunks has all of them inline. */
		for (; i < offered; i++)
			item_bytes[i] = call->asks_without_chunks ? WEIR_ITEM_INLINE : 0;
		return true;
	}
	if (hdr->nwrite_chunks != offered)
		return false;
	rdma1_writes_begin(hdr, &chunks);
	for (; rdma1_writes_next(&chunks, &segments); i++) {
		struct rdma1_segment seg;

		item_bytes[i] = 0;
		if (segments.left != (call->results[i].remote.len > 0))
			return false;
		while (rdma1_segments_next(&segments, &seg)) {
			if (seg.handle != call->results[i].remote.rkey ||
			    seg.offset != call->results[i].remote.raddr + item_bytes[i] ||
			    seg.length > call->results[i].remote.len - item_bytes[i])
				return false;
			item_bytes[i] += seg.length;
		}
	}
	return true;
}

/* Returns the Payload stream of a Long Reply, in memory that the peer can't change any more. This
 * is a copy if the device can't revoke access. Returns NULL if the Reply chunk is not the one that
 * the call offered. */
static const uint8_t *long_reply_stream(struct weir_call *call, const struct rdma1_header *hdr)
{
	struct rdma1_segment_iter segments;
	struct rdma1_segment seg;

	rdma1_reply_begin(hdr, &segments);
	if (!call->long_reply || segments.left != 1 || !rdma1_segments_next(&segments, &seg))
		return NULL;
	if (seg.handle != call->reply_handle || seg.offset != call->long_reply->raddr ||
	    seg.length > call->plan.reply_bytes)
		return NULL;
	if (!call->reply_copy)
		return call->long_reply->data;
	memcpy(call->reply_copy->data, call->long_reply->data, seg.length);
	call->conn->ep.engine->stats.long_copies++;
	return call->reply_copy->data;
}

/* Checks the chunks of a reply against those that the call offered, and sets the decoder of
 * *content to the Payload stream. Returns false if the chunks do not match. */
static bool find_content(struct weir_call *call, const struct rdma1_header *hdr, const uint8_t *msg,
			 uint32_t len, struct call_content *content)
{
	const uint8_t *stream;

	if (hdr->proc == RDMA1_ERROR)
		return true;
	if (!check_write_list(call, hdr, content->item_bytes))
		return false;
	if (hdr->proc != RDMA1_NOMSG) {
		weir_xdr_in_init(&content->in, msg + hdr->header_bytes, len - hdr->header_bytes);
		return true;
	}
	stream = long_reply_stream(call, hdr);
	if (!stream)
		return false;
	call->conn->ep.engine->stats.long_replies++;
	weir_xdr_in_init(&content->in, stream, (uint32_t)hdr->reply_bytes);
	return true;
}

/* Logs that the responder speaks other versions than that of the call. Each call then fails with
 * ERR_VERS. The log line informs those who can change the profile. */
static void log_versions(struct weir_conn *conn, const struct rdma1_header *hdr)
{
	struct weir_engine *engine = conn->ep.engine;

	engine_log_peer(engine, &engine->ends,
			"%s speaks versions %u to %u of RPC-over-RDMA, and was called by version "
			"%u: set protocol to auto in [connection] of the profile on either side",
			conn->peer, hdr->vers_low, hdr->vers_high, conn->vers);
}

/* Returns whether the reply has a Reply chunk although the call offered none, or a Write chunk with
 * data where the call offered none. */
static bool has_unoffered(const struct weir_call *call, const struct rdma1_header *hdr)
{
	bool offers_list = call->plan.use_write_list && !call->asks_without_chunks;
	uint32_t offered = offers_list ? call->nresults : 0, i = 0;
	struct rdma1_segment_iter segments;
	struct rdma1_write_iter chunks;

	if (hdr->nwrite_chunks > offered || (hdr->proc == RDMA1_NOMSG && !call->long_reply))
		return true;
	rdma1_writes_begin(hdr, &chunks);
	for (; rdma1_writes_next(&chunks, &segments); i++)
		if (call->results[i].remote.len == 0 && segments.left > 0)
			return true;
	return false;
}

/* Sets the result of a call from a sound reply or an error message. */
static void set_result(const struct weir_call *call, const struct rdma1_header *hdr,
		       struct call_content *content, struct weir_result *result)
{
	struct engine_counters *stats = &call->conn->ep.engine->stats;

	*result = (struct weir_result){.nitems = call->plan.use_write_list ? call->nresults : 0};
	if (hdr->proc == RDMA1_ERROR) {
		stats->errors_received++;
		result->status = -EREMOTEIO;
		result->rdma_err = hdr->err;
		if (hdr->err == RDMA1_ERR_VERS)
			log_versions(call->conn, hdr);
	} else if (rpc_reply_decode(&content->in, &content->reply) != 0 ||
		   content->reply.xid != call->xid) {
		result->status = -EBADMSG;
	} else {
		result->reply = &content->reply;
		result->results = &content->in;
		result->item_bytes = content->item_bytes;
	}
}

/*
 * If the responder used chunks that the call did not offer, the call ends with -EBADMSG, because no
 * other reply will arrive (RFC 8166 section 6.1). If the chunks differ in another way from those
 * that the call offered, the header is in error. Then nothing of the header is accepted, not even
 * its credits, and the call still waits for a reply (RFC 8166 section 4.5).
 */
bool call_read_reply(struct weir_call *call, const struct rdma1_header *hdr, const uint8_t *msg,
		     uint32_t len, struct call_content *content, struct weir_result *result)
{
	if (find_content(call, hdr, msg, len, content)) {
		if (hdr->proc != RDMA1_ERROR)
			call->conn->rdma_bytes_received +=
				hdr->write_bytes; /* with a Reply chunk */
		set_result(call, hdr, content, result);
		return true;
	}
	*result = (struct weir_result){.status = -EBADMSG};
	return has_unoffered(call, hdr);
}

int weir_result_opaque(const struct weir_call *call, const struct weir_result *result,
		       uint32_t item, const void **data, uint32_t max_bytes, uint32_t *len_bytes)
{
	uint32_t count;

	if (OTHER_THREAD(call->conn->ep.engine))
		return -EPERM;
	if (item >= result->nitems || call->results[item].remote.len == 0 ||
	    result->item_bytes[item] == WEIR_ITEM_INLINE)
		return weir_xdr_get_opaque_ref(result->results, data, max_bytes, len_bytes);
	if (weir_xdr_get_u32(result->results, &count) != 0 || count > max_bytes)
		return -EBADMSG;
	/* If an eligible result is not in the chunk that was offered for it, the call ends with an
	 * error (RFC 8166 section 6.1). */
	if (count != result->item_bytes[item])
		return -EBADMSG;
	*data = call->results[item].data;
	*len_bytes = count;
	return 0;
}
