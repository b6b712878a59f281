/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MOUNT_CLIENT_H
#define MOUNT_CLIENT_H

/* Calls of MOUNT version 3 over TCP, without credentials. An unexpected answer fails the test. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>

#include "mount3.h"

/* A reply, with its results as words in host byte order. */
struct mount_reply {
	uint32_t xid;
	uint32_t accept_stat;
	uint32_t n;
	uint32_t words[256]; /* the first words of the results */
};

/* Connects to the port from the address 127.0.0.HOST. Returns the socket. */
int mount_connect(uint32_t host, uint32_t port);
/* Sends a call. 'path' is the argument of the call, or NULL. Returns the XID. */
uint32_t mount_begin(int fd, uint32_t proc, const char *path);
/* Waits for a reply to an accepted call. */
void mount_end(int fd, struct mount_reply *reply);
/* Sends a call and waits for its reply. Returns the first word of the results, which is the status
 * of MNT. */
uint32_t mount_call(int fd, uint32_t proc, const char *path);
/* Waits until the server has closed the connection or has sent something. Returns whether the
 * server has closed the connection. */
bool mount_is_closed(int fd);

#endif
