/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STD_IO_H
#define STD_IO_H

/* Standard input, output and error of programs. The library never includes this file, because a
 * host process owns its descriptors and its signals. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * Opens each of the descriptors 0 to 2 that is closed. Call this first in main(). Otherwise the
 * next pipe, socket or file of the program gets that number, and messages for the terminal are
 * written into it.
 *
 * The substitutes are opened in the wrong direction. A read or write fails with EBADF, as on the
 * closed descriptor, so that a program which cannot write its results still reports that. SIGPIPE
 * and SIGXFSZ (RLIMIT_FSIZE) are ignored for the same reason.
 */
static inline void std_io_start(void)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
			continue;
		/* A container may have no /dev. Any other file that cannot be written serves the
		 * same purpose. */
		if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
			(void)!open("/", O_RDONLY | O_DIRECTORY);
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

/* Writes the data that standard output still buffers. Returns 0. Returns -1 after a message if some
 * of the output could not be written. */
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
