/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the log: the callback, its levels and categories, and long or hostile texts. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <rte_log.h>

#include <weir/engine.h>

#include "log.h"

#define CATEGORIES 6u
#define THREADS	   4u
#define LINES	   20000u
#define FORKS	   200u

static struct {
	void *arg;
	enum weir_log_level level;
	enum weir_log_category category;
	char text[2 * LOG_LINE_BYTES];
	uint32_t calls;
} got;

static void keep(void *arg, enum weir_log_level level, enum weir_log_category category,
		 const char *text)
{
	got.arg = arg;
	got.level = level;
	got.category = category;
	snprintf(got.text, sizeof(got.text), "%s", text);
	got.calls++;
}

static void log_as(uint32_t category, uint32_t level, const char *text)
{
	log_line((enum weir_log_category)category, (enum weir_log_level)level, "%s", text);
}

static int forget(void **state)
{
	(void)state;
	memset(&got, 0, sizeof(got));
	return weir_log_set(NULL, NULL, WEIR_LOG_OFF);
}

static void each_category__arrives_with_its_level(void **state)
{
	static int mark;

	(void)state;
	assert_int_equal(weir_log_set(keep, &mark, WEIR_LOG_DEBUG), 0);
	for (uint32_t c = 0; c < CATEGORIES; c++)
		for (uint32_t level = WEIR_LOG_ERROR; level <= WEIR_LOG_DEBUG; level++) {
			log_as(c, level, weir_log_category_name((enum weir_log_category)c));
			assert_ptr_equal(got.arg, &mark);
			assert_int_equal(got.category, c);
			assert_int_equal(got.level, level);
			assert_string_equal(got.text,
					    weir_log_category_name((enum weir_log_category)c));
		}
	assert_int_equal(got.calls, CATEGORIES * WEIR_LOG_DEBUG);
}

/* Each category has its own limit. weir_log_set() sets all of them. */
static void limits__filter_lines(void **state)
{
	(void)state;
	assert_int_equal(weir_log_set(keep, NULL, WEIR_LOG_NOTICE), 0);
	assert_int_equal(weir_log_set_level(WEIR_LOG_MEMORY, WEIR_LOG_OFF), 0);
	assert_int_equal(weir_log_set_level(WEIR_LOG_DRIVER, WEIR_LOG_INFO), 0);
	for (uint32_t c = 0; c < CATEGORIES; c++)
		for (uint32_t level = WEIR_LOG_ERROR; level <= WEIR_LOG_DEBUG; level++) {
			uint32_t limit = c == WEIR_LOG_MEMORY	? WEIR_LOG_OFF
					 : c == WEIR_LOG_DRIVER ? WEIR_LOG_INFO
								: WEIR_LOG_NOTICE;
			uint32_t before = got.calls;

			log_as(c, level, "text");
			assert_int_equal(got.calls - before, level <= limit);
		}
	assert_int_equal(weir_log_set(keep, NULL, WEIR_LOG_ERROR), 0);
	got.calls = 0;
	log_as(WEIR_LOG_MEMORY, WEIR_LOG_ERROR, "text");
	log_as(WEIR_LOG_DRIVER, WEIR_LOG_WARNING, "text");
	assert_int_equal(got.calls, 1);
}

static void wrong_arguments__are_errors(void **state)
{
	(void)state;
	assert_int_equal(weir_log_set(keep, NULL, (enum weir_log_level)6), -EINVAL);
	assert_int_equal(weir_log_set(keep, NULL, (enum weir_log_level) - 1), -EINVAL);
	assert_int_equal(weir_log_set_level((enum weir_log_category)6, WEIR_LOG_INFO), -EINVAL);
	assert_int_equal(weir_log_set_level((enum weir_log_category) - 1, WEIR_LOG_INFO), -EINVAL);
	assert_int_equal(weir_log_set_level(WEIR_LOG_ENGINE, (enum weir_log_level)6), -EINVAL);
	assert_string_equal(weir_log_level_name((enum weir_log_level)6), "unknown");
	assert_string_equal(weir_log_level_name((enum weir_log_level) - 1), "unknown");
	assert_string_equal(weir_log_level_name(WEIR_LOG_OFF), "off");
	assert_string_equal(weir_log_level_name(WEIR_LOG_DEBUG), "debug");
	assert_string_equal(weir_log_category_name((enum weir_log_category)6), "unknown");
	assert_string_equal(weir_log_category_name(WEIR_LOG_DRIVER), "driver");
}

/* A text of the length 'len': characters of several bytes after 'shift' characters of one byte. */
static void fill(char *text, size_t len, uint32_t shift)
{
	memset(text, 'x', shift);
	for (size_t i = shift; i + 3 <= len; i += 3)
		memcpy(text + i, "\xe2\x82\xac", 3);
	memset(text + len - (len - shift) % 3, 'x', (len - shift) % 3);
	text[len] = '\0';
}

