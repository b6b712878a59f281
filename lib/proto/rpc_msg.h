/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RPC_MSG_H
#define RPC_MSG_H

/* RPC headers (RFC 5531 section 9): encode and decode, shared by requester, responder and tools. */

#include "weir_rpc.h"

/* 0, or -EBADMSG: too short, msg_type not CALL, a body over 400 bytes or reduced. rpcvers is for the
 * responder to judge, first of all: when it isn't 2, what follows it is not decoded and zero in *hdr. */
int rpc_call_decode(struct weir_xdr_in *in, struct weir_rpc_call_header *hdr);

/* 0; -ENOSPC; -EINVAL: a credential or verifier over its bound. */
int rpc_call_encode(struct weir_xdr_out *out, const struct weir_rpc_call_header *hdr);

/* 0, or -EBADMSG: too short, msg_type not REPLY, an enum value that RFC 5531 does not declare. */
int rpc_reply_decode(struct weir_xdr_in *in, struct weir_rpc_reply_header *hdr);

/* 0; -ENOSPC; -EINVAL: such a value, or a verifier over its bound. */
int rpc_reply_encode(struct weir_xdr_out *out, const struct weir_rpc_reply_header *hdr);

/* True when the credential says RPCSEC_GSS with integrity or privacy, or cannot be understood: then
 * nothing may be reduced (RFC 8166 section 8.2.2). */
bool rpc_auth_forbids_reduction(const struct weir_rpc_auth *cred);

#endif
