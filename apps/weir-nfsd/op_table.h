/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OP_TABLE_H
#define OP_TABLE_H

/* What the way of a call through this server depends on, procedure by procedure. */

#include "op.h"

struct op_proc {
	int (*get)(struct weir_xdr_in *in, union op_args *args);
	int (*put)(struct weir_xdr_out *out, const union op_res *res);
	bool changes;  /* refused where the export is read-only */
	bool has_name; /* args.dirop is its first name */
};

extern const struct op_proc op_procs[NFS3_NPROCS];
/* Those whose replies weir keeps, to answer duplicates: see weir_program. */
extern const bool op_non_idempotent[NFS3_NPROCS];

#endif
