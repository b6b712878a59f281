/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ONCRPC_CLIENT_H
#define ONCRPC_CLIENT_H

/*
 * A requester for ONC RPC (RFC 5531) over TCP, which uses libtirpc. NFS/RDMA needs it for the
 * protocols that do not use RDMA: rpcbind (RFC 1833) and MOUNT (RFC 1813 appendix I). Each function
 * returns after a limited time.
 */

#include <rpc/rpc.h>
#include <stdbool.h>
#include <stdint.h>

#define ONCRPC_CLIENT_TEXT 320u /* maximum bytes of an error message of one line, with its NUL */

/* A connection to one program. It is closed if 'client' is NULL. */
struct oncrpc_client {
	CLIENT *client;
	struct timeval timeout; /* limit of the wait for a reply, for the next call; the user is
				   allowed to change it */
};

/* Arguments or results as bytes of XDR, which code of weirgen encodes and decodes. */
struct oncrpc_bytes {
	void *data;
	uint32_t len_bytes; /* length of the arguments, or of the results after a call; 4 divides
			       it */
	uint32_t max_bytes; /* size of the memory for results */
};

/*
 * The filter of arguments or results that are bytes of XDR, for oncrpc_client_call(). It fails if
 * results are larger than their memory.
 */
bool_t oncrpc_bytes(XDR *xdrs, struct oncrpc_bytes *bytes);

/*
 * Connects to version 'vers' of the program 'prog' at host:port. The wait for each address of
 * 'host' is limited to 'timeout_ms', and so is the wait for each reply later. With 'use_reserved',
 * the local port is below 1024 if this process is allowed to use such a port, because mount daemons
 * often require it. Returns 0, or -errno with an error message in 'why'.
 */
int oncrpc_client_open(struct oncrpc_client *rpc, const char *host, uint16_t port, uint32_t prog,
		       uint32_t vers, uint32_t timeout_ms, bool use_reserved,
		       char why[ONCRPC_CLIENT_TEXT]);

/*
 * Connects to version 'vers' of the program 'prog' at a UNIX socket of this host. The connect does
 * not wait. 'timeout_ms' limits the wait for each reply.
 *
 * Returns 0 or -errno.
 */
int oncrpc_client_open_local(struct oncrpc_client *rpc, const char *path, uint32_t prog,
			     uint32_t vers, uint32_t timeout_ms);

/*
 * Makes one call and waits for its reply. Returns 0, or an error with a message in 'why':
 *
 * - -ETIMEDOUT: no reply arrived in time.
 * - -EOPNOTSUPP: the server lacks the program, the version or the procedure.
 * - -EACCES: the server refused the credential.
 * - -EPROTO: any other failure, such as a malformed reply.
 */
int oncrpc_client_call(struct oncrpc_client *rpc, uint32_t proc, xdrproc_t put, void *args,
		       xdrproc_t get, void *results, char why[ONCRPC_CLIENT_TEXT]);

/* Closes the connection and frees its memory. Has no effect on a client that is closed already. */
void oncrpc_client_close(struct oncrpc_client *rpc);

#endif
