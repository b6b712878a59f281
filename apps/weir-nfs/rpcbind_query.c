/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks a server's rpcbind for the ports of programs. */
#include "rpcbind_query.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "oncrpc_void.h"
#include "uaddr.h"

/* Limits for the results of DUMP: bytes of a netid or an owner, and number of entries. */
#define DUMP_NAME_MAX	 255u
#define DUMP_ENTRIES_MAX 4096u

/* Decodes a string of at most UADDR_MAX - 1 bytes into *text. */
static bool_t get_uaddr(XDR *xdrs, char **text)
{
	return xdr_string(xdrs, text, UADDR_MAX - 1);
}

static int parse_uaddr(const char *uaddr, uint16_t *port, char why[ONCRPC_CLIENT_TEXT])
{
	if (uaddr_port(uaddr, port) == 0)
		return 0;
	snprintf(why, ONCRPC_CLIENT_TEXT, "the universal address in the answer has no port");
	return -EPROTO;
}

static int not_registered(uint32_t prog, uint32_t vers, const char *netid,
			  char why[ONCRPC_CLIENT_TEXT])
{
	snprintf(why, ONCRPC_CLIENT_TEXT, "program %u version %u is not registered for netid %s",
		 prog, vers, netid);
	return -ENOENT;
}

int rpcbind_getaddr(const char *host, uint16_t rpcbind_port, uint32_t prog, uint32_t vers,
		    uint32_t timeout_ms, uint16_t *port, char why[ONCRPC_CLIENT_TEXT])
{
	/*
	 * rpcbind ignores this netid. It uses the netid of the transport over which it is asked,
	 * which is tcp (RFC 1833 section 2.2.1).
	 */
	char netid[] = "tcp", empty[1] = "", text[UADDR_MAX] = "", *uaddr = text;
	struct rpcb args = {.r_prog = prog,
			    .r_vers = vers,
			    .r_netid = netid,
			    .r_addr = empty,
			    .r_owner = empty};
	struct oncrpc_client rpc;
	int rc = oncrpc_client_open(&rpc, host, rpcbind_port, RPCBPROG, RPCBVERS, timeout_ms, false,
				    why);

	if (rc != 0)
		return rc;
	rc = oncrpc_client_call(&rpc, RPCBPROC_GETADDR, (xdrproc_t)xdr_rpcb, &args,
				(xdrproc_t)get_uaddr, &uaddr, why);
	oncrpc_client_close(&rpc);
	if (rc != 0)
		return rc;
	return text[0] == '\0' ? not_registered(prog, vers, netid, why)
			       : parse_uaddr(text, port, why);
}

/* The entry that is searched for in the list that DUMP returns, and its address. */
struct dump {
	uint32_t prog;
	uint32_t vers;
	const char *netid;
	bool is_found;
	char uaddr[UADDR_MAX];
};

static bool_t get_dump(XDR *xdrs, struct dump *dump)
{
	if (xdrs->x_op != XDR_DECODE)
		return TRUE; /* an XDR_FREE has no effect, because nothing was allocated */
	for (uint32_t i = 0; i <= DUMP_ENTRIES_MAX; i++) {
		char netid[DUMP_NAME_MAX + 1] = "", uaddr[UADDR_MAX] = "",
					   owner[DUMP_NAME_MAX + 1] = "";
		char *netid_at = netid, *uaddr_at = uaddr, *owner_at = owner;
		uint32_t prog = 0, vers = 0;
		bool_t more = FALSE;

		if (!xdr_bool(xdrs, &more))
			return FALSE;
		if (!more)
			return TRUE;
		if (!xdr_uint32_t(xdrs, &prog) || !xdr_uint32_t(xdrs, &vers) ||
		    !xdr_string(xdrs, &netid_at, DUMP_NAME_MAX) || !get_uaddr(xdrs, &uaddr_at) ||
		    !xdr_string(xdrs, &owner_at, DUMP_NAME_MAX))
			return FALSE;
		if (dump->is_found || prog != dump->prog || vers != dump->vers ||
		    strcmp(netid, dump->netid) != 0)
			continue;
		dump->is_found = true;
		memcpy(dump->uaddr, uaddr, sizeof(uaddr));
	}
	return FALSE;
}

int rpcbind_find(const char *host, uint16_t rpcbind_port, uint32_t prog, uint32_t vers,
		 const char *netid, uint32_t timeout_ms, uint16_t *port,
		 char why[ONCRPC_CLIENT_TEXT])
{
	struct dump dump = {.prog = prog, .vers = vers, .netid = netid};
	struct oncrpc_client rpc;
	int rc = oncrpc_client_open(&rpc, host, rpcbind_port, RPCBPROG, RPCBVERS, timeout_ms, false,
				    why);

	if (rc != 0)
		return rc;
	rc = oncrpc_client_call(&rpc, RPCBPROC_DUMP, (xdrproc_t)oncrpc_void, NULL,
				(xdrproc_t)get_dump, &dump, why);
	oncrpc_client_close(&rpc);
	if (rc != 0)
		return rc;
	return dump.is_found ? parse_uaddr(dump.uaddr, port, why)
			     : not_registered(prog, vers, netid, why);
}
