/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ULB_FIND_H
#define ULB_FIND_H

#include <weir/binding.h>

extern const struct weir_ulb_proc ulb_proc_none;

/* The inline form of weir_ulb_find(). A table lists only the few procedures that have eligible
 * items, so nothing is faster than a linear scan. */
static inline const struct weir_ulb_proc *ulb_find(const struct weir_ulb *ulb, uint32_t proc)
{
	const struct weir_ulb_proc *at, *end;

	if (!ulb || ulb->nprocs == 0) /* then 'procs' may be NULL */
		return &ulb_proc_none;
	for (at = ulb->procs, end = at + ulb->nprocs; at < end; at++)
		if (at->proc == proc)
			return at;
	return &ulb_proc_none;
}

#endif
