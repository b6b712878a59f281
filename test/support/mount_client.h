/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MOUNT_CLIENT_H
#define MOUNT_CLIENT_H

/* Calls of MOUNT version 3 over TCP, without credentials. What is unexpected fails the test. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>

#include "mount3.h"

/* What came back: the results, in words of host byte order. */
struct mount_reply {
	uint32_t xid;
	uint32_t accept_stat;
	uint32_t n;
	uint32_t words[256]; /* the first of them */
};

/* Connect to the port, from the address 127.0.0.HOST. Returns the socket. */
int mount_connect(uint32_t host, uint32_t port);
/* Send a call. 'path' is its argument, or NULL. Returns its XID. */
uint32_t mount_begin(int fd, uint32_t proc, const char *path);
/* Wait for a reply to an accepted call. */
void mount_end(int fd, struct mount_reply *reply);
/* Both. Returns the first word of the results, which is the status of MNT. */
uint32_t mount_call(int fd, uint32_t proc, const char *path);
/* Whether the server has closed the connection; waits until it has, or has sent something. */
bool mount_is_closed(int fd);

#endif
