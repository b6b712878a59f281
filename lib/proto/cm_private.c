/* SPDX-License-Identifier: BSD-3-Clause */
/* Encodes and decodes the private data of connection requests (RFC 8797). */
#include "cm_private.h"

#include <string.h>

/* The first four bytes of the private data. One byte each follows for the version, the flags, the
 * Send size and the Receive size (RFC 8797 section 4). */
static const uint8_t identifier[4] = {0xf6, 0xab, 0x0e, 0x18};

#define VERSION	 1u
#define FLAG_INV 0x01u

static uint8_t size_code(uint32_t bytes)
{
	if (bytes > CM_PRIVATE_MAX)
		bytes = CM_PRIVATE_MAX;
	if (bytes < CM_PRIVATE_UNIT)
		bytes = CM_PRIVATE_UNIT;
	return (uint8_t)(bytes / CM_PRIVATE_UNIT - 1);
}

void cm_private_encode(const struct cm_private *mine, uint8_t buf[CM_PRIVATE_SIZE])
{
	memcpy(buf, identifier, sizeof(identifier));
	buf[4] = VERSION;
	buf[5] = mine->remote_invalidation ? FLAG_INV : 0;
	buf[6] = size_code(mine->send_bytes);
	buf[7] = size_code(mine->recv_bytes);
}

bool cm_private_decode(const uint8_t *data, uint32_t len, struct cm_private *theirs)
{
	*theirs = (struct cm_private){CM_PRIVATE_UNIT, CM_PRIVATE_UNIT, false};
	for (uint32_t at = 0; len >= CM_PRIVATE_SIZE && at <= len - CM_PRIVATE_SIZE; at++) {
		if (memcmp(data + at, identifier, sizeof(identifier)) != 0)
			continue;
		if (data[at + 4] != VERSION)
			return false;
		theirs->remote_invalidation = data[at + 5] & FLAG_INV;
		theirs->send_bytes = (data[at + 6] + 1u) * CM_PRIVATE_UNIT;
		theirs->recv_bytes = (data[at + 7] + 1u) * CM_PRIVATE_UNIT;
		return true;
	}
	return false;
}
