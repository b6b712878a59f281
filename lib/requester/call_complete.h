/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_COMPLETE_H
#define CALL_COMPLETE_H

/* The completion of most calls. It is inline, so that call_fast.c can do it without a call of
 * call_complete(). */

#include "call_pool.h"
#include "compiler.h"

/* Adds the time from the submission of a call until now to the histogram of its procedure, if the
 * call is measured. The reply must have arrived. A cancelled call, whose deadline is 0, can still
 * get its reply. It is not measured, because the time of its submission is not known any more. */
static inline void call_note_time(const struct weir_call *call, const struct weir_engine *engine)
{
	if (call->procedure && call->deadline_ns != 0)
		histogram_add(&call->procedure->times,
			      engine->now_ns - (call->deadline_ns - call->timeout_ns));
}

/* Adds the times in the stages of a call to the histograms of its procedure, if the call is
 * measured. The engine must measure stages. */
out_of_line void call_note_stages(const struct weir_call *call);

/* Does call_note_time(), and call_note_stages() if the engine measures stages. */
static inline void call_note_times(const struct weir_call *call, const struct weir_engine *engine)
{
	call_note_time(call, engine);
	if (engine_measures_stages(engine))
		call_note_stages(call);
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
