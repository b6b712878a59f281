/* SPDX-License-Identifier: BSD-3-Clause */
#include "keys.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "shm.h"

#define SEQ_TRIES 64 /* looks at an entry that is being written; then it counts as unknown */

int key_table_create(struct key_table *table)
{
	/* Others map it read-only: the seal refuses any new writable mapping, once we have ours. */
	table->entries =
		shm_create("weir-shm-keys", sizeof(struct key_entry) * KEY_ENTRIES, true, &table->fd);
	if (!table->entries)
		return -errno;
	if (getrandom(&table->random, sizeof(table->random), 0) != (ssize_t)sizeof(table->random))
		return -errno;
	return 0;
}

void key_table_destroy(struct key_table *table)
{
	if (!table->entries)
		return;
	munmap(table->entries, sizeof(struct key_entry) * KEY_ENTRIES);
	close(table->fd);
	table->entries = NULL;
}

/* splitmix64. */
static uint64_t next_random(struct key_table *table)
{
	uint64_t z = table->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

int key_take(struct key_table *table, struct key_ref *ref)
{
	for (uint32_t n = 0; n < KEY_ENTRIES; n++) {
		uint32_t i = table->next++ % KEY_ENTRIES;

		if (table->used[i / 64] >> (i % 64) & 1)
			continue;
		table->used[i / 64] |= 1ull << (i % 64);
		*ref = (struct key_ref){i, true};
		return 0;
	}
	return -ENOSPC;
}

static void write_begin(struct key_entry *entry)
{
	uint32_t seq = atomic_load_explicit(&entry->seq, memory_order_relaxed);

	/* The stores that follow are releases: none is seen before this one. */
	atomic_store_explicit(&entry->seq, seq + 1, memory_order_relaxed);
}

static void write_end(struct key_entry *entry)
{
	uint32_t seq = atomic_load_explicit(&entry->seq, memory_order_relaxed);

	atomic_store_explicit(&entry->seq, seq + 1, memory_order_release);
}

void key_put(struct key_table *table, struct key_ref *ref)
{
	struct key_entry *entry;

	if (!ref->valid)
		return;
	entry = &table->entries[ref->index];
	write_begin(entry);
	atomic_store_explicit(&entry->key, 0, memory_order_release);
	write_end(entry);
	table->used[ref->index / 64] &= ~(1ull << (ref->index % 64));
	ref->valid = false;
}

uint32_t key_new(struct key_table *table, struct key_ref ref)
{
	const struct key_entry *entry = &table->entries[ref.index];
	uint32_t old = atomic_load_explicit(&entry->key, memory_order_relaxed), key;

	do
		key = (uint32_t)next_random(table) << KEY_INDEX_BITS | ref.index;
	while (key >> KEY_INDEX_BITS == 0 || key == old);
	return key;
}

void key_set(struct key_table *table, struct key_ref ref, uint32_t key, const struct key_range *range)
{
	struct key_entry *entry = &table->entries[ref.index];

	write_begin(entry);
	atomic_store_explicit(&entry->key, key, memory_order_release);
	atomic_store_explicit(&entry->access, range->access, memory_order_release);
	atomic_store_explicit(&entry->conn_id, range->conn_id, memory_order_release);
	atomic_store_explicit(&entry->region, range->region, memory_order_release);
	atomic_store_explicit(&entry->raddr, range->raddr, memory_order_release);
	atomic_store_explicit(&entry->len, range->len, memory_order_release);
	atomic_store_explicit(&entry->offset, range->offset, memory_order_release);
	write_end(entry);
}

bool key_invalidate(struct key_table *table, uint32_t key, uint32_t conn_id)
{
	struct key_entry *entry = &table->entries[key & (KEY_ENTRIES - 1)];

	if (key == 0 || atomic_load_explicit(&entry->key, memory_order_relaxed) != key ||
	    atomic_load_explicit(&entry->conn_id, memory_order_relaxed) != conn_id)
		return false;
	write_begin(entry);
	atomic_store_explicit(&entry->key, 0, memory_order_release);
	write_end(entry);
	return true;
}

bool key_find(const struct key_table_view *view, uint32_t key, struct key_range *range)
{
	const struct key_entry *entry = &view->entries[key & (KEY_ENTRIES - 1)];

	if (key == 0)
		return false;
	for (int i = 0; i < SEQ_TRIES; i++) {
		uint32_t seq = atomic_load_explicit(&entry->seq, memory_order_acquire);
		uint32_t found = atomic_load_explicit(&entry->key, memory_order_acquire);

		range->access = atomic_load_explicit(&entry->access, memory_order_acquire);
		range->conn_id = atomic_load_explicit(&entry->conn_id, memory_order_acquire);
		range->region = atomic_load_explicit(&entry->region, memory_order_acquire);
		range->raddr = atomic_load_explicit(&entry->raddr, memory_order_acquire);
		range->len = atomic_load_explicit(&entry->len, memory_order_acquire);
		range->offset = atomic_load_explicit(&entry->offset, memory_order_acquire);
		/* The loads above are acquires: this one comes after them. */
		if ((seq & 1) == 0 && atomic_load_explicit(&entry->seq, memory_order_relaxed) == seq)
			return found == key;
	}
	return false;
}

bool key_permits(const struct key_range *range, uint64_t raddr, uint64_t len, uint32_t access,
		 uint32_t conn_id, uint64_t *offset)
{
	uint64_t at = raddr - range->raddr; /* wraps to a large number below the range */

	if ((range->access & access) != access || at > range->len || len > range->len - at)
		return false;
	if (range->conn_id != KEY_ANY_CONN && range->conn_id != conn_id)
		return false;
	*offset = range->offset + at;
	return *offset >= at;
}
