/* SPDX-License-Identifier: BSD-3-Clause */
#include "holds.h"

#include "client_rules.h"
#include "weir_conn.h"
#include "weir_request.h"

#define PEER_HAS_ADDR (1ull << 63)

/* FNV-1a. */
static uint64_t hash_addr(const struct in6_addr *addr)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (uint32_t i = 0; i < sizeof(addr->s6_addr); i++)
		hash = (hash ^ addr->s6_addr[i]) * 0x100000001b3u;
	return hash;
}

struct holder holder_of(const struct weir_request *req)
{
	const struct weir_conn *conn = weir_request_conn(req);
	const struct client *client = conn ? weir_conn_user(conn) : NULL;
	struct holder holder = {(uintptr_t)conn, 0};

	if (client && client->has_uid)
		holder.peer = client->uid;
	else if (client)
		holder.peer = PEER_HAS_ADDR | hash_addr(&client->addr);
	return holder;
}

bool holds_allow(const struct holds *holds, const struct holder *holder, uint32_t total, uint32_t free,
		 uint32_t need)
{
	uint64_t conn = 0, peer = 0, left;
	const struct hold *hold;

	if (need > free)
		return false;
	left = free - need;
	if (4 * (total - left) <= total)
		return true; /* even if all that is in use is this connection's */
	LIST_FOREACH(hold, holds, entry)
	{
		conn += hold->holder.conn == holder->conn ? hold->n : 0;
		peer += hold->holder.peer == holder->peer ? hold->n : 0;
	}
	if (peer == 0)
		return true;
	peer += need;
	return peer <= left && (conn == 0 || conn + need <= 2 * (left - peer));
}
