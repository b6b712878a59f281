/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NOTIFY_H
#define NOTIFY_H

/*
 * Reports the state of this process to the service manager, as sd_notify(3) specifies: one
 * datagram of lines NAME=VALUE, to the socket that the environment names. systemd guarantees that
 * this protocol stays as it is. It is spoken here so that the server needs neither libsystemd nor
 * the code of libsystemd in its sandbox.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

struct notify {
	int fd; /* -1 if there is no service manager */
	struct sockaddr_un to;
	socklen_t to_bytes;
};

/*
 * Opens the socket 'path', which is the value of NOTIFY_SOCKET: a path that starts with '/', or '@'
 * and an abstract name. 'path' is allowed to be NULL: then nothing is sent. Returns 0, or -errno
 * after it has printed the reason on standard error.
 */
int notify_open(struct notify *notify, const char *path);

/*
 * Sends 'text', lines that are separated by '\n'. Waits at most one second if the service manager
 * does not read its socket. Nothing is sent if that fails.
 */
void notify_send(const struct notify *notify, const char *text);

void notify_close(struct notify *notify);

/*
 * Parses the values of WATCHDOG_USEC and WATCHDOG_PID, which are allowed to be NULL. Returns the
 * time in which the service manager wants to hear from the process 'pid', in nanoseconds. Returns 0
 * if there is no such time, or if the time is for another process.
 */
uint64_t notify_watchdog_ns(const char *usec, const char *watched, pid_t pid);

#endif
