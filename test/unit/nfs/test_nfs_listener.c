/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the search for the owner of a listener on a port of this host, in tables with the form
 * of /proc/net/tcp.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "listener.h"

#define HEAD                                                                                       \
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "      \
	"timeout inode\n"
#define LISTEN                                                                                     \
	"   0: 0100007F:4E50 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000       " \
	" 0 31337 "                                                                                \
	"1\n"
/* ACCEPTED is a connection that nobody has accepted yet. The table shows it as a socket of root. */
#define ACCEPTED                                                                                   \
	"   1: 0100007F:4E50 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0       " \
	" 0 0 1\n"
#define OTHER_PORT                                                                                 \
	"   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0       " \
	" 0 77 1\n"
#define LISTEN6                                                                                    \
	"   0: 00000000000000000000000001000000:4E50 00000000000000000000000000000000:0000 0A "    \
	"00000000:00000000 00:00000000 00000000  1001        0 4711 1\n"

static int scan(const char *text, uint32_t *uid, bool *is_found)
{
	FILE *table = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int rc;

	assert_non_null(table);
	rc = listener_scan(table, 20048, uid, is_found);
	fclose(table);
	return rc;
}

static void scan__finds_the_listener_only(void **state)
{
	bool is_found = false;
	uint32_t uid = 7;

	(void)state;
	assert_int_equal(scan(HEAD ACCEPTED OTHER_PORT, &uid, &is_found), 0);
	assert_false(is_found);
	assert_int_equal(scan(HEAD ACCEPTED LISTEN OTHER_PORT, &uid, &is_found), 0);
	assert_true(is_found);
	assert_int_equal(uid, 1000);
	assert_int_equal(scan(HEAD LISTEN LISTEN, &uid, &is_found), 0);
	/* The caller then searches the table of the other address family. */
	assert_int_equal(scan(HEAD LISTEN6, &uid, &is_found), -EACCES);
}

static void scan__refuses_another_form(void **state)
{
	bool is_found = false;
	uint32_t uid = 0;

	(void)state;
	assert_int_equal(scan("\n", &uid, &is_found), 0);
	assert_int_equal(scan(HEAD "   0: 0100007F\n", &uid, &is_found), -EPROTO);
	assert_false(is_found);
}

static bool is_known(const char *text, uint32_t uid)
{
	FILE *map = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	bool is = listener_is_known(map, 65534, uid);

	assert_non_null(map);
	fclose(map);
	return is;
}

static void known__is_nobody_only_where_all_users_are_mapped(void **state)
{
	(void)state;
	assert_true(is_known("         0          0 4294967295\n", 65534));
	assert_true(is_known("0 0 65534\n65534 65534 4294901761\n", 65534));
	assert_false(is_known("         0     100000      65536\n", 65534));
	assert_false(is_known("\n", 65534));
	assert_false(listener_is_known(NULL, 65534, 65534));
	assert_true(is_known("         0     100000      65536\n", 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scan__finds_the_listener_only),
		cmocka_unit_test(scan__refuses_another_form),
		cmocka_unit_test(known__is_nobody_only_where_all_users_are_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
