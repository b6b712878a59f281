/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues the Send of a call in one message. The device gathers the message from the header, the
 * arguments and the inline items. The binds of the call's windows are posted before the Send. */
#include "requester.h"

#include "compiler.h"

/* The gather list of a call. */
struct message {
	struct fabric_sge sges[2 * CALL_PIECES_MAX + 1];
	uint32_t nsges;
	uint32_t bytes;
};

/* Lists the gather elements of the message of a call in *msg. If the device can't gather so many
 * elements, copies the message into one buffer. Returns false if the call must wait for that
 * buffer. */
static inline bool gather_message(struct weir_call *call, struct message *msg)
{
	struct weir_conn *conn = call->conn;
	struct weir_engine *engine = conn->ep.engine;
	struct fabric_sge *sges = msg->sges;
	struct mem_buf *header_buf = call->header_buf ? call->header_buf : call->args;
	uint32_t bytes = call->header_bytes;
	uint32_t n = conn_gather(sges, 0, call->header, call->header_bytes, header_buf->lkey);

	for (uint32_t i = 0; call->plan.form != REDUCE_LONG && i < call->npieces; i++) {
		struct piece *piece = &call->pieces[i];
		uint32_t pad = piece->kind == PIECE_XDR ? 0 : weir_xdr_pad(piece->len);

		if (call->plan.reduced & 1u << i)
			continue;
		n = conn_gather(sges, n, piece->base, piece->len, piece->lkey);
		if (pad)
			n = conn_gather(sges, n, engine->zeros->data, pad, engine->zeros->lkey);
		bytes += piece->len + pad;
		call->sends_app_memory |= piece->kind != PIECE_XDR;
	}
	if (unlikely(n > conn->max_sge)) {
		struct requester *req = requester_of(conn);

		if (conn_coalesce_sges(conn, sges, &n,
				       call->header_buf ? &call->header_buf : &call->spill,
				       &req->wait_queue, &req->buf_waiter) != 0)
			return false;
		call->has_extra = true;
	}
	msg->nsges = n;
	msg->bytes = bytes;
	return true;
}

bool call_send(struct weir_call *call)
{
	struct message msg;

	if (!gather_message(call, &msg))
		return false;
	if (call->nwindow_bindings > 0) {
		call_bind_windows(call);
		/* If the message was copied, the copy of the header lacks the keys. */
		if (call->spill)
			memcpy(call->spill->data, call->header, call->header_bytes);
	}
	conn_send(call->conn, msg.sges, msg.nsges, msg.bytes, &call->tx, true);
	return true;
}
