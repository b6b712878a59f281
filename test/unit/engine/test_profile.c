/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of profiles: what a file can contain. Anything else is refused with an error that names the
 * line.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile_keys.h"

static char err[400];

/* Loads a profile from a file that contains the 'len' bytes. */
static int load_bytes(const void *bytes, size_t len, struct weir_profile *profile)
{
	int fd = memfd_create("profile", MFD_CLOEXEC);
	char path[32];
	int rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err[0] = '\0';
	profile->struct_bytes = sizeof(*profile);
	rc = weir_profile_load(path, profile, err, sizeof(err));
	close(fd);
	return rc;
}

static int load(const char *text, struct weir_profile *profile)
{
	return load_bytes(text, strlen(text), profile);
}

static void defaults__are_in_range(void **state)
{
	struct weir_profile profile, again;

	(void)state;
	memset(&profile, 0xff, sizeof(profile));
	weir_profile_defaults(&profile);
	assert_int_equal(weir_profile_check(&profile, err, sizeof(err)), 0);
	assert_string_equal(profile.driver, "shm");
	assert_int_equal(profile.credits, 64);
	assert_int_equal(profile.inline_bytes, 4096);
	assert_int_equal(profile.exposure,
			 /* 'pool' is chosen only if no other policy is possible */
			 WEIR_EXPOSURE_AUTO);
	assert_int_equal(profile.protection, WEIR_PROTECTION_SHARED);
	assert_int_equal(profile.remote_invalidation, 1);
	assert_int_equal(profile.page_bytes, 0);
	assert_int_equal(load("", &again), 0);
	assert_memory_equal(&profile, &again, sizeof(profile));
}

/*
 * Checks each row of the table of keys: the default and the example are valid, and the range ends
 * where the row says.
 */
static void table__each_key(void **state)
{
	struct weir_profile profile;
	char text[64], why[192];

	(void)state;
	weir_profile_defaults(&profile);
	for (uint32_t i = 0; i < profile_nkeys; i++) {
		const struct profile_key *key = &profile_keys[i];

		assert_ptr_equal(profile_key_find(key->section, key->name), key);
		assert_true(key->offset + key->size <= sizeof(profile));
		assert_true(profile_key_set(key, key->initial, &profile, why, sizeof(why)));
		if (key->example)
			assert_true(profile_key_set(key, key->example, &profile, why, sizeof(why)));
		assert_true(key->help && key->help[0] != '\0');
		assert_true(key->memory && key->memory[0] != '\0');
		assert_true(profile_key_unit(key)[0] != '\0');
		if (key->type == PROFILE_TEXT)
			continue;
		assert_false(profile_key_set(key, "", &profile, why, sizeof(why)));
		assert_false(profile_key_set(key, "-1", &profile, why, sizeof(why)));
		assert_true(key->size == 4 || key->size == 8);
		if (key->type == PROFILE_CHOICE)
			continue;
		assert_true(key->size == 8 || key->max <= UINT32_MAX);
		snprintf(text, sizeof(text), "%" PRIu64, key->min);
		assert_true(profile_key_set(key, text, &profile, why, sizeof(why)));
		snprintf(text, sizeof(text), "%" PRIu64, key->max);
		assert_true(profile_key_set(key, text, &profile, why, sizeof(why)));
		snprintf(text, sizeof(text), "%" PRIu64, key->max + key->step);
		assert_false(profile_key_set(key, text, &profile, why, sizeof(why)));
		if (key->min > 0) {
			snprintf(text, sizeof(text), "%" PRIu64, key->min - 1);
			assert_false(profile_key_set(key, text, &profile, why, sizeof(why)));
		}
	}
}

