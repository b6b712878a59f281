/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the client of the telemetry socket: sockets that cannot be used, and answers that are
 * hostile or late. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_process.h"
#include "watch_find.h"
#include "watch_socket.h"

#define LONG_MS	 20000u
#define SHORT_MS 50u

static struct fake_process fake;
static struct watch_socket sock;

static int start(void **state)
{
	(void)state;
	fake_start(&fake);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	watch_close(&sock);
	fake_stop(&fake);
	return 0;
}

static void opens(enum watch_result result, const char *why)
{
	assert_int_equal(watch_open(&sock, fake.path, LONG_MS), result);
	if (!strstr(sock.why, why))
		fail_msg("'%s' rather than '%s'", sock.why, why);
	assert_int_equal(sock.fd >= 0, result == WATCH_OK);
}

static void open__reads_the_hello(void **state)
{
	(void)state;
	opens(WATCH_OK, "");
	assert_int_equal(sock.pid, 4711);
	assert_string_equal(sock.version, "DPDK 22.11.0");
}

static void open__a_path_without_a_process(void **state)
{
	char longer[300];
	int fd;

	(void)state;
	assert_int_equal(watch_open(&sock, "/tmp/weir-no-such-socket", LONG_MS), WATCH_UNREACHABLE);
	assert_non_null(strstr(sock.why, "No such file or directory: no process serves"));
	memset(longer, 'a', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(watch_open(&sock, longer, LONG_MS), WATCH_UNREACHABLE);
	assert_non_null(strstr(sock.why, "too long"));
	/* the file of a socket whose process has ended */
	shutdown(fake.fd, SHUT_RDWR);
	pthread_join(fake.thread, NULL);
	close(fake.fd);
	opens(WATCH_UNREACHABLE, "Connection refused: no process serves this socket");
	/* a socket of another type */
	unlink(fake.path);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	{
		struct sockaddr_un address = {.sun_family = AF_UNIX};

		snprintf(address.sun_path, sizeof(address.sun_path), "%s", fake.path);
		assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
		assert_int_equal(listen(fd, 1), 0);
	}
	opens(WATCH_UNREACHABLE, "this is not a telemetry socket");
	close(fd);
	unlink(fake.path);
	*strrchr(fake.path, '/') = '\0';
	rmdir(fake.path);
}

static void open__a_process_that_says_nothing_or_closes(void **state)
{
	(void)state;
	fake_hello(&fake, "", 0);
	assert_int_equal(watch_open(&sock, fake.path, SHORT_MS), WATCH_SILENT);
	assert_non_null(strstr(sock.why, "did not answer within 50 ms"));
	assert_int_equal(sock.fd, -1);
	fake_hello(&fake, NULL, 0);
	opens(WATCH_ENDED, "has closed the connection");
}

static void open__a_hello_that_is_malformed(void **state)
{
	static const char *const bad[] = {
		"hello",
		"{}",
		"[]",
		"{\"version\":\"DPDK\",\"pid\":1}",
		"{\"version\":\"DPDK\",\"pid\":1,\"max_output_len\":0}",
		"{\"version\":\"DPDK\",\"pid\":1,\"max_output_len\":-1}",
		"{\"version\":\"DPDK\",\"pid\":1,\"max_output_len\":4294967296}",
		"{\"version\":\"DPDK\",\"pid\":1,\"max_output_len\":\"16384\"}",
		"{\"version\":\"DPDK\",\"pid\":-1,\"max_output_len\":16384}",
		"{\"version\":\"DPDK\",\"pid\":99999999999,\"max_output_len\":16384}",
		"{\"version\":7,\"pid\":1,\"max_output_len\":16384}",
		"{\"version\":\"DPDK\",\"pid\":1,\"pid\":1,\"max_output_len\":16384}",
		"{\"version\":\"DPDK\",\"pid\":1,\"max_output_len\":16384",
	};
	static char longer[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fake_hello(&fake, bad[i], 0);
		opens(WATCH_MALFORMED, "malformed answer");
	}
	memset(longer, ' ', sizeof(longer));
	fake_hello(&fake, longer, sizeof(longer));
	opens(WATCH_MALFORMED, "longer than announced");
}

static void asks(enum watch_result result, const char *why)
{
	json_t *value;

	if (sock.fd < 0)
		opens(WATCH_OK, "");
	assert_int_equal(watch_ask(&sock, "/weir/conn,3", &value), result);
	assert_int_equal(value != NULL, result == WATCH_OK);
	json_decref(value);
	if (result != WATCH_OK && !strstr(sock.why, why))
		fail_msg("'%s' rather than '%s'", sock.why, why);
	assert_int_equal(sock.fd >= 0, result <= WATCH_UNKNOWN);
}

static void ask__answers_of_a_process(void **state)
{
	(void)state;
	fake_answer(&fake, "/weir/conn,3", "{\"/weir/conn\":{\"version\":1}}", 0);
	asks(WATCH_OK, "");
	fake_answer(&fake, "/weir/conn,3", "{\"/weir/conn\":[]}", 0);
	asks(WATCH_OK, "");
	fake_answer(&fake, "/weir/conn,3",
		    "{\"/weir/conn\":{\"error\":\"there is no connection 3\"}}", 0);
	asks(WATCH_REFUSED, "/weir/conn: there is no connection 3");
	fake_answer(&fake, "/weir/conn,3", "{\"/weir/conn\":null}", 0);
	asks(WATCH_UNKNOWN, "does not know /weir/conn");
	/* control characters of a terminal */
	fake_answer(&fake, "/weir/conn,3", "{\"/weir/conn\":{\"error\":\"\\u001b[2Jx\\n\"}}", 0);
	asks(WATCH_REFUSED, "/weir/conn: ?[2Jx?");
	fake_answer(&fake, "/weir/conn,3", "{\"/weir/conn\":{\"error\":7}}", 0);
	asks(WATCH_REFUSED, "");
}

static void ask__answers_that_are_malformed(void **state)
{
	static const char *const bad[] = {
		"x",
		"7",
		"{}",
		"[]",
		"null",
		"{\"/weir/conn\":",
		"{\"/weir/conn\":{}",
		"{\"/weir/conn\":7}",
		"{\"/weir/conn\":\"text\"}",
		"{\"/weir/conns\":{}}",
		"{\"/weir/conn\":{},\"/weir/conns\":{}}",
		"{\"/weir/conn\":{\"a\":1,\"a\":2}}",
		"{\"/weir/conn\":{\"a\":99999999999999999999999}}",
		"{\"/weir/conn\":{\"a\":\"\xff\"}}",
		"{\"/weir/conn\":{\"a\":\"\\u0000\"}}",
		"{\"/weir/conn\":{}} trailing",
	};
	static char longer[20000], deep[8000];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fake_answer(&fake, "/weir/conn,3", bad[i], 0);
		asks(WATCH_MALFORMED, "malformed answer");
	}
	fake_answer(&fake, "/weir/conn,3", "{\"/weir/conn\":{}}\0", 18);
	asks(WATCH_MALFORMED, "contains a NUL");
	memset(longer, ' ', sizeof(longer));
	memcpy(longer, "{\"/weir/conn\":{}}", 17);
	fake_answer(&fake, "/weir/conn,3", longer, sizeof(longer));
	asks(WATCH_MALFORMED, "longer than announced");
	memset(deep, '[', sizeof(deep));
	fake_answer(&fake, "/weir/conn,3", deep, sizeof(deep));
	asks(WATCH_MALFORMED, "malformed answer");
}

