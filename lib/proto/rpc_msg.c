/* SPDX-License-Identifier: BSD-3-Clause */
/* Encodes and decodes ONC RPC message headers (RFC 5531 section 9), and the credentials that weir
 * knows. */
#include "rpc_msg.h"

#include "wire.h"

#include "compiler.h"
#include "xdr_ref.h"

/* Values of an RPCSEC_GSS credential, and the length of its part before the handle (RFC 2203
 * section 5). */
#define GSS_VERSION_1	 1u
#define GSS_PROC_DATA	 0u
#define GSS_SERVICE_NONE 1u
#define GSS_CRED_MIN	 16u

const uint8_t rpc_no_body[1];

static int get_auth(struct weir_xdr_in *in, struct weir_rpc_auth *auth)
{
	const void *body;

	auth->len_bytes = 0;
	auth->body = NULL;
	if (weir_xdr_get_u32(in, &auth->flavor) != 0)
		return -EBADMSG;
	/* Credentials and verifiers are never reduced (RFC 8166 section 8.2.2). */
	if (xdr_get_inline_ref(in, &body, WEIR_RPC_AUTH_BODY_MAX, &auth->len_bytes) != 0)
		return -EBADMSG;
	auth->body = body;
	return 0;
}

static int put_auth(struct weir_xdr_out *out, const struct weir_rpc_auth *auth)
{
	if (auth->len_bytes > WEIR_RPC_AUTH_BODY_MAX)
		return -EINVAL;
	if (weir_xdr_put_u32(out, auth->flavor) != 0)
		return -ENOSPC;
	return weir_xdr_put_opaque(out, auth->body, auth->len_bytes);
}

/* Decodes an enum of RFC 5531 whose values are 0 to 'last'. Returns 0 or -EBADMSG. */
static int get_enum(struct weir_xdr_in *in, uint32_t last, uint32_t *value)
{
	if (weir_xdr_get_u32(in, value) != 0 || *value > last)
		return -EBADMSG;
	return 0;
}

static int get_range(struct weir_xdr_in *in, uint32_t *low, uint32_t *high)
{
	if (weir_xdr_get_u32(in, low) != 0)
		return -EBADMSG;
	return weir_xdr_get_u32(in, high);
}

static bool has_items(const struct weir_xdr_in *in)
{
	bool has = in->is_item;

	for (uint32_t i = 0; i < in->nparts; i++)
		has |= in->next[i].is_item;
	return has;
}

/* Decodes the credential or the verifier of a call. Returns 0. If this fails, returns 'bad', or
 * -EBADMSG if the stream has items. In the second case an item can be the cause of the failure,
 * which then is a fault of the transport header and not of authentication. */
static int get_call_auth(struct weir_xdr_in *in, struct weir_rpc_auth *auth,
			 enum weir_rpc_auth_stat bad)
{
	const struct weir_xdr_in begin = *in;

	if (get_auth(in, auth) == 0)
		return 0;
	*auth = (struct weir_rpc_auth){.flavor = auth->flavor};
	return has_items(&begin) ? -EBADMSG : (int)bad;
}

/* Decodes the header of a call that is not plain. Returns the values of rpc_call_decode(). This
 * function and decode_reply() are out of line, because their stack frames would slow down the
 * decoding of plain headers. */
static out_of_line int decode_call(struct weir_xdr_in *in, struct weir_rpc_call_header *hdr)
{
	uint32_t type;
	int rc;

	*hdr = (struct weir_rpc_call_header){0};
	if (weir_xdr_get_u32(in, &hdr->xid) != 0 || weir_xdr_get_u32(in, &type) != 0 ||
	    type != WEIR_RPC_CALL || weir_xdr_get_u32(in, &hdr->rpcvers) != 0)
		return -EBADMSG;
	if (hdr->rpcvers != WEIR_RPC_VERSION)
		return 0; /* The form of the fields after rpcvers is known only for version 2. */
	if (weir_xdr_get_u32(in, &hdr->prog) != 0 || weir_xdr_get_u32(in, &hdr->vers) != 0 ||
	    weir_xdr_get_u32(in, &hdr->proc) != 0)
		return -EBADMSG;
	rc = get_call_auth(in, &hdr->cred, WEIR_RPC_AUTH_BADCRED);
	return rc != 0 ? rc : get_call_auth(in, &hdr->verf, WEIR_RPC_AUTH_BADVERF);
}

