/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ONCRPC_CLIENT_H
#define ONCRPC_CLIENT_H

/*
 * A requester for ONC RPC (RFC 5531) over TCP, which uses libtirpc. NFS/RDMA needs it for the
 * protocols that do not use RDMA: rpcbind (RFC 1833) and MOUNT (RFC 1813 appendix I). Each function
 * takes bounded time.
 */

#include <rpc/rpc.h>
#include <stdbool.h>
#include <stdint.h>

#define ONCRPC_CLIENT_TEXT 320u /* maximum bytes of one line with an error message */

struct oncrpc_client {
	CLIENT *client;
	struct timeval timeout; /* for the next call; the user may change it */
};

/*
 * Connects to 'prog' at host:port. The wait for each address of 'host' is limited to 'timeout_ms'.
 * With 'use_reserved', the local port is below 1024 if this process may use one, because mount
 * daemons often require that. Returns 0, or -errno with 'why' set.
 */
int oncrpc_client_open(struct oncrpc_client *rpc, const char *host, uint16_t port, uint32_t prog,
		       uint32_t vers, uint32_t timeout_ms, bool use_reserved,
		       char why[ONCRPC_CLIENT_TEXT]);

/*
 * Connects to 'prog' at a UNIX socket of this host. The connect does not wait. @timeout_ms limits
 * the calls.
 *
 * Returns 0 or -errno.
 */
int oncrpc_client_open_local(struct oncrpc_client *rpc, const char *path, uint32_t prog,
			     uint32_t vers, uint32_t timeout_ms);

/*
 * Makes one call and waits for its reply. Returns 0, or an error with 'why' set:
 *
 * - -ETIMEDOUT: no reply arrived in time.
 * - -EOPNOTSUPP: the server lacks the program, the version or the procedure.
 * - -EACCES: the server refused the credential.
 * - -EPROTO: any other failure, such as a malformed reply.
 */
int oncrpc_client_call(struct oncrpc_client *rpc, uint32_t proc, xdrproc_t put, void *args,
		       xdrproc_t get, void *results, char why[ONCRPC_CLIENT_TEXT]);

void oncrpc_client_close(struct oncrpc_client *rpc);

#endif
