/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PIECE_H
#define PIECE_H

/*
 * The description of a message to send. The message is a list of pieces. Their concatenation, with
 * roundup padding after each item, is the unreduced Payload stream. The reducer (reduce.h) decides
 * how each piece is sent.
 */

#include <weir/xdr.h>

enum piece_kind {
	PIECE_XDR, /* XDR that the caller encoded; its length is a multiple of 4; never reduced */
	PIECE_OPAQUE, /* bytes of an opaque that is not DDP-eligible; padded and never reduced */
	/* bytes of an opaque that is DDP-eligible by the upper-layer binding; can be reduced */
	PIECE_ITEM,
};

struct piece {
	uint8_t *base;
	uint32_t len; /* bytes, without roundup padding */
	enum piece_kind kind;
	uint32_t lkey; /* local key; 0 if the memory is not registered */
	union {
		/* In a call: the rkey by which the peer reads the piece. 0: the peer is not allowed
		 * to read the piece. */
		uint32_t rkey;
		/* In a reply: the position of the operation that returns the piece, as an offset in
		 * the arguments of the call. */
		uint32_t op;
	};
	uint64_t raddr; /* the address of 'base' for the peer */
};

/* Returns the size of a message's payload in bytes, with roundup padding, but without the pieces
 * whose bit is set in 'reduced'. */
static inline uint64_t piece_payload_bytes(const struct piece *pieces, uint32_t npieces,
					   uint32_t reduced)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < npieces; i++)
		if (!(reduced & 1u << i))
			bytes += (uint64_t)pieces[i].len +
				 (pieces[i].kind == PIECE_XDR ? 0 : weir_xdr_pad(pieces[i].len));
	return bytes;
}

/* Memory that the peer is allowed to write to: one segment of a Write chunk or of a Reply chunk. */
struct remote_buf {
	uint32_t rkey;
	uint32_t len;
	uint64_t raddr;
};

#endif
