/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLOCK_H
#define CLOCK_H

/*
 * A clock that reads the CPU's time stamp counter, which is synchronous on all cores of supported
 * machines.
 */

#include <rte_cycles.h>

struct bench_clock {
	uint64_t base; /* counter value at bench_clock_init() */
	uint64_t mult; /* a time in ns is (ticks * mult) >> 32 */
};

static inline void bench_clock_init(struct bench_clock *clock)
{
	clock->base = rte_rdtsc();
	clock->mult = (uint64_t)((1000000000.0 / (double)rte_get_tsc_hz()) * 4294967296.0);
}

static inline uint64_t bench_ticks_to_ns(const struct bench_clock *clock, uint64_t ticks)
{
	return (uint64_t)(((unsigned __int128)ticks * clock->mult) >> 32);
}

static inline uint64_t bench_ns_to_ticks(uint64_t ns)
{
	return (uint64_t)((double)ns * 1e-9 * (double)rte_get_tsc_hz());
}

/*
 * Returns the time of the clock, in ns, at the counter value 'ticks', which was read after
 * bench_clock_init(). The time is never 0.
 */
static inline uint64_t bench_clock_at(const struct bench_clock *clock, uint64_t ticks)
{
	return bench_ticks_to_ns(clock, ticks - clock->base) + 1;
}

static inline uint64_t bench_clock_ns(const struct bench_clock *clock)
{
	return bench_clock_at(clock, rte_rdtsc());
}

#endif
