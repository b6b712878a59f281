/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PLACE_H
#define PLACE_H

/*
 * Data that are placed by the Send of the message that they are of (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 3.3): laid into
 * targets of the peer's receive buffer, as rtr_layout_plan() gives them in one transmission. They are gathered from where they lie, and
 * what is between them, or in front of the first, is zeros.
 */

#include "conn.h"
#include "piece.h"

#define CONN_PLACE_NEVER UINT32_MAX

/* Behind 'n' elements of *bytes so far, those of the pieces in 'placed', bit i for piece i. Returns how many there are then, and
 * *bytes; or CONN_PLACE_NEVER: they are more than 'max', or the pieces have more than the targets. */
uint32_t conn_gather_placed(const struct weir_conn *conn, struct fabric_sge *sges, uint32_t n, uint32_t max,
			    const struct piece *pieces, uint32_t npieces, uint32_t placed, uint32_t *bytes);

#endif
