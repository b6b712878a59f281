/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations for connections that speak only version 1 (protocol.h). Such a connection
 * negotiates no version, and has no state in addition to struct weir_conn. */
#include "conn.h"

#include "rdma1.h"

int conn_v1_create(struct weir_conn *conn)
{
	conn_v1_set_thresholds(conn);
	return 0;
}

void conn_v1_destroy(struct weir_conn *conn)
{
	(void)conn;
}

void conn_v1_set_thresholds(struct weir_conn *conn)
{
	uint32_t mine = conn->ep.engine->profile.inline_bytes;

	conn->vers = RDMA1_VERSION;
	conn->extra_bytes = 0;
	conn->chunk_bytes = conn->ep.engine->chunk_bytes;
	conn->send_inline = cm_private_threshold(mine, conn->theirs.recv_bytes);
	conn->recv_inline = cm_private_threshold(conn->theirs.send_bytes, mine);
}

void conn_v1_versions(const struct weir_conn *conn, uint32_t *low, uint32_t *high)
{
	(void)conn;
	*low = *high = RDMA1_VERSION;
}

bool conn_v1_negotiate(struct weir_conn *conn)
{
	(void)conn;
	return false;
}

void conn_v1_on_open(struct weir_conn *conn)
{
	(void)conn;
}

void conn_v1_on_tick(struct weir_conn *conn, uint64_t now_ns)
{
	(void)conn;
	(void)now_ns;
}

uint64_t conn_v1_next_tick(const struct weir_conn *conn)
{
	(void)conn;
	return ENGINE_NEVER_NS;
}
