/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONTINUATION_H
#define CONTINUATION_H

/*
 * Message continuation on connections (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 4).
 *
 * Receiving. The transmissions of a message are a group. The receives of a group form a chain. The
 * role owns the chain as a whole, and gives its receives back together. Each receive has a
 * transmission with one section of the payload, and these values:
 *
 *   user[0]     the next receive of the chain, or 0
 *   user[1]     upper half: offset of the section in the receive; lower half: its length
 *   msg_bytes   the length of the transmission
 *
 * A connection receives at most one group at a time, which is then open. lib/proto/v2/rtr_group.h
 * checks each transmission.
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

/* Marks 'buf' as a transmission of 'bytes' bytes, and as the last one of a chain. The section of
 * the payload is at 'offset' in 'buf', and has 'len' bytes. */
static inline void conn_chain_end(struct mem_buf *buf, uint32_t bytes, uint32_t offset,
				  uint32_t len)
{
	buf->msg_bytes = bytes;
	buf->user[0] = 0;
	buf->user[1] = (uint64_t)offset << 32 | len;
}

/* Appends the transmission 'buf' to a chain. */
void conn_chain_add(struct mem_buf *chain, struct mem_buf *buf);
/* Lists the sections of the payload that are not empty. Returns their number, and sets *bytes to
 * the sum of their lengths. */
uint32_t conn_chain_parts(const struct mem_buf *chain,
			  struct weir_xdr_part parts[RTR_TRANSMISSIONS_MAX], uint32_t *bytes);
/* Lists the lengths of the transmissions, as rtr_place() needs them. Returns the number of
 * transmissions. */
uint32_t conn_chain_received(const struct mem_buf *chain,
			     struct rtr_received received[RTR_TRANSMISSIONS_MAX]);

/* Processes a message that rdma2_decode() accepted, by rtr_group_receive(), which sets *step. If
 * *step has a report, sends it with the credit value 'credit'. Also counts groups in the
 * statistics. */
void conn_group_receive(struct weir_conn *conn, const struct rdma2_header *hdr,
			const struct rtr_header *rtr, uint32_t count_max, uint32_t credit,
			struct rtr_step *step);
/* Ends the open group, because an invalid message might be part of the group, or because the
 * message of the group is not wanted any more. Returns false if no group was open. */
bool conn_group_break(struct weir_conn *conn);
/* Ends the open group if it has been open for the profile's group_timeout_ms. Returns whether the
 * group was ended. */
bool conn_group_is_late(struct weir_conn *conn, uint64_t now_ns);
/* Returns the time from which on conn_group_is_late() returns true, or ENGINE_NEVER_NS. */
uint64_t conn_group_deadline(const struct weir_conn *conn);

/* ---- sending ---- */

/* The limit on gather elements of a group that is sent. The rest of the batch is for the Writes of
 * a reply. */
#define CONN_GROUP_SGES (CONN_BATCH_SGES - 16u)

/* A message that is sent in several transmissions. */
struct conn_group_out {
	uint32_t xid;
	uint32_t credit; /* credit value of each transmission */
	enum rdma1_direction direction;
	uint32_t base;	/* RTR_BASE_*: base of the operation numbers */
	uint32_t rsbuf; /* in a request: number of transmissions that its reply may have */
	uint32_t count; /* number of transmissions: 1 only for conn_put_first(), otherwise 2 to
			   RTR_TRANSMISSIONS_MAX */
	struct rtr_split split; /* how the payload is divided */
	/* The header of the first transmission, if it has items or directions and was therefore
	 * encoded before. NULL: it has neither, and conn_send_group() encodes it. */
	uint8_t *header;
	uint32_t header_lkey;
	const struct piece *pieces; /* the pieces of the RPC message */
	uint32_t npieces;
	uint32_t reduced;     /* bit i: piece i is not part of the payload */
	uint32_t placed;      /* bit i: piece i is reduced, and placed in targets of the peer */
	struct mem_buf *bufs; /* the buffers of conn_group_take_bufs() */
	struct conn_tx *tx;   /* of the whole group */
};

/* Returns the number of gather elements of all transmissions, including those of the headers. The
 * number is at most CONN_GROUP_SGES. Returns CONN_PLACE_NEVER in these cases:
 *
 * - The group has more than CONN_GROUP_SGES elements.
 * - The placed data of a transmission have more elements than the device gathers, or need more
 *   targets than the peer has. */
uint32_t conn_group_sges(const struct weir_conn *conn, const struct conn_group_out *out);

/* Takes the buffers that a group needs in addition to those of its payload: one for the headers,
 * and one for each transmission that has more elements than the device gathers. The buffer for such
 * a transmission holds a copy of its header and payload, without the placed data. The buffers are
 * linked by user[0], and *bufs is the first one. Takes all of them by engine_reserve_get(), or
 * returns false and takes none. conn_group_put_bufs() gives them back, which the caller does when
 * the Sends are done. */
bool conn_group_take_bufs(struct weir_conn *conn, const struct conn_group_out *out,
			  const struct engine_waiter *waiter, struct mem_buf **bufs);
void conn_group_put_bufs(struct mem_buf **bufs);

/* Queues the Sends of a group. conn_tx_reserve() must have returned true for out->count work
 * requests with conn_group_sges() elements. */
void conn_send_group(struct weir_conn *conn, const struct conn_group_out *out);

/* Encodes the header of the first transmission, which carries 'pslen' bytes of the payload, into
 * 'buf'. Returns the length of the header, which is RTR_XMTREQ_SIZE or RTR_XMTRESP_SIZE. */
uint32_t conn_put_first(const struct conn_group_out *out, uint32_t pslen, uint8_t *buf);

#endif
