/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a connection and its peer hold of the pools that all connections share, and whether they may
 * take more (quota.h). Replies that can't be sent at once are counted by request_pending.c.
 */
#include "request.h"

bool request_exceeds_quota(const struct responder *responder, enum engine_quota quota,
			   uint64_t count, uint64_t need)
{
	uint64_t conn = responder->used.n[quota];
	uint64_t peer = responder->account ? responder->account->used.n[quota] : conn;

	return peer > 0 && (peer > count || !engine_quota_allows(conn, peer, count - peer, need));
}

bool request_may_take_reply(const struct weir_request *req, uint64_t free)
{
	const struct responder *responder = req->responder;
	uint64_t peer = responder->account ? responder->account->used.n[ENGINE_QUOTA_BULK] : 0;

	if (free == 0 || req->nbulk == 0)
		return free > 0 && request_may_take(responder, ENGINE_QUOTA_BULK, free, 1);
	return peer == req->nbulk || peer + 1 <= 3 * (free - 1);
}

void request_begin_pull(struct weir_request *req)
{
	uint64_t now_ns = req->responder->engine->now_ns;

	req->pull_since_ns = now_ns ? now_ns : 1;
	req->is_pulling = false;
	req->responder->npulling++;
}

void request_end_pull(struct weir_request *req)
{
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