static void load__every_key(void **state)
{
	static const char text[] = "# a comment\n"
				   "[engine]\n"
				   "lcores = 2,0-1 # in this order\n"
				   "idle=spin\n"
				   "  driver =  sim\n"
				   "driver_options = seed=7,rnr_retry=3\n"
				   "poll_budget = 16\n"
				   "\n"
				   "[ memory ]\r\n"
				   "pages = 2m\r\n"
				   "send_buffers = 100\n"
				   "recv_buffers = 101\n"
				   "long_buffers = 5\n"
				   "long_buffer_bytes = 64K\n"
				   "bulk_buffers = 6\n"
				   "bulk_buffer_bytes = 2m\n"
				   "[connection]\n"
				   "credits = 32\n"
				   "inline_bytes = 8192\n"
				   "call_timeout_ms = 0\n"
				   "connect_timeout_ms = 77\n"
				   "[limits]\n"
				   "connections = 3\n"
				   "read_segments = 17\n"
				   "read_chunks = 8\n"
				   "write_chunks = 9\n"
				   "segments_per_chunk = 10\n"
				   "read_bytes = 1g\n"
				   "write_bytes = 5000\n"
				   "[exposure]\n"
				   "remote_invalidation = no\n"
				   "windows = 64\n"
				   "protection = connection\n"
				   "policy = pool"; /* no newline at the end */
	uint32_t cpus[4] = {0};
	struct weir_profile p;

	(void)state;
	assert_int_equal(load(text, &p), 0);
	assert_int_equal(weir_profile_lcores(p.lcores, cpus, 4), 3);
	assert_int_equal(cpus[0], 2);
	assert_int_equal(cpus[1], 0);
	assert_int_equal(cpus[2], 1);
	assert_int_equal(p.idle, WEIR_IDLE_SPIN);
	assert_string_equal(p.driver, "sim");
	assert_string_equal(p.driver_options, "seed=7,rnr_retry=3");
	assert_int_equal(p.poll_budget, 16);
	assert_int_equal(p.page_bytes, 2 << 20);
	assert_int_equal(p.send_buffers, 100);
	assert_int_equal(p.recv_buffers, 101);
	assert_int_equal(p.long_buffers, 5);
	assert_int_equal(p.long_buffer_bytes, 65536);
	assert_int_equal(p.bulk_buffers, 6);
	assert_int_equal(p.bulk_buffer_bytes, 2 << 20);
	assert_int_equal(p.credits, 32);
	assert_int_equal(p.inline_bytes, 8192);
	assert_int_equal(p.call_timeout_ms, 0);
	assert_int_equal(p.connect_timeout_ms, 77);
	assert_int_equal(p.connections, 3);
	assert_int_equal(p.read_segments, 17);
	assert_int_equal(p.read_chunks, 8);
	assert_int_equal(p.write_chunks, 9);
	assert_int_equal(p.segments_per_chunk, 10);
	assert_int_equal(p.read_bytes, 1 << 30);
	assert_int_equal(p.write_bytes, 5000);
	assert_int_equal(p.exposure, WEIR_EXPOSURE_POOL);
	assert_int_equal(p.remote_invalidation, 0);
	assert_int_equal(p.windows, 64);
	assert_int_equal(p.protection, WEIR_PROTECTION_CONNECTION);
	assert_int_equal(load("[exposure]\npolicy = window\n", &p), 0);
	assert_int_equal(p.exposure, WEIR_EXPOSURE_WINDOW);
}

#define LONG_64	 "aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbccccccccccccccccdddddddddddddddd"
#define LONG_256 LONG_64 LONG_64 LONG_64 LONG_64

