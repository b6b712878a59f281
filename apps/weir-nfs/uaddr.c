/* SPDX-License-Identifier: BSD-3-Clause */
#include "uaddr.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Decimal digits and nothing else, up to 'max'. */
static int parse_number(const char *text, size_t len, uint32_t max, uint32_t *value)
{
	uint32_t number = 0;

	if (len == 0 || len > 5)
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

int address_split(const char *text, char host[HOST_MAX], uint16_t *port)
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
		/* Two colons and no brackets: an IPv6 address without a port. */
		if (colon && strchr(colon + 1, ':'))
			colon = NULL;
		end = colon ? colon : text + strlen(text);
	}
	if (end == begin || (size_t)(end - begin) >= HOST_MAX)
		return -EINVAL;
	if (colon &&
	    (parse_number(colon + 1, strlen(colon + 1), UINT16_MAX, &number) != 0 || number == 0))
		return -EINVAL;
	memcpy(host, begin, (size_t)(end - begin));
	host[end - begin] = '\0';
	*port = (uint16_t)number;
	return 0;
}

bool address_join(const char *host, uint16_t port, char *text, size_t text_bytes)
{
	int n = snprintf(text, text_bytes, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);

	return n > 0 && (size_t)n < text_bytes;
}

int uaddr_port(const char *uaddr, uint16_t *port)
{
	const char *low = strrchr(uaddr, '.'), *high = low;
	uint32_t p1, p2, ndots = 0;

	for (const char *c = uaddr; *c != '\0'; c++)
		ndots += *c == '.';
	/* An IPv4 address has three of its own. */
	if (!low || (!strchr(uaddr, ':') && ndots != 5))
		return -EINVAL;
	while (high > uaddr && high[-1] != '.')
		high--;
	/* There is an address in front of the two octets. */
	if (high <= uaddr + 1 || parse_number(high, (size_t)(low - high), 255, &p1) != 0 ||
	    parse_number(low + 1, strlen(low + 1), 255, &p2) != 0 || (p1 == 0 && p2 == 0))
		return -EINVAL;
	*port = (uint16_t)(p1 << 8 | p2);
	return 0;
}
