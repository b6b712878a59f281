/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PLACEMENT_H
#define PLACEMENT_H

/*
 * Data that are placed by the Sends of their own message (draft-dnoveck-nfsv4-rpcrdma-rtrext-01
 * section 3.3).
 *
 * A target is a part of a receive buffer whose position the receiver announces. The sender places
 * the data in targets of the peer's receive buffers, as planned by rtr_layout_plan(). Its device
 * gathers the data from the memory of the application. The gaps before and between the data are
 * filled with zeros. The receiver finds such data in its own receives.
 */

#include "conn_v2.h"
#include "piece.h"
#include "rtr_place.h"

#define CONN_PLACE_NEVER UINT32_MAX

/* ---- sending ---- */

/* The data of a message that its Sends place. */
struct conn_placed {
	const struct piece *pieces; /* the pieces of the RPC message */
	uint32_t npieces;
	uint32_t which; /* bit i: piece i is placed */
	uint32_t count; /* number of transmissions of the message */
};

/* Adds the placed data of transmission 'transmission' to a gather list, which has 'n' elements with
 * *bytes bytes in total. Returns the new number of elements, and updates *bytes. Returns
 * CONN_PLACE_NEVER in these cases:
 *
 * - The list would have more than 'max' elements.
 * - The peer's receives have no targets, or the data of all transmissions need more targets than
 *   these transmissions have.
 * - The list already extends beyond the start of the first target that is needed. */
uint32_t conn_gather_placed(const struct weir_conn *conn, struct fabric_sge *sges, uint32_t n,
			    uint32_t max, const struct conn_placed *placed, uint32_t transmission,
			    uint32_t *bytes);

/* ---- receiving ---- */

/* Returns the address of an item in the receives of 'chain' (continuation.h), or NULL if the item
 * is not contiguous. rtr_place() must have accepted the item. */
uint8_t *conn_find_placed(const struct weir_conn *conn, const struct rtr_item *item,
			  const struct mem_buf *chain);
/* Copies an item from the receives of 'chain' to 'to', which must have item->length bytes.
 * rtr_place() must have accepted the item. */
void conn_copy_placed(struct weir_conn *conn, const struct rtr_item *item,
		      const struct mem_buf *chain, uint8_t *to);

#endif
