/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_BINDING_H
#define WEIR_BINDING_H

/*
 * Upper-layer bindings (RFC 8166 section 6) as tables: which items of which procedure are
 * DDP-eligible, and how many chunks a call may have. A program without a table has no eligible
 * items, and chunks in its messages violate the protocol (section 6.1).
 */

#include <weir/common.h>

WEIR_BEGIN_DECLS

/** The rules of one procedure. */
struct weir_ulb_proc {
	uint32_t proc; /**< procedure number */
	/**
	 * Maximum number of DDP-eligible arguments, and thus of Read chunks other than Position
	 * Zero Read chunks; 0 to 16.
	 */
	uint32_t arg_items_max;
	/** Maximum number of DDP-eligible results, and thus of Write chunks; 0 to 16. */
	uint32_t result_items_max;
};

/**
 * The binding of an RPC program, for a range of its versions.
 *
 * Both sides must use equal tables. If the responder's table does not allow the chunks of a call,
 * the call ends with -EREMOTEIO (ERR_CHUNK).
 *
 * weir does not copy the table and does not write to it. The table must exist as long as a call
 * names it, or a listener or one of its connections exists that uses it.
 */
struct weir_ulb {
	size_t struct_bytes; /**< size of the structure; set by the application; see weir/common.h
			      */
	const char *name;    /**< name for messages, such as "NFS version 3" */
	uint32_t prog;	     /**< program number */
	uint32_t vers_low;   /**< lowest version */
	uint32_t vers_high;  /**< highest version */
	uint32_t nprocs;     /**< entries of procs */
	/** Procedures with DDP-eligible items. Other procedures have none. */
	const struct weir_ulb_proc *procs;
};

/**
 * Finds the rules of a procedure. Thread: any.
 *
 * @param ulb the binding; NULL is allowed
 * @param proc procedure number
 * @return the rules; never NULL. Both limits are 0 if the binding does not list the procedure.
 */
WEIR_API const struct weir_ulb_proc *weir_ulb_find(const struct weir_ulb *ulb, uint32_t proc);

WEIR_END_DECLS

#endif
