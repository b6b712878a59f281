/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the CPU cost of threads that poll. */
#include "cpu.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

void bench_cpu_add(struct bench_cpu *into, const struct bench_cpu *from)
{
	into->busy_ticks += from->busy_ticks;
	into->total_ticks += from->total_ticks;
	into->instructions += from->instructions;
	into->threads += from->threads;
	into->counted += from->counted;
}

double bench_cpu_busy_ratio(const struct bench_cpu *cpu)
{
	return cpu->total_ticks ? (double)cpu->busy_ticks / (double)cpu->total_ticks : 0;
}

int bench_cpu_open(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

uint64_t bench_cpu_read(int counter)
{
	uint64_t value;

	return counter >= 0 && read(counter, &value, sizeof(value)) == sizeof(value) ? value : 0;
}

void bench_cpu_close(int counter)
{
	if (counter >= 0)
		close(counter);
}
