/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes messages to a ring, and takes messages from it, at any position and of any length.
 * ring_cells.h has the faster functions for a few contiguous cells. */
#include "ring.h"

#include "compiler.h"
#include "ring_cells.h"

void ring_writer_init(struct ring_writer *ring, void *memory, uint32_t size)
{
	*ring = (struct ring_writer){
		.cells = {(uint8_t *)memory + sizeof(struct ring_shared), size - 1},
	};
	ring_writer_start(ring, 0);
}

void ring_reader_init(struct ring_reader *ring, void *memory, uint32_t size, uint32_t max_msg)
{
	*ring = (struct ring_reader){
		.cells = {(uint8_t *)memory + sizeof(struct ring_shared), size - 1},
		.publish_at = size / 4,
		.max_msg = max_msg,
	};
}

/* Returns the position that is RING_SMALL_CELLS cells before the end of the lap or before the next
 * publication, whichever comes first. If the head is below this position, a message of
 * RING_SMALL_CELLS cells and the cell after it are in the same lap, and no publication is due after
 * the message. */
static uint64_t contig_end(const struct ring_reader *ring)
{
	uint64_t lap_end = (ring->head | ring->cells.mask) + 1;

	return (ring->publish_at < lap_end ? ring->publish_at : lap_end) -
	       RING_SMALL_CELLS * RING_CELL;
}

void ring_take_wrap(struct ring_reader *ring, uint8_t *dst, uint32_t len)
{
	ring_advance(ring, ring_copy_out(ring, 0, dst, len));
	ring->contig_end = contig_end(ring);
}

void ring_take_tagged_wrap(struct ring_reader *ring, uint8_t *dst, uint32_t len)
{
	ring_advance(ring, ring_copy_out(ring, RING_TAG, dst, len));
	ring->contig_end = contig_end(ring);
}

/* Sets 'cell', 'header' and 'small_end' of a writer for the position 'tail', and for the current
 * 'full_at'. */
static inline void ring_refresh(struct ring_writer *ring, uint64_t tail)
{
	uint64_t lap_end = (tail | ring->cells.mask) + 1;
	uint64_t end = ring->full_at < lap_end ? ring->full_at : lap_end;

	ring->cell = ring_cell_at(&ring->cells, tail);
	ring->header = ring_first_header(tail);
	/* If fewer than RING_SMALL_CELLS cells are free, small_end is not after 'cell'. It can even
	 * be before the first cell, in struct ring_shared. */
	ring->small_end = ring->cell + (ptrdiff_t)(end - tail) - (RING_SMALL_CELLS - 1) * RING_CELL;
}

void ring_writer_start(struct ring_writer *ring, uint32_t laps)
{
	uint64_t tail = laps * ring_size(&ring->cells);

	ring->full_at = tail + ring_size(&ring->cells);
	ring_refresh(ring, tail);
}

void ring_reader_start(struct ring_reader *ring, uint32_t laps)
{
	ring->head = laps * ring_size(&ring->cells);
	ring->publish_at = ring->head + ring_size(&ring->cells) / 4;
	ring->contig_end = 0;
	atomic_store_explicit(&ring_shared_of(&ring->cells)->head, ring->head,
			      memory_order_release);
}

static out_of_line int has_room_now(struct ring_writer *ring, uint64_t tail, uint32_t need)
{
	uint64_t head =
		atomic_load_explicit(&ring_shared_of(&ring->cells)->head, memory_order_acquire);

	if (head < ring_writer_head(ring) || head > tail || head % RING_CELL != 0)
		return -1;
	ring->full_at = head + ring_size(&ring->cells);
	ring_refresh(ring, tail);
	return ring->full_at - tail >= need;
}

/* Checks whether there is room for a message that begins at 'tail' and takes 'need' bytes of cells.
 * Returns 1 if there is room, 0 if there is none yet, or -1 if the reader's published head is
 * impossible. */
static inline int has_room(struct ring_writer *ring, uint64_t tail, uint32_t need)
{
	if (likely(ring->full_at - tail >= need))
		return 1;
	return has_room_now(ring, tail, need);
}

static inline void put_cell_header(const struct ring_cells *cells, uint64_t at, uint32_t word,
				   memory_order order)
{
	ring_store_header(ring_cell_at(cells, at), ring_number(at) | word, order);
}

/* Writes all cells of a message except the first one, from position 'at' on. 'left' is the number
 * of bytes, at least 1. Returns the position after the message's last cell. */
