/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of log messages that nobody reads. No thread waits for the reader, and the reader is
 * informed how many messages were lost.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "log_output.h"

#define MESSAGES 10000
#define LIMIT_S	 60 /* seconds for the whole test; a write that waits would never return */

static char text[1 << 20];

/* Reads all that is in the pipe to 'text'. Returns its length. */
static size_t read_all(int fd)
{
	size_t used = 0;
	ssize_t n;

	while ((n = read(fd, text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	return used;
}

static void messages__wait_for_no_reader(void **state)
{
	int fds[2], kept = dup(STDERR_FILENO);
	unsigned long lost = 0, read_lines = 0;

	(void)state;
	assert_true(kept >= 0);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
	log_output_start();
	alarm(LIMIT_S);
	for (int i = 0; i < MESSAGES; i++)
		fprintf(stderr, "message %d of one line\n", i);
	alarm(0);
	assert_true(read_all(fds[0]) > 0);
	assert_non_null(strstr(text, "message 0 of one line\n"));
	for (const char *line = text; (line = strchr(line, '\n')); line++)
		read_lines++;
	fprintf(stderr, "the next\n");
	read_all(fds[0]);
	assert_int_equal(sscanf(text, "weir-nfsd: %lu messages were lost", &lost), 1);
	assert_int_equal(lost + read_lines, MESSAGES);
	assert_non_null(strstr(text, "the next\n"));
	fprintf(stderr, "%s\n", "and another");
	read_all(fds[0]);
	assert_string_equal(text, "and another\n");
	assert_int_equal(dup2(kept, STDERR_FILENO), STDERR_FILENO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages__wait_for_no_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
