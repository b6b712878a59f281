/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROTOCOL_H
#define PROTOCOL_H

/*
 * What a version of the protocol does its own way: operations of a connection, of its calls and of
 * its requests. Each role has a table for each protocol, and a connection points to one of them for
 * as long as it lives: conn_role.protocol() chooses it by the profile. The table of version 1 is
 * version1.c's; that of connections that may also speak version 2 is made in the folders v2/.
 *
 * The short ways of the data path do not go through a table: they are those of version 1. Where
 * they may not be taken, weir_conn.via_protocol is set. Operations that are marked by it are called
 * of such connections alone; version 1 has none of them.
 */

#include <stdbool.h>
#include <stdint.h>

struct mem_buf;
struct weir_conn;

struct conn_protocol {
	bool via_protocol; /* of its connections */

	/* ---- connections ---- */
	/* At the end of conn_create(): 0 or an error. destroy() follows in any case. */
	int (*create)(struct weir_conn *conn);
	void (*destroy)(struct weir_conn *conn);
	/* As create() left it, for the next connection of one that is remade. */
	void (*reset)(struct weir_conn *conn);
	/* The thresholds anew: what the peer told has changed. */
	void (*set_thresholds)(struct weir_conn *conn);
	/* The range of versions that this side understands. */
	void (*versions)(const struct weir_conn *conn, uint32_t *low, uint32_t *high);
	/* It was just established. True: the peer is to be asked first, and it is NEGOTIATING, or
	 * has failed. */
	bool (*negotiate)(struct weir_conn *conn);
	/* NEGOTIATING: a message came; time goes by; it fails. */
	void (*negotiate_on_message)(struct weir_conn *conn, struct mem_buf *buf, uint32_t len);
	void (*negotiate_on_tick)(struct weir_conn *conn, uint64_t now_ns);
	void (*negotiate_on_fail)(struct weir_conn *conn);
	/* It is open: count it. */
	void (*on_open)(struct weir_conn *conn);
};

/* version1.c */
int conn_v1_create(struct weir_conn *conn);
void conn_v1_destroy(struct weir_conn *conn);
void conn_v1_set_thresholds(struct weir_conn *conn);
void conn_v1_versions(const struct weir_conn *conn, uint32_t *low, uint32_t *high);
bool conn_v1_negotiate(struct weir_conn *conn);
void conn_v1_on_open(struct weir_conn *conn);

/* What all tables of version 1 have. None of its connections is ever NEGOTIATING. */
#define CONN_PROTOCOL_V1                                                                           \
	.create = conn_v1_create, .destroy = conn_v1_destroy, .reset = conn_v1_set_thresholds,     \
	.set_thresholds = conn_v1_set_thresholds, .versions = conn_v1_versions,                    \
	.negotiate = conn_v1_negotiate, .on_open = conn_v1_on_open

#endif
