/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock with which an engine measures times. It is read at the moments at which a time begins
 * or ends, because the time of the poll is the same for all events of the poll.
 *
 * The default clock is the time stamp counter of the processor, because it is read faster than
 * clock_gettime(2). Only differences of its values are used. Therefore the errors of its rate do
 * not add up.
 */
#include "latency.h"

#include <errno.h>
#include <time.h>

#include <rte_cpuflags.h>
#include <rte_cycles.h>

#include "forked.h"
#include "owner.h"

__extension__ typedef unsigned __int128 uint128;

/* Returns whether the counter has a constant rate, also while the processor sleeps. */
static bool has_constant_rate(void)
{
#ifdef RTE_ARCH_X86
	return rte_cpu_get_flag_enabled(RTE_CPUFLAG_INVTSC) > 0;
#elif defined(RTE_ARCH_ARM64)
	return true; /* the architecture requires it */
#else
	return false;
#endif
}

static uint64_t read_monotonic(void *arg)
{
	struct timespec ts;

	(void)arg;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Returns the time of the poll. */
static uint64_t read_poll(void *arg)
{
	return ((const struct weir_engine *)arg)->now_ns;
}

void engine_clock_start(struct latency *latency)
{
	uint64_t hz = has_constant_rate() ? rte_get_tsc_hz() : 0;

	latency->clock = read_monotonic;
	latency->cycle_ns = hz > 0 ? (uint64_t)(((uint128)1000000000u << 32) / hz) : 0;
}

out_of_line uint64_t engine_clock_ns(const struct weir_engine *engine)
{
	struct latency *latency = engine->latency;
	uint64_t now_ns;

	if (likely(latency->cycle_ns != 0))
		now_ns = (uint64_t)((uint128)rte_rdtsc() * latency->cycle_ns >> 32);
	else
		now_ns = latency->clock(latency->clock_arg);

	/* A thread that moves to another processor can read a smaller value. */
	if (now_ns > latency->now_ns)
		latency->now_ns = now_ns;
	return latency->now_ns;
}

int weir_engine_set_clock(struct weir_engine *engine, uint64_t (*clock)(void *arg), void *arg)
{
	if (OTHER_THREAD(engine))
		return -EPERM;
	if (engine_is_forked(engine))
		return engine_fork_refuse();
	if (engine->stats.polls > 0)
		return -EBUSY;
	if (!engine->latency)
		return 0;
	engine->latency->cycle_ns = 0;
	engine->latency->clock = clock ? clock : read_poll;
	engine->latency->clock_arg = clock ? arg : engine;
	return 0;
}
