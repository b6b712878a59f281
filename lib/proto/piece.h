/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PIECE_H
#define PIECE_H

/*
 * How a message that is to be sent is described: a list of pieces whose concatenation, with roundup
 * padding after each item, is the unreduced Payload stream. The reducer decides how each piece
 * travels.
 */

#include <weir/xdr.h>

enum piece_kind {
	PIECE_XDR, /* XDR that the caller encoded; its length is a multiple of 4; never reduced */
	PIECE_OPAQUE, /* bytes of an opaque that is not DDP-eligible: not reduced, padded */
	PIECE_ITEM,   /* bytes of an opaque that the ULB calls DDP-eligible: may be reduced */
};

struct piece {
	uint8_t *base;
	uint32_t len; /* bytes, without roundup padding */
	enum piece_kind kind;
	uint32_t lkey; /* local key; 0 when the memory is not registered */
	union {
		uint32_t rkey; /* of a call: the key by which the peer may read it; 0 when it may
				  not */
		uint32_t op;   /* of a reply: where in the call's arguments the operation is that
				  yields it */
	};
	uint64_t raddr; /* the address by which the peer names 'base' */
};

/* Bytes of a message's payload without the pieces in 'reduced', roundup padding included. */
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

/* Memory that the peer may write to: a Write chunk or Reply chunk (one segment each part). */
struct remote_buf {
	uint32_t rkey;
	uint32_t len;
	uint64_t raddr;
};

#endif
