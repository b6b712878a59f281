/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the server in a child process, and waits until clients can connect. */
#include "background.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic pid_t server; /* the child, while the parent waits for its start */

/* Forks. A signal that arrives meanwhile is handled when 'server' is set. */
static pid_t fork_server(void)
{
	sigset_t all, before;
	pid_t child;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	child = fork();
	if (child < 0)
		perror("weir-nfsd: fork");
	else
		server = child;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return child;
}

pid_t background_fork(int *fd)
{
	int fds[2];
	pid_t child;

	if (pipe(fds) != 0) {
		perror("weir-nfsd: pipe");
		return -1;
	}
	child = fork_server();
	if (child == 0) {
		setsid();
		*fd = fds[1];
		close(fds[0]);
		return 0;
	}
	close(fds[1]);
	if (child < 0)
		close(fds[0]);
	else
		*fd = fds[0];
	return child;
}

bool background_pass_on(int signo)
{
	pid_t child = server;
	int error = errno;

	if (child > 0)
		(void)kill(child, signo);
	errno = error;
	return child > 0;
}

int background_ready(int fd)
{
	const char ok = 1;
	int rc = 0;

	/*
	 * The current directory can change here, because all files and directories of the command
	 * line are already open or have absolute paths.
	 */
	if (chdir("/") != 0) {
		perror("weir-nfsd: /");
		rc = -1;
	}
	if (!freopen("/dev/null", "r", stdin) || !freopen("/dev/null", "w", stdout) ||
	    !freopen("/dev/null", "w", stderr))
		rc = -1;
	if (rc == 0 && write(fd, &ok, 1) != 1)
		rc = -1;
	close(fd);
	return rc;
}

/* Returns the most probable cause of a signal that ended the server, and the remedy. */
static const char *cause_of(int signo)
{
	switch (signo) {
	case SIGKILL:
		return "the kernel may have killed it for lack of memory: see 'dmesg', give the "
		       "service or container more memory, or lower the sizes of exports in memory "
		       "(ram:SIZE)";
	case SIGBUS:
		return "the kernel could not provide memory that it had promised: see "
		       "HugePages_Free in /proc/meminfo and the limits of the memory and hugetlb "
		       "control groups";
	case SIGSYS:
		return "a seccomp filter of the container or service forbids a system call: allow "
		       "it there";
	case SIGXCPU:
		return "the limit of CPU time was reached: see 'ulimit -t', and remove the limit";
	case SIGXFSZ:
		return "the limit of a file's size was reached: see 'ulimit -f', and raise the "
		       "limit";
	case SIGSEGV:
	case SIGABRT:
	case SIGILL:
	case SIGFPE:
		return "this is a fault of weir-nfsd: please report it with what --foreground "
		       "prints";
	default:
		return "another process sent it";
	}
}

int background_wait(pid_t child, int fd, int failed)
{
	int status, n;
	char ok;

	do {
		n = (int)read(fd, &ok, 1);
	} while (n < 0 && errno == EINTR);
	close(fd);
	if (n == 1)
		return 0;
	while (waitpid(child, &status, 0) != child) {
		if (errno != EINTR) {
			perror("weir-nfsd: waitpid");
			return failed;
		}
	}
	if (WIFSIGNALED(status)) {
		fprintf(stderr,
			"weir-nfsd: the server was ended by signal %d (%s) before it was ready: "
			"%s\n",
			WTERMSIG(status), strsignal(WTERMSIG(status)), cause_of(WTERMSIG(status)));
		return failed;
	}
	if (WEXITSTATUS(status) == 0)
		fprintf(stderr,
			"weir-nfsd: the server was stopped by a signal before it was ready\n");
	return WEXITSTATUS(status) ? WEXITSTATUS(status) : failed;
}
