/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of ONC RPC headers and credentials (RFC 5531). */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rpc_msg.h"

static uint8_t body[WEIR_RPC_AUTH_BODY_MAX + 4];

static uint32_t encode_call(uint8_t *buf, size_t size, const struct weir_rpc_call_header *hdr)
{
	struct weir_xdr_out out;

	weir_xdr_out_init(&out, buf, size);
	assert_int_equal(rpc_call_encode(&out, hdr), 0);
	return (uint32_t)weir_xdr_out_len(&out);
}

static int decode_call(const uint8_t *buf, uint32_t len, struct weir_rpc_call_header *hdr)
{
	struct weir_xdr_in in;

	weir_xdr_in_init(&in, buf, len);
	return rpc_call_decode(&in, hdr);
}

static int decode_reply(const uint8_t *buf, uint32_t len, struct weir_rpc_reply_header *hdr)
{
	struct weir_xdr_in in;

	weir_xdr_in_init(&in, buf, len);
	return rpc_reply_decode(&in, hdr);
}

static const struct weir_rpc_call_header null_call = {
	.xid = 0x01020304, .rpcvers = 2, .prog = 100003, .vers = 3, .proc = 7};

static void call__exact_bytes(void **state)
{
	static const uint8_t expected[WEIR_RPC_CALL_HEADER_MIN] = {
		1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0x86, 0xa3, 0, 0, 0, 3, 0, 0, 0, 7};
	uint8_t buf[64];

	(void)state;
	assert_int_equal(encode_call(buf, sizeof(buf), &null_call), sizeof(expected));
	assert_memory_equal(buf, expected, sizeof(expected));
}

static void call__round_trip_of_every_body_length(void **state)
{
	struct weir_rpc_call_header hdr = null_call, got;
	uint8_t buf[1024];

	(void)state;
	for (uint32_t i = 0; i < sizeof(body); i++)
		body[i] = (uint8_t)(i * 7);
	for (uint32_t n = 0; n <= WEIR_RPC_AUTH_BODY_MAX; n++) {
		uint32_t len;

		hdr.cred = (struct weir_rpc_auth){.flavor = 390000, .len_bytes = n, .body = body};
		hdr.verf =
			(struct weir_rpc_auth){.flavor = 6, .len_bytes = 400 - n, .body = body + 1};
		len = encode_call(buf, sizeof(buf), &hdr);
		assert_int_equal(len, 40 + n + weir_xdr_pad(n) + 400 - n + weir_xdr_pad(400 - n));
		assert_int_equal(decode_call(buf, len, &got), 0);
		assert_int_equal(got.xid, hdr.xid);
		assert_int_equal(got.rpcvers, 2);
		assert_int_equal(got.prog, hdr.prog);
		assert_int_equal(got.vers, hdr.vers);
		assert_int_equal(got.proc, hdr.proc);
		assert_int_equal(got.cred.flavor, 390000);
		assert_int_equal(got.cred.len_bytes, n);
		assert_memory_equal(got.cred.body, body, n);
		assert_int_equal(got.verf.flavor, 6);
		assert_int_equal(got.verf.len_bytes, 400 - n);
		assert_memory_equal(got.verf.body, body + 1, 400 - n);
	}
}

static void call__every_truncation_is_refused(void **state)
{
	struct weir_rpc_call_header hdr = null_call, got;
	struct weir_xdr_out out;
	uint8_t buf[128];
	uint32_t len;

	(void)state;
	hdr.cred = (struct weir_rpc_auth){.flavor = 1, .len_bytes = 21, .body = body};
	hdr.verf = (struct weir_rpc_auth){.flavor = 2, .len_bytes = 3, .body = body};
	len = encode_call(buf, sizeof(buf), &hdr);
	for (uint32_t n = 0; n < len; n++) {
		/* RFC 5531 section 9: an error after the procedure is an authentication error. */
		assert_int_equal(decode_call(buf, n, &got), n < 24	  ? -EBADMSG
							    : n < 24 + 32 ? WEIR_RPC_AUTH_BADCRED
									  : WEIR_RPC_AUTH_BADVERF);
		if (n >= 24) {
			assert_int_equal(got.xid, hdr.xid);
			assert_int_equal(got.prog, hdr.prog);
			assert_int_equal(got.proc, hdr.proc);
			assert_int_equal(got.cred.len_bytes, n < 24 + 32 ? 0 : 21);
			assert_int_equal(got.verf.len_bytes, 0);
		}
		weir_xdr_out_init(&out, buf, n);
		assert_int_equal(rpc_call_encode(&out, &hdr), -ENOSPC);
		encode_call(buf, sizeof(buf), &hdr);
	}
}

