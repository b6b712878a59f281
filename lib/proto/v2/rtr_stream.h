/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_STREAM_H
#define RTR_STREAM_H

/*
 * The virtual XDR stream of a message (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 6.2) from the
 * payload sections of its transmissions and the items that were excised, as parts for an XDR
 * decoder and without a copy.
 */

#include <weir/xdr.h>

/* An item whose bytes are here: placed by a Send, or pulled; or somewhere else. */
struct rtr_stream_item {
	uint32_t disp;	     /* xmdmi_disp */
	uint32_t len;	     /* xmdmi_length */
	const uint8_t *base; /* NULL: no part of what is decoded; it counts in displacements only */
};

/* 'sections' are the payload sections in order, each a multiple of 4 bytes long; 'items' those of
 * an accepted header, in order. Returns the number of parts, or -E2BIG: more than 'max'; or
 * -EBADMSG: an item lies past the payload, or the word in front of it is not its length. nsections
 * + 2 * nitems parts are enough. */
int rtr_stream_parts(const struct weir_xdr_part *sections, uint32_t nsections,
		     const struct rtr_stream_item *items, uint32_t nitems,
		     struct weir_xdr_part *parts, uint32_t max);

#endif
