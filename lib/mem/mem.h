/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MEM_H
#define MEM_H

/*
 * Regions and buffer pools: the interface inside the library. This folder knows a device only as a
 * registrar: functions that register memory with the device of one engine. Each live engine has a
 * slot number of its own. A region keeps one set of keys per slot.
 *
 * The files of this folder:
 *
 *   region.c       regions: mapped memory, and the keys that devices gave it
 *   pool.c         creates and frees pools of buffers; mem_pool_get() and mem_pool_put() are inline
 *                  below
 *   maps.[ch]      checks how the memory that a program passes is mapped
 *   resize.[ch]    sets the length of a memfd
 *   eal.[ch]       uses DPDK's environment, or starts it
 *   eal_telemetry.[ch]  prepares the socket of rte_telemetry
 *   alloc.[ch]     counted allocations from the heap
 *   limit.[ch]     names the limit of the process that caused an error
 *   log.[ch]       the log of the library and its drivers
 *   sized_why.[ch] reads structures of the program, and says what is wrong with them
 */

#include <sys/queue.h>

#include <rte_mempool.h>

#include <weir/memory.h>

#include "compiler.h"

#define MEM_SLOTS_MAX 64u /* largest number of live engines in a process */

/* The keys that one registrar gave to a region. */
struct mem_keys {
	uint32_t lkey; /* the local key of the region; 0: the region is not registered */
	/* The key by which a peer accesses the region. 0: no remote access. If the calls of the
	 * engine bind memory windows, rkey is equal to lkey. This only marks that windows can be
	 * bound over the region, and peers get the keys of the windows. */
	uint32_t rkey;
	uint64_t raddr;	 /* the address by which a peer names the region's first byte */
	void *driver[2]; /* private data of the registrar */
};

/* The functions by which memory is registered with the device of one engine. */
struct mem_registrar {
	void *ctx;
	uint32_t slot; /* 0 to MEM_SLOTS_MAX - 1, unique among live engines of the process */
	/* Registers memory and fills in *keys. If 'remote' is true, the memory can be exposed to
	 * peers. The memory is mapped from the file 'fd' at fd_offset; 'fd' is -1 if there is no
	 * file. Returns 0 or -errno. */
	int (*reg)(void *ctx, void *base, size_t len, bool remote, int fd, uint64_t fd_offset,
		   struct mem_keys *keys);
	void (*dereg)(void *ctx, struct mem_keys *keys);
};

struct weir_region {
	/* The memory is [base, base + len_bytes), of pages of page_bytes. */
	uint8_t *base;
	size_t len_bytes;
	uint64_t page_bytes;
	int numa_node;
	/* The file from which the memory is mapped, from fd_offset on. -1: there is no file, or it
	 * is not known. */
	int fd;
	uint64_t fd_offset;
	bool is_adopted;
	bool is_private;   /* the region is never exposed to a peer */
	bool is_anonymous; /* the memory has no file, so that no other process can map it */
	struct mem_keys keys[MEM_SLOTS_MAX];
};

/* Returns the size in bytes of the pages with which a file is mapped: the size of its hugepages if
 * it has hugepages, otherwise the ordinary page size. */
uint64_t mem_file_page_bytes(int fd);

/* Returns the size in bytes of the hugepages with which weir_region_create() tries to map a region:
 * those of the first attempt if 'attempt' is 0, and so on. Returns 0 if there is no such attempt.
 * The region is then mapped with ordinary pages. */
uint64_t mem_region_hugepage(const struct weir_region_options *options, uint32_t attempt);

/* Registers the region with the device of one engine, and stores the keys in the region. Does
 * nothing if the region is registered there already. Returns 0 or -errno. mem_region_deregister()
 * ends the registration, and does nothing if there is none. */
int mem_region_register(struct weir_region *region, const struct mem_registrar *registrar);
void mem_region_deregister(struct weir_region *region, const struct mem_registrar *registrar);

/* Returns whether [addr, addr + len) is in the region. */
static inline bool mem_region_covers(const struct weir_region *region, const void *addr, size_t len)
{
	size_t offset = (size_t)((const uint8_t *)addr - region->base);

	return offset <= region->len_bytes && len <= region->len_bytes - offset;
}

/* A buffer of a pool. This descriptor of the buffer is in private memory, and the data of the
 * buffer is in a region. A peer can thus overwrite the data, but never a pointer or a list of
 * weir. */
