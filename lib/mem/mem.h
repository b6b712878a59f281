/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MEM_H
#define MEM_H

/*
 * Regions and buffer pools, inside the library. Devices are known only as registrars: an engine
 * brings one along with its slot number, and each region keeps the keys that it got per slot.
 *
 * The files of this folder:
 *
 *   region.c       regions: memory that is mapped, and the keys that devices gave it
 *   pool.c         pools of buffers
 *   maps.[ch]      the check of memory that a program brings along: what it is mapped from
 *   resize.[ch]    the length of a memfd
 *   eal.[ch]       DPDK's environment: used where the process has one, else started
 *   alloc.[ch]     the heap, counted
 *   room.[ch]      how much memory the process can still get
 *   limit.[ch]     names the limit of the process that caused an error
 *   std_io.h       a program's standard input, output and error
 *   mem_log.[ch]   the log of this folder
 */

#include <sys/queue.h>

#include <rte_mempool.h>

#include <weir/memory.h>

#include "compiler.h"

#define MEM_SLOTS_MAX 64u /* engines that a region can be registered with */

/* Keys that one registrar gave to a region. */
struct mem_keys {
	uint32_t lkey;	/* 0: not registered */
	uint32_t rkey;	/* 0: no remote access. Where calls bind windows: lkey, for them to be bound
			   over */
	uint64_t raddr; /* the peer's name for the region's first byte */
	void *driver[2]; /* the registrar's own */
};

struct mem_registrar {
	void *ctx;
	uint32_t slot; /* 0 to MEM_SLOTS_MAX - 1, unique among live engines of the process */
	/* 'remote': the region may be exposed to peers. Fill *keys. 0 or -errno. */
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
	bool is_private;   /* no peer is given it */
	bool is_anonymous; /* nor another process */
	struct mem_keys keys[MEM_SLOTS_MAX];
};

/* The size of the pages that a file is mapped in: that of its hugepages, or else the ordinary one.
 */
uint64_t mem_file_page_bytes(int fd);

/* Register with one engine's device; idempotent. 0 or -errno. */
int mem_region_register(struct weir_region *region, const struct mem_registrar *registrar);
void mem_region_deregister(struct weir_region *region, const struct mem_registrar *registrar);

/* Whether [addr, addr + len) lies in the region. */
static inline bool mem_region_covers(const struct weir_region *region, const void *addr, size_t len)
{
	size_t offset = (size_t)((const uint8_t *)addr - region->base);

	return offset <= region->len_bytes && len <= region->len_bytes - offset;
}

/* A buffer of a pool: the descriptor is private memory, the data in a region. What a peer may
 * scribble over is thus never a pointer or a list of ours. */
struct mem_buf {
	uint8_t *data;
	uint32_t size_bytes;
	uint32_t lkey;
	uint32_t rkey;
	uint32_t msg_bytes; /* of a receive that is one of several, the owner's as 'user' is */
	struct mem_pool *pool;
	union {
		uint64_t raddr;
		/* of a shared receive, which no peer is told of (shared_recv.h) */
		LIST_ENTRY(mem_buf) held;
	};
	union {
		uint64_t user[2];	   /* the owner's, while it holds the buffer */
		struct mem_buf *next_free; /* while it is the pool's */
	};
};

struct mem_pool_options {
	const char *name;   /* unique in the process, at most 20 characters */
	uint32_t count;	    /* buffers, all taken at start: the limit */
	uint32_t buf_bytes; /* rounded up to a cache line, or to 'align' */
	uint32_t align; /* a power of two, a page at most: byte 'align_at' of each buffer is so. 0:
			   a cache line, from the start */
	uint32_t align_at;
	bool is_private;
	uint64_t page_bytes; /* as weir_region_options */
	uint32_t region_flags;
	int numa_node;
};

struct mem_pool {
	struct rte_mempool *mp; /* of struct mem_buf: those that were never used */
	struct mem_buf *free;	/* those that were, the latest one back first; NULL: none */
	struct weir_region *region;
	uint32_t count;
	uint32_t in_use;
	uint32_t in_use_peak;
	uint64_t empty; /* gets that found nothing */

	/* Asked where it is dry: a buffer that is in use, and that its holder can do without; NULL:
	 * there is none. May be NULL. */
	struct mem_buf *(*reclaim)(struct mem_pool *pool, void *arg);
	void *reclaim_arg;
};

int mem_pool_create(const struct mem_pool_options *options, const struct mem_registrar *registrar,
		    struct mem_pool **pool);
/* All buffers must be back. NULL is allowed. */
void mem_pool_destroy(struct mem_pool *pool, const struct mem_registrar *registrar);

/* In a child after fork: let go of the memory alone. What the descriptors are in is EAL's, whose
 * locks may be held for ever. */
void mem_pool_abandon(struct mem_pool *pool, const struct mem_registrar *registrar);

/* mem_pool_get() where none has come back: one that was never used. Out of line, as it would burden
 * each caller. */
struct mem_buf *mem_pool_get_slow(struct mem_pool *pool);

/* Whether one has come back, which mem_pool_get_quick() then gives. */
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

/* NULL when the pool is dry. Owner's thread. */
static inline struct mem_buf *mem_pool_get(struct mem_pool *pool)
{
	if (unlikely(!mem_pool_is_quick(pool)))
		return mem_pool_get_slow(pool);
	return mem_pool_get_quick(pool);
}

/* Give a buffer back to its pool. Owner's thread. */
static inline void mem_pool_put(struct mem_buf *buf)
{
	struct mem_pool *pool = buf->pool;

	buf->next_free = pool->free;
	pool->free = buf;
	pool->in_use--;
}

#endif
