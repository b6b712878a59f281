/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALLER_H
#define CALLER_H

/*
 * What the server knows of a connection: which client is at the other end, and how many ops its calls hold. A caller
 * is made with the first call of a connection. It outlives the connection while ops refer to it. All functions are for
 * the thread of the connection's poller.
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
