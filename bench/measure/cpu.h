/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CPU_H
#define CPU_H

/*
 * Measures the CPU cost of threads that poll: the time of polls that found work, from the time
 * stamp counter, and the number of instructions, from the CPU's counter of instructions if this
 * process is allowed to use it.
 */

#include <stdbool.h>
#include <stdint.h>

/* The CPU cost during a measured time. The costs of several threads can be summed. */
struct bench_cpu {
	uint64_t busy_ticks;  /* ticks of the time stamp counter in rounds that found work */
	uint64_t total_ticks; /* ticks of all rounds */
	uint64_t instructions;
	uint32_t threads; /* number of threads whose costs are included */
	uint32_t counted; /* number of threads whose instructions were counted */
};

void bench_cpu_add(struct bench_cpu *into, const struct bench_cpu *from);

/* Returns true if the instructions of all threads were counted. */
static inline bool bench_cpu_has_instructions(const struct bench_cpu *cpu)
{
	return cpu->threads > 0 && cpu->counted == cpu->threads;
}

/* Returns the part of the time that was spent in rounds that found work, from 0 to 1. */
double bench_cpu_busy_ratio(const struct bench_cpu *cpu);

/*
 * Opens a counter of the calling thread's instructions outside the kernel. Returns a descriptor, or
 * -1 if this process cannot use such a counter.
 */
int bench_cpu_open(void);
/* Returns the number of instructions so far, or 0 for the counter -1. */
uint64_t bench_cpu_read(int counter);
void bench_cpu_close(int counter);

#endif
