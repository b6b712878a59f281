/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the combinations of a sweep, and makes the options of each. */
#include "options.h"
#include "overview.h"

static uint32_t at_least_one(uint32_t n)
{
	return n > 0 ? n : 1;
}

uint32_t bench_options_points(const struct bench_options *options)
{
	const struct bench_sweep *sweep = &options->sweep;

	if (options->is_overview)
		return bench_overview_points();
	return at_least_one(sweep->sizes.n) * at_least_one(sweep->depths.n) *
	       at_least_one(sweep->connections.n) * at_least_one(sweep->rates.n);
}

/*
 * Removes the lowest digit of *number. Returns the value of the range that this digit selects. Each
 * range is a digit of the number, with the size of the range as its base.
 */
static uint64_t take(const struct bench_range *range, uint32_t *number)
{
	uint64_t value = range->values[*number % range->n];

	*number /= range->n;
	return value;
}

void bench_options_point(const struct bench_options *options, uint32_t number,
			 struct bench_options *point)
{
	*point = *options;
	if (options->is_overview) {
		point->connections = (uint32_t)options->sweep.connections.values[0];
		bench_overview_point(number, point);
	} else {
		point->rate = take(&options->sweep.rates, &number);
		point->connections = (uint32_t)take(&options->sweep.connections, &number);
		point->depth = (uint32_t)take(&options->sweep.depths, &number);
		point->size_bytes = (uint32_t)take(&options->sweep.sizes, &number);
	}
	if (!options->has_read_size)
		point->read_bytes = point->size_bytes;
	if (!options->has_write_size)
		point->write_bytes = point->size_bytes;
	bench_size_buffers(point);
}
