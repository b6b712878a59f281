/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKGROUND_H
#define BACKGROUND_H

/*
 * The start in the background:
 *
 * - The caller forks.
 * - The child starts the server and reports that it is ready.
 * - The parent waits for that report, so that its exit status says whether clients can connect.
 */

#include <stdatomic.h>
#include <sys/types.h>

/*
 * Returns the child's process ID in the parent and 0 in the child, with *fd set in both. Returns -1
 * after it has printed a message.
 */
pid_t background_fork(int *fd);

/*
 * The child calls this when clients can connect. It detaches from the terminal and the current
 * directory, and reports to the parent. Returns 0, or -1 if that failed. After -1 the server must
 * end, because nobody knows of it.
 */
int background_ready(int fd);

/*
 * The parent waits for the child's report. If a signal sets 'stop', the parent passes SIGTERM on to
 * the child. Returns the exit status of the program:
 *
 * - 0 if the child is ready
 * - the status of the child if the child exited with a status other than 0
 * - 'failed' if the child exited with status 0 or was ended by a signal; the message is on standard
 *   error
 */
int background_wait(pid_t child, int fd, const atomic_bool *stop, int failed);

#endif
