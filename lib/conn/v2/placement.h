/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PLACEMENT_H
#define PLACEMENT_H

/*
 * Data that are placed by the Sends of their own message
 * (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 3.3).
 *
 * The sender places the data in targets of the peer's receive buffers, as planned by
 * rtr_layout_plan(). It gathers the data from where they are, and fills the gaps before and between
 * them with zeros. The receiver finds such data in its own receives.
 */

#include "conn_v2.h"
#include "piece.h"
#include "rtr_place.h"

#define CONN_PLACE_NEVER UINT32_MAX

/* ---- sending ---- */

struct conn_placed {
	const struct piece *pieces;
	uint32_t npieces;
	uint32_t which; /* bit i: piece i is placed */
	uint32_t count; /* transmissions */
};

/* Adds the placed data of one transmission to a gather list, which has 'n' elements with *bytes in
 * total. Returns the new number of elements, and updates *bytes. Returns CONN_PLACE_NEVER in these
 * cases:
 *
 * - The list would have more than 'max' elements.
 * - The data need more targets than the transmissions have.
 * - The list already extends beyond the start of the first target. */
uint32_t conn_gather_placed(const struct weir_conn *conn, struct fabric_sge *sges, uint32_t n,
			    uint32_t max, const struct conn_placed *placed, uint32_t transmission,
			    uint32_t *bytes);

/* ---- receiving ---- */

/* Returns where the item is, in the receives of 'chain' (continuation.h). rtr_place() must have
 * accepted the item. NULL: the item is not contiguous. */
uint8_t *conn_find_placed(const struct weir_conn *conn, const struct rtr_item *item,
			  const struct mem_buf *chain);
/* Copies the item to 'to', which must have room for it. */
void conn_copy_placed(struct weir_conn *conn, const struct rtr_item *item,
		      const struct mem_buf *chain, uint8_t *to);

#endif