static void ask__a_process_that_ends_or_hangs(void **state)
{
	json_t *value;

	(void)state;
	fake_answer(&fake, "/weir/conn,3", NULL, 0);
	asks(WATCH_ENDED, "has closed the connection");
	assert_int_equal(watch_ask(&sock, "/weir/conn,3", &value), WATCH_ENDED);
	assert_null(value);
	fake_answer(&fake, "/weir/conn,3", "", 0);
	assert_int_equal(watch_open(&sock, fake.path, LONG_MS), WATCH_OK);
	sock.wait_ms = SHORT_MS;
	assert_int_equal(watch_ask(&sock, "/weir/conn,3", &value), WATCH_SILENT);
	assert_int_equal(sock.fd, -1);
}

static void ask__a_command_that_is_too_long(void **state)
{
	char command[1200];
	json_t *value;

	(void)state;
	memset(command, '7', sizeof(command));
	command[sizeof(command) - 1] = '\0';
	opens(WATCH_OK, "");
	assert_int_equal(watch_ask(&sock, command, &value), WATCH_MALFORMED);
}

static char folder[] = "/tmp/weir-find-XXXXXX";

static void make(const char *path, bool is_folder)
{
	char full[200];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", folder, path);
	if (is_folder) {
		assert_int_equal(mkdir(full, 0700), 0);
		return;
	}
	file = fopen(full, "we");
	assert_non_null(file);
	fclose(file);
}

