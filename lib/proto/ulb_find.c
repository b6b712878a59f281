/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the rules for a procedure in an upper-layer binding (RFC 8166 section 6). */
#include "ulb_find.h"

const struct weir_ulb_proc ulb_proc_none;
const struct sized_type ulb_type = SIZED_TYPE(weir_ulb, procs);

const struct weir_ulb_proc *weir_ulb_find(const struct weir_ulb *ulb, uint32_t proc)
{
	return ulb_find(ulb, proc);
}
