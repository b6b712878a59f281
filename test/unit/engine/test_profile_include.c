/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of profiles that include files: which value counts, and which includes are refused. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile_files.h"
#include "profile_file.h"

static char err[1000];
static struct weir_profile profile;

/* Loads a file of the test's folder into 'profile'. */
static int load(const char *name)
{
	char path[200];

	profile.struct_bytes = sizeof(profile);
	err[0] = '\0';
	return weir_profile_load(files_path(name, path, sizeof(path)), &profile, err, sizeof(err));
}

/* Checks that the file is refused with an error that begins with "NAME:LINE: " of the test's
 * folder, and that contains 'says'. */
static void assert_refused(const char *name, int rc, const char *where, const char *says)
{
	char start[200];

	assert_int_equal(load(name), rc);
	files_path(where, start, sizeof(start));
	if (strncmp(err, start, strlen(start)) != 0 || !strstr(err, says))
		fail_msg("'%s' does not begin with '%s', or lacks '%s'", err, start, says);
}

static void include__later_values_count(void **state)
{
	(void)state;
	files_write("first.ini", "[connection]\ncredits = 10\ncall_timeout_ms = 1\n"
				 "connect_timeout_ms = 1\n");
	files_write("second.ini", "[connection]\ncall_timeout_ms = 2\nconnect_timeout_ms = 2\n");
	files_write("top.ini", "# The includes come first.\n"
			       "include = first.ini\n"
			       "  include=second.ini # the second one\n"
			       "[connection]\nconnect_timeout_ms = 3\n");
	assert_int_equal(load("top.ini"), 0);
	assert_int_equal(profile.credits, 10);
	assert_int_equal(profile.call_timeout_ms, 2);
	assert_int_equal(profile.connect_timeout_ms, 3);
}

/* Checks that names are relative to the file that includes, and that absolute names are possible.
 */
static void include__folders(void **state)
{
	char path[200], text[300];

	(void)state;
	files_folder("below");
	files_write("below/deep.ini", "include = ../base.ini\n[limits]\nconnections = 5\n");
	files_write("base.ini", "[connection]\ncredits = 11\n");
	files_write("top.ini", "include = below/deep.ini\n");
	assert_int_equal(load("top.ini"), 0);
	assert_int_equal(profile.connections, 5);
	assert_int_equal(profile.credits, 11);
	snprintf(text, sizeof(text), "include = %s\n", files_path("top.ini", path, sizeof(path)));
	files_write("below/absolute.ini", text);
	assert_int_equal(load("below/absolute.ini"), 0);
	assert_int_equal(profile.credits, 11);
}

/* Checks that a name without a folder is looked up in the working directory, like the file that
 * includes it. */
static void include__working_directory(void **state)
{
	char before[1000], path[200];

	(void)state;
	files_write("base.ini", "[connection]\ncredits = 12\n");
	files_write("top.ini", "include = base.ini\n");
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(files_path("", path, sizeof(path))), 0);
	profile.struct_bytes = sizeof(profile);
	assert_int_equal(weir_profile_load("top.ini", &profile, err, sizeof(err)), 0);
	assert_int_equal(chdir(before), 0);
	assert_int_equal(profile.credits, 12);
}

/* Checks that values are compared with each other only after all files are read. */
static void include__checks_the_whole(void **state)
{
	(void)state;
	files_write("base.ini", "[memory]\nrecv_buffers = 65\n");
	files_write("top.ini", "include = base.ini\n[memory]\nrecv_buffers = 200\n");
	assert_int_equal(load("top.ini"), 0);
	files_write("top.ini", "include = base.ini\n[connection]\ncredits = 64\n");
	assert_refused("top.ini", -EINVAL, "base.ini:2: ", "65 are too few");
	files_write("base.ini", "[memory]\nrecv_buffers = 80\n");
	files_write("top.ini", "include = base.ini\n\n\n[engine]\ndriver_options = speed=9\n");
	assert_refused("top.ini", -EINVAL, "top.ini:5: ", "driver_options");
}

