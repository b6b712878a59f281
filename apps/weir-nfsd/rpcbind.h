/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RPCBIND_H
#define RPCBIND_H

/*
 * Registers this server with this host's rpcbind, so that clients can ask rpcbind for the server's
 * addresses. NFS is registered under the netids rdma and rdma6, and MOUNT under tcp and tcp6.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RPCBIND_SOCKET	    "/var/run/rpcbind.sock"
#define RPCBIND_ENTRIES_MAX 4u
#define RPCBIND_UADDR_BYTES 64u
/* Limit for all calls at the start together, and for those at the end. */
#define RPCBIND_PATIENCE_MS 3000u

struct rpcbind_entry {
	uint32_t prog;
	char netid[8];
	char uaddr[RPCBIND_UADDR_BYTES];
	bool is_ours; /* this server has registered the entry */
};

struct rpcbind {
	const char *path;
	const char *export; /* an export's name for the advice, or NULL */
	char host[48]; /* host of the NFS listener as a client writes the host; empty if NFS has no
			  network address */
	uint32_t nfs_port;   /* 0 if 'host' is empty */
	uint32_t mount_port; /* 0 if MOUNT is not served */
	uint32_t n;	     /* number of 'entries' */
	struct rpcbind_entry entries[RPCBIND_ENTRIES_MAX];
};

/*
 * Determines the entries to register. 'path' is rpcbind's local socket and must stay valid.
 * 'listen' is the ADDR[:PORT] of the NFS listener, or NULL if other hosts cannot use it.
 * 'mount_host' is the numeric address that MOUNT listens on. 'mount_port' is 0 if MOUNT is not
 * served. 'export' is NULL afterwards; the caller can set it.
 */
void rpcbind_init(struct rpcbind *rpcbind, const char *path, const char *listen,
		  const char *mount_host, uint32_t mount_port);
/*
 * Writes the options or the command with which a client connects without rpcbind. They name the
 * ports of NFS and MOUNT, and the export if its name needs no quotes in a shell.
 */
void rpcbind_advice(const struct rpcbind *rpcbind, char *text, size_t size);
/*
 * Registers the entries, except those that another server has registered and serves. Errors are
 * printed on standard error.
 */
void rpcbind_register(struct rpcbind *rpcbind);
/* Removes the entries that this server registered and that have not changed since. */
void rpcbind_withdraw(struct rpcbind *rpcbind);

#endif
