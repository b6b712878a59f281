/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the XDR filters of MOUNT version 3 in both directions, and of messages that a peer must
 * not send.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>

#include "mount3.h"

static char wire[1u << 18];
static struct mount3_export_res exports, exports_back;
static struct mount3_dump_res dump, dump_back;

static u_int encode(xdrproc_t proc, void *from)
{
	XDR xdrs;

	xdrmem_create(&xdrs, wire, sizeof(wire), XDR_ENCODE);
	assert_true(proc(&xdrs, from));
	return xdr_getpos(&xdrs);
}

static bool_t decode(xdrproc_t proc, void *to, u_int len)
{
	XDR xdrs;

	xdrmem_create(&xdrs, wire, len, XDR_DECODE);
	return proc(&xdrs, to);
}

/* Writes words to 'wire' in network byte order. Returns their length in bytes. */
static u_int words(const uint32_t *values, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t be = htonl(values[i]);

		memcpy(wire + 4 * i, &be, 4);
	}
	return 4 * n;
}

static void path__round_trip_and_bounds(void **state)
{
	struct mount3_path path = {"/export"}, back;
	u_int len = encode((xdrproc_t)mount3_xdr_path, &path);

	(void)state;
	assert_int_equal(len, 12);
	assert_true(decode((xdrproc_t)mount3_xdr_path, &back, len));
	assert_string_equal(back.path, "/export");
	for (u_int cut = 0; cut < len; cut++)
		assert_false(decode((xdrproc_t)mount3_xdr_path, &back, cut));
	memset(wire, 'a', sizeof(wire));
	words((const uint32_t[]){MOUNT3_PATH_MAX}, 1);
	assert_true(decode((xdrproc_t)mount3_xdr_path, &back, sizeof(wire)));
	assert_int_equal(strlen(back.path), MOUNT3_PATH_MAX);
	words((const uint32_t[]){MOUNT3_PATH_MAX + 1}, 1);
	assert_false(decode((xdrproc_t)mount3_xdr_path, &back, sizeof(wire)));
	words((const uint32_t[]){0xffffffff}, 1);
	assert_false(decode((xdrproc_t)mount3_xdr_path, &back, sizeof(wire)));
}

static void path__nul_inside_is_refused(void **state)
{
	struct mount3_path back;

	(void)state;
	assert_false(decode((xdrproc_t)mount3_xdr_path, &back,
			    words((const uint32_t[]){4, 0x2f610062}, 2)));
}

static void mnt_res__round_trip_and_bounds(void **state)
{
	struct mount3_mnt_res res = {MOUNT3_OK, {5, "abcde"}, 2, {1, 0}}, back = {0};
	u_int len = encode((xdrproc_t)mount3_xdr_mnt_res, &res);

	(void)state;
	assert_true(decode((xdrproc_t)mount3_xdr_mnt_res, &back, len));
	assert_int_equal(back.fh.len_bytes, 5);
	assert_memory_equal(back.fh.data, "abcde", 5);
	assert_int_equal(back.nflavors, 2);
	assert_int_equal(back.flavors[0], 1);
	for (u_int cut = 0; cut < len; cut++)
		assert_false(decode((xdrproc_t)mount3_xdr_mnt_res, &back, cut));
	memset(wire, 0, sizeof(wire));
	words((const uint32_t[]){0, NFS3_FH_MAX + 1}, 2);
	assert_false(decode((xdrproc_t)mount3_xdr_mnt_res, &back, sizeof(wire)));
	words((const uint32_t[]){0, 0, MOUNT3_FLAVORS_MAX + 1}, 3);
	assert_false(decode((xdrproc_t)mount3_xdr_mnt_res, &back, sizeof(wire)));
	assert_true(decode((xdrproc_t)mount3_xdr_mnt_res, &back, words((const uint32_t[]){13}, 1)));
	assert_int_equal(back.status, MOUNT3ERR_ACCES);
}

static void lists__round_trip(void **state)
{
	u_int len;

	(void)state;
	exports.n = MOUNT3_LIST_MAX;
	dump.n = 3;
	for (uint32_t i = 0; i < exports.n; i++)
		snprintf(exports.exports[i].path, sizeof(exports.exports[i].path), "/e%u", i);
	for (uint32_t i = 0; i < dump.n; i++) {
		snprintf(dump.mounts[i].host, sizeof(dump.mounts[i].host), "host%u", i);
		snprintf(dump.mounts[i].path, sizeof(dump.mounts[i].path), "/d%u", i);
	}
	len = encode((xdrproc_t)mount3_xdr_export_res, &exports);
	assert_true(decode((xdrproc_t)mount3_xdr_export_res, &exports_back, len));
	assert_int_equal(exports_back.n, MOUNT3_LIST_MAX);
	assert_string_equal(exports_back.exports[63].path, "/e63");
	for (u_int cut = 0; cut < len; cut += 4)
		assert_false(decode((xdrproc_t)mount3_xdr_export_res, &exports_back, cut));
	len = encode((xdrproc_t)mount3_xdr_dump_res, &dump);
	assert_true(decode((xdrproc_t)mount3_xdr_dump_res, &dump_back, len));
	assert_int_equal(dump_back.n, 3);
	assert_string_equal(dump_back.mounts[2].host, "host2");
	assert_string_equal(dump_back.mounts[2].path, "/d2");
}

static void lists__without_end_are_refused(void **state)
{
	(void)state;
	/* The words 1, "" (for DUMP: 1, "", ""), repeated. */
	for (uint32_t i = 0; i < sizeof(wire) / 12; i++) {
		uint32_t entry[3] = {htonl(1), 0, 0};

		memcpy(wire + 12 * i, entry, 12);
	}
	assert_false(decode((xdrproc_t)mount3_xdr_dump_res, &dump_back, sizeof(wire)));
	assert_false(decode((xdrproc_t)mount3_xdr_export_res, &exports_back, sizeof(wire)));
	/* One export with an endless list of groups: 1, "", then 1, "" repeated. */
	for (uint32_t i = 0; i < sizeof(wire) / 8; i++) {
		uint32_t entry[2] = {htonl(1), 0};

		memcpy(wire + 8 * i, entry, 8);
	}
	assert_false(decode((xdrproc_t)mount3_xdr_export_res, &exports_back, sizeof(wire)));
}

static void export_res__groups_are_passed_over(void **state)
{
	(void)state;
	assert_true(decode((xdrproc_t)mount3_xdr_export_res, &exports_back,
			   words((const uint32_t[]){1, 2, 0x2f610000, 1, 4, 0x67727031, 0, 1, 2,
						    0x2f620000, 0, 0},
				 12)));
	assert_int_equal(exports_back.n, 2);
	assert_string_equal(exports_back.exports[0].path, "/a");
	assert_string_equal(exports_back.exports[1].path, "/b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path__round_trip_and_bounds),
		cmocka_unit_test(path__nul_inside_is_refused),
		cmocka_unit_test(mnt_res__round_trip_and_bounds),
		cmocka_unit_test(lists__round_trip),
		cmocka_unit_test(lists__without_end_are_refused),
		cmocka_unit_test(export_res__groups_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
