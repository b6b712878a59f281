/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocations that are counted: from the heap, and of address space for large tables. alloc.h
 * describes the functions.
 */
#include "alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CACHE_LINE 64u

static _Atomic uint64_t count;

void *mem_zalloc(size_t bytes)
{
	void *p;

	if (bytes == 0 || bytes > SIZE_MAX - CACHE_LINE)
		return NULL;
	bytes = (bytes + CACHE_LINE - 1) & ~(size_t)(CACHE_LINE - 1);
	p = aligned_alloc(CACHE_LINE, bytes);
	if (!p)
		return NULL;
	atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
	return memset(p, 0, bytes);
}

void mem_free(void *p)
{
	free(p);
}

void *mem_reserve(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
	return p;
}

void mem_unreserve(void *p, size_t bytes)
{
	if (p)
		munmap(p, bytes);
}

uint64_t mem_alloc_count(void)
{
	return atomic_load_explicit(&count, memory_order_relaxed);
}
