/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests how weir-check applies the steps of remedies. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "fix.h"

static struct findings findings;
static char folder[64], path[96];
static char *text; /* what was printed */
static size_t text_bytes;
static FILE *out;

static int setup(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/weir-fix-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/file", folder);
	out = open_memstream(&text, &text_bytes);
	return out ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	findings_free(&findings);
	fclose(out);
	free(text);
	unlink(path);
	return rmdir(folder);
}

/* Adds a finding, applies all steps, and returns the number of steps that failed. */
static uint32_t apply(const char *const *argv, const char *file, bool creates, const char *content)
{
	struct finding *finding = findings_add(&findings, SEVERITY_WARNING, "x");
	uint32_t nfailed;

	if (argv)
		finding_run(finding, argv);
	else if (creates)
		finding_create(finding, file, content);
	else
		finding_write(finding, file, content);
	assert_int_equal(finding->nfixes, 1);
	nfailed = fix_apply(&findings, &findings, out);
	fflush(out);
	findings_free(&findings);
	return nfailed;
}

static void expect_content(const char *content)
{
	char line[64] = "";
	FILE *file = fopen(path, "re");

	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	assert_string_equal(line, content);
}

static void fix__writes_a_file(void **state)
{
	(void)state;
	assert_int_equal(apply(NULL, path, false, "12"), 1);
	assert_non_null(strstr(text, ": failed: No such file or directory\n"));
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(apply(NULL, path, true, "user - memlock 1\n"), 0);
	assert_non_null(strstr(text, "echo 'user - memlock 1' > /tmp/"));
	expect_content("user - memlock 1\n");
	assert_int_equal(apply(NULL, path, false, "12"), 0);
	expect_content("12");
	assert_int_equal(apply(NULL, folder, false, "12"), 1);
	assert_int_equal(apply(NULL, "/dev/full", false, "12"), 1);
	assert_non_null(strstr(text, "/dev/full: failed: No space left on device\n"));
}

/* The target of a link can be a file of another user. */
static void fix__follows_no_link(void **state)
{
	char target[96];

	(void)state;
	snprintf(target, sizeof(target), "%s/target", folder);
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(apply(NULL, target, true, "old"), 0);
	assert_int_equal(apply(NULL, path, false, "new"), 1);
	expect_content("old");
	assert_int_equal(apply(NULL, path, true, "new"), 0);
	expect_content("new");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rename(target, path), 0);
	expect_content("old");
}

/* No part of a text becomes the file. */
static void fix__a_failure_keeps_the_file(void **state)
{
	struct rlimit before, limit;
	uint32_t nfailed;

	(void)state;
	assert_int_equal(apply(NULL, path, true, "user - memlock 1\n"), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){.rlim_cur = 4, .rlim_max = before.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	nfailed = apply(NULL, path, true, "user - memlock unlimited\n");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(nfailed, 1);
	assert_non_null(strstr(text, ": failed: only a part was written\n"));
	expect_content("user - memlock 1\n");
}

static void fix__only_confirmed_steps(void **state)
{
	struct findings confirmed = {.n = 0};
	struct finding *finding = findings_add(&confirmed, SEVERITY_ERROR, "x");

	(void)state;
	finding_create(finding, path, "1");
	finding_run(finding, (const char *const[]){"/bin/false", "1", NULL});
	finding = findings_add(&findings, SEVERITY_ERROR, "x");
	finding_create(finding, path, "2");
	finding_run(finding, (const char *const[]){"/bin/false", NULL});
	finding_run(finding, (const char *const[]){"/bin/false", "1", "2", NULL});
	assert_int_equal(fix_apply(&findings, &confirmed, out), 0);
	assert_int_equal(access(path, F_OK), -1);
	finding_create(finding, path, "1");
	finding_run(finding, (const char *const[]){"/bin/false", "1", NULL});
	assert_int_equal(fix_apply(&findings, &confirmed, out), 1);
	findings_free(&confirmed);
	expect_content("1");
}

static void fix__runs_a_program(void **state)
{
	(void)state;
	assert_int_equal(apply((const char *const[]){"/bin/true", "--x", NULL}, NULL, false, NULL),
			 0);
	assert_non_null(strstr(text, "/bin/true --x:\ndone\n"));
	assert_int_equal(apply((const char *const[]){"/bin/false", NULL}, NULL, false, NULL), 1);
	assert_non_null(strstr(text, "/bin/false:\nfailed: exit status 1\n"));
	assert_int_equal(apply((const char *const[]){"/no/such", NULL}, NULL, false, NULL), 1);
	assert_non_null(strstr(text, "/no/such:\nfailed: No such file or directory\n"));
	assert_int_equal(apply((const char *const[]){"/bin/sh", "-c", "kill -9 $$", NULL}, NULL,
			       false, NULL),
			 1);
	assert_non_null(strstr(text, ":\nfailed: ended by signal 9\n"));
}

/* There is no shell, so that its characters have no meaning. */
static void fix__runs_no_shell(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "x; touch %s", path);
	assert_int_equal(
		apply((const char *const[]){"/bin/echo", command, NULL}, NULL, false, NULL), 0);
	assert_int_equal(access(path, F_OK), -1);
}

static void fix__a_failure_does_not_end_it(void **state)
{
	struct finding *finding = findings_add(&findings, SEVERITY_ERROR, "x");

	(void)state;
	finding_run(finding, (const char *const[]){"/bin/false", NULL});
	finding_create(finding, path, "1");
	assert_int_equal(findings_fixes(&findings), 2);
	assert_int_equal(fix_apply(&findings, &findings, out), 1);
	expect_content("1");
}

static void fix__nothing_for_a_note(void **state)
{
	struct finding *finding = findings_add(&findings, SEVERITY_NOTE, "x");

	(void)state;
	finding_run(finding, (const char *const[]){"/bin/false", NULL});
	finding_write(finding, path, "1");
	assert_int_equal(findings_fixes(&findings), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(fix__writes_a_file, setup, teardown),
		cmocka_unit_test_setup_teardown(fix__follows_no_link, setup, teardown),
		cmocka_unit_test_setup_teardown(fix__a_failure_keeps_the_file, setup, teardown),
		cmocka_unit_test_setup_teardown(fix__only_confirmed_steps, setup, teardown),
		cmocka_unit_test_setup_teardown(fix__runs_a_program, setup, teardown),
		cmocka_unit_test_setup_teardown(fix__runs_no_shell, setup, teardown),
		cmocka_unit_test_setup_teardown(fix__a_failure_does_not_end_it, setup, teardown),
		cmocka_unit_test_setup_teardown(fix__nothing_for_a_note, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
