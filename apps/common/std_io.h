/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STD_IO_H
#define STD_IO_H

/*
 * Prepares standard input, output and error of a program, and finishes its output. The library
 * never includes this file, because a host process owns its descriptors and its signals.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * Opens each of the descriptors 0 to 2 that is closed. A program calls this function first in
 * main(). Otherwise the next pipe, socket or file that the program opens would get the number of
 * the closed descriptor, and messages for the terminal would be written into it.
 *
 * The substitutes are opened in the wrong direction. So a read or write fails with EBADF, as on the
 * closed descriptor, and a program that cannot write its results still reports that. The signals
 * SIGPIPE and SIGXFSZ (RLIMIT_FSIZE) are ignored, so that a failed write returns an error instead
 * of ending the program.
 */
static inline void std_io_start(void)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
			continue;
		/*
		 * A container might have no /dev. Any other file that cannot be read or written
		 * serves the same purpose.
		 */
		if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
			(void)!open("/", O_RDONLY | O_DIRECTORY);
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

/*
 * Writes the data that standard output still buffers. Returns 0. If some of the output could not be
 * written, prints a message that starts with the name 'program' and returns -1.
 */
static inline int std_io_finish(const char *program)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	fprintf(stderr, "%s: standard output can't be written: %s\n", program,
		errno ? strerror(errno) : "some of it is lost");
	return -1;
}

#endif
