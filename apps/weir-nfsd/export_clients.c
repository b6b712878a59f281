/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses the key 'clients' of an export: which clients may use it, and with which options. The
 * syntax is similar to that of exports(5).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "export.h"

#define HOST_NAME_MAX_BYTES 253u /* limit for the text of a name (RFC 1035 section 2.3.4) */
/* Bits of the prefix ::ffff:0:0/96, under which IPv4 addresses are stored. */
#define V4_PREFIX 96u

/* ---- the options after a client ---- */

static const struct {
	const char *name;
	enum export_rule rule;
	bool value;
} flags[] = {
	{"ro", EXPORT_READ_ONLY, true},
	{"rw", EXPORT_READ_ONLY, false},
	{"root_squash", EXPORT_SQUASH_ROOT, true},
	{"no_root_squash", EXPORT_SQUASH_ROOT, false},
	{"all_squash", EXPORT_SQUASH_ALL, true},
	{"no_all_squash", EXPORT_SQUASH_ALL, false},
	{"secure_port", EXPORT_SECURE_PORT, true},
	{"no_secure_port", EXPORT_SECURE_PORT, false},
};

static int set_option(struct export_rules *rules, const char *option, const char *where)
{
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (strcmp(option, flags[i].name) == 0) {
			if (rules->own & 1u << flags[i].rule)
				return export_bad(where, "option", option,
						  "this client has an option of that kind already");
			export_set_flag(rules, flags[i].rule, flags[i].value);
			return 0;
		}
	if (strncmp(option, "anonuid=", 8) == 0 && !(rules->own & 1u << EXPORT_ANON_UID)) {
		rules->own |= 1u << EXPORT_ANON_UID;
		return export_parse_id("anonuid", option + 8, where, &rules->anon_uid);
	}
	if (strncmp(option, "anongid=", 8) == 0 && !(rules->own & 1u << EXPORT_ANON_GID)) {
		rules->own |= 1u << EXPORT_ANON_GID;
		return export_parse_id("anongid", option + 8, where, &rules->anon_gid);
	}
	return export_bad(where, "option", option,
			  "expected, each at most once: ro or rw, [no_]root_squash, "
			  "[no_]all_squash, [no_]secure_port, anonuid=N, anongid=N");
}

/* Parses options such as "rw,all_squash)". Returns 0 or -1. Changes 'text'. */
static int set_options(struct export_rules *rules, char *text, const char *where)
{
	size_t len = strlen(text);
	char *option;

	if (len == 0 || text[len - 1] != ')')
		return export_bad(where, "options", text, "expected ) after them");
	text[len - 1] = '\0';
	while ((option = strsep(&text, ",")))
		if (set_option(rules, option, where) != 0)
			return -1;
	return 0;
}

/* ---- the client ---- */

static struct in6_addr mapped(const struct in_addr *v4)
{
	struct in6_addr addr = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	memcpy(&addr.s6_addr[12], v4, sizeof(*v4));
	return addr;
}

/*
 * Parses a numeric address. *offset is the number of the bit of 'addr' at which the bits of the
 * text's own address family begin: V4_PREFIX for IPv4 and 0 for IPv6. Returns false if 'text' is
 * not a numeric address.
 */
static bool clients_parse_addr(const char *text, struct in6_addr *addr, uint32_t *offset)
{
	struct in_addr v4;

	*offset = 0;
	if (inet_pton(AF_INET6, text, addr) == 1)
		return true;
	if (inet_pton(AF_INET, text, &v4) != 1)
		return false;
	*addr = mapped(&v4);
	*offset = V4_PREFIX;
	return true;
}

static bool clients_parse_number(const char *text, uint32_t max, uint32_t *number)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	*number = (uint32_t)value;
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && value <= max;
}

/*
 * Converts a mask to the length of its prefix, such as 255.255.255.0 to 24. Returns false if 'text'
 * is not such a mask.
 */
