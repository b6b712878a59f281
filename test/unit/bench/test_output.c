/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of reports in files: the old file stays until the new one is complete. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"

static char folder[] = "/tmp/weir-test-output-XXXXXX";

static const char *in_folder(const char *name)
{
	static char paths[4][64];
	static uint32_t n;
	char *path = paths[n++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static uint32_t count_files(void)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	uint32_t n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void expect_file(const char *path, const char *text)
{
	char is[64] = "";
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	is[fread(is, 1, sizeof(is) - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(is, text);
}

static int write_text(FILE *file, const void *text)
{
	return fputs(text, file) < 0 ? -1 : 0;
}

/* Writes half of a report and then returns an error. */
static int write_half(FILE *file, const void *text)
{
	(void)text;
	fputs("half", file);
	fflush(file);
	errno = EPROTO;
	return -1;
}

static int setup(void **state)
{
	(void)state;
	memset(folder + strlen(folder) - 6, 'X', 6);
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[80];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static void check__leaves_nothing_behind_and_all_as_it_was(void **state)
{
	(void)state;
	assert_int_equal(bench_output_check("-"), 0);
	assert_int_equal(bench_output_check("/dev/null"), 0);
	assert_int_equal(bench_output_check(in_folder("new")), 0);
	assert_int_equal(count_files(), 0);
	put(in_folder("old"), "what was there");
	assert_int_equal(bench_output_check(in_folder("old")), 0);
	expect_file(in_folder("old"), "what was there");
	assert_int_equal(symlink("nothing", in_folder("link")), 0);
	assert_int_equal(bench_output_check(in_folder("link")), 0);
	assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
	assert_int_equal(bench_output_check(in_folder("pipe")),
			 0); /* the FIFO has no reader, and open() must not wait for one */
	assert_int_equal(count_files(), 3);
}

static void check__refuses_what_can_not_be_written(void **state)
{
	(void)state;
	assert_int_equal(bench_output_check("/no/such/folder/file"), -ENOENT);
	assert_int_equal(bench_output_check(folder), -EISDIR);
	assert_int_equal(bench_output_check(""), -ENOENT);
	put(in_folder("file"), "");
	assert_int_equal(bench_output_check(in_folder("file/file")), -ENOTDIR);
	assert_int_equal(count_files(), 1);
}

static void write__takes_the_place_of_what_was_there(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(bench_output_write(in_folder("file"), write_text, "first"), 0);
	expect_file(in_folder("file"), "first");
	assert_int_equal(chmod(in_folder("file"), 0640), 0);
	assert_int_equal(bench_output_write(in_folder("file"), write_text, "2nd"), 0);
	expect_file(in_folder("file"), "2nd");
	assert_int_equal(stat(in_folder("file"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(count_files(), 1);
}

static void write__goes_through_links(void **state)
{
	(void)state;
	put(in_folder("file"), "a longer text than the new one");
	assert_int_equal(symlink("file", in_folder("link")), 0);
	assert_int_equal(link(in_folder("file"), in_folder("same")), 0);
	assert_int_equal(bench_output_write(in_folder("link"), write_text, "new"), 0);
	expect_file(in_folder("same"), "new");
	assert_int_equal(bench_output_write(in_folder("same"), write_text, "newer"), 0);
	expect_file(in_folder("file"), "newer");
	assert_int_equal(count_files(), 3);
}

static void write__that_fails_leaves_what_was_there(void **state)
{
	(void)state;
	put(in_folder("file"), "first");
	assert_int_equal(bench_output_write(in_folder("file"), write_half, NULL), -EPROTO);
	expect_file(in_folder("file"), "first");
	assert_int_equal(bench_output_write(in_folder("none"), write_half, NULL), -EPROTO);
	assert_int_equal(count_files(), 1);
}

/*
 * Checks that the old file stays if the disk is full. The limit on file sizes has the effect of a
 * full disk.
 */
static void write__without_room_leaves_what_was_there(void **state)
{
	struct rlimit before, few;
	char text[4096];
	int rc;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	put(in_folder("file"), "first");
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	few = before;
	few.rlim_cur = 1000;
	setrlimit(RLIMIT_FSIZE, &few);
	rc = bench_output_write(in_folder("file"), write_text, text);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(rc, -EFBIG);
	expect_file(in_folder("file"), "first");
	assert_int_equal(count_files(), 1);
	assert_int_equal(bench_output_write("/dev/full", write_text, "x"), -ENOSPC);
}

/* Checks names of files that exist and of files that do not. */
static void is_one__by_any_name(void **state)
{
	char other[96];

	(void)state;
	snprintf(other, sizeof(other), "%s/./a", folder);
	assert_true(bench_output_is_one(in_folder("a"), in_folder("a")));
	assert_true(bench_output_is_one(in_folder("a"), other));
	assert_false(bench_output_is_one(in_folder("a"), in_folder("b")));
	assert_false(bench_output_is_one("/no/such/folder/a", "/no/such/folder/../folder/a"));
	assert_false(bench_output_is_one(NULL, in_folder("a")));
	assert_true(bench_output_is_one("-", "-"));
	assert_false(bench_output_is_one("/dev/null", "/dev/null"));
	assert_int_equal(mknod(in_folder("a"), S_IFREG | 0600, 0), 0);
	assert_int_equal(link(in_folder("a"), in_folder("b")), 0);
	assert_int_equal(symlink("a", in_folder("c")), 0);
	assert_true(bench_output_is_one(in_folder("a"), in_folder("b")));
	assert_true(bench_output_is_one(in_folder("c"), in_folder("a")));
	assert_false(bench_output_is_one(in_folder("a"), in_folder("d")));
	assert_int_equal(chdir(folder), 0);
	assert_true(bench_output_is_one("d", in_folder("d")));
	assert_int_equal(chdir("/"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(check__leaves_nothing_behind_and_all_as_it_was,
						setup, teardown),
		cmocka_unit_test_setup_teardown(check__refuses_what_can_not_be_written, setup,
						teardown),
		cmocka_unit_test_setup_teardown(is_one__by_any_name, setup, teardown),
		cmocka_unit_test_setup_teardown(write__takes_the_place_of_what_was_there, setup,
						teardown),
		cmocka_unit_test_setup_teardown(write__goes_through_links, setup, teardown),
		cmocka_unit_test_setup_teardown(write__that_fails_leaves_what_was_there, setup,
						teardown),
		cmocka_unit_test_setup_teardown(write__without_room_leaves_what_was_there, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
