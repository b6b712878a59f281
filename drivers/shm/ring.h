/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RING_H
#define RING_H

/*
 * A one-way ring of messages in memory that two processes map. It has one writer and one reader.
 *
 * The ring is made of 64-byte cells, which have 8 bytes of header and 56 bytes of payload. A
 * message takes whole cells, which can wrap around the end of the ring. Each header has the number
 * of its cell. Cells are numbered from 1 through all laps, so that the reader never takes a cell of
 * an earlier lap for a new one. The header of a message's first cell also has the message's length.
 * The writer stores this header last, with release. Therefore the reader polls one word, the writer
 * accesses only the cache lines of the message, and a message of up to 56 bytes moves one cache
 * line.
 *
 * The reader publishes its position once per quarter of the ring. The writer reads this position
 * only when the free cells that it knows of are too few. All other state is private to its side. If
 * the other side can write a value, a side reads the value only once and checks its bounds. An
 * impossible value ends the connection.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "compiler.h"
#include "copy_small.h"
#include "fabric.h"
#include "shm_wire.h"

#define RING_SMALL_CELLS 3u /* most messages take at most this number of cells */
#define RING_SMALL_MAX	 (RING_SMALL_CELLS * RING_DATA) /* bytes of payload in these cells */

struct ring_cells {
	uint8_t *base;
	uint64_t mask; /* size of all cells in bytes, which is a power of two, minus 1 */
};

struct ring_writer {
	struct ring_cells cells;
	/* The cell that is written next. If ring_write_small() has written the last cell of a lap,
	 * this pointer is after all cells, and the next message begins in the first cell. */
	uint8_t *cell;
	uint64_t header; /* ring_first_header() of the position that is written next */
	/* If 'cell' is below this pointer, RING_SMALL_CELLS cells from 'cell' on are free and
	 * contiguous. The pointer can be too low, but is never too high. */
	uint8_t *small_end;
	/* Position up to which the writer is allowed to write: the reader's latest known head plus
	 * the size of the ring. */
	uint64_t full_at;
};

