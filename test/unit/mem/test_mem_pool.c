/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of buffer pools: the number of buffers is limited, each buffer has its own memory, and no
 * buffer is lost between threads.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_lcore.h>

#include "eal.h"
#include "mem.h"

#define RADDR 0x70000000ull

static int fake_error;

static int fake_reg(void *ctx, void *base, size_t len, bool remote, int fd, uint64_t fd_offset,
		    struct mem_keys *keys)
{
	(void)ctx, (void)base, (void)len, (void)fd, (void)fd_offset;
	if (fake_error)
		return fake_error;
	keys->lkey = 21;
	keys->rkey = remote ? 22 : 0;
	keys->raddr = remote ? RADDR : 0;
	return 0;
}

static void fake_dereg(void *ctx, struct mem_keys *keys)
{
	(void)ctx;
	assert_int_equal(keys->lkey, 21);
}

static const struct mem_registrar registrar = {.slot = 2, .reg = fake_reg, .dereg = fake_dereg};

static struct mem_pool *create(const char *name, uint32_t count, uint32_t bytes, bool is_private)
{
	struct mem_pool_options options = {
		.name = name,
		.count = count,
		.buf_bytes = bytes,
		.is_private = is_private,
		.page_bytes = 4096,
		.numa_node = -1,
	};
	struct mem_pool *pool = NULL;

	assert_int_equal(mem_pool_create(&options, &registrar, &pool), 0);
	return pool;
}

static int by_data(const void *a, const void *b)
{
	const struct mem_buf *const *x = a, *const *y = b;

	return (*x)->data < (*y)->data ? -1 : (*x)->data > (*y)->data;
}

/* Takes all buffers, checks each of them, and puts all of them back. Returns their number. */
static uint32_t drain(struct mem_pool *pool)
{
	struct mem_buf **bufs = calloc(pool->count + 1, sizeof(bufs[0]));
	uint32_t n = 0;

	assert_non_null(bufs);
	while (n <= pool->count && (bufs[n] = mem_pool_get(pool)))
		n++;
	qsort(bufs, n, sizeof(bufs[0]), by_data);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(mem_region_covers(pool->region, bufs[i]->data, bufs[i]->size_bytes));
		if (i > 0)
			assert_true(bufs[i - 1]->data + bufs[i - 1]->size_bytes <= bufs[i]->data);
		mem_pool_put(bufs[i]);
	}
	free(bufs);
	return n;
}

static void get__gives_all_and_no_more(void **state)
{
	static const uint32_t counts[] = {1, 3, 4, 63, 64, 1000, 1024, 5000};
	char name[20];

	(void)state;
	for (size_t i = 0; i < RTE_DIM(counts); i++) {
		struct mem_pool *pool;

		snprintf(name, sizeof(name), "counts_%u", counts[i]);
		pool = create(name, counts[i], 256, true);
		for (uint64_t round = 1; round <= 3; round++) {
			assert_int_equal(drain(pool), counts[i]);
			assert_int_equal(pool->in_use, 0);
			assert_int_equal(pool->in_use_peak, counts[i]);
			assert_int_equal(pool->empty, round);
		}
		mem_pool_destroy(pool, &registrar);
	}
}

/* Checks that in each buffer the byte at 'align_at', which need not be the first, is aligned. */
static void get__aligned_as_it_was_asked_for(void **state)
{
	static const struct {
		uint32_t bytes, align, align_at;
	} cases[] = {{9216, 4096, 1024},
		     {7168, 2048, 1024},
		     {1536, 512, 512},
		     {100, 4096, 64},
		     {8192, 4096, 4096}};

	(void)state;
	for (size_t i = 0; i < RTE_DIM(cases); i++) {
		struct mem_pool_options options = {
			.name = "aligned",
			.count = 20,
			.buf_bytes = cases[i].bytes,
			.align = cases[i].align,
			.align_at = cases[i].align_at,
			.is_private = true,
			.page_bytes = 4096,
			.numa_node = -1,
		};
		struct mem_buf *bufs[20];
		struct mem_pool *pool;

		assert_int_equal(mem_pool_create(&options, &registrar, &pool), 0);
		for (uint32_t k = 0; k < 20; k++) {
			bufs[k] = mem_pool_get(pool);
			assert_int_equal(
				((uintptr_t)bufs[k]->data + cases[i].align_at) % cases[i].align, 0);
			assert_true(bufs[k]->size_bytes >= cases[i].bytes);
		}
		for (uint32_t k = 0; k < 20; k++)
			mem_pool_put(bufs[k]);
		assert_int_equal(drain(pool), 20);
		mem_pool_destroy(pool, &registrar);
	}
}

