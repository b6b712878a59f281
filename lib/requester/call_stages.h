/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_STAGES_H
#define CALL_STAGES_H

/*
 * The stages of a call (weir/latency.h), if the engine measures them. A call is in the stage QUEUED
 * from its submission until it is sent, and then in the stage SENT until its end. A call that is
 * queued again, because its connection was lost or the responder refused it, is in QUEUED again.
 * Only the time in QUEUED is added up, because the rest of the call's time is that in SENT.
 *
 * Calls without a procedure, which are not measured, have no time stamps. The check for it is the
 * cheapest one.
 *
 * All submissions take the general path if stages are measured (conn_opened()). Therefore the fast
 * path has no time stamps.
 */

#include "compiler.h"
#include "requester.h"

/* Begins the stage QUEUED of a call that is submitted. */
static inline void call_stage_submitted(struct weir_call *call, const struct weir_engine *engine)
{
	if (likely(!call->procedure))
		return;
	call->queued_ns = 0;
	call->stage_ns = engine->now_ns;
}

/* Begins the stage SENT. */
static inline void call_stage_sent(struct weir_call *call)
{
	uint64_t now_ns;

	if (likely(!call->procedure))
		return;
	now_ns = call_engine(call)->now_ns;
	call->queued_ns += now_ns - call->stage_ns;
	call->stage_ns = now_ns;
}

/* Begins the stage QUEUED of a call that was sent. */
static inline void call_stage_requeued(struct weir_call *call)
{
	call->stage_ns = call_engine(call)->now_ns;
}

/* Returns the time since the beginning of the present stage. Returns 0 if stages are not measured,
 * the call is not measured, or it is in no stage. */
static inline uint64_t call_stage_age_ns(const struct weir_call *call)
{
	const struct weir_engine *engine = call_engine(call);
	bool is_in_stage = call->state == CALL_QUEUED || call->state == CALL_SENT ||
			   call->state == CALL_REPLIED || call->state == CALL_REVOKING;

	return is_in_stage && call->procedure && engine_measures_stages(engine)
		       ? engine->now_ns - call->stage_ns
		       : 0;
}

#endif
