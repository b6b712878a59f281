/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REQUEST_STAGES_H
#define REQUEST_STAGES_H

/*
 * The stages of a request (weir/latency.h), if the engine measures them. The stage REPLIED ends
 * with the completion of the Send. Each of the others ends when the next one begins, and takes no
 * time if it does not apply.
 *
 * All requests take the general path if stages are measured (conn_opened()). Therefore the fast
 * path has only the time stamps of the arrival and of the reply, which are needed for the time of
 * the request.
 */

#include "probe.h"
#include "request.h"

/* Begins the time and the first stage of a request whose message is processed. */
static inline void request_stage_arrived(struct weir_request *req)
{
	if (likely(!req->responder->engine->latency))
		return;
	req->stage = WEIR_STAGE_PULLED;
	req->stage_begin_ns[0] = engine_clock_ns(req->responder->engine);
}

/* Begins a stage, unless it has begun already. Stages that were left out begin with it. The engine
 * must measure stages. */
out_of_line void request_begin_stage(struct weir_request *req, enum weir_stage stage);

/* Does request_begin_stage(), if the engine measures stages. */
static inline void request_stage_begin(struct weir_request *req, enum weir_stage stage)
{
	if (unlikely(engine_measures_stages(req->responder->engine)))
		request_begin_stage(req, stage);
}

/* Makes a request HANDLING, which the program is about to get. */
static inline void request_begin_handling(struct weir_request *req)
{
	req->state = REQUEST_HANDLING;
	PROBE3(request_begun, req->responder->conn->id, req->hdr.xid, req->rpc.proc);
	request_stage_begin(req, WEIR_STAGE_HANDLED);
}

/* Returns the time since the beginning of the present stage; 0 if stages are not measured. */
static inline uint64_t request_stage_age_ns(const struct weir_request *req)
{
	const struct weir_engine *engine = req->responder->engine;

	return engine_measures_stages(engine)
		       ? engine_clock_ns(engine) -
				 req->stage_begin_ns[req->stage - WEIR_STAGE_PULLED]
		       : 0;
}

/* Does request_note_time() for a reply of the general path. Also begins the stage REPLIED of a
 * request that is not measured, if the engine measures stages. */
static inline void request_note_posted(struct weir_request *req)
{
	request_note_time(req);
	request_stage_begin(req, WEIR_STAGE_REPLIED);
}

/* Adds the time of the stage REPLIED to the histogram of the procedure, if the request is measured.
 * The Send of the reply must be complete. */
static inline void request_note_sent(const struct weir_request *req)
{
	const struct latency_procedure *procedures = req->template.procedures;
	struct weir_histogram *stages =
		unlikely(procedures) ? procedures[req->rpc.proc].stages : NULL;

	if (unlikely(stages) && req->stage == WEIR_STAGE_REPLIED)
		histogram_add(&stages[WEIR_STAGE_REPLIED - WEIR_STAGE_PULLED],
			      request_stage_age_ns(req));
}

#endif
