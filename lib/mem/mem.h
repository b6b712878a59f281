/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MEM_H
#define MEM_H

/*
 * Regions and buffer pools: the interface inside the library. This folder knows a device only as a
 * registrar. An engine passes a registrar with its slot number, and each region keeps one set of
 * keys per slot.
 *
 * The files of this folder:
 *
 *   region.c       regions: mapped memory, and the keys that devices gave it
 *   pool.c         creates and frees pools of buffers; mem_pool_get() and mem_pool_put() are inline
 *                  below
 *   maps.[ch]      checks how the memory that a program passes is mapped
 *   resize.[ch]    sets the length of a memfd
 *   eal.[ch]       uses DPDK's environment, or starts it
 *   alloc.[ch]     counted allocations from the heap
 *   limit.[ch]     names the limit of the process that caused an error
 *   mem_log.[ch]   the log of this folder
 */

#include <sys/queue.h>

#include <rte_mempool.h>

#include <weir/memory.h>

#include "compiler.h"

#define MEM_SLOTS_MAX 64u /* number of engines with which a region can be registered */

/* The keys that one registrar gave to a region. */
struct mem_keys {
	uint32_t lkey; /* 0: not registered */
	/* 0: no remote access. If calls bind memory windows, this is equal to lkey, and windows are
	 * bound over the region. */
	uint32_t rkey;
	uint64_t raddr;	 /* the address by which a peer names the region's first byte */
	void *driver[2]; /* private data of the registrar */
};

struct mem_registrar {
	void *ctx;
	uint32_t slot; /* 0 to MEM_SLOTS_MAX - 1, unique among live engines of the process */
	/* Registers memory and fills *keys. 'remote': the region may be exposed to peers. Returns 0
	 * or -errno. */
	int (*reg)(void *ctx, void *base, size_t len, bool remote, int fd, uint64_t fd_offset,
		   struct mem_keys *keys);
	void (*dereg)(void *ctx, struct mem_keys *keys);
};

struct weir_region {
	uint8_t *base;
	size_t len_bytes;
	uint64_t page_bytes;
	int numa_node;
	int fd;
	uint64_t fd_offset;
	bool is_adopted;
	bool is_private;   /* it is never exposed to a peer */
	bool is_anonymous; /* no other process can map it */
	struct mem_keys keys[MEM_SLOTS_MAX];
};

/* Returns the size of the pages with which a file is mapped: that of its hugepages, or else the
 * ordinary page size. */
uint64_t mem_file_page_bytes(int fd);

/* Registers the region with the device of one engine. Idempotent. Returns 0 or -errno. */
int mem_region_register(struct weir_region *region, const struct mem_registrar *registrar);
void mem_region_deregister(struct weir_region *region, const struct mem_registrar *registrar);

/* Returns whether [addr, addr + len) is in the region. */
static inline bool mem_region_covers(const struct weir_region *region, const void *addr, size_t len)
{
	size_t offset = (size_t)((const uint8_t *)addr - region->base);

	return offset <= region->len_bytes && len <= region->len_bytes - offset;
}

/* A buffer of a pool. The descriptor is in private memory, and the data is in a region. A peer can
 * thus overwrite the data, but never a pointer or a list of weir. */
struct mem_buf {
	uint8_t *data;
	uint32_t size_bytes;
	uint32_t lkey;
	uint32_t rkey;
	/* Length of the message in a receive, if a message arrives in several receives. Like
	 * 'user', this member belongs to the owner of the buffer. */
	uint32_t msg_bytes;
	struct mem_pool *pool;
	union {
		uint64_t raddr;
		/* of a shared receive, which is not exposed to peers (shared_recv.h) */
		LIST_ENTRY(mem_buf) held;
	};
	union {
		uint64_t user[2];	   /* belongs to the owner, while it holds the buffer */
		struct mem_buf *next_free; /* while the buffer is in the pool */
	};
};

struct mem_pool_options {
	const char *name; /* unique in the process, at most 20 characters */
	/* Number of buffers, all of which are allocated at the start. There are never more. */
	uint32_t count;
	uint32_t buf_bytes; /* rounded up to a cache line, or to 'align' */
	/* The byte at 'align_at' of each buffer is aligned to this, a power of two of at most a
	 * page. 0: the first byte is aligned to a cache line. */
	uint32_t align;
	uint32_t align_at;
	bool is_private;
	uint64_t page_bytes; /* as in weir_region_options */
	uint32_t region_flags;
	int numa_node;
};

struct mem_pool {
	struct rte_mempool *mp; /* of struct mem_buf: the buffers that were never used */
	/* The free buffers that were used before; the last one that was returned is the first.
	 * NULL: none. */
	struct mem_buf *free;
	struct weir_region *region;
	uint32_t count;
	uint32_t in_use;
	uint32_t in_use_peak;
	uint64_t empty; /* how often a get found the pool empty */

	/* Is called when the pool is empty. Returns a buffer that is in use and that its holder can
	 * do without. NULL: there is none. The pointer itself may be NULL. */
	struct mem_buf *(*reclaim)(struct mem_pool *pool, void *arg);
	void *reclaim_arg;
};

int mem_pool_create(const struct mem_pool_options *options, const struct mem_registrar *registrar,
		    struct mem_pool **pool);
/* Destroys a pool. All of its buffers must have been returned. Accepts NULL. */
void mem_pool_destroy(struct mem_pool *pool, const struct mem_registrar *registrar);

/* Releases only the memory of a pool, in a child after fork. The descriptors of the pool are in
 * memory of EAL, whose locks may stay locked for ever in the child. */
void mem_pool_abandon(struct mem_pool *pool, const struct mem_registrar *registrar);

/* The part of mem_pool_get() for the case that no used buffer is free: it returns one that was
 * never used. It is not inline, so that callers stay short. */
struct mem_buf *mem_pool_get_slow(struct mem_pool *pool);

/* Returns whether a used buffer is free. mem_pool_get_quick() may be called only then. */
static inline bool mem_pool_is_quick(const struct mem_pool *pool)
{
	return pool->free != NULL;
}

static inline struct mem_buf *mem_pool_get_quick(struct mem_pool *pool)
{
	struct mem_buf *buf = pool->free;

	pool->free = buf->next_free;
	pool->in_use++;
	return buf;
}

/* Returns a buffer, or NULL if the pool is empty. Owner's thread. */
static inline struct mem_buf *mem_pool_get(struct mem_pool *pool)
{
	if (unlikely(!mem_pool_is_quick(pool)))
		return mem_pool_get_slow(pool);
	return mem_pool_get_quick(pool);
}

/* Returns a buffer to its pool. Owner's thread. */
static inline void mem_pool_put(struct mem_buf *buf)
{
	struct mem_pool *pool = buf->pool;

	buf->next_free = pool->free;
	pool->free = buf;
	pool->in_use--;
}

#endif
