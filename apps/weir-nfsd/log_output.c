/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file replaces the stream 'stderr' of the C library by a stream that calls poll(2) before it
 * writes. If poll(2) reports that a pipe, a socket or a terminal is ready, a message of up to
 * PIPE_BUF bytes can be written without a wait. O_NONBLOCK is not an alternative, because it would
 * apply to all processes that share the open file.
 */
#include "log_output.h"

#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#define LINE_BYTES 1024u /* bytes of the stream's buffer; longer messages are written in parts */

_Static_assert(LINE_BYTES <= PIPE_BUF, "a part is written whole");

/*
 * Returns true if standard error can take a part of a message without a wait. The caller holds the
 * stream's lock, so no other message is written in between.
 */
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
	return (ssize_t)bytes; /* the stream must not report an error if the message was dropped */
}

void log_output_start(void)
{
	static char buffer[LINE_BYTES];
	FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = log_output_put});

	if (!stream)
		return; /* messages go to standard error directly */
	setvbuf(stream, buffer, _IOLBF, sizeof(buffer));
	stderr = stream;
}
