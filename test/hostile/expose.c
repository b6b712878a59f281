/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of a case and the memory that it exposes. The memory is filled before a case, and
 * checked after it.
 */
#include "hostile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

void expose(struct hostile *h)
{
	for (uint32_t i = 0; i < EXPOSED_BYTES; i++)
		h->canary[i] = (uint8_t)(i * 5 + (i >> 8) * 3);
	memcpy(h->peer.exposed, h->canary, EXPOSED_BYTES);
}

struct values own_values(const struct hostile *h)
{
	return (struct values){.xid = h->xid,
			       .key = h->peer.mr.rkey,
			       .address = h->peer.mr.raddr,
			       .targets = &h->theirs};
}

uint32_t append_message(struct hostile *h, const struct values *values)
{
	uint32_t len = message_encode(&h->message, values, h->bytes + h->len, h->peer.exposed);

	memcpy(h->canary + EXPOSED_LONG, h->peer.exposed + EXPOSED_LONG,
	       EXPOSED_BYTES - EXPOSED_LONG);
	if (h->len == 0)
		h->first_len = len;
	h->len += len;
	return len;
}

uint32_t make_message(struct hostile *h, const struct values *values)
{
	h->len = 0;
	return append_message(h, values);
}

/*
 * Excludes the memory that a segment names from the check, because the other side is allowed to
 * write to it. The other side can read any three consecutive fields of a message as a segment.
 */
static void forgive(uint8_t *forgiven, const struct hostile *h, const uint8_t *segment)
{
	uint32_t len = wire_get_u32(segment + 4);
	uint64_t at = wire_get_u64(segment + 8) - h->peer.mr.raddr;

	if (wire_get_u32(segment) != h->peer.mr.rkey || at >= EXPOSED_BYTES)
		return;
	memset(forgiven + at, 1, len < EXPOSED_BYTES - at ? len : EXPOSED_BYTES - at);
}

bool exposure_is_kept(const struct hostile *h)
{
	static uint8_t forgiven[EXPOSED_BYTES];

	if (memcmp(h->peer.exposed, h->canary, EXPOSED_BYTES) == 0)
		return true;
	memset(forgiven, 0, sizeof(forgiven));
	for (uint32_t at = 0; at + 16 <= h->len; at += 4)
		forgive(forgiven, h, h->bytes + at);
	for (uint32_t i = 0; i < EXPOSED_BYTES; i++)
		if (!forgiven[i] && h->peer.exposed[i] != h->canary[i])
			return false;
	return true;
}

const char *parse_case(struct hostile *h, const char *text)
{
	const char *error = "", *next = strstr(text, " / ");
	char one[CASE_TEXT_MAX];

	snprintf(one, sizeof(one), "%.*s", next ? (int)(next - text) : (int)strlen(text), text);
	if (strlen(one) < sizeof(one) - 1 &&
	    message_parse(&h->message, one, &h->parse, &error) == 0)
		return next ? next + 3 : NULL;
	fprintf(stderr, "weir-hostile: not understood: '%s', at '%s'\n", text, error);
	exit(3);
}

static uint8_t digit(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

uint32_t private_data(const struct hostile_case *c, uint8_t data[FABRIC_PRIVATE_DATA_MAX])
{
	const char *hex = c && c->private_data ? c->private_data : "f6ab0e1801000303";
	uint32_t n = 0;

	for (; hex[2 * n] && n < FABRIC_PRIVATE_DATA_MAX; n++)
		data[n] = (uint8_t)(digit(hex[2 * n]) << 4 | digit(hex[2 * n + 1]));
	return n;
}