struct mem_buf {
	uint8_t *data;
	uint32_t size_bytes;
	uint32_t lkey;
	uint32_t rkey;
	/* If the buffer holds one transmission of a continued message: the length of the
	 * transmission in bytes. Like 'user', this member belongs to the owner of the buffer. */
	uint32_t msg_bytes;
	struct mem_pool *pool;
	union {
		uint64_t raddr;
		/* the list of a connection's shared receives (shared_recv.h), which are not exposed
		 * to peers */
		LIST_ENTRY(mem_buf) held;
	};
	union {
		/* belongs to the owner of the buffer, while the buffer is taken from the pool */
		uint64_t user[2];
		struct mem_buf *next_free; /* while the buffer is in the pool */
	};
};

struct mem_pool_options {
	const char *name; /* unique in the process, at most 20 characters */
	/* Number of buffers, all of which are allocated at the start. There are never more. */
	uint32_t count;
	uint32_t buf_bytes; /* rounded up to a cache line, or to 'align' */
	/* The byte at offset 'align_at' of each buffer is aligned to 'align', a power of two of at
	 * most a page. 0: the first byte of each buffer is aligned to a cache line. */
	uint32_t align;
	uint32_t align_at;
	bool is_private;
	uint64_t page_bytes; /* as in weir_region_options */
	uint32_t region_flags;
	int numa_node;
};

struct mem_pool {
	/* the elements are struct mem_buf: the buffers that were never taken from the pool */
	struct rte_mempool *mp;
	/* The list of the free buffers that were taken from the pool before. The buffer that was
	 * returned last is the first. NULL: the list is empty. */
	struct mem_buf *free;
	struct weir_region *region;
	uint32_t count;
	uint32_t in_use;
	uint32_t in_use_peak;
	uint64_t empty; /* how often mem_pool_get() returned NULL */

	/* mem_pool_get() calls this function when the pool is empty. The function returns a buffer
	 * that is in use and that its holder can do without, or NULL if there is none. The pointer
	 * 'reclaim' itself is NULL if nothing can be reclaimed. */
	struct mem_buf *(*reclaim)(struct mem_pool *pool, void *arg);
	void *reclaim_arg;
};

/* Sets *region to the options of the region of a pool. */
void mem_pool_region(const struct mem_pool_options *options, struct weir_region_options *region);

/* Creates a pool, and registers its region with one engine. Returns 0 and sets *pool. Returns
 * -EINVAL if the count or the size is 0 or the size is too large, or -errno if memory or the
 * registration fails. */
int mem_pool_create(const struct mem_pool_options *options, const struct mem_registrar *registrar,
		    struct mem_pool **pool);
/* Destroys a pool. The caller must have returned all buffers of the pool. Accepts NULL. */
void mem_pool_destroy(struct mem_pool *pool, const struct mem_registrar *registrar);

/* Releases the region of a pool, in a child after fork. The descriptors of the buffers are not
 * freed. They are in memory of EAL, whose locks might stay locked for ever in the child. Accepts
 * NULL. */
void mem_pool_abandon(struct mem_pool *pool, const struct mem_registrar *registrar);

/* The part of mem_pool_get() for the case that the list 'free' is empty. Returns a buffer that was
 * never taken from the pool. If there is none, returns a buffer that 'reclaim' provides, which
 * stays counted in 'in_use'. Returns NULL, and counts this in 'empty', if 'reclaim' provides none
 * either. The function is not inline, so that callers stay short. */
struct mem_buf *mem_pool_get_slow(struct mem_pool *pool);

/* Returns whether the list 'free' has a buffer, that is, one that was taken and returned before.
 * mem_pool_get_quick() must be called only if this is true. */
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

/* Takes a buffer from the pool and returns it. Returns NULL if the pool is empty. Only the thread
 * that owns the pool's engine may call this function. */
static inline struct mem_buf *mem_pool_get(struct mem_pool *pool)
{
	if (unlikely(!mem_pool_is_quick(pool)))
		return mem_pool_get_slow(pool);
	return mem_pool_get_quick(pool);
}

/* Gives a buffer back to its pool. Only the thread that owns the pool's engine may call this
 * function. */
static inline void mem_pool_put(struct mem_buf *buf)
{
	struct mem_pool *pool = buf->pool;

	buf->next_free = pool->free;
	pool->free = buf;
	pool->in_use--;
}

#endif
