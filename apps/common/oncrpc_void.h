/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ONCRPC_VOID_H
#define ONCRPC_VOID_H

#include <rpc/rpc.h>

/*
 * The XDR filter of empty arguments or results. It replaces xdr_void(), which does not have the
 * type xdrproc_t.
 */
static inline bool_t oncrpc_void(XDR *xdrs, void *nothing)
{
	(void)xdrs;
	(void)nothing;
	return TRUE;
}

#endif
