/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for RPC headers (RFC 5531 section 9). The first byte of the input selects the
 * direction (odd: a reply). The next two bytes are the offset at which the message is divided. The
 * rest is the message.
 *
 * The target checks that:
 * - An accepted header is encoded to the same bytes, except padding. The encoder needs exactly that
 *   number of bytes, and fails with less.
 * - A message is refused if it ends before its header does, or if part of its header was moved to a
 *   chunk.
 * - If the message is divided into two parts, the result is the same, unless the division is inside
 *   data that are decoded in place.
 */
#include "fuzz.h"
#include "rpc_msg.h"

#define MESSAGE_MAX 2048u

/* A decoded header: 'reply' if 'is_reply' is set, and otherwise 'call'. */
struct header {
	bool is_reply;
	struct weir_rpc_call_header call;
	struct weir_rpc_reply_header reply;
};

static int decode(struct weir_xdr_in *in, struct header *hdr)
{
	return hdr->is_reply ? rpc_reply_decode(in, &hdr->reply) : rpc_call_decode(in, &hdr->call);
}

static int encode(struct weir_xdr_out *out, const struct header *hdr)
{
	return hdr->is_reply ? rpc_reply_encode(out, &hdr->reply)
			     : rpc_call_encode(out, &hdr->call);
}

/*
 * Returns true for a call of another RPC version. Only its version is known, so that it cannot be
 * encoded.
 */
static bool is_version_only(const struct header *hdr)
{
	return !hdr->is_reply && hdr->call.rpcvers != WEIR_RPC_VERSION;
}

static bool is_same_auth(const struct weir_rpc_auth *a, const struct weir_rpc_auth *b)
{
	return a->flavor == b->flavor && a->len_bytes == b->len_bytes &&
	       (a->len_bytes == 0 || memcmp(a->body, b->body, a->len_bytes) == 0);
}

static bool is_same(const struct header *a, const struct header *b)
{
	if (a->is_reply)
		return a->reply.xid == b->reply.xid && a->reply.reply_stat == b->reply.reply_stat &&
		       a->reply.accept_stat == b->reply.accept_stat &&
		       a->reply.reject_stat == b->reply.reject_stat &&
		       a->reply.auth_stat == b->reply.auth_stat && a->reply.low == b->reply.low &&
		       a->reply.high == b->reply.high &&
		       is_same_auth(&a->reply.verf, &b->reply.verf);
	return a->call.xid == b->call.xid && a->call.rpcvers == b->call.rpcvers &&
	       a->call.prog == b->call.prog && a->call.vers == b->call.vers &&
	       a->call.proc == b->call.proc && is_same_auth(&a->call.cred, &b->call.cred) &&
	       is_same_auth(&a->call.verf, &b->call.verf);
}

/* ---- encoding ---- */

/*
 * Sets padding to zero, because received padding can have any value, and encoded padding is zero.
 */
static void clear_padding(uint8_t *copy, const uint8_t *msg, const struct weir_rpc_auth *auth)
{
	if (auth->len_bytes > 0)
		memset(copy + (auth->body - msg) + auth->len_bytes, 0,
		       weir_xdr_pad(auth->len_bytes));
}

static void check_encode(const struct header *hdr, const uint8_t *msg, uint32_t header_bytes)
{
	uint8_t *want = fuzz_copy(msg, header_bytes);
	struct weir_xdr_out out;

	if (hdr->is_reply) {
		clear_padding(want, msg, &hdr->reply.verf);
	} else {
		clear_padding(want, msg, &hdr->call.cred);
		clear_padding(want, msg, &hdr->call.verf);
	}
	for (uint32_t size = header_bytes;; size = size >= 8 ? size - 8 : 0) {
		uint8_t *room = fuzz_copy(NULL, size);
		int rc;

		weir_xdr_out_init(&out, room, size);
		rc = encode(&out, hdr);
		if (size == header_bytes) {
			REQUIRE(rc == 0 && weir_xdr_out_len(&out) == header_bytes);
			REQUIRE(memcmp(room, want, header_bytes) == 0);
		} else {
			REQUIRE(rc == -ENOSPC);
		}
		free(room);
		if (size == 0)
			break;
	}
	free(want);
}

/* ---- the same message in other parts ---- */

/* Returns true if the offset 'at' is inside data that are decoded in place. */
static bool cuts_body(const struct weir_rpc_auth *auth, const uint8_t *msg, uint32_t at)
{
	return auth->len_bytes > 1 && msg + at > auth->body &&
	       msg + at < auth->body + auth->len_bytes;
}

static bool cuts_any_body(const struct header *hdr, const uint8_t *msg, uint32_t at)
{
	if (hdr->is_reply)
		return cuts_body(&hdr->reply.verf, msg, at);
	return cuts_body(&hdr->call.cred, msg, at) || cuts_body(&hdr->call.verf, msg, at);
}

/*
 * Checks the message in two parts, divided at the offset 'at'. 'is_item' says that the second part
 * is in a chunk. 'ok' says that the whole message was accepted, with the header 'hdr'. A second
 * part in a chunk that begins directly after the header can be refused together with the header. It
 * has no count word before it, so that no decoder can read it.
 */
