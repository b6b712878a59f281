/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the sections of programs in profiles: whose keys a program gets, and what is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile_files.h"
#include "profile_file.h"

static char err[1000];
static struct weir_profile profile;
static char taken[4000]; /* the keys that take() got, one per line */

/* Takes a key, except "bad". */
static const char *take(void *arg, const char *key, const char *value, const char *where)
{
	size_t used = strlen(taken);

	assert_ptr_equal(arg, taken);
	assert_int_equal(strncmp(where, files_root, strlen(files_root)), 0);
	snprintf(taken + used, sizeof(taken) - used, "%s=%s %s\n", key, value,
		 where + strlen(files_root) + 1);
	return strcmp(key, "bad") == 0 ? "no such key; known: good" : NULL;
}

/* Loads a file of the test's folder for the program 'app'. */
static int load(const char *name, const char *app)
{
	char path[200];

	profile.struct_bytes = sizeof(profile);
	err[0] = taken[0] = '\0';
	return weir_profile_load_app(files_path(name, path, sizeof(path)), app, take, taken,
				     &profile, err, sizeof(err));
}

/* Checks that top.ini is refused for 'app', with an error about this line that contains 'says'. */
static void assert_refused(const char *app, uint32_t line, const char *says)
{
	char start[200], name[40];

	assert_int_equal(load("top.ini", app), -EINVAL);
	snprintf(name, sizeof(name), "top.ini:%u: ", line);
	files_path(name, start, sizeof(start));
	if (strncmp(err, start, strlen(start)) != 0 || !strstr(err, says))
		fail_msg("'%s' does not begin with '%s', or lacks '%s'", err, start, says);
}

static void app__own_keys_only(void **state)
{
	char path[200];

	(void)state;
	files_write("top.ini", "[app:one]\ndepth = 8 # calls\nname = a b\n"
			       "[connection]\ncredits = 9\n"
			       "[ app:two ]\ndepth = 1\nempty =\n");
	assert_int_equal(load("top.ini", "one"), 0);
	assert_string_equal(taken, "depth=8 top.ini:2\nname=a b top.ini:3\n");
	assert_int_equal(profile.credits, 9);
	assert_int_equal(load("top.ini", "two"), 0);
	assert_string_equal(taken, "depth=1 top.ini:7\nempty= top.ini:8\n");
	assert_int_equal(load("top.ini", "on"), 0);
	assert_string_equal(taken, "");
	assert_int_equal(weir_profile_load(files_path("top.ini", path, sizeof(path)), &profile, err,
					   sizeof(err)),
			 0);
	assert_int_equal(profile.credits, 9);
}

/* Checks that a key replaces those of included files, and that a file can repeat a key. */
static void app__includes(void **state)
{
	(void)state;
	files_write("base.ini", "[app:one]\ndepth = 1\nexport = a\nexport = b\nkept = yes\n");
	files_write("top.ini",
		    "include = base.ini\n[app:one]\nexport = c\nexport = d\ndepth = 2\n");
	assert_int_equal(load("top.ini", "one"), 0);
	assert_string_equal(taken, "kept=yes base.ini:5\nexport=c top.ini:3\nexport=d top.ini:4\n"
				   "depth=2 top.ini:5\n");
}

static void app__the_program_refuses(void **state)
{
	struct weir_profile before;

	(void)state;
	memset(&profile, 0x5a, sizeof(profile));
	profile.struct_bytes = sizeof(profile);
	before = profile;
	files_write("top.ini", "[app:one]\ngood = 1\nbad = 2\nlater = 3\n");
	assert_refused("one", 3, "[app:one] bad: no such key; known: good");
	assert_null(strstr(taken, "later"));
	assert_memory_equal(&profile, &before, sizeof(profile));
	assert_int_equal(load("top.ini", "two"), 0);
}

/* Checks that the program gets no key of a profile with an error elsewhere. */
static void app__errors_elsewhere_come_first(void **state)
{
	(void)state;
	files_write("top.ini", "[app:one]\ngood = 1\n[memory]\nrecv_buffers = 65\n");
	assert_refused("one", 4, "65 are too few");
	assert_string_equal(taken, "");
}

static void app__bad_sections(void **state)
{
	static const struct {
		const char *text;
		uint32_t line;
		const char *says;
	} bad[] = {
		{"[app:]\n", 1, "no valid name"},
		{"[app:a b]\n", 1, "no valid name"},
		{"[app:a:b]\n", 1, "example: [app:weir-bench]"},
		{"[app:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]\n", 1,
		 "no valid name"},
		{"[app]\n", 1, "app:NAME"},
		{"[app:one]\n\n[app:one]\n", 3, "exists twice"},
		{"[app:one]\ninclude\n", 2, "neither"},
		{"[app:two]\n = 1\n", 2, "1 to 63 characters"},
		{"[app:two]\na\\b = 1\n", 2, "backslash"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		files_write("top.ini", bad[i].text);
		assert_refused("one", bad[i].line, bad[i].says);
	}
}

static void app__lengths(void **state)
{
	char text[400];

	(void)state;
	snprintf(text, sizeof(text), "[app:one]\n%063d = 1\nlong = %0255d\n", 0, 0);
	files_write("top.ini", text);
	assert_int_equal(load("top.ini", "one"), 0);
	snprintf(text, sizeof(text), "[app:one]\n%064d = 1\n", 0);
	files_write("top.ini", text);
	assert_refused("one", 2, "1 to 63 characters");
	snprintf(text, sizeof(text), "[app:one]\nlong = %0256d\n", 0);
	files_write("top.ini", text);
	assert_refused("one", 2, "longer than 255 characters");
	/* A program whose name no section can have gets no keys. This is also so if the longest
	 * possible name of a section is the beginning of the program's name. */
	snprintf(text, sizeof(text), "[app:%059d]\nkey = 1\n", 0);
	files_write("top.ini", text);
	snprintf(text, sizeof(text), "%059d", 0);
	assert_int_equal(load("top.ini", text), 0);
	assert_string_equal(taken, "key=1 top.ini:2\n");
	snprintf(text, sizeof(text), "%060d", 0);
	assert_int_equal(load("top.ini", text), 0);
	assert_string_equal(taken, "");
}

static void app__number_of_keys(void **state)
{
	char text[PROFILE_ENTRIES_MAX * 10 + 40] = "[app:one]\n";
	size_t used = strlen(text);

	(void)state;
	for (uint32_t i = 0; i < PROFILE_ENTRIES_MAX; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "k%u = 1\n", i);
	files_write("top.ini", text);
	assert_int_equal(load("top.ini", "one"), 0);
	snprintf(text + used, sizeof(text) - used, "more = 1\n");
	files_write("top.ini", text);
	assert_refused("one", PROFILE_ENTRIES_MAX + 2, "more than 64 keys");
	assert_int_equal(load("top.ini", "two"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, files_make, files_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(app__own_keys_only),	TEST(app__includes),
		TEST(app__the_program_refuses), TEST(app__errors_elsewhere_come_first),
		TEST(app__bad_sections),	TEST(app__lengths),
		TEST(app__number_of_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