static void call__bad_values_are_refused(void **state)
{
	struct weir_rpc_call_header hdr = null_call, got;
	uint8_t buf[1024];
	struct weir_xdr_out out;
	uint32_t len;

	(void)state;
	len = encode_call(buf, sizeof(buf), &hdr);
	buf[7] = 1; /* a REPLY */
	assert_int_equal(decode_call(buf, len, &got), -EBADMSG);
	buf[7] = 2;
	assert_int_equal(decode_call(buf, len, &got), -EBADMSG);

	memset(buf, 0, sizeof(buf));
	encode_call(buf, sizeof(buf), &hdr);
	buf[30] = 1; /* a credential of 401 bytes, all of them present */
	for (uint32_t n = 0x191; n <= 0x194; n++) {
		buf[31] = (uint8_t)n;
		assert_int_equal(decode_call(buf, sizeof(buf), &got), WEIR_RPC_AUTH_BADCRED);
	}
	memset(buf + 28, 0xff, 4);
	assert_int_equal(decode_call(buf, sizeof(buf), &got), WEIR_RPC_AUTH_BADCRED);
	memset(buf + 28, 0, 4);
	buf[30] = 1;
	buf[31] = 0x90;
	assert_int_equal(decode_call(buf, sizeof(buf), &got), 0);
	memset(buf, 0, sizeof(buf));
	encode_call(buf, sizeof(buf), &hdr);
	buf[38] = 1; /* a verifier of 401 bytes */
	buf[39] = 0x91;
	assert_int_equal(decode_call(buf, sizeof(buf), &got), WEIR_RPC_AUTH_BADVERF);
	buf[39] = 0x90;
	assert_int_equal(decode_call(buf, sizeof(buf), &got), 0);

	hdr.cred = (struct weir_rpc_auth){.flavor = 1, .len_bytes = 401, .body = body};
	weir_xdr_out_init(&out, buf, sizeof(buf));
	assert_int_equal(rpc_call_encode(&out, &hdr), -EINVAL);
}

/*
 * Checks calls of other RPC versions. A responder must answer RPC_MISMATCH, so that the rest of the
 * call does not matter.
 */
static void call__other_rpc_version_is_left_to_the_responder(void **state)
{
	struct weir_rpc_call_header got;
	uint8_t buf[64];

	(void)state;
	encode_call(buf, sizeof(buf), &null_call);
	buf[11] = 3;
	for (uint32_t len = 12; len <= 40; len++) {
		assert_int_equal(decode_call(buf, len, &got), 0);
		assert_int_equal(got.xid, null_call.xid);
		assert_int_equal(got.rpcvers, 3);
		assert_int_equal(got.prog, 0);
	}
}

/*
 * Checks a call whose credential is replaced by a Read chunk, which is not allowed (RFC 8166
 * sections 3.4.2 and 8.2.2).
 */
static void call__3_4_2_credential_is_not_reduced(void **state)
{
	struct weir_rpc_call_header hdr = null_call, got;
	struct weir_xdr_part parts[3];
	struct weir_xdr_in in;
	uint8_t buf[128];
	uint32_t len;

	(void)state;
	hdr.cred = (struct weir_rpc_auth){.flavor = 1, .len_bytes = 20, .body = body};
	len = encode_call(buf, sizeof(buf), &hdr);
	parts[0] = (struct weir_xdr_part){buf, 32, 0};
	parts[1] = (struct weir_xdr_part){buf + 32, 20, 0};
	parts[2] = (struct weir_xdr_part){buf + 52, len - 52, 0};
	weir_xdr_in_init_parts(&in, parts, 3);
	assert_int_equal(rpc_call_decode(&in, &got), 0);
	parts[1].is_item = 1;
	weir_xdr_in_init_parts(&in, parts, 3);
	assert_int_equal(rpc_call_decode(&in, &got), -EBADMSG);
}

