/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_PLACE_H
#define RTR_PLACE_H

/*
 * Send-based direct placement (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 sections 3.3 and 7): items lie
 * in target segments of the receive buffers, each at its offset in the first of its targets and
 * from the start of the others.
 *
 * In a transmission stand, in this order: header, payload, zeros, bulk data. Both sides are here:
 * rtr_layout_plan() says where a sender puts what, rtr_place() checks where a message says that its
 * items are.
 */

#include "rtr.h"

/* A part of an item, within one transmission. */
struct rtr_piece {
	uint32_t item;	       /* which, from 0 on, of those that are placed by Sends */
	uint32_t item_offset;  /* bytes of the item before this part */
	uint32_t transmission; /* of the group */
	uint32_t at; /* bytes from the start of the transmission, thus of the receive buffer */
	uint32_t len;
};

/* ---- receiver ---- */

#define RTR_PLACE_TARGETS_MAX 1024u /* of all transmissions of a group */

/* A transmission that was received. */
struct rtr_received {
	uint32_t bytes;
	uint32_t used_bytes; /* header and payload */
};

/* Where the items of an accepted first transmission lie in the buffers of its group, which are
 * structured as 'own' says and whose 'nreceived' entries 'received' has; NULL: as far as the header
 * alone says, for when the rest is still to come. A target of a transmission that is not among them
 * is none, whatever rtr->count says.
 *
 * Returns how many pieces there are, at most 'max' of which are listed in order; -EBADMSG: the
 * message is wrong about its placement, as *report says; -E2BIG: own structure and limits allow for
 * more targets than are checked, and *report is not set. Items in the same target have to lie in it
 * in their order. */
int rtr_place(const struct rtr_header *rtr, const struct rtr_buffer *own,
	      const struct rtr_received *received, uint32_t nreceived, struct rtr_piece *pieces,
	      uint32_t max, struct rtr_report *report);

/* The pieces of one item that rtr_place() has accepted, in order: 'item' of each is 0. */
struct rtr_pieces {
	const struct rtr_buffer *own;
	struct rtr_iter tbsns;
	uint32_t start; /* in the next target */
	uint32_t done;	/* bytes of the item */
	uint32_t length;
};

void rtr_pieces_begin(const struct rtr_item *item, const struct rtr_buffer *own,
		      struct rtr_pieces *it);
bool rtr_pieces_next(struct rtr_pieces *it, struct rtr_piece *piece);

/* ---- sender ---- */

#define RTR_LAYOUT_ITEMS_MAX 64u

struct rtr_layout_in {
	const struct rtr_buffer *buffer; /* the receiver's */
	uint32_t send_bytes_max;
	uint32_t count_max; /* transmissions */
	uint32_t lead_max;  /* of header and payload, where that is less than the lead; 0: it is not
			     */
	uint32_t header_bytes;	/* of the first transmission, the placed items left out */
	uint32_t payload_bytes; /* a multiple of 4; 8 or more */
	const uint32_t *item_bytes;
	uint32_t nitems;
};

/* No item shares a target with anything else; all offsets are 0, and TBSNs ascend by one. */
struct rtr_layout {
	uint32_t count;
	uint32_t header_bytes; /* of the first transmission, its items included */
	uint32_t lead_bytes;   /* header and payload of any transmission end here at the latest */
	uint32_t payload_bytes;
	struct {
		uint32_t first_tbsn;
		uint32_t ntbsns;
		uint32_t len;
	} items[RTR_LAYOUT_ITEMS_MAX];
	uint32_t nitems;
	uint32_t targets; /* of a transmission */
};

/* 0; -EMSGSIZE: the receiver has no targets behind a header, or too few transmissions would have to
 * do; -EINVAL: too many items. */
int rtr_layout_plan(const struct rtr_layout_in *in, struct rtr_layout *layout);

/* Which bytes of the payload transmission 'n' has: right behind its header. */
void rtr_layout_payload(const struct rtr_layout *layout, uint32_t n, uint32_t *offset,
			uint32_t *len);

/* The pieces of transmission 'n', ascending, at most 'max' of them listed: how many there are. What
 * lies between header, payload and pieces is to be zero. */
uint32_t rtr_layout_pieces(const struct rtr_layout *layout, const struct rtr_buffer *buffer,
			   uint32_t n, struct rtr_piece *pieces, uint32_t max);

#endif
