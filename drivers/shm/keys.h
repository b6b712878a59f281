/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef KEYS_H
#define KEYS_H

/*
 * The key table of a device says which memory its peers may access, and how. The table lives in a
 * memfd that the owner writes and the peers map read-only. The low bits of a key are the index of
 * the key's entry. The high bits are random and change with each key of the entry, so that a peer
 * cannot guess a key, and an old key does not match a new one. Each entry has a sequence count,
 * which is odd while the owner writes the entry.
 *
 * Only the driver of an honest peer obeys the table. The table does not protect memory that a
 * dishonest peer has mapped. An invalidation takes effect with the next RDMA Read or Write of the
 * peer that looks the key up.
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
	_Atomic uint32_t *asleep;
	struct shm_mapping mapping;
	int fd;
	uint64_t random; /* state of the key generator */
	uint32_t next;	 /* index at which the search for a free entry begins */
	uint64_t used[KEY_ENTRIES /
		      64]; /* one bit for each entry: 1 if it was taken by key_take() */
};

/* The peer's view of the table. */
struct key_table_view {
	const struct key_entry *entries;
	const _Atomic uint32_t *asleep;
};

/* An entry that key_take() has taken. */
struct key_ref {
	uint32_t index;
	bool valid; /* false: no entry */
};

/* The memory that a key opens. Members without a comment are as in struct key_entry. */
struct key_range {
	uint32_t access;
	/* The key belongs to a registration, so that no invalidation ends the key. Only the owner
	 * reads this member. */
	bool is_lasting;
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

/* Takes a free entry, which has no key yet, and stores its index in *ref. Returns 0, or -ENOSPC if
 * no entry is free. */
int key_take(struct key_table *table, struct key_ref *ref);
void key_put(struct key_table *table, struct key_ref *ref);
/* Returns a new key for the entry, which differs from the entry's current key. key_set() makes the
 * new key valid. */
uint32_t key_new(struct key_table *table, struct key_ref ref);
/* Sets the entry's key to 'key', which key_new() returned, for 'range'. The previous key of the
 * entry ends. */
void key_set(struct key_table *table, struct key_ref ref, uint32_t key,
	     const struct key_range *range);
/* Returns whether the entry has a key that has not ended. */
bool key_is_set(const struct key_table *table, struct key_ref ref);
/*
 * Ends the key of a memory window that is bound to connection 'conn_id'. Returns true if the key
 * has ended. Returns false, and changes nothing, in these cases:
 * - The key belongs to a registration.
 * - The key's window is bound to another connection.
 * - The key is unknown or has ended already.
 */
bool key_invalidate(struct key_table *table, uint32_t key, uint32_t conn_id);
/* Ends the keys of all memory windows that are bound to connection 'conn_id'. No window is bound to
 * KEY_ANY_CONN, for which the function does nothing. */
void key_invalidate_all(struct key_table *table, uint32_t conn_id);

/* Returns the entry that 'key' has if it is valid. */
static inline const struct key_entry *key_entry_of(const struct key_table_view *view, uint32_t key)
{
	return &view->entries[key & (KEY_ENTRIES - 1)];
}

/* Looks up a key of the peer, and stores what it opens in *range. Returns false if the key is
 * unknown or has ended, or if its entry was being changed at each of KEY_TRIES attempts. */
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
		/* The loads above are acquire loads. Therefore the next load is not moved before
		 * them. */
		if ((seq & 1) == 0 &&
		    atomic_load_explicit(&entry->seq, memory_order_relaxed) == seq) {
			range->seq = seq;
			return found == key;
		}
	}
	return false;
}

/* Returns whether the key of 'range' permits the access 'access' (flags of enum fabric_access) to
 * 'len' bytes at 'raddr' on connection 'conn_id'. If so, the function sets *offset to the position
 * of these bytes in the region. */
static inline bool key_permits(const struct key_range *range, uint64_t raddr, uint64_t len,
			       uint32_t access, uint32_t conn_id, uint64_t *offset)
{
	/* wraps to a large number if 'raddr' is below the range */
	uint64_t at = raddr - range->raddr;

	if ((range->access & access) != access || at > range->len || len > range->len - at)
		return false;
	if (range->conn_id != KEY_ANY_CONN && range->conn_id != conn_id)
		return false;
	*offset = range->offset + at;
	return *offset >= at;
}

#endif
