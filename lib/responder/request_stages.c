/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds the times in the stages of requests to their histograms. */
#include "request_stages.h"

out_of_line void request_note_stages(struct weir_request *req)
{
	const struct latency_procedure *procedures = req->template.procedures;
	struct weir_histogram *stages = procedures ? procedures[req->rpc.proc].stages : NULL;

	request_stage_begin(req, WEIR_STAGE_REPLIED);
	for (uint32_t i = 0; stages && i < WEIR_STAGE_REPLIED - WEIR_STAGE_PULLED; i++)
		histogram_add(&stages[i], req->stage_begin_ns[i + 1] - req->stage_begin_ns[i]);
}
