/* SPDX-License-Identifier: BSD-3-Clause */
/* Splits and joins addresses in the forms of users and of rpcbind. */
#include "uaddr.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MS   1000
#define PORT_DIGITS 5u

/*
 * Parses 'len' characters as decimal digits, with at most 'ndigits_max' digits and a value up to
 * 'max'. Returns 0 with *value set, or -EINVAL.
 */
static int parse_number(const char *text, size_t len, size_t ndigits_max, uint32_t max,
			uint32_t *value)
{
	uint32_t number = 0;

	if (len == 0 || len > ndigits_max)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		number = number * 10 + (uint32_t)(text[i] - '0');
	}
	if (number > max)
		return -EINVAL;
	*value = number;
	return 0;
}

int address_split(const char *text, char *host, size_t host_bytes, uint16_t *port)
{
	const char *begin = text, *end, *colon;
	uint32_t number = 0;

	if (text[0] == '[') {
		begin = text + 1;
		end = strchr(begin, ']');
		if (!end || (end[1] != '\0' && end[1] != ':'))
			return -EINVAL;
		colon = end[1] ? end + 1 : NULL;
	} else {
		colon = strchr(text, ':');
		/* A text with two colons but without brackets is an IPv6 address without a port. */
		if (colon && strchr(colon + 1, ':'))
			colon = NULL;
		end = colon ? colon : text + strlen(text);
	}
	if (end == begin || (size_t)(end - begin) >= host_bytes)
		return -EINVAL;
	if (colon &&
	    (parse_number(colon + 1, strlen(colon + 1), PORT_DIGITS, UINT16_MAX, &number) != 0 ||
	     number == 0))
		return -EINVAL;
	memcpy(host, begin, (size_t)(end - begin));
	host[end - begin] = '\0';
	*port = (uint16_t)number;
	return 0;
}

/*
 * Converts a numeric address to its usual form, and removes its scope. Returns false if 'host' is
 * not a numeric address.
 */
static bool normalize(char host[HOST_NUMERIC_MAX])
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	char *scope;
	int rc = getaddrinfo(host, NULL, &hints, &found);

	if (rc != 0)
		return false;
	rc = getnameinfo(found->ai_addr, found->ai_addrlen, host, HOST_NUMERIC_MAX, NULL, 0,
			 NI_NUMERICHOST);
	freeaddrinfo(found);
	scope = strchr(host, '%');
	if (scope)
		*scope = '\0';
	return rc == 0;
}

bool address_split_numeric(const char *text, uint16_t port_usual, char host[HOST_NUMERIC_MAX],
			   uint16_t *port)
{
	if (address_split(text, host, HOST_NUMERIC_MAX, port) != 0 || !normalize(host))
		return false;
	if (*port == 0)
		*port = port_usual;
	return true;
}

bool address_join(const char *host, uint16_t port, char *text, size_t text_bytes)
{
	int n = snprintf(text, text_bytes, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);

	return n > 0 && (size_t)n < text_bytes;
}

void uaddr_print(const char *host, uint16_t port, char *uaddr, size_t bytes)
{
	snprintf(uaddr, bytes, "%s.%u.%u", host, port >> 8, port & 255u);
}

/*
 * Splits a universal address into its host and its port. The host is the first *host_len bytes.
 * Nothing is allowed after the port. Returns 0 or -EINVAL.
 */
static int uaddr_parse_dotted(const char *uaddr, size_t *host_len, uint16_t *port)
{
	const char *low = strrchr(uaddr, '.'), *high = low;
	uint32_t p1, p2;

	if (!low)
		return -EINVAL;
	while (high > uaddr && high[-1] != '.')
		high--;
	/* The address has at least one character, and a dot precedes the two octets of the port. */
	if (high <= uaddr + 1 || parse_number(high, (size_t)(low - high), 3, 255, &p1) != 0 ||
	    parse_number(low + 1, strlen(low + 1), 3, 255, &p2) != 0)
		return -EINVAL;
	*host_len = (size_t)(high - 1 - uaddr);
	*port = (uint16_t)(p1 << 8 | p2);
	return 0;
}

int uaddr_port(const char *uaddr, uint16_t *port)
{
	uint32_t ndots = 0;
	size_t host_len;

	for (const char *c = uaddr; *c != '\0'; c++)
		ndots += *c == '.';
	/* An IPv4 address contains three dots, and two more precede the octets of the port. */
	if (!strchr(uaddr, ':') && ndots != 5)
		return -EINVAL;
	return uaddr_parse_dotted(uaddr, &host_len, port) == 0 && *port > 0 ? 0 : -EINVAL;
}

/*
 * Returns true if a connection is accepted, or if the wait for that times out. Returns false if the
 * connection is refused or fails. For the wildcard address, Linux connects to this host.
 */
static bool connects(const struct addrinfo *to)
{
	int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0;
	socklen_t len = sizeof(error);
	struct pollfd wait = {.fd = fd, .events = POLLOUT};

	if (fd < 0)
		return false;
	if (connect(fd, to->ai_addr, to->ai_addrlen) != 0) {
		error = errno;
		if (error == EINPROGRESS && poll(&wait, 1, ANSWER_MS) > 0)
			getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	}
	close(fd);
	return error == 0 || error == EINPROGRESS;
}

bool uaddr_answers(const char *uaddr)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
				       .ai_socktype = SOCK_STREAM};
	char host[HOST_NUMERIC_MAX], service[8];
	struct addrinfo *found;
	size_t host_len;
	uint16_t port;
	bool answers;

	if (uaddr_parse_dotted(uaddr, &host_len, &port) != 0 || host_len >= sizeof(host))
		return false;
	snprintf(host, sizeof(host), "%.*s", (int)host_len, uaddr);
	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(host, service, &hints, &found) != 0)
		return false;
	answers = connects(found);
	freeaddrinfo(found);
	return answers;
}
