/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the identity that a credential gives to a caller by the rules of an export. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cred.h"

#define NOBODY	77u
#define NOGROUP 78u

static struct cred as(uint32_t uid, uint32_t gid, uint32_t other_gid, bool squashes_root)
{
	const struct export_rules rules = {
		.squashes_root = squashes_root, .anon_uid = NOBODY, .anon_gid = NOGROUP};
	static const struct client client;
	const struct weir_rpc_auth_sys sys = {
		.uid = uid, .gid = gid, .ngids = 2, .gids = {5, other_gid}};
	uint8_t body[WEIR_RPC_AUTH_BODY_MAX];
	struct weir_rpc_auth auth;
	struct cred cred;

	assert_int_equal(weir_rpc_auth_sys_encode(&sys, body, &auth), 0);
	assert_int_equal(cred_of(&auth, &client, &rules, &cred), WEIR_RPC_AUTH_OK);
	return cred;
}

static void expect_anonymous(struct cred cred)
{
	assert_int_equal(cred.uid, NOBODY);
	assert_int_equal(cred.gid, NOGROUP);
	assert_int_equal(cred.ngids, 0);
}

static void cred_of__keeps_who_it_is(void **state)
{
	struct cred cred = as(1000, 1001, UINT32_MAX - 1, true);

	(void)state;
	assert_int_equal(cred.uid, 1000);
	assert_int_equal(cred.gid, 1001);
	assert_int_equal(cred.ngids, 2);
	assert_int_equal(cred.gids[0], 5);
	assert_int_equal(cred.gids[1], UINT32_MAX - 1);
	cred = as(0, 0, 0, false);
	assert_int_equal(cred.uid, 0);
	assert_int_equal(cred.gid, 0);
	assert_int_equal(cred.gids[1], 0);
}

static void cred_of__squashes_root(void **state)
{
	struct cred cred = as(1000, 0, 0, true);

	(void)state;
	assert_int_equal(cred.uid, 1000);
	assert_int_equal(cred.gid, NOGROUP);
	assert_int_equal(cred.gids[1], NOGROUP);
	expect_anonymous(as(0, 1000, 5, true));
}

/* Checks the ID that setfsuid() treats as "unchanged", which would be root. */
static void cred_of__what_is_no_id_is_anonymous(void **state)
{
	(void)state;
	for (int squashes_root = 0; squashes_root < 2; squashes_root++) {
		struct cred cred = as(1000, UINT32_MAX, UINT32_MAX, squashes_root);

		assert_int_equal(cred.uid, 1000);
		assert_int_equal(cred.gid, NOGROUP);
		assert_int_equal(cred.gids[0], 5);
		assert_int_equal(cred.gids[1], NOGROUP);
		expect_anonymous(as(UINT32_MAX, 1000, 5, squashes_root));
		expect_anonymous(as(UINT32_MAX, UINT32_MAX, UINT32_MAX, squashes_root));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cred_of__keeps_who_it_is),
		cmocka_unit_test(cred_of__squashes_root),
		cmocka_unit_test(cred_of__what_is_no_id_is_anonymous),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
