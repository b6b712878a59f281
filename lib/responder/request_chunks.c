/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the Read chunks of a call, before the data are pulled. */
#include "request.h"

int request_list_read_chunks(struct weir_request *req)
{
	return reassemble_chunks(&req->hdr, req->chunks, REASSEMBLE_CHUNKS_MAX);
}

enum request_next request_list_chunks(struct weir_request *req)
{
	int rc;

	req->has_asked = false;
	req->is_reading = false;
	rc = req->responder->protocol->list_chunks(req);
	if (rc < 0)
		return REQUEST_CANT_PULL;
	req->nchunks = (uint32_t)rc;
	req->pull_bytes = 0;
	for (uint32_t i = 0; i < req->nchunks; i++)
		if (!req->chunks[i].dst) /* otherwise a Send has placed the data at chunks[i].dst */
			req->pull_bytes += req->chunks[i].len_bytes;
	return REQUEST_GO_ON;
}
