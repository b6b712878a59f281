/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring of records: capture_ring.h describes it. */
#include "capture_ring.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

struct capture_ring *capture_ring_create(uint64_t bytes)
{
	struct capture_ring *ring = aligned_alloc(64, sizeof(*ring));
	uint64_t size = 4096;
	void *memory;

	if (!ring)
		return NULL;
	while (size < bytes)
		size *= 2;
	/* The pages are touched here, so that the thread of an engine takes no page fault. */
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED) {
		free(ring);
		return NULL;
	}
	(void)madvise(memory, size, MADV_DONTFORK);
	*ring = (struct capture_ring){.memory = memory, .size = size};
	return ring;
}

void capture_ring_destroy(struct capture_ring *ring)
{
	if (!ring)
		return;
	(void)munmap(ring->memory, ring->size);
	free(ring);
}

static struct capture_record *record_at(const struct capture_ring *ring, uint64_t position)
{
	return (struct capture_record *)(void *)(ring->memory + (position & (ring->size - 1)));
}

/* Returns whether 'bytes' bytes from 'tail' on are free. */
static bool ring_has_room(struct capture_ring *ring, uint64_t tail, uint64_t bytes)
{
	if (tail + bytes - ring->head_seen <= ring->size)
		return true;
	ring->head_seen = atomic_load_explicit(&ring->head, memory_order_acquire);
	return tail + bytes - ring->head_seen <= ring->size;
}

struct capture_record *capture_ring_reserve(struct capture_ring *ring, uint32_t kept)
{
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint64_t left = ring->size - (tail & (ring->size - 1));
	uint32_t bytes = (uint32_t)((sizeof(struct capture_record) + kept + 7u) & ~7u);
	struct capture_record *record;

	if (!ring_has_room(ring, tail, left < bytes ? left + bytes : bytes)) {
		capture_ring_drop(ring);
		return NULL;
	}
	if (left < bytes) {
		/* Less than a whole record can be left, so only its first members are written. */
		record = record_at(ring, tail);
		record->bytes = (uint32_t)left;
		record->kind = CAPTURE_SKIP;
		tail += left;
		atomic_store_explicit(&ring->tail, tail, memory_order_release);
	}
	record = record_at(ring, tail);
	record->bytes = bytes;
	return record;
}

void capture_ring_commit(struct capture_ring *ring, const struct capture_record *record)
{
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	atomic_store_explicit(&ring->tail, tail + record->bytes, memory_order_release);
}

struct capture_record *capture_ring_first(struct capture_ring *ring)
{
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	struct capture_record *record;

	for (;;) {
		if (head == atomic_load_explicit(&ring->tail, memory_order_acquire))
			return NULL;
		record = record_at(ring, head);
		if (record->kind != CAPTURE_SKIP)
			return record;
		head += record->bytes;
		atomic_store_explicit(&ring->head, head, memory_order_release);
	}
}

void capture_ring_pop(struct capture_ring *ring)
{
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	atomic_store_explicit(&ring->head, head + record_at(ring, head)->bytes,
			      memory_order_release);
}
