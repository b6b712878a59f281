/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PAIR_MEMORY_H
#define PAIR_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/engine.h>

#define PAIR_MEMORY_BYTES (4u << 20)

/*
 * Registers a region with the engine. If 'is_pattern' is set, the memory is filled with
 * pair_byte(0), pair_byte(1) and so on. Otherwise it is filled with zeros. Returns the address of
 * the memory.
 */
uint8_t *pair_memory_make(struct weir_engine *engine, bool is_pattern, struct weir_region **region);
/* Takes back the memory of a region. The region must be registered with no engine. */
void pair_memory_end(struct weir_region *region);

#endif
