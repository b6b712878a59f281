/* SPDX-License-Identifier: BSD-3-Clause */
/* Identifies clients, and finds the rules by which a client may use each export. */
#include "client_rules.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PRIVILEGED_PORTS 1024u

/*
 * Only root can bind a port of this host that is below this number. The number does not change
 * after the first connection.
 */
static uint32_t host_ports = PRIVILEGED_PORTS;

/*
 * Guards the rules, the lists of clients and 'is_withdrawn' of exports. Pollers take the lock for a
 * new connection, and for the first call of a connection after a change. They only read, so that no
 * thread waits for another one that searches lists for its clients, such as that of MOUNT. A reload
 * holds the lock alone for a few assignments.
 */
static pthread_rwlock_t rules_lock = PTHREAD_RWLOCK_INITIALIZER;

void client_rules_read_ports(const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned ports = 0;

	if (!file || fscanf(file, "%u", &ports) != 1)
		fprintf(stderr,
			"weir-nfsd: can't read %s, so no port of this host counts as reserved for "
			"root: mount /proc\n",
			path);
	host_ports = ports < PRIVILEGED_PORTS ? ports : PRIVILEGED_PORTS;
	if (file)
		fclose(file);
}

/*
 * Parses a numeric address without its scope. An IPv4 address becomes ::ffff:a.b.c.d. Returns false
 * if 'text' is not a numeric address.
 */
static bool parse_addr(const char *text, struct in6_addr *addr)
{
	char host[INET6_ADDRSTRLEN + 16];
	struct in_addr v4;

	if (snprintf(host, sizeof(host), "%.*s", (int)strcspn(text, "%"), text) >=
	    (int)sizeof(host))
		return false;
	if (inet_pton(AF_INET6, host, addr) == 1)
		return true;
	if (inet_pton(AF_INET, host, &v4) != 1)
		return false;
	*addr = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
	memcpy(&addr->s6_addr[12], &v4, sizeof(v4));
	return true;
}

static bool is_in_network(const struct in6_addr *addr, const struct export_client *network)
{
	uint32_t whole = network->prefix / 8u, rest = network->prefix % 8u;
	const struct in6_addr *base = &network->addrs[0];

	/*
	 * An IPv4 address is stored as an IPv6 address that begins with ::ffff. Nevertheless no
	 * IPv6 network contains an IPv4 address, and vice versa.
	 */
	if (!IN6_IS_ADDR_V4MAPPED(addr) != !IN6_IS_ADDR_V4MAPPED(base))
		return false;
	if (memcmp(addr, base, whole) != 0)
		return false;
	return rest == 0 ||
	       ((addr->s6_addr[whole] ^ base->s6_addr[whole]) & (0xff00u >> rest & 0xffu)) == 0;
}

static bool matches(const struct client *client, const struct export_client *entry)
{
	switch (entry->kind) {
	case CLIENT_HOST:
		for (uint32_t i = 0; i < entry->naddrs && client->has_addr; i++)
			if (memcmp(&client->addr, &entry->addrs[i], sizeof(client->addr)) == 0)
				return true;
		return false;
	case CLIENT_UID:
		return client->has_uid && client->uid == entry->uid;
	case CLIENT_NETWORK:
		return client->has_addr && is_in_network(&client->addr, entry);
	case CLIENT_LOCAL:
		return client->is_local;
	case CLIENT_ANY:
		return true;
	}
	return false;
}

/*
 * Finds the rules for a client in the order of exports(5): an entry for a host precedes one for a
 * network, and an entry for a network precedes one for everyone. Among entries of one rank, the
 * first in the list applies. Returns NULL if no entry matches.
 */
static const struct export_rules *find_rules(const struct client *client,
					     const struct export *export)
{
	const struct export_client *best = NULL;

	if (export->nclients == 0)
		return &export->rules;
	for (uint32_t i = 0; i < export->nclients; i++) {
		const struct export_client *entry = &export->clients[i];

		if ((!best || entry->kind / CLIENT_RANK < best->kind / CLIENT_RANK) &&
		    matches(client, entry))
			best = entry;
	}
	return best ? &best->rules : NULL;
}

/*
 * Returns true if 'addr' is an address of this host, or if that cannot be determined. The test
 * relies on bind(), which fails with EADDRNOTAVAIL for the addresses of other hosts.
 */
static bool is_of_this_host(const struct in6_addr *addr)
{
	bool is_v4 = IN6_IS_ADDR_V4MAPPED(addr), is_anothers = false;
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = *addr};
	int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return true;
	memcpy(&v4.sin_addr, &addr->s6_addr[12], sizeof(v4.sin_addr));
	if (bind(fd, is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6,
		 is_v4 ? sizeof(v4) : sizeof(v6)) != 0)
		is_anothers = errno == EADDRNOTAVAIL;
	close(fd);
	return !is_anothers;
}

