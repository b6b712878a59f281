/* SPDX-License-Identifier: BSD-3-Clause */
/* Frees the memory of a connection, and removes the connection from its engine. */
#include "conn.h"

#include "alloc.h"

void conn_free(struct weir_conn *conn)
{
	struct weir_engine *engine = conn->ep.engine;

	if (conn->tap)
		atomic_load(&conn_tap_ops)->end(conn);
	for (uint32_t i = 0; i < conn->nrecvs; i++)
		mem_pool_put(conn->recvs[i]);
	if (conn->srq)
		conn_share_leave(conn);
	engine_remove(engine, &conn->ep);
	engine_peer_leave(engine, &conn->member);
	engine_peer_put(engine, conn->peer_account);
	engine->nending -= conn->is_ending;
	conn_add_bytes(conn, &engine->freed_bytes);
	engine->nfreed++;
	if (--engine->nconnections == 0)
		batch_pool_destroy(engine);
	conn->protocol->destroy(conn);
	mem_free(conn->recvs);
	mem_free(conn->recv_free);
	mem_free(conn->sq);
	mem_free(conn);
}
