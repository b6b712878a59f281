/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OP_TABLE_H
#define OP_TABLE_H

/* The properties of each procedure that the handling of a call depends on. */

#include "op.h"

struct op_proc {
	int (*get)(struct weir_xdr_in *in, union nfs3_op_args *args);
	int (*put)(struct weir_xdr_out *out, const union nfs3_op_res *res);
	bool changes;  /* is refused if the export is read-only */
	bool has_name; /* args.dirop is its first name */
};

extern const struct op_proc op_procs[NFS3_NPROCS];
/* The procedures whose replies weir keeps in the duplicate request cache, see weir_program. */
extern const bool op_non_idempotent[NFS3_NPROCS];

#endif
