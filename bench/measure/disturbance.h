/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DISTURBANCE_H
#define DISTURBANCE_H

/*
 * Measures how much other programs and the hypervisor disturbed threads that poll, and judges
 * whether the figures of these threads can be trusted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DISTURBANCE_STEAL_MAX	 0.01	  /* part of the time */
#define DISTURBANCE_SWITCHES_MAX 100.0	  /* for each thread and second */
#define DISTURBANCE_GAP_MAX_NS	 10000000 /* 10 ms */

/* The disturbance of one thread in its measured time, or that of several threads and runs. */
struct disturbance {
	double steal_ratio; /* largest part of the time that the hypervisor took from a CPU */
	/*
	 * The members below are those of threads that poll without a pause. A thread that yields or
	 * sleeps is switched, and does not poll, because it wants to.
	 */
	uint64_t switches;     /* involuntary context switches of all threads */
	double switches_per_s; /* of the thread with the most */
	uint64_t gap_ns;       /* longest time between two polls of a thread */
	bool has_pollers;      /* there is such a thread */
};

/* The state of the calling thread when its measured time begins. */
struct disturbance_begin {
	uint64_t switches;
	double steal_seconds;
	uint32_t ncpus; /* number of CPUs that 'steal_seconds' is about */
	int cpu;	/* the only CPU of the thread; -1: it has several */
};

void disturbance_begin(struct disturbance_begin *begin);

/*
 * Returns the disturbance of the calling thread since disturbance_begin(). 'seconds' is the time
 * since then, and gap_ns the longest time between two polls. 'pauses' is true for a thread that
 * yields or sleeps.
 */
struct disturbance disturbance_end(const struct disturbance_begin *begin, double seconds,
				   uint64_t gap_ns, bool pauses);

/* Adds the disturbance of further threads or runs. */
void disturbance_add(struct disturbance *into, const struct disturbance *from);

/*
 * Returns whether figures with this disturbance can be trusted. If not, 'why' contains the first
 * reason.
 */
bool disturbance_is_low(const struct disturbance *disturbance, char *why, size_t why_bytes);

/*
 * Parses the text of /proc/stat. Returns the seconds that the hypervisor took from CPU number
 * 'cpu', or from all CPUs together if 'cpu' is -1. Returns 0 if the text does not contain them.
 */
double disturbance_steal(const char *stat, int cpu, long ticks_per_second);

#endif
