/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RING_H
#define RING_H

/*
 * A one-way ring of messages in memory that two processes map, one writer, one reader.
 *
 * It is made of 64-byte cells: 8 bytes of header, 56 of payload. A message takes whole cells, which
 * may wrap. Each cell's header has its number, counted from 1 on through all laps, so that nothing
 * of an earlier lap is ever taken for news; the first cell's has the length, too, and is stored
 * last, with release. So the reader polls one word, the writer touches no line but the message's
 * own, and a message of up to 56 bytes moves one cache line.
 *
 * Room: the reader publishes how far it got once a quarter of the ring; the writer looks only when
 * its last look no longer suffices. All other state is private. Each side takes what the other can
 * write once, and bounds it: a value that can't be ends the connection.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "compiler.h"
#include "copy_small.h"
#include "fabric.h"
#include "shm_wire.h"

#define RING_SMALL_CELLS 3u /* cells that a message mostly takes at most, and bytes of it then */
#define RING_SMALL_MAX	 (RING_SMALL_CELLS * RING_DATA)

struct ring_cells {
	uint8_t *base;
	uint64_t mask; /* their bytes, a power of two, less 1 */
};

struct ring_writer {
	struct ring_cells cells;
	uint8_t *cell;	    /* that is written next; behind the last one, the first */
	uint64_t header;    /* ring_first_header() of that */
	uint8_t *small_end; /* a cell short of there and those behind it, RING_SMALL_CELLS, are free
			       and lie in one piece; never too high */
	uint64_t full_at;   /* bytes that may be written since the first: a size beyond the reader's
			       head, as last seen */
};

struct ring_reader {
	struct ring_cells cells; /* the shared part is in front of them */
	uint64_t head;
	uint64_t publish_at; /* the head that is to be published next */
	uint64_t contig_end; /* short of there, a few cells and the next one lie in one piece, and
				none of them is to be published behind; or an earlier one */
	uint32_t max_msg;    /* longest message that can be; at most ring_msg_max() */
};

static inline uint8_t *ring_cell_at(const struct ring_cells *cells, uint64_t at)
{
	return cells->base + (at & cells->mask);
}

static inline uint64_t ring_size(const struct ring_cells *cells)
{
	return cells->mask + 1;
}

static inline struct ring_shared *ring_shared_of(const struct ring_cells *cells)
{
	return (struct ring_shared *)(void *)cells->base - 1;
}

/* Bytes that a ring of 'size' takes in memory. */
static inline size_t ring_footprint(uint32_t size)
{
	return sizeof(struct ring_shared) + size;
}

/* Bytes of the cells that a message takes. */
static inline uint32_t ring_cells_bytes(uint32_t len)
{
	return len <= RING_DATA ? RING_CELL : (len + RING_DATA - 1) / RING_DATA * RING_CELL;
}

/* The longest message that a ring of 'size' can always take, with a key, however late the reader
 * says how far it got. More would never fit, or be read past the ring's end. */
static inline uint32_t ring_msg_max(uint32_t size)
{
	return (size / 2 / RING_CELL - 1) * RING_DATA;
}

void ring_writer_init(struct ring_writer *ring, void *memory, uint32_t size);
void ring_reader_init(struct ring_reader *ring, void *memory, uint32_t size, uint32_t max_msg);
/* Both sides begin in another lap than the first. */
void ring_writer_start(struct ring_writer *ring, uint32_t laps);
void ring_reader_start(struct ring_reader *ring, uint32_t laps);
/* Take the next message by whole cells, wherever it lies, and find the next 'contig_end'. The
 * second is for messages with a tag. */
void ring_take_wrap(struct ring_reader *ring, uint8_t *dst, uint32_t len);
void ring_take_tagged_wrap(struct ring_reader *ring, uint8_t *dst, uint32_t len);

/* 1: written; 0: no room now; -1: the reader's mark makes no sense. */
int ring_put(struct ring_writer *ring, const struct fabric_sge *sges, uint32_t nsges, uint32_t len,
	     uint32_t inv_rkey);

#define RING_NUMBER_SHIFT (RING_WORD_BITS - 6) /* from bytes to where numbers are in a header */
#define RING_NUMBER_STEP                                                                           \
	((uint64_t)RING_CELL << RING_NUMBER_SHIFT) /* from a cell's number to the next one's */

_Static_assert(RING_VALID == 1u << (RING_WORD_BITS - 1) && RING_CELL == 64,
	       "ring_number() counts cells");

/* The number of the cell at 'at', as its header has it. It comes again after 2^45 cells, when what
 * had it was written over by each lap since. */
static inline uint64_t ring_number(uint64_t at)
{
	return (at + RING_CELL) << RING_NUMBER_SHIFT;
}

/* The header of the cell at 'at' where a message begins with it, but for the message's length. */
static inline uint64_t ring_first_header(uint64_t at)
{
	return ring_number(at) | RING_VALID;
}

/* How far the reader got, as last seen. */
static inline uint64_t ring_writer_head(const struct ring_writer *ring)
{
	return ring->full_at - ring_size(&ring->cells);
}

/* Bytes written since the first. */
static inline uint64_t ring_tail(const struct ring_writer *ring)
{
	uint64_t head = ring_writer_head(ring);

	return head + ((ring->header - ring_first_header(head)) >> RING_NUMBER_SHIFT);
}

