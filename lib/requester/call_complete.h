/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_COMPLETE_H
#define CALL_COMPLETE_H

#include "call_pool.h"
#include "compiler.h"

/* Does what call_complete() does, for a call that 'done' may reuse. The Send of such a call is
 * done, and it holds no buffer except that of its message. Most calls end like this. */
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