static const struct {
	const char *text;
	uint32_t line;
	const char *says[3];
} bad_files[] = {
	/* errors of the structure of the file */
	{"credits = 64\n", 1, {"before the first section"}},
	{"\n# x\n[engine]\nidle\n", 4, {"'idle' is neither"}},
	{"[engine]\n= 5\n", 2, {"no such key"}},
	{"[engine\nidle = spin\n", 1, {"[name] on a line of its own"}},
	{"[engine] idle = spin\n", 1, {"[name] on a line of its own"}},
	{"[]\n", 1, {"no such section", "engine, memory"}},
	{"[motor]\n",
	 1,
	 {"[motor]: no such section", "known: engine, memory, connection, costs, limits, exposure, "
				      "engine:CPUS, app:NAME"}},
	{"[Engine]\n", 1, {"no such section"}},
	{"[engine]\n[memory]\n[engine]\n", 3, {"[engine]: this section exists twice"}},
	{"[engine]\nspeed = 3\n", 2, {"[engine] speed: no such key", "known: lcores, idle"}},
	{"[engine]\nIdle = spin\n", 2, {"no such key"}},
	/* keys of another section */
	{"[engine]\ncredits = 3\n", 2, {"[engine] credits: no such key"}},
	{"[engine]\nidle = spin\n\nidle = spin\n", 4, {"[engine] idle: set in line 2 already"}},
	{"[engine]\nidle = sp\\in\n", 2, {"backslash"}},
	{"[engine]\n; idle = spin\n", 2, {"no such key"}}, /* ';' does not begin a comment here */
	{"[engine]\nidle = sp\x01in\n", 2, {"control character"}},
	{"[engine]\n#" LONG_256 LONG_64 "\n", 2, {"longer than 320"}},
	{"[engine]\n" LONG_64 " = 1\n", 2, {"no such key"}},
	{"[engine]\ndriver_options = " LONG_256 "\n", 2, {"driver_options", "longer than 255"}},
	{"[engine]\ndriver = " LONG_64 "\n", 2, {"driver", "longer than 31"}},
	/* errors of values */
	{"[connection]\ncredits = 0\n",
	 2,
	 {"[connection] credits: 0 is out of range", "1 to 1024", "credits = 64"}},
	{"[connection]\ncredits = 1025\n", 2, {"1025 is out of range"}},
	{"[connection]\ncredits =\n", 2, {"'' is not a number"}},
	{"[connection]\ncredits = -1\n", 2, {"'-1' is not a number"}},
	{"[connection]\ncredits = +1\n", 2, {"not a number"}},
	{"[connection]\ncredits = 0x10\n", 2, {"not a number"}},
	{"[connection]\ncredits = 6 4\n", 2, {"not a number"}},
	{"[connection]\ncredits = 1k\n", 2, {"not a number"}}, /* a count, not a size */
	{"[connection]\ncredits = 99999999999999999999\n", 2, {"too large"}},
	/* as a 32-bit number it would be 1 */
	{"[connection]\ncredits = 4294967297\n", 2, {"out of range"}},
	{"[connection]\ninline_bytes = 1023\n", 2, {"out of range", "1k to 64k"}},
	{"[connection]\ninline_bytes = 65537\n", 2, {"out of range"}},
	{"[connection]\ninline_bytes = 1028\n", 2, {"not a multiple of 1024"}},
	{"[connection]\ninline_bytes = 4kb\n", 2, {"not a number of bytes"}},
	{"[connection]\ninline_bytes = 4 k\n", 2, {"not a number of bytes"}},
	/* as a 64-bit number of bytes it would be 1 GiB */
	{"[limits]\nread_bytes = 17179869185g\n", 2, {"too large"}},
	{"[limits]\nread_chunks = 65\n", 2, {"out of range", "1 to 64"}},
	{"[engine]\nidle = nap\n",
	 2,
	 {"'nap' is none of", "auto, spin, yield, adaptive, event or sleep", "idle = auto"}},
	{"[memory]\npages = 2048k\n", 2, {"none of the choices", "auto, thp, 4k, 2m or 1g"}},
	{"[exposure]\npolicy = open\n", 2, {"auto, window or pool"}},
	{"[exposure]\nprotection = yes\n", 2, {"shared or connection"}},
	{"[exposure]\nremote_invalidation = maybe\n", 2, {"yes or no"}},
	{"[exposure]\nwindows = 63\n", 2, {"out of range"}},
	{"[engine]\nlcores = 1-\n", 2, {"'1-' is not valid", "0,1 or 0-3", "lcores = 0,1"}},
	{"[engine]\nlcores = 3-1\n", 2, {"not valid"}},
	{"[engine]\nlcores = 0,,1\n", 2, {"not valid"}},
	{"[engine]\nlcores = 0,\n", 2, {"not valid"}},
	{"[engine]\nlcores = 1024\n", 2, {"not valid"}},
	{"[engine]\nlcores = 0,0\n", 2, {"'0,0' is not valid", "each once"}},
	{"[engine]\nlcores = 0-2,1\n", 2, {"not valid"}},
	{"[engine]\nlcores = 0-1023\n", 2, {"not valid"}},
	{"[engine]\nlcores = 99999999999999999999999\n", 2, {"not valid"}},
	{"[engine]\ndriver =\n", 2, {"driver"}},
	{"[engine]\n\ndriver_options = speed=9\n",
	 3,
	 {"driver_options", "'speed=9'", "driver shm"}},
	{"[engine]\ndriver_options = rnr_retry=8\ndriver = verbs\n",
	 2,
	 {"driver_options", "driver verbs"}},
	{"[engine]\ndriver_options = direct=maybe\ndriver = verbs\n",
	 2,
	 {"driver_options", "driver verbs"}},
	{"[engine]\ndriver_options = max_rd_atomic=0\ndriver = sim\n",
	 2,
	 {"driver_options", "driver sim"}},
	{"[engine]\n\ndriver = infiniband\n", 3, {"no driver 'infiniband'", "known: shm, "}},
	{"[engine]\ndriver = ../shm\n", 2, {"'../shm' is not valid"}},
	/* errors of relations between values */
	{"[memory]\nrecv_buffers = 65\n", 2, {"recv_buffers", "65 are too few", "takes 74"}},
};

