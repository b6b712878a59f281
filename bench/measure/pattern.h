/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PATTERN_H
#define PATTERN_H

/*
 * An endless sequence of bytes that both the sender and the receiver of data know, so that each
 * byte can be checked.
 */

#include <stdbool.h>
#include <stdint.h>

/*
 * The period of the sequence in bytes. It is long and prime. If the sequence is shifted by a power
 * of two, it therefore differs from itself.
 */
#define BENCH_PERIOD 65521u

/*
 * bench_pattern_fill() writes 'len' bytes of the sequence from 'offset' on. bench_pattern_matches()
 * returns true if 'src' has these bytes.
 */
void bench_pattern_fill(uint8_t *dst, uint64_t offset, uint32_t len);
bool bench_pattern_matches(const uint8_t *src, uint64_t offset, uint32_t len);

#endif
