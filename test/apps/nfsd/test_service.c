/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of what signals do to a server with connections. SIGHUP reloads the exports, and SIGTERM
 * ends the server after it has answered the calls that had arrived. The test learns the end of a
 * reload by the socket of a service manager, NOTIFY_SOCKET.
 */
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

#define ROOM	   "backend = ram:8m\n"
#define CALLS	   8u /* calls that are under way when the server has to end */
#define CALL_BYTES (512u << 10)
#define POLLERS	   2u /* maximum number of threads of engines */
#define POLLS	   50 /* enough for the client to send them */

static char path[96], said[1024];
static int manager = -1;

/* Waits for a message of the server that contains 'text', for at most a minute. */
static void wait_until_said(const char *text)
{
	ssize_t n;

	do {
		n = recv(manager, said, sizeof(said) - 1, 0);
		assert_true(n > 0);
		said[n] = '\0';
	} while (!strstr(said, text));
}

/* Writes the file of exports. */
static void write_exports(const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void reload_now(void)
{
	assert_int_equal(kill(c->server, SIGHUP), 0);
	wait_until_said("RELOADING=1\n");
	wait_until_said("READY=1\n");
}

static void reload(const char *text)
{
	write_exports(text);
	reload_now();
	assert_null(strstr(said, "failed"));
}

static int setup_served(void **state)
{
	const char *args[] = {"--exports", path, "--state", client_dir, NULL};
	const struct timeval minute = {.tv_sec = 60};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	(void)state;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/notify", client_dir);
	unlink(addr.sun_path);
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(manager, (struct sockaddr *)&addr, sizeof(addr)), 0);
	setsockopt(manager, SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof(minute));
	setenv("NOTIFY_SOCKET", addr.sun_path, 1);
	snprintf(path, sizeof(path), "%s/exports.ini", client_dir);
	write_exports("[/a]\n" ROOM "[/b]\n" ROOM);
	start(args);
	wait_until_said("READY=1\nSTATUS=Serving 2 exports on ");
	return 0;
}

static int teardown_served(void **state)
{
	teardown(state);
	close(manager);
	return 0;
}

static enum nfs3_status create(const char *name)
{
	return client_create(c, &root, name, NULL);
}

static void reload__applies_to_open_connections(void **state)
{
	(void)state;
	assert_int_equal(create("before"), NFS3_OK);
	reload("[/a]\nbackend = ram:8m\naccess = ro\n[/b]\n" ROOM);
	assert_int_equal(create("ro"), NFS3ERR_ROFS);
	reload("[/a]\nbackend = ram:8m\nall_squash = yes\nanonuid = 77\n[/b]\n" ROOM);
	assert_int_equal(create("squashed"), NFS3_OK);
	assert_int_equal(c->res.create.attr.attr.uid, 77);
	reload("[/a]\nbackend = ram:8m\nclients = uid:4242 192.0.2.1\n[/b]\n" ROOM);
	assert_int_equal(create("foreign"), NFS3ERR_STALE);
	assert_int_equal(client_create(c, &c->roots[1], "b", NULL), NFS3_OK);
	reload("[/a]\nbackend = ram:8m\nclients = local\n[/b]\n" ROOM);
	assert_int_equal(create("local"), NFS3_OK);
	assert_int_equal(client_lookup(c, &root, "before", NULL), NFS3_OK);
	assert_false(c->closed);
}

static void reload__withdraws_and_restores_an_export(void **state)
{
	struct nfs3_fh file;

	(void)state;
	assert_int_equal(client_create(c, &root, "f", &file), NFS3_OK);
	reload("[/b]\n" ROOM);
	assert_non_null(strstr(said, "STATUS=Serving 1 export on "));
	assert_int_equal(client_getattr(c, &root, NULL), NFS3ERR_STALE);
	assert_int_equal(client_getattr(c, &file, NULL), NFS3ERR_STALE);
	assert_int_equal(client_getattr(c, &c->roots[1], NULL), NFS3_OK);
	reload("[/b]\n" ROOM "[/a]\n" ROOM);
	assert_non_null(strstr(said, "STATUS=Serving 2 exports on "));
	assert_int_equal(client_getattr(c, &file, NULL), NFS3_OK);
	assert_false(c->closed);
}