int rpc_call_decode(struct weir_xdr_in *in, struct weir_rpc_call_header *hdr)
{
	if (!rpc_is_plain_call(in))
		return decode_call(in, hdr);
	rpc_decode_plain_call(in, hdr);
	return 0;
}

int rpc_call_encode(struct weir_xdr_out *out, const struct weir_rpc_call_header *hdr)
{
	int rc;

	weir_xdr_put_u32(out, hdr->xid);
	weir_xdr_put_u32(out, WEIR_RPC_CALL);
	weir_xdr_put_u32(out, hdr->rpcvers);
	weir_xdr_put_u32(out, hdr->prog);
	weir_xdr_put_u32(out, hdr->vers);
	weir_xdr_put_u32(out, hdr->proc);
	rc = put_auth(out, &hdr->cred);
	if (rc != 0)
		return rc;
	rc = put_auth(out, &hdr->verf);
	if (rc != 0)
		return rc;
	return out->failed ? -ENOSPC : 0;
}

static int get_accepted(struct weir_xdr_in *in, struct weir_rpc_reply_header *hdr)
{
	if (get_auth(in, &hdr->verf) != 0 ||
	    get_enum(in, WEIR_RPC_SYSTEM_ERR, &hdr->accept_stat) != 0)
		return -EBADMSG;
	if (hdr->accept_stat == WEIR_RPC_PROG_MISMATCH)
		return get_range(in, &hdr->low, &hdr->high);
	return 0;
}

static int get_denied(struct weir_xdr_in *in, struct weir_rpc_reply_header *hdr)
{
	if (get_enum(in, WEIR_RPC_AUTH_ERROR, &hdr->reject_stat) != 0)
		return -EBADMSG;
	if (hdr->reject_stat == WEIR_RPC_MISMATCH)
		return get_range(in, &hdr->low, &hdr->high);
	return get_enum(in, WEIR_RPC_GSS_CTXPROBLEM, &hdr->auth_stat);
}

static out_of_line int decode_reply(struct weir_xdr_in *in, struct weir_rpc_reply_header *hdr)
{
	uint32_t type;

	*hdr = (struct weir_rpc_reply_header){0};
	if (weir_xdr_get_u32(in, &hdr->xid) != 0 || weir_xdr_get_u32(in, &type) != 0 ||
	    type != WEIR_RPC_REPLY || get_enum(in, WEIR_RPC_MSG_DENIED, &hdr->reply_stat) != 0)
		return -EBADMSG;
	if (hdr->reply_stat == WEIR_RPC_MSG_ACCEPTED)
		return get_accepted(in, hdr);
	return get_denied(in, hdr);
}

int rpc_reply_decode(struct weir_xdr_in *in, struct weir_rpc_reply_header *hdr)
{
	if (in->is_item || in->end - in->p < (ptrdiff_t)WEIR_RPC_REPLY_HEADER_MIN ||
	    !rpc_is_plain_reply(in->p))
		return decode_reply(in, hdr);
	rpc_decode_plain_reply(in, hdr);
	return 0;
}

static int put_accepted(struct weir_xdr_out *out, const struct weir_rpc_reply_header *hdr)
{
	int rc;

	if (hdr->accept_stat > WEIR_RPC_SYSTEM_ERR)
		return -EINVAL;
	rc = put_auth(out, &hdr->verf);
	if (rc != 0)
		return rc;
	weir_xdr_put_u32(out, hdr->accept_stat);
	if (hdr->accept_stat == WEIR_RPC_PROG_MISMATCH) {
		weir_xdr_put_u32(out, hdr->low);
		weir_xdr_put_u32(out, hdr->high);
	}
	return out->failed ? -ENOSPC : 0;
}

static int put_denied(struct weir_xdr_out *out, const struct weir_rpc_reply_header *hdr)
{
	if (hdr->reject_stat > WEIR_RPC_AUTH_ERROR)
		return -EINVAL;
	if (hdr->reject_stat == WEIR_RPC_AUTH_ERROR && hdr->auth_stat > WEIR_RPC_GSS_CTXPROBLEM)
		return -EINVAL;
	weir_xdr_put_u32(out, hdr->reject_stat);
	if (hdr->reject_stat == WEIR_RPC_MISMATCH) {
		weir_xdr_put_u32(out, hdr->low);
		weir_xdr_put_u32(out, hdr->high);
	} else {
		weir_xdr_put_u32(out, hdr->auth_stat);
	}
	return out->failed ? -ENOSPC : 0;
}

