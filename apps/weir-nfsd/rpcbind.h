/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RPCBIND_H
#define RPCBIND_H

/*
 * Registers this server with this host's rpcbind, so that clients can ask for its addresses: NFS
 * under the netids rdma and rdma6, MOUNT under tcp and tcp6.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RPCBIND_SOCKET	    "/var/run/rpcbind.sock"
#define RPCBIND_ENTRIES_MAX 4u
#define RPCBIND_UADDR_BYTES 64u
#define RPCBIND_PATIENCE_MS 3000u /* for all calls at the start, and again at the end */

struct rpcbind_entry {
	uint32_t prog;
	char netid[8];
	char uaddr[RPCBIND_UADDR_BYTES];
	bool is_ours; /* this server has registered it */
};

struct rpcbind {
	const char *path;
	char host[48]; /* host of the NFS listener as a client writes it; empty if it has no network
			  address */
	uint32_t nfs_port;   /* 0 if 'host' is empty */
	uint32_t mount_port; /* 0 without MOUNT */
	uint32_t n;
	struct rpcbind_entry entries[RPCBIND_ENTRIES_MAX];
};

/*
 * Determines the entries to register. 'path' is rpcbind's local socket and must stay valid.
 * 'listen' is the ADDR[:PORT] of the NFS listener, or NULL if other hosts cannot use it.
 * 'mount_host' is the numeric address that MOUNT listens on. 'mount_port' is 0 without MOUNT.
 */
void rpcbind_init(struct rpcbind *rpcbind, const char *path, const char *listen,
		  const char *mount_host, uint32_t mount_port);
/* Writes the command with which a client connects without rpcbind. It names both ports. */
void rpcbind_advice(const struct rpcbind *rpcbind, char *text, size_t size);
/*
 * Registers the entries, except those that another server has registered and serves. Errors are
 * printed on standard error.
 */
void rpcbind_register(struct rpcbind *rpcbind);
/* Removes the entries that this server registered and that have not changed since. */
void rpcbind_withdraw(struct rpcbind *rpcbind);

#endif
