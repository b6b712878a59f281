/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the operations of an NFS version 4 COMPOUND that have DDP-eligible data, and pairs results
 * with Write chunks (RFC 8267). */
#include <weir/binding_nfs.h>

/* RFC 7530 section 16.2.1 */
enum { OP_CREATE = 6, OP_READ = 25, OP_READLINK = 27, OP_WRITE = 38 };

enum weir_nfs4_eligible weir_ulb_nfs4_op(uint32_t op)
{
	switch (op) {
	case OP_CREATE:
	case OP_WRITE:
		return WEIR_NFS4_ARGUMENT;
	case OP_READ:
	case OP_READLINK:
		return WEIR_NFS4_RESULT;
	default:
		return WEIR_NFS4_NOTHING;
	}
}

uint32_t weir_ulb_nfs4_pair(const uint32_t *ops, uint32_t nops, uint32_t nchunks,
			    uint32_t *chunk_of)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < nops; i++) {
		chunk_of[i] = UINT32_MAX;
		if (used < nchunks && weir_ulb_nfs4_op(ops[i]) == WEIR_NFS4_RESULT)
			chunk_of[i] = used++;
	}
	return used;
}
