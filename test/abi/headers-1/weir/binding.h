/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_BINDING_H
#define WEIR_BINDING_H

#include <weir/common.h>

WEIR_BEGIN_DECLS

struct weir_ulb_proc {
	uint32_t proc;

	uint32_t arg_items_max;

	uint32_t result_items_max;
};

struct weir_ulb {
	size_t struct_bytes;
	const char *name;
	uint32_t prog;
	uint32_t vers_low;
	uint32_t vers_high;
	uint32_t nprocs;

	const struct weir_ulb_proc *procs;
};

WEIR_API const struct weir_ulb_proc *weir_ulb_find(const struct weir_ulb *ulb, uint32_t proc);

WEIR_END_DECLS

#endif
