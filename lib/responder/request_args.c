/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets the decoder of a call (req->args) to the data that were pulled: first to the Payload stream
 * without its items, and then to the Payload stream with its items. */
#include "request.h"

#include "xdr_ref.h"

void request_open_stream(struct weir_request *req)
{
	if (req->hdr.has_position_zero) {
		req->stream = req->chunks[0].dst;
		req->stream_bytes = req->chunks[0].len_bytes;
	} else {
		req->stream = req->msg->data + req->hdr.header_bytes;
		req->stream_bytes = req->msg_bytes - req->hdr.header_bytes;
	}
	/* The program's arg_sink reads the arguments before the first item with this decoder. */
	weir_xdr_in_init(&req->args, req->stream, req->stream_bytes);
}

void request_read_parts(struct weir_request *req)
{
	weir_xdr_in_init_parts(&req->args, req->parts, req->nparts);
	if (req->has_chain)
		xdr_in_join(&req->args, req->chunk_bufs[0]->data, req->chunk_bufs[0]->size_bytes);
}

int request_collect_read_chunks(struct weir_request *req)
{
	struct weir_engine *engine = req->responder->engine;
	uint32_t first = req->hdr.has_position_zero, nread = req->nchunks - first;

	engine->stats.read_chunks += nread;
	engine->stats.long_calls += first;
	return reassemble_parts(req->stream, req->stream_bytes, req->chunks + first, nread,
				req->parts, REASSEMBLE_PARTS_MAX);
}

enum request_next request_join_items(struct weir_request *req)
{
	int nparts = req->responder->protocol->collect_args(req);

	/* The chunks do not fit the arguments. The transport header is valid, so that the answer is
	 * an RPC error (RFC 8166 section 4.5.2). */
	if (nparts < 0)
		return REQUEST_GARBAGE_ARGS;
	req->nparts = (uint32_t)nparts;
	request_read_parts(req);
	return REQUEST_GO_ON;
}

void request_restart_args(struct weir_request *req)
{
	if (req->nparts > 0)
		request_read_parts(req);
	else if (req->msg)
		weir_xdr_in_init(&req->args, req->msg->data + req->hdr.header_bytes,
				 req->msg_bytes - req->hdr.header_bytes);
}
