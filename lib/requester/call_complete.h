/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_COMPLETE_H
#define CALL_COMPLETE_H

/* The completion of most calls. It is inline, so that call_fast.c can do it without a call of
 * call_complete(). */

#include "call_pool.h"
#include "compiler.h"
#include "probe.h"

/* Adds the time from the submission of a measured call until now to the histogram of its procedure.
 * If the engine measures stages, also adds the times in them. */
out_of_line void call_add_times(const struct weir_call *call);

/* Does call_add_times(), if the call is measured. The reply must have arrived. A cancelled call
 * can still get its reply. It is not measured. Its deadline is 0. */
static inline void call_note_times(const struct weir_call *call)
{
	if (call->procedure && call->deadline_ns != 0)
		call_add_times(call);
}

/* Completes a call that 'done' may reuse by weir_call_reuse(): calls 'done', and then frees the
 * call unless 'done' has reused it. The Send of the call must be done, and the call must hold
 * nothing except its slot and 'args'. Unlike call_complete(), this function does not count failed
 * calls, and leaves the call in pool->ending. */
static hot_inline void call_complete_reusable(struct weir_engine *engine, struct requester *req,
					      struct weir_call *call,
					      const struct weir_result *result)
{
	engine->stats.calls_completed++;
	PROBE4(call_done, call->conn->id, call->xid, call->proc, result->status);
	req->nactive--;
	call->state = CALL_COMPLETING_REUSABLE;
	req->pool->ending = call;
	call->done(call, result, call->arg);
	if (call->state < CALL_COMPLETING_REUSABLE)
		return; /* 'done' has reused the call */
	if (call->state == CALL_COMPLETING_REUSABLE) {
		mem_pool_put(call->args);
		call->args = NULL;
	}
	call_free_slot(req, call);
}

#endif
