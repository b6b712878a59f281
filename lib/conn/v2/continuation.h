/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONTINUATION_H
#define CONTINUATION_H

/*
 * Message continuation on connections (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 4).
 *
 * Receiving. A message in several transmissions is a chain of receives. The role owns the chain as
 * a whole, and returns its receives together. Each receive has these values:
 *
 *   user[0]     the next receive
 *   user[1]     offset (upper half) and length of its section of the payload
 *   msg_bytes   the length of the transmission
 *
 * A connection has at most one open group. lib/proto/v2/rtr_group.h checks each transmission.
 *
 * Sending. All transmissions of a message are queued in one batch, so that no other message of this
 * side is between them.
 */

#include <weir/xdr.h>

#include "conn_v2.h"
#include "piece.h"
#include "placement.h"
#include "rtr_group.h"

/* ---- receiving ---- */

/* Marks 'buf' as a transmission of 'bytes' bytes with this section, and as the last of a chain. */
static inline void conn_chain_end(struct mem_buf *buf, uint32_t bytes, uint32_t offset,
				  uint32_t len)
{
	buf->msg_bytes = bytes;
	buf->user[0] = 0;
	buf->user[1] = (uint64_t)offset << 32 | len;
}

/* Appends a transmission to a chain. */
void conn_chain_add(struct mem_buf *chain, struct mem_buf *buf);
/* Lists the sections of the payload. Returns their number, and sets *bytes to their sum. */
uint32_t conn_chain_parts(const struct mem_buf *chain,
			  struct weir_xdr_part parts[RTR_TRANSMISSIONS_MAX], uint32_t *bytes);
/* Lists the lengths of the transmissions. Returns their number. */
uint32_t conn_chain_received(const struct mem_buf *chain,
			     struct rtr_received received[RTR_TRANSMISSIONS_MAX]);

/* Processes a message that rdma2_decode() accepted, by rtr_group_receive(). Also sends the report,
 * if there is one, with the grant 'credit', and counts groups. */
void conn_group_receive(struct weir_conn *conn, const struct rdma2_header *hdr,
			const struct rtr_header *rtr, uint32_t count_max, uint32_t credit,
			struct rtr_step *step);
/* Ends the open group, because a message could be part of it but is invalid, or because the message
 * of the group is not wanted any more. Returns false if no group was open. */
bool conn_group_break(struct weir_conn *conn);
/* Ends the open group if it takes too long. Returns whether it did. */
bool conn_group_is_late(struct weir_conn *conn, uint64_t now_ns);

/* ---- sending ---- */

/* The limit on gather elements of a group. The rest of the batch is for the Writes of a reply. */
#define CONN_GROUP_SGES (CONN_BATCH_SGES - 16u)

struct conn_group_out {
	uint32_t xid;
	uint32_t credit;
	enum rdma1_direction direction;
	uint32_t base;	/* RTR_BASE_* */
	uint32_t rsbuf; /* in a request: transmissions that its reply may have */
	uint32_t count; /* 2 to RTR_TRANSMISSIONS_MAX */
	struct rtr_split split;
	/* The first header, if it was encoded before, because it has items or directions. NULL: it
	 * has none. */
	uint8_t *header;
	uint32_t header_lkey;
	const struct piece *pieces;
	uint32_t npieces;
	uint32_t reduced;     /* bit i: piece i is not part of the payload */
	uint32_t placed;      /* bit i: piece i is reduced, and placed in targets of the peer */
	struct mem_buf *bufs; /* conn_group_take_bufs() */
	struct conn_tx *tx;   /* of the whole group */
};

/* Returns the number of gather elements of all transmissions, including headers. It is at most
 * CONN_GROUP_SGES. Returns CONN_PLACE_NEVER in these cases:
 *
 * - The group has more than CONN_GROUP_SGES elements.
 * - The placed data of a transmission have more elements than the device gathers, or need more
 *   targets than the peer has. */
uint32_t conn_group_sges(const struct weir_conn *conn, const struct conn_group_out *out);

/* Takes the buffers that a group needs in addition to those of its payload: one for the headers,
 * and one for each transmission that the device cannot gather. The latter is for a copy of header
 * and payload, without the placed data. The buffers are linked by user[0]. Takes all of them by
 * engine_reserve_get(), or returns false and takes none. The caller returns them when the Sends are
 * done. */
bool conn_group_take_bufs(struct weir_conn *conn, const struct conn_group_out *out,
			  const struct engine_waiter *waiter, struct mem_buf **bufs);
void conn_group_put_bufs(struct mem_buf **bufs);

/* Queues the Sends. conn_tx_reserve() must have returned that they fit. */
void conn_send_group(struct weir_conn *conn, const struct conn_group_out *out);

/* Encodes the header of the first transmission. Returns its length, which is RTR_XMTREQ_SIZE or
 * RTR_XMTRESP_SIZE. */
uint32_t conn_put_first(const struct conn_group_out *out, uint32_t pslen, uint8_t *buf);

#endif
