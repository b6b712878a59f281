/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_RULES_H
#define CLIENT_RULES_H

/* The client at the other end of a connection, and the rules by which it may use each export. */

#include <netinet/in.h>

#include <weir/peer.h>

#include "export.h"

/*
 * Identifies a client, so that its holds can be counted. A client on this host is identified by its
 * user, any other client by its address. All clients whose address cannot be read count as one
 * client. All members of a key are compared.
 */
struct client_key {
	enum { CLIENT_KEY_UNKNOWN, CLIENT_KEY_USER, CLIENT_KEY_ADDR } kind;
	uint32_t uid;	      /* for CLIENT_KEY_USER, otherwise 0 */
	struct in6_addr addr; /* for CLIENT_KEY_ADDR, otherwise 0 */
};

struct client {
	bool has_addr; /* 'addr' is valid; IPv4 is ::ffff:a.b.c.d */
	struct in6_addr addr;
	bool is_local; /* is on this host: by shm, or by MOUNT of a server that uses shm */
	bool has_uid;  /* 'uid' and 'gid' are valid, and come from the kernel */
	uint32_t uid, gid;
	bool has_more_groups; /* more groups than 'groups' holds */
	uint32_t ngroups;
	uint32_t groups[WEIR_PEER_GROUPS_MAX]; /* supplementary groups, if 'has_uid' */
	bool is_privileged; /* its port is one that only root can use; by shm: its user is root */
	const struct export_rules *rules[EXPORTS_MAX]; /* in the order of the exports; NULL if the
							  client may not mount the export */
};

#define CLIENT_RULES_PORTS_PATH "/proc/sys/net/ipv4/ip_unprivileged_port_start"

/*
 * Reads which ports of this host only root can use: those below the number in the file 'path', and
 * below 1024. 'path' is CLIENT_RULES_PORTS_PATH. If the file cannot be read, no port counts as
 * root's, and a message is printed on standard error. Without this call the ports are those below
 * 1024, as they are for other hosts. Call it before the sandbox is entered and before there are
 * clients.
 */
void client_rules_read_ports(const char *path);

/*
 * Fills in *client, including its rules, from what a connection's driver reports of its peer. The
 * exports must outlive the client and must not change.
 */
void client_of_peer(struct client *client, const struct weir_peer *peer,
		    const struct exports *exports);

/*
 * Fills in *client from the peer of a TCP connection. 'host' is its numeric address, 'port' is in
 * host byte order. 'is_local' means that NFS is served over shm and MOUNT only to this host; the
 * export's rules for 'local' then apply as well.
 */
void client_of_tcp(struct client *client, const char *host, uint32_t port, bool is_local,
		   const struct exports *exports);

/* Returns the key of a client that one of these functions filled in. */
struct client_key client_key(const struct client *client);

/* Returns true if both keys name the same client. */
bool client_key_equal(const struct client_key *a, const struct client_key *b);

/* Returns true if there is an export that the client may mount. */
bool client_may_connect(const struct client *client, const struct exports *exports);

/* Returns the client's rules for this export, or NULL if the client may not mount it. */
const struct export_rules *client_rules(const struct client *client, const struct exports *exports,
					const struct export *export);

#endif
