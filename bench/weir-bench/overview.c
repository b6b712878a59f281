/* SPDX-License-Identifier: BSD-3-Clause */
/* The loads of --overview. */
#include "overview.h"

static const struct {
	enum bench_workload workload;
	uint32_t size_bytes, depth;
} loads[] = {
	{WORKLOAD_NULL, 64, 1},
	{WORKLOAD_READ, 4096, 1},
	{WORKLOAD_WRITE, 4096, 1},
	{WORKLOAD_READ, 4096, OVERVIEW_DEPTH_MAX},
	{WORKLOAD_WRITE, 4096, OVERVIEW_DEPTH_MAX},
	{WORKLOAD_MIXED, 4096, OVERVIEW_DEPTH_MAX},
	{WORKLOAD_READ, OVERVIEW_SIZE_MAX, 8},
	{WORKLOAD_WRITE, OVERVIEW_SIZE_MAX, 8},
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
	point->read_percent = OVERVIEW_READ_PERCENT;
}
