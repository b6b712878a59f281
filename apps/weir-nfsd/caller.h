/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALLER_H
#define CALLER_H

/*
 * A caller stands for a connection. It records which client is at the other end, and how many ops
 * the client's calls hold. The first call of a connection makes its caller. The caller outlives the
 * connection while ops refer to it. Only the thread of the connection's poller may call these
 * functions.
 */

#include "client_rules.h"
#include "holds.h"

struct weir_conn;
struct weir_request;

struct caller {
	struct client client;
	struct hold ops;  /* is in the poller's list while the caller has ops */
	bool has_no_conn; /* the connection is gone, and the last op frees the caller */
};

/*
 * Find or make the caller of a request.
 *
 * Returns NULL if the connection is gone or there is no memory.
 */
struct caller *caller_of(const struct weir_request *req, const struct exports *exports);

/* Who made a request whose caller is known: caller_of() found it in the same poll. */
const struct holder *caller_holder(const struct weir_request *req);

/* The connection is closed. */
void caller_closed(struct weir_conn *conn);

/* Count one more op of the caller, and one less. The last one may free the caller. */
void caller_add_op(struct caller *caller, struct holds *holds);
void caller_remove_op(struct caller *caller);

#endif
