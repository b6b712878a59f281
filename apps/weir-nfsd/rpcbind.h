/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RPCBIND_H
#define RPCBIND_H

/* This host's rpcbind, so that clients can ask where we are: NFS under netids rdma and rdma6, MOUNT
 * under tcp and tcp6. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RPCBIND_SOCKET	    "/var/run/rpcbind.sock"
#define RPCBIND_ENTRIES_MAX 4u
#define RPCBIND_UADDR_BYTES 64u
#define RPCBIND_PATIENCE_MS 3000u /* for all that is asked at the start, and again at the end */

struct rpcbind_entry {
	uint32_t prog;
	char netid[8];
	char uaddr[RPCBIND_UADDR_BYTES];
	bool is_ours; /* rpcbind has it from us */
};

struct rpcbind {
	const char *path;
	char host[48];	   /* of the NFS listener, as a client names it; empty: none that a network
			      knows */
	uint32_t nfs_port; /* 0: as above */
	uint32_t mount_port; /* 0: no MOUNT */
	uint32_t n;
	struct rpcbind_entry entries[RPCBIND_ENTRIES_MAX];
};

/* What is to be registered. 'path': rpcbind's local socket, kept; 'listen': ADDR[:PORT] that the
 * NFS listener was given, NULL: of no use to others; 'mount_host': the address that MOUNT listens
 * on, in numbers; 'mount_port' 0: no MOUNT. */
void rpcbind_init(struct rpcbind *rpcbind, const char *path, const char *listen,
		  const char *mount_host, uint32_t mount_port);
/* The command by which a client comes here without rpcbind, with both ports in it. */
void rpcbind_advice(const struct rpcbind *rpcbind, char *text, size_t size);
/* Register it, but for what another server has registered and serves. Trouble is said on standard
 * error. */
void rpcbind_register(struct rpcbind *rpcbind);
/* Take back what was registered, and is still as it was. */
void rpcbind_withdraw(struct rpcbind *rpcbind);

#endif
