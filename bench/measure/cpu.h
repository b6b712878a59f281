/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CPU_H
#define CPU_H

/*
 * What polling threads cost: the time of polls that found work, by the time stamp counter, and
 * instructions, by the CPU's counter where this machine lets a process have one.
 */

#include <stdbool.h>
#include <stdint.h>

/* Of a measured time; those of several threads can be added up. */
struct bench_cpu {
	uint64_t busy_ticks; /* of the time stamp counter, in turns of the poll loop that found work
			      */
	uint64_t total_ticks; /* in all */
	uint64_t instructions;
	uint32_t threads;
	uint32_t counted; /* of these, those whose instructions were counted */
};

void bench_cpu_add(struct bench_cpu *into, const struct bench_cpu *from);

/* All threads' instructions are known. */
static inline bool bench_cpu_has_instructions(const struct bench_cpu *cpu)
{
	return cpu->threads > 0 && cpu->counted == cpu->threads;
}

double bench_cpu_busy_ratio(const struct bench_cpu *cpu);

/* A counter of the calling thread's instructions outside the kernel. -1: not available here. */
int bench_cpu_open(void);
/* 0 for a counter that is not there. */
uint64_t bench_cpu_read(int counter);
void bench_cpu_close(int counter);

#endif
