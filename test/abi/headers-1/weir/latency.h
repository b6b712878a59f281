/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_LATENCY_H
#define WEIR_LATENCY_H

#include <weir/common.h>
#include <weir/histogram.h>

WEIR_BEGIN_DECLS

struct weir_engine;

#define WEIR_LATENCY_PROCEDURES 128u

struct weir_procedure_latency {
	size_t struct_bytes;
	enum weir_side side;
	uint32_t prog;
	uint32_t vers_low;
	uint32_t vers_high;
	uint32_t proc;
	const struct weir_histogram *histogram;
};

WEIR_API uint32_t weir_engine_procedures(const struct weir_engine *engine,
					 struct weir_procedure_latency *infos, uint32_t n);

WEIR_END_DECLS

#endif
