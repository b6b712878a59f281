/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The C library's stream 'stderr' is replaced by one that asks poll(2) first. If a pipe, a socket
 * or a terminal is ready, it takes a message of PIPE_BUF bytes without a wait. O_NONBLOCK is no way
 * to this end: it would hold for all processes that share the descriptor's open file.
 */
#include "log_output.h"

#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#define LINE_BYTES 1024u /* of the stream's buffer; longer messages are written in parts */

_Static_assert(LINE_BYTES <= PIPE_BUF, "a part is written whole");

/* The stream's lock is held, so that no other message comes in between. */
static bool is_ready(void)
{
	struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&fd, 1, 0) == 1 && (fd.revents & POLLOUT);
}

static ssize_t log_output_put(void *cookie, const char *text, size_t bytes)
{
	static unsigned long nlost;
	char line[96];
	int n;

	(void)cookie;
	if (nlost > 0 && is_ready()) {
		n = snprintf(
			line, sizeof(line),
			"weir-nfsd: %lu messages were lost, because nobody read standard error\n",
			nlost);
		nlost = 0;
		(void)!write(STDERR_FILENO, line, (size_t)n);
	}
	if (!is_ready())
		nlost++;
	else
		(void)!write(STDERR_FILENO, text, bytes);
	return (ssize_t)bytes; /* the stream has done what it can */
}

void log_output_start(void)
{
	static char buffer[LINE_BYTES];
	FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = log_output_put});

	if (!stream)
		return; /* as it was */
	setvbuf(stream, buffer, _IOLBF, sizeof(buffer));
	stderr = stream;
}
