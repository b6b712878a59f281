/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and frees requesters. weir_connect() creates a connection with its requester. */
#include "requester.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_random.h>

#include "alloc.h"
#include "call_inspect.h"
#include "call_pool.h"
#include "exposure.h"
#include "forked.h"
#include "limit.h"
#include "log.h"
#include "owner.h"
#include "sized_why.h"

static void requester_free(struct requester *req)
{
	if (!req)
		return;
	if (req->pool)
		call_pool_put(req->pool);
	mem_free(req);
}

static void requester_on_lost(struct weir_conn *conn, int error)
{
	requester_fail_calls(conn, error);
	requester_free(requester_of(conn));
	conn->role_data = NULL;
}

static const struct conn_role requester_role = {
	.side = WEIR_REQUESTER,
	.describe = requester_describe,
	.protocol = requester_protocol,
	.on_open = requester_on_open,
	.on_message = requester_on_message,
	.deliver = requester_deliver,
	.on_tick = requester_on_tick,
	.next_tick = requester_next_tick,
	.is_idle = requester_is_idle,
	.on_suspend = requester_on_suspend,
	.on_lost = requester_on_lost,
};

/* Creates a requester whose calls request at most 'credits' credits. Returns NULL if there is no
 * memory. */
static struct requester *requester_create(struct weir_engine *engine, uint32_t credits)
{
	uint32_t nslots = credits * CALL_SLOTS_PER_CREDIT, slot_mask = rte_align32pow2(nslots) - 1;
	struct requester *req = mem_zalloc(sizeof(*req) + (slot_mask + 1) * sizeof(req->slots[0]));

	if (!req)
		return NULL;
	req->nslots = nslots;
	req->slot_mask = slot_mask;
	req->slots = (struct call_slot *)(req + 1);
	req->pool = call_pool_get(engine);
	if (!req->pool) {
		requester_free(req);
		return NULL;
	}
	TAILQ_INIT(&req->queue);
	TAILQ_INIT(&req->wait_queue.waiters);
	req->buf_waiter.on_buffers = requester_on_buffers;
	req->wait_queue.is_reserve = true;
	req->credits_max = credits;
	credit_requester_init(&req->credits, credits);
	/* The high bits of the XIDs of a slot start at a random number, so that XIDs of an earlier
	 * connection are not soon used again. */
	req->free_slot = CALL_NO_SLOT;
	for (uint32_t slot = 0; slot <= slot_mask; slot++)
		req->slots[slot].call = &call_free_sentinel;
	for (uint32_t slot = nslots; slot-- > 0;) {
		req->slots[slot].xid = ((uint32_t)rte_rand() & ~req->slot_mask) | slot;
		req->slots[slot].next_free = req->free_slot;
		req->free_slot = slot;
	}
	return req;
}

/* Copies the options of the application, which can be NULL, to *own. Returns 0, or the error of
 * sized_read() after a log line. */
static int read_options(const struct weir_connect_options *options,
			struct weir_connect_options *own)
{
	static const struct sized_type type = SIZED_TYPE(weir_connect_options, reconnect);
	char why[SIZED_WHY_BYTES];
	int rc;

	*own = (struct weir_connect_options){.struct_bytes = sizeof(struct weir_connect_options)};
	if (!options)
		return 0;
	rc = sized_read_why(&type, own, options, why);
	if (rc != 0)
		LOG(REQUESTER, ERROR, "%s", why);
	return rc;
}

int weir_connect(struct weir_engine *engine, const char *addr,
		 const struct weir_connect_options *options, struct weir_conn **out)
{
	struct weir_connect_options own;
	uint32_t credits;
	enum weir_reconnect how;
	struct engine_peer *account;
	struct requester *req;
	struct weir_conn *conn;
	int rc;

	if (OTHER_THREAD(engine))
		return -EPERM;
	rc = read_options(options, &own);
	if (rc != 0)
		return rc;
	credits = own.credits ? own.credits : engine->profile.credits;
	how = own.reconnect ? own.reconnect : engine->profile.reconnect;
	if (credits > engine->profile.credits || !addr || strlen(addr) >= FABRIC_ADDR_MAX)
		return -EINVAL;
	if (engine_is_forked(engine))
		return engine_fork_refuse();
	if (engine->is_ending)
		return -ECANCELED;
	rc = engine_windows_create(engine);
	if (rc != 0)
		return rc;
	req = requester_create(engine, credits);
	if (!req)
		return -ENOMEM;
	req->reply_recvs = engine_reply_recvs(&engine->profile, credits);
	account = engine_peer_get_ours(engine, addr);
	rc = account ? conn_create(engine, account, credits, req->reply_recvs, &requester_role, req,
				   &conn)
		     : -ENOMEM;
	engine_peer_put(engine, account);
	if (rc != 0) {
		mem_explain_limit(rc);
		requester_free(req);
		return rc;
	}
	req->conn = conn;
	conn->exposes = true;
	/* Keys of the policy 'pool' must stay valid, so the peer must not invalidate them. */
	conn->may_invalidate = engine->uses_windows && engine_may_invalidate(engine);
	if (conn->srq)
		requester_share_start(conn);
	conn->on_event = own.on_event;
	conn->arg = own.arg;
	conn->reconnects = how == WEIR_RECONNECT_ON;
	rc = conn_connect(conn, addr);
	if (rc != 0) {
		mem_explain_limit(rc);
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
