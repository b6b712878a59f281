/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALLER_H
#define CALLER_H

/*
 * A caller represents a connection. The struct records the client at the other end of the
 * connection, and the number of ops that the calls of this connection hold. The first call of a
 * connection makes its caller. The caller outlives the connection while ops refer to it. Only the
 * thread of the connection's poller is allowed to call these functions.
 */

#include "client_rules.h"
#include "holds.h"

struct weir_conn;
struct weir_request;

struct caller {
	struct client client;
	struct hold ops;  /* is in the poller's list while the caller has ops */
	bool has_no_conn; /* the connection has ended, and the last op frees the caller */
};

/*
 * Finds the caller of a request, or makes it. Returns NULL if the connection has ended or if there
 * is no memory.
 */
struct caller *caller_of(const struct weir_request *req, const struct exports *exports);

/*
 * Returns the connection and the client (holds.h) to which the resources of a request are charged.
 * The caller of the request must exist. This is so if caller_of() found it in the same poll.
 */
const struct holder *caller_holder(const struct weir_request *req);

/* Detaches the caller from its connection 'conn', which is closed. Frees the caller if it has no
 * ops. */
void caller_closed(struct weir_conn *conn);

/*
 * caller_add_op() adds one to the number of the caller's ops, and caller_remove_op() subtracts one.
 * If the connection has ended, removal of the last op frees the caller. 'holds' is the list of the
 * poller.
 */
void caller_add_op(struct caller *caller, struct holds *holds);
void caller_remove_op(struct caller *caller);

#endif
