/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes the connections of an engine (weir/inspect.h). */
#include <errno.h>
#include <stdio.h>

#include "conn.h"
#include "forked.h"
#include "owner.h"
#include "sized.h"

struct weir_conn *conn_of_engine(const struct weir_engine *engine, const struct weir_conn *after)
{
	struct engine_endpoint *ep =
		after ? TAILQ_NEXT(&after->ep, all) : TAILQ_FIRST(&engine->all);

	while (ep && ep->on_reap != conn_on_reap)
		ep = TAILQ_NEXT(ep, all);
	return (struct weir_conn *)ep;
}

struct weir_conn *conn_with_id(const struct weir_engine *engine, uint64_t id)
{
	struct weir_conn *conn = NULL;

	do {
		conn = conn_of_engine(engine, conn);
	} while (conn && conn->id != id);
	return conn;
}

static enum weir_conn_state state_of(const struct weir_conn *conn)
{
	switch (conn->state) {
	case CONN_CONNECTING:
		return WEIR_CONN_STATE_CONNECTING;
	case CONN_NEGOTIATING:
		return WEIR_CONN_STATE_NEGOTIATING;
	case CONN_OPEN:
		return conn->drains ? WEIR_CONN_STATE_DRAINING : WEIR_CONN_STATE_OPEN;
	case CONN_DRAINING:
		return WEIR_CONN_STATE_DRAINING;
	case CONN_WAITING:
		return WEIR_CONN_STATE_RECONNECTING;
	default:
		return WEIR_CONN_STATE_ENDING;
	}
}

void conn_describe(struct weir_conn *conn, struct weir_conn_info *info)
{
	*info = (struct weir_conn_info){
		.conn = conn,
		.side = conn->role->side,
		.state = state_of(conn),
		.version = conn->vers,
		.send_inline_bytes = conn->send_inline,
		.recv_inline_bytes = conn->recv_inline,
		.message_bytes_sent = conn->bytes_sent,
		.message_bytes_received = conn->bytes_received,
		.rdma_bytes_sent = conn->rdma_bytes_sent,
		.rdma_bytes_received = conn->rdma_bytes_received,
		.age_ns = conn->was_open ? conn->ep.engine->now_ns - conn->opened_ns : 0,
		.id = conn->id,
	};
	snprintf(info->peer, sizeof(info->peer), "%s", conn->peer);
	if (conn->role_data)
		conn->role->describe(conn, info);
}

uint32_t weir_engine_conns(const struct weir_engine *engine, struct weir_conn_info *infos,
			   uint32_t n)
{
	const size_t bytes = n > 0 ? infos->struct_bytes : 0;
	struct weir_conn *conn = NULL;
	uint32_t i = 0;

	if (OTHER_THREAD(engine) || engine_fork_refuses(engine))
		return 0;
	while ((conn = conn_of_engine(engine, conn))) {
		struct weir_conn_info own;

		conn_describe(conn, &own);
		if (i < n)
			sized_fill_element(infos, bytes, i, &own, sizeof(own));
		i++;
	}
	return i;
}

const char *weir_conn_state_name(enum weir_conn_state state)
{
	static const char *const names[] = {
		[WEIR_CONN_STATE_CONNECTING] = "connecting",
		[WEIR_CONN_STATE_NEGOTIATING] = "negotiating",
		[WEIR_CONN_STATE_OPEN] = "open",
		[WEIR_CONN_STATE_DRAINING] = "draining",
		[WEIR_CONN_STATE_RECONNECTING] = "reconnecting",
		[WEIR_CONN_STATE_ENDING] = "ending",
	};

	return (uint32_t)state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}
