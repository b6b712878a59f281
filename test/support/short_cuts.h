/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHORT_CUTS_H
#define SHORT_CUTS_H

/* The contract's short cuts (driver.h) for a pair over sim, whose driver has none of its own:
 * before it connects. Where messages are shown, they take what ways there are for those that are
 * done with at once. */

#include <string.h>

#include "engine.h"
#include "pair.h"
#include "sim.h"

static inline void short_cuts_add(struct pair *pair)
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
