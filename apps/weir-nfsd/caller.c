/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes and frees the callers, each of which represents a connection. */
#include "caller.h"

#include <weir/connection.h>
#include <weir/request.h>

#include <stdlib.h>

struct caller *caller_of(const struct weir_request *req, const struct exports *exports)
{
	struct weir_conn *conn = weir_request_conn(req);
	struct caller *caller = conn ? weir_conn_user(conn) : NULL;
	struct weir_peer peer = {.struct_bytes = sizeof(peer)};

	if (caller)
		client_update(&caller->client, exports);
	if (caller || !conn || weir_conn_peer(conn, &peer) != 0)
		return caller;
	caller = calloc(1, sizeof(*caller));
	if (!caller)
		return NULL;
	client_of_peer(&caller->client, &peer, exports);
	caller->ops.holder = (struct holder){conn, client_key(&caller->client)};
	weir_conn_set_user(conn, caller);
	return caller;
}

const struct holder *caller_holder(const struct weir_request *req)
{
	const struct caller *caller = weir_conn_user(weir_request_conn(req));

	return &caller->ops.holder;
}

void caller_closed(struct weir_conn *conn)
{
	struct caller *caller = weir_conn_user(conn);

	if (!caller)
		return;
	weir_conn_set_user(conn, NULL);
	caller->has_no_conn = true;
	if (caller->ops.n == 0)
		free(caller);
}

void caller_add_op(struct caller *caller, struct holds *holds)
{
	if (caller->ops.n++ == 0)
		LIST_INSERT_HEAD(holds, &caller->ops, entry);
}

void caller_remove_op(struct caller *caller)
{
	if (--caller->ops.n > 0)
		return;
	holds_remove(&caller->ops);
	if (caller->has_no_conn)
		free(caller);
}
