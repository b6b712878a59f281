/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a process that ends while its child continues. The peer must notice the end. If the
 * child was created by clone(2) directly, no handlers of pthread_atfork(3) ran, and the child has a
 * copy of each socket. After exec, the new program inherits no descriptor.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weir/call.h>
#include <weir/request.h>

#define PROG	0x20000077u
#define LIMIT_S 60 /* a bound in seconds for each wait */

enum end { END_KILLED, END_CLOSES };

struct scene {
	bool by_clone; /* the survivor is created by clone(2) if set, and otherwise by fork(3) */
	bool listens;  /* the victim is the listening side */
	enum end end;  /* how the connection of the victim must end */
};

struct side {
	struct weir_engine *engine;
	struct weir_listener *listener;
	struct weir_conn *conn;
	bool was_open, is_closed;
	int error; /* error of the event CLOSED */
};

static int survivors[2]; /* a pipe through which the survivor sends its PID */

static void die(const char *what)
{
	fprintf(stderr, "test_shm_fork: %s\n", what);
	_exit(1);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct side *side = arg;

	side->conn = conn;
	if (event == WEIR_CONN_CLOSED)
		side->error = error;
	side->was_open |= event == WEIR_CONN_OPEN;
	side->is_closed |= event == WEIR_CONN_CLOSED;
}

static void handle(struct weir_request *req, void *arg)
{
	(void)arg;
	weir_request_results(req, 0);
	weir_request_reply(req);
}

/*
 * Creates an engine and listens or connects. It does not use cmocka, because it also runs in other
 * processes.
 */
static void side_start(struct side *side, bool listens, const char *addr)
{
	const struct weir_program program = {.struct_bytes = sizeof(program),
					     .prog = PROG,
					     .vers_low = 1,
					     .vers_high = 1,
					     .nprocs = 1,
					     .handle = handle};
	const struct weir_listen_options listen = {.struct_bytes = sizeof(listen),
						   .programs = &program,
						   .nprograms = 1,
						   .on_event = on_event,
						   .arg = side};
	const struct weir_connect_options connect = {
		.struct_bytes = sizeof(connect), .on_event = on_event, .arg = side};
	struct weir_profile profile;
	uint64_t end = now() + LIMIT_S * 1000000000ull;
	int rc;

	memset(side, 0, sizeof(*side));
	weir_profile_defaults(&profile);
	profile.page_bytes = 4096;
	if (weir_engine_create(&profile, &side->engine) != 0)
		die("weir_engine_create");
	if (listens) {
		if (weir_listen(side->engine, addr, &listen, &side->listener) != 0)
			die("weir_listen");
		return;
	}
	/* The other process may not be listening yet. */
	do {
		rc = weir_connect(side->engine, addr, &connect, &side->conn);
		usleep(1000);
	} while (rc == -ECONNREFUSED && now() < end);
	if (rc != 0)
		die("weir_connect");
}

static void poll_until(struct side *side, const bool *flag)
{
	uint64_t end = now() + LIMIT_S * 1000000000ull;

	while (!*flag && now() < end)
		weir_engine_poll(side->engine, 0, now());
	if (!*flag)
		die("the event did not come");
}

