/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the start of EAL with a socket of telemetry, and without one where none can be created.
 * Each test starts EAL in a process of its own. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <weir/log.h>

#include "eal.h"

static char folder[] = "/tmp/weir-eal-XXXXXX";
static char logged[1000];

/* A process that has started EAL. It ends when a byte is written to 'end'. */
struct eal_process {
	pid_t pid;
	int end;
	char line[sizeof(logged)]; /* what it has logged */
};

static void keep_line(void *arg, enum weir_log_level level, enum weir_log_category category,
		      const char *text)
{
	(void)arg;
	if (level == WEIR_LOG_WARNING && category == WEIR_LOG_MEMORY)
		snprintf(logged, sizeof(logged), "%s", text);
}

/* Starts EAL in a new process, with 'directory' as RUNTIME_DIRECTORY. EAL must start. */
static void eal_begin(struct eal_process *process, const char *directory)
{
	const struct mem_eal_options options = {.has_telemetry = true};
	int end[2], line[2];

	assert_int_equal(pipe(end), 0);
	assert_int_equal(pipe(line), 0);
	process->pid = fork();
	assert_true(process->pid >= 0);
	if (process->pid == 0) {
		char byte;

		close(end[1]);
		setenv("RUNTIME_DIRECTORY", directory, 1);
		if (weir_log_set(keep_line, NULL, WEIR_LOG_DEBUG) != 0 ||
		    mem_eal_start(&options) != 0)
			_exit(1);
		(void)!write(line[1], logged, sizeof(logged));
		(void)!read(end[0], &byte, 1);
		exit(0);
	}
	close(end[0]);
	close(line[1]);
	process->end = end[1];
	assert_int_equal(read(line[0], process->line, sizeof(process->line)),
			 sizeof(process->line));
	close(line[0]);
}

static void eal_end(struct eal_process *process)
{
	int status;

	assert_int_equal(write(process->end, "", 1), 1);
	close(process->end);
	assert_int_equal(waitpid(process->pid, &status, 0), process->pid);
	assert_int_equal(status, 0);
}

/* Returns whether a process listens at the socket. */
static bool is_served(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool ok;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/dpdk/rte/%s", folder, name);
	ok = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
	close(fd);
	return ok;
}

/* Starts EAL where no socket can be created, and checks the reason in the log. */
static void refused(const char *directory, const char *reason)
{
	struct eal_process process;

	eal_begin(&process, directory);
	if (!strstr(process.line, reason))
		fail_msg("no '%s' in '%s'", reason, process.line);
	assert_false(is_served("dpdk_telemetry.v2"));
	eal_end(&process);
}

static int make_folder(void **state)
{
	(void)state;
	memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static void start__two_processes_have_a_socket_each(void **state)
{
	struct eal_process first, second, third;

	(void)state;
	eal_begin(&first, folder);
	assert_string_equal(first.line, "");
	assert_true(is_served("dpdk_telemetry.v2"));
	eal_begin(&second, folder);
	assert_true(is_served("dpdk_telemetry.v2:1"));
	/* A process that was killed leaves its socket, which the next one replaces. */
	kill(first.pid, SIGKILL);
	assert_int_equal(waitpid(first.pid, NULL, 0), first.pid);
	close(first.end);
	assert_false(is_served("dpdk_telemetry.v2"));
	eal_begin(&third, folder);
	assert_true(is_served("dpdk_telemetry.v2"));
	eal_end(&second);
	assert_false(is_served("dpdk_telemetry.v2:1"));
	eal_end(&third);
	assert_false(is_served("dpdk_telemetry.v2"));
}

static void start__without_the_folder(void **state)
{
	char path[100];

	(void)state;
	snprintf(path, sizeof(path), "%s/none", folder);
	refused(path, "/none/dpdk: can't be created: No such file or directory");
}

static void start__with_a_folder_that_others_write_to(void **state)
{
	char path[100];

	(void)state;
	snprintf(path, sizeof(path), "%s/dpdk", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/dpdk/rte", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, 0770), 0);
	refused(folder, "/dpdk/rte: others than this user can write there");
}

static void start__with_a_link_instead_of_the_folder(void **state)
{
	char path[100];

	(void)state;
	snprintf(path, sizeof(path), "%s/dpdk", folder);
	assert_int_equal(symlink("/tmp", path), 0);
	refused(folder, "/dpdk: can't be opened: ");
}

static void start__with_a_file_instead_of_the_folder(void **state)
{
	char path[100];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/dpdk", folder);
	file = fopen(path, "we");
	assert_non_null(file);
	fclose(file);
	refused(folder, "/dpdk: can't be opened: Not a directory");
}

/* The longest paths that are accepted. With a number of four digits, the path of the socket then
 * has 104 to 107 characters. */
static void start__with_the_longest_paths(void **state)
{
	struct sockaddr_un address;
	size_t longest = sizeof(address.sun_path) - sizeof("/dpdk/rte/dpdk_telemetry.v2:9999");
	char path[sizeof(address.sun_path)];

	(void)state;
	for (size_t len = longest - 3; len <= longest; len++) {
		struct eal_process process;

		memset(path, 'x', sizeof(path));
		memcpy(path, folder, strlen(folder));
		path[strlen(folder)] = '/';
		path[len] = '\0';
		assert_int_equal(mkdir(path, 0700), 0);
		eal_begin(&process, path);
		assert_string_equal(process.line, "");
		eal_end(&process);
	}
}

/* A process was killed while it tried whether it can create a socket. */
static void start__with_a_socket_that_was_left(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct eal_process process;
	char path[100];
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/dpdk", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/dpdk/rte", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/weir.try", path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	eal_begin(&process, folder);
	assert_string_equal(process.line, "");
	eal_end(&process);
	assert_int_equal(access(address.sun_path, F_OK), -1);
}

static void start__with_a_long_path(void **state)
{
	char path[200];

	(void)state;
	memset(path, 'x', sizeof(path));
	memcpy(path, folder, strlen(folder));
	path[strlen(folder)] = '/';
	path[sizeof(path) - 1] = '\0';
	refused(path, "too long for the path of a socket");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(start__two_processes_have_a_socket_each,
						make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(start__without_the_folder, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(start__with_a_folder_that_others_write_to,
						make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(start__with_a_link_instead_of_the_folder,
						make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(start__with_a_file_instead_of_the_folder,
						make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(start__with_the_longest_paths, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(start__with_a_socket_that_was_left, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(start__with_a_long_path, make_folder,
						remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