static void include__errors_name_file_and_line(void **state)
{
	struct weir_profile before;

	(void)state;
	memset(&profile, 0x5a, sizeof(profile));
	profile.struct_bytes = sizeof(profile);
	before = profile;
	files_write("base.ini", "[connection]\n\ncredits = 5000\n");
	files_write("top.ini", "\ninclude = base.ini\n[engine]\nidle = nap\n");
	assert_refused("top.ini", -EINVAL, "base.ini:3: ", "5000 is out of range");
	files_write("base.ini", "[motor]\n");
	assert_refused("top.ini", -EINVAL, "base.ini:1: ", "[motor]: no such section");
	files_write("base.ini", "");
	assert_refused("top.ini", -EINVAL, "top.ini:4: ", "'nap'");
	files_write("top.ini", "\ninclude = absent.ini\n");
	assert_refused("top.ini", -ENOENT, "top.ini:2: ", "absent.ini: No such file");
	files_folder("folder.ini");
	files_write("top.ini", "include = folder.ini\n");
	assert_refused("top.ini", -EINVAL, "top.ini:1: ", "not a regular file");
	files_write("top.ini", "include =\n");
	assert_refused("top.ini", -EINVAL, "top.ini:1: ", "no file is named");
	files_write("top.ini", "[engine]\nidle = spin\ninclude = base.ini\n");
	assert_refused("top.ini", -EINVAL, "top.ini:3: ", "before the first section");
	assert_memory_equal(&profile, &before, sizeof(profile));
}

/* An unreadable file. The test is skipped for root, who can read every file. */
static void include__unreadable(void **state)
{
	char path[200];

	(void)state;
	if (geteuid() == 0)
		skip();
	files_write("base.ini", "");
	assert_int_equal(chmod(files_path("base.ini", path, sizeof(path)), 0), 0);
	files_write("top.ini", "include = base.ini\n");
	assert_refused("top.ini", -EACCES, "top.ini:1: ", "Permission denied");
}

static void include__fifo(void **state)
{
	char path[200];

	(void)state;
	assert_int_equal(mkfifo(files_path("fifo", path, sizeof(path)), 0600), 0);
	files_write("top.ini", "include = fifo\n");
	assert_refused("top.ini", -EINVAL, "top.ini:1: ", "not a regular file");
}

static void include__loops(void **state)
{
	char path[200], again[200];

	(void)state;
	files_write("self.ini", "include = self.ini\n");
	assert_refused("self.ini", -EINVAL, "self.ini:1: ", "includes itself");
	files_write("a.ini", "include = b.ini\n");
	files_write("b.ini", "# b\ninclude = c.ini\n");
	/* c.ini has another name for a.ini */
	files_write("c.ini", "\n\ninclude = link.ini\n");
	assert_int_equal(symlink(files_path("a.ini", path, sizeof(path)),
				 files_path("link.ini", again, sizeof(again))),
			 0);
	assert_refused("a.ini", -EINVAL, "c.ini:3: ", "includes itself");
	/* The same file twice is no loop. */
	files_write("base.ini", "[connection]\ncredits = 13\n");
	files_write("left.ini", "include = base.ini\n");
	files_write("right.ini", "include = base.ini\n");
	files_write("top.ini", "include = left.ini\ninclude = right.ini\n");
	assert_int_equal(load("top.ini"), 0);
	assert_int_equal(profile.credits, 13);
}

/* Writes 0.ini, which does not include anything, and N.ini, which includes the file before it. */
static void write_chain(uint32_t n)
{
	char name[16], text[40];

	files_write("0.ini", "[connection]\ncredits = 14\n");
	for (uint32_t i = 1; i <= n; i++) {
		snprintf(name, sizeof(name), "%u.ini", i);
		snprintf(text, sizeof(text), "include = %u.ini\n", i - 1);
		files_write(name, text);
	}
}

static void include__depth(void **state)
{
	char name[16];

	(void)state;
	write_chain(PROFILE_DEPTH_MAX + 1);
	snprintf(name, sizeof(name), "%u.ini", PROFILE_DEPTH_MAX);
	assert_int_equal(load(name), 0);
	assert_int_equal(profile.credits, 14);
	snprintf(name, sizeof(name), "%u.ini", PROFILE_DEPTH_MAX + 1);
	assert_refused(name, -EINVAL, "1.ini:1: ", "nested more than 8 deep");
}

static void include__number(void **state)
{
	char text[PROFILE_FILES_MAX * 20 + 40] = "";
	size_t used = 0;

	(void)state;
	files_write("0.ini", "");
	for (uint32_t i = 0; i < PROFILE_FILES_MAX; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "include = 0.ini\n");
	files_write("top.ini", text);
	assert_int_equal(load("top.ini"), 0);
	snprintf(text + used, sizeof(text) - used, "include = 0.ini\n");
	files_write("top.ini", text);
	assert_refused("top.ini", -EINVAL, "top.ini:33: ", "more than 32 includes");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, files_make, files_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(include__later_values_count),
		TEST(include__folders),
		TEST(include__working_directory),
		TEST(include__checks_the_whole),
		TEST(include__errors_name_file_and_line),
		TEST(include__unreadable),
		TEST(include__fifo),
		TEST(include__loops),
		TEST(include__depth),
		TEST(include__number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
