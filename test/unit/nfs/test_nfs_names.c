/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the addresses, paths and names that weir-nfs parses. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "path.h"
#include "uaddr.h"

static void check_split(const char *text, const char *host, uint16_t port)
{
	char got[HOST_MAX];
	uint16_t got_port = 1;

	assert_int_equal(address_split(text, got, sizeof(got), &got_port), 0);
	assert_string_equal(got, host);
	assert_int_equal(got_port, port);
}

static void address_split__forms(void **state)
{
	(void)state;
	check_split("10.0.0.1", "10.0.0.1", 0);
	check_split("10.0.0.1:20049", "10.0.0.1", 20049);
	check_split("host:1", "host", 1);
	check_split("[::1]", "::1", 0);
	check_split("[fe80::1%eth0]:65535", "fe80::1%eth0", 65535);
	check_split("fe80::1", "fe80::1", 0);
}

static void address_split__refused(void **state)
{
	static const char *const bad[] = {"",	     ":1",	"[]",	  "[]:1",	"[::1",
					  "[::1]x",  "host:",	"host:0", "host:65536", "host:1x",
					  "host:-1", "host: 1", "[::1]:", "host:000001"};
	char host[HOST_MAX], longest[HOST_MAX + 1];
	uint16_t port;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(address_split(bad[i], host, sizeof(host), &port), -EINVAL);
	memset(longest, 'h', HOST_MAX);
	longest[HOST_MAX] = '\0';
	assert_int_equal(address_split(longest, host, sizeof(host), &port), -EINVAL);
	assert_int_equal(address_split(longest + 1, host, sizeof(host), &port), 0);
}

static void address_join__brackets(void **state)
{
	char text[24];

	(void)state;
	assert_true(address_join("10.0.0.1", 20049, text, sizeof(text)));
	assert_string_equal(text, "10.0.0.1:20049");
	assert_true(address_join("::1", 111, text, sizeof(text)));
	assert_string_equal(text, "[::1]:111");
	assert_false(address_join("a-host-whose-name-is-too-long", 1, text, sizeof(text)));
}

static void uaddr_port__octets(void **state)
{
	static const char *const bad[] = {"",
					  "1.2",
					  ".1.2",
					  "127.0.0.1",
					  "1.2.3.4.5.6.7",
					  "1.2.3.4.256.1",
					  "1.2.3.4.1.256",
					  "1.2.3.4..1",
					  "1.2.3.4.1.",
					  "1.2.3.4.0.0",
					  "1.2.3.4.-1.1",
					  "1.2.3.4.1.x",
					  "12"};
	uint16_t port = 0;

	(void)state;
	assert_int_equal(uaddr_port("10.0.0.1.78.81", &port), 0);
	assert_int_equal(port, 20049);
	assert_int_equal(uaddr_port("::1.0.111", &port), 0);
	assert_int_equal(port, 111);
	assert_int_equal(uaddr_port("0.0.0.0.255.255", &port), 0);
	assert_int_equal(port, 65535);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(uaddr_port(bad[i], &port), -EINVAL);
}

static void check_path(const char *text, const char *expected)
{
	char got[PATH_BYTES_MAX];
	struct path path;

	assert_int_equal(path_parse(text, &path), 0);
	path_text(&path, path.nnames, got, sizeof(got));
	assert_string_equal(got, expected);
}

static void path_parse__dots(void **state)
{
	(void)state;
	check_path("", "/");
	check_path("/", "/");
	check_path("//a///b/", "a/b");
	check_path("./a/./b/.", "a/b");
	check_path("a/../b", "b");
	check_path("../../a", "a");
	check_path("a/b/../../..", "/");
	check_path("...", "...");
	check_path("a/..b/c..", "a/..b/c..");
}

static void path_parse__bounds(void **state)
{
	char text[2 * PATH_BYTES_MAX];
	struct path path;

	(void)state;
	memset(text, 'n', sizeof(text));
	text[NAME_BYTES_MAX] = '\0';
	assert_int_equal(path_parse(text, &path), 0);
	text[NAME_BYTES_MAX] = 'n';
	text[NAME_BYTES_MAX + 1] = '\0';
	assert_int_equal(path_parse(text, &path), -ENAMETOOLONG);
	/* The path has the largest number of names. */
	for (uint32_t i = 0; i < PATH_NAMES_MAX; i++)
		memcpy(text + 2 * i, "a/", 2);
	text[2 * PATH_NAMES_MAX] = '\0';
	assert_int_equal(path_parse(text, &path), 0);
	assert_int_equal(path.nnames, PATH_NAMES_MAX);
	memcpy(text + 2 * PATH_NAMES_MAX, "a", 2);
	assert_int_equal(path_parse(text, &path), -ENAMETOOLONG);
	/* The path is longer than allowed: names of 250 bytes, with a slash after each. */
	memset(text, 'n', sizeof(text));
	for (uint32_t i = 250; i < sizeof(text); i += 251)
		text[i] = '/';
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(path_parse(text, &path), -ENAMETOOLONG);
}

static void check_splice(const char *text, uint32_t at, const char *target, const char *expected)
{
	char got[PATH_BYTES_MAX];
	struct path path, out;

	assert_int_equal(path_parse(text, &path), 0);
	assert_int_equal(path_splice(&path, at, target, &out), 0);
	path_text(&out, out.nnames, got, sizeof(got));
	assert_string_equal(got, expected);
}

static void path_splice__targets(void **state)
{
	static char target[2 * PATH_BYTES_MAX];
	struct path path, out;

	(void)state;
	check_splice("a/link/b", 1, "x", "a/x/b");
	check_splice("a/link/b", 1, "../x", "x/b");
	check_splice("a/link/b", 1, "/x/y", "x/y/b");
	check_splice("a/link", 1, "../../../..", "/");
	check_splice("link", 0, "x", "x");
	memset(target, 't', sizeof(target) - 1);
	assert_int_equal(path_parse("a/link/b", &path), 0);
	assert_int_equal(path_splice(&path, 1, target, &out), -ENAMETOOLONG);
}

static void name_is_safe__names(void **state)
{
	char longest[NAME_BYTES_MAX + 1];

	(void)state;
	memset(longest, 'n', sizeof(longest));
	assert_true(name_is_safe("a", 1));
	assert_true(name_is_safe("...", 3));
	assert_true(name_is_safe(longest, NAME_BYTES_MAX));
	assert_false(name_is_safe(longest, NAME_BYTES_MAX + 1));
	assert_false(name_is_safe("", 0));
	assert_false(name_is_safe(".", 1));
	assert_false(name_is_safe("..", 2));
	assert_false(name_is_safe("a/b", 3));
	assert_false(name_is_safe("a\0b", 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(address_split__forms),	  cmocka_unit_test(address_split__refused),
		cmocka_unit_test(address_join__brackets), cmocka_unit_test(uaddr_port__octets),
		cmocka_unit_test(path_parse__dots),	  cmocka_unit_test(path_parse__bounds),
		cmocka_unit_test(path_splice__targets),	  cmocka_unit_test(name_is_safe__names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