int rpc_reply_encode(struct weir_xdr_out *out, const struct weir_rpc_reply_header *hdr)
{
	weir_xdr_put_u32(out, hdr->xid);
	weir_xdr_put_u32(out, WEIR_RPC_REPLY);
	weir_xdr_put_u32(out, hdr->reply_stat);
	switch (hdr->reply_stat) {
	case WEIR_RPC_MSG_ACCEPTED:
		return put_accepted(out, hdr);
	case WEIR_RPC_MSG_DENIED:
		return put_denied(out, hdr);
	default:
		return -EINVAL;
	}
}

static bool gss_forbids_reduction(const struct weir_rpc_auth *cred)
{
	uint32_t version, proc, service;

	if (cred->len_bytes < GSS_CRED_MIN)
		return true;
	version = wire_get_u32(cred->body);
	proc = wire_get_u32(cred->body + 4);
	service = wire_get_u32(cred->body + 12); /* after the sequence number */
	/* Control messages are not reduced either, because they have other arguments than data
	 * messages. */
	return version != GSS_VERSION_1 || proc != GSS_PROC_DATA || service != GSS_SERVICE_NONE;
}

bool rpc_auth_forbids_items(const struct weir_rpc_auth *cred)
{
	return cred->flavor == WEIR_RPC_AUTH_GSS && gss_forbids_reduction(cred);
}

bool rpc_auth_forbids_reduction(const struct weir_rpc_auth *cred)
{
	switch (cred->flavor) {
	case WEIR_RPC_AUTH_NONE:
	case WEIR_RPC_AUTH_SYS:
	case WEIR_RPC_AUTH_SHORT:
	case WEIR_RPC_AUTH_DH:
	case WEIR_RPC_AUTH_TLS:
		return false;
	case WEIR_RPC_AUTH_GSS:
		return gss_forbids_reduction(cred);
	default:
		return true;
	}
}

int weir_rpc_auth_sys_decode(const struct weir_rpc_auth *auth, struct weir_rpc_auth_sys *sys)
{
	struct weir_xdr_in in;
	const void *name;

	if (auth->flavor != WEIR_RPC_AUTH_SYS)
		return -EINVAL;
	if (auth->len_bytes == 0 || auth->len_bytes > WEIR_RPC_AUTH_BODY_MAX)
		return -EBADMSG;
	weir_xdr_in_init(&in, auth->body, auth->len_bytes);
	if (weir_xdr_get_u32(&in, &sys->stamp) != 0 ||
	    weir_xdr_get_opaque_ref(&in, &name, WEIR_RPC_MACHINE_NAME_MAX, &sys->name_len_bytes) !=
		    0 ||
	    weir_xdr_get_u32(&in, &sys->uid) != 0 || weir_xdr_get_u32(&in, &sys->gid) != 0 ||
	    weir_xdr_get_u32(&in, &sys->ngids) != 0 || sys->ngids > WEIR_RPC_GIDS_MAX)
		return -EBADMSG;
	sys->name = name;
	for (uint32_t i = 0; i < sys->ngids; i++)
		if (weir_xdr_get_u32(&in, &sys->gids[i]) != 0)
			return -EBADMSG;
	return weir_xdr_remaining(&in) == 0 ? 0 : -EBADMSG;
}

int weir_rpc_auth_sys_encode(const struct weir_rpc_auth_sys *sys, uint8_t *buf,
			     struct weir_rpc_auth *auth)
{
	struct weir_xdr_out out;

	if (sys->name_len_bytes > WEIR_RPC_MACHINE_NAME_MAX || sys->ngids > WEIR_RPC_GIDS_MAX)
		return -EINVAL;
	weir_xdr_out_init(&out, buf, WEIR_RPC_AUTH_BODY_MAX);
	weir_xdr_put_u32(&out, sys->stamp);
	weir_xdr_put_opaque(&out, sys->name, sys->name_len_bytes);
	weir_xdr_put_u32(&out, sys->uid);
	weir_xdr_put_u32(&out, sys->gid);
	weir_xdr_put_u32(&out, sys->ngids);
	for (uint32_t i = 0; i < sys->ngids; i++)
		weir_xdr_put_u32(&out, sys->gids[i]);
	/* The body has at most 4 + 4 + 256 + 12 + 64 bytes. Therefore all puts have succeeded. */
	auth->flavor = WEIR_RPC_AUTH_SYS;
	auth->len_bytes = (uint32_t)weir_xdr_out_len(&out);
	auth->body = buf;
	return 0;
}
