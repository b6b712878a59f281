/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ALLOC_H
#define ALLOC_H

/* The heap, counted: after start-up nothing of weir allocates, and a counter shows it. */

#include <stddef.h>
#include <stdint.h>

/* Zeroed, on a cache line; NULL when there is no memory. */
void *mem_zalloc(size_t bytes);
void mem_free(void *p);

/* The same for tables that are sized for the most there can be, of which little may ever be used:
 * each page is taken when it is first touched. Of whole pages, and not of the heap. */
void *mem_reserve(size_t bytes);
void mem_unreserve(void *p, size_t bytes); /* NULL is allowed */

/* Allocations of both kinds by this process so far. Any thread. */
uint64_t mem_alloc_count(void);

#endif
