/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_BINDING_NFS_H
#define WEIR_BINDING_NFS_H

/*
 * NFS over RPC-over-RDMA: upper-layer bindings (RFC 8267) for versions 2, 3 and 4 (minor versions
 * 0, 1 and 2) and for the programs that go with them. What is DDP-eligible, and nothing else:
 *
 *     version  arguments                                    results
 *     2, 3     WRITE's data; SYMLINK's path                 READ's data; READLINK's path
 *     4.x      WRITE's data; the link's path of CREATE      READ's data; READLINK's path
 *     NFSACL, MOUNT, NLM, NSM: none
 *
 * Give the table to weir_call_params.ulb or weir_program.ulb. weir then holds both sides to it (RFC
 * 8166 section 6.1): more Read chunks than a call has eligible arguments are answered ERR_CHUNK, a
 * Read chunk in the place of anything but a whole opaque that the program takes with
 * weir_xdr_get_opaque_ref() fails to decode, which is for the program to answer GARBAGE_ARGS; and a
 * result that came by the wrong way ends the call with -EBADMSG.
 *
 * All functions: any thread, no side effects.
 */

#include <weir/binding.h>

WEIR_BEGIN_DECLS

#define WEIR_NFS_PROGRAM    100003u
#define WEIR_NFSACL_PROGRAM 100227u
#define WEIR_MOUNT_PROGRAM  100005u
#define WEIR_NLM_PROGRAM    100021u
#define WEIR_NSM_PROGRAM    100024u

/** Where NFS over RDMA is served (RFC 8267). A client of version 4 connects to it without asking
 * rpcbind; versions 2 and 3 may use any port, and be registered with rpcbind under these network
 * identifiers. */
#define WEIR_NFS_RDMA_PORT   20049u
#define WEIR_NFS_RDMA_NETID  "rdma"
#define WEIR_NFS_RDMA6_NETID "rdma6"

/** What a client of version 4 keeps to in one COMPOUND when it knows nothing of the server, and
 * what each server accepts (RFC 8267): so many Read chunks besides Position Zero, Write chunks, and
 * segments in any chunk. */
#define WEIR_NFS4_READ_CHUNKS_UNASKED  1u
#define WEIR_NFS4_WRITE_CHUNKS_UNASKED 1u
#define WEIR_NFS4_SEGMENTS_UNASKED     16u

/** The binding of NFS version 2, 3 or 4 (all its minor versions); NULL for others. */
WEIR_API const struct weir_ulb *weir_ulb_nfs(uint32_t vers);

/** The binding of any program above; NULL for other programs and versions. */
WEIR_API const struct weir_ulb *weir_ulb_nfs_find(uint32_t prog, uint32_t vers);

/* ---- sizes of replies ---- */

/** A result has no bound in the protocol. */
#define WEIR_NFS_UNBOUNDED UINT32_MAX

/** Bytes of XDR that the results of 'proc' of NFS version 2 or 3 can have, eligible items left out:
 * for weir_call_params.results_max_bytes. 'count' is READDIR's count or READDIRPLUS's maxcount, and
 * not looked at otherwise. Version 4: COMPOUND's words alone, see weir_ulb_nfs4_op_results_max(). 0
 * for what has no such procedure. */
WEIR_API uint32_t weir_ulb_nfs_results_max(uint32_t vers, uint32_t proc, uint32_t count);

/** The same for one operation of a COMPOUND, its number and status included, to be summed. 'count'
 * is READDIR's maxcount. WEIR_NFS_UNBOUNDED: attributes, delegations' and pNFS's bodies, and
 * operations that are not known here. Then the client needs a bound of its own: an earlier answer,
 * or since 4.1 the session's ca_maxresponsesize, which bounds all. */
WEIR_API uint32_t weir_ulb_nfs4_op_results_max(uint32_t op, uint32_t count);

/* ---- COMPOUND: which operation has which chunk (RFC 8267) ---- */

/** What a COMPOUND operation has that is DDP-eligible, in the arm of its union that is not an
 * error. */
enum weir_nfs4_eligible {
	WEIR_NFS4_NOTHING,
	WEIR_NFS4_ARGUMENT, /**< WRITE's data; CREATE's link path when it makes a symbolic link */
	WEIR_NFS4_RESULT,   /**< READ's data, READLINK's path. READ_PLUS has none */
};

/** What may travel by a chunk of an operation of a COMPOUND (RFC 8267 section 5.1);
 * WEIR_NFS4_NOTHING for those that are not known here. Any thread. */
WEIR_API enum weir_nfs4_eligible weir_ulb_nfs4_op(uint32_t op);

/** Which Write chunk each of 'nops' operations has: chunk_of[i] is set to its index, from 0, or to
 * UINT32_MAX when operation i has no eligible result or the Write list, of 'nchunks', ends before.
 * Returns how many chunks have an operation.
 *
 * An operation whose chunk is not empty returns its data by it; one whose chunk is empty, or
 * without one, inline. One that takes an arm without data, as on error, leaves its chunk unused to
 * keep the order: a responder says so with weir_request_result_absent() where
 * weir_request_result_item() would have been. Arguments need no pairing: a Read chunk says its
 * place by its position. */
WEIR_API uint32_t weir_ulb_nfs4_pair(const uint32_t *ops, uint32_t nops, uint32_t nchunks,
				     uint32_t *chunk_of);

WEIR_END_DECLS

#endif
