/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds the times of requests and of their stages to their histograms. */
#include "request_stages.h"

out_of_line void request_begin_stage(struct weir_request *req, enum weir_stage stage)
{
	uint64_t now_ns;

	if (req->stage >= stage)
		return;
	now_ns = engine_clock_ns(req->responder->engine);
	while (req->stage < stage)
		req->stage_begin_ns[++req->stage - WEIR_STAGE_PULLED] = now_ns;
}

out_of_line void request_add_times(struct weir_request *req)
{
	struct latency_procedure *procedure = &req->template.procedures[req->rpc.proc];
	const uint64_t *begin_ns = req->stage_begin_ns;
	struct weir_histogram *stages = procedure->stages;

	if (!stages) {
		histogram_add(&procedure->times,
			      engine_clock_ns(req->responder->engine) - begin_ns[0]);
		return;
	}
	request_begin_stage(req, WEIR_STAGE_REPLIED);
	for (uint32_t i = 0; i < WEIR_STAGE_REPLIED - WEIR_STAGE_PULLED; i++)
		histogram_add(&stages[i], begin_ns[i + 1] - begin_ns[i]);
	histogram_add(&procedure->times,
		      begin_ns[WEIR_STAGE_REPLIED - WEIR_STAGE_PULLED] - begin_ns[0]);
}
