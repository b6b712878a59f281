/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RPC_MSG_H
#define RPC_MSG_H

/* Encodes and decodes RPC headers (RFC 5531 section 9) for the requester, the responder and the
 * tools. */

#include <endian.h>

#include <weir/rpc.h>

#include "wire.h"

/* The body of AUTH_NONE in a header that was not decoded field by field. It has no bytes. */
extern const uint8_t rpc_no_body[1];

/*
 * Decodes the header of a call. 'in' is at the first byte of the RPC message. The function stores
 * the decoded fields in *hdr, and zeros in all others. Returns 0, or one of these errors:
 *
 * - -EBADMSG: the message is too short, its msg_type is not CALL, or a body of authentication is
 *   reduced.
 * - WEIR_RPC_AUTH_BADCRED or WEIR_RPC_AUTH_BADVERF: the credential or the verifier is truncated or
 *   over 400 bytes. The fields before the credential or verifier are in *hdr. The caller answers
 *   with AUTH_ERROR and this status (RFC 5531 section 9).
 *
 * The responder must check rpcvers first. If rpcvers is not 2, the fields after it are not decoded.
 */
int rpc_call_decode(struct weir_xdr_in *in, struct weir_rpc_call_header *hdr);

/* Returns whether the header is a plain header: version 2, AUTH_NONE twice, and contiguous. Most
 * calls have a plain header. Therefore rpc_call_decode() tests this condition first. For a decoder
 * that has failed the result is false, because such a decoder has no bytes left. */
static inline bool rpc_is_plain_call(const struct weir_xdr_in *in)
{
	if (in->is_item || in->end - in->p < (ptrdiff_t)WEIR_RPC_CALL_HEADER_MIN)
		return false;
	return ((wire_raw_u64(in->p + 4) ^
		 htobe64((uint64_t)WEIR_RPC_CALL << 32 | WEIR_RPC_VERSION)) |
		wire_raw_u64(in->p + 24) | wire_raw_u64(in->p + 32)) == 0;
}

/* Decodes a plain header into *hdr, and moves 'in' after it. */
static inline void rpc_decode_plain_call(struct weir_xdr_in *in, struct weir_rpc_call_header *hdr)
{
	hdr->xid = wire_get_u32(in->p);
	hdr->rpcvers = WEIR_RPC_VERSION;
	hdr->prog = wire_get_u32(in->p + 12);
	hdr->vers = wire_get_u32(in->p + 16);
	hdr->proc = wire_get_u32(in->p + 20);
	hdr->cred = (struct weir_rpc_auth){WEIR_RPC_AUTH_NONE, 0, rpc_no_body};
	hdr->verf = (struct weir_rpc_auth){WEIR_RPC_AUTH_NONE, 0, rpc_no_body};
	in->p += WEIR_RPC_CALL_HEADER_MIN;
}

/* Returns the program and version in the plain call header at 'at', in the byte order of the wire.
 */
static inline uint64_t rpc_prog_vers(const uint8_t *at)
{
	return wire_raw_u64(at + 12);
}

/* Encodes the header of a call. Returns 0, -ENOSPC if 'out' has too little room, or -EINVAL if the
 * credential or the verifier is over 400 bytes. */
int rpc_call_encode(struct weir_xdr_out *out, const struct weir_rpc_call_header *hdr);

/* Decodes the header of a reply. Returns 0, or -EBADMSG in these cases:
 *
 * - The message is too short.
 * - Its msg_type is not REPLY.
 * - An enum has a value that RFC 5531 does not declare. */
int rpc_reply_decode(struct weir_xdr_in *in, struct weir_rpc_reply_header *hdr);

/* Returns whether the WEIR_RPC_REPLY_HEADER_MIN bytes at 'at' are a plain header: accepted,
 * AUTH_NONE and SUCCESS. In a plain header, all words except the XID and the type are zero. Most
 * replies have such a header. Therefore rpc_reply_decode() tests this condition first. */
static inline bool rpc_is_plain_reply(const uint8_t *at)
{
	return ((wire_raw_u64(at + 4) ^ htobe64((uint64_t)WEIR_RPC_REPLY << 32)) |
		wire_raw_u64(at + 12) | wire_raw_u32(at + 20)) == 0;
}

static inline void rpc_decode_plain_reply(struct weir_xdr_in *in, struct weir_rpc_reply_header *hdr)
{
	*hdr = (struct weir_rpc_reply_header){.xid = wire_get_u32(in->p), .verf.body = in->p + 20};
	in->p += WEIR_RPC_REPLY_HEADER_MIN;
}

/* Fills in 'hdr' and 'in' for a plain reply that ends at 'end' and has the XID 'xid'. The reply
 * must be contiguous. All members of 'hdr' except xid must already have the values of a plain
 * reply, with rpc_no_body as the body. 'in' can have the state of an earlier message. */
static inline void rpc_view_plain_reply(const uint8_t *at, const uint8_t *end, uint32_t xid,
					struct weir_xdr_in *in, struct weir_rpc_reply_header *hdr)
{
	hdr->xid = xid;
	in->p = at + WEIR_RPC_REPLY_HEADER_MIN;
	in->end = end;
	in->nparts = 0;
	in->is_item = in->failed = false;
	in->later_bytes = 0;
}

/*
 * Encodes the header of a reply. Returns 0, -ENOSPC if 'out' has too little room, or -EINVAL in
 * these cases:
 *
 * - An enum has a value that RFC 5531 does not declare.
 * - The verifier is over 400 bytes.
 */
int rpc_reply_encode(struct weir_xdr_out *out, const struct weir_rpc_reply_header *hdr);

/* Returns whether a call with this credential must not have a data item in a chunk. If such a call
 * has a data item in a chunk, the call must not be processed (RFC 8166 sections 6.1 and 8.2.2). The
 * result is true for RPCSEC_GSS in these cases:
 *
 * - with integrity or privacy
 * - with a control message
 * - with a credential that weir cannot parse */
bool rpc_auth_forbids_items(const struct weir_rpc_auth *cred);

/* Returns whether no item of a call with this credential, or of its reply, is allowed to be reduced
 * (RFC 8166 section 8.2.2). The result is true if rpc_auth_forbids_items() is true, or if weir does
 * not know the flavor of the credential. */
bool rpc_auth_forbids_reduction(const struct weir_rpc_auth *cred);

#endif