static void reload__that_fails_changes_nothing(void **state)
{
	static const char *const texts[] = {
		"[/a]\nbackend = ram:8m\naccess = ro\nnonsense\n[/b]\n" ROOM,
		"[/a]\nbackend = ram:8m\naccess = ro\n[/b]\n" ROOM "[/new]\n" ROOM,
		"[/a]\nbackend = ram:16m\naccess = ro\n[/b]\n" ROOM,
		"[/a]\nbackend = dir:/\naccess = ro\n[/b]\n" ROOM,
		"# no export\n",
		"",
		NULL, /* there is no file */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char name[16];

		if (texts[i])
			write_exports(texts[i]);
		else
			unlink(path);
		reload_now();
		assert_non_null(strstr(said, "STATUS=Serving 2 exports on "));
		assert_non_null(strstr(said, "The last reload failed"));
		snprintf(name, sizeof(name), "f%zu", i);
		assert_int_equal(create(name), NFS3_OK);
	}
	assert_false(c->closed);
	/* The next reload of a good file succeeds, and no message of the failure stays. */
	reload("[/a]\nbackend = ram:8m\naccess = ro\n[/b]\n" ROOM);
	assert_int_equal(create("ro"), NFS3ERR_ROFS);
}

/* ---- the end ---- */

/* Reads the first line of a file of a thread of the server. */
static void read_of_thread(const char *thread, const char *name, char *text, int bytes)
{
	char file_path[320];
	FILE *file;

	snprintf(file_path, sizeof(file_path), "/proc/%d/task/%s/%s", (int)c->server, thread, name);
	file = fopen(file_path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, bytes, file));
	fclose(file);
}

/*
 * Stops the threads of the engines, as a debugger does, and lists them. Returns their number, or 0
 * if this machine does not allow that.
 */
static uint32_t stop_pollers(pid_t *threads)
{
	char folder[64], name[64];
	struct dirent *entry;
	uint32_t n = 0;
	DIR *tasks;

	snprintf(folder, sizeof(folder), "/proc/%d/task", (int)c->server);
	tasks = opendir(folder);
	assert_non_null(tasks);
	while (n < POLLERS && (entry = readdir(tasks))) {
		if (entry->d_name[0] == '.')
			continue;
		read_of_thread(entry->d_name, "comm", name, sizeof(name));
		if (strncmp(name, "weir-nfsd-", 10) != 0)
			continue;
		threads[n] = (pid_t)atoi(entry->d_name);
		if (ptrace(PTRACE_SEIZE, threads[n], NULL, NULL) != 0)
			break;
		assert_int_equal(ptrace(PTRACE_INTERRUPT, threads[n], NULL, NULL), 0);
		assert_int_equal(waitpid(threads[n], NULL, __WALL), threads[n]);
		n++;
	}
	closedir(tasks);
	return n;
}

/* Waits until the main thread of the server sleeps. */
static void wait_until_main_sleeps(void)
{
	char thread[16], text[256], *state;

	snprintf(thread, sizeof(thread), "%d", (int)c->server);
	do {
		sched_yield();
		read_of_thread(thread, "stat", text, sizeof(text));
		state = strrchr(text, ')'); /* the end of the thread's name */
		assert_non_null(state);
	} while (state[2] != 'S');
}

/*
 * The calls arrive while the threads of the engines do not run, and the main thread asks these
 * threads to end. When they run again, they end without a poll. The server must nevertheless answer
 * the calls: a call that is lost would have to be sent again on another connection. The data of the
 * calls are in chunks, so the server needs many polls for all of them.
 */
static void end__answers_calls_that_had_arrived(void **state)
{
	pid_t threads[POLLERS];
	uint32_t nthreads;
	struct nfs3_fh file;
	int status;

	(void)state;
	assert_int_equal(client_create(c, &root, "f", &file), NFS3_OK);
	nthreads = stop_pollers(threads);
	if (nthreads == 0)
		skip();
	c->args.write =
		(struct nfs3_write_head){.fh = file, .count = CALL_BYTES, .stable = NFS3_FILE_SYNC};
	c->done = 0;
	for (uint32_t i = 0; i < CALLS; i++)
		client_begin(c, NFS3_WRITE);
	for (int i = 0; i < POLLS; i++)
		client_poll(c);
	assert_int_equal(kill(c->server, SIGTERM), 0);
	wait_until_said("STOPPING=1\n");
	wait_until_main_sleeps();
	for (uint32_t i = 0; i < nthreads; i++)
		assert_int_equal(ptrace(PTRACE_DETACH, threads[i], NULL, NULL), 0);
	client_end(c, CALLS);
	assert_int_equal(c->status, 0);
	assert_int_equal(waitpid(c->server, &status, 0), c->server);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	c->server = 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reload__applies_to_open_connections, setup_served,
						teardown_served),
		cmocka_unit_test_setup_teardown(reload__withdraws_and_restores_an_export,
						setup_served, teardown_served),
		cmocka_unit_test_setup_teardown(reload__that_fails_changes_nothing, setup_served,
						teardown_served),
		cmocka_unit_test_setup_teardown(end__answers_calls_that_had_arrived, setup_served,
						teardown_served),
	};

	/* If the tests run under nohup, the server would inherit that SIGHUP is ignored. */
	signal(SIGHUP, SIG_DFL);
	client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
