/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of peers of other users over shm: who can connect, to whom this side gives access to its
 * memory, and who can open a socket file. A child process acts as the other user, which needs root.
 */
#include "shm_raw.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_log.h>

#include "eal.h"
#include "shm_dev.h"
#include "sock.h"

#define OTHER 54321u
#define GROUP 54322u
#define MORE  54323u

/* The result of a child, as its exit status: the end of its connection, a message, or nothing. */
enum found { FOUND_END = 10, FOUND_MESSAGE, FOUND_NOTHING };

static struct end end;
static struct raw raw;
static char addr[64], folder[32], path[64];

static int setup(void **state)
{
	(void)state;
	snprintf(addr, sizeof(addr), "%s", end_address());
	snprintf(folder, sizeof(folder), "/tmp/weir-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/p", folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	end_close(&end);
	assert_int_equal(rmdir(folder), 0);
	return 0;
}

static bool is_root(void)
{
	if (geteuid() == 0)
		return true;
	print_message("skipped: only root can take the part of another user\n");
	return false;
}

static enum found receive(int fd)
{
	const struct timeval wait = {.tv_sec = 30};
	static struct shm_msg msg;
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	n = recv(fd, &msg, sizeof(msg), 0);
	return n > 0 ? FOUND_MESSAGE : n == 0 || errno == ECONNRESET ? FOUND_END : FOUND_NOTHING;
}

/* Sends all messages that a valid peer sends, even if nobody receives them. */
static enum found child_connects(int ready)
{
	enum found found;

	(void)ready;
	raw_connect_only(&raw, addr);
	found = receive(raw.fd); /* WELCOME */
	if (found != FOUND_MESSAGE)
		return found;
	raw_try_send(&raw, &raw.hello, sizeof(raw.hello), raw.fds, raw.nfds);
	return receive(raw.fd);
}

static enum found child_serves(int ready)
{
	static const struct shm_msg welcome = {
		.magic = SHM_MAGIC, .version = SHM_VERSION, .type = SHM_WELCOME};
	int listener = raw_listen(addr), fd;

	if (write(ready, "", 1) != 1)
		return FOUND_NOTHING;
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		return FOUND_NOTHING;
	raw.fd = fd;
	raw_try_send(&raw, &welcome, sizeof(welcome), NULL, 0);
	return receive(fd);
}

#define FLOOD 100u /* number of connection requests, more than can wait */

/*
 * Sends valid connection requests, none of which is answered. The child ends when the test closes
 * its end of the pipe.
 */
static enum found child_floods(int ready)
{
	for (uint32_t i = 0; i < FLOOD; i++) {
		raw_connect_only(&raw, addr);
		if (receive(raw.fd) == FOUND_MESSAGE)
			raw_try_send(&raw, &raw.hello, sizeof(raw.hello), raw.fds, raw.nfds);
	}
	if (write(ready, "", 1) != 1)
		return FOUND_NOTHING;
	pause();
	return FOUND_END;
}

/*
 * Starts a process of the other user that runs 'run'. When this function returns, the process has
 * reported that it is ready, unless 'run' is child_connects().
 */
static pid_t start_child(enum found (*run)(int ready))
{
	const gid_t more = MORE;
	int ready[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(ready[0]);
		if (setgroups(1, &more) != 0 || setresgid(GROUP, GROUP, GROUP) != 0 ||
		    setresuid(OTHER, OTHER, OTHER) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
			_exit(1); /* the child must not outlive a test that fails */
		_exit((int)run(ready[1]));
	}
	close(ready[1]);
	if (run != child_connects)
		assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static enum found end_of_child(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/*
 * Returns true if a process of the other user can connect to a listener with the driver options
 * 'options'.
 */
static bool is_taken(const char *options)
{
	uint64_t before;
	pid_t pid;

	end_open(&end, options, 8);
	end_listen(&end, addr);
	raw_init(&raw);
	before = end.dev->stats.users_refused;
	pid = start_child(child_connects);
	END_WAIT(&end, NULL, end.nevents > 0 || end.dev->stats.users_refused > before);
	if (end.nevents > 0) {
		assert_int_equal(end.events[0].kind, FABRIC_CM_REQUEST);
		assert_true(end.events[0].peer.has_credentials);
		assert_int_equal(end.events[0].peer.uid, OTHER);
		assert_int_equal(end.events[0].peer.gid, GROUP);
		assert_int_equal(end.events[0].peer.pid, pid);
		assert_false(end.events[0].peer.has_more_groups);
		assert_int_equal(end.events[0].peer.ngroups, 1);
		assert_int_equal(end.events[0].peer.groups[0], MORE);
		end.qp = end_accept(&end, NULL, &end);
		assert_int_equal(end_of_child(pid), FOUND_MESSAGE);
		assert_int_equal(end.dev->stats.users_refused, before);
		end_close(&end);
		raw_fini(&raw);
		return true;
	}
	assert_int_equal(end_of_child(pid), FOUND_END);
	assert_int_equal(end.dev->stats.protocol_errors, 0);
	end_close(&end);
	raw_fini(&raw);
	return false;
}

static void listen__another_user_is_refused_unless_listed(void **state)
{
	(void)state;
	if (!is_root())
		return;
	assert_false(is_taken(""));
	assert_false(is_taken("peer_uid=54320:54322,peer_gid=54321"));
	assert_false(is_taken("server_uid=any"));
	assert_true(is_taken("peer_uid=1:54321"));
	assert_true(is_taken("peer_gid=54322"));
	assert_true(is_taken("peer_gid=54323")); /* permitted because of a supplementary group */
	assert_true(is_taken("peer_uid=any"));
}

/* Returns true if a connection request of the user 'uid' is complete and waits. */
static bool is_waiting(const struct fabric_listener *listener, uint32_t uid)
{
	const struct backlog_entry *entry;
	bool is = false;

	shm_lock(listener->dev);
	TAILQ_FOREACH(entry, &listener->backlog.entries, entry)
	{
		const struct shm_sock *sock =
			(const void *)((uintptr_t)entry - offsetof(struct shm_sock, waiting));

		is |= sock->state == SOCK_REQUEST && sock->account->uid == uid;
	}
	shm_unlock(listener->dev);
	return is;
}

/*
 * Checks a flood of connection requests of one user, which use all entries while the engine's
 * thread does not poll. A request of another user displaces one of them.
 */
static void request__of_another_user_displaces_those_of_a_flood(void **state)
{
	bool is_there = false;
	struct fabric_cm_event event;
	struct end own;
	pid_t pid;

	(void)state;
	if (!is_root())
		return;
	end_open(&end, "peer_uid=54321", 200);
	end_listen(&end, addr);
	raw_init(&raw);
	pid = start_child(child_floods);
	end_open(&own, "", 8);
	own.qp = end_connect(&own, addr, &own);
	/* Control threads connect and send without polls. */
	for (uint32_t i = 0; i < 5000 && !is_there; i++) {
		usleep(1000);
		is_there = is_waiting(end.listener, geteuid());
	}
	assert_true(is_there);
	is_there = false;
	for (uint32_t i = 0; i < FLOOD; i++)
		if (end.ops->cm_poll(end.dev, &event, 1) == 1) {
			is_there |= event.peer.uid == geteuid();
			end.ops->reject(end.dev, event.req, NULL, 0);
		}
	assert_true(is_there);
	assert_int_equal(end.dev->stats.requests_displaced, FLOOD + 1 - 64);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	end_close(&own);
	end_close(&end);
	raw_fini(&raw);
}

/*
 * Returns true if a listener of the other user receives anything from an end with the driver
 * options 'options'. The message HELLO passes memory.
 */
static bool is_told(const char *options)
{
	struct fabric_qp_attr attr = end_attr;
	pid_t pid;
	int rc;

	end_open(&end, options, 8);
	pid = start_child(child_serves);
	attr.ctx = &end;
	rc = end.ops->connect(end.dev, addr, &attr, NULL, 0, &end.qp);
	if (rc != 0) {
		end.qp = NULL;
		assert_int_equal(rc, -EACCES);
		assert_int_equal(end.dev->stats.users_refused, 1);
		assert_int_equal(end_of_child(pid), FOUND_END);
		end_close(&end);
		return false;
	}
	assert_int_equal(end_of_child(pid), FOUND_MESSAGE);
	end_event(&end, NULL, FABRIC_CM_FAILED);
	end_close(&end);
	return true;
}

static void connect__server_of_another_user_gets_nothing(void **state)
{
	(void)state;
	if (!is_root())
		return;
	assert_false(is_told(""));
	assert_false(is_told("server_uid=54320,peer_uid=54321"));
	assert_true(is_told("server_uid=54320:54321"));
	assert_true(is_told("server_uid=any"));
}

static mode_t mode_of_listener(const char *options, mode_t mask)
{
	mode_t old = umask(mask);
	struct stat st;

	end_open(&end, options, 8);
	end_listen(&end, path);
	umask(old);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	end_close(&end);
	return st.st_mode & 07777;
}

static void listen__mode_of_the_file_is_the_options(void **state)
{
	(void)state;
	assert_int_equal(mode_of_listener("", 0), 0600);
	assert_int_equal(mode_of_listener("", 0777), 0600);
	assert_int_equal(mode_of_listener("mode=0660", 0), 0660);
	assert_int_equal(mode_of_listener("mode=0660", 077), 0660);
	assert_int_equal(mode_of_listener("mode=0777,peer_uid=any", 022), 0777);
}

/* Checks a lock file that belongs to another user, who could hold the lock for ever. */
static void listen__lock_of_another_user_is_not_taken(void **state)
{
	char lock[80];
	FILE *file;

	(void)state;
	if (!is_root())
		return;
	snprintf(lock, sizeof(lock), "%s.lock", path);
	file = fopen(lock, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(chown(lock, OTHER, GROUP), 0);
	end_open(&end, "", 8);
	assert_int_equal(end.ops->listen(end.dev, path, 8, &end, &end.listener), -EACCES);
	end.listener = NULL;
	assert_int_equal(unlink(lock), 0);
	end_listen(&end, path);
}

/*
 * Checks that the log says which user was refused and which option would permit that user. The
 * number of these lines is bounded.
 */
static void refusal__log_names_the_remedy(void **state)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *log;

	(void)state;
	if (!is_root())
		return;
	log = open_memstream(&text, &bytes);
	assert_non_null(log);
	rte_openlog_stream(log);
	is_taken("");
	is_told("");
	is_taken("peer_uid=any");
	rte_openlog_stream(NULL);
	fclose(log);
	assert_non_null(strstr(text, "peer_uid=54321 or peer_gid=54322"));
	assert_non_null(strstr(text, "server_uid=54321"));
	assert_non_null(strstr(text, "peer_uid=any: connections are made with every user"));
	free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(listen__another_user_is_refused_unless_listed),
		TEST(connect__server_of_another_user_gets_nothing),
		TEST(request__of_another_user_displaces_those_of_a_flood),
		TEST(listen__mode_of_the_file_is_the_options),
		TEST(listen__lock_of_another_user_is_not_taken),
		TEST(refusal__log_names_the_remedy),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
