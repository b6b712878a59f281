/* SPDX-License-Identifier: BSD-3-Clause */
/* The Read chunks that a call lists, before any is pulled: what they are, whether they may be
 * there, and the Payload stream that they are part of. */
#include "request.h"

#include <errno.h>

#include "compiler.h"
#include "xdr_ref.h"

static void begin_pull(struct weir_request *req)
{
	uint64_t now_ns = req->responder->engine->now_ns;

	req->pull_bytes = 0;
	for (uint32_t i = 0; i < req->nchunks; i++)
		req->pull_bytes +=
			req->chunks[i].dst ? 0 : req->chunks[i].len_bytes; /* in place already */
	req->pull_since_ns = now_ns ? now_ns : 1;
	req->is_pulling = false;
	req->responder->npulling++;
}

enum request_next request_refuse_pull(struct weir_request *req, int rc)
{
	req->responder->engine->stats.limits_exceeded += rc == -EFBIG;
	if (rc == -ENOBUFS && req->state == REQUEST_PULL_ITEMS)
		return REQUEST_SYSTEM_ERROR;
	return req->responder->protocol->refuse_pull(req);
}

void request_open_stream(struct weir_request *req)
{
	req->is_reading = false;
	if (unlikely(req->is_group)) {
		req->responder->protocol->open_group_stream(req);
		return;
	}
	if (req->hdr.has_position_zero) {
		req->stream = req->chunks[0].dst;
		req->stream_bytes = req->chunks[0].len_bytes;
	} else {
		req->stream = req->msg->data + req->hdr.header_bytes;
		req->stream_bytes = req->msg_bytes - req->hdr.header_bytes;
	}
	weir_xdr_in_init(&req->args, req->stream,
			 req->stream_bytes); /* for the program's choice of places, too */
}

void request_read_parts(struct weir_request *req)
{
	weir_xdr_in_init_parts(&req->args, req->parts, req->nparts);
	if (req->is_group)
		xdr_in_join(&req->args, req->chunk_bufs[0]->data, req->chunk_bufs[0]->size_bytes);
}

void request_restart_args(struct weir_request *req)
{
	if (req->nparts > 0)
		request_read_parts(req);
	else if (req->msg)
		weir_xdr_in_init(&req->args, req->msg->data + req->hdr.header_bytes,
				 req->msg_bytes - req->hdr.header_bytes);
}

enum request_next request_list_chunks(struct weir_request *req)
{
	int rc;

	req->has_asked = false;
	rc = req->lists.nitems > 0
		     ? req->responder->protocol->list_items(req)
		     : reassemble_chunks(&req->hdr, req->chunks, REASSEMBLE_CHUNKS_MAX);
	if (rc < 0)
		return request_refuse_pull(req, rc);
	req->nchunks = (uint32_t)rc;
	begin_pull(req);
	if (req->hdr.has_position_zero)
		req->is_reading = false;
	else
		request_open_stream(req);
	return REQUEST_GO_ON;
}

enum request_next request_pull_later(struct weir_request *req, uint32_t bytes)
{
	req->nparts = 0;
	begin_pull(req);
	req->pull_bytes = bytes;
	return REQUEST_PULL_ON;
}
