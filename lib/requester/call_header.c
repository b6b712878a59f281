/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that the encoders of both versions share (call_encode.c, v2/directions.c). They find
 * memory for the transport header, and plan a window for each segment that the header lists.
 * call_windows.c later binds these windows. None of the functions is a step that call.c calls.
 */
#include "requester.h"

#include <errno.h>

#include "reserve.h"

/* A header that fits into the headroom is put directly before the message. A longer header needs a
 * buffer. */
int call_reserve_header(struct weir_call *call, uint32_t bytes)
{
	if (bytes <= ENGINE_HEADROOM) {
		call->header = call->out.start - bytes;
		return 0;
	}
	/* A queued call whose header is written again may use the reserve buffer, because the call
	 * is sent at once after that. */
	call->header_buf = call->needs_header
				   ? engine_reserve_get(call_engine(call),
							&requester_of(call->conn)->buf_waiter)
				   : mem_pool_get(call_engine(call)->send_pool);
	if (!call->header_buf)
		return -ENOBUFS;
	call->header = call->header_buf->data;
	return 0;
}

void call_header_expose(struct weir_call *call, uint8_t *base, uint32_t len, uint32_t lkey,
			uint32_t access, uint32_t *copy)
{
	call->window_bindings[call->nwindow_bindings++] = (struct window_binding){
		.base = base, .len = len, .lkey = lkey, .access = access, .copy = copy};
}

void call_plan_chunks(struct weir_call *call, uint32_t reduced, bool writes_results)
{
	for (uint32_t i = 0; i < call->npieces; i++)
		if (reduced & 1u << i)
			call_header_expose(call, call->pieces[i].base, call->pieces[i].len,
					   call->pieces[i].rkey, FABRIC_REMOTE_READ, NULL);
	for (uint32_t i = 0; i < call->nresults && writes_results; i++) {
		struct call_result *result = &call->results[i];

		if (result->remote.len > 0)
			call_header_expose(call, result->data, result->remote.len,
					   result->remote.rkey, FABRIC_REMOTE_WRITE,
					   &result->remote.rkey);
	}
}
