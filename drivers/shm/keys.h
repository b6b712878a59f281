/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef KEYS_H
#define KEYS_H

/*
 * The key table of a device says which memory its peers may access, and how. The table lives in a
 * memfd that the owner writes and the peers map read-only. The low bits of a key are the index of
 * its entry. The high bits are random and change with each key, so that a peer cannot guess a key,
 * and an old key does not match a new one. Each entry has a sequence count, which is odd while the
 * owner writes the entry.
 *
 * The table does not protect memory that a peer has mapped: the driver of an honest peer obeys the
 * table. An invalidation takes effect with the next request that looks a key up.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mapping.h"
#include "shm_wire.h"

#define KEY_TRIES 64 /* attempts to read a changing entry; then the key counts as unknown */

/* The owner's view of the table. */
struct key_table {
	struct key_entry *entries;
	struct shm_mapping mapping;
	int fd;
	uint64_t random; /* state of the key generator */
	uint32_t next;	 /* where the search for a free entry begins */
	uint64_t used[KEY_ENTRIES / 64];
};

/* The peer's view of the table. */
struct key_table_view {
	const struct key_entry *entries;
};

struct key_ref {
	uint32_t index;
	bool valid;
};

/* The memory that a key opens. */
struct key_range {
	uint32_t access;
	bool is_lasting; /* of a registration, which nobody invalidates; only for the owner */
	uint32_t conn_id;
	uint32_t region;
	uint64_t raddr;
	uint64_t len;
	uint64_t offset;
	/* Sequence count of the entry at the lookup. If the count has changed, the key may have
	 * ended. */
	uint32_t seq;
};

int key_table_create(struct key_table *table);
void key_table_destroy(struct key_table *table);

/* Takes an entry, without a key. Returns 0 or -ENOSPC. */
int key_take(struct key_table *table, struct key_ref *ref);
void key_put(struct key_table *table, struct key_ref *ref);
/* Returns a key that differs from the entry's current key, for a call of key_set(). */
uint32_t key_new(struct key_table *table, struct key_ref ref);
/* Sets the entry's key to 'key', which key_new() returned, for 'range'. The previous key of the
 * entry ends. */
void key_set(struct key_table *table, struct key_ref ref, uint32_t key,
	     const struct key_range *range);
/* Returns whether the entry has a valid key. */
bool key_is_set(const struct key_table *table, struct key_ref ref);
/*
 * Ends the key of a window that is bound to connection 'conn_id'. Returns false in these cases:
 * - The key is that of a registration.
 * - The key is bound to another connection.
 * - The key has ended already.
 */
bool key_invalidate(struct key_table *table, uint32_t key, uint32_t conn_id);
/* Ends all keys of windows that are bound to a connection. No window is bound to KEY_ANY_CONN. */
void key_invalidate_all(struct key_table *table, uint32_t conn_id);

/* Returns the entry in which a key would be. */
static inline const struct key_entry *key_entry_of(const struct key_table_view *view, uint32_t key)
{
	return &view->entries[key & (KEY_ENTRIES - 1)];
}

/* Looks up a key of the peer. Returns false if the key is unknown or has ended. */
static inline bool key_find(const struct key_table_view *view, uint32_t key,
			    struct key_range *range)
{
	const struct key_entry *entry = key_entry_of(view, key);

	if (key == 0)
		return false;
	for (int i = 0; i < KEY_TRIES; i++) {
		uint32_t seq = atomic_load_explicit(&entry->seq, memory_order_acquire);
		uint32_t found = atomic_load_explicit(&entry->key, memory_order_acquire);

		range->access = atomic_load_explicit(&entry->access, memory_order_acquire);
		range->conn_id = atomic_load_explicit(&entry->conn_id, memory_order_acquire);
		range->region = atomic_load_explicit(&entry->region, memory_order_acquire);
		range->raddr = atomic_load_explicit(&entry->raddr, memory_order_acquire);
		range->len = atomic_load_explicit(&entry->len, memory_order_acquire);
		range->offset = atomic_load_explicit(&entry->offset, memory_order_acquire);
		/* The loads above are acquire loads, so this load comes after them. */
		if ((seq & 1) == 0 &&
		    atomic_load_explicit(&entry->seq, memory_order_relaxed) == seq) {
			range->seq = seq;
			return found == key;
		}
	}
	return false;
}

/* Returns whether 'len' bytes at 'raddr' may be accessed in the way 'access' on connection
 * 'conn_id'. If so, *offset is set to their position in the region. */
static inline bool key_permits(const struct key_range *range, uint64_t raddr, uint64_t len,
			       uint32_t access, uint32_t conn_id, uint64_t *offset)
{
	uint64_t at = raddr - range->raddr; /* wraps to a large number below the range */

	if ((range->access & access) != access || at > range->len || len > range->len - at)
		return false;
	if (range->conn_id != KEY_ANY_CONN && range->conn_id != conn_id)
		return false;
	*offset = range->offset + at;
	return *offset >= at;
}

#endif
