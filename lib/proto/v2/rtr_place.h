/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_PLACE_H
#define RTR_PLACE_H

/*
 * Send-based direct placement (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 sections 3.3 and 7). Items are
 * in target segments of the receive buffers. In the first of its targets, an item starts at its
 * offset. In the other targets, it starts at the start of the target.
 *
 * A transmission contains, in this order: header, payload, zeros, bulk data. Both sides are in this
 * file: rtr_layout_plan() plans the layout for a sender, and rtr_place() checks the positions of
 * the items in a received message.
 */

#include "rtr.h"

/* A part of an item, within one transmission. */
struct rtr_piece {
	uint32_t item; /* index of the item, from 0 on, among the items that are placed by Sends */
	uint32_t item_offset;  /* bytes of the item before this part */
	uint32_t transmission; /* index in the group */
	uint32_t at; /* bytes from the start of the transmission, and therefore of the receive
			buffer */
	uint32_t len;
};

/* ---- receiver ---- */

#define RTR_PLACE_TARGETS_MAX 1024u /* in all transmissions of a group */

/* A transmission that was received. */
struct rtr_received {
	uint32_t bytes;
	uint32_t used_bytes; /* header and payload */
};

/* Finds the items of an accepted first transmission in the buffers of its group. 'own' is the
 * structure of the buffers. 'received' has 'nreceived' entries, one for each buffer. If 'received'
 * is NULL, as the rest is still to arrive, only the header is checked. A target in a transmission
 * that is not in 'received' is invalid, for any rtr->count. If a target holds several items, the
 * items must be in the same order as in the header.
 *
 * Returns the number of pieces, of which at most 'max' are listed in order, or one of these errors:
 *
 * - -EBADMSG: the placement in the message is wrong, as *report says.
 * - -E2BIG: the structure and the limits of this side allow more targets than can be checked.
 *   *report is not set. */
int rtr_place(const struct rtr_header *rtr, const struct rtr_buffer *own,
	      const struct rtr_received *received, uint32_t nreceived, struct rtr_piece *pieces,
	      uint32_t max, struct rtr_report *report);

/* An iterator over the pieces of one item that rtr_place() accepted, in order. The member 'item' of
 * each piece is 0. */
struct rtr_pieces {
	const struct rtr_buffer *own;
	struct rtr_iter tbsns;
	uint32_t start; /* offset in the next target */
	uint32_t done;	/* bytes of the item before it */
	uint32_t length;
};

void rtr_pieces_begin(const struct rtr_item *item, const struct rtr_buffer *own,
		      struct rtr_pieces *it);
bool rtr_pieces_next(struct rtr_pieces *it, struct rtr_piece *piece);

/* ---- sender ---- */

#define RTR_LAYOUT_ITEMS_MAX 64u

struct rtr_layout_in {
	const struct rtr_buffer *buffer; /* structure of the receiver's buffer */
	uint32_t send_bytes_max;
	uint32_t count_max; /* limit on transmissions */
	/* Limit on header and payload of a transmission, if it is less than the offset of the first
	 * target. 0 means that there is no such limit. */
	uint32_t lead_max;
	uint32_t header_bytes;	/* of the first transmission, without the placed items */
	uint32_t payload_bytes; /* a multiple of 4, at least 8 */
	const uint32_t *item_bytes;
	uint32_t nitems;
};

/* The planned layout. No item shares a target with anything else. All offsets are 0, and TBSNs
 * ascend by one. */
struct rtr_layout {
	uint32_t count;
	uint32_t header_bytes; /* of the first transmission, with its items */
	uint32_t lead_bytes;   /* limit on the end of header and payload in each transmission */
	uint32_t payload_bytes;
	struct {
		uint32_t first_tbsn;
		uint32_t ntbsns;
		uint32_t len;
	} items[RTR_LAYOUT_ITEMS_MAX];
	uint32_t nitems;
	uint32_t targets; /* targets in each transmission */
};

/* Plans the layout. Returns 0, or one of these errors:
 *
 * - -EMSGSIZE: the receiver has no targets after a header, the longest Send does not fill a buffer,
 *   or the layout needs more transmissions or targets than are allowed.
 * - -EINVAL: there are too many items. */
int rtr_layout_plan(const struct rtr_layout_in *in, struct rtr_layout *layout);

/* Finds the bytes of the payload that transmission 'n' has directly after its header. */
void rtr_layout_payload(const struct rtr_layout *layout, uint32_t n, uint32_t *offset,
			uint32_t *len);

/* Lists the pieces of transmission 'n' in ascending order, at most 'max' of them. Returns the
 * number of all its pieces. The sender must fill the gaps between header, payload and pieces with
 * zeros. */
uint32_t rtr_layout_pieces(const struct rtr_layout *layout, const struct rtr_buffer *buffer,
			   uint32_t n, struct rtr_piece *pieces, uint32_t max);

#endif
