/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls with data that their only Send places in targets of the responder's receive
 * (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 3.3). The device gathers the header, the rest of
 * the message, zeros up to the first target, and the data from the memory of the application.
 */
#include "placement.h"
#include "call_ext.h"

#define SGES_MAX (2 * CALL_PIECES_MAX + 1)

_Static_assert(CONN_MSG_SGES <= SGES_MAX, "what the device gathers fits");

/* Lists the gather elements of the Send of a call, and sets *bytes to its length. Returns the
 * number of elements. Returns CONN_PLACE_NEVER if the Send is not possible, for the reasons of
 * call_can_place(). */
static uint32_t gather(const struct weir_call *call, struct fabric_sge sges[SGES_MAX],
		       uint32_t *bytes)
{
	const struct weir_conn *conn = call->conn;
	const struct mem_buf *zeros = conn->ep.engine->zeros;
	const struct mem_buf *header_buf = call->header_buf ? call->header_buf : call->args;
	const struct conn_placed placed = {call->pieces, call->npieces, call->placed, 1};
	uint32_t n = conn_gather(sges, 0, call->header, call->header_bytes, header_buf->lkey);

	*bytes = call->header_bytes;
	for (uint32_t i = 0; i < call->npieces; i++) {
		const struct piece *piece = &call->pieces[i];
		uint32_t pad = piece->kind == PIECE_XDR ? 0 : weir_xdr_pad(piece->len);

		if (call->plan.reduced & 1u << i)
			continue;
		n = conn_gather(sges, n, piece->base, piece->len, piece->lkey);
		if (pad)
			n = conn_gather(sges, n, zeros->data, pad, zeros->lkey);
		*bytes += piece->len + pad;
	}
	return n > conn->max_sge
		       ? CONN_PLACE_NEVER
		       : conn_gather_placed(conn, sges, n, conn->max_sge, &placed, 0, bytes);
}

bool call_can_place(const struct weir_call *call)
{
	struct fabric_sge sges[SGES_MAX];
	uint32_t bytes;

	return gather(call, sges, &bytes) != CONN_PLACE_NEVER;
}

void call_transmit_placed(struct weir_call *call)
{
	struct fabric_sge sges[SGES_MAX];
	uint32_t bytes, n;

	n = gather(call, sges, &bytes);
	call->sends_app_memory = true;
	call->conn->ep.engine->stats.placed_sent += (uint32_t)__builtin_popcount(call->placed);
	conn_send(call->conn, sges, n, bytes, &call->tx, true);
}