static void load__bad_files_name_line_and_cure(void **state)
{
	struct weir_profile profile, before;
	char where[16];

	(void)state;
	memset(&profile, 0x5a, sizeof(profile));
	profile.struct_bytes = sizeof(profile);
	before = profile;
	for (size_t i = 0; i < sizeof(bad_files) / sizeof(bad_files[0]); i++) {
		assert_int_equal(load(bad_files[i].text, &profile), -EINVAL);
		snprintf(where, sizeof(where), ":%u: ", bad_files[i].line);
		if (!strstr(err, where))
			fail_msg("'%s' gives '%s', which does not name line %u", bad_files[i].text,
				 err, bad_files[i].line);
		for (size_t w = 0; w < 3 && bad_files[i].says[w]; w++)
			if (!strstr(err, bad_files[i].says[w]))
				fail_msg("'%s' gives '%s', without '%s'", bad_files[i].text, err,
					 bad_files[i].says[w]);
		assert_memory_equal(&profile, &before, sizeof(profile));
	}
}

static void load__a_nul_byte_hides_nothing(void **state)
{
	static const char bytes[] = "[engine]\nidle = spin\0 # \nspeed = 3\n";
	struct weir_profile profile;

	(void)state;
	assert_int_equal(load_bytes(bytes, sizeof(bytes) - 1, &profile), -EINVAL);
	assert_non_null(strstr(err, ":2: "));
}

/* Checks that the longest line that the scan accepts is not longer than rte_cfgfile accepts. */
static void load__the_longest_line(void **state)
{
	char text[400] = "[engine]\n#";
	struct weir_profile profile;

	(void)state;
	memset(text + 10, 'x', 319);
	assert_int_equal(load(text, &profile), 0);
	text[329] = '\n';
	assert_int_equal(load(text, &profile), 0);
	text[329] = 'x';
	assert_int_equal(load(text, &profile), -EINVAL);
}

static void load__not_a_file(void **state)
{
	struct weir_profile profile = {.struct_bytes = sizeof(profile)};

	(void)state;
	assert_int_equal(weir_profile_load("/nonexistent.ini", &profile, err, sizeof(err)),
			 -ENOENT);
	assert_non_null(strstr(err, "/nonexistent.ini: No such file"));
	assert_int_equal(weir_profile_load("/tmp", &profile, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "not a regular file"));
	assert_int_equal(weir_profile_load("/dev/null", &profile, err, sizeof(err)), -EINVAL);
}

