/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_STAGES_H
#define CALL_STAGES_H

/*
 * The stages of a call (weir/latency.h), if the engine measures them. A call is in the stage QUEUED
 * or CREDIT from its submission until it is sent, and then in the stage SENT until its end. A call
 * that is queued again, because its connection was lost or the responder refused it, is in QUEUED
 * or CREDIT again. Only the times in QUEUED and CREDIT are added up, because the rest of the call's
 * time is that in SENT.
 *
 * All queued calls of a connection are in CREDIT while the connection is open and has too few
 * credits for the first of them. struct credit_wait adds up how long that was. Thus the time of a
 * call in CREDIT is the difference of two of these sums, and a change of the stage costs the same
 * for any number of calls.
 *
 * Calls without a procedure, which are not measured, have no time stamps. The check for it is the
 * cheapest one.
 *
 * If the engine measures stages, all submissions take the general path. If it measures only whole
 * calls, submit_timed() of call_fast.c reads the clock at the submission.
 */

#include "compiler.h"
#include "probe.h"
#include "requester.h"

/* credit_wait.c: sets whether the connection has too few credits for its queued calls, if the
 * engine measures stages. */
out_of_line void requester_update_wait(struct weir_conn *conn);

/* Does requester_update_wait() after a change of the queue. */
static inline void requester_note_queue(struct weir_conn *conn)
{
	if (unlikely(conn->ep.blockers.is_timed))
		requester_update_wait(conn);
}

/* Begins the stages QUEUED and CREDIT of a measured call. */
out_of_line void call_begin_queued(struct weir_call *call);
/* Ends these stages, and begins the stage SENT. */
out_of_line void call_end_queued(struct weir_call *call);

/* Begins the time and the first stage of a call that is submitted, if the call is measured. */
static inline void call_stage_submitted(struct weir_call *call)
{
	if (likely(!call->procedure))
		return;
	call->times.queued_ns = call->times.credit_ns = 0;
	call_begin_queued(call);
	call->times.begin_ns = call->times.stage_ns;
}

/* Begins the stage SENT. */
static inline void call_stage_sent(struct weir_call *call)
{
	PROBE3(call_sent, call->conn->id, call->xid, call->proc);
	if (unlikely(call->procedure != NULL) && engine_measures_stages(call_engine(call)))
		call_end_queued(call);
}

/* Begins the stage QUEUED or CREDIT of a call that was sent. */
static inline void call_stage_requeued(struct weir_call *call)
{
	if (unlikely(call->procedure != NULL) && engine_measures_stages(call_engine(call)))
		call_begin_queued(call);
}

/* Returns the present stage of a call that is submitted. */
enum weir_stage call_stage(const struct weir_call *call);

/* Returns the time since the beginning of the present stage. Returns 0 if stages are not measured,
 * the call is not measured, or it is in no stage. */
uint64_t call_stage_age_ns(const struct weir_call *call);

#endif