static inline uint64_t put_rest(const struct ring_cells *cells, uint64_t at, const uint8_t *from,
				uint32_t left)
{
	for (; left > RING_DATA; from += RING_DATA, left -= RING_DATA, at += RING_CELL) {
		memcpy(ring_cell_at(cells, at) + RING_HEADER, from, RING_DATA);
		put_cell_header(cells, at, 0, memory_order_relaxed);
	}
	copy_small(ring_cell_at(cells, at) + RING_HEADER, from, left);
	put_cell_header(cells, at, 0, memory_order_relaxed);
	return at + RING_CELL;
}

/* The number of cells between the end of a message and the prefetched cells, and also the number of
 * prefetched cells. */
#define AHEAD 3u

/* Prefetches AHEAD cells for writing, AHEAD cells after 'end', the end of a message. The cache of
 * the reader's core has the cells that it read a lap ago, and to fetch such a cell for writing
 * takes longer than to write a message. The prefetched cells are after those that the reader
 * prefetches for itself. Once per lap, they are after the end of the ring, and the prefetch has no
 * effect. */
static inline void fetch_ahead(const struct ring_cells *cells, uint64_t end)
{
	const uint8_t *from = ring_cell_at(cells, end + AHEAD * RING_CELL);

	for (uint32_t i = 0; i < AHEAD; i++)
		ring_fetch_for_write(from + i * RING_CELL);
}

/* Writes a message of any length at any position. 'tag' points to the tag before the message, or is
 * NULL. Returns the values of ring_put(). */
static int put_whole(struct ring_writer *ring, const uint64_t *tag, const uint8_t *data,
		     uint32_t len)
{
	const struct ring_cells cells = ring->cells;
	const uint32_t tag_bytes = tag ? RING_TAG : 0, first_bytes = RING_DATA - tag_bytes;
	uint64_t tail = ring_tail(ring), end = tail + RING_CELL;
	int room = has_room(ring, tail, ring_cells_bytes(len + tag_bytes));
	uint8_t *to;

	if (unlikely(room != 1))
		return room;
	/* The first cell is written last, because the reader polls it. Each look of the reader
	 * would take the cache line away from the writer. */
	if (len > first_bytes)
		end = put_rest(&cells, end, data + first_bytes, len - first_bytes);
	to = ring_cell_at(&cells, tail) + RING_HEADER;
	if (tag)
		memcpy(to, tag, RING_TAG);
	copy_small(to + tag_bytes, data, len < first_bytes ? len : first_bytes);
	put_cell_header(&cells, tail, RING_VALID | (len + tag_bytes), memory_order_release);
	ring_refresh(ring, end);
	if (len > first_bytes)
		fetch_ahead(&cells, end);
	return 1;
}

static hot_inline int write_cells(struct ring_writer *ring, bool is_tagged, uint64_t tag,
				  const uint8_t *data, uint32_t len, uint32_t n)
{
	ring_write_small(ring, is_tagged, tag, data, len, n);
	return 1;
}

/* Defines a function that writes a message of 'n' cells. Messages of several cells have functions
 * of their own, so that the functions for messages of one cell need no stack frame. */
#define DEFINE_WRITE(name, is_tagged, n)                                                           \
	static out_of_line int name(struct ring_writer *ring, uint64_t tag, const uint8_t *data,   \
				    uint32_t len)                                                  \
	{                                                                                          \
		return write_cells(ring, is_tagged, tag, data, len, n);                            \
	}

DEFINE_WRITE(write_two, false, 2)
DEFINE_WRITE(write_three, false, 3)
DEFINE_WRITE(write_tagged_two, true, 2)
DEFINE_WRITE(write_tagged_three, true, 3)

int ring_put_one(struct ring_writer *ring, const uint8_t *data, uint32_t len)
{
	if (!ring_has_small_room(ring) || len > RING_SMALL_MAX)
		return put_whole(ring, NULL, data, len);
	if (len <= RING_DATA)
		return write_cells(ring, false, 0, data, len, 1);
	if (len <= 2 * RING_DATA)
		return write_two(ring, 0, data, len);
	return write_three(ring, 0, data, len);
}