static bool parse_mask(const char *text, uint32_t *bits)
{
	struct in_addr mask;
	uint32_t inverse;

	if (inet_pton(AF_INET, text, &mask) != 1)
		return false;
	inverse = ~ntohl(mask.s_addr);
	if ((inverse & (inverse + 1)) != 0)
		return false; /* the ones of the mask are not contiguous from the left */
	*bits = 32u - (uint32_t)__builtin_popcount(inverse);
	return true;
}

static bool parse_network(const char *text, struct export_client *client)
{
	char base[INET6_ADDRSTRLEN];
	const char *slash = strchr(text, '/');
	uint32_t offset, bits;

	if ((size_t)(slash - text) >= sizeof(base))
		return false;
	snprintf(base, sizeof(base), "%.*s", (int)(slash - text), text);
	if (!clients_parse_addr(base, &client->addrs[0], &offset))
		return false;
	if (!clients_parse_number(slash + 1, 128u - offset, &bits) &&
	    (offset == 0 || !parse_mask(slash + 1, &bits)))
		return false;
	/*
	 * This refuses a network such as ::ffff:192.0.2.0/24, which would include all IPv4
	 * addresses and more.
	 */
	if (offset + bits < 96 && IN6_IS_ADDR_V4MAPPED(&client->addrs[0]))
		return false;
	client->kind = CLIENT_NETWORK;
	client->naddrs = 1;
	client->prefix = offset + bits;
	return true;
}

/*
 * Returns true if the text can be the name of a host. The last part of a name must not begin with a
 * digit. No top-level domain does so, and a mistyped address is therefore not taken for a name.
 */
static bool is_host_name(const char *text)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	const char *dot = strrchr(text, '.'), *last = dot ? dot + 1 : text;
	size_t len = strlen(text);

	return len > 0 && len <= HOST_NAME_MAX_BYTES && strspn(text, letters) == len &&
	       text[0] != '.' && text[0] != '-' && *last != '\0' && (*last < '0' || *last > '9');
}

static int set_client(struct export_client *client, const char *text, const char *where)
{
	uint32_t offset;

	if (strcmp(text, "*") == 0) {
		client->kind = CLIENT_ANY;
	} else if (strcmp(text, "local") == 0) {
		client->kind = CLIENT_LOCAL;
	} else if (strncmp(text, "uid:", 4) == 0) {
		client->kind = CLIENT_UID;
		return export_parse_id("client", text + 4, where, &client->uid);
	} else if (strchr(text, '/')) {
		if (!parse_network(text, client))
			return export_bad(where, "client", text,
					  "expected ADDRESS/PREFIX, such as 192.0.2.0/24");
	} else if (clients_parse_addr(text, &client->addrs[0], &offset)) {
		client->kind = CLIENT_HOST;
		client->naddrs = 1;
	} else if (is_host_name(text)) {
		client->kind = CLIENT_HOST;
		client->host = strdup(text);
		if (!client->host)
			return export_bad(where, "client", text, strerror(ENOMEM));
	} else {
		return export_bad(where, "client", text,
				  "expected an address, ADDRESS/PREFIX, the name of a host, local, "
				  "uid:N or *, and options in parentheses directly after it");
	}
	return 0;
}

static int add_client(struct export *export, char *text, const char *where)
{
	char *options = strchr(text, '(');
	struct export_client *client;

	if (export->nclients == EXPORT_CLIENTS_MAX)
		return export_bad(where, "client", text, "this export has 64 clients already");
	client = realloc(export->clients, (export->nclients + 1) * sizeof(*client));
	if (!client)
		return export_bad(where, "client", text, strerror(ENOMEM));
	export->clients = client;
	client += export->nclients++;
	*client = (struct export_client){.kind = CLIENT_ANY};
	if (options)
		*options++ = '\0';
	if (set_client(client, text, where) != 0)
		return -1;
	return options ? set_options(&client->rules, options, where) : 0;
}

