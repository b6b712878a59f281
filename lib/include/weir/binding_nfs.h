/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_BINDING_NFS_H
#define WEIR_BINDING_NFS_H

/*
 * Upper-layer bindings of NFS (RFC 8267): versions 2, 3 and 4 (minor versions 0, 1 and 2), and the
 * programs that accompany NFS. These items, and no others, are DDP-eligible:
 *
 *     version  arguments                                    results
 *     2, 3     WRITE's data; SYMLINK's path                 READ's data; READLINK's path
 *     4.x      WRITE's data; the link's path of CREATE      READ's data; READLINK's path
 *     NFSACL, MOUNT, NLM, NSM: none
 *
 * Pass the binding in weir_call_params.ulb or weir_program.ulb. weir then enforces it on both sides
 * (RFC 8166 section 6.1):
 * - If a call has more Read chunks than eligible arguments, the responder answers ERR_CHUNK.
 * - If a Read chunk replaces anything but a whole opaque that the program decodes with
 *   weir_xdr_get_opaque_ref(), decoding fails. The program then answers GARBAGE_ARGS.
 * - If a result arrives in a way that the binding does not allow, the call ends with -EBADMSG.
 *
 * Thread of all functions: any. The functions have no side effects.
 */

#include <weir/binding.h>

WEIR_BEGIN_DECLS

#define WEIR_NFS_PROGRAM    100003u /**< program number of NFS */
#define WEIR_NFSACL_PROGRAM 100227u /**< program number of NFSACL */
#define WEIR_MOUNT_PROGRAM  100005u /**< program number of MOUNT */
#define WEIR_NLM_PROGRAM    100021u /**< program number of NLM */
#define WEIR_NSM_PROGRAM    100024u /**< program number of NSM */

/**
 * Port of NFS over RDMA (RFC 8267). A client of version 4 connects to it without a query to
 * rpcbind. Versions 2 and 3 can use any port, registered with rpcbind under the network identifiers
 * below.
 */
#define WEIR_NFS_RDMA_PORT   20049u
#define WEIR_NFS_RDMA_NETID  "rdma"  /**< network identifier for IPv4 */
#define WEIR_NFS_RDMA6_NETID "rdma6" /**< network identifier for IPv6 */

/*
 * Limits of one COMPOUND that every server accepts (RFC 8267). A client of version 4 keeps to them
 * if it does not know the server's limits.
 */
#define WEIR_NFS4_READ_CHUNKS_UNASKED  1u  /**< Read chunks other than Position Zero chunks */
#define WEIR_NFS4_WRITE_CHUNKS_UNASKED 1u  /**< Write chunks */
#define WEIR_NFS4_SEGMENTS_UNASKED     16u /**< segments per chunk */

/**
 * Finds the binding of NFS.
 *
 * @param vers version 2, 3 or 4; 4 covers all of its minor versions
 * @return the binding, or NULL for other versions
 */
WEIR_API const struct weir_ulb *weir_ulb_nfs(uint32_t vers);

/**
 * Finds the binding of one of the programs above.
 *
 * @param prog program number
 * @param vers version of the program
 * @return the binding, or NULL for other programs and versions
 */
WEIR_API const struct weir_ulb *weir_ulb_nfs_find(uint32_t prog, uint32_t vers);

/* ---- sizes of replies ---- */

/** The protocol does not limit the size of a result. */
#define WEIR_NFS_UNBOUNDED UINT32_MAX

/**
 * Returns the maximum size of a procedure's results, for weir_call_params.results_max_bytes.
 *
 * @param vers version 2, 3 or 4. For COMPOUND of version 4 the size excludes the operations; see
 * weir_ulb_nfs4_op_results_max().
 * @param proc procedure number
 * @param count the argument 'count' of READDIR, or 'maxcount' of READDIRPLUS; ignored for other
 * procedures
 * @return bytes of XDR, without eligible items; 0 if there is no such procedure
 */
WEIR_API uint32_t weir_ulb_nfs_results_max(uint32_t vers, uint32_t proc, uint32_t count);

/**
 * Returns the maximum size of the results of one operation of a COMPOUND. To find the size for the
 * COMPOUND, add the sizes of its operations to that of weir_ulb_nfs_results_max().
 *
 * @param op operation number
 * @param count the argument 'maxcount' of READDIR; ignored for other operations
 * @return bytes of XDR, with the operation's number and status and without eligible items. The
 * function returns WEIR_NFS_UNBOUNDED for operations that return attributes, delegations or bodies
 * of pNFS, and for unknown operations. The client then needs another bound: an earlier reply or,
 * from version 4.1 on, the session's ca_maxresponsesize.
 */
WEIR_API uint32_t weir_ulb_nfs4_op_results_max(uint32_t op, uint32_t count);

/* ---- COMPOUND: which operation has which chunk (RFC 8267) ---- */

/** The DDP-eligible item of a COMPOUND operation, in the union arm that is not an error. */
enum weir_nfs4_eligible {
	WEIR_NFS4_NOTHING,  /**< none */
	WEIR_NFS4_ARGUMENT, /**< data of WRITE; link path of CREATE for a symbolic link */
	WEIR_NFS4_RESULT,   /**< data of READ; path of READLINK. READ_PLUS has none. */
};

/**
 * Returns which item of a COMPOUND operation is DDP-eligible.
 *
 * @param op operation number
 * @return the item; WEIR_NFS4_NOTHING for unknown operations
 * @rfc 8267 section 5.1
 */
WEIR_API enum weir_nfs4_eligible weir_ulb_nfs4_op(uint32_t op);

/**
 * Assigns the Write chunks of a COMPOUND to its operations.
 *
 * - An operation with a chunk that is not empty returns its data in the chunk.
 * - An operation with an empty chunk, or without a chunk, returns its data inline.
 * - An operation that returns a union arm without data, such as an error, leaves its chunk unused.
 *   The responder then calls weir_request_result_absent() instead of weir_request_result_item().
 *
 * Read chunks need no assignment, because their position identifies the argument.
 *
 * @param ops operation numbers
 * @param nops entries of ops and chunk_of
 * @param nchunks chunks in the Write list
 * @param[out] chunk_of for each operation the index of its chunk, from 0; UINT32_MAX if the
 * operation has no eligible result, or if earlier operations have all chunks
 * @return the number of chunks that have an operation
 */
WEIR_API uint32_t weir_ulb_nfs4_pair(const uint32_t *ops, uint32_t nops, uint32_t nchunks,
				     uint32_t *chunk_of);

WEIR_END_DECLS

#endif