struct ring_reader {
	struct ring_cells cells; /* struct ring_shared is directly before the cells */
	uint64_t head;		 /* position of the next cell to take, in bytes through all laps */
	uint64_t publish_at;	 /* the reader publishes its head when it reaches this position */
	/* If the head is below this position, the RING_SMALL_CELLS cells from the head on and the
	 * next cell are contiguous, and no publication is due after any of these cells. The value
	 * can be too low. */
	uint64_t contig_end;
	uint32_t max_msg; /* bytes of the longest allowed message; at most ring_msg_max() */
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

/* Returns the bytes that a ring of 'size' bytes of cells takes in memory. */
static inline size_t ring_footprint(uint32_t size)
{
	return sizeof(struct ring_shared) + size;
}

/* Returns the bytes of the cells that a message of 'len' bytes takes. */
static inline uint32_t ring_cells_bytes(uint32_t len)
{
	return len <= RING_DATA ? RING_CELL : (len + RING_DATA - 1) / RING_DATA * RING_CELL;
}

/* Returns the length of the longest message that a ring of 'size' bytes of cells can always take,
 * with one more cell for an rkey to invalidate, however late the reader publishes its position. A
 * longer message might never fit, or might be read past the end of the ring. */
static inline uint32_t ring_msg_max(uint32_t size)
{
	return (size / 2 / RING_CELL - 1) * RING_DATA;
}

void ring_writer_init(struct ring_writer *ring, void *memory, uint32_t size);
void ring_reader_init(struct ring_reader *ring, void *memory, uint32_t size, uint32_t max_msg);
/* Set the position of a writer or a reader to the beginning of lap 'laps', counted from 0. Both
 * sides of a ring must begin with the same lap. */
void ring_writer_start(struct ring_writer *ring, uint32_t laps);
void ring_reader_start(struct ring_reader *ring, uint32_t laps);
/* Copy the next message, of 'len' bytes and at any position, to 'dst' by whole cells
 * (ring_takes_whole()). Then they advance the reader and compute 'contig_end'. The second function
 * is for messages with a tag, which 'len' does not count. */
void ring_take_wrap(struct ring_reader *ring, uint8_t *dst, uint32_t len);
void ring_take_tagged_wrap(struct ring_reader *ring, uint8_t *dst, uint32_t len);

/* Writes a message of 'len' bytes, which is the sum of the lengths of 'sges'. The message
 * invalidates the key 'inv_rkey', unless it is 0. Returns 1 if the message was written, 0 if there
 * is no room yet, or -1 if the reader's published head is impossible. */
int ring_put(struct ring_writer *ring, const struct fabric_sge *sges, uint32_t nsges, uint32_t len,
	     uint32_t inv_rkey);

#define RING_NUMBER_SHIFT (RING_WORD_BITS - 6) /* shift from bytes to a number in a header */
#define RING_NUMBER_STEP                                                                           \
	((uint64_t)RING_CELL << RING_NUMBER_SHIFT) /* from one cell's number to the next */

_Static_assert(RING_VALID == 1u << (RING_WORD_BITS - 1) && RING_CELL == 64,
	       "ring_number() counts cells");

/* Returns the number of the cell at position 'at', shifted to its place in a header. The number
 * repeats after 2^45 cells. Long before that, the cell that had this number is overwritten. */
static inline uint64_t ring_number(uint64_t at)
{
	return (at + RING_CELL) << RING_NUMBER_SHIFT;
}

/* Returns the header of the cell at position 'at' if a message begins there, but without the
 * message's length. */
static inline uint64_t ring_first_header(uint64_t at)
{
	return ring_number(at) | RING_VALID;
}

/* Returns the latest known position of the reader. */
static inline uint64_t ring_writer_head(const struct ring_writer *ring)
{
	return ring->full_at - ring_size(&ring->cells);
}

/* Returns the position where the next message begins, in bytes through all laps. */
static inline uint64_t ring_tail(const struct ring_writer *ring)
{
	uint64_t head = ring_writer_head(ring);

	return head + ((ring->header - ring_first_header(head)) >> RING_NUMBER_SHIFT);
}

/* Returns whether the next RING_SMALL_CELLS cells are known to be free and contiguous. If it
 * returns false, ring_put_one() and ring_put_tagged() find out whether they are. */
static inline bool ring_has_small_room(const struct ring_writer *ring)
{
	return ring->cell < ring->small_end;
}

/* Works like ring_put() for one contiguous message that invalidates no key. */
int ring_put_one(struct ring_writer *ring, const uint8_t *data, uint32_t len);
/* Works like ring_put_one(), but writes a tag before the message. The reader gets the tag by
 * ring_tag(). The length in the message's header includes RING_TAG bytes of the tag. */
int ring_put_tagged(struct ring_writer *ring, uint64_t tag, const uint8_t *data, uint32_t len);
static inline _Atomic uint64_t *ring_header_at(const struct ring_cells *cells, uint64_t at)
{
	return (_Atomic uint64_t *)(void *)ring_cell_at(cells, at);
}

/* Returns whether the cell with this number has been written, where 'header' was read from its
 * place and 'number' is from ring_number(). */
static inline bool ring_cell_ready(uint64_t header, uint64_t number)
{
	return (header ^ number) >> RING_WORD_BITS == 0;
}

static inline uint64_t ring_header(const uint8_t *cell)
{
	return atomic_load_explicit((const _Atomic uint64_t *)(const void *)cell,
				    memory_order_acquire);
}

/* Returns the header at the reader's head XOR the expected number. If the cell has arrived, the
 * result is the word of its header. */
static inline uint64_t ring_next(const struct ring_reader *ring)
{
	return ring_header(ring_cell_at(&ring->cells, ring->head)) ^ ring_number(ring->head);
}

/* Returns the word in a result of ring_next(), or 0 if no message has arrived. */
static inline uint32_t ring_word(uint64_t next)
{
	return next >> RING_WORD_BITS == 0 ? (uint32_t)next : 0;
}

/* Returns the header word of the next message, or 0 if no message has arrived. */
static inline uint32_t ring_look(const struct ring_reader *ring)
{
	return ring_word(ring_next(ring));
}

/* Prefetches the second and the third cell of a short message. The writer wrote them before the
 * header, so they are fetched together with the header. The function is called only before the
 * first look of a poll. After a message that has arrived, the writer might be writing further
 * messages, and a cache line that is fetched during a write must be fetched again. */
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

/* Returns the length of a message, with its tag if it has one, by the word 'word' of its header.
 * Returns -1 if no message can have this word. */
static inline int64_t ring_msg_len(const struct ring_reader *ring, uint32_t word)
{
	uint32_t len = word & RING_LEN_MASK;

	return (word & ~(RING_LEN_MASK | RING_INV)) == RING_VALID && len <= ring->max_msg
		       ? (int64_t)len
		       : -1;
}

/* Returns whether 'size' bytes of memory have room for a message of 'len' bytes that is copied by
 * whole cells. The bytes of the last cell after the message are undefined. */
static inline bool ring_takes_whole(uint32_t size, uint32_t len)
{
	return (uint64_t)len + RING_DATA <= size;
}

/* Sets the reader's head to position 'at', and publishes it if that is due. */
static inline void ring_advance(struct ring_reader *ring, uint64_t at)
{
	ring->head = at;
	if (unlikely(at >= ring->publish_at)) {
		ring->publish_at = at + ring_size(&ring->cells) / 4;
		atomic_store_explicit(&ring_shared_of(&ring->cells)->head, at,
				      memory_order_release);
	}
}

/* Sets the reader's position to that of 'from', a copy of the same reader. */
static inline void ring_reader_set(struct ring_reader *ring, const struct ring_reader *from)
{
	ring->head = from->head;
	ring->publish_at = from->publish_at;
}

/* Returns the key that the next message, which has RING_INV, invalidates. The payload of this
 * message begins in its second cell. */
static inline uint32_t ring_key(const struct ring_reader *ring)
{
	uint32_t key;

	memcpy(&key, ring_cell_at(&ring->cells, ring->head) + RING_HEADER, sizeof(key));
	return key;
}

/* Returns the tag of a message that has a tag. 'cell' is the first cell of the message's payload.
 */
static inline uint64_t ring_tag_in(const uint8_t *cell)
{
	return atomic_load_explicit((const _Atomic uint64_t *)(const void *)(cell + RING_HEADER),
				    memory_order_relaxed);
}

static inline uint64_t ring_tag(const struct ring_reader *ring, uint64_t at)
{
	return ring_tag_in(ring_cell_at(&ring->cells, at));
}

/* Skips the next message without copying it. 'word' is the word of its header, whose length was
 * checked by ring_msg_len(). */
static inline void ring_drop(struct ring_reader *ring, uint32_t word)
{
	ring_advance(ring, ring->head + ring_cells_bytes(word & RING_LEN_MASK) +
				   (word & RING_INV ? RING_CELL : 0));
}

/* Copy the next message, of 'len' bytes and with the header word 'word', to 'dst', which has room
 * for 'size' bytes, and advance the reader. After that, the bytes of 'dst' after the message are
 * undefined. Return the key that the message invalidates, or 0. The second function is for messages
 * with a tag, which 'len' does not count. */
uint32_t ring_take(struct ring_reader *ring, uint32_t word, void *dst, uint32_t size, uint32_t len);
uint32_t ring_take_tagged(struct ring_reader *ring, uint32_t word, void *dst, uint32_t size,
			  uint32_t len);

#endif
