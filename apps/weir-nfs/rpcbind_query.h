/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RPCBIND_QUERY_H
#define RPCBIND_QUERY_H

/*
 * Ask a server's rpcbind (RFC 1833) for the addresses of its programs. Everything that it returns
 * has a limit in length and number.
 */

#include <stdint.h>

#include "oncrpc_client.h"

/* The TCP port of 'prog' version 'vers', as the rpcbind at host:rpcbind_port says. 0 and *port;
 * -ENOENT: it is not registered; or an error of oncrpc_client_open() or oncrpc_client_call(). */
int rpcbind_getaddr(const char *host, uint16_t rpcbind_port, uint32_t prog, uint32_t vers,
		    uint32_t timeout_ms, uint16_t *port, char why[ONCRPC_CLIENT_TEXT]);

/* The port for 'netid', which need not be what rpcbind is asked by: rpcbind has all its entries
 * listed (DUMP), since its GETADDR answers for the transport that the question came by. Results as
 * above. */
int rpcbind_find(const char *host, uint16_t rpcbind_port, uint32_t prog, uint32_t vers,
		 const char *netid, uint32_t timeout_ms, uint16_t *port,
		 char why[ONCRPC_CLIENT_TEXT]);

#endif
