/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OP_TABLE_H
#define OP_TABLE_H

/* The properties of each procedure that determine how its calls are handled. */

#include "op.h"

struct op_proc {
	/* decodes the arguments; 0 or -EBADMSG */
	int (*get)(struct weir_xdr_in *in, union nfs3_op_args *args);
	/*
	 * Encodes the results and replies. Returns 0, -ENOBUFS, or an error if weir refuses the
	 * results; see nfs3_rpc.h. For READDIR and READDIRPLUS, it replies only errors.
	 */
	int (*reply)(struct weir_request *req, const union nfs3_op_res *res);
	bool changes;  /* the procedure is refused if the export is read-only */
	bool has_name; /* args.dirop is the first name of the procedure */
};

extern const struct op_proc op_procs[NFS3_NPROCS];

#endif
