/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weir-micro-pingpong: measures the time that one 64-byte cache line takes from one core to another
 * and back. Each side waits until the other side has written a word to the line of its direction.
 * No message between these cores can be faster.
 */
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "histogram.h"

#define WARMUP 10000u

/*
 * Two cache lines, one per direction. They are not adjacent. Otherwise a prefetcher would fetch one
 * together with the other.
 */
struct lines {
	_Alignas(256) struct {
		uint64_t payload[7];
		_Atomic uint64_t round;
	} there;
	_Alignas(256) struct {
		uint64_t payload[7];
		_Atomic uint64_t round;
	} back;
};

static void pin(unsigned long core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0) {
		perror("weir-micro-pingpong: can't run on that core");
		exit(1);
	}
}

static void answer(struct lines *lines, uint64_t rounds)
{
	for (uint64_t round = 1; round <= rounds; round++) {
		while (atomic_load_explicit(&lines->there.round, memory_order_acquire) != round)
			;
		memcpy(lines->back.payload, lines->there.payload, sizeof(lines->back.payload));
		atomic_store_explicit(&lines->back.round, round, memory_order_release);
	}
}

/* Returns the ticks of the time stamp counter per nanosecond. */
static double ticks_per_ns(void)
{
	struct timespec begin, end;
	uint64_t ticks = rte_rdtsc();
	double ns;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	usleep(50000);
	clock_gettime(CLOCK_MONOTONIC, &end);
	ticks = rte_rdtsc() - ticks;
	ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
	return (double)ticks / ns;
}

static void ask(struct lines *lines, uint64_t rounds, struct weir_histogram *hist)
{
	double scale = ticks_per_ns();

	for (uint64_t round = 1; round <= rounds; round++) {
		uint64_t begin = rte_rdtsc();

		lines->there.payload[0] = round;
		atomic_store_explicit(&lines->there.round, round, memory_order_release);
		while (atomic_load_explicit(&lines->back.round, memory_order_acquire) != round)
			;
		if (round > WARMUP)
			histogram_add(hist,
				      (uint64_t)((double)(rte_rdtsc() - begin) / scale + 0.5));
	}
}

static int usage(int status)
{
	fputs("Usage: weir-micro-pingpong [--cores A,B] [--iters N] [--json]\n"
	      "Round trips of one cache line between two cores. Defaults: 0,1 and 1000000.\n",
	      status ? stderr : stdout);
	return status;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"cores", required_argument, NULL, 'c'},
						{"iters", required_argument, NULL, 'n'},
						{"json", no_argument, NULL, 'j'},
						{"help", no_argument, NULL, 'h'},
						{NULL, 0, NULL, 0}};
	unsigned long cores[2] = {0, 1}, iters = 1000000;
	static struct weir_histogram hist;
	struct lines *lines;
	bool json = false;
	int opt, status;
	pid_t child;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'c':
			if (sscanf(optarg, "%lu,%lu", &cores[0], &cores[1]) != 2 ||
			    cores[0] >= CPU_SETSIZE || cores[1] >= CPU_SETSIZE ||
			    cores[0] == cores[1])
				return usage(2);
			break;
		case 'n':
			iters = strtoul(optarg, NULL, 10);
			if (iters == 0 || iters > 1000000000)
				return usage(2);
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			return usage(0);
		default:
			return usage(2);
		}
	}
	pin(cores[1]); /* the child's core is checked here, because the child cannot report an error
			*/
	lines = mmap(NULL, sizeof(*lines), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	child = lines == MAP_FAILED ? -1 : fork();
	if (child < 0) {
		perror("weir-micro-pingpong");
		return 1;
	}
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		answer(lines, iters + WARMUP);
		_exit(0);
	}
	pin(cores[0]);
	histogram_init(&hist);
	ask(lines, iters + WARMUP, &hist);
	waitpid(child, &status, 0);
	printf(json ? "{\"rounds\": %lu, \"min_ns\": %llu, \"p50_ns\": %llu, \"p99_ns\": %llu, "
		      "\"p999_ns\": %llu}\n"
		    : "%lu round trips: min %llu, p50 %llu, p99 %llu, p99.9 %llu ns\n",
	       iters, (unsigned long long)histogram_min(&hist),
	       (unsigned long long)histogram_quantile(&hist, 0.5),
	       (unsigned long long)histogram_quantile(&hist, 0.99),
	       (unsigned long long)histogram_quantile(&hist, 0.999));
	return 0;
}
