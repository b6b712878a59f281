/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RING_CELLS_H
#define RING_CELLS_H

/* Functions that copy the payload of messages into cells and out of them. They are templates:
 * constant arguments say how many bytes precede the message and how many cells it takes. Most
 * messages take a few contiguous cells. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "compiler.h"
#include "copy_small.h"
#include "ring.h"

static inline void ring_fetch_for_write(const uint8_t *cell)
{
#ifdef __x86_64__
	/* Unless the compiler knows the processor's model, its own prefetch for writing is a
	 * prefetch for reading. A processor that does not know this instruction skips it. */
	__asm__ volatile("prefetchw %0" : : "m"(*cell));
#else
	__builtin_prefetch(cell, 1);
#endif
}

static inline void ring_store_header(uint8_t *cell, uint64_t header, memory_order order)
{
	atomic_store_explicit((_Atomic uint64_t *)(void *)cell, header, order);
}

/* Prefetches cells for writing after a message of 'n' cells (two or three), which ends at 'end'.
 * These are the cells of a later message, if all messages have this size: of the one after the next
 * with two cells, and of the third one with three cells. The function fetches all cells of that
 * message. To fetch a part of them, or cells where no message begins, costs more than it gains
 * (doc/performance-log.rst). */
static inline void ring_fetch_like(const uint8_t *end, uint32_t n)
{
	const uint8_t *from = end + (n == 2 ? 2 : 6) * RING_CELL;

	for (uint32_t i = 0; i < n; i++)
		ring_fetch_for_write(from + i * RING_CELL);
}

/* Writes a message of 'n' contiguous cells that invalidates no key, with the tag 'tag' if
 * 'is_tagged'. ring_has_small_room() must have returned true. 'is_tagged' and 'n' are constants. */
static hot_inline void ring_write_small(struct ring_writer *ring, bool is_tagged, uint64_t tag,
					const uint8_t *data, uint32_t len, uint32_t n)
{
	const uint32_t tag_bytes = is_tagged ? RING_TAG : 0, first_bytes = RING_DATA - tag_bytes;
	uint8_t *first = ring->cell;
	uint8_t *to = first + RING_HEADER + tag_bytes;
	uint64_t header = ring->header;

	if (is_tagged)
		memcpy(first + RING_HEADER, &tag, RING_TAG);
	if (n == 1) {
		copy_small(to, data, len);
	} else {
		memcpy(to, data, first_bytes);
		for (uint32_t i = 1; i < n - 1; i++)
			memcpy(first + i * RING_CELL + RING_HEADER,
			       data + first_bytes + (i - 1) * RING_DATA, RING_DATA);
		copy_small(first + (n - 1) * RING_CELL + RING_HEADER,
			   data + first_bytes + (n - 2) * RING_DATA,
			   len - first_bytes - (n - 2) * RING_DATA);
	}
	for (uint32_t i = n - 1; i > 0; i--)
		ring_store_header(first + i * RING_CELL, header - RING_VALID + i * RING_NUMBER_STEP,
				  memory_order_relaxed);
	ring_store_header(first, header | (len + tag_bytes), memory_order_release);
	ring->cell += n * RING_CELL;
	ring->header += n * RING_NUMBER_STEP;
	if (n > 1)
		ring_fetch_like(first + n * RING_CELL, n);
}

/* The position of the next message in a ring. */
struct ring_cursor {
	const uint8_t *cell;
	uint64_t at;
	uint64_t header; /* ring_first_header() of this position */
};

static inline struct ring_cursor ring_cursor_of(const struct ring_reader *ring)
{
	return (struct ring_cursor){ring_cell_at(&ring->cells, ring->head), ring->head,
				    ring_first_header(ring->head)};
}

static inline void ring_step(struct ring_cursor *cursor, uint32_t n)
{
	cursor->cell += n * RING_CELL;
	cursor->at += n * RING_CELL;
	cursor->header += n * RING_NUMBER_STEP;
}

/* Copies a message of at most RING_SMALL_CELLS contiguous cells to 'dst' by whole cells, and moves
 * *cursor after the message. 'skipped', a constant, is the length of the tag before the message, or
 * 0. */
static hot_inline void ring_take_small(struct ring_cursor *cursor, uint32_t skipped, uint8_t *dst,
				       uint32_t len)
{
	const uint32_t first = RING_DATA - skipped;

	memcpy(dst, cursor->cell + RING_HEADER + skipped, first);
	if (len <= first) {
		ring_step(cursor, 1);
		return;
	}
	memcpy(dst + first, cursor->cell + RING_CELL + RING_HEADER, RING_DATA);
	if (len <= first + RING_DATA) {
		ring_step(cursor, 2);
		return;
	}
	memcpy(dst + first + RING_DATA, cursor->cell + 2 * RING_CELL + RING_HEADER, RING_DATA);
	ring_step(cursor, 3);
}

/* Copies the message of 'len' bytes whose first cell is at the reader's head to 'dst', with all
 * bytes of its last cell. Returns the position after its last cell. 'skip', a constant, is the
 * length of the tag before the message, or 0. */
static hot_inline uint64_t ring_copy_out(const struct ring_reader *ring, uint32_t skip,
					 uint8_t *dst, uint32_t len)
{
	/* This is a copy of the structure, because the compiler must assume that stores to 'dst'
	 * change the original. */
	const struct ring_cells cells = ring->cells;
	const uint8_t *end = dst + len;
	uint64_t at = ring->head;

	if (likely(len <= RING_SMALL_MAX - skip &&
		   (at & cells.mask) + RING_SMALL_CELLS * RING_CELL <= ring_size(&cells))) {
		struct ring_cursor cursor = {.cell = ring_cell_at(&cells, at), .at = at};

		ring_take_small(&cursor, skip, dst, len);
		return cursor.at;
	}
	memcpy(dst, ring_cell_at(&cells, at) + RING_HEADER + skip, RING_DATA - skip);
	at += RING_CELL;
	for (dst += RING_DATA - skip; dst < end; dst += RING_DATA, at += RING_CELL)
		memcpy(dst, ring_cell_at(&cells, at) + RING_HEADER, RING_DATA);
	return at;
}

#endif
