/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and ratios that several forms of a report use. */
#include "report.h"

const char *bench_exposure_name(enum weir_exposure exposure)
{
	return exposure == WEIR_EXPOSURE_WINDOW ? "window" : "pool";
}

const char *bench_mode_name(const struct bench_options *options)
{
	if (options->side != SIDE_BOTH)
		return "remote";
	return options->use_threads ? "threads" : "processes";
}

double bench_per_rpc(uint64_t amount, uint64_t rpcs)
{
	return rpcs ? (double)amount / (double)rpcs : 0;
}