/* Whether there is room for a few cells, and they lie in one piece. False where it is not known,
 * either: ring_put_one() and ring_put_tagged() see to it. */
static inline bool ring_has_small_room(const struct ring_writer *ring)
{
	return ring->cell < ring->small_end;
}

/* As ring_put() for a message in one piece that invalidates nothing. */
int ring_put_one(struct ring_writer *ring, const uint8_t *data, uint32_t len);
/* The same with a tag in front, which the reader finds by ring_tag(), and which counts for the ring
 * as a part of the message. */
int ring_put_tagged(struct ring_writer *ring, uint64_t tag, const uint8_t *data, uint32_t len);
static inline _Atomic uint64_t *ring_header_at(const struct ring_cells *cells, uint64_t at)
{
	return (_Atomic uint64_t *)(void *)ring_cell_at(cells, at);
}

/* Whether the cell with that number has come. */
static inline bool ring_cell_ready(uint64_t header, uint64_t number)
{
	return (header ^ number) >> RING_WORD_BITS == 0;
}

static inline uint64_t ring_header(const uint8_t *cell)
{
	return atomic_load_explicit((const _Atomic uint64_t *)(const void *)cell,
				    memory_order_acquire);
}

/* The header of what is next, with its number taken off: when that has come, its word is left. */
static inline uint64_t ring_next(const struct ring_reader *ring)
{
	return ring_header(ring_cell_at(&ring->cells, ring->head)) ^ ring_number(ring->head);
}

/* The word of that, 0 when there is none. */
static inline uint32_t ring_word(uint64_t next)
{
	return next >> RING_WORD_BITS == 0 ? (uint32_t)next : 0;
}

/* The header word of the next message, 0 when there is none. */
static inline uint32_t ring_look(const struct ring_reader *ring)
{
	return ring_word(ring_next(ring));
}

/* The rest of a short message was written before its header: fetch it along with that, not after.
 * Before the first look of a poll only: behind a message that is there others may just be written,
 * and what was fetched of them would be fetched again. */
static inline void ring_fetch(const struct ring_reader *ring)
{
	__builtin_prefetch(ring_cell_at(&ring->cells, ring->head + RING_CELL));
	__builtin_prefetch(ring_cell_at(&ring->cells, ring->head + 2 * RING_CELL));
}

static inline uint32_t ring_peek(const struct ring_reader *ring)
{
	ring_fetch(ring);
	return ring_look(ring);
}

/* Length of the message that 'word' heads, or -1 when there can be no such message. */
static inline int64_t ring_msg_len(const struct ring_reader *ring, uint32_t word)
{
	uint32_t len = word & RING_LEN_MASK;

	return (word & ~(RING_LEN_MASK | RING_INV)) == RING_VALID && len <= ring->max_msg
		       ? (int64_t)len
		       : -1;
}

/* Whether a message of 'len' bytes may be taken by whole cells to where there is room for 'size':
 * what is behind it in its last one is the writer's own affair. */
static inline bool ring_takes_whole(uint32_t size, uint32_t len)
{
	return (uint64_t)len + RING_DATA <= size;
}

/* All before 'at' is done with. */
static inline void ring_advance(struct ring_reader *ring, uint64_t at)
{
	ring->head = at;
	if (unlikely(at >= ring->publish_at)) {
		ring->publish_at = at + ring_size(&ring->cells) / 4;
		atomic_store_explicit(&ring_shared_of(&ring->cells)->head, at,
				      memory_order_release);
	}
}

/* Where another copy of it has got to. */
static inline void ring_reader_set(struct ring_reader *ring, const struct ring_reader *from)
{
	ring->head = from->head;
	ring->publish_at = from->publish_at;
}

/* The key that a message with RING_INV invalidates; its payload begins one cell later. */
static inline uint32_t ring_key(const struct ring_reader *ring)
{
	uint32_t key;

	memcpy(&key, ring_cell_at(&ring->cells, ring->head) + RING_HEADER, sizeof(key));
	return key;
}

/* The tag of a message that has one, in its first cell of payload. */
static inline uint64_t ring_tag_in(const uint8_t *cell)
{
	return atomic_load_explicit((const _Atomic uint64_t *)(const void *)(cell + RING_HEADER),
				    memory_order_relaxed);
}

static inline uint64_t ring_tag(const struct ring_reader *ring, uint64_t at)
{
	return ring_tag_in(ring_cell_at(&ring->cells, at));
}

/* Be done with the message that 'word' heads, of a length that can be, without taking it. */
static inline void ring_drop(struct ring_reader *ring, uint32_t word)
{
	ring_advance(ring, ring->head + ring_cells_bytes(word & RING_LEN_MASK) +
				   (word & RING_INV ? RING_CELL : 0));
}

/* Copy the message of 'len' bytes that ring_peek() found with 'word' to 'dst', of 'size' bytes, and
 * be done with it. The bytes of 'dst' after the message are undefined then. Returns the key that
 * the message invalidates, or 0. The second is for messages with a tag, which 'len' does not count.
 */
uint32_t ring_take(struct ring_reader *ring, uint32_t word, void *dst, uint32_t size, uint32_t len);
uint32_t ring_take_tagged(struct ring_reader *ring, uint32_t word, void *dst, uint32_t size,
			  uint32_t len);

#endif
