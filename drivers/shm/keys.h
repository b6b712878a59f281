/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef KEYS_H
#define KEYS_H

/*
 * The key table of a device: what its peers may name, and how. It lives in a memfd that the owner
 * writes and the peers map read-only. A key's low bits find its entry; the high bits are random and
 * new each time, so that keys can be neither guessed nor met again. Each entry has a sequence
 * count: odd while it is written.
 *
 * Nothing here keeps a peer from memory that it has mapped; the table is what an honest peer's
 * driver obeys, and invalidation takes effect with the next request that looks.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mapping.h"
#include "shm_wire.h"

#define KEY_TRIES 64 /* looks at an entry that is being written; then it counts as unknown */

/* The owner's. */
struct key_table {
	struct key_entry *entries;
	struct shm_mapping mapping;
	int fd;
	uint64_t random; /* state of the generator of keys */
	uint32_t next;	 /* where to look for a free entry */
	uint64_t used[KEY_ENTRIES / 64];
};

/* A peer's. */
struct key_table_view {
	const struct key_entry *entries;
};

struct key_ref {
	uint32_t index;
	bool valid;
};

/* What a key names. */
struct key_range {
	uint32_t access;
	bool is_lasting; /* a registration's, which nobody invalidates: the owner's to know */
	uint32_t conn_id;
	uint32_t region;
	uint64_t raddr;
	uint64_t len;
	uint64_t offset;
	uint32_t seq; /* of the entry when it was looked at: another one says that the key may have
			 ended since */
};

int key_table_create(struct key_table *table);
void key_table_destroy(struct key_table *table);

/* Take an entry, without a key yet. 0 or -ENOSPC. */
int key_take(struct key_table *table, struct key_ref *ref);
void key_put(struct key_table *table, struct key_ref *ref);
/* A key that the entry does not have now, to be set. */
uint32_t key_new(struct key_table *table, struct key_ref ref);
/* Let the entry's key be 'key', of key_new(), for 'range'; the one it had ends. */
void key_set(struct key_table *table, struct key_ref ref, uint32_t key,
	     const struct key_range *range);
/* Whether the entry has a key that holds. */
bool key_is_set(const struct key_table *table, struct key_ref ref);
/* End the key of a window that is bound to connection 'conn_id'. False when it is not one: a
 * registration's key, or another connection's, or ended already. */
bool key_invalidate(struct key_table *table, uint32_t key, uint32_t conn_id);
/* End all keys of windows that are bound to a connection; there is no other for KEY_ANY_CONN. */
void key_invalidate_all(struct key_table *table, uint32_t conn_id);

/* Where a key would be. */
static inline const struct key_entry *key_entry_of(const struct key_table_view *view, uint32_t key)
{
	return &view->entries[key & (KEY_ENTRIES - 1)];
}

/* Look a peer's key up: false when it is unknown or has ended. */
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
		/* The loads above are acquires: this one comes after them. */
		if ((seq & 1) == 0 &&
		    atomic_load_explicit(&entry->seq, memory_order_relaxed) == seq) {
			range->seq = seq;
			return found == key;
		}
	}
	return false;
}

/* Whether 'len' bytes at 'raddr' may be accessed in the way 'access' on connection 'conn_id';
 * *offset is then where they are in the region. */
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