/*
 * Checks a FIFO. Nobody writes to it, so that code which opened it as a file would wait for ever.
 */
static void load__a_fifo(void **state)
{
	char folder[] = "/tmp/weir-test-XXXXXX", path[sizeof(folder) + 8];
	struct weir_profile profile = {.struct_bytes = sizeof(profile)};
	int rc;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/fifo", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	rc = weir_profile_load(path, &profile, err, sizeof(err));
	unlink(path);
	rmdir(folder);
	assert_int_equal(rc, -EINVAL);
	assert_non_null(strstr(err, "not a regular file"));
}

static void load__a_short_error_buffer(void **state)
{
	struct weir_profile profile = {.struct_bytes = sizeof(profile)};
	char small[8];

	(void)state;
	assert_int_equal(weir_profile_load("/nonexistent.ini", &profile, small, sizeof(small)),
			 -ENOENT);
	assert_int_equal(strlen(small), 7);
	assert_int_equal(weir_profile_load("/nonexistent.ini", &profile, NULL, 0), -ENOENT);
}

static void check__fields_set_by_hand(void **state)
{
	struct weir_profile profile;

	(void)state;
	weir_profile_defaults(&profile);
	profile.credits = 1025;
	assert_int_equal(weir_profile_check(&profile, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "[connection] credits: 1025"));
	weir_profile_defaults(&profile);
	profile.page_bytes = 8192;
	assert_int_equal(weir_profile_check(&profile, err, sizeof(err)), -EINVAL);
	weir_profile_defaults(&profile);
	memset(profile.driver, 'x', sizeof(profile.driver)); /* the string has no NUL at its end */
	assert_int_equal(weir_profile_check(&profile, err, sizeof(err)), -EINVAL);
	weir_profile_defaults(&profile);
	profile.recv_buffers = 65;
	assert_int_equal(weir_profile_check(&profile, err, sizeof(err)), -EINVAL);
}

static void lcores__lists(void **state)
{
	uint32_t cpus[4];

	(void)state;
	assert_int_equal(weir_profile_lcores("", cpus, 4), 0);
	assert_int_equal(weir_profile_lcores("any", cpus, 4), 0);
	assert_int_equal(weir_profile_lcores("0,0", cpus, 4), -EEXIST);
	assert_int_equal(weir_profile_lcores("0-2,5,1", cpus, 4), -EEXIST);
	assert_int_equal(weir_profile_lcores("1-4", cpus, 4), 4);
	assert_int_equal(cpus[3], 4);
	assert_int_equal(weir_profile_lcores("0-4", cpus, 4), -E2BIG);
	assert_int_equal(weir_profile_lcores("0 ,1", cpus, 4), -EINVAL);
	assert_int_equal(weir_profile_lcores("0x1", cpus, 4), -EINVAL);
}

/*
 * Checks that a profile is the same after it was written and loaded. In 'profile', each key has a
 * value other than its default, as far as the keys allow that together.
 */
