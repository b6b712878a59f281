/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CM_PRIVATE_H
#define CM_PRIVATE_H

/* What both sides tell each other while they connect (RFC 8797): Send and Receive sizes, from which
 * the inline thresholds follow, and whether remote invalidation is welcome. */

#include <weir/common.h>

#define CM_PRIVATE_SIZE 8u
#define CM_PRIVATE_UNIT 1024u	/* sizes travel in these steps */
#define CM_PRIVATE_MAX	262144u /* the largest size that can be said */

struct cm_private {
	uint32_t send_bytes;	  /* the most that this side puts into one Send */
	uint32_t recv_bytes;	  /* the most that one Receive of this side takes */
	bool remote_invalidation; /* each key that this side advertises may be invalidated remotely
				   */
};

/* Sizes are rounded down to a multiple of 1024 and clamped to 1024..262144. */
void cm_private_encode(const struct cm_private *mine, uint8_t buf[CM_PRIVATE_SIZE]);

/* Search 'len' bytes for the message, at any offset. Without a valid one: 1024 bytes both ways and
 * no remote invalidation, and false. */
bool cm_private_decode(const uint8_t *data, uint32_t len, struct cm_private *theirs);

/* The inline threshold of one direction (RFC 8166 section 3.3.2). */
static inline uint32_t cm_private_threshold(uint32_t sender_send_bytes,
					    uint32_t receiver_recv_bytes)
{
	return sender_send_bytes < receiver_recv_bytes ? sender_send_bytes : receiver_recv_bytes;
}

#endif
