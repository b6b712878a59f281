/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PAIR_MEMORY_H
#define PAIR_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/engine.h>

#define PAIR_MEMORY_BYTES (4u << 20)

/* A region of the engine's of so many bytes, of zeros or of pair_byte(0), (1), ...; where it
 * begins. */
uint8_t *pair_memory_make(struct weir_engine *engine, bool is_pattern, struct weir_region **region);
/* It is registered nowhere any more. */
void pair_memory_end(struct weir_region *region);

#endif
