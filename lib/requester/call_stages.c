/* SPDX-License-Identifier: BSD-3-Clause */
/* Divides the time of queued calls into the stages QUEUED and CREDIT. */
#include "call_stages.h"

out_of_line void call_begin_queued(struct weir_call *call)
{
	uint64_t now_ns = engine_clock_ns(call_engine(call));

	call->times.stage_ns = now_ns;
	call->times.credit_mark_ns = credit_wait_ns(&requester_of(call->conn)->credit_wait, now_ns);
}

out_of_line void call_end_queued(struct weir_call *call)
{
	const struct credit_wait *wait = &requester_of(call->conn)->credit_wait;
	struct call_times *times = &call->times;
	uint64_t now_ns = engine_clock_ns(call_engine(call));
	uint64_t credit_ns = credit_wait_ns(wait, now_ns) - times->credit_mark_ns;

	times->credit_ns += credit_ns;
	times->queued_ns += now_ns - times->stage_ns - credit_ns;
	times->stage_ns = now_ns;
}

enum weir_stage call_stage(const struct weir_call *call)
{
	if (call->state != CALL_QUEUED)
		return WEIR_STAGE_SENT;
	return requester_of(call->conn)->credit_wait.is_waiting ? WEIR_STAGE_CREDIT
								: WEIR_STAGE_QUEUED;
}

uint64_t call_stage_age_ns(const struct weir_call *call)
{
	const struct weir_engine *engine = call_engine(call);
	uint64_t begin_ns = call->times.stage_ns;
	bool is_in_stage = call->state == CALL_QUEUED || call->state == CALL_SENT ||
			   call->state == CALL_REPLIED || call->state == CALL_REVOKING;

	if (!is_in_stage || !call->procedure || !engine_measures_stages(engine))
		return 0;
	if (call->state == CALL_QUEUED) {
		const struct credit_wait *wait = &requester_of(call->conn)->credit_wait;

		if (wait->changed_ns > begin_ns)
			begin_ns = wait->changed_ns;
	}
	return engine_clock_ns(engine) - begin_ns;
}
