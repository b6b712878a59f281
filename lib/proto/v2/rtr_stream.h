/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_STREAM_H
#define RTR_STREAM_H

/*
 * The virtual XDR stream of a message (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 6.2). It
 * consists of the payload sections of the transmissions and of the items between them. The function
 * of this file returns the stream as parts for an XDR decoder, without a copy.
 */

#include <weir/xdr.h>

/* An item of the stream that is not in a payload section. */
struct rtr_stream_item {
	uint32_t disp; /* xmdmi_disp */
	uint32_t len;  /* xmdmi_length */
	/* its data; NULL: the item is not decoded, and only counts in displacements */
	const uint8_t *base;
};

/*
 * Stores the stream as at most 'max' parts in 'parts'. 'sections' are the payload sections in
 * order, and their lengths must be multiples of 4. 'items' are the items of an accepted header, in
 * order. nsections + 2 * nitems parts are always enough. Returns the number of parts, or one of
 * these errors:
 *
 * - -E2BIG: there are more than 'max' parts.
 * - -EBADMSG: an item is past the payload, or the word before an item is not the item's length.
 */
int rtr_stream_parts(const struct weir_xdr_part *sections, uint32_t nsections,
		     const struct rtr_stream_item *items, uint32_t nitems,
		     struct weir_xdr_part *parts, uint32_t max);

#endif
