/* SPDX-License-Identifier: BSD-3-Clause */
/* A procedure's rules in an upper-layer binding (RFC 8166 section 6). */
#include "weir_ulb.h"

const struct weir_ulb_proc *weir_ulb_find(const struct weir_ulb *ulb, uint32_t proc)
{
	static const struct weir_ulb_proc none;

	/* A table lists only the few procedures that have eligible items: a scan is as quick as it gets. */
	for (uint32_t i = 0; ulb && i < ulb->nprocs; i++)
		if (ulb->procs[i].proc == proc)
			return &ulb->procs[i];
	return &none;
}
