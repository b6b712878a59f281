/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONN_TAP_H
#define CONN_TAP_H

/*
 * The interface by which lib/capture observes connections. A connection calls these functions at
 * its set-up and at its end only. An observed connection has a 'tap'. lib/capture then replaces
 * functions by its own ones:
 *
 * - receiver.deliver and on_wc of the connection's endpoint: for what the connection receives
 * - operations in the engine's table of the driver's operations: for what connections send
 *
 * A connection that is not observed has the original functions, so that observation costs nothing
 * while there is none. All functions run on the thread of the engine.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct weir_conn;
struct fabric_receiver;

struct conn_tap_ops {
	/* The connection has got a queue pair, on which nothing was sent or received yet. Sets
	 * conn->tap if the connection must be observed. */
	void (*begin)(struct weir_conn *conn);
	/* The queue pair of an observed connection was destroyed. Sets conn->tap to NULL. */
	void (*end)(struct weir_conn *conn);
	/* fabric_receiver.deliver of an observed connection */
	bool (*deliver)(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len);
};

/* NULL: connections are not observed. It is set once in a process. */
extern const struct conn_tap_ops *_Atomic conn_tap_ops;

#endif
