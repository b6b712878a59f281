/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_RULES_H
#define CLIENT_RULES_H

/*
 * Identifies the client at the other end of a connection, and finds the rules by which it may use
 * each export.
 */

#include <netinet/in.h>

#include <weir/peer.h>

#include "export.h"

/*
 * Identifies a client, so that the resources that it holds can be counted. A client on this host is
 * identified by its user, and any other client by its address. All clients whose address cannot be
 * read count as one client. Two keys are equal if all their members are equal.
 */
struct client_key {
	enum { CLIENT_KEY_UNKNOWN, CLIENT_KEY_USER, CLIENT_KEY_ADDR } kind;
	uint32_t uid;	      /* the user for CLIENT_KEY_USER; otherwise 0 */
	struct in6_addr addr; /* the address for CLIENT_KEY_ADDR; otherwise 0 */
};

struct client {
	bool has_addr; /* 'addr' is valid; an IPv4 address is stored as ::ffff:a.b.c.d */
	struct in6_addr addr;
	bool is_local; /* the client is on this host: it uses shm, or MOUNT of a server that uses
			  shm */
	bool has_uid;  /* 'uid' and 'gid' are valid, and the kernel has reported them */
	uint32_t uid, gid;
	bool has_more_groups; /* the user has more groups than 'groups' has elements */
	uint32_t ngroups;
	uint32_t groups[WEIR_PEER_GROUPS_MAX]; /* the user's supplementary groups, if 'has_uid' */
	bool is_privileged; /* over TCP or a network: only root can use the client's port; over shm:
			       its user is root */
	uint32_t usable;    /* bit i: the client may mount the export i */
	uint32_t generation;			/* exports.generation of the rules */
	struct export_rules rules[EXPORTS_MAX]; /* for the client, in the order of the exports;
						   valid for 'usable' exports */
};

#define CLIENT_RULES_PORTS_PATH "/proc/sys/net/ipv4/ip_unprivileged_port_start"

/*
 * Reads from the file 'path', which is CLIENT_RULES_PORTS_PATH, which ports of this host only root
 * can use. These are the ports below the number in the file that are also below 1024. If the file
 * cannot be read, no port counts as reserved for root, and a message is printed on standard error.
 * If this function is not called, the ports below 1024 count as reserved, as they do for other
 * hosts. It must be called before the sandbox is entered and before there are clients.
 */
void client_rules_read_ports(const char *path);

/*
 * Fills in *client, including its rules. 'peer' is what a connection's driver has reported of its
 * peer. Any thread may call this function, client_of_tcp() and client_update(), while another one
 * calls client_rules_replace().
 */
void client_of_peer(struct client *client, const struct weir_peer *peer,
		    const struct exports *exports);

/*
 * Fills in *client from the peer of a TCP connection. 'host' is its numeric address. 'port' is in
 * host byte order. 'is_local' is true if NFS is served over shm and MOUNT only to this host. Then
 * the export's rules for 'local' apply as well.
 */
void client_of_tcp(struct client *client, const char *host, uint32_t port, bool is_local,
		   const struct exports *exports);

/* Finds the rules of a client again, if they were replaced since they were found. */
void client_update(struct client *client, const struct exports *exports);

/*
 * Replaces the rules of the exports 'served' by those of the exports 'fresh' that have the same
 * ids. Exports that 'fresh' does not have are withdrawn: nobody may use them. 'fresh' gets the old
 * lists of clients, and exports_free() then releases them.
 */
void client_rules_replace(struct exports *served, struct exports *fresh);

/* Returns the key of a client that client_of_peer() or client_of_tcp() has filled in. */
struct client_key client_key(const struct client *client);

/* Returns true if both keys identify the same client. */
bool client_key_equal(const struct client_key *a, const struct client_key *b);

/* Returns true if there is an export that the client may mount. */
bool client_may_connect(const struct client *client, const struct exports *exports);

/* Returns the client's rules for an export, or NULL if the client may not mount the export. */
const struct export_rules *client_rules(const struct client *client, const struct exports *exports,
					const struct export *export);

#endif
