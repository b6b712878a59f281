/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates and destroys pools of buffers. The descriptors of a pool's buffers (struct mem_buf) are
 * in an rte_mempool. The data of the buffers is in one region, which is registered once.
 *
 * A pool belongs to one engine, not to an lcore. Therefore the pool has a list of its own for the
 * buffers that were returned ('free' in struct mem_pool), instead of the rte_mempool's caches per
 * lcore. With this list, the owner's thread need not be an lcore, and no buffer can stay in the
 * cache of another lcore.
 *
 * Buffers are taken from that list first. Thus the memory of buffers that were never needed is
 * never touched, and in_use_peak is the number of buffers that were taken from the rte_mempool.
 */
#include "mem.h"

#include <errno.h>

#include <rte_errno.h>

#include "alloc.h"

#define CACHE_LINE 64u
#define PAGE	   4096u

/* The arguments of buf_init(). */
struct fill {
	struct mem_pool *pool;
	const struct mem_keys *keys;
	uint32_t first; /* offset in bytes of the first buffer in the region */
	uint32_t buf_bytes;
	/* distance in bytes from one buffer to the next */
	uint32_t stride;
};

/* Fills in the descriptor of buffer number 'index'. rte_mempool_create() calls this function for
 * each buffer. */
static void buf_init(struct rte_mempool *mp, void *arg, void *object, unsigned index)
{
	const struct fill *fill = arg;
	size_t offset = fill->first + (size_t)index * fill->stride;
	struct mem_buf *buf = object;

	(void)mp;
	*buf = (struct mem_buf){
		.data = fill->pool->region->base + offset,
		.size_bytes = fill->buf_bytes,
		.lkey = fill->keys->lkey,
		.rkey = fill->keys->rkey,
		.pool = fill->pool,
		.raddr = fill->keys->raddr + offset,
	};
}

/* Sets the offset of the first buffer of a pool, the length of the buffers and their distance. */
static void lay_out(const struct mem_pool_options *options, struct fill *fill)
{
	uint32_t align = options->align ? options->align : CACHE_LINE;

	fill->buf_bytes = (options->buf_bytes + CACHE_LINE - 1) & ~(CACHE_LINE - 1);
	fill->stride = (fill->buf_bytes + align - 1) & ~(align - 1);
	fill->first = (0u - options->align_at) & (align - 1);
}

void mem_pool_region(const struct mem_pool_options *options, struct weir_region_options *region)
{
	struct fill fill;

	lay_out(options, &fill);
	*region = (struct weir_region_options){
		.struct_bytes = sizeof(*region),
		.len_bytes = fill.first + (size_t)options->count * fill.stride,
		.page_bytes = options->page_bytes,
		.flags = options->region_flags | (options->is_private ? WEIR_REGION_PRIVATE : 0u),
		.numa_node = options->numa_node,
	};
}

static int pool_init(struct mem_pool *pool, const struct mem_pool_options *options,
		     const struct mem_registrar *registrar)
{
	struct fill fill = {.pool = pool};
	struct weir_region_options region;
	int rc;

	lay_out(options, &fill);
	mem_pool_region(options, &region);
	rc = weir_region_create(&region, &pool->region);
	if (rc == 0)
		rc = mem_region_register(pool->region, registrar);
	if (rc != 0)
		return rc;
	fill.keys = &pool->region->keys[registrar->slot];

	/*
	 * RTE_MEMPOOL_F_NO_SPREAD: the descriptors are next to each other, and not distributed over
	 * memory channels.
	 */
	pool->mp =
		rte_mempool_create(options->name, options->count, sizeof(struct mem_buf), 0, 0,
				   NULL, NULL, buf_init, &fill, SOCKET_ID_ANY,
				   RTE_MEMPOOL_F_SP_PUT | RTE_MEMPOOL_F_SC_GET |
					   RTE_MEMPOOL_F_NO_SPREAD | RTE_MEMPOOL_F_NO_IOVA_CONTIG);
	return pool->mp ? 0 : -rte_errno;
}

int mem_pool_create(const struct mem_pool_options *options, const struct mem_registrar *registrar,
		    struct mem_pool **out)
{
	struct mem_pool *pool;
	int rc;

	if (options->count == 0 || options->buf_bytes == 0 ||
	    options->buf_bytes > UINT32_MAX - 2 * PAGE)
		return -EINVAL;
	pool = mem_zalloc(sizeof(*pool));
	if (!pool)
		return -ENOMEM;
	pool->count = options->count;
	rc = pool_init(pool, options, registrar);
	if (rc != 0) {
		mem_pool_destroy(pool, registrar);
		return rc;
	}
	*out = pool;
	return 0;
}

void mem_pool_destroy(struct mem_pool *pool, const struct mem_registrar *registrar)
{
	if (!pool)
		return;
	rte_mempool_free(pool->mp);
	if (pool->region)
		mem_region_deregister(pool->region, registrar);
	weir_region_destroy(pool->region);
	mem_free(pool);
}

void mem_pool_abandon(struct mem_pool *pool, const struct mem_registrar *registrar)
{
	if (!pool)
		return;
	mem_region_deregister(pool->region, registrar);
	weir_region_destroy(pool->region);
	mem_free(pool);
}

struct mem_buf *mem_pool_get_slow(struct mem_pool *pool)
{
	void *buf;

	if (rte_mempool_get(pool->mp, &buf) != 0) {
		struct mem_buf *reclaimed =
			pool->reclaim ? pool->reclaim(pool, pool->reclaim_arg) : NULL;

		pool->empty += reclaimed == NULL;
		return reclaimed;
	}
	pool->in_use++;
	pool->in_use_peak = pool->in_use;
	return buf;
}