static void reply__round_trip_of_every_status(void **state)
{
	struct weir_rpc_reply_header hdr = {.xid = 9}, got;
	struct weir_xdr_out out;
	uint8_t buf[64];

	(void)state;
	for (uint32_t i = 0; i < 6 + 1 + 15; i++) {
		uint32_t len;

		hdr = (struct weir_rpc_reply_header){.xid = 9 + i};
		if (i < 6) {
			hdr.accept_stat = i;
			hdr.verf =
				(struct weir_rpc_auth){.flavor = 6, .len_bytes = i, .body = body};
		} else {
			hdr.reply_stat = WEIR_RPC_MSG_DENIED;
			hdr.reject_stat = i == 6 ? WEIR_RPC_MISMATCH : WEIR_RPC_AUTH_ERROR;
			hdr.auth_stat = i == 6 ? 0 : i - 7;
		}
		if (i == WEIR_RPC_PROG_MISMATCH || i == 6) {
			hdr.low = 2;
			hdr.high = 0xfffffffe;
		}
		weir_xdr_out_init(&out, buf, sizeof(buf));
		assert_int_equal(rpc_reply_encode(&out, &hdr), 0);
		len = (uint32_t)weir_xdr_out_len(&out);
		assert_int_equal(decode_reply(buf, len, &got), 0);
		assert_int_equal(got.xid, hdr.xid);
		assert_int_equal(got.reply_stat, hdr.reply_stat);
		assert_int_equal(got.accept_stat, hdr.accept_stat);
		assert_int_equal(got.reject_stat, hdr.reject_stat);
		assert_int_equal(got.auth_stat, hdr.auth_stat);
		assert_int_equal(got.low, hdr.low);
		assert_int_equal(got.high, hdr.high);
		assert_int_equal(got.verf.len_bytes, hdr.verf.len_bytes);
		for (uint32_t n = 0; n < len; n++) {
			assert_int_equal(decode_reply(buf, n, &got), -EBADMSG);
			weir_xdr_out_init(&out, buf, n);
			assert_int_equal(rpc_reply_encode(&out, &hdr), -ENOSPC);
			weir_xdr_out_init(&out, buf, sizeof(buf));
			assert_int_equal(rpc_reply_encode(&out, &hdr), 0);
		}
	}
}

static void reply__success_is_24_bytes(void **state)
{
	static const uint8_t expected[WEIR_RPC_REPLY_HEADER_MIN] = {0, 0, 0, 5, 0, 0, 0, 1};
	struct weir_rpc_reply_header hdr = {.xid = 5};
	struct weir_xdr_out out;
	uint8_t buf[64];

	(void)state;
	weir_xdr_out_init(&out, buf, sizeof(buf));
	assert_int_equal(rpc_reply_encode(&out, &hdr), 0);
	assert_int_equal(weir_xdr_out_len(&out), sizeof(expected));
	assert_memory_equal(buf, expected, sizeof(expected));
}

static void reply__undeclared_values_are_refused(void **state)
{
	struct weir_rpc_reply_header hdr = {.xid = 5}, got;
	struct weir_xdr_out out;
	uint8_t buf[64] = {0};

	(void)state;
	weir_xdr_out_init(&out, buf, sizeof(buf));
	assert_int_equal(rpc_reply_encode(&out, &hdr), 0);
	buf[23] = 6; /* accept_stat */
	assert_int_equal(decode_reply(buf, sizeof(buf), &got), -EBADMSG);
	buf[23] = 0;
	buf[11] = 2; /* reply_stat */
	assert_int_equal(decode_reply(buf, sizeof(buf), &got), -EBADMSG);
	buf[11] = 1; /* denied ... */
	buf[15] = 2; /* ... with an unknown reject_stat */
	assert_int_equal(decode_reply(buf, sizeof(buf), &got), -EBADMSG);
	buf[15] = 1;
	buf[19] = 15; /* auth_stat */
	assert_int_equal(decode_reply(buf, sizeof(buf), &got), -EBADMSG);
	buf[19] = 14;
	assert_int_equal(decode_reply(buf, sizeof(buf), &got), 0);
	buf[7] = 0; /* a CALL */
	assert_int_equal(decode_reply(buf, sizeof(buf), &got), -EBADMSG);

	for (uint32_t i = 0; i < 5; i++) {
		hdr = (struct weir_rpc_reply_header){.xid = 5};
		hdr.reply_stat = i == 0 ? 2 : i >= 2;
		hdr.accept_stat = i == 1 ? 6 : 0;
		hdr.reject_stat = i == 2 ? 2 : i == 3;
		hdr.auth_stat = 15;
		weir_xdr_out_init(&out, buf, sizeof(buf));
		assert_int_equal(rpc_reply_encode(&out, &hdr), i == 4 ? 0 : -EINVAL);
	}
	hdr = (struct weir_rpc_reply_header){.verf = {.len_bytes = 401, .body = body}};
	weir_xdr_out_init(&out, buf, sizeof(buf));
	assert_int_equal(rpc_reply_encode(&out, &hdr), -EINVAL);
}

