/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_RULES_H
#define CLIENT_RULES_H

/* Who is at the other end of a connection, and by which rules that client may use each export. */

#include <netinet/in.h>

#include <weir/peer.h>

#include "export.h"

/*
 * Which client this is, for counting what it holds. A client of this host is its user, any other
 * one is its address. All clients whose address cannot be read are one client. Keys are compared as
 * a whole.
 */
struct client_key {
	enum { CLIENT_KEY_UNKNOWN, CLIENT_KEY_USER, CLIENT_KEY_ADDR } kind;
	uint32_t uid;	      /* of CLIENT_KEY_USER, otherwise 0 */
	struct in6_addr addr; /* of CLIENT_KEY_ADDR, otherwise 0 */
};

struct client {
	bool has_addr; /* a network's: 'addr', IPv4 as ::ffff:a.b.c.d */
	struct in6_addr addr;
	bool is_local; /* of this host, by shm, or by MOUNT of a server of shm */
	bool has_uid;  /* the kernel says who it is: 'uid' and 'gid' */
	uint32_t uid, gid;
	bool has_more_groups; /* than those in 'groups' */
	uint32_t ngroups;
	uint32_t groups[WEIR_PEER_GROUPS_MAX]; /* supplementary ones, of 'has_uid' */
	bool is_privileged; /* its port is one that root alone can have; of this host: it is root */
	const struct export_rules *rules[EXPORTS_MAX]; /* in the order of the exports; NULL: it may
							  not mount that one */
};

#define CLIENT_RULES_PORTS_PATH "/proc/sys/net/ipv4/ip_unprivileged_port_start"

/*
 * Read which ports of this host only root can have: those below the number in the file 'path',
 * which is CLIENT_RULES_PORTS_PATH, but none from 1024 on. If the file cannot be read, there are
 * none, and standard error says so. Without this call they are the ports below 1024, as those of
 * other hosts are. To be called before the sandbox and before there are clients.
 */
void client_rules_read_ports(const char *path);

/*
 * Fill in *client from what a connection's driver says of its peer, rules included. The exports
 * outlive the client and do not change.
 */
void client_of_peer(struct client *client, const struct weir_peer *peer,
		    const struct exports *exports);

/*
 * Fill in *client from a TCP connection's peer: 'host' is its address in numbers, 'port' is in host
 * byte order. With 'is_local' the export's rules for 'local' apply as well: NFS is served over shm,
 * and MOUNT to this host alone.
 */
void client_of_tcp(struct client *client, const char *host, uint32_t port, bool is_local,
		   const struct exports *exports);

/* The key of a client that one of these functions filled in. */
struct client_key client_key(const struct client *client);

/* Returns true if both keys name the same client. */
bool client_key_equal(const struct client_key *a, const struct client_key *b);

/* Whether there is an export that the client may mount. */
bool client_may_connect(const struct client *client, const struct exports *exports);

/* The rules for this export of client->rules, or NULL: the client may not mount it. */
const struct export_rules *client_rules(const struct client *client, const struct exports *exports,
					const struct export *export);

#endif
