/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for the private data of a new connection (RFC 8797). The first 8 bytes of the input
 * are two sizes to encode. The rest is the private data that a peer sent.
 *
 * The target checks that:
 * - the decoder finds the message that a simple search finds
 * - the offset of the message in the private data does not matter
 * - the decoded message is encoded to the same bytes
 * - without a message, the values are the defaults of version 1
 */
#include "cm_private.h"
#include "fuzz.h"

#define AROUND 24u

static const uint8_t identifier[4] = {0xf6, 0xab, 0x0e, 0x18};

static bool is_same(const struct cm_private *a, const struct cm_private *b)
{
	return a->send_bytes == b->send_bytes && a->recv_bytes == b->recv_bytes &&
	       a->remote_invalidation == b->remote_invalidation;
}

static bool is_size(uint32_t bytes)
{
	return bytes >= CM_PRIVATE_UNIT && bytes <= CM_PRIVATE_MAX && bytes % CM_PRIVATE_UNIT == 0;
}

/*
 * A second implementation of RFC 8797 section 4: uses the first identifier after which there is
 * space for the rest of the message.
 */
static bool expected(const uint8_t *data, size_t len, struct cm_private *theirs)
{
	const uint8_t *at = len >= CM_PRIVATE_SIZE ? memmem(data, len - 4, identifier, 4) : NULL;

	*theirs = (struct cm_private){1024, 1024, false};
	if (!at || at[4] != 1)
		return false;
	*theirs =
		(struct cm_private){1024u + 1024u * at[6], 1024u + 1024u * at[7], (at[5] & 1) != 0};
	return true;
}

static void check_decode(const uint8_t *data, size_t len)
{
	struct cm_private theirs, other;
	uint8_t encoded[CM_PRIVATE_SIZE];
	bool is_found = cm_private_decode(data, (uint32_t)len, &theirs);
	uint8_t *moved;

	REQUIRE(is_found == expected(data, len, &other));
	REQUIRE(is_same(&theirs, &other));
	REQUIRE(is_size(theirs.send_bytes) && is_size(theirs.recv_bytes));

	cm_private_encode(&theirs, encoded);
	REQUIRE(cm_private_decode(encoded, sizeof(encoded), &other));
	REQUIRE(is_same(&theirs, &other));

	/*
	 * Other data can precede the message, because its identifier locates it (RFC 8797 section
	 * 4).
	 */
	moved = fuzz_copy(NULL, len + AROUND);
	memset(moved, 0, AROUND);
	if (len > 0)
		memcpy(moved + AROUND, data, len);
	REQUIRE(cm_private_decode(moved, (uint32_t)len + AROUND, &other) == is_found);
	REQUIRE(is_same(&theirs, &other));
	free(moved);
}

static void check_size(uint32_t asked, uint32_t said)
{
	uint32_t clamped = asked < CM_PRIVATE_UNIT ? CM_PRIVATE_UNIT : asked;

	if (clamped > CM_PRIVATE_MAX)
		clamped = CM_PRIVATE_MAX;
	REQUIRE(is_size(said) && said <= clamped && clamped - said < CM_PRIVATE_UNIT);
}

static void check_encode(const struct cm_private *mine)
{
	uint8_t *encoded = fuzz_copy(NULL, CM_PRIVATE_SIZE);
	struct cm_private theirs;
	uint32_t threshold;

	cm_private_encode(mine, encoded);
	REQUIRE(cm_private_decode(encoded, CM_PRIVATE_SIZE, &theirs));
	check_size(mine->send_bytes, theirs.send_bytes);
	check_size(mine->recv_bytes, theirs.recv_bytes);
	REQUIRE(theirs.remote_invalidation == mine->remote_invalidation);
	for (uint32_t len = 0; len < CM_PRIVATE_SIZE; len++)
		REQUIRE(!cm_private_decode(encoded, len, &theirs));
	free(encoded);

	threshold = cm_private_threshold(mine->send_bytes, mine->recv_bytes);
	REQUIRE(threshold <= mine->send_bytes && threshold <= mine->recv_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = {data, size};
	struct cm_private mine;
	uint8_t *exact;

	if (size > 4096)
		return 0;
	mine.send_bytes = fuzz_u32(&in);
	mine.recv_bytes = fuzz_u32(&in);
	mine.remote_invalidation = (mine.send_bytes & 1) != 0;
	check_encode(&mine);
	exact = fuzz_copy(in.p, in.left);
	check_decode(exact, in.left);
	free(exact);
	return 0;
}