/*
 * Returns true if only root can use the client's port. A server cannot ask which ports another host
 * reserves for root, so it assumes the usual ones, which are below 1024.
 */
static bool is_privileged(const struct client *client, uint64_t port)
{
	if (port == 0 || port >= PRIVILEGED_PORTS)
		return false;
	return port < host_ports || (!client->is_local && !is_of_this_host(&client->addr));
}

_Static_assert(EXPORTS_MAX <= 32, "client.usable has a bit for each export");

static void set_rules(struct client *client, const struct exports *exports)
{
	client->usable = 0;
	pthread_rwlock_rdlock(&rules_lock);
	client->generation = exports->generation;
	for (uint32_t i = 0; i < exports->n; i++) {
		const struct export *export = &exports->all[i];
		const struct export_rules *rules =
			export->is_withdrawn ? NULL : find_rules(client, export);

		if (!rules || (rules->needs_secure_port && !client->is_privileged))
			continue;
		client->rules[i] = *rules;
		client->usable |= 1u << i;
	}
	pthread_rwlock_unlock(&rules_lock);
}

void client_update(struct client *client, const struct exports *exports)
{
	if (client->generation != exports->generation)
		set_rules(client, exports);
}

void client_rules_replace(struct exports *served, struct exports *fresh)
{
	pthread_rwlock_wrlock(&rules_lock);
	for (uint32_t i = 0; i < served->n; i++) {
		struct export *old = &served->all[i];
		struct export *new = export_by_id(fresh, old->id);
		struct export_client *clients = old->clients;
		uint32_t nclients = old->nclients;

		old->is_withdrawn = !new;
		if (!new)
			continue;
		old->rules = new->rules;
		old->clients = new->clients;
		old->nclients = new->nclients;
		new->clients = clients;
		new->nclients = nclients;
	}
	served->generation++;
	pthread_rwlock_unlock(&rules_lock);
}

/*
 * Sets the client's address and 'is_privileged' from the text ADDR:PORT or [ADDR6]:PORT. Has no
 * effect if the text has another form.
 */
static void set_addr(struct client *client, const char *text)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	bool is_bracketed = len >= 2 && text[0] == '[' && text[len - 1] == ']';
	char host[WEIR_PEER_ADDRESS_BYTES];
	unsigned long port;

	if (len == 0 || len >= sizeof(host))
		return;
	snprintf(host, sizeof(host), "%.*s", (int)len - 2 * is_bracketed, text + is_bracketed);
	port = strtoul(colon + 1, NULL, 10);
	client->has_addr = parse_addr(host, &client->addr);
	client->is_privileged = client->has_addr && is_privileged(client, port);
}

void client_of_peer(struct client *client, const struct weir_peer *peer,
		    const struct exports *exports)
{
	*client = (struct client){.is_local = peer->has_credentials,
				  .has_uid = peer->has_credentials};
	if (peer->has_credentials) {
		client->uid = peer->uid;
		client->gid = peer->gid;
		client->has_more_groups = peer->has_more_groups;
		client->ngroups = peer->ngroups;
		memcpy(client->groups, peer->groups, sizeof(client->groups));
		client->is_privileged = peer->uid == 0;
	} else {
		set_addr(client, peer->address);
	}
	set_rules(client, exports);
}

void client_of_tcp(struct client *client, const char *host, uint32_t port, bool is_local,
		   const struct exports *exports)
{
	*client = (struct client){.is_local = is_local};
	client->has_addr = parse_addr(host, &client->addr);
	client->is_privileged = is_privileged(client, port);
	set_rules(client, exports);
}

struct client_key client_key(const struct client *client)
{
	struct client_key key = {.kind = CLIENT_KEY_UNKNOWN};

	if (client->has_uid) {
		key.kind = CLIENT_KEY_USER;
		key.uid = client->uid;
	} else if (client->has_addr) {
		key.kind = CLIENT_KEY_ADDR;
		key.addr = client->addr;
	}
	return key;
}

bool client_key_equal(const struct client_key *a, const struct client_key *b)
{
	return a->kind == b->kind && a->uid == b->uid &&
	       memcmp(&a->addr, &b->addr, sizeof(a->addr)) == 0;
}

bool client_may_connect(const struct client *client, const struct exports *exports)
{
	(void)exports;
	return client->usable != 0;
}

const struct export_rules *client_rules(const struct client *client, const struct exports *exports,
					const struct export *export)
{
	uint32_t i = (uint32_t)(export - exports->all);

	return client->usable & 1u << i ? &client->rules[i] : NULL;
}
