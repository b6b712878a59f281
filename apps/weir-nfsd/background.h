/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKGROUND_H
#define BACKGROUND_H

/* Starts the server in the background: */

#include <stdbool.h>
#include <sys/types.h>

/*
 * Forks. Returns the child's process ID in the parent, and 0 in the child. *fd is the end of a
 * pipe, which the functions below need. Returns -1 after it has printed a message.
 */
pid_t background_fork(int *fd);

/*
 * The child calls this function when clients can connect. The function detaches the child from the
 * terminal and the current directory, and reports to the parent. Returns 0, or -1 if that failed.
 * After -1 the child must end, because its parent has not received the report.
 */
int background_ready(int fd);

/*
 * A handler of a signal calls this function. If this process is the parent, passes the signal on to
 * the child, and returns true. Otherwise returns false.
 */
bool background_pass_on(int signo);

/*
 * The parent calls this function to wait for the child's report. Returns the exit status of the
 * program:
 *
 * - 0 if the child is ready
 * - the status of the child if the child exited with a status other than 0
 * - 'failed' if the child exited with status 0 or a signal ended it, after the function has printed
 *   a message on standard error
 */
int background_wait(pid_t child, int fd, int failed);

#endif
