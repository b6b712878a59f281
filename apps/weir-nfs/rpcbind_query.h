/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RPCBIND_QUERY_H
#define RPCBIND_QUERY_H

/*
 * Asks a server's rpcbind (RFC 1833) for the addresses of its programs. The results that are
 * accepted from rpcbind are limited in length and number.
 */

#include <stdint.h>

#include "oncrpc_client.h"

/*
 * Asks the rpcbind at host:rpcbind_port for the TCP port of version 'vers' of 'prog'. Returns 0
 * with *port set. After an error, returns a value below with a message in 'why':
 * - -ENOENT: the program is not registered
 * - -EPROTO: the address in the answer has no port
 * - an error of oncrpc_client_open() or oncrpc_client_call()
 */
int rpcbind_getaddr(const char *host, uint16_t rpcbind_port, uint32_t prog, uint32_t vers,
		    uint32_t timeout_ms, uint16_t *port, char why[ONCRPC_CLIENT_TEXT]);

/*
 * Does the same as rpcbind_getaddr() for the port that is registered for 'netid', such as "rdma".
 * 'netid' can differ from the transport over which rpcbind is asked. The function gets all entries
 * of rpcbind (DUMP), because GETADDR answers only for that transport.
 */
int rpcbind_find(const char *host, uint16_t rpcbind_port, uint32_t prog, uint32_t vers,
		 const char *netid, uint32_t timeout_ms, uint16_t *port,
		 char why[ONCRPC_CLIENT_TEXT]);

#endif
