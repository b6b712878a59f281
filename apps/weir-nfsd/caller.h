/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALLER_H
#define CALLER_H

/*
 * A caller represents a connection. It records the client at the other end, and the number of ops
 * that the client's calls hold. The first call of a connection makes its caller. The caller
 * outlives the connection while ops refer to it. Only the thread of the connection's poller may
 * call these functions.
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
 * Finds or makes the caller of a request. Returns NULL if the connection has ended or there is no
 * memory.
 */
struct caller *caller_of(const struct weir_request *req, const struct exports *exports);

/* Returns the holder of a request. Its caller must exist: caller_of() found it in the same poll. */
const struct holder *caller_holder(const struct weir_request *req);

/* Detaches the caller from its connection, which is closed. Frees the caller if it has no ops. */
void caller_closed(struct weir_conn *conn);

/*
 * These functions count one more op of the caller, and one less. Removal of the last op may free
 * the caller.
 */
void caller_add_op(struct caller *caller, struct holds *holds);
void caller_remove_op(struct caller *caller);

#endif