static void get__describes_the_buffer(void **state)
{
	struct mem_pool *pool = create("describe", 8, 100, false);
	struct mem_buf *buf = mem_pool_get(pool);

	(void)state;
	assert_non_null(buf);
	assert_int_equal(buf->size_bytes, 128); /* a multiple of the cache line */
	assert_int_equal((uintptr_t)buf->data % 64, 0);
	assert_int_equal(buf->lkey, 21);
	assert_int_equal(buf->rkey, 22);
	assert_ptr_equal(buf->pool, pool);
	assert_true(buf->raddr == RADDR + (uint64_t)(buf->data - pool->region->base));
	assert_true(pool->region->fd >= 0);
	/*
	 * The descriptor is outside of the region, so that a peer that can write the data cannot
	 * write the descriptor.
	 */
	assert_false(mem_region_covers(pool->region, buf, 1));
	mem_pool_put(buf);
	mem_pool_destroy(pool, &registrar);

	pool = create("private", 8, 100, true);
	buf = mem_pool_get(pool);
	assert_int_equal(buf->rkey, 0);
	assert_int_equal(pool->region->fd, -1);
	mem_pool_put(buf);
	mem_pool_destroy(pool, &registrar);
}

/*
 * Checks that a pool returns first the buffer that was put back last, because its cache lines are
 * still in the cache.
 */
static void put__is_last_in_first_out(void **state)
{
	struct mem_pool *pool = create("lifo", 1024, 64, true);
	struct mem_buf *first = mem_pool_get(pool);

	(void)state;
	mem_pool_put(first);
	for (int i = 0; i < 100; i++) {
		struct mem_buf *buf = mem_pool_get(pool);

		assert_ptr_equal(buf, first);
		mem_pool_put(buf);
	}
	mem_pool_destroy(pool, &registrar);
}

static void *drain_elsewhere(void *arg)
{
	struct mem_pool *pool = arg;

	assert_int_equal((int)rte_lcore_id(), (int)LCORE_ID_ANY);
	return (void *)(uintptr_t)drain(pool);
}

/*
 * Checks a pool that is created and used in one thread, and then used in another thread, which EAL
 * does not know.
 */
static void get__owner_moves_to_another_thread(void **state)
{
	struct mem_pool *pool = create("moves", 2048, 64, true);
	pthread_t thread;
	void *n;

	(void)state;
	assert_int_equal(drain(pool), 2048);
	assert_int_equal(pthread_create(&thread, NULL, drain_elsewhere, pool), 0);
	assert_int_equal(pthread_join(thread, &n), 0);
	assert_int_equal((uintptr_t)n, 2048);
	assert_int_equal(drain(pool), 2048);
	mem_pool_destroy(pool, &registrar);
}

static void create__errors_leave_nothing(void **state)
{
	struct mem_pool_options options = {
		.name = "bad", .count = 8, .buf_bytes = 64, .numa_node = -1};
	struct mem_pool *pool = NULL, *other;

	(void)state;
	options.count = 0;
	assert_int_equal(mem_pool_create(&options, &registrar, &pool), -EINVAL);
	options.count = 8;
	options.buf_bytes = 0;
	assert_int_equal(mem_pool_create(&options, &registrar, &pool), -EINVAL);
	options.buf_bytes = UINT32_MAX;
	assert_int_equal(mem_pool_create(&options, &registrar, &pool), -EINVAL);
	options.buf_bytes = 64;
	fake_error = -EPERM;
	assert_int_equal(mem_pool_create(&options, &registrar, &pool), -EPERM);
	fake_error = 0;
	other = create("bad", 8, 64, true);
	assert_int_equal(mem_pool_create(&options, &registrar, &pool), -EEXIST);
	assert_null(pool);
	mem_pool_destroy(other, &registrar);
	assert_int_equal(mem_pool_create(&options, &registrar, &pool), 0);
	mem_pool_destroy(pool, &registrar);
	mem_pool_destroy(NULL, &registrar);
}

static cpu_set_t cpus_before;

/*
 * Checks that the start of EAL pins no thread: the thread of the application can still run on the
 * same cores.
 */
static void eal__is_started_once_and_pins_nothing(void **state)
{
	cpu_set_t now;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
	assert_true(CPU_EQUAL(&now, &cpus_before));
	assert_int_equal(rte_lcore_count(), 1);
	assert_int_equal(mem_eal_start(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eal__is_started_once_and_pins_nothing),
		cmocka_unit_test(get__gives_all_and_no_more),
		cmocka_unit_test(get__aligned_as_it_was_asked_for),
		cmocka_unit_test(get__describes_the_buffer),
		cmocka_unit_test(put__is_last_in_first_out),
		cmocka_unit_test(get__owner_moves_to_another_thread),
		cmocka_unit_test(create__errors_leave_nothing),
	};

	if (sched_getaffinity(0, sizeof(cpus_before), &cpus_before) != 0 ||
	    mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
