/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_CONNECTION_H
#define WEIR_CONNECTION_H

#include <weir/engine.h>
#include <weir/peer.h>

WEIR_BEGIN_DECLS

struct weir_conn;

enum weir_conn_event {
	WEIR_CONN_OPEN,

	WEIR_CONN_CLOSED,

	WEIR_CONN_LOST,
};

typedef void (*weir_conn_event_fn)(struct weir_conn *conn, enum weir_conn_event event, int error,
				   void *arg);

struct weir_connect_options {
	size_t struct_bytes;
	weir_conn_event_fn on_event;
	void *arg;

	uint32_t credits;

	enum weir_reconnect reconnect;
};

WEIR_API int weir_connect(struct weir_engine *engine, const char *addr,
			  const struct weir_connect_options *options, struct weir_conn **conn);

WEIR_API void weir_conn_close(struct weir_conn *conn);

WEIR_API void weir_conn_reset(struct weir_conn *conn);

WEIR_API void weir_conn_shutdown(struct weir_conn *conn);

WEIR_API bool weir_conn_is_open(const struct weir_conn *conn);

WEIR_API struct weir_engine *weir_conn_engine(const struct weir_conn *conn);

WEIR_API uint32_t weir_conn_version(const struct weir_conn *conn);

WEIR_API uint32_t weir_conn_send_inline(const struct weir_conn *conn);

WEIR_API uint32_t weir_conn_recv_inline(const struct weir_conn *conn);

WEIR_API int weir_conn_peer(const struct weir_conn *conn, struct weir_peer *peer);

WEIR_API void weir_conn_set_user(struct weir_conn *conn, void *user);

WEIR_API void *weir_conn_user(const struct weir_conn *conn);

WEIR_END_DECLS

#endif
