/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ALLOC_H
#define ALLOC_H

/* Allocations that are counted. After start-up weir allocates nothing, and the counter can prove
 * it. */

#include <stddef.h>
#include <stdint.h>

/* Allocates zeroed memory that is aligned to a cache line. 'bytes' must not be 0. Returns NULL if
 * there is no memory. mem_free() frees the memory, and accepts NULL. */
void *mem_zalloc(size_t bytes);
void mem_free(void *p);

/*
 * Reserves zeroed memory for a large table of which perhaps only a small part is used. The memory
 * consists of whole pages, and is mapped instead of taken from the heap. The kernel allocates each
 * page when it is first touched. Returns NULL if there is no address space. mem_unreserve() frees
 * the memory. Its 'bytes' must be those of mem_reserve().
 */
void *mem_reserve(size_t bytes);
void mem_unreserve(void *p, size_t bytes); /* accepts NULL */

/* Returns how many times mem_zalloc() and mem_reserve() have succeeded in this process. Any thread
 * may call this function. */
uint64_t mem_alloc_count(void);

#endif
