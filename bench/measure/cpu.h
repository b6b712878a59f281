/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CPU_H
#define CPU_H

/*
 * The CPU cost of polling threads: the time of polls that found work, from the time stamp counter,
 * and the instructions, from the CPU's counter if this machine lets a process use one.
 */

#include <stdbool.h>
#include <stdint.h>

/* The cost during a measured time. The costs of several threads can be summed. */
struct bench_cpu {
	uint64_t busy_ticks;  /* ticks of the time stamp counter in rounds that found work */
	uint64_t total_ticks; /* ticks of all rounds */
	uint64_t instructions;
	uint32_t threads;
	uint32_t counted; /* number of threads whose instructions were counted */
};

void bench_cpu_add(struct bench_cpu *into, const struct bench_cpu *from);

/* Returns true when the instructions of all threads were counted. */
static inline bool bench_cpu_has_instructions(const struct bench_cpu *cpu)
{
	return cpu->threads > 0 && cpu->counted == cpu->threads;
}

double bench_cpu_busy_ratio(const struct bench_cpu *cpu);

/*
 * Opens a counter of the calling thread's instructions outside the kernel. Returns -1 when there is
 * none on this machine.
 */
int bench_cpu_open(void);
/* Returns 0 for the counter -1. */
uint64_t bench_cpu_read(int counter);
void bench_cpu_close(int counter);

#endif
