/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives the segments in a capture their own handles: handles.h describes why. */
#include "handles.h"

#include <stddef.h>

#include "wire.h"

#define VERSION_AT    4u
#define TYPE_AT	      12u
#define LISTS_AT      16u /* of RDMA_MSG and RDMA_NOMSG */
#define RDMA_NOMSG    1u  /* RDMA_MSG is 0; other types have no chunks */
#define LISTS_BYTES   12u /* three empty lists */
#define SEGMENT_BYTES 16u

/* The place in a message up to which it was read. */
struct cursor {
	uint8_t *at;
	uint32_t left;
};

/* Reads a word. Returns false if the message ends before. */
static bool take_u32(struct cursor *cursor, uint32_t *value)
{
	if (cursor->left < 4)
		return false;
	*value = wire_get_u32(cursor->at);
	cursor->at += 4;
	cursor->left -= 4;
	return true;
}

static bool is_header(const uint8_t *message, uint32_t len)
{
	return len >= LISTS_AT && wire_get_u32(message + VERSION_AT) == 1 &&
	       wire_get_u32(message + TYPE_AT) <= RDMA_NOMSG;
}

bool handles_has_chunks(const uint8_t *message, uint32_t len)
{
	return is_header(message, len) && len >= LISTS_AT + LISTS_BYTES &&
	       (wire_get_u64(message + LISTS_AT) | wire_get_u32(message + LISTS_AT + 8)) != 0;
}

/* Returns the index of the newest segment that contains the address, or -1. */
static int find(const struct handles *handles, uint32_t rkey, uint64_t raddr)
{
	uint32_t known = handles->n < HANDLES_MAX ? handles->n : HANDLES_MAX;

	for (uint32_t i = 1; i <= known; i++) {
		uint32_t at = (handles->n - i) % HANDLES_MAX;

		uint64_t offset = raddr - handles->segments[at].raddr;

		if (handles->segments[at].rkey == rkey &&
		    (offset == 0 || offset < handles->segments[at].len))
			return (int)at;
	}
	return -1;
}

uint32_t handles_find(const struct handles *handles, uint32_t rkey, uint64_t raddr)
{
	int at = find(handles, rkey, raddr);

	return at < 0 ? rkey : handles->segments[at].handle;
}

static uint32_t add(struct handles *handles, uint32_t rkey, uint32_t len, uint64_t raddr)
{
	uint32_t at = handles->n++ % HANDLES_MAX;

	handles->segments[at].rkey = rkey;
	handles->segments[at].len = len;
	handles->segments[at].raddr = raddr;
	handles->segments[at].handle = ++*handles->last;
	return handles->segments[at].handle;
}

/* Replaces the handle of a segment. Returns false if the message ends before the segment does. */
static bool replace_segment(struct handles *handles, struct cursor *cursor, bool is_new)
{
	uint8_t *at = cursor->at;
	uint32_t rkey, len;
	uint64_t raddr;
	int known;

	if (cursor->left < SEGMENT_BYTES)
		return false;
	rkey = wire_get_u32(at);
	len = wire_get_u32(at + 4);
	raddr = wire_get_u64(at + 8);
	known = is_new ? -1 : find(handles, rkey, raddr);
	wire_put_u32(at,
		     known >= 0 ? handles->segments[known].handle : add(handles, rkey, len, raddr));
	cursor->at += SEGMENT_BYTES;
	cursor->left -= SEGMENT_BYTES;
	return true;
}

static bool replace_read_list(struct handles *handles, struct cursor *cursor, bool is_new)
{
	uint32_t follows, position;

	while (take_u32(cursor, &follows)) {
		if (follows == 0)
			return true;
		if (!take_u32(cursor, &position) || !replace_segment(handles, cursor, is_new))
			return false;
	}
	return false;
}

/* Replaces the handles of a Write chunk or of the Reply chunk. */
static bool replace_chunk(struct handles *handles, struct cursor *cursor, bool is_new)
{
	uint32_t n;

	if (!take_u32(cursor, &n))
		return false;
	while (n-- > 0)
		if (!replace_segment(handles, cursor, is_new))
			return false;
	return true;
}

static bool replace_write_list(struct handles *handles, struct cursor *cursor, bool is_new)
{
	uint32_t follows;

	while (take_u32(cursor, &follows)) {
		if (follows == 0)
			return true;
		if (!replace_chunk(handles, cursor, is_new))
			return false;
	}
	return false;
}

void handles_replace(struct handles *handles, uint8_t *message, uint32_t len, bool is_new)
{
	struct cursor cursor = {message + LISTS_AT, len - LISTS_AT};
	uint32_t follows;

	if (!is_header(message, len))
		return;
	if (replace_read_list(handles, &cursor, is_new) &&
	    replace_write_list(handles, &cursor, is_new) && take_u32(&cursor, &follows) &&
	    follows != 0)
		(void)replace_chunk(handles, &cursor, is_new);
}