static void check_cut(const struct header *hdr, bool ok, const uint8_t *msg, uint32_t len,
		      uint32_t header_bytes, uint32_t at, bool is_item)
{
	uint8_t *pieces[2] = {fuzz_copy(msg, at), fuzz_copy(msg + at, len - at)};
	const struct weir_xdr_part parts[2] = {{pieces[0], at, 0}, {pieces[1], len - at, is_item}};
	struct header other = {.is_reply = hdr->is_reply};
	struct weir_xdr_in in;
	bool ok_now;

	weir_xdr_in_init_parts(&in, parts, 2);
	ok_now = decode(&in, &other) == 0;
	if (!ok || (is_item && at < header_bytes) || (!is_item && cuts_any_body(hdr, msg, at))) {
		REQUIRE(!ok_now);
	} else if (!is_item || at > header_bytes) {
		REQUIRE(ok_now);
		REQUIRE(is_same(hdr, &other));
		REQUIRE(weir_xdr_remaining(&in) == len - header_bytes);
	}
	free(pieces[0]);
	free(pieces[1]);
}

static void check_truncated(const struct header *hdr, const uint8_t *msg, uint32_t len)
{
	uint8_t *piece = fuzz_copy(msg, len);
	struct header other = {.is_reply = hdr->is_reply};
	struct weir_xdr_in in;

	weir_xdr_in_init(&in, piece, len);
	REQUIRE(decode(&in, &other) != 0);
	free(piece);
}

/* ---- credentials ---- */

static void check_auth_sys(const struct weir_rpc_auth *auth)
{
	struct weir_rpc_auth_sys sys, again;
	uint8_t body[WEIR_RPC_AUTH_BODY_MAX];
	struct weir_rpc_auth encoded;
	int rc = weir_rpc_auth_sys_decode(auth, &sys);

	REQUIRE(rc == 0 || rc == -EBADMSG || rc == -EINVAL);
	REQUIRE((rc == -EINVAL) == (auth->flavor != WEIR_RPC_AUTH_SYS));
	if (rc != 0)
		return;
	REQUIRE(sys.ngids <= WEIR_RPC_GIDS_MAX && sys.name_len_bytes <= WEIR_RPC_MACHINE_NAME_MAX);
	REQUIRE(weir_rpc_auth_sys_encode(&sys, body, &encoded) == 0);
	REQUIRE(encoded.len_bytes == auth->len_bytes);
	REQUIRE(weir_rpc_auth_sys_decode(&encoded, &again) == 0);
	REQUIRE(again.stamp == sys.stamp && again.uid == sys.uid && again.gid == sys.gid);
	REQUIRE(again.name_len_bytes == sys.name_len_bytes && again.ngids == sys.ngids);
	REQUIRE(memcmp(again.name, sys.name, sys.name_len_bytes) == 0);
	REQUIRE(memcmp(again.gids, sys.gids, sys.ngids * sizeof(sys.gids[0])) == 0);
}

static void check_auth(const struct weir_rpc_auth *auth)
{
	struct weir_rpc_auth exact = *auth;
	uint8_t *body = fuzz_copy(auth->body, auth->len_bytes);

	REQUIRE(auth->len_bytes <= WEIR_RPC_AUTH_BODY_MAX);
	exact.body = body;
	check_auth_sys(&exact);
	/*
	 * RPCSEC_GSS forbids chunks, except with version 1 and a service that protects no part of
	 * the data (RFC 2203).
	 */
	if (rpc_auth_forbids_reduction(&exact))
		REQUIRE(auth->flavor == WEIR_RPC_AUTH_GSS || auth->flavor > WEIR_RPC_AUTH_DH);
	else if (auth->flavor == WEIR_RPC_AUTH_GSS)
		REQUIRE(auth->len_bytes >= 16 && memcmp(body, "\0\0\0\1\0\0\0\0", 8) == 0 &&
			memcmp(body + 12, "\0\0\0\1", 4) == 0);
	free(body);
}

static void check_accepted(const struct header *hdr, const uint8_t *msg, uint32_t header_bytes,
			   uint32_t cut)
{
	if (hdr->is_reply) {
		REQUIRE(hdr->reply.reply_stat <= WEIR_RPC_MSG_DENIED);
		REQUIRE(hdr->reply.accept_stat <= WEIR_RPC_SYSTEM_ERR);
		REQUIRE(hdr->reply.reject_stat <= WEIR_RPC_AUTH_ERROR);
		REQUIRE(hdr->reply.auth_stat <= WEIR_RPC_GSS_CTXPROBLEM);
		check_auth(&hdr->reply.verf);
	} else {
		check_auth(&hdr->call.cred);
		check_auth(&hdr->call.verf);
	}
	check_truncated(hdr, msg, header_bytes - 1);
	check_truncated(hdr, msg, cut % header_bytes);
	if (!is_version_only(hdr))
		check_encode(hdr, msg, header_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in input = {data, size};
	struct header hdr = {.is_reply = fuzz_u8(&input) & 1};
	uint32_t cut = fuzz_u16(&input), len = (uint32_t)input.left, header_bytes;
	struct weir_xdr_in in;
	uint8_t *msg;
	bool ok;

	if (len > MESSAGE_MAX)
		return 0;
	msg = fuzz_copy(input.p, len);
	weir_xdr_in_init(&in, msg, len);
	ok = decode(&in, &hdr) == 0;
	header_bytes = len - (uint32_t)weir_xdr_remaining(&in);
	if (ok)
		check_accepted(&hdr, msg, header_bytes, cut);
	check_cut(&hdr, ok, msg, len, header_bytes, cut % (len + 1), false);
	check_cut(&hdr, ok, msg, len, header_bytes, cut % (len + 1), true);
	free(msg);
	return 0;
}
