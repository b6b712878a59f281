/* SPDX-License-Identifier: BSD-3-Clause */
/* Encodes the error messages of version 2. */
#include "request_ext.h"
#include "request_shape.h"

_Static_assert(RDMA2_ERROR_SIZE_MAX <= REQUEST_ERROR_MAX, "the longest of version 2's");

enum request_next request_error_v2(struct weir_request *req)
{
	const struct request_refusal *why = &req->refusal;
	uint32_t credit;

	if (request_is_gone(req))
		return REQUEST_END;
	credit = request_grant_of(req, req->responder->conn);
	request_note_error_header(req, rdma2_encode_error(req->error, req->hdr.xid, req->hdr.vers,
							  credit, (enum rdma2_err)why->err,
							  why->first, why->second));
	return REQUEST_SEND_ERROR;
}
