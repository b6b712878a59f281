/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MOUNT_CLIENT_H
#define MOUNT_CLIENT_H

/*
 * Makes calls of MOUNT version 3 over TCP, without credentials. Each function fails the test if an
 * answer is not as described.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>

#include "mount3_rpc.h"
#include "nfs3_xdr.h"

/* An RPC reply. The results are words in host byte order. */
struct mount_reply {
	uint32_t xid;
	uint32_t accept_stat;
	uint32_t n;
	uint32_t words[256]; /* the first words of the results; 'n' of them are valid */
};

/* Connects from the address 127.0.0.HOST to 127.0.0.1 and the port. Returns the socket. */
int mount_connect(uint32_t host, uint32_t port);
/* Sends a call of 'proc'. If 'path' is not NULL, it is the argument. Returns the XID. */
uint32_t mount_begin(int fd, uint32_t proc, const char *path);
/* Waits for a reply. Fails the test if the reply does not accept the call. */
void mount_end(int fd, struct mount_reply *reply);
/*
 * Sends a call and waits for its reply. Returns the first word of the results. For MNT this is the
 * status.
 */
uint32_t mount_call(int fd, uint32_t proc, const char *path);
/* Begins to decode the results of a reply with the functions of mount3_xdr.h. */
void mount_decode(struct mount_reply *reply, struct weir_xdr_in *in);
/*
 * Calls MNT. Returns the status. If it is MOUNT3_OK and 'fh' is not NULL, *fh is the handle, and
 * the bytes behind the handle are 0.
 */
enum mount3_status mount_mnt(int fd, const char *path, struct nfs3_fh *fh);
/*
 * Waits until the server has closed the connection or has sent something. Returns true if the
 * server has closed the connection.
 */
bool mount_is_closed(int fd);

#endif