/* Checks which flavors and services forbid chunks (RFC 8166 section 8.2.2). */
static void auth_forbids_reduction__by_flavor_and_service(void **state)
{
	uint8_t gss[20] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1};
	struct weir_rpc_auth cred = {.flavor = WEIR_RPC_AUTH_GSS, .len_bytes = 20, .body = gss};

	(void)state;
	assert_false(
		rpc_auth_forbids_reduction(&(struct weir_rpc_auth){.flavor = WEIR_RPC_AUTH_NONE}));
	assert_false(
		rpc_auth_forbids_reduction(&(struct weir_rpc_auth){.flavor = WEIR_RPC_AUTH_SYS}));
	assert_true(rpc_auth_forbids_reduction(&(struct weir_rpc_auth){.flavor = 4711}));
	/*
	 * It is unknown if an unknown flavor forbids chunks. The program accepts or refuses the
	 * flavor.
	 */
	assert_false(rpc_auth_forbids_items(&(struct weir_rpc_auth){.flavor = 4711}));
	assert_false(rpc_auth_forbids_items(&(struct weir_rpc_auth){.flavor = WEIR_RPC_AUTH_NONE}));
	assert_true(rpc_auth_forbids_items(&(struct weir_rpc_auth){.flavor = WEIR_RPC_AUTH_GSS}));
	assert_false(rpc_auth_forbids_items(&cred));
	assert_true(
		rpc_auth_forbids_reduction(&(struct weir_rpc_auth){.flavor = WEIR_RPC_AUTH_GSS}));
	assert_false(rpc_auth_forbids_reduction(&cred));
	for (cred.len_bytes = 0; cred.len_bytes < 16; cred.len_bytes++)
		assert_true(rpc_auth_forbids_reduction(&cred));
	for (uint8_t service = 0; service < 6; service++) {
		gss[15] = service;
		assert_int_equal(rpc_auth_forbids_reduction(&cred), service != 1);
		assert_int_equal(rpc_auth_forbids_items(&cred), service != 1);
	}
	gss[15] = 1;
	gss[7] = 1; /* a context is being established */
	assert_true(rpc_auth_forbids_reduction(&cred));
	gss[7] = 0;
	gss[3] = 2; /* in another version, 'service' may mean something else */
	assert_true(rpc_auth_forbids_reduction(&cred));
}

static void auth_sys__round_trip(void **state)
{
	char name[WEIR_RPC_MACHINE_NAME_MAX];
	uint8_t buf[WEIR_RPC_AUTH_BODY_MAX];
	struct weir_rpc_auth_sys sys, got;
	struct weir_rpc_auth auth;

	(void)state;
	memset(name, 'n', sizeof(name));
	for (uint32_t n = 0; n <= WEIR_RPC_MACHINE_NAME_MAX; n++) {
		sys = (struct weir_rpc_auth_sys){.stamp = 1,
						 .name_len_bytes = n,
						 .name = name,
						 .uid = 1000,
						 .gid = 100,
						 .ngids = n % 17};
		for (uint32_t i = 0; i < sys.ngids; i++)
			sys.gids[i] = i + 1;
		assert_int_equal(weir_rpc_auth_sys_encode(&sys, buf, &auth), 0);
		assert_int_equal(auth.flavor, WEIR_RPC_AUTH_SYS);
		assert_int_equal(auth.len_bytes, 20 + n + weir_xdr_pad(n) + 4 * sys.ngids);
		assert_int_equal(weir_rpc_auth_sys_decode(&auth, &got), 0);
		assert_int_equal(got.name_len_bytes, n);
		assert_memory_equal(got.name, name, n);
		assert_int_equal(got.uid, 1000);
		assert_int_equal(got.gid, 100);
		assert_int_equal(got.ngids, sys.ngids);
		assert_memory_equal(got.gids, sys.gids, 4 * sys.ngids);
	}
	for (uint32_t len = auth.len_bytes; len > 0; len--) {
		auth.len_bytes = len - 1;
		assert_int_equal(weir_rpc_auth_sys_decode(&auth, &got), -EBADMSG);
	}
}

