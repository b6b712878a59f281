/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and frees responders. A responder is created with its connection and freed after its last
 * request. This can be after the end of the connection, and even after the end of the engine. */
#include "request.h"

#include "alloc.h"

/* An object that replaces an engine that has ended, so that functions that make replies need no
 * check. It has no buffers for replies. */
static struct weir_engine no_engine;

struct weir_engine *responder_engine(const struct responder *responder)
{
	return responder->engine == &no_engine ? NULL : responder->engine;
}

void responder_call_back(struct responder *responder, void (*fn)(void *), void *arg)
{
	struct weir_engine *engine = responder_engine(responder);
	bool in_poll;

	if (!engine) {
		fn(arg);
		return;
	}
	in_poll = engine_call_back(engine);
	fn(arg);
	engine_called_back(engine, in_poll);
}

struct responder *responder_create(struct weir_engine *engine, const struct conn_protocol *protocol,
				   uint32_t credits, struct program_table *programs,
				   struct drc *drc, struct engine_peer *account)
{
	struct responder *responder = mem_zalloc(sizeof(*responder));

	if (!responder)
		return NULL;
	responder->pool = request_pool_get(engine, credits);
	if (!responder->pool) {
		mem_free(responder);
		return NULL;
	}
	if (!protocol->begin_responder(engine)) {
		request_pool_put(responder->pool);
		mem_free(responder);
		return NULL;
	}
	TAILQ_INIT(&responder->wait_queue.waiters);
	TAILQ_INIT(&responder->reserve_queue.waiters);
	responder->reserve_queue.is_reserve = true;
	responder->account = engine_peer_ref(account);
	responder->wait_queue.peer = account;
	responder->engine = engine;
	responder->protocol = protocol;
	responder->keeps = true;
	responder->credits.limit = credits;
	responder->programs = programs;
	for (uint32_t i = 0; i < programs->nprograms; i++) {
		const struct weir_program *program = &programs->programs[i];

		responder->procedures[i] =
			engine_latency_program(engine, program->prog, program->vers_low,
					       program->vers_high, program->nprocs);
	}
	request_pool_forget_templates(responder->pool, programs);
	responder->drc = drc;
	programs->refs++;
	return responder;
}

void responder_forget_kept(struct responder *responder)
{
	if (responder->keeps)
		responder->protocol->end_responder(responder->engine, responder);
	responder->keeps = false;
}

void responder_free(struct responder *responder)
{
	responder_forget_kept(responder);
	if (responder->is_orphan)
		TAILQ_REMOVE(&responder->engine->orphans, &responder->orphan, entry);
	engine_peer_put(responder->engine, responder->account);
	program_table_put(responder->programs);
	request_pool_put(responder->pool);
	mem_free(responder);
}

/* Calls the handlers that wait for buffers once more, so that they end their requests, after the
 * engine of the responder was replaced by no_engine. */
static void end_waiting(struct responder *responder)
{
	struct weir_engine *engine = responder->engine;
	struct engine_waiter *waiter;

	responder->engine = &no_engine;
	responder->pool->engine = NULL;
	/* so that the responder exists until the end of this function, because these requests can
	 * be the last ones */
	responder->nbusy++;
	while ((waiter = TAILQ_FIRST(&responder->wait_queue.waiters))) {
		engine_wait_cancel(engine, waiter);
		waiter->on_buffers(waiter);
	}
	if (--responder->nbusy == 0)
		responder_free(responder);
}

/* Runs when the engine ends while the program still holds requests of the responder. All memory
 * that the requests use belongs to the engine, and is given back. */
static void on_engine_destroy(struct engine_orphan *orphan)
{
	struct responder *responder =
		(struct responder *)((char *)orphan - offsetof(struct responder, orphan));
	struct weir_request *req;

	responder->is_orphan = false;
	LIST_FOREACH(req, &responder->outstanding, outstanding)
	{
		request_put_message(req);
		req->msg = NULL;
		request_put_bufs(req);
		request_count_none(req);
		req->template.shape = 0;
		req->rpc.cred = req->rpc.verf = (struct weir_rpc_auth){0};
		req->npieces = req->nitems = req->piece_start = 0;
		weir_xdr_in_init(&req->args, NULL, 0);
		weir_xdr_out_init(&req->out, NULL, 0);
	}
	responder->wait_queue.peer = NULL;
	engine_peer_put(responder->engine, responder->account);
	responder->account = NULL;
	end_waiting(responder);
}

void responder_orphan(struct responder *responder)
{
	responder->orphan.on_destroy = on_engine_destroy;
	responder->is_orphan = true;
	TAILQ_INSERT_TAIL(&responder->engine->orphans, &responder->orphan, entry);
}
