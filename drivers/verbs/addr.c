/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses and prints numeric addresses. Names are not accepted, because a lookup would block. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs.h"

/* Splits an address into the host and *port, which is NULL if the address has no port. Returns
 * false if the text has none of the forms of verbs_addr_parse(). */
static bool split(const char *text, char *host, size_t size, const char **port)
{
	const char *end, *first = strchr(text, ':');
	size_t len;

	*port = NULL;
	if (text[0] == '[') {
		text++;
		end = strchr(text, ']');
		if (!end || (end[1] != '\0' && end[1] != ':'))
			return false;
		if (end[1] == ':')
			*port = end + 2;
	} else if (first && !strchr(first + 1, ':')) {
		end = first;
		*port = first + 1;
	} else {
		end = text + strlen(text); /* no colon, or the colons of an IPv6 address */
	}
	len = (size_t)(end - text);
	if (len == 0 || len >= size)
		return false;
	memcpy(host, text, len);
	host[len] = '\0';
	return true;
}

static bool parse_port(const char *text, uint16_t *port)
{
	char *end;
	unsigned long number;

	if (text[0] < '0' || text[0] > '9')
		return false;
	number = strtoul(text, &end, 10);
	*port = (uint16_t)number;
	return *end == '\0' && number > 0 && number <= UINT16_MAX;
}

int verbs_addr_parse(const char *text, struct sockaddr_storage *addr)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	uint16_t port = VERBS_PORT;
	char host[FABRIC_ADDR_MAX];
	const char *port_text;
	bool ok = split(text, host, sizeof(host), &port_text);

	ok = ok && (!port_text || parse_port(port_text, &port));
	ok = ok && getaddrinfo(host, NULL, &hints, &found) == 0;
	if (ok) {
		memset(addr, 0, sizeof(*addr));
		memcpy(addr, found->ai_addr, found->ai_addrlen);
		freeaddrinfo(found);
		/* sin_port and sin6_port have the same offset. */
		((struct sockaddr_in *)addr)->sin_port = htons(port);
		return 0;
	}
	VERBS_LOG(ERROR,
		  "'%s' is no address: expected ADDR or ADDR:PORT in numbers, such as "
		  "10.0.0.1:20049 or [fd00::1]:20049; the default port is 20049",
		  text);
	return -EINVAL;
}

void verbs_addr_print(const struct sockaddr *addr, char *text, size_t size)
{
	char host[INET6_ADDRSTRLEN] = "?";
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)addr;
	const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)addr;

	if (addr->sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		snprintf(text, size, "[%s]:%u", host, ntohs(in6->sin6_port));
	} else {
		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(text, size, "%s:%u", host, ntohs(in->sin_port));
	}
}

struct backlog_peer verbs_addr_peer(const struct sockaddr *addr)
{
	struct in6_addr host = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
	struct backlog_peer peer;

	if (addr->sa_family == AF_INET6)
		host = ((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr;
	else
		memcpy(host.s6_addr + 12,
		       &((const struct sockaddr_in *)(const void *)addr)->sin_addr, 4);
	memcpy(peer.id, host.s6_addr, sizeof(peer.id));
	return peer;
}
