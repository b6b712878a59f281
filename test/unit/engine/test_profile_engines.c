/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the sections [engine:CPUS] of profiles: the engines whose keys they override, how files
 * and programs set them, and what is refused. */
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
#include "profile_engines.h"

#define LCORES "[engine]\nlcores = 0-9\n"

static char err[1000];
static struct weir_profile profile, own;

/* Loads a file of the test's folder into 'profile'. */
static int load(const char *name)
{
	char path[200];

	profile.struct_bytes = sizeof(profile);
	err[0] = '\0';
	return weir_profile_load(files_path(name, path, sizeof(path)), &profile, err, sizeof(err));
}

static void load_text(const char *text)
{
	files_write("top.ini", text);
	if (load("top.ini") != 0)
		fail_msg("%s", err);
}

/* Checks that the text is refused as a file, with an error about this line that contains 'says'. */
static void assert_refused(const char *text, uint32_t line, const char *says)
{
	char start[200], name[40];

	files_write("top.ini", text);
	assert_int_equal(load("top.ini"), -EINVAL);
	snprintf(name, sizeof(name), "top.ini:%u: ", line);
	files_path(name, start, sizeof(start));
	if (strncmp(err, start, strlen(start)) != 0 || !strstr(err, says))
		fail_msg("'%s' does not begin with '%s', or lacks '%s'", err, start, says);
}

/* Computes the profile of the engine of a CPU. */
static const struct weir_profile *of_cpu(int cpu)
{
	own.struct_bytes = sizeof(own);
	assert_int_equal(weir_profile_for_cpu(&profile, cpu, &own), 0);
	assert_string_equal(own.engines, "");
	return &own;
}

static void engines__override_keys_of_their_cpus(void **state)
{
	(void)state;
	load_text(LCORES "idle = spin\n"
			 "[engine:2-3,7]\nidle = yield\nsend_buffers = 100 # of 4 KiB\n"
			 "driver_options = rnr_retry=3\nbulk_buffer_bytes = 2048k\n"
			 "[memory]\nsend_buffers = 200\n"
			 "[ engine:5 ]\nidle = event\n");
	assert_int_equal(profile.idle, WEIR_IDLE_SPIN);
	assert_int_equal(profile.send_buffers, 200);
	for (int cpu = -1; cpu < 1100; cpu++) {
		bool is_first = cpu == 2 || cpu == 3 || cpu == 7;

		of_cpu(cpu);
		assert_int_equal(own.idle, is_first   ? WEIR_IDLE_YIELD
					   : cpu == 5 ? WEIR_IDLE_EVENT
						      : WEIR_IDLE_SPIN);
		assert_int_equal(own.send_buffers, is_first ? 100 : 200);
		assert_int_equal(own.bulk_buffer_bytes, is_first ? 2048 << 10 : 1088 << 10);
		assert_string_equal(own.driver_options, is_first ? "rnr_retry=3" : "");
	}
	assert_string_equal(profile.engines,
			    "[engine:2-3,7]\nidle = yield\nsend_buffers = 100\n"
			    "driver_options = rnr_retry=3\nbulk_buffer_bytes = 2m\n"
			    "[engine:5]\nidle = event\n");
}

/* Checks that the order of sections does not matter, and that each text is kept: an empty one, and
 * one with characters that otherwise separate. */
static void engines__texts(void **state)
{
	(void)state;
	load_text("[engine:0]\ndriver_options =\n[engine:1]\nidle = spin\n"
		  "[engine]\nlcores = 0-1\ndriver_options = rnr_retry=1\n");
	assert_string_equal(of_cpu(0)->driver_options, "");
	assert_int_equal(own.idle, WEIR_IDLE_AUTO);
	assert_string_equal(of_cpu(1)->driver_options, "rnr_retry=1");
	assert_int_equal(own.idle, WEIR_IDLE_SPIN);
	/* No driver has such options. */
	snprintf(profile.engines, sizeof(profile.engines),
		 "[engine:0]\ndriver_options = =[a = b]\nidle = yield\n[engine:1]\n");
	profile_for_cpu(&profile, 0);
	assert_string_equal(profile.driver_options, "=[a = b]");
	assert_int_equal(profile.idle, WEIR_IDLE_YIELD);
}