int export_set_clients(struct export *export, const char *value, const char *where)
{
	char *copy = strdup(value), *rest = copy, *text;
	int rc = 0;

	if (!copy)
		return export_bad(where, "clients", value, strerror(ENOMEM));
	while (rc == 0 && (text = strsep(&rest, " \t")))
		if (*text != '\0')
			rc = add_client(export, text, where);
	free(copy);
	/* An empty list is refused, because it could mean everyone or nobody. */
	if (rc == 0 && export->nclients == 0)
		return export_bad(where, "clients", value, "expected a client; * is everyone");
	return rc;
}

/* ---- when all exports have been added ---- */

static void inherit(struct export_rules *rules, const struct export_rules *from)
{
	struct export_rules own = *rules;

	*rules = *from;
	if (own.own & 1u << EXPORT_READ_ONLY)
		rules->is_read_only = own.is_read_only;
	if (own.own & 1u << EXPORT_SQUASH_ROOT)
		rules->squashes_root = own.squashes_root;
	if (own.own & 1u << EXPORT_SQUASH_ALL)
		rules->squashes_all = own.squashes_all;
	if (own.own & 1u << EXPORT_SECURE_PORT)
		rules->needs_secure_port = own.needs_secure_port;
	if (own.own & 1u << EXPORT_ANON_UID)
		rules->anon_uid = own.anon_uid;
	if (own.own & 1u << EXPORT_ANON_GID)
		rules->anon_gid = own.anon_gid;
	rules->own = own.own;
}

/*
 * Copies the addresses that were found for the client's name. All of them must be copied, because
 * the rules of another entry would apply to an address that is left out. Returns false if there are
 * too many.
 */
static bool take_addrs(struct export_client *client, const struct addrinfo *found)
{
	for (const struct addrinfo *at = found; at; at = at->ai_next) {
		const void *addr = at->ai_addr;

		if (at->ai_family != AF_INET6 && at->ai_family != AF_INET)
			continue;
		if (client->naddrs == CLIENT_ADDRS_MAX)
			return false;
		client->addrs[client->naddrs++] =
			at->ai_family == AF_INET6
				? ((const struct sockaddr_in6 *)addr)->sin6_addr
				: mapped(&((const struct sockaddr_in *)addr)->sin_addr);
	}
	return true;
}

static int look_up(const struct export *export, struct export_client *client)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	int rc = getaddrinfo(client->host, NULL, &hints, &found);
	bool are_all;

	if (rc != 0) {
		fprintf(stderr,
			"weir-nfsd: export %s: no address of client '%s' was found: %s. Correct "
			"the name, or give its address\n",
			export->name, client->host, gai_strerror(rc));
		return -ENOENT;
	}
	are_all = take_addrs(client, found);
	freeaddrinfo(found);
	if (!are_all) {
		fprintf(stderr,
			"weir-nfsd: export %s: client '%s' has more than %u addresses. List them, "
			"or give their network, instead of the name\n",
			export->name, client->host, CLIENT_ADDRS_MAX);
		return -E2BIG;
	}
	return 0;
}

int exports_complete(struct exports *exports)
{
	for (uint32_t i = 0; i < exports->n; i++) {
		struct export *export = &exports->all[i];
		int rc;

		for (uint32_t j = 0; j < export->nclients; j++) {
			struct export_client *client = &export->clients[j];

			inherit(&client->rules, &export->rules);
			rc = client->host ? look_up(export, client) : 0;
			if (rc != 0)
				return rc;
		}
	}
	return 0;
}

void exports_free(struct exports *exports)
{
	for (uint32_t i = 0; i < exports->n; i++) {
		struct export *export = &exports->all[i];

		for (uint32_t j = 0; j < export->nclients; j++)
			free(export->clients[j].host);
		free(export->clients);
		export->clients = NULL;
		export->nclients = 0;
	}
}
