/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OP_TABLE_H
#define OP_TABLE_H

/* The properties of each procedure that determine how its calls are handled. */

#include "op.h"

struct op_proc {
	/* decodes the arguments; 0 or -EBADMSG */
	int (*get)(struct weir_xdr_in *in, union nfs3_op_args *args);
	/* encodes the results; 0 or -ENOSPC */
	int (*put)(struct weir_xdr_out *out, const union nfs3_op_res *res);
	bool changes;  /* the procedure is refused if the export is read-only */
	bool has_name; /* args.dirop is the first name of the procedure */
};

extern const struct op_proc op_procs[NFS3_NPROCS];
/*
 * The procedures whose replies weir keeps in the duplicate request cache, see struct weir_program.
 */
extern const bool op_non_idempotent[NFS3_NPROCS];

#endif