static void long_lines__end_after_a_whole_character(void **state)
{
	char text[2 * LOG_LINE_BYTES];

	(void)state;
	assert_int_equal(weir_log_set(keep, NULL, WEIR_LOG_DEBUG), 0);
	for (uint32_t shift = 0; shift < 3; shift++)
		for (size_t len = LOG_LINE_BYTES - 8; len < LOG_LINE_BYTES + 8; len++) {
			size_t kept;

			fill(text, len, shift);
			log_as(WEIR_LOG_ENGINE, WEIR_LOG_NOTICE, text);
			if (len < LOG_LINE_BYTES) {
				assert_string_equal(got.text, text);
				continue;
			}
			kept = strlen(got.text) - 3;
			assert_in_range(kept, LOG_LINE_BYTES - 7, LOG_LINE_BYTES - 4);
			assert_string_equal(got.text + kept, "...");
			assert_memory_equal(got.text, text, kept);
			/* The first byte that is left out begins a character. */
			assert_int_not_equal((unsigned char)text[kept] & 0xc0, 0x80);
		}
}

static void texts__are_no_formats(void **state)
{
	(void)state;
	assert_int_equal(weir_log_set(keep, NULL, WEIR_LOG_DEBUG), 0);
	log_as(WEIR_LOG_ENGINE, WEIR_LOG_NOTICE, "%s%n%p 100 % %");
	assert_string_equal(got.text, "%s%n%p 100 % %");
	log_as(WEIR_LOG_ENGINE, WEIR_LOG_NOTICE, "one\ntwo\n");
	assert_string_equal(got.text, "one two ");
	log_as(WEIR_LOG_ENGINE, WEIR_LOG_NOTICE, "");
	assert_string_equal(got.text, "");
}

static char *dpdk_text;
static size_t dpdk_bytes;

static FILE *open_dpdk(void)
{
	FILE *file = open_memstream(&dpdk_text, &dpdk_bytes);

	assert_non_null(file);
	rte_openlog_stream(file);
	return file;
}

static void expect_dpdk(FILE *file, const char *text)
{
	rte_openlog_stream(NULL);
	fclose(file);
	assert_string_equal(dpdk_text, text);
	free(dpdk_text);
}

/* Without a callback, the lines have the form and the types that --log-level knows. */
static void without_a_callback__dpdk_gets_the_lines(void **state)
{
	FILE *file = open_dpdk();

	(void)state;
	log_as(WEIR_LOG_ENGINE, WEIR_LOG_NOTICE, "100 %s");
	log_as(WEIR_LOG_ENGINE, WEIR_LOG_INFO, "is below the level of the type");
	log_as(WEIR_LOG_MEMORY, WEIR_LOG_ERROR, "two");
	log_as(WEIR_LOG_DRIVER, WEIR_LOG_WARNING, "shm: three");
	assert_int_equal(weir_log_set(keep, NULL, WEIR_LOG_ERROR), 0);
	log_as(WEIR_LOG_ENGINE, WEIR_LOG_ERROR, "for the callback");
	log_as(WEIR_LOG_ENGINE, WEIR_LOG_NOTICE, "for nobody");
	assert_int_equal(weir_log_set(NULL, NULL, WEIR_LOG_ERROR), 0);
	rte_log_set_level_pattern("weir.mem", RTE_LOG_EMERG);
	log_as(WEIR_LOG_MEMORY, WEIR_LOG_ERROR, "is below the level of the type");
	rte_log_set_level_pattern("weir.mem", RTE_LOG_NOTICE);
	log_as(WEIR_LOG_REQUESTER, WEIR_LOG_NOTICE, "four");
	assert_int_equal(got.calls, 1);
	expect_dpdk(file, "weir: 100 %s\nweir.mem: two\nweir: shm: three\nweir: four\n");
}

static int set_in_callback, level_in_callback;

static void call_weir(void *arg, enum weir_log_level level, enum weir_log_category category,
		      const char *text)
{
	keep(arg, level, category, text);
	set_in_callback = weir_log_set(NULL, NULL, WEIR_LOG_OFF);
	level_in_callback = weir_log_set_level(WEIR_LOG_ENGINE, WEIR_LOG_OFF);
	log_as(WEIR_LOG_ENGINE, WEIR_LOG_ERROR, "inner");
}

/* A callback that calls weir against the rules neither blocks nor recurses. */
static void callback_that_calls_weir__is_detected(void **state)
{
	FILE *file = open_dpdk();

	(void)state;
	assert_int_equal(weir_log_set(call_weir, NULL, WEIR_LOG_DEBUG), 0);
	log_as(WEIR_LOG_ENGINE, WEIR_LOG_ERROR, "outer");
	assert_int_equal(set_in_callback, -EDEADLK);
	assert_int_equal(level_in_callback, -EDEADLK);
	assert_int_equal(got.calls, 1);
	assert_string_equal(got.text, "outer");
	expect_dpdk(file, "weir: inner\n");
}

