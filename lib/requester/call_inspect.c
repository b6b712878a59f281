/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes the calls of an engine (weir/inspect.h). */
#include "call_inspect.h"

#include <errno.h>

#include "call_stages.h"
#include "forked.h"
#include "owner.h"
#include "probe.h"
#include "sized.h"
#include "wire.h"

/* offsets in the RPC call */
#define PROG_AT 12u
#define VERS_AT 16u

static enum weir_call_state public_state(const struct weir_call *call)
{
	switch ((enum call_state)call->state) {
	case CALL_BUILDING:
		return WEIR_CALL_BUILDING;
	case CALL_QUEUED:
		return WEIR_CALL_QUEUED;
	case CALL_SENT:
		return WEIR_CALL_SENT;
	case CALL_REPLIED:
		return WEIR_CALL_REPLIED;
	case CALL_REVOKING:
		return WEIR_CALL_REVOKING;
	case CALL_ZOMBIE:
		return WEIR_CALL_GIVEN_UP;
	default:
		return WEIR_CALL_ENDING;
	}
}

static const char *queued_for(const struct weir_call *call)
{
	const struct requester *req = requester_of(call->conn);

	if (!conn_can_send(call->conn))
		return "the connection";
	if (call != TAILQ_FIRST(&req->queue))
		return "the calls before it in the queue";
	if (credit_available(&req->credits) <= call->more)
		return "a credit";
	if (call_lacks_windows(call))
		return "memory windows";
	if (req->buf_waiter.is_waiting)
		return "a buffer";
	return "room in the send queue";
}

static const char *waits_for(const struct weir_call *call)
{
	switch ((enum call_state)call->state) {
	case CALL_BUILDING:
		return "its submission";
	case CALL_QUEUED:
		return queued_for(call);
	case CALL_SENT:
		return "the reply";
	case CALL_REPLIED:
		return call->is_send_done ? "the end of its keys" : "the completion of its Send";
	case CALL_REVOKING:
		return "the end of its keys";
	case CALL_ZOMBIE:
		return "a late reply";
	case CALL_SENDING:
		return "the completion of its Send";
	default:
		return "the end of its callback";
	}
}

uint64_t call_age_ns(const struct weir_call *call)
{
	if (call->state == CALL_BUILDING || call->deadline_ns == 0)
		return 0;
	if (call->state == CALL_REVOKING) /* the deadline is that of the revocation */
		return call->is_cancelled ? 0 : call->timeout_ns;
	return call_engine(call)->now_ns - (call->deadline_ns - call->timeout_ns);
}

void call_describe(struct weir_call *call, struct weir_call_info *info)
{
	bool has_header = call->args && weir_xdr_out_len(&call->out) >= WEIR_RPC_CALL_HEADER_MIN;

	*info = (struct weir_call_info){
		.call = call,
		.conn = call->conn,
		.state = public_state(call),
		.waits_for = waits_for(call),
		.xid = call->xid,
		.prog = has_header ? wire_get_u32(call->out.start + PROG_AT) : 0,
		.vers = has_header ? wire_get_u32(call->out.start + VERS_AT) : 0,
		.proc = call->proc,
		.bytes = has_header ? (uint32_t)weir_xdr_out_len(&call->out) : 0,
		.retransmits = call->retransmits,
		.age_ns = call_age_ns(call),
		.stage_ns = call_stage_age_ns(call),
	};
}

static void report(struct weir_call *call)
{
	const struct requester *req = requester_of(call->conn);
	char stage[ENGINE_STAGE_TEXT_BYTES];
	struct weir_call_info info;

	call_describe(call, &info);
	engine_stage_text(call_engine(call), stage, call_stage(call), info.stage_ns);
	call->stuck_xid = call->xid;
	PROBE3(call_stuck, call->conn->id, call->xid, info.age_ns);
	engine_log_stuck(call_engine(call), WEIR_LOG_REQUESTER,
			 "call 0x%08x to %s has not ended for %llu ms: program %u version %u "
			 "procedure %u, %u bytes, %s, waits for %s; %u retransmissions; %u of %u "
			 "credits in use, %u calls active%s",
			 info.xid, call->conn->peer, (unsigned long long)info.age_ns / 1000000,
			 info.prog, info.vers, info.proc, info.bytes,
			 weir_call_state_name(info.state), info.waits_for, info.retransmits,
			 req->credits.in_flight, req->credits.granted, req->nactive, stage);
}

void requester_report_stuck(struct weir_conn *conn)
{
	const struct requester *req = requester_of(conn);
	uint64_t stuck_ns = conn->ep.engine->stuck_ns;

	for (uint32_t i = 0; i < req->nslots; i++) {
		struct weir_call *call = req->slots[i].call;

		if ((call->state == CALL_QUEUED || call->state == CALL_SENT ||
		     call->state == CALL_REPLIED) &&
		    call->stuck_xid != call->xid && call_age_ns(call) >= stuck_ns)
			report(call);
	}
}

uint32_t calls_describe(const struct weir_conn *conn, struct weir_call_info *infos, uint32_t n,
			uint32_t found)
{
	const size_t bytes = n > 0 ? infos->struct_bytes : 0;
	const struct requester *req = conn->role_data;

	if (!req || conn->role->side != WEIR_REQUESTER)
		return found;
	for (uint32_t i = 0; i < req->nslots; i++) {
		struct weir_call_info own;

		if (req->slots[i].call == &call_free_sentinel)
			continue;
		call_describe(req->slots[i].call, &own);
		if (found < n)
			sized_fill_element(infos, bytes, found, &own, sizeof(own));
		found++;
	}
	return found;
}

uint32_t weir_engine_calls(const struct weir_engine *engine, struct weir_call_info *infos,
			   uint32_t n)
{
	const struct weir_conn *conn = NULL;
	uint32_t found = 0;

	if (OTHER_THREAD(engine) || engine_fork_refuses(engine))
		return 0;
	while ((conn = conn_of_engine(engine, conn)))
		found = calls_describe(conn, infos, n, found);
	return found;
}

const char *weir_call_state_name(enum weir_call_state state)
{
	static const char *const names[] = {
		[WEIR_CALL_BUILDING] = "building", [WEIR_CALL_QUEUED] = "queued",
		[WEIR_CALL_SENT] = "sent",	   [WEIR_CALL_REPLIED] = "replied",
		[WEIR_CALL_REVOKING] = "revoking", [WEIR_CALL_GIVEN_UP] = "given up",
		[WEIR_CALL_ENDING] = "ending",
	};

	return (uint32_t)state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

void requester_describe(const struct weir_conn *conn, struct weir_conn_info *info)
{
	const struct requester *req = requester_of(conn);

	info->credits_granted = req->credits.granted;
	info->credits_used = req->credits.in_flight;
	info->calls_active = req->nactive;
	info->calls = req->calls_before + (uint32_t)(req->ncalls - req->ncalls_seen);
}
