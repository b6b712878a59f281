/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef XDR_REF_H
#define XDR_REF_H

/* Functions for decoding XDR that only the library uses, besides those of weir/xdr.h. */

#include <weir/xdr.h>

/* Does what weir_xdr_get_opaque_ref() does, for fields that a peer must not reduce. If the field is
 * an item, returns -EBADMSG. */
int xdr_get_inline_ref(struct weir_xdr_in *in, const void **data, uint32_t max_bytes,
		       uint32_t *len_bytes);

/* Gives memory to a decoder that weir_xdr_in_init_parts() has initialised. The decoder copies an
 * opaque there if it is returned by reference and is in several parts. The sum of the lengths of
 * all parts is always enough for 'bytes'. The memory must stay valid as long as the parts. */
void xdr_in_join(struct weir_xdr_in *in, uint8_t *memory, uint32_t bytes);

/* Has the effect of weir_xdr_in_init_parts(), followed by gets of all bytes before 'at'. 'at' must
 * be in the first part, and not at its end. The second part must be an item. The third part, if
 * there is one, is the rest of the stream. 'stream_bytes' is the length of the stream without the
 * item. */
static inline void xdr_in_init_at(struct weir_xdr_in *in, const struct weir_xdr_part *parts,
				  uint32_t nparts, uint32_t stream_bytes, const uint8_t *at)
{
	weir_xdr_in_init(in, at, (uint32_t)(parts[0].base + parts[0].len_bytes - at));
	in->next = parts + 1;
	in->nparts = nparts - 1;
	in->join = in->join_end = NULL;
	in->later_bytes = (uint64_t)parts[1].len_bytes + (stream_bytes - parts[0].len_bytes);
}

#endif