static void errno__is_kept(void **state)
{
	(void)state;
	assert_int_equal(weir_log_set(keep, NULL, WEIR_LOG_DEBUG), 0);
	errno = EXDEV;
	log_as(WEIR_LOG_ENGINE, WEIR_LOG_ERROR, "text");
	assert_int_equal(errno, EXDEV);
}

static uint32_t receivers[2];
static _Atomic uint32_t received[2], wrong, running;

/* The argument is valid only while its callback is set. */
static void receive(void *arg, enum weir_log_level level, enum weir_log_category category,
		    const char *text)
{
	uint32_t which = *(uint32_t *)arg;

	if (which > 1 || level != WEIR_LOG_NOTICE || category != WEIR_LOG_CONNECTION ||
	    strcmp(text, "a line") != 0)
		wrong++;
	else
		received[which]++;
}

static void *write_lines(void *arg)
{
	(void)arg;
	for (uint32_t i = 0; i < LINES; i++)
		log_as(WEIR_LOG_CONNECTION, WEIR_LOG_NOTICE, "a line");
	running--;
	return NULL;
}

static void callback__is_replaced_while_threads_log(void **state)
{
	pthread_t threads[THREADS];
	uint32_t i;

	(void)state;
	receivers[0] = 0;
	receivers[1] = 1;
	assert_int_equal(weir_log_set(receive, &receivers[0], WEIR_LOG_NOTICE), 0);
	running = THREADS;
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_lines, NULL), 0);
	for (i = 1; running > 0; i++) {
		uint32_t at = i % 2;

		receivers[at] = at;
		assert_int_equal(weir_log_set(receive, &receivers[at], WEIR_LOG_NOTICE), 0);
		/* Nobody uses the previous argument any more. */
		receivers[1 - at] = UINT32_MAX;
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(wrong, 0);
	assert_int_equal(received[0] + received[1], THREADS * LINES);
}

static _Atomic bool is_forking;

static void *set_again_and_again(void *arg)
{
	(void)arg;
	while (is_forking)
		weir_log_set(receive, &receivers[0], WEIR_LOG_NOTICE);
	return NULL;
}

static void *log_again_and_again(void *arg)
{
	(void)arg;
	while (is_forking)
		log_as(WEIR_LOG_CONNECTION, WEIR_LOG_NOTICE, "a line");
	return NULL;
}

/* A child can log and set the callback, whatever threads of the parent did during the fork. */
static void fork__leaves_no_lock_behind(void **state)
{
	pthread_t threads[2];

	(void)state;
	receivers[0] = 0;
	is_forking = true;
	assert_int_equal(pthread_create(&threads[0], NULL, set_again_and_again, NULL), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, log_again_and_again, NULL), 0);
	for (uint32_t i = 0; i < FORKS; i++) {
		pid_t child = fork();
		int status;

		assert_true(child >= 0);
		if (child == 0) {
			alarm(10);
			log_as(WEIR_LOG_CONNECTION, WEIR_LOG_NOTICE, "a line");
			_exit(weir_log_set(keep, NULL, WEIR_LOG_NOTICE) == 0 ? 0 : 1);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	is_forking = false;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

/* Lines of the library have the category of the part that writes them. */
static void library__names_its_categories(void **state)
{
	struct weir_profile profile;
	struct weir_engine *engine;

	(void)state;
	assert_int_equal(weir_log_set(keep, NULL, WEIR_LOG_ERROR), 0);
	weir_profile_defaults(&profile);
	profile.credits = 0;
	assert_int_equal(weir_engine_create(&profile, &engine), -EINVAL);
	assert_int_equal(got.category, WEIR_LOG_ENGINE);
	assert_non_null(strstr(got.text, "credits"));
	assert_int_equal(weir_log_set_level(WEIR_LOG_ENGINE, WEIR_LOG_OFF), 0);
	weir_profile_defaults(&profile);
	snprintf(profile.driver_options, sizeof(profile.driver_options), "no_such_option=%%n");
	assert_int_not_equal(weir_engine_create(&profile, &engine), 0);
	assert_int_equal(got.category, WEIR_LOG_DRIVER);
	assert_int_equal(got.level, WEIR_LOG_ERROR);
	assert_non_null(strstr(got.text, "no_such_option=%n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(each_category__arrives_with_its_level, forget),
		cmocka_unit_test_teardown(limits__filter_lines, forget),
		cmocka_unit_test_teardown(wrong_arguments__are_errors, forget),
		cmocka_unit_test_teardown(long_lines__end_after_a_whole_character, forget),
		cmocka_unit_test_teardown(texts__are_no_formats, forget),
		cmocka_unit_test_teardown(without_a_callback__dpdk_gets_the_lines, forget),
		cmocka_unit_test_teardown(callback_that_calls_weir__is_detected, forget),
		cmocka_unit_test_teardown(errno__is_kept, forget),
		cmocka_unit_test_teardown(callback__is_replaced_while_threads_log, forget),
		cmocka_unit_test_teardown(fork__leaves_no_lock_behind, forget),
		cmocka_unit_test_teardown(library__names_its_categories, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
