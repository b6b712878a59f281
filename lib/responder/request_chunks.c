/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the Read chunks of a call, before any of them is pulled. */
#include "request.h"

#include "compiler.h"

enum request_next request_list_chunks(struct weir_request *req)
{
	int rc;

	req->has_asked = false;
	req->is_reading = false;
	rc = req->lists.nitems > 0
		     ? req->responder->protocol->list_items(req)
		     : reassemble_chunks(&req->hdr, req->chunks, REASSEMBLE_CHUNKS_MAX);
	if (rc < 0)
		return REQUEST_CANT_PULL;
	req->nchunks = (uint32_t)rc;
	req->pull_bytes = 0;
	for (uint32_t i = 0; i < req->nchunks; i++)
		if (!req->chunks[i].dst) /* otherwise the data are in the message */
			req->pull_bytes += req->chunks[i].len_bytes;
	return REQUEST_GO_ON;
}
