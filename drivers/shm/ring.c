/* SPDX-License-Identifier: BSD-3-Clause */
#include "ring.h"

void ring_writer_init(struct ring_writer *ring, void *memory, uint32_t size)
{
	*ring = (struct ring_writer){
		.cells = (uint8_t *)memory + sizeof(struct ring_shared), .shared = memory, .size = size};
}

void ring_reader_init(struct ring_reader *ring, void *memory, uint32_t size, uint32_t max_msg)
{
	*ring = (struct ring_reader){.cells = (uint8_t *)memory + sizeof(struct ring_shared),
				     .shared = memory,
				     .size = size,
				     .max_msg = max_msg};
}

/* Whether 'need' bytes and the header behind them fit. */
static int has_room(struct ring_writer *ring, uint32_t need)
{
	uint64_t head;

	need += RING_CELL;
	if (__builtin_expect(ring->size - (ring->tail - ring->head) >= need, 1))
		return 1;
	head = atomic_load_explicit(&ring->shared->head, memory_order_acquire);
	if (head < ring->head || head > ring->tail || head % RING_CELL != 0)
		return -1;
	ring->head = head;
	return ring->size - (ring->tail - head) >= need;
}

static void copy_in(struct ring_writer *ring, uint64_t at, const uint8_t *src, uint32_t len)
{
	uint32_t offset = (uint32_t)at & (ring->size - 1);
	uint32_t first = ring->size - offset;

	if (__builtin_expect(len <= first, 1)) {
		memcpy(ring->cells + offset, src, len);
	} else {
		memcpy(ring->cells + offset, src, first);
		memcpy(ring->cells, src + first, len - first);
	}
}

int ring_put(struct ring_writer *ring, const struct fabric_sge *sges, uint32_t nsges, uint32_t len,
	     uint32_t inv_rkey)
{
	uint32_t need = ring_cells_bytes(len);
	uint64_t at = ring->tail + RING_HEADER;
	int room = has_room(ring, need);

	if (__builtin_expect(room != 1, 0))
		return room;
	atomic_store_explicit(ring_header_at(ring->cells, ring->size, ring->tail + need), 0,
			      memory_order_relaxed);
	if (__builtin_expect(nsges == 1 && len > RING_CELL - RING_HEADER, 1)) {
		/* The first cell last: the reader polls on it, and each of its looks would take the line away. */
		uint32_t first = RING_CELL - RING_HEADER;

		copy_in(ring, at + first, (const uint8_t *)sges[0].addr + first, len - first);
		memcpy(ring->cells + (at & (ring->size - 1)), sges[0].addr, first);
	} else {
		for (uint32_t i = 0; i < nsges; i++) {
			copy_in(ring, at, sges[i].addr, sges[i].len);
			at += sges[i].len;
		}
	}
	memcpy(ring->cells + (ring->tail & (ring->size - 1)) + 4, &inv_rkey, sizeof(inv_rkey));
	atomic_store_explicit(ring_header_at(ring->cells, ring->size, ring->tail), RING_VALID | len,
			      memory_order_release);
	ring->tail += need;
	return 1;
}

void ring_take(struct ring_reader *ring, void *dst, uint32_t len, uint32_t *inv_rkey)
{
	uint32_t offset = (uint32_t)ring->head & (ring->size - 1);
	uint32_t at = (offset + RING_HEADER) & (ring->size - 1);
	uint32_t first = ring->size - at;

	memcpy(inv_rkey, ring->cells + offset + 4, sizeof(*inv_rkey));
	if (__builtin_expect(len <= first, 1)) {
		memcpy(dst, ring->cells + at, len);
	} else {
		memcpy(dst, ring->cells + at, first);
		memcpy((uint8_t *)dst + first, ring->cells, len - first);
	}
	ring->head += ring_cells_bytes(len);
	if (ring->head - ring->published >= ring->size / 4) {
		ring->published = ring->head;
		atomic_store_explicit(&ring->shared->head, ring->head, memory_order_release);
	}
}