int ring_put_tagged(struct ring_writer *ring, uint64_t tag, const uint8_t *data, uint32_t len)
{
	uint32_t bytes = len + RING_TAG;

	if (!ring_has_small_room(ring) || bytes > RING_SMALL_MAX)
		return put_whole(ring, &tag, data, len);
	if (bytes <= RING_DATA)
		return write_cells(ring, true, tag, data, len, 1);
	if (bytes <= 2 * RING_DATA)
		return write_tagged_two(ring, tag, data, len);
	return write_tagged_three(ring, tag, data, len);
}

/* The position where the payload of a message continues: 'used' bytes of payload of the cell at
 * 'at' are written already, and so is this cell's header unless it is the first one. */
struct cursor {
	uint64_t at;
	uint32_t used;
};

static inline void put_piece(const struct ring_cells *cells, struct cursor *cursor,
			     const uint8_t *from, uint32_t left)
{
	while (left > 0) {
		uint32_t n;

		if (cursor->used == RING_DATA) {
			cursor->used = 0;
			cursor->at += RING_CELL;
			put_cell_header(cells, cursor->at, 0, memory_order_relaxed);
		}
		n = left < RING_DATA - cursor->used ? left : RING_DATA - cursor->used;
		/* the compiler makes a few moves of a copy of constant length */
		if (n == RING_DATA)
			memcpy(ring_cell_at(cells, cursor->at) + RING_HEADER, from, RING_DATA);
		else
			copy_small(ring_cell_at(cells, cursor->at) + RING_HEADER + cursor->used,
				   from, n);
		cursor->used += n;
		from += n;
		left -= n;
	}
}

int ring_put(struct ring_writer *ring, const struct fabric_sge *sges, uint32_t nsges, uint32_t len,
	     uint32_t inv_rkey)
{
	const struct ring_cells cells = ring->cells;
	uint32_t need = ring_cells_bytes(len) + (inv_rkey ? RING_CELL : 0);
	uint64_t tail = ring_tail(ring);
	struct cursor cursor = {tail, 0};
	int room = has_room(ring, tail, need);

	if (unlikely(room != 1))
		return room;
	if (inv_rkey) {
		memcpy(ring_cell_at(&cells, cursor.at) + RING_HEADER, &inv_rkey, sizeof(inv_rkey));
		cursor.at += RING_CELL;
		put_cell_header(&cells, cursor.at, 0, memory_order_relaxed);
	}
	for (uint32_t i = 0; i < nsges; i++)
		put_piece(&cells, &cursor, sges[i].addr, sges[i].len);
	put_cell_header(&cells, tail, RING_VALID | (inv_rkey ? RING_INV : 0) | len,
			memory_order_release);
	ring_refresh(ring, tail + need);
	fetch_ahead(&cells, tail + need);
	return 1;
}

/* Works like ring_copy_out(), but writes nothing to 'dst' after the message. */
static out_of_line uint64_t copy_out_exact(const struct ring_reader *ring, uint32_t skip,
					   uint8_t *dst, uint32_t len)
{
	const struct ring_cells cells = ring->cells;
	uint32_t n = RING_DATA - skip;
	uint64_t at = ring->head;

	for (; len > n; at += RING_CELL) {
		copy_small(dst, ring_cell_at(&cells, at) + RING_HEADER + skip, n);
		dst += n;
		len -= n;
		n = RING_DATA;
		skip = 0;
	}
	copy_small(dst, ring_cell_at(&cells, at) + RING_HEADER + skip, len);
	return at + RING_CELL;
}

/* Implements ring_take() and ring_take_tagged(). 'skip', a constant, is the length of the tag. */
static hot_inline uint32_t take_message(struct ring_reader *ring, uint32_t skip, uint32_t word,
					void *dst, uint32_t size, uint32_t len)
{
	uint32_t inv_rkey = 0;

	if (word & RING_INV) {
		inv_rkey = ring_key(ring);
		ring_advance(ring, ring->head + RING_CELL);
	}
	ring_advance(ring, likely(ring_takes_whole(size, len))
				   ? ring_copy_out(ring, skip, dst, len)
				   : copy_out_exact(ring, skip, dst, len));
	return inv_rkey;
}

uint32_t ring_take(struct ring_reader *ring, uint32_t word, void *dst, uint32_t size, uint32_t len)
{
	return take_message(ring, 0, word, dst, size, len);
}

uint32_t ring_take_tagged(struct ring_reader *ring, uint32_t word, void *dst, uint32_t size,
			  uint32_t len)
{
	return take_message(ring, RING_TAG, word, dst, size, len);
}
