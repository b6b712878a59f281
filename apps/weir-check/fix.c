/* SPDX-License-Identifier: BSD-3-Clause */
/* Applies remedies. */
#include "fix.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WHY_BYTES 128u

static void print_step(const struct fix *fix, FILE *out)
{
	if (fix->path) {
		const char *quote = strchr(fix->text, ' ') ? "'" : "";

		fprintf(out, "echo %s%.*s%s > %s", quote, (int)strcspn(fix->text, "\n"), fix->text,
			quote, fix->path);
		return;
	}
	for (uint32_t i = 0; fix->argv[i]; i++)
		fprintf(out, "%s%s", i ? " " : "", fix->argv[i]);
}

void fix_print(const struct findings *findings, FILE *out)
{
	for (uint32_t i = 0; i < findings->n; i++) {
		for (uint32_t k = 0; k < findings->list[i].nfixes; k++) {
			fputs("  ", out);
			print_step(&findings->list[i].fixes[k], out);
			fputc('\n', out);
		}
	}
}

enum fix_answer fix_ask(FILE *out)
{
	char answer[16];

	if (!isatty(STDIN_FILENO))
		return FIX_NO_TERMINAL;
	fputs("Apply these steps? [y/N] ", out);
	fflush(out);
	if (!fgets(answer, sizeof(answer), stdin))
		return FIX_DECLINED;
	return strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0 ? FIX_CONFIRMED
									  : FIX_DECLINED;
}

/* Writes a file, often one of the kernel, by one write. Returns 0, or -1 with the reason in 'why'.
 */
static int write_file(const struct fix *fix, char *why)
{
	int flags = O_WRONLY | O_TRUNC | O_CLOEXEC | (fix->creates ? O_CREAT : 0);
	int fd = open(fix->path, flags, 0644);
	size_t len = strlen(fix->text);
	ssize_t n = fd < 0 ? -1 : write(fd, fix->text, len);

	if (n < 0)
		snprintf(why, WHY_BYTES, "%s", strerror(errno));
	else if ((size_t)n < len)
		snprintf(why, WHY_BYTES, "only a part was written");
	if (fd >= 0 && close(fd) != 0 && n == (ssize_t)len) {
		snprintf(why, WHY_BYTES, "%s", strerror(errno));
		n = -1;
	}
	return n == (ssize_t)len ? 0 : -1;
}

/* Runs a program. Its output goes to standard error, because standard output is for the report.
 * Returns 0, or -1 with the reason in 'why'. */
static int run_program(const struct fix *fix, char *why)
{
	static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", locale[] = "LC_ALL=C";
	static char *const environment[] = {path, locale, NULL};
	posix_spawn_file_actions_t actions;
	int rc, status;
	pid_t pid;

	rc = posix_spawn_file_actions_init(&actions);
	if (rc == 0) {
		rc = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
		if (rc == 0)
			rc = posix_spawn(&pid, fix->argv[0], &actions, NULL, fix->argv,
					 environment);
		posix_spawn_file_actions_destroy(&actions);
	}
	if (rc != 0) {
		snprintf(why, WHY_BYTES, "%s", strerror(rc));
		return -1;
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno == EINTR)
			continue;
		snprintf(why, WHY_BYTES, "%s", strerror(errno));
		return -1;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status))
		snprintf(why, WHY_BYTES, "exit status %d", WEXITSTATUS(status));
	else
		snprintf(why, WHY_BYTES, "ended by signal %d", WTERMSIG(status));
	return -1;
}

uint32_t fix_apply(const struct findings *findings, FILE *out)
{
	uint32_t nfailed = 0;

	for (uint32_t i = 0; i < findings->n; i++) {
		for (uint32_t k = 0; k < findings->list[i].nfixes; k++) {
			const struct fix *fix = &findings->list[i].fixes[k];
			char why[WHY_BYTES] = "";
			int rc;

			print_step(fix, out);
			fflush(out); /* before the output of a program */
			rc = fix->path ? write_file(fix, why) : run_program(fix, why);
			fprintf(out, rc == 0 ? ": done\n" : ": failed: %s\n", why);
			nfailed += rc != 0;
		}
	}
	return nfailed;
}
