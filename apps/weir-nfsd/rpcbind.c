/* SPDX-License-Identifier: BSD-3-Clause */
#include "rpcbind.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rpc/rpc.h>
#include <rpc/rpcb_clnt.h>

#include "mount3.h"

/* rdma and rdma6 (RFC 5665) are not in /etc/netconfig; their universal addresses are those of IP (RFC 8166 section 7.1). */
struct registration {
	char netid[8];
	char family[8];
	char proto[8];
	bool is_mount;
	bool is_done;
};

static struct registration all[] = {
	{"rdma", NC_INET, NC_TCP, false, false},
	{"rdma6", NC_INET6, NC_TCP, false, false},
	{"tcp", NC_INET, NC_TCP, true, false},
	{"tcp6", NC_INET6, NC_TCP, true, false},
};

static struct netconfig config_of(struct registration *r)
{
	return (struct netconfig){
		.nc_netid = r->netid,
		.nc_semantics = NC_TPI_COTS_ORD,
		.nc_protofmly = r->family,
		.nc_proto = r->proto,
	};
}

/* The port that "ADDR:PORT" or "[ADDR6]:PORT" ends with. */
static uint32_t port_of(const char *listen)
{
	const char *colon = strrchr(listen, ':'), *bracket = strrchr(listen, ']');
	unsigned long port;

	/* An IPv6 address without brackets has more than one. */
	if (!colon || (bracket && colon < bracket) || (!bracket && strchr(listen, ':') != colon))
		return NFS3_PORT_RDMA;
	port = strtoul(colon + 1, NULL, 10);
	return port > 0 && port < 65536 ? (uint32_t)port : NFS3_PORT_RDMA;
}

/* Any address of this host: rpcbind gives a client the one that it came to. */
static bool set(struct registration *r, uint32_t port)
{
	struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	struct netconfig config = config_of(r);
	bool is_v6 = strcmp(r->family, NC_INET6) == 0;
	struct netbuf addr = {
		.maxlen = is_v6 ? sizeof(any6) : sizeof(any4),
		.len = is_v6 ? sizeof(any6) : sizeof(any4),
		.buf = is_v6 ? (void *)&any6 : (void *)&any4,
	};
	rpcprog_t prog = r->is_mount ? MOUNT3_PROGRAM : NFS3_PROGRAM;

	/* One left behind by a server that was killed would be in the way. */
	rpcb_unset(prog, 3, &config);
	return rpcb_set(prog, 3, &config, &addr);
}

void rpcbind_register(const char *listen, uint32_t mount_port)
{
	bool is_missing = false;

	for (uint32_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		uint32_t port = all[i].is_mount ? mount_port : port_of(listen);

		if (port == 0)
			continue;
		all[i].is_done = set(&all[i], port);
		is_missing |= !all[i].is_done;
	}
	if (is_missing)
		fprintf(stderr,
			"weir-nfsd: rpcbind does not run, or has not taken everything: clients must be "
			"told the ports (NFS %u, MOUNT %u)\n",
			port_of(listen), mount_port);
}

void rpcbind_withdraw(void)
{
	for (uint32_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct netconfig config = config_of(&all[i]);

		if (all[i].is_done)
			rpcb_unset(all[i].is_mount ? MOUNT3_PROGRAM : NFS3_PROGRAM, 3, &config);
		all[i].is_done = false;
	}
}
