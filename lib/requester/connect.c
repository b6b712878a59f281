/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection that calls go out on. */
#include "requester.h"

#include <errno.h>
#include <string.h>

#include <rte_random.h>

#include "alloc.h"
#include "planted.h"
#include "windows.h"

static const struct conn_role requester_role = {
	.on_open = requester_on_open,
	.on_message = requester_on_message,
	.on_tick = requester_on_tick,
	.is_idle = requester_is_idle,
	.on_suspend = requester_on_suspend,
	.on_lost = requester_on_lost,
};

static void requester_free(struct requester *req)
{
	if (!req)
		return;
	mem_free(req->free);
	mem_free(req->exposures);
	mem_free(req->calls);
	mem_free(req);
}

static struct requester *requester_create(uint32_t credits, bool uses_windows)
{
	struct requester *req = mem_zalloc(sizeof(*req));
	uint32_t nslots = credits * CALL_SLOTS_PER_CREDIT;

	if (!req)
		return NULL;
	req->nslots = nslots;
	while (1u << req->slot_bits < nslots)
		req->slot_bits++;
	req->calls = mem_zalloc(nslots * sizeof(req->calls[0]));
	req->free = mem_zalloc(nslots * sizeof(req->free[0]));
	if (uses_windows)
		req->exposures = mem_zalloc(nslots * CALL_EXPOSURES_MAX * sizeof(req->exposures[0]));
	if (!req->calls || !req->free || (uses_windows && !req->exposures)) {
		requester_free(req);
		return NULL;
	}
	TAILQ_INIT(&req->queue);
	req->credits_max = credits;
	credit_requester_init(&req->credits, credits);
	/* Uses start at random: XIDs of an earlier connection are not soon met again. */
	for (uint32_t slot = nslots; slot-- > 0;) {
		struct weir_call *call = &req->calls[slot];

		call->slot = slot;
		call->xid = (uint32_t)rte_rand() << req->slot_bits | slot;
		call->tx.done = call_on_sent;
		call->inv_tx.done = call_on_hidden;
		call->inv_waiter.on_room = call_on_room;
		if (uses_windows)
			call->exposures = &req->exposures[slot * CALL_EXPOSURES_MAX];
		req->free[req->nfree++] = slot;
	}
	return req;
}

int weir_connect(struct weir_engine *engine, const char *addr, const struct weir_connect_options *options,
		 struct weir_conn **out)
{
	uint32_t credits = options && options->credits ? options->credits : engine->profile.credits;
	enum weir_reconnect how =
		options && options->reconnect ? options->reconnect : engine->profile.reconnect;
	struct requester *req;
	struct weir_conn *conn;
	int rc;

	if (credits > engine->profile.credits || !addr || strlen(addr) >= FABRIC_ADDR_MAX)
		return -EINVAL;
	if (engine->is_ending)
		return -ECANCELED;
	rc = engine_windows_create(engine);
	if (rc != 0)
		return rc;
	req = requester_create(credits, engine->uses_windows);
	if (!req)
		return -ENOMEM;
	rc = conn_create(engine, credits, &requester_role, req, &conn);
	if (rc != 0) {
		requester_free(req);
		return rc;
	}
	/* Keys of the policy 'pool' are to live on: nobody else may end them. */
	conn->may_invalidate = engine->uses_windows && engine_may_invalidate(engine);
	for (uint32_t i = 0; i < req->nslots; i++)
		req->calls[i].conn = conn;
	if (conn->shared)
		requester_share_start(conn);
	if (options) {
		conn->on_event = options->on_event;
		conn->arg = options->arg;
	}
	conn->remakes = how == WEIR_RECONNECT_ON;
	rc = conn_connect(conn, addr);
	if (rc != 0) {
		if (conn->qp) {
			conn->ops->disconnect(conn->qp);
			conn->ops->qp_destroy(conn->qp);
		}
		conn_free(conn);
		requester_free(req);
		return rc;
	}
	*out = conn;
	return 0;
}

void requester_on_lost(struct weir_conn *conn, int error)
{
	struct requester *req = requester_of(conn);

	for (uint32_t i = 0; i < req->nslots; i++) {
		struct weir_call *call = &req->calls[i];

		if ((call->state == CALL_QUEUED && !PLANTED(3)) || call->state == CALL_SENT ||
		    call->state == CALL_REPLIED || call->state == CALL_REVOKING)
			call_fail(call, error);
		else if (call->state != CALL_FREE)
			call_release(call);
	}
	requester_free(req);
	conn->role_data = NULL;
}
