/* SPDX-License-Identifier: BSD-3-Clause */
/* The loads of --overview. */
#include "overview.h"

static const struct {
	const char *name;
	enum bench_workload workload;
	uint32_t size_bytes, depth;
} loads[] = {
	{"null", WORKLOAD_NULL, 64, 1},
	{"read", WORKLOAD_READ, 4096, 1},
	{"write", WORKLOAD_WRITE, 4096, 1},
	{"read", WORKLOAD_READ, 4096, OVERVIEW_DEPTH_MAX},
	{"write", WORKLOAD_WRITE, 4096, OVERVIEW_DEPTH_MAX},
	{"70/30 mix", WORKLOAD_MIXED, 4096, OVERVIEW_DEPTH_MAX},
	{"read", WORKLOAD_READ, OVERVIEW_SIZE_MAX, 8},
	{"write", WORKLOAD_WRITE, OVERVIEW_SIZE_MAX, 8},
};

#define NLOADS ((uint32_t)(sizeof(loads) / sizeof(loads[0])))

uint32_t bench_overview_points(void)
{
	return NLOADS;
}

void bench_overview_point(uint32_t number, struct bench_options *point)
{
	point->workload = loads[number].workload;
	point->size_bytes = loads[number].size_bytes;
	point->depth = loads[number].depth;
	point->read_percent = 70;
}

const char *bench_overview_name(uint32_t number)
{
	return loads[number].name;
}

uint32_t bench_overview_number(const struct bench_options *point)
{
	uint32_t i = 0;

	while (i + 1 < NLOADS &&
	       (loads[i].workload != point->workload || loads[i].depth != point->depth ||
		loads[i].size_bytes != point->size_bytes))
		i++;
	return i;
}
