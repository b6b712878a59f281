/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DIRECT_OPS_H
#define DIRECT_OPS_H

/*
 * Gives a pair over sim the direct operations of the driver contract (driver.h), which the engines
 * otherwise do not use over sim. A test must call direct_ops_add() before the pair connects. If the
 * driver has delivery upcalls, the engine uses direct operations for messages that are processed
 * inside the upcall.
 */

#include <string.h>

#include "engine.h"
#include "pair.h"
#include "sim.h"

static inline void direct_ops_add(struct pair *pair)
{
	static struct fabric_ops ops;

	if (strncmp(pair->driver, "sim", 3) != 0)
		return;
	ops = *pair->server->ops;
	ops.send_direct = sim_send_direct;
	ops.write_direct = sim_write_direct;
	ops.read_direct = sim_read_direct;
	pair->client->ops = pair->server->ops = &ops;
}

#endif
