/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the memory that a load needs. A load that needs too much memory is refused before it
 * begins. Otherwise the kernel would kill the process.
 */
#include <stdio.h>

#include "memory_room.h"
#include "needs.h"
#include "options.h"

/*
 * Returns the bytes that the data of calls and the working set of READs take, for the sides that
 * run in this program.
 */
static uint64_t data_bytes(const struct bench_options *o)
{
	uint64_t largest = bench_largest_bytes(o), bytes = 0;

	if (o->side != SIDE_RESPONDER)
		bytes += bench_load_slots(o, bench_active(o)) * largest;
	if (o->side != SIDE_REQUESTER)
		bytes += o->working_set_bytes > largest ? o->working_set_bytes : largest;
	return bytes;
}

/*
 * Returns the bytes that data and engines take in this program. Other memory hardly grows with the
 * load.
 */
static uint64_t needed_bytes(const struct bench_options *o)
{
	uint64_t bytes = data_bytes(o);

	if (o->nlcores > 0)
		bytes += needs_bytes(&o->profile, o->lcores, o->nlcores);
	else
		bytes += needs_bytes(&o->profile, NULL, 1);
	if (o->side == SIDE_BOTH && o->nlcores < 2) /* two engines on one core */
		bytes += needs_bytes(&o->profile, o->nlcores > 0 ? o->lcores : NULL, 1);
	return bytes;
}

int bench_memory_check(const struct bench_options *options)
{
	struct memory_room room;

	memory_room("", &room);
	for (uint32_t i = 0; i < bench_options_points(options); i++) {
		struct bench_options point;
		uint64_t needed;

		bench_options_point(options, i, &point);
		needed = needed_bytes(&point);
		if (needed <= room.bytes)
			continue;
		fprintf(stderr,
			"weir-bench: %u bytes at depth %u with %u connection%s need about %llu MiB "
			"of memory, but %llu MiB are available (%s): lower --size, --depth or "
			"--connections, or raise that limit\n",
			bench_largest_bytes(&point), point.depth, point.connections,
			point.connections == 1 ? "" : "s", (unsigned long long)needed >> 20,
			(unsigned long long)room.bytes >> 20, room.limited_by);
		return -1;
	}
	return 0;
}
