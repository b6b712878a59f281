/* SPDX-License-Identifier: BSD-3-Clause */
/* The upper-layer binding of the bench's RPC program. */
#include "program.h"

static const struct weir_ulb_proc procs[] = {
	{.proc = BENCH_READ, .result_items_max = 1},
	{.proc = BENCH_WRITE, .arg_items_max = 1},
};

const struct weir_ulb bench_ulb = {
	.struct_bytes = sizeof(bench_ulb),
	.name = "weir bench",
	.prog = BENCH_PROG,
	.vers_low = BENCH_VERS,
	.vers_high = BENCH_VERS,
	.procs = procs,
	.nprocs = sizeof(procs) / sizeof(procs[0]),
};