static void format__can_be_loaded(void **state)
{
	struct weir_profile profile, again;
	char text[8192], short_text[100], why[192];
	int len;

	(void)state;
	weir_profile_defaults(&profile);
	for (uint32_t i = 0; i < profile_nkeys; i++) {
		const struct profile_key *key = &profile_keys[i];
		struct weir_profile before = profile;
		char value[300];

		/* the first choice that is not the default; the number after the default */
		if (key->type == PROFILE_CHOICE)
			snprintf(value, sizeof(value), "%s",
				 strcmp(key->choices[0].word, key->initial) == 0
					 ? key->choices[1].word
					 : key->choices[0].word);
		else if (key->type == PROFILE_TEXT)
			snprintf(value, sizeof(value), "%s",
				 strcmp(key->name, "driver") == 0 ? "sim"
				 : key->example			  ? key->example
								  : key->initial);
		else
			snprintf(value, sizeof(value), "%" PRIu64,
				 key->min == 0 ? key->step : key->min + key->step);
		assert_true(profile_key_set(key, value, &profile, why, sizeof(why)));
		if (weir_profile_check(&profile, err, sizeof(err)) != 0)
			profile = before;
	}
	assert_string_equal(profile.driver, "sim");
	len = weir_profile_format(&profile, text, sizeof(text));
	assert_true(len > 1000 && (size_t)len < sizeof(text));
	assert_int_equal(strlen(text), len);
	for (uint32_t i = 0; i < profile_nkeys; i++)
		assert_non_null(strstr(text, profile_keys[i].name));
	assert_int_equal(load(text, &again), 0);
	assert_memory_equal(&profile, &again, sizeof(profile));
	assert_int_equal(weir_profile_format(&profile, short_text, sizeof(short_text)), len);
	assert_int_equal(strlen(short_text), sizeof(short_text) - 1);
	assert_memory_equal(short_text, text, sizeof(short_text) - 1);
	assert_int_equal(weir_profile_format(&profile, NULL, 0), len);
}

/* Checks that the longest values of all keys fit into the size that the header promises. */
static void format__longest(void **state)
{
	size_t bytes = 1;

	(void)state;
	for (uint32_t i = 0; i < profile_nkeys; i++) {
		const struct profile_key *key = &profile_keys[i];

		/* a section with its two newlines and brackets, " = ", and a number or a word */
		bytes += strlen(key->section) + 4 + strlen(key->name) + 4 +
			 (key->type == PROFILE_TEXT ? key->size : 20);
	}
	assert_true(bytes <= 8192);
}

static void format__refuses(void **state)
{
	static const char *const bad[] = {"a#b", "a\\b", "a\nb", " a", "a ", "a\x7f"};
	struct weir_profile profile;
	char text[8192];

	(void)state;
	weir_profile_defaults(&profile);
	profile.credits = 0;
	assert_int_equal(weir_profile_format(&profile, text, sizeof(text)), -EINVAL);
	profile.struct_bytes = 3;
	assert_int_equal(weir_profile_format(&profile, text, sizeof(text)), -EINVAL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		weir_profile_defaults(&profile);
		snprintf(profile.driver_options, sizeof(profile.driver_options), "%s", bad[i]);
		assert_int_equal(weir_profile_format(&profile, text, sizeof(text)), -EINVAL);
		assert_int_equal(weir_profile_check(&profile, err, sizeof(err)), -EINVAL);
		assert_non_null(strstr(err, "is not valid"));
	}
}

static void key_help__lists_each_key_once(void **state)
{
	char line[800];
	uint32_t n = 0;

	(void)state;
	while (weir_profile_key_help(n, line, sizeof(line)) == 0) {
		assert_non_null(strstr(line, profile_keys[n].name));
		assert_non_null(strstr(line, profile_keys[n].memory));
		assert_true(strlen(line) < sizeof(line) - 1);
		n++;
	}
	assert_int_equal(n, profile_nkeys);
	assert_int_equal(weir_profile_key_help(UINT32_MAX, line, sizeof(line)), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults__are_in_range),
		cmocka_unit_test(table__each_key),
		cmocka_unit_test(load__every_key),
		cmocka_unit_test(load__bad_files_name_line_and_cure),
		cmocka_unit_test(load__a_nul_byte_hides_nothing),
		cmocka_unit_test(load__the_longest_line),
		cmocka_unit_test(load__not_a_file),
		cmocka_unit_test(load__a_fifo),
		cmocka_unit_test(load__a_short_error_buffer),
		cmocka_unit_test(check__fields_set_by_hand),
		cmocka_unit_test(format__can_be_loaded),
		cmocka_unit_test(format__longest),
		cmocka_unit_test(format__refuses),
		cmocka_unit_test(lcores__lists),
		cmocka_unit_test(key_help__lists_each_key_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
