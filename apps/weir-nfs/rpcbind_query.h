/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RPCBIND_QUERY_H
#define RPCBIND_QUERY_H

/*
 * Asks a server's rpcbind (RFC 1833) for the addresses of its programs. All its results are limited
 * in length and number.
 */

#include <stdint.h>

#include "oncrpc_client.h"

/*
 * Asks the rpcbind at host:rpcbind_port for the TCP port of version 'vers' of 'prog'. Returns 0
 * with *port set, -ENOENT if it is not registered, or an error of oncrpc_client_open() or
 * oncrpc_client_call().
 */
int rpcbind_getaddr(const char *host, uint16_t rpcbind_port, uint32_t prog, uint32_t vers,
		    uint32_t timeout_ms, uint16_t *port, char why[ONCRPC_CLIENT_TEXT]);

/*
 * Finds the port for 'netid', which may differ from the transport of the question. It lists all
 * entries of rpcbind (DUMP), because GETADDR answers only for the transport of the question.
 * Returns the same as rpcbind_getaddr().
 */
int rpcbind_find(const char *host, uint16_t rpcbind_port, uint32_t prog, uint32_t vers,
		 const char *netid, uint32_t timeout_ms, uint16_t *port,
		 char why[ONCRPC_CLIENT_TEXT]);

#endif
