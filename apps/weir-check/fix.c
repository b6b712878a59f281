/* SPDX-License-Identifier: BSD-3-Clause */
/* Applies remedies. */
#include "fix.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* Writes the text by one write, and closes the file. Returns 0, or -1 with the reason in 'why'. */
static int write_text(int fd, const struct fix *fix, char *why)
{
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

/* Writes a file that exists, often one of the kernel. */
static int write_file(const struct fix *fix, char *why)
{
	return write_text(open(fix->path, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC), fix, why);
}

/* Writes a new file, which then takes the place of the old one. After a failure, the old one
 * remains. Returns 0, or -1 with the reason in 'why'. */
static int replace_file(const struct fix *fix, char *why)
{
	char *path;
	int fd, rc;

	if (asprintf(&path, "%s.XXXXXX", fix->path) < 0) {
		snprintf(why, WHY_BYTES, "%s", strerror(ENOMEM));
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		(void)fchmod(fd, 0644); /* pam_limits(8) can read the file in any case */
	rc = write_text(fd, fix, why);
	if (rc == 0 && rename(path, fix->path) != 0) {
		snprintf(why, WHY_BYTES, "%s", strerror(errno));
		rc = -1;
	}
	if (rc != 0 && fd >= 0)
		unlink(path);
	free(path);
	return rc;
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

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_same(const struct fix *a, const struct fix *b)
{
	bool is_same = is_same_text(a->path, b->path) && is_same_text(a->text, b->text);

	for (uint32_t i = 0; i < FIX_ARGS_MAX && is_same; i++)
		is_same = is_same_text(a->argv[i], b->argv[i]);
	return is_same;
}

static bool has_step(const struct findings *findings, const struct fix *fix)
{
	for (uint32_t i = 0; i < findings->n; i++)
		for (uint32_t k = 0; k < findings->list[i].nfixes; k++)
			if (is_same(&findings->list[i].fixes[k], fix))
				return true;
	return false;
}

static int apply_step(const struct fix *fix, char *why)
{
	if (!fix->path)
		return run_program(fix, why);
	return fix->creates ? replace_file(fix, why) : write_file(fix, why);
}

uint32_t fix_apply(const struct findings *findings, const struct findings *confirmed, FILE *out)
{
	uint32_t nfailed = 0;

	for (uint32_t i = 0; i < findings->n; i++) {
		for (uint32_t k = 0; k < findings->list[i].nfixes; k++) {
			const struct fix *fix = &findings->list[i].fixes[k];
			char why[WHY_BYTES] = "";
			int rc;

			if (!has_step(confirmed, fix))
				continue;
			print_step(fix, out);
			/* The output of a program follows in lines of its own. */
			fputs(fix->path ? ": " : ":\n", out);
			fflush(out);
			rc = apply_step(fix, why);
			fprintf(out, rc == 0 ? "done\n" : "failed: %s\n", why);
			nfailed += rc != 0;
		}
	}
	return nfailed;
}
