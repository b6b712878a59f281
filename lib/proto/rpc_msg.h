/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RPC_MSG_H
#define RPC_MSG_H

/* RPC headers (RFC 5531 section 9): encode and decode, shared by requester, responder and tools. */

#include <weir/rpc.h>

#include "wire.h"

/* Where the body of AUTH_NONE points in a header that was not decoded field by field: it has no
 * bytes. */
extern const uint8_t rpc_no_body[1];

/* Decode a call's header.
 * in: at the first byte of the RPC message. hdr: what is decoded, and zeros.
 * Returns 0; -EBADMSG: the message is too short, its msg_type is not CALL, or a body of
 * authentication is reduced; WEIR_RPC_AUTH_BADCRED or WEIR_RPC_AUTH_BADVERF: the credential or the
 * verifier is cut short or over 400 bytes, which is to be answered by AUTH_ERROR with that status;
 * the fields before it are in *hdr (RFC 5531 section 9). rpcvers is for the responder to judge,
 * first of all: when it isn't 2, what follows it is not decoded. */
int rpc_call_decode(struct weir_xdr_in *in, struct weir_rpc_call_header *hdr);

/* What rpc_call_decode() does first: whether the header is the one that most calls have, in one
 * piece: version 2, AUTH_NONE twice. A decoder that failed has nothing left. And what it says of
 * one. */
static inline bool rpc_is_plain_call(const struct weir_xdr_in *in)
{
	if (in->is_item || in->end - in->p < (ptrdiff_t)WEIR_RPC_CALL_HEADER_MIN)
		return false;
	return ((wire_raw_u64(in->p + 4) ^
		 htobe64((uint64_t)WEIR_RPC_CALL << 32 | WEIR_RPC_VERSION)) |
		wire_raw_u64(in->p + 24) | wire_raw_u64(in->p + 32)) == 0;
}

static inline void rpc_take_plain_call(struct weir_xdr_in *in, struct weir_rpc_call_header *hdr)
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

/* What a plain call's header at 'at' has of program and version, as it came. */
static inline uint64_t rpc_prog_vers(const uint8_t *at)
{
	return wire_raw_u64(at + 12);
}

/* 0; -ENOSPC; -EINVAL: a credential or verifier over its bound. */
int rpc_call_encode(struct weir_xdr_out *out, const struct weir_rpc_call_header *hdr);

/* 0, or -EBADMSG: too short, msg_type not REPLY, an enum value that RFC 5531 does not declare. */
int rpc_reply_decode(struct weir_xdr_in *in, struct weir_rpc_reply_header *hdr);

/* What rpc_reply_decode() does first: whether the WEIR_RPC_REPLY_HEADER_MIN bytes at 'at' are the
 * header that most replies have: accepted, AUTH_NONE, SUCCESS, which is all but the XID and the
 * type zero. And what it says of one, whose decoder is there. */
static inline bool rpc_is_plain_reply(const uint8_t *at)
{
	return ((wire_raw_u64(at + 4) ^ htobe64((uint64_t)WEIR_RPC_REPLY << 32)) |
		wire_raw_u64(at + 12) | wire_raw_u32(at + 20)) == 0;
}

static inline void rpc_take_plain_reply(struct weir_xdr_in *in, struct weir_rpc_reply_header *hdr)
{
	*hdr = (struct weir_rpc_reply_header){.xid = wire_get_u32(in->p), .verf.body = in->p + 20};
	in->p += WEIR_RPC_REPLY_HEADER_MIN;
}

/* The same of one that ends at 'end', all of the stream, and with that XID, where 'hdr' has nothing
 * else but rpc_no_body; whatever the decoder was used for. */
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

/* 0; -ENOSPC; -EINVAL: such a value, or a verifier over its bound. */
int rpc_reply_encode(struct weir_xdr_out *out, const struct weir_rpc_reply_header *hdr);

/* Whether a call with this credential must have no data item in a chunk, so that one that has is
 * not to be processed (RFC 8166 sections 6.1 and 8.2.2): RPCSEC_GSS with integrity or privacy, with
 * a control message, or not understood. */
bool rpc_auth_forbids_items(const struct weir_rpc_auth *cred);

/* True when the credential says RPCSEC_GSS with integrity or privacy, or cannot be understood: then
 * nothing may be reduced (RFC 8166 section 8.2.2). */
bool rpc_auth_forbids_reduction(const struct weir_rpc_auth *cred);

#endif
