/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ONCRPC_CLIENT_H
#define ONCRPC_CLIENT_H

/*
 * RPC over TCP, by libtirpc, for what NFS/RDMA needs beside RDMA: rpcbind (RFC 1833) and MOUNT (RFC
 * 1813 appendix I). Everything takes bounded time, and nothing that a server says is taken beyond
 * its bound.
 */

#include <rpc/rpc.h>
#include <stdbool.h>
#include <stdint.h>

#include "uaddr.h"

#define ONCRPC_CLIENT_TEXT 320u /* of one line that says what went wrong */

struct oncrpc_client {
	CLIENT *client;
	struct timeval timeout;
};

/* Connect to 'prog' at host:port, within 'timeout_ms' for each address that 'host' has. With
 * 'use_reserved' from a port below 1024, if this process may: mount daemons often ask for that. 0;
 * or -errno with 'why' set. */
int oncrpc_client_open(struct oncrpc_client *rpc, const char *host, uint16_t port, uint32_t prog,
		       uint32_t vers, uint32_t timeout_ms, bool use_reserved,
		       char why[ONCRPC_CLIENT_TEXT]);

/* One call. 0; -ETIMEDOUT; -EOPNOTSUPP: program, version or procedure is not there; -EACCES: the
 * credential was refused; -EPROTO; with 'why' set. */
int oncrpc_client_call(struct oncrpc_client *rpc, uint32_t proc, xdrproc_t put, void *args,
		       xdrproc_t get, void *results, char why[ONCRPC_CLIENT_TEXT]);

void oncrpc_client_close(struct oncrpc_client *rpc);

/* The XDR filter of nothing. */
bool_t oncrpc_client_void(XDR *xdrs, void *arg);

/* The TCP port of 'prog' version 'vers', as the rpcbind at host:rpcbind_port says. 0 and *port;
 * -ENOENT: it is not registered; or as above. */
int rpcbind_getaddr(const char *host, uint16_t rpcbind_port, uint32_t prog, uint32_t vers,
		    uint32_t timeout_ms, uint16_t *port, char why[ONCRPC_CLIENT_TEXT]);

/* The port for 'netid', which need not be what rpcbind is asked by: rpcbind has all its entries
 * listed (DUMP), since its GETADDR answers for the transport that the question came by. Results as
 * above. */
int rpcbind_find(const char *host, uint16_t rpcbind_port, uint32_t prog, uint32_t vers,
		 const char *netid, uint32_t timeout_ms, uint16_t *port,
		 char why[ONCRPC_CLIENT_TEXT]);

#endif
