/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef XDR_REF_H
#define XDR_REF_H

#include <weir/xdr.h>

/* Like weir_xdr_get_opaque_ref(), for fields that no peer may reduce: an item here is an error. */
int xdr_get_inline_ref(struct weir_xdr_in *in, const void **data, uint32_t max_bytes,
		       uint32_t *len_bytes);

/* Of a decoder that weir_xdr_in_init_parts() set up: memory for opaques that are taken in place and
 * cross parts. As many bytes as the parts have are enough for all of them. It must stay as long as
 * the parts. */
void xdr_in_join(struct weir_xdr_in *in, uint8_t *memory, uint32_t bytes);

/* As weir_xdr_in_init_parts() and gets of all that is before 'at', which is in the first part and
 * not at its end. The part behind it is an item, and behind that is the rest of the stream, which
 * has 'stream_bytes' without it. */
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
