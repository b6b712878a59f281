/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_PLACE_H
#define RTR_PLACE_H

/*
 * Send-based direct placement (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 sections 3.3 and 7). Items are
 * in targets, which are segments of the receive buffers (rtr_buffer.h). In the first of its
 * targets, an item starts at its offset. In the other targets, it starts at the first byte.
 *
 * A transmission contains, in this order: header, payload, zeros, bulk data. A sender plans the
 * positions by rtr_layout_plan(). A receiver checks the positions in a received message by
 * rtr_place().
 */

#include "rtr.h"

/* A part of an item, within one transmission. */
struct rtr_piece {
	uint32_t item; /* index of the item, from 0 on, among the items that are placed by Sends */
	uint32_t item_offset;  /* number of bytes of the item before this part */
	uint32_t transmission; /* index of the transmission in the group */
	/* offset from the start of the transmission, and therefore of the receive buffer, in bytes
	 */
	uint32_t at;
	uint32_t len; /* bytes */
};

/* ---- receiver ---- */

#define RTR_PLACE_TARGETS_MAX 1024u /* limit of targets in all transmissions of a group */

/* The sizes of a transmission that was received. */
struct rtr_received {
	uint32_t bytes;	     /* length of the transmission */
	uint32_t used_bytes; /* length of its header and payload */
};

/*
 * Finds the items that the header 'rtr' of a first transmission places in the buffers of its group.
 * 'own' is the structure of each buffer. 'received' has 'nreceived' entries, one for each
 * transmission of the group. If 'received' is NULL, because other transmissions have not arrived
 * yet, only the header is checked. If it is not NULL, a target in a transmission without an entry
 * is invalid, even if rtr->count includes the transmission. If a target has several items, the
 * items must be in the same order as in the header.
 *
 * Returns the number of pieces, of which at most 'max' are listed in order, or one of these errors:
 *
 * - -EBADMSG: the placement in the message is wrong, as *report says.
 * - -E2BIG: the structure and the limits of this side allow more targets than can be checked.
 *   *report is not set.
 */
int rtr_place(const struct rtr_header *rtr, const struct rtr_buffer *own,
	      const struct rtr_received *received, uint32_t nreceived, struct rtr_piece *pieces,
	      uint32_t max, struct rtr_report *report);

/* An iterator over the pieces of one item that rtr_place() accepted, in order. The member 'item' of
 * each returned piece is 0. */
struct rtr_pieces {
	const struct rtr_buffer *own;
	struct rtr_iter tbsns;
	uint32_t start;	 /* offset of the next piece in its target */
	uint32_t done;	 /* bytes of the item before the next piece */
	uint32_t length; /* bytes of the item */
};

void rtr_pieces_begin(const struct rtr_item *item, const struct rtr_buffer *own,
		      struct rtr_pieces *it);
bool rtr_pieces_next(struct rtr_pieces *it, struct rtr_piece *piece);

/* ---- sender ---- */

#define RTR_LAYOUT_ITEMS_MAX 64u

/* The message and the limits that rtr_layout_plan() gets. */
struct rtr_layout_in {
	const struct rtr_buffer *buffer; /* structure of the receiver's buffer */
	uint32_t send_bytes_max;	 /* bytes of the longest Send */
	uint32_t count_max;		 /* limit of the number of transmissions */
	/* Limit on header and payload of a transmission, if it is less than the offset of the first
	 * target. 0 means that there is no such limit. */
	uint32_t lead_max;
	uint32_t header_bytes;	    /* of the first transmission, without the placed items */
	uint32_t payload_bytes;	    /* a multiple of 4, at least 8 */
	const uint32_t *item_bytes; /* length of each item */
	uint32_t nitems;
};

/* The planned layout. No item shares a target with anything else. The offset of each item in its
 * first target is 0, and the TBSNs of an item ascend by one. */
struct rtr_layout {
	uint32_t count;	       /* number of transmissions */
	uint32_t header_bytes; /* of the first transmission, with its items */
	uint32_t lead_bytes;   /* limit of header and payload in each transmission */
	uint32_t payload_bytes;
	struct {
		uint32_t first_tbsn; /* TBSN of the item's first target */
		uint32_t ntbsns;     /* number of the item's targets */
		uint32_t len;	     /* bytes of the item */
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

/* Finds the part of the payload that transmission 'n' has directly after its header: its offset in
 * the payload, and its length. */
void rtr_layout_payload(const struct rtr_layout *layout, uint32_t n, uint32_t *offset,
			uint32_t *len);

/* Lists the pieces of transmission 'n' in ascending order, at most 'max' of them. Returns the
 * number of all its pieces. The sender must fill the gaps between header, payload and pieces with
 * zeros. */
uint32_t rtr_layout_pieces(const struct rtr_layout *layout, const struct rtr_buffer *buffer,
			   uint32_t n, struct rtr_piece *pieces, uint32_t max);

#endif
