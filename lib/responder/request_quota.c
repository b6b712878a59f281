/* SPDX-License-Identifier: BSD-3-Clause */
/* Subtracts from the counts the units that a request holds of resources with quotas (quota.h).
 * request.h has the functions that check and count the units that a request takes.
 * request_pending.c counts replies that cannot be sent at once. */
#include "request.h"

void request_end_pull(struct weir_request *req)
{
	if (req->pull_since_ns == 0) /* no pull has begun */
		return;
	req->responder->npulling--;
	req->pull_since_ns = 0;
	if (!req->is_pulling)
		return;
	req->is_pulling = false;
	request_count(req->responder, ENGINE_QUOTA_PULLED, -(int64_t)req->pull_bytes);
	req->responder->engine->pulling_bytes -= req->pull_bytes;
}

void request_count_none(struct weir_request *req)
{
	if (req->nbulk > 0)
		request_count_no_chunks(req);
	if (req->is_bulk_reply)
		request_count(req->responder, ENGINE_QUOTA_BULK, -1);
	req->is_bulk_reply = false;
	if (req->is_pending)
		request_end_pending(req);
}
