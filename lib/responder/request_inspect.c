/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes the requests of an engine (weir/inspect.h). */
#include "request_inspect.h"

#include <errno.h>

#include "forked.h"
#include "owner.h"
#include "request_stages.h"
#include "sized.h"

static enum weir_request_state public_state(const struct weir_request *req)
{
	switch (req->state) {
	case REQUEST_GATHER:
		return WEIR_REQUEST_GATHERING;
	case REQUEST_PULL_CALL:
		return WEIR_REQUEST_PULLING_CALL;
	case REQUEST_PULL_ITEMS:
		return WEIR_REQUEST_PULLING;
	case REQUEST_JOIN:
		return WEIR_REQUEST_JOINING;
	case REQUEST_DUPLICATE:
		return WEIR_REQUEST_DUPLICATE;
	case REQUEST_REPLYING:
		return WEIR_REQUEST_REPLYING;
	case REQUEST_SENT:
		return WEIR_REQUEST_SENT;
	default:
		return WEIR_REQUEST_HANDLING;
	}
}

static const char *waits_for(const struct weir_request *req)
{
	if (req->buf_waiter.is_waiting)
		return "a buffer";
	if (req->tx_waiter.is_waiting)
		return "room in the send queue";
	switch (req->state) {
	case REQUEST_GATHER:
		return "the next transmission of the call";
	case REQUEST_PULL_CALL:
	case REQUEST_PULL_ITEMS:
		return req->is_pulling ? "the RDMA Reads of its chunks" : "other pulls";
	case REQUEST_JOIN:
		return "a buffer";
	case REQUEST_DUPLICATE:
		return "the reply to the same call";
	case REQUEST_REPLYING:
		return "the RDMA Writes of its results";
	case REQUEST_SENT:
		return "the completion of its Send";
	default:
		return "the reply of the program";
	}
}

void request_describe(struct weir_request *req, struct weir_request_info *info)
{
	/* Until the RPC header is decoded, 'rpc' is that of an earlier call of the object. */
	bool is_complete = req->state != REQUEST_GATHER && req->state != REQUEST_PULL_CALL;

	*info = (struct weir_request_info){
		.request = req,
		.conn = req->responder->conn,
		.state = public_state(req),
		.waits_for = waits_for(req),
		.xid = req->hdr.xid,
		.prog = is_complete ? req->rpc.prog : 0,
		.vers = is_complete ? req->rpc.vers : 0,
		.proc = is_complete ? req->rpc.proc : 0,
		.bytes = req->msg_bytes,
		.age_ns = req->responder->engine->now_ns - req->since_ns,
		.stage_ns = request_stage_age_ns(req),
	};
}

static void report(struct weir_request *req)
{
	const struct responder *responder = req->responder;
	char stage[ENGINE_STAGE_TEXT_BYTES];
	struct weir_request_info info;

	request_describe(req, &info);
	engine_stage_text(responder->engine, stage, req->stage, info.stage_ns);
	req->stuck_ns = req->since_ns;
	engine_log_stuck(responder->engine, WEIR_LOG_RESPONDER,
			 "request 0x%08x from %s is not answered for %llu ms: program %u version "
			 "%u procedure %u, %u bytes, %s, waits for %s; %u requests active%s",
			 info.xid, responder->conn->peer, (unsigned long long)info.age_ns / 1000000,
			 info.prog, info.vers, info.proc, info.bytes,
			 weir_request_state_name(info.state), info.waits_for, responder->nbusy,
			 stage);
}

void responder_report_stuck(const struct responder *responder)
{
	const struct weir_engine *engine = responder->engine;
	struct weir_request *req;

	LIST_FOREACH(req, &responder->outstanding, outstanding)
	{
		if (req->stuck_ns != req->since_ns &&
		    engine->now_ns - req->since_ns >= engine->stuck_ns)
			report(req);
	}
}

/* The array that is filled in. 'found' objects were found so far. */
struct filling {
	struct weir_request_info *infos;
	size_t bytes;
	uint32_t n;
	uint32_t found;
};

static void describe_all(const struct responder *responder, struct filling *filling)
{
	struct weir_request *req;

	LIST_FOREACH(req, &responder->outstanding, outstanding)
	{
		struct weir_request_info own;

		request_describe(req, &own);
		if (filling->found < filling->n)
			sized_fill_element(filling->infos, filling->bytes, filling->found, &own,
					   sizeof(own));
		filling->found++;
	}
}

uint32_t requests_describe(const struct weir_conn *conn, struct weir_request_info *infos,
			   uint32_t n)
{
	struct filling filling = {.infos = infos, .bytes = n > 0 ? infos->struct_bytes : 0, .n = n};

	if (conn->role_data && conn->role->side == WEIR_RESPONDER)
		describe_all(responder_of(conn), &filling);
	return filling.found;
}

uint32_t weir_engine_requests(const struct weir_engine *engine, struct weir_request_info *infos,
			      uint32_t n)
{
	struct filling filling = {.infos = infos, .bytes = n > 0 ? infos->struct_bytes : 0, .n = n};
	const struct weir_conn *conn = NULL;
	const struct engine_orphan *orphan;

	if (OTHER_THREAD(engine) || engine_fork_refuses(engine))
		return 0;
	while ((conn = conn_of_engine(engine, conn)))
		if (conn->role_data && conn->role->side == WEIR_RESPONDER)
			describe_all(responder_of(conn), &filling);
	TAILQ_FOREACH(orphan, &engine->orphans, entry)
	describe_all(responder_of_orphan(orphan), &filling);
	return filling.found;
}

const char *weir_request_state_name(enum weir_request_state state)
{
	static const char *const names[] = {
		[WEIR_REQUEST_GATHERING] = "gathering",
		[WEIR_REQUEST_PULLING_CALL] = "pulling the call",
		[WEIR_REQUEST_PULLING] = "pulling",
		[WEIR_REQUEST_JOINING] = "joining",
		[WEIR_REQUEST_HANDLING] = "handling",
		[WEIR_REQUEST_DUPLICATE] = "duplicate",
		[WEIR_REQUEST_REPLYING] = "replying",
		[WEIR_REQUEST_SENT] = "sent",
	};

	return (uint32_t)state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

void responder_describe(const struct weir_conn *conn, struct weir_conn_info *info)
{
	const struct responder *responder = responder_of(conn);

	info->credits_granted = conn->srq ? conn->share.latest : responder->credits.limit;
	info->credits_used = responder->nbusy;
	info->calls_active = responder->nbusy;
	info->calls =
		responder->calls_before + (uint32_t)(responder->ncalls - responder->ncalls_seen);
}
