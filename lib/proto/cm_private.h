/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CM_PRIVATE_H
#define CM_PRIVATE_H

/* The private data that both sides exchange while they connect (RFC 8797). It has the Send and
 * Receive sizes of a side, which determine the inline thresholds, and says whether the side permits
 * remote invalidation. */

#include <weir/common.h>

#define CM_PRIVATE_SIZE 8u
#define CM_PRIVATE_UNIT 1024u	/* unit of the encoded sizes */
#define CM_PRIVATE_MAX	262144u /* the largest size that can be encoded */

struct cm_private {
	uint32_t send_bytes; /* length of the longest Send of this side */
	uint32_t recv_bytes; /* size of each receive of this side */
	/* The peer is allowed to invalidate remotely each key that this side advertises. */
	bool remote_invalidation;
};

/* Encodes the private data of this side. Sizes are rounded down to a multiple of 1024 and clamped
 * to the range from 1024 to 262144. */
void cm_private_encode(const struct cm_private *mine, uint8_t buf[CM_PRIVATE_SIZE]);

/* Searches 'len' bytes for the private data of a peer, at any offset, and decodes the private data
 * into *theirs. If there is no valid private data, returns false, and sets both sizes in *theirs to
 * 1024 bytes and remote_invalidation to false. */
bool cm_private_decode(const uint8_t *data, uint32_t len, struct cm_private *theirs);

/* Returns the inline threshold of one direction (RFC 8166 section 3.3.2): the smaller one of the
 * sender's Send size and the receiver's Receive size. */
static inline uint32_t cm_private_threshold(uint32_t sender_send_bytes,
					    uint32_t receiver_recv_bytes)
{
	return sender_send_bytes < receiver_recv_bytes ? sender_send_bytes : receiver_recv_bytes;
}

#endif