static void engines__of_included_files(void **state)
{
	(void)state;
	files_write("base.ini", LCORES "[engine:1-2]\nidle = yield\npoll_budget = 7\n"
				       "[engine:3]\nidle = event\n");
	files_write("top.ini", "include = base.ini\n[engine:4]\nidle = spin\n"
			       "[engine:2,1]\nlong_buffers = 9\nidle = spin\n");
	assert_int_equal(load("top.ini"), 0);
	assert_string_equal(profile.engines, "[engine:1-2]\npoll_budget = 7\nlong_buffers = 9\n"
					     "idle = spin\n[engine:3]\nidle = event\n"
					     "[engine:4]\nidle = spin\n");
	/* A section overrides [engine], also that of the including file. */
	files_write("top.ini", "include = base.ini\n[engine]\nidle = spin\n");
	assert_int_equal(load("top.ini"), 0);
	assert_int_equal(of_cpu(3)->idle, WEIR_IDLE_EVENT);
	assert_int_equal(of_cpu(4)->idle, WEIR_IDLE_SPIN);
	/* The error is that of the file with the line. */
	files_write("top.ini", "include = base.ini\n\n[engine:3-4]\n");
	assert_int_equal(load("top.ini"), -EINVAL);
	assert_non_null(strstr(err, "top.ini:3: [engine:3-4]: CPU 3 is also in [engine:3] ("));
	assert_non_null(strstr(err, "base.ini:6)"));
	files_write("top.ini", "include = base.ini\n[engine]\nlcores = 2-9\n");
	assert_int_equal(load("top.ini"), -EINVAL);
	assert_non_null(strstr(err, "base.ini:3: [engine:1-2]: CPU 1 is not in lcores = 2-9"));
	files_write("top.ini", "include = base.ini\n[engine:1-2]\n[engine:1,2]\n");
	assert_int_equal(load("top.ini"), -EINVAL);
	assert_non_null(strstr(err, "top.ini:3: [engine:1,2]: this section exists twice"));
}

