/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ALLOC_H
#define ALLOC_H

/* The heap, counted: after start-up nothing of weir allocates, and a counter shows it. */

#include <stddef.h>
#include <stdint.h>

/* Zeroed, on a cache line; NULL when there is no memory. */
void *mem_zalloc(size_t bytes);
void mem_free(void *p);

/* mem_zalloc() calls of this process so far. Any thread. */
uint64_t mem_alloc_count(void);

#endif