static void find__sockets_of_all_prefixes_and_of_one(void **state)
{
	static const char *const files[] = {
		"rte/dpdk_telemetry.v2:10",
		"rte/dpdk_telemetry.v2:2",
		"rte/dpdk_telemetry.v2",
		"rte/dpdk_telemetry.v2x",
		"rte/dpdk_telemetry.v2:",
		"rte/dpdk_telemetry.v2:1x",
		"rte/config",
		"other/dpdk_telemetry.v2",
	};
	static const char *const names[] = {"other", "rte", "rte:2", "rte:10"};
	struct watch_places places;
	char command[100];

	(void)state;
	assert_non_null(mkdtemp(folder));
	make("rte", true);
	make("other", true);
	make("empty", true);
	make("file", false);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		make(files[i], false);
	assert_int_equal(watch_find(folder, NULL, &places), 0);
	assert_int_equal(places.n, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_string_equal(places.places[i].name, names[i]);
	assert_non_null(strstr(places.places[3].path, "/rte/dpdk_telemetry.v2:10"));
	assert_int_equal(watch_find(folder, "rte", &places), 0);
	assert_int_equal(places.n, 3);
	assert_int_equal(watch_find(folder, "none", &places), 0);
	assert_int_equal(places.n, 0);
	/* Long names remain different. */
	for (int i = 0; i < 2; i++) {
		char path[100];

		snprintf(path, sizeof(path), "%062d", i);
		make(path, true);
		snprintf(path, sizeof(path), "%062d/dpdk_telemetry.v2", i);
		make(path, false);
	}
	assert_int_equal(watch_find(folder, NULL, &places), 0);
	assert_int_equal(places.n, 6);
	assert_int_equal(strlen(places.places[0].name), 62);
	assert_string_not_equal(places.places[0].name, places.places[1].name);
	assert_int_equal(watch_find("/tmp/weir-no-such-folder", NULL, &places), 0);
	assert_int_equal(places.n, 0);
	snprintf(command, sizeof(command), "%s/rte/config", folder);
	assert_int_equal(watch_find(command, NULL, &places), -ENOTDIR);
	assert_non_null(strstr(places.why, "config: can't be read: Not a directory"));
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	assert_int_equal(system(command), 0);
}

static void find__the_folder_of_the_environment(void **state)
{
	struct watch_places places;
	char longer[300];

	(void)state;
	setenv("RUNTIME_DIRECTORY", "/tmp/weir-none", 1);
	assert_int_equal(watch_find(NULL, NULL, &places), 0);
	assert_string_equal(places.folder, "/tmp/weir-none/dpdk");
	memset(longer, 'a', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	setenv("RUNTIME_DIRECTORY", longer, 1);
	assert_int_equal(watch_find(NULL, NULL, &places), -ENAMETOOLONG);
	unsetenv("RUNTIME_DIRECTORY");
	setenv("XDG_RUNTIME_DIR", "/tmp/weir-xdg", 1);
	assert_int_equal(watch_find(NULL, NULL, &places), 0);
	assert_string_equal(places.folder, getuid() == 0 ? "/var/run/dpdk" : "/tmp/weir-xdg/dpdk");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(open__reads_the_hello, start, stop),
		cmocka_unit_test_setup(open__a_path_without_a_process, start),
		cmocka_unit_test_setup_teardown(open__a_process_that_says_nothing_or_closes, start,
						stop),
		cmocka_unit_test_setup_teardown(open__a_hello_that_is_malformed, start, stop),
		cmocka_unit_test_setup_teardown(ask__answers_of_a_process, start, stop),
		cmocka_unit_test_setup_teardown(ask__answers_that_are_malformed, start, stop),
		cmocka_unit_test_setup_teardown(ask__a_process_that_ends_or_hangs, start, stop),
		cmocka_unit_test_setup_teardown(ask__a_command_that_is_too_long, start, stop),
		cmocka_unit_test(find__sockets_of_all_prefixes_and_of_one),
		cmocka_unit_test(find__the_folder_of_the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