static void auth_sys__bad_bodies_are_refused(void **state)
{
	struct weir_rpc_auth_sys sys = {.name = "host", .name_len_bytes = 4}, got;
	uint8_t buf[WEIR_RPC_AUTH_BODY_MAX] = {0};
	struct weir_rpc_auth auth;

	(void)state;
	assert_int_equal(weir_rpc_auth_sys_encode(&sys, buf, &auth), 0);
	auth.len_bytes += 4; /* bytes left over */
	assert_int_equal(weir_rpc_auth_sys_decode(&auth, &got), -EBADMSG);
	auth.len_bytes = WEIR_RPC_AUTH_BODY_MAX + 1;
	assert_int_equal(weir_rpc_auth_sys_decode(&auth, &got), -EBADMSG);
	auth.len_bytes = 24 + 17 * 4;
	buf[23] = 17; /* 17 groups, all of them present */
	assert_int_equal(weir_rpc_auth_sys_decode(&auth, &got), -EBADMSG);
	auth.len_bytes = 20 + 256;
	buf[6] = 1; /* a name of 256 bytes */
	buf[7] = 0;
	memset(buf + 8, 0, sizeof(buf) - 8);
	assert_int_equal(weir_rpc_auth_sys_decode(&auth, &got), -EBADMSG);
	auth.flavor = WEIR_RPC_AUTH_NONE;
	assert_int_equal(weir_rpc_auth_sys_decode(&auth, &got), -EINVAL);

	sys.name_len_bytes = 256;
	assert_int_equal(weir_rpc_auth_sys_encode(&sys, buf, &auth), -EINVAL);
	sys.name_len_bytes = 4;
	sys.ngids = 17;
	assert_int_equal(weir_rpc_auth_sys_encode(&sys, buf, &auth), -EINVAL);
}

/*
 * Checks a header that would fit into the space after an earlier value that did not fit. The
 * encoder must still fail.
 */
static void encode__after_a_put_that_failed_is_no_success(void **state)
{
	struct weir_rpc_reply_header reply = {.xid = 7};
	struct weir_rpc_call_header call = null_call;
	struct weir_xdr_out out;
	uint8_t buf[64];

	(void)state;
	weir_xdr_out_init(&out, buf, sizeof(buf));
	assert_null(weir_xdr_reserve(&out, sizeof(buf) + 1));
	assert_int_equal(rpc_call_encode(&out, &call), -ENOSPC);
	weir_xdr_out_init(&out, buf, sizeof(buf));
	assert_null(weir_xdr_reserve(&out, sizeof(buf) + 1));
	assert_int_equal(rpc_reply_encode(&out, &reply), -ENOSPC);
}

/* Checks that no header is decoded from a decoder that has failed before (RFC 5531 section 9). */
static void decode__after_a_get_that_failed_fails(void **state)
{
	struct weir_rpc_reply_header reply;
	struct weir_rpc_call_header call;
	struct weir_xdr_in in;
	uint8_t buf[128];

	(void)state;
	weir_xdr_in_init(&in, buf, encode_call(buf, sizeof(buf), &null_call));
	assert_int_equal(weir_xdr_get_bytes(&in, NULL, sizeof(buf)), -EBADMSG);
	assert_int_equal(rpc_call_decode(&in, &call), -EBADMSG);
	assert_int_equal(rpc_reply_decode(&in, &reply), -EBADMSG);
}

/*
 * Divides the bytes so that the XID is in a part of its own. Then the decoder reads word by word.
 */
static void in_two_parts(struct weir_xdr_in *in, struct weir_xdr_part parts[2], const uint8_t *buf,
			 uint32_t len)
{
	parts[0] = (struct weir_xdr_part){buf, 4, 0};
	parts[1] = (struct weir_xdr_part){buf + 4, len - 4, 0};
	weir_xdr_in_init_parts(in, parts, 2);
}

/*
 * Copies a header, in most cases with some words changed, some of them to nearly valid values.
 * Returns its length.
 */
static uint32_t mutate(uint8_t *buf, const uint8_t *header, uint32_t len)
{
	static const uint8_t last[] = {0, 1, 2, 3, 4, 5, 6, 8};

	memcpy(buf, header, len);
	for (long n = random() % 4; n > 0; n--) {
		uint8_t *word = buf + random() % (len / 4) * 4;

		memset(word, 0, 4);
		if (random() % 8 == 0)
			word[random() % 3] = (uint8_t)random();
		word[3] = last[random() % 8];
	}
	return random() % 4 ? len : 4 + (uint32_t)random() % (len - 3);
}

static void assert_same_auth(const struct weir_rpc_auth *a, const struct weir_rpc_auth *b)
{
	assert_int_equal(a->flavor, b->flavor);
	assert_int_equal(a->len_bytes, b->len_bytes);
	assert_true(a->len_bytes == 0 || a->body == b->body);
}

