/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_BINDING_NFS_H
#define WEIR_BINDING_NFS_H

#include <weir/binding.h>

WEIR_BEGIN_DECLS

#define WEIR_NFS_PROGRAM    100003u
#define WEIR_NFSACL_PROGRAM 100227u
#define WEIR_MOUNT_PROGRAM  100005u
#define WEIR_NLM_PROGRAM    100021u
#define WEIR_NSM_PROGRAM    100024u

#define WEIR_NFS_RDMA_PORT   20049u
#define WEIR_NFS_RDMA_NETID  "rdma"
#define WEIR_NFS_RDMA6_NETID "rdma6"

#define WEIR_NFS4_READ_CHUNKS_UNASKED  1u
#define WEIR_NFS4_WRITE_CHUNKS_UNASKED 1u
#define WEIR_NFS4_SEGMENTS_UNASKED     16u

WEIR_API const struct weir_ulb *weir_ulb_nfs(uint32_t vers);

WEIR_API const struct weir_ulb *weir_ulb_nfs_find(uint32_t prog, uint32_t vers);

#define WEIR_NFS_UNBOUNDED UINT32_MAX

WEIR_API uint32_t weir_ulb_nfs_results_max(uint32_t vers, uint32_t proc, uint32_t count);

WEIR_API uint32_t weir_ulb_nfs4_op_results_max(uint32_t op, uint32_t count);

enum weir_nfs4_eligible {
	WEIR_NFS4_NOTHING,
	WEIR_NFS4_ARGUMENT,
	WEIR_NFS4_RESULT,
};

WEIR_API enum weir_nfs4_eligible weir_ulb_nfs4_op(uint32_t op);

WEIR_API uint32_t weir_ulb_nfs4_pair(const uint32_t *ops, uint32_t nops, uint32_t nchunks,
				     uint32_t *chunk_of);

WEIR_END_DECLS

#endif