static void engines__bad_sections(void **state)
{
	static const struct {
		const char *text;
		uint32_t line;
		const char *says;
	} bad[] = {
		{"[engine:]\n", 1, "example: [engine:8-15]"},
		{"[engine:any]\n", 1, "stand CPUs"},
		{"[engine:3-2]\n", 1, "stand CPUs"},
		{"[engine:1,1]\n", 1, "each once"},
		{"[engine:1 ,2]\n", 1, "stand CPUs"},
		{"[engine:9999]\n", 1, "stand CPUs"},
		{"[engine:1\n", 1, "on a line of its own"},
		{"[engines:1]\n", 1, "engine:CPUS"},
		{LCORES "[engine:1]\n\n[engine:1]\n", 5, "exists twice"},
		{LCORES "[engine:1-3]\n[engine:4,2]\n", 4, "CPU 2 is also in [engine:1-3] ("},
		{LCORES "\n[engine:9-10]\n", 4, "CPU 10 is not in lcores = 0-9"},
		{"\n[engine:1]\n", 2, "lcores in section [engine] names no CPUs"},
		{"[engine:1]\n[engine]\nlcores = any\n", 1, "names no CPUs; example: lcores = 1"},
		{LCORES "[engine:1]\nlcores = 1\n", 4,
		 "[engine:1] lcores: all engines have the same value; set it in section [engine]"},
		{LCORES "[engine:1]\ndriver = shm\n", 4, "all engines have the same value"},
		{LCORES "[engine:1]\ntelemetry = on\n", 4, "all engines have the same value"},
		{LCORES "[engine:1]\ncredits = 8\n", 4, "set it in section [connection]"},
		{LCORES "[engine:1]\npolicy = pool\n", 4, "set it in section [exposure]"},
		{LCORES "[engine:1]\nspeed = 8\n", 4, "[engine:1] speed: no such key"},
		{LCORES "[engine:1]\nidle\n", 4, "neither"},
		{LCORES "[engine:1]\ninclude = a.ini\n", 4, "move it before the first section"},
		{LCORES "[engine:1]\nidle = nap\n", 4,
		 "[engine:1] idle: 'nap' is none of the choices; allowed: auto,"},
		{LCORES "[engine:1]\npoll_budget = 0\n", 4, "0 is out of range"},
		{LCORES "[engine:1]\nidle = spin\nidle = yield\n", 5, "set in line 4 already"},
		/* These values are wrong only for the engines of the section. */
		{LCORES "[engine:1]\n\ndriver_options = speed=9\n", 5,
		 "[engine:1] driver_options: 'speed=9' are not valid for driver shm"},
		{LCORES "[connection]\nshared_receives = off\n[engine:1]\nidle = spin\n"
			"recv_buffers = 65\n",
		 7, "[engine:1] recv_buffers: 65 are too few"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused(bad[i].text, bad[i].line, bad[i].says);
}

/* Appends sections with one key each until the text of the file has n sections. */
static void write_sections(uint32_t n, const char *key, char *text, size_t bytes)
{
	size_t used = (size_t)snprintf(text, bytes, "[engine]\nlcores = 0-127\n");

	for (uint32_t i = 0; i < n; i++)
		used += (size_t)snprintf(text + used, bytes - used, "[engine:%u]\n%s", i, key);
	assert_true(used < bytes);
}

static void engines__number(void **state)
{
	static char text[40000];

	(void)state;
	write_sections(PROFILE_ENGINE_LINES_MAX / 2, "idle=spin\n", text, sizeof(text));
	load_text(text);
	assert_int_equal(of_cpu(PROFILE_ENGINE_LINES_MAX / 2 - 1)->idle, WEIR_IDLE_SPIN);
	assert_int_equal(of_cpu(PROFILE_ENGINE_LINES_MAX / 2)->idle, WEIR_IDLE_AUTO);
	write_sections(PROFILE_ENGINE_LINES_MAX / 2 + 1, "idle=spin\n", text, sizeof(text));
	assert_refused(text, PROFILE_ENGINE_LINES_MAX + 3, "more than 256 lines");
	/* Each of these sections takes 128 characters. */
	write_sections(10,
		       "driver_options = peer_uid=11111111:11111111:11111111:11111111:11111111:"
		       "11111111:11111111:11111111:11111\n",
		       text, sizeof(text));
	load_text(text);
	write_sections(40,
		       "driver_options = peer_uid=11111111:11111111:11111111:11111111:11111111:"
		       "11111111:11111111:11111111:11111\n",
		       text, sizeof(text));
	files_write("top.ini", text);
	assert_int_equal(load("top.ini"), -EINVAL);
	assert_non_null(strstr(err, "4095 characters in total; remove some"));
}

/* A list of CPUs can be as long as that of lcores. */
static void engines__length_of_a_list(void **state)
{
	char list[140] = "0", text[400];

	(void)state;
	for (uint32_t i = 1; strlen(list) < 125; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), ",%u", i);
	snprintf(text, sizeof(text), "[engine]\nlcores=0-99\n[engine:%s]\nidle = spin\n", list);
	load_text(text);
	assert_non_null(strstr(profile.engines, list));
	assert_int_equal(of_cpu(9)->idle, WEIR_IDLE_SPIN);
	snprintf(list + strlen(list), sizeof(list) - strlen(list), ",98,99");
	snprintf(text, sizeof(text), "[engine]\nlcores=0-99\n[engine:%s]\nidle = spin\n", list);
	assert_refused(text, 3, "at most 127 characters");
}

/* Checks that the text of a program is refused with an error that contains 'says'. */
static void assert_text_refused(const char *text, const char *says)
{
	snprintf(profile.engines, sizeof(profile.engines), "%s", text);
	assert_int_equal(weir_profile_check(&profile, err, sizeof(err)), -EINVAL);
	if (!strstr(err, says))
		fail_msg("'%s' lacks '%s'", err, says);
}

/* Checks sections that a program sets itself. */
static void engines__set_by_a_program(void **state)
{
	(void)state;
	weir_profile_defaults(&profile);
	assert_string_equal(profile.engines, "");
	snprintf(profile.lcores, sizeof(profile.lcores), "0-9");
	snprintf(profile.engines, sizeof(profile.engines), "# text\n\n[engine:1-2]\nidle=spin");
	assert_int_equal(weir_profile_check(&profile, err, sizeof(err)), 0);
	assert_int_equal(of_cpu(2)->idle, WEIR_IDLE_SPIN);
	assert_int_equal(of_cpu(3)->idle, WEIR_IDLE_AUTO);
	assert_text_refused("idle = spin\n", "no section of engines precedes it");
	assert_text_refused("include = /dev/zero\n", "only for files");
	assert_text_refused("[engine]\nidle = spin\n", "[engine] is no section of engines");
	assert_text_refused("[app:x]\nidle = spin\n", "[app:x] is no section of engines");
	assert_text_refused("[engine:1]\n[engine:1]\n", "exists twice");
	assert_text_refused("[engine:1]\nidle = spin\nidle = spin\n", "set in line 2 already");
	assert_text_refused("[engine:10]\n", "[engine:10]: CPU 10 is not in lcores = 0-9");
	assert_text_refused("[engine:1]\nrecv_buffers = 1\n", "1 is out of range");
	assert_text_refused("[engine:1]\n\\\n", "backslash");
	memset(profile.engines, '#', sizeof(profile.engines));
	assert_int_equal(weir_profile_check(&profile, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "engines: longer than 4095 characters"));
	own.struct_bytes = sizeof(own);
	assert_int_equal(weir_profile_for_cpu(&profile, 1, &own), -EINVAL);
	weir_profile_defaults(&profile);
	own.struct_bytes = 1;
	assert_int_equal(weir_profile_for_cpu(&profile, 1, &own), -EINVAL);
}

/* Checks that an application can replace a profile by that of an engine. */
static void engines__in_place(void **state)
{
	(void)state;
	load_text(LCORES "[engine:1]\nidle = spin\n");
	assert_int_equal(weir_profile_for_cpu(&profile, 1, &profile), 0);
	assert_int_equal(profile.idle, WEIR_IDLE_SPIN);
	assert_string_equal(profile.engines, "");
}

/* Checks that sections are refused for a program whose profile has no room for them, because it
 * would have other engines than the file says. */
static void engines__older_programs(void **state)
{
	char path[200];

	(void)state;
	files_write("top.ini", LCORES "\n[engine:1]\nidle = spin\n");
	weir_profile_defaults(&profile);
	profile.struct_bytes = offsetof(struct weir_profile, engines);
	files_path("top.ini", path, sizeof(path));
	assert_int_equal(weir_profile_load(path, &profile, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "top.ini:4: [engine:1]: the program was built with headers"));
	assert_string_equal(profile.lcores, "");
	files_write("top.ini", LCORES);
	assert_int_equal(weir_profile_load(path, &profile, err, sizeof(err)), 0);
	assert_string_equal(profile.lcores, "0-9");
}

static void engines__are_written(void **state)
{
	static char text[8192], again[8192];
	struct weir_profile first;
	int len;

	(void)state;
	load_text(LCORES
		  "[engine:1]\nidle = sleep\n\n[engine:5,6]\ndriver_options =\n[engine:7]\n");
	first = profile;
	len = weir_profile_format(&profile, text, sizeof(text));
	assert_int_equal(len, strlen(text));
	assert_non_null(strstr(text, "\n\n[engine:1]\nidle = adaptive\n\n[engine:5,6]\n"
				     "driver_options =\n\n[engine:7]\n"));
	assert_string_equal(strstr(text, "[engine:7]"), "[engine:7]\n");
	load_text(text);
	assert_memory_equal(&profile, &first, sizeof(profile));
	assert_int_equal(weir_profile_format(&profile, again, sizeof(again)), len);
	assert_string_equal(again, text);
	for (size_t bytes = (size_t)len - 60; bytes <= (size_t)len; bytes++) {
		memset(again, '#', sizeof(again));
		assert_int_equal(weir_profile_format(&profile, again, bytes), len);
		assert_int_equal(strlen(again), bytes - 1);
		assert_memory_equal(again, text, bytes - 1);
	}
}

/* Checks that the longest text has space in the buffer that the documentation names. */
static void engines__longest_text(void **state)
{
	size_t bytes = sizeof(profile.engines) + PROFILE_ENGINE_LINES_MAX;

	(void)state;
	weir_profile_defaults(&profile);
	for (uint32_t i = 0; i < profile_nkeys; i++) {
		const struct profile_key *key = &profile_keys[i];

		bytes += strlen(key->section) + 5; /* more than the real number */
		bytes += strlen(key->name) + strlen(" = \n");
		bytes += key->type == PROFILE_TEXT ? key->size : 20;
	}
	assert_true(bytes <= 8192);
}

static void engines__keep_lcores(void **state)
{
	(void)state;
	load_text(LCORES "[engine:1-4]\nidle = spin\n[engine:5]\nidle = yield\n"
			 "[engine:6,8-9]\ndriver_options =\n");
	snprintf(profile.lcores, sizeof(profile.lcores), "9,1,3,8,2");
	assert_int_equal(profile_engines_keep_lcores(&profile), 0);
	assert_string_equal(profile.engines,
			    "[engine:1-3]\nidle = spin\n[engine:8-9]\ndriver_options =\n");
	assert_int_equal(weir_profile_check(&profile, err, sizeof(err)), 0);
	snprintf(profile.lcores, sizeof(profile.lcores), "any");
	assert_int_equal(profile_engines_keep_lcores(&profile), 0);
	assert_string_equal(profile.engines, "");
}

/* With fewer CPUs, the list of a section can be longer. */
static void engines__keep_lcores_without_room(void **state)
{
	char before[sizeof(profile.engines)];
	size_t used;

	(void)state;
	load_text(LCORES "[engine:0-8]\nidle = spin\n");
	used = strlen(profile.engines);
	/* The longest text with a longer list has no room for its last character. */
	snprintf(profile.lcores, sizeof(profile.lcores), "0,2,4,6,8");
	for (size_t room = sizeof(profile.engines) - strlen("0,2,4,6,8") + strlen("0-8");
	     used + 1 < room; used++)
		profile.engines[used] = used + 2 < room ? 'x' : '\n';
	memcpy(before, profile.engines, sizeof(before));
	assert_int_equal(profile_engines_keep_lcores(&profile), 0);
	assert_int_equal(strlen(profile.engines), sizeof(profile.engines) - 1);
	assert_non_null(strstr(profile.engines, "[engine:0,2,4,6,8]\nidle = spin\nxx"));
	memcpy(profile.engines, before, sizeof(before));
	profile.engines[used - 1] = 'x';
	profile.engines[used] = '\n';
	memcpy(before, profile.engines, sizeof(before));
	assert_int_equal(profile_engines_keep_lcores(&profile), -E2BIG);
	assert_memory_equal(profile.engines, before, sizeof(before));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, files_make, files_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(engines__override_keys_of_their_cpus),
		TEST(engines__texts),
		TEST(engines__of_included_files),
		TEST(engines__bad_sections),
		TEST(engines__number),
		TEST(engines__length_of_a_list),
		TEST(engines__set_by_a_program),
		TEST(engines__in_place),
		TEST(engines__older_programs),
		TEST(engines__are_written),
		TEST(engines__longest_text),
		TEST(engines__keep_lcores),
		TEST(engines__keep_lcores_without_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
