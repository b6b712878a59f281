/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the rights that weir-nfsd keeps after its start. Each case gives up its rights in a
 * child process, so that the next case has them.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox.h"

/*
 * Prints a message and ends the process if 'holds' is false. It is called in a child process, which
 * cannot use cmocka.
 */
static void require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "not so: %s (errno %d)\n", what, errno);
	_exit(1);
}

static void run_in_child(void (*body)(void))
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void refuse(const char *what, long rc)
{
	require(rc == -1 && errno == EPERM, what);
}

static void check_refused(void)
{
	char *const nothing[] = {NULL};
	struct iovec iov = {.iov_base = &iov, .iov_len = sizeof(iov)};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char byte = 'x';

	require(page != MAP_FAILED, "memory can be had");
	refuse("execve()", execve("/bin/true", nothing, nothing));
	refuse("execveat()", syscall(SYS_execveat, AT_FDCWD, "/bin/true", nothing, nothing, 0));
	refuse("fork()", syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL));
	refuse("memory that runs", mmap(NULL, 4096, PROT_READ | PROT_EXEC,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
					   ? -1
					   : 0);
	refuse("memory made to run", mprotect(page, 4096, PROT_READ | PROT_EXEC));
	refuse("ptrace()", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	refuse("another process's memory", process_vm_readv(getppid(), &iov, 1, &iov, 1, 0));
	refuse("a signal to another process", kill(getppid(), 0));
	refuse("tgkill() of another process", syscall(SYS_tgkill, getppid(), getppid(), 0));
	refuse("another process's priority", setpriority(PRIO_PROCESS, (id_t)getppid(), 19));
	refuse("a group's priority", setpriority(PRIO_PGRP, 0, 19));
	refuse("a user's priority", setpriority(PRIO_USER, 0, 19));
	refuse("a ring, whose operations are not filtered", syscall(SYS_io_uring_setup, 1, &iov));
	refuse("a socket for packets", socket(AF_PACKET, SOCK_RAW, 0));
	refuse("a socket for the kernel", socket(AF_NETLINK, SOCK_RAW, 0));
	refuse("a terminal's input", ioctl(0, TIOCSTI, &byte));
	refuse("setuid()", syscall(SYS_setuid, 0));
	refuse("mount()", syscall(SYS_mount, "none", "/", "tmpfs", 0, NULL));
	refuse("unshare()", syscall(SYS_unshare, 0));
	refuse("bpf()", syscall(SYS_bpf, 0, NULL, 0));
	refuse("a second filter", syscall(SYS_seccomp, 0, 0, NULL));
	refuse("chroot()", syscall(SYS_chroot, "/"));
}

struct meeting {
	sem_t go, done;
};

static void *check_when_told(void *arg)
{
	struct meeting *meeting = arg;

	sem_wait(&meeting->go);
	check_refused();
	sem_post(&meeting->done);
	return NULL;
}

static void *say_done(void *arg)
{
	check_refused();
	sem_post((sem_t *)arg);
	return NULL;
}

static void check_all_threads(void)
{
	struct meeting meeting;
	pthread_t before, after;

	sem_init(&meeting.go, 0, 0);
	sem_init(&meeting.done, 0, 0);
	require(pthread_create(&before, NULL, check_when_told, &meeting) == 0,
		"a thread before the filter");
	require(sandbox_filter() == 0, "the filter is installed");
	sem_post(&meeting.go);
	sem_wait(&meeting.done);
	check_refused();
	require(pthread_create(&after, NULL, say_done, &meeting.done) == 0,
		"a thread behind the filter");
	sem_wait(&meeting.done);
}

static void sandbox_filter__binds_each_thread(void **state)
{
	(void)state;
	run_in_child(check_all_threads);
}

static void check_served(void)
{
	char folder[] = "/tmp/weir-sandbox-XXXXXX", name[64];
	int fd;

	require(mkdtemp(folder) != NULL, "a folder");
	require(sandbox_filter() == 0, "the filter is installed");
	snprintf(name, sizeof(name), "%s/a", folder);
	fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	require(fd >= 0 && pwrite(fd, "weir", 4, 0) == 4 && fsync(fd) == 0 && fchmod(fd, 0640) == 0,
		"a file");
	close(fd);
	require(unlink(name) == 0 && rmdir(folder) == 0, "names can go");
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	require(fd >= 0 && close(fd) == 0, "a socket");
	require(setpriority(PRIO_PROCESS, 0, 19) == 0 && getpriority(PRIO_PROCESS, 0) == 19,
		"a lower priority of this thread");
}

static void sandbox_filter__allows_what_serving_takes(void **state)
{
	(void)state;
	run_in_child(check_served);
}

static void abort_in_filter(void)
{
	require(sandbox_filter() == 0, "the filter is installed");
	abort();
}

/* Checks that a failed assertion ends the process in spite of the filter. */
static void sandbox_filter__lets_the_process_abort(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		abort_in_filter();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sandbox_filter__binds_each_thread),
		cmocka_unit_test(sandbox_filter__allows_what_serving_takes),
		cmocka_unit_test(sandbox_filter__lets_the_process_abort),
	};

	return cmocka_run_group_tests_name("nfsd_sandbox", tests, NULL, NULL);
}
