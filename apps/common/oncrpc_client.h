/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ONCRPC_CLIENT_H
#define ONCRPC_CLIENT_H

/*
 * A requester for ONC RPC (RFC 5531) over TCP, by libtirpc, for what NFS/RDMA needs beside RDMA:
 * rpcbind (RFC 1833) and MOUNT (RFC 1813 appendix I). Everything takes bounded time.
 */

#include <rpc/rpc.h>
#include <stdbool.h>
#include <stdint.h>

#define ONCRPC_CLIENT_TEXT 320u /* of one line that says what went wrong */

struct oncrpc_client {
	CLIENT *client;
	struct timeval timeout; /* of the next call; the user may change it */
};

/* Connect to 'prog' at host:port, within 'timeout_ms' for each address that 'host' has. With
 * 'use_reserved' from a port below 1024, if this process may: mount daemons often ask for that. 0;
 * or -errno with 'why' set. */
int oncrpc_client_open(struct oncrpc_client *rpc, const char *host, uint16_t port, uint32_t prog,
		       uint32_t vers, uint32_t timeout_ms, bool use_reserved,
		       char why[ONCRPC_CLIENT_TEXT]);

/*
 * Connect to 'prog' at a UNIX socket of this host. The connect does not wait: @timeout_ms is for
 * calls.
 *
 * Returns 0 or -errno.
 */
int oncrpc_client_open_local(struct oncrpc_client *rpc, const char *path, uint32_t prog,
			     uint32_t vers, uint32_t timeout_ms);

/*
 * Make one call and wait for its reply. Returns 0, or an error with 'why' set:
 *
 *   -ETIMEDOUT   if no reply came in time,
 *   -EOPNOTSUPP  if the server lacks the program, the version or the procedure,
 *   -EACCES      if it refused the credential,
 *   -EPROTO      if the reply is malformed.
 */
int oncrpc_client_call(struct oncrpc_client *rpc, uint32_t proc, xdrproc_t put, void *args,
		       xdrproc_t get, void *results, char why[ONCRPC_CLIENT_TEXT]);

void oncrpc_client_close(struct oncrpc_client *rpc);

#endif
