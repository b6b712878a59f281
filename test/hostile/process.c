/* SPDX-License-Identifier: BSD-3-Clause */
/* The process of a requester: its start, its end, and the outcome that its exit status means. */
#include "hostile.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATUS_KILLED 128

int requester_start(const struct hostile *h, const struct hostile_case *c)
{
	pid_t pid = h->command ? fork() : -1;

	if (pid == 0) {
		setenv("WEIR_HOSTILE_CALL", c->call ? c->call : "read", 1);
		execl("/bin/sh", "sh", "-c", h->command, (char *)NULL);
		_exit(127);
	}
	return pid;
}

int requester_poll(int *pid)
{
	int status = 0;

	if (*pid < 0 || waitpid(*pid, &status, WNOHANG) == 0)
		return REQUESTER_RUNS;
	*pid = -1;
	return WIFSIGNALED(status) ? STATUS_KILLED + WTERMSIG(status) : WEXITSTATUS(status);
}

void requester_kill(int pid)
{
	if (pid < 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

void requester_judge(const struct hostile *h, struct result *result, int status, bool has_command)
{
	/* After these outcomes, this side has sent a good answer. */
	const uint32_t goes_on = GOT_DROPPED | GOT_REPORT | GOT_ERROR | GOT_ERR_VERS | GOT_AGAIN;

	if (has_command && status == REQUESTER_RUNS) {
		result->got = GOT_DEAD;
		snprintf(result->detail, sizeof(result->detail), "it does not end");
	} else if (status > 1) {
		result->got = GOT_DEAD;
		snprintf(result->detail, sizeof(result->detail), "it ended with status %d", status);
	} else if (result->got == GOT_ENDED && status == 0) {
		result->got = GOT_REPLY;
	} else if (status == 1 && h->is_v2 && result->got & goes_on &&
		   !(result->c->allowed & GOT_ENDED)) {
		snprintf(result->detail, sizeof(result->detail), "it failed, after: %s",
			 outcome_name(result->got));
		result->got = GOT_ENDED;
	} else if (has_command && result->got != GOT_ENDED && !result->detail[0] && status != 0) {
		snprintf(result->detail, sizeof(result->detail), "it says so");
	}
}
