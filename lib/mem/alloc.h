/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ALLOC_H
#define ALLOC_H

/* Counted allocations from the heap. After start-up weir allocates nothing, and the counter can
 * prove it. */

#include <stddef.h>
#include <stdint.h>

/* Returns zeroed memory that is aligned to a cache line. NULL: no memory. */
void *mem_zalloc(size_t bytes);
void mem_free(void *p);

/*
 * Does the same for large tables of which perhaps only a small part is used. The kernel allocates
 * each page when it is first touched. The memory consists of whole pages and is not from the heap.
 */
void *mem_reserve(size_t bytes);
void mem_unreserve(void *p, size_t bytes); /* accepts NULL */

/* Returns how many allocations of both kinds this process has made. Any thread. */
uint64_t mem_alloc_count(void);

#endif
