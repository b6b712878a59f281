/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MEMORY_H
#define MEMORY_H

/*
 * Protection domains, memory regions and memory windows of type 2. A key is the index of its entry
 * in the table of keys, followed by a variant of 8 bits. Addresses are those of the program.
 */

#include "attr.h"
#include "object.h"

#include <infiniband/verbs.h>

struct pd {
	struct object object;
};

/* A memory region or a memory window. */
struct memory {
	struct object object;
	struct pd *pd;
	uint32_t index; /* of its key */
	uint8_t variant;
	uint32_t access; /* of a window: IBV_ACCESS_REMOTE_* of its bind */
	uint64_t addr;
	uint64_t len;
	/* of a window */
	bool is_bound;
	uint32_t qpn; /* the queue pair on which it is bound, which alone can use it */
	uint32_t region_key;
};

static inline uint32_t memory_key(const struct memory *memory)
{
	return memory->index << 8 | memory->variant;
}

/* Returns whether all bytes of a range are in the memory. */
static inline bool memory_contains(const struct memory *memory, uint64_t addr, uint64_t len)
{
	return addr >= memory->addr && len <= memory->len &&
	       addr - memory->addr <= memory->len - len;
}

/* Methods of uverbs. They return 0 or a positive errno. */
int pd_create(const struct call *call);
int memory_register(const struct call *call);
int memory_create_window(const struct call *call);
int pd_destroy(struct object *object);
int memory_destroy(struct object *object);

/* Returns the memory of this kind with an index of a key, whatever the variant is, or NULL. */
struct memory *memory_of_index(uint32_t key, enum object_kind kind);
/* Returns the memory of this kind with exactly this key, in this domain, or NULL. */
struct memory *memory_find(uint32_t key, enum object_kind kind, const struct pd *pd);
/* Returns the bytes that a work request names by an lkey, or NULL if 'access' to them is not
 * allowed. */
uint8_t *memory_local(uint32_t lkey, const struct pd *pd, uint64_t addr, uint64_t len,
		      uint32_t access);
/* The same for a peer that names them by an rkey on queue pair 'qpn'. */
uint8_t *memory_remote(uint32_t rkey, const struct pd *pd, uint32_t qpn, uint64_t addr,
		       uint64_t len, uint32_t access);
/* Ends a bound window. Returns false if the queue pair has no such window. */
bool memory_invalidate(uint32_t rkey, const struct pd *pd, uint32_t qpn);

#endif