/* Runs in the survivor, the child. It closes nothing and waits until it is killed. */
static void survive(void)
{
	pid_t pid = getpid();

	if (write(survivors[1], &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
		_exit(1);
	alarm(2 * LIMIT_S);
	for (;;)
		pause();
}

static void be_victim(const struct scene *scene, const char *addr)
{
	struct side side;
	pid_t pid;

	alarm(2 * LIMIT_S);
	side_start(&side, scene->listens, addr);
	poll_until(&side, &side.was_open);
	pid = scene->by_clone ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0) : fork();
	if (pid < 0)
		die("fork");
	if (pid == 0)
		survive();
	if (scene->end == END_CLOSES) {
		weir_conn_close(side.conn);
		poll_until(&side, &side.is_closed);
		for (;;)
			pause();
	}
	for (;;)
		weir_engine_poll(side.engine, 0, now());
}

static bool is_alive(pid_t pid)
{
	char path[32], state = 'X';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 'X';
	fclose(file);
	return state != 'Z' && state != 'X';
}

static void play(const struct scene *scene)
{
	static unsigned serial;
	struct side side;
	pid_t victim, survivor;
	char addr[64];

	snprintf(addr, sizeof(addr), "weir-test-fork-%d-%u", (int)getpid(), serial++);
	assert_int_equal(pipe2(survivors, O_CLOEXEC), 0);
	fflush(NULL);
	victim = fork(); /* is called before this process has an engine */
	assert_true(victim >= 0);
	if (victim == 0)
		be_victim(scene, addr);
	side_start(&side, !scene->listens, addr);
	poll_until(&side, &side.was_open);
	assert_int_equal(read(survivors[0], &survivor, sizeof(survivor)), sizeof(survivor));
	if (scene->end == END_KILLED)
		assert_int_equal(kill(victim, SIGKILL), 0);
	poll_until(&side, &side.is_closed);
	assert_int_equal(side.error, scene->end == END_KILLED ? -ECONNRESET : -ESHUTDOWN);
	assert_true(is_alive(survivor));
	kill(survivor, SIGKILL);
	kill(victim, SIGKILL);
	assert_int_equal(waitpid(victim, NULL, 0), victim);
	weir_engine_destroy(side.engine);
	close(survivors[0]);
	close(survivors[1]);
}

/* Runs a scene in a child process, which had no engine before. */
static void play_apart(const struct scene *scene)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("CMOCKA_TEST_ABORT", "1", 1);
		play(scene);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void killed__child_by_fork(void **state)
{
	(void)state;
	play_apart(&(struct scene){.end = END_KILLED});
	play_apart(&(struct scene){.end = END_KILLED, .listens = true});
}

static void killed__child_has_the_sockets(void **state)
{
	(void)state;
	play_apart(&(struct scene){.end = END_KILLED, .by_clone = true});
	play_apart(&(struct scene){.end = END_KILLED, .by_clone = true, .listens = true});
}

static void closed__child_has_the_sockets(void **state)
{
	(void)state;
	play_apart(&(struct scene){.end = END_CLOSES, .by_clone = true});
	play_apart(&(struct scene){.end = END_CLOSES, .by_clone = true, .listens = true});
}

/* Lists the descriptors that a program inherits. The program prints one line for each. */
static void list_inherited(char *text, size_t size)
{
	size_t used = 0;
	int fds[2];
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(fds[1], 1);
		/*
		 * The loop of the shell opens no files, so that each descriptor that it prints was
		 * inherited.
		 */
		execl("/bin/sh", "sh", "-c",
		      "i=3; while [ $i -lt 400 ]; do [ -e /proc/self/fd/$i ] && readlink "
		      "/proc/$$/fd/$i; i=$((i+1)); done; true",
		      NULL);
		_exit(1);
	}
	close(fds[1]);
	while ((n = read(fds[0], text + used, size - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void be_inherited_from(void)
{
	char before[4096], after[4096], addr[64];
	struct side server, client;

	list_inherited(before, sizeof(before));
	snprintf(addr, sizeof(addr), "weir-test-exec-%d", (int)getpid());
	side_start(&server, true, addr);
	side_start(&client, false, addr);
	while (!client.was_open || !server.was_open) {
		weir_engine_poll(client.engine, 0, now());
		weir_engine_poll(server.engine, 0, now());
	}
	list_inherited(after, sizeof(after));
	assert_string_equal(after, before);
	weir_engine_destroy(client.engine);
	weir_engine_destroy(server.engine);
}

static void exec__inherits_nothing(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("CMOCKA_TEST_ABORT", "1", 1);
		alarm(LIMIT_S);
		be_inherited_from();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed__child_by_fork),
		cmocka_unit_test(killed__child_has_the_sockets),
		cmocka_unit_test(closed__child_has_the_sockets),
		cmocka_unit_test(exec__inherits_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
