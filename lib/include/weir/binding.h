/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_BINDING_H
#define WEIR_BINDING_H

/*
 * Upper-layer bindings as data (RFC 8166 section 6): which items of which procedure are
 * DDP-eligible and how many chunks a call may carry. weir asks the table of the call's program and
 * version; a program without one has no eligible items, and chunks for it are a violation
 * (section 6.1).
 */

#include <weir/common.h>

WEIR_BEGIN_DECLS

/** One procedure's rules. */
struct weir_ulb_proc {
	uint32_t proc;
	uint32_t arg_items_max; /**< DDP-eligible arguments: Read chunks, besides Position Zero; 0
				   to 16 */
	uint32_t result_items_max; /**< DDP-eligible results: Write chunks; 0 to 16 */
};

/** The binding of one RPC program, a range of its versions. Procedures not listed have no eligible
 * items. The table must live as long as the engine that uses it; it is not written to. */
struct weir_ulb {
	const char *name; /**< for people, e.g. "NFS version 3" */
	uint32_t prog;
	uint32_t vers_low;
	uint32_t vers_high;
	const struct weir_ulb_proc *procs;
	uint32_t nprocs;
};

/** The rules for 'proc' of a binding; all zero limits when it is not listed or 'ulb' is NULL. Any
 * thread; never NULL. */
WEIR_API const struct weir_ulb_proc *weir_ulb_find(const struct weir_ulb *ulb, uint32_t proc);

WEIR_END_DECLS

#endif
