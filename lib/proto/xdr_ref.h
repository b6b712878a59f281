/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef XDR_REF_H
#define XDR_REF_H

#include "weir_xdr.h"

/* Like weir_xdr_get_opaque_ref(), for fields that no peer may reduce: an item here is an error. */
int xdr_get_inline_ref(struct weir_xdr_in *in, const void **data, uint32_t max_bytes, uint32_t *len_bytes);

#endif
