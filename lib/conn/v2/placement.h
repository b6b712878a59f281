/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PLACEMENT_H
#define PLACEMENT_H

/*
 * Data that are placed by the Sends of the message that they are of
 * (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 3.3): laid into targets of the peer's receive
 * buffers, as rtr_layout_plan() gives them. They are gathered from where they lie, and what is
 * between them, or in front of the first, is zeros. And where such data of the peer's lie, in this
 * side's receives.
 */

#include "conn_v2.h"
#include "piece.h"
#include "rtr_place.h"

#define CONN_PLACE_NEVER UINT32_MAX

/* ---- going out ---- */

struct conn_placed {
	const struct piece *pieces;
	uint32_t npieces;
	uint32_t which; /* bit i for piece i */
	uint32_t count; /* transmissions */
};

/* Behind 'n' elements of *bytes so far, those of the data that lie in that transmission. Returns
 * how many there are then, and *bytes; or CONN_PLACE_NEVER: they are more than 'max', or the data
 * take more than the targets. */
uint32_t conn_gather_placed(const struct weir_conn *conn, struct fabric_sge *sges, uint32_t n,
			    uint32_t max, const struct conn_placed *placed, uint32_t transmission,
			    uint32_t *bytes);

/* ---- coming in ---- */

/* Of an item that rtr_place() has accepted, in a message whose receives 'chain' has
 * (continuation.h): where it lies; NULL: in several runs of bytes. */
uint8_t *conn_find_placed(const struct weir_conn *conn, const struct rtr_item *item,
			  const struct mem_buf *chain);
/* Put it together at 'to', which has room for it. */
void conn_copy_placed(struct weir_conn *conn, const struct rtr_item *item,
		      const struct mem_buf *chain, uint8_t *to);

#endif
