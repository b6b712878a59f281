/* SPDX-License-Identifier: BSD-3-Clause */
#include "uaddr.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MS 1000

/* Another spelling of an address becomes the usual one. */
static bool normalize(char host[UADDR_HOST_BYTES])
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	char *scope;
	int rc = getaddrinfo(host, NULL, &hints, &found);

	if (rc != 0)
		return false;
	rc = getnameinfo(found->ai_addr, found->ai_addrlen, host, UADDR_HOST_BYTES, NULL, 0,
			 NI_NUMERICHOST);
	freeaddrinfo(found);
	scope = strchr(host, '%');
	if (scope)
		*scope = '\0';
	return rc == 0;
}

static bool split(const char *text, uint32_t port_usual, char host[UADDR_HOST_BYTES],
		  uint32_t *port)
{
	const char *colon = strchr(text, ':'), *end = text + strlen(text), *digits = NULL;

	if (text[0] == '[') {
		end = strchr(++text, ']');
		if (!end)
			return false;
		digits = end[1] == ':' ? end + 2 : NULL;
	} else if (colon && !strchr(colon + 1, ':')) {
		end = colon; /* an IPv6 address has more than one */
		digits = colon + 1;
	}
	if ((size_t)(end - text) >= UADDR_HOST_BYTES)
		return false;
	snprintf(host, UADDR_HOST_BYTES, "%.*s", (int)(end - text), text);
	*port = digits ? (uint32_t)strtoul(digits, NULL, 10) : port_usual;
	return *port > 0 && *port < 65536;
}

bool uaddr_split(const char *text, uint32_t port_usual, char host[UADDR_HOST_BYTES], uint32_t *port)
{
	return split(text, port_usual, host, port) && normalize(host);
}

bool uaddr_host(const char *text, char host[UADDR_HOST_BYTES])
{
	uint32_t port;

	return split(text, 1, host, &port);
}

void uaddr_print(const char *host, uint32_t port, char *uaddr, size_t bytes)
{
	snprintf(uaddr, bytes, "%s.%u.%u", host, port >> 8 & 255, port & 255);
}

/* A number from 0 to 255 in decimal digits, and where it ends; NULL: there is none. */
static const char *parse_octet(const char *text, uint32_t *octet)
{
	size_t ndigits = strspn(text, "0123456789");

	if (ndigits == 0 || ndigits > 3)
		return NULL;
	*octet = (uint32_t)strtoul(text, NULL, 10);
	return *octet < 256 ? text + ndigits : NULL;
}

/* Back into host and port, as text. Nothing may follow the port. */
static bool parse(const char *uaddr, char host[UADDR_HOST_BYTES], char *port, size_t port_bytes)
{
	const char *low = strrchr(uaddr, '.'), *high = low, *end;
	uint32_t values[2];

	if (!low)
		return false;
	while (high > uaddr && *--high != '.')
		;
	if (high == uaddr || (size_t)(high - uaddr) >= UADDR_HOST_BYTES ||
	    parse_octet(high + 1, &values[0]) != low)
		return false;
	end = parse_octet(low + 1, &values[1]);
	if (!end || *end != '\0')
		return false;
	snprintf(host, UADDR_HOST_BYTES, "%.*s", (int)(high - uaddr), uaddr);
	snprintf(port, port_bytes, "%u", values[0] * 256 + values[1]);
	return true;
}

/* Linux connects to this host for the any address. */
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
	char host[UADDR_HOST_BYTES], port[8];
	struct addrinfo *found;
	bool answers;

	if (!parse(uaddr, host, port, sizeof(port)) || getaddrinfo(host, port, &hints, &found) != 0)
		return false;
	answers = connects(found);
	freeaddrinfo(found);
	return answers;
}
