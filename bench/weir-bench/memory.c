/* SPDX-License-Identifier: BSD-3-Clause */
/* What a load takes of memory, so that one that takes more than there is ends before it begins, and not by the kernel's hand. */
#include <stdio.h>

#include "options.h"

/* What calls and READs have, by the sides that are here. */
static uint64_t data_bytes(const struct bench_options *o)
{
	uint64_t largest = bench_largest_bytes(o), bytes = 0;

	if (o->side != SIDE_RESPONDER)
		bytes += bench_lanes(o, bench_active(o)) * largest;
	if (o->side != SIDE_REQUESTER)
		bytes += o->working_set_bytes > largest ? o->working_set_bytes : largest;
	return bytes;
}

/* What data and engines take, here. Little else grows with the load. */
static uint64_t needed_bytes(const struct bench_options *o)
{
	const struct weir_profile *p = &o->profile;
	uint64_t engines = o->nlcores > 0 ? o->nlcores : 1;

	if (o->side == SIDE_BOTH && engines < 2)
		engines = 2;
	return data_bytes(o) + engines * ((uint64_t)p->long_buffers * p->long_buffer_bytes +
					  (uint64_t)p->bulk_buffers * p->bulk_buffer_bytes +
					  ((uint64_t)p->send_buffers + p->recv_buffers) * p->inline_bytes);
}

/* Ordinary pages that can be had without swapping, and free hugepages. UINT64_MAX: the kernel does not say. */
static uint64_t available_bytes(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long value, available = 0, huge = 0, huge_kib = 0;
	char line[256];

	if (!file)
		return UINT64_MAX;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemAvailable: %llu", &value) == 1)
			available = value;
		else if (sscanf(line, "HugePages_Free: %llu", &value) == 1)
			huge = value;
		else if (sscanf(line, "Hugepagesize: %llu", &value) == 1)
			huge_kib = value;
	}
	fclose(file);
	return available ? (available + huge * huge_kib) << 10 : UINT64_MAX;
}

int bench_memory_check(const struct bench_options *options)
{
	uint64_t available = available_bytes();

	for (uint32_t i = 0; i < bench_options_points(options); i++) {
		struct bench_options point;
		uint64_t needed;

		bench_options_point(options, i, &point);
		needed = needed_bytes(&point);
		if (needed <= available)
			continue;
		fprintf(stderr,
			"weir-bench: %u bytes at depth %u with %u connection%s take some %llu MiB of memory, "
			"of which %llu "
			"are available: lower --size, --depth or --connections\n",
			bench_largest_bytes(&point), point.depth, point.connections,
			point.connections == 1 ? "" : "s", (unsigned long long)needed >> 20,
			(unsigned long long)available >> 20);
		return -1;
	}
	return 0;
}
