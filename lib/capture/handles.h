/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HANDLES_H
#define HANDLES_H

/*
 * The handles of chunks in a capture. Wireshark finds the chunk to which the data of an RDMA Read
 * or Write belong by the handle (RFC 8166 section 3.4), and takes a handle that it knows for the
 * same chunk. With the exposure policy 'pool', all chunks of a connection have the handle of their
 * region. Therefore each segment of each call gets a handle of its own in the file: in the
 * transport header of the call, in that of the reply, and in the RDMA operations. Offsets are those
 * of the connection.
 *
 * A set of handles belongs to one connection. It knows the segments that were added last, up to
 * HANDLES_MAX.
 */

#include <stdbool.h>
#include <stdint.h>

#define HANDLES_MAX 512u

struct handles {
	uint32_t n;	/* segments that were added; segment i is at i % HANDLES_MAX */
	uint32_t *last; /* the handle that was given last; all connections share it */
	struct {
		uint32_t rkey, len;
		uint64_t raddr;
		uint32_t handle;
	} segments[HANDLES_MAX];
};

/* Returns the handle of an operation on the memory at 'raddr'. If no segment contains it, returns
 * 'rkey'. */
uint32_t handles_find(const struct handles *handles, uint32_t rkey, uint64_t raddr);

/* Replaces the handles in the transport header of a message with version 1. 'is_new' says that the
 * sender offers the segments, so that they get new handles. Otherwise, handles_find() finds them,
 * and only unknown ones are new. 'len' bytes of the message are known. A header that is malformed,
 * or that is longer, is changed as far as it is understood. */
void handles_replace(struct handles *handles, uint8_t *message, uint32_t len, bool is_new);

/* Returns whether the first 'len' bytes of a message are a transport header of version 1 with
 * chunks. */
bool handles_has_chunks(const uint8_t *message, uint32_t len);

#endif
