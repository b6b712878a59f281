/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ULB_FIND_H
#define ULB_FIND_H

/* Finds the rules for a procedure in an upper-layer binding (RFC 8166 section 6). */

#include <weir/binding.h>

#include "sized.h"

extern const struct weir_ulb_proc ulb_proc_none;

extern const struct sized_type ulb_type; /* the sizes of a binding, for sized_check() */

/* The inline form of weir_ulb_find(): returns the entry of a procedure in an upper-layer binding,
 * or &ulb_proc_none if there is no entry. A binding lists only the few procedures that have
 * DDP-eligible items. Therefore a linear search is fastest. */
static inline const struct weir_ulb_proc *ulb_find(const struct weir_ulb *ulb, uint32_t proc)
{
	const struct weir_ulb_proc *at, *end;

	if (!ulb || ulb->nprocs == 0) /* without entries, 'procs' can be NULL */
		return &ulb_proc_none;
	for (at = ulb->procs, end = at + ulb->nprocs; at < end; at++)
		if (at->proc == proc)
			return at;
	return &ulb_proc_none;
}

#endif
