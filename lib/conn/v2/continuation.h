/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONTINUATION_H
#define CONTINUATION_H

/*
 * Message continuation on connections (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 4).
 *
 * A message that came in several transmissions is a chain of receives, which the role owns
 * together: user[0] of each is the next one, user[1] says where its section of the payload lies,
 * and msg_bytes how much of it came. They are given back together. A connection has one open group
 * at most, of which lib/proto/v2/rtr_group.h judges each transmission.
 *
 * What goes out in several transmissions is queued in one batch, which nothing of this side's can
 * come between.
 */

#include <weir/xdr.h>

#include "conn_v2.h"
#include "piece.h"
#include "placement.h"
#include "rtr_group.h"

/* ---- coming in ---- */

/* 'buf' is a transmission of so many bytes with that section, and the last one of its chain. */
static inline void conn_chain_end(struct mem_buf *buf, uint32_t bytes, uint32_t offset,
				  uint32_t len)
{
	buf->msg_bytes = bytes;
	buf->user[0] = 0;
	buf->user[1] = (uint64_t)offset << 32 | len;
}

/* Put one behind the others; there is at least one. */
void conn_chain_add(struct mem_buf *chain, struct mem_buf *buf);
/* The payload's sections; how many. 'bytes' is set to their sum. */
uint32_t conn_chain_parts(const struct mem_buf *chain,
			  struct weir_xdr_part parts[RTR_TRANSMISSIONS_MAX], uint32_t *bytes);
/* What came of each of its transmissions; how many. */
uint32_t conn_chain_received(const struct mem_buf *chain,
			     struct rtr_received received[RTR_TRANSMISSIONS_MAX]);

/* A message came, and rdma2_decode() accepted it: rtr_group_receive(), with its report sent and all
 * of it counted. 'credit' is what a report says. */
void conn_group_receive(struct weir_conn *conn, const struct rdma2_header *hdr,
			const struct rtr_header *rtr, uint32_t count_max, uint32_t credit,
			struct rtr_step *step);
/* The open group does not go on: a message came that can't be told from it, or what it is for is no
 * more. False: none was open. */
bool conn_group_break(struct weir_conn *conn);
/* The same of one that takes too long. */
bool conn_group_is_late(struct weir_conn *conn, uint64_t now_ns);

/* ---- going out ---- */

/* Gather elements that a group may have: the Writes of a reply go in the same batch. */
#define CONN_GROUP_SGES (CONN_BATCH_SGES - 16u)

struct conn_group_out {
	uint32_t xid;
	uint32_t credit;
	enum rdma1_direction direction;
	uint32_t base;	/* RTR_BASE_* */
	uint32_t rsbuf; /* of a request: transmissions that its reply may have */
	uint32_t count; /* 2 to RTR_TRANSMISSIONS_MAX */
	struct rtr_split split;
	/* The first header, where it is made, for it has items or directions; NULL: it has none. */
	uint8_t *header;
	uint32_t header_lkey;
	const struct piece *pieces;
	uint32_t npieces;
	uint32_t reduced;     /* pieces that are no part of the payload, bit i for piece i */
	uint32_t placed;      /* of these, those that are laid into targets of the peer's */
	struct mem_buf *bufs; /* conn_group_take_bufs() */
	struct conn_tx *tx;   /* of all together */
};

/* Gather elements of all its transmissions, headers included, at most CONN_GROUP_SGES; or
 * CONN_PLACE_NEVER: they would be more, or the device gathers too few for what is placed. */
uint32_t conn_group_sges(const struct weir_conn *conn, const struct conn_group_out *out);

/* The buffers that it needs beside those of its payload, linked by user[0]: one for the headers,
 * and one for each transmission that the device can't gather, of which it takes what is in front of
 * data that are placed. All of them, by engine_reserve_get(), or none: false. The caller puts them
 * back when the Sends are done. */
bool conn_group_take_bufs(struct weir_conn *conn, const struct conn_group_out *out,
			  const struct engine_waiter *waiter, struct mem_buf **bufs);
void conn_group_put_bufs(struct mem_buf **bufs);

/* Queue its Sends; conn_tx_reserve() has said that they fit. */
void conn_send_group(struct weir_conn *conn, const struct conn_group_out *out);

/* The header of the first transmission, to 'buf'. Returns its length, RTR_XMTREQ_SIZE or
 * RTR_XMTRESP_SIZE. */
uint32_t conn_put_first(const struct conn_group_out *out, uint32_t pslen, uint8_t *buf);

#endif
