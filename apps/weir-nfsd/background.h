/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKGROUND_H
#define BACKGROUND_H

/*
 * The start in the background. The caller forks; the child starts the server and reports that it is
 * ready; the parent waits for that report, so that its exit status tells whether clients may come.
 */

#include <stdatomic.h>
#include <sys/types.h>

/* Returns the child's process ID in the parent and 0 in the child, with *fd set in both; or -1
 * after a message. */
pid_t background_fork(int *fd);

/*
 * The child calls this when clients may come. It leaves the terminal and the present directory, and
 * reports to the parent. Returns 0, or -1: nobody knows of this server, so it must end.
 */
int background_ready(int fd);

/*
 * The parent waits for the child's report. If 'stop' is set by a signal, the parent passes SIGTERM
 * on to the child. Returns the exit status of the program: 0 if the child is ready, otherwise the
 * status of the child, or 'failed' if that is 0 or if a signal ended the child. The message for the
 * latter is on standard error.
 */
int background_wait(pid_t child, int fd, const atomic_bool *stop, int failed);

#endif
