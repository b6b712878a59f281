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
 * All submissions take the general path if the engine measures times (may_submit_direct()).
 * Therefore the fast path has no time stamps.
 */

#include "call_complete.h"
#include "compiler.h"
#include "requester.h"

/* Begins the time and the stage QUEUED of a call that is submitted, if the call is measured. */
static inline void call_stage_submitted(struct weir_call *call)
{
	if (likely(!call->procedure))
		return;
	call->times.queued_ns = 0;
	call->times.begin_ns = call->times.stage_ns = engine_clock_ns(call_engine(call));
}

/* Begins the stage SENT. */
static inline void call_stage_sent(struct weir_call *call)
{
	if (unlikely(call->procedure != NULL) && engine_measures_stages(call_engine(call)))
		call_note_sent(call);
}

/* Begins the stage QUEUED of a call that was sent. */
static inline void call_stage_requeued(struct weir_call *call)
{
	if (unlikely(call->procedure != NULL) && engine_measures_stages(call_engine(call)))
		call->times.stage_ns = engine_clock_ns(call_engine(call));
}

/* Returns the time since the beginning of the present stage. Returns 0 if stages are not measured,
 * the call is not measured, or it is in no stage. */
static inline uint64_t call_stage_age_ns(const struct weir_call *call)
{
	const struct weir_engine *engine = call_engine(call);
	bool is_in_stage = call->state == CALL_QUEUED || call->state == CALL_SENT ||
			   call->state == CALL_REPLIED || call->state == CALL_REVOKING;

	return is_in_stage && call->procedure && engine_measures_stages(engine)
		       ? engine_clock_ns(engine) - call->times.stage_ns
		       : 0;
}

#endif
