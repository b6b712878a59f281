/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the messages to the service manager. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "notify.h"

/* Binds a socket at 'path' or at an abstract name, which begins with '@'. */
static int make_manager(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	memcpy(addr.sun_path, path, len);
	if (path[0] == '@')
		addr.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&addr,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
			 0);
	return fd;
}

/* Expects that the next message is 'text', or that there is none if 'text' is NULL. */
static void expect(int fd, const char *text)
{
	char said[2048];
	ssize_t n = recv(fd, said, sizeof(said) - 1, 0);

	if (!text) {
		assert_int_equal(n, -1);
		return;
	}
	assert_true(n >= 0);
	said[n] = '\0';
	assert_string_equal(said, text);
}

static void check_socket(const char *path)
{
	int fd = make_manager(path);
	struct notify notify;

	assert_int_equal(notify_open(&notify, path), 0);
	notify_send(&notify, "READY=1\nSTATUS=text");
	expect(fd, "READY=1\nSTATUS=text");
	expect(fd, NULL);
	/* A message without a reader is dropped, and the next one arrives again. */
	close(fd);
	if (path[0] == '/')
		unlink(path);
	notify_send(&notify, "WATCHDOG=1");
	fd = make_manager(path);
	notify_send(&notify, "STOPPING=1");
	expect(fd, "STOPPING=1");
	expect(fd, NULL);
	notify_close(&notify);
	notify_send(&notify, "READY=1");
	expect(fd, NULL);
	close(fd);
	if (path[0] == '/')
		unlink(path);
}

static void notify_send__to_a_path(void **state)
{
	char folder[] = "/tmp/weir-nfsd-notify-XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/socket", folder);
	check_socket(path);
	rmdir(folder);
}

static void notify_send__to_an_abstract_name(void **state)
{
	char name[64];

	(void)state;
	snprintf(name, sizeof(name), "@weir-nfsd-notify-%d", (int)getpid());
	check_socket(name);
}

static void notify_open__nobody_wants_to_be_told(void **state)
{
	struct notify notify;

	(void)state;
	assert_int_equal(notify_open(&notify, NULL), 0);
	assert_int_equal(notify.fd, -1);
	assert_int_equal(notify_open(&notify, ""), 0);
	assert_int_equal(notify.fd, -1);
	notify_send(&notify, "READY=1");
	notify_close(&notify);
}

static void notify_open__refuses_other_addresses(void **state)
{
	char text[200];
	struct notify notify;

	(void)state;
	assert_int_equal(notify_open(&notify, "vsock:2:1234"), -EAFNOSUPPORT);
	assert_int_equal(notify_open(&notify, "relative"), -EAFNOSUPPORT);
	memset(text, '/', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(notify_open(&notify, text), -ENAMETOOLONG);
	assert_int_equal(notify.fd, -1);
}

static void watchdog_ns__for_this_process_only(void **state)
{
	(void)state;
	assert_int_equal(notify_watchdog_ns("30000000", NULL, 7), 30000000000u);
	assert_int_equal(notify_watchdog_ns("30000000", "7", 7), 30000000000u);
	assert_int_equal(notify_watchdog_ns("30000000", "8", 7), 0);
	assert_int_equal(notify_watchdog_ns(NULL, NULL, 7), 0);
	assert_int_equal(notify_watchdog_ns(NULL, "7", 7), 0);
}

static void watchdog_ns__what_is_no_number(void **state)
{
	static const char *const texts[] = {"",	  "x",	"-1", "+1",
					    " 1", "1x", "1 ", "99999999999999999999999"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(notify_watchdog_ns(texts[i], NULL, 7), 0);
		assert_int_equal(notify_watchdog_ns("1000", texts[i], 7), 0);
	}
	/* The time in nanoseconds does not fit. */
	assert_int_equal(notify_watchdog_ns("18446744073709551615", NULL, 7), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notify_send__to_a_path),
		cmocka_unit_test(notify_send__to_an_abstract_name),
		cmocka_unit_test(notify_open__nobody_wants_to_be_told),
		cmocka_unit_test(notify_open__refuses_other_addresses),
		cmocka_unit_test(watchdog_ns__for_this_process_only),
		cmocka_unit_test(watchdog_ns__what_is_no_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
