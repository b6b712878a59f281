/* SPDX-License-Identifier: BSD-3-Clause */
/* The owner's side of a key table: creates and ends keys. The inline functions of keys.h read the
 * tables of peers. */
#include "keys.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

/* Allocates all pages of the table. Returns 0 or -ENOMEM. Otherwise a store to a page that cannot
 * be allocated would raise SIGBUS, for which the table has no guard (sigbus_guard.h). */
static int populate(const struct key_table *table)
{
	int rc;

	do
		rc = fallocate(table->fd, 0, 0, (off_t)table->mapping.len);
	while (rc != 0 && errno == EINTR);
	return rc == 0 ? 0 : -ENOMEM;
}

int key_table_create(struct key_table *table)
{
	/* Peers can map the table only read-only, because a seal refuses each new writable mapping
	 * after this process has its own mapping. */
	int rc = mapping_own(&table->mapping, "weir-shm-keys", sizeof(struct key_table_memory),
			     true, &table->fd);

	if (rc != 0)
		return rc;
	table->entries = table->mapping.base;
	table->asleep = &((struct key_table_memory *)table->mapping.base)->asleep;
	rc = populate(table);
	if (rc != 0) {
		key_table_destroy(table);
		return rc;
	}
	return getentropy(&table->random, sizeof(table->random)) == 0 ? 0 : -errno;
}

void key_table_destroy(struct key_table *table)
{
	if (!table->entries)
		return;
	mapping_release(&table->mapping);
	close(table->fd);
	table->fd = -1;
	table->entries = NULL;
}

/* Returns the next random number, by the generator splitmix64. */
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

	/* The caller's next stores to the entry are release stores, so that none of them is visible
	 * before this store. */
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

void key_set(struct key_table *table, struct key_ref ref, uint32_t key,
	     const struct key_range *range)
{
	struct key_entry *entry = &table->entries[ref.index];

	write_begin(entry);
	atomic_store_explicit(&entry->key, key, memory_order_release);
	atomic_store_explicit(&entry->access, range->access, memory_order_release);
	atomic_store_explicit(&entry->conn_id, range->conn_id, memory_order_release);
	entry->is_lasting = range->is_lasting;
	atomic_store_explicit(&entry->region, range->region, memory_order_release);
	atomic_store_explicit(&entry->raddr, range->raddr, memory_order_release);
	atomic_store_explicit(&entry->len, range->len, memory_order_release);
	atomic_store_explicit(&entry->offset, range->offset, memory_order_release);
	write_end(entry);
}

bool key_is_set(const struct key_table *table, struct key_ref ref)
{
	return atomic_load_explicit(&table->entries[ref.index].key, memory_order_relaxed) != 0;
}

bool key_invalidate(struct key_table *table, uint32_t key, uint32_t conn_id)
{
	struct key_entry *entry = &table->entries[key & (KEY_ENTRIES - 1)];

	if (key == 0 || entry->is_lasting ||
	    atomic_load_explicit(&entry->key, memory_order_relaxed) != key ||
	    atomic_load_explicit(&entry->conn_id, memory_order_relaxed) != conn_id)
		return false;
	write_begin(entry);
	atomic_store_explicit(&entry->key, 0, memory_order_release);
	write_end(entry);
	return true;
}

void key_invalidate_all(struct key_table *table, uint32_t conn_id)
{
	for (uint32_t i = 0; i < KEY_ENTRIES && conn_id != KEY_ANY_CONN; i++)
		key_invalidate(table,
			       atomic_load_explicit(&table->entries[i].key, memory_order_relaxed),
			       conn_id);
}