static void call__plain_one_is_as_any_other(void **state)
{
	uint8_t header[64] = {0}, buf[64];
	uint32_t nplain = 0;

	(void)state;
	srandom(1);
	encode_call(header, sizeof(header), &null_call);
	for (uint32_t round = 0; round < 100000; round++) {
		uint32_t len = mutate(buf, header, sizeof(header));
		struct weir_rpc_call_header hdr, full;
		struct weir_xdr_part parts[2];
		struct weir_xdr_in in, in_parts;
		int rc;

		weir_xdr_in_init(&in, buf, len);
		in_two_parts(&in_parts, parts, buf, len);
		nplain += rpc_is_plain_call(&in);
		assert_false(rpc_is_plain_call(&in_parts));
		rc = rpc_call_decode(&in, &hdr);
		assert_int_equal(rc, rpc_call_decode(&in_parts, &full));
		if (rc != 0)
			continue;
		assert_int_equal(hdr.xid, full.xid);
		assert_int_equal(hdr.rpcvers, full.rpcvers);
		assert_int_equal(hdr.prog, full.prog);
		assert_int_equal(hdr.vers, full.vers);
		assert_int_equal(hdr.proc, full.proc);
		assert_same_auth(&hdr.cred, &full.cred);
		assert_same_auth(&hdr.verf, &full.verf);
		assert_int_equal(weir_xdr_remaining(&in), weir_xdr_remaining(&in_parts));
	}
	assert_in_range(nplain, 20000, 80000);
}

static void reply__plain_one_is_as_any_other(void **state)
{
	static const struct weir_rpc_reply_header plain = {.xid = 0x5eed0001};
	uint8_t header[48] = {0}, buf[48];
	struct weir_xdr_out out;
	uint32_t nplain = 0;

	(void)state;
	srandom(2);
	weir_xdr_out_init(&out, header, sizeof(header));
	assert_int_equal(rpc_reply_encode(&out, &plain), 0);
	for (uint32_t round = 0; round < 100000; round++) {
		uint32_t len = mutate(buf, header, sizeof(header));
		struct weir_rpc_reply_header hdr, full;
		struct weir_xdr_part parts[2];
		struct weir_xdr_in in, in_parts;
		int rc;

		weir_xdr_in_init(&in, buf, len);
		in_two_parts(&in_parts, parts, buf, len);
		nplain += len >= WEIR_RPC_REPLY_HEADER_MIN && rpc_is_plain_reply(buf);
		rc = rpc_reply_decode(&in, &hdr);
		assert_int_equal(rc, rpc_reply_decode(&in_parts, &full));
		if (rc != 0)
			continue;
		assert_int_equal(hdr.xid, full.xid);
		assert_int_equal(hdr.reply_stat, full.reply_stat);
		assert_int_equal(hdr.accept_stat, full.accept_stat);
		assert_int_equal(hdr.reject_stat, full.reject_stat);
		assert_int_equal(hdr.auth_stat, full.auth_stat);
		assert_int_equal(hdr.low, full.low);
		assert_int_equal(hdr.high, full.high);
		assert_same_auth(&hdr.verf, &full.verf);
		assert_int_equal(weir_xdr_remaining(&in), weir_xdr_remaining(&in_parts));
	}
	assert_in_range(nplain, 20000, 80000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(call__exact_bytes),
		cmocka_unit_test(call__round_trip_of_every_body_length),
		cmocka_unit_test(call__every_truncation_is_refused),
		cmocka_unit_test(call__bad_values_are_refused),
		cmocka_unit_test(call__other_rpc_version_is_left_to_the_responder),
		cmocka_unit_test(call__3_4_2_credential_is_not_reduced),
		cmocka_unit_test(reply__round_trip_of_every_status),
		cmocka_unit_test(reply__success_is_24_bytes),
		cmocka_unit_test(reply__undeclared_values_are_refused),
		cmocka_unit_test(auth_forbids_reduction__by_flavor_and_service),
		cmocka_unit_test(auth_sys__round_trip),
		cmocka_unit_test(auth_sys__bad_bodies_are_refused),
		cmocka_unit_test(encode__after_a_put_that_failed_is_no_success),
		cmocka_unit_test(decode__after_a_get_that_failed_fails),
		cmocka_unit_test(call__plain_one_is_as_any_other),
		cmocka_unit_test(reply__plain_one_is_as_any_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
