/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the times of procedures. */
#include "metrics_times.h"

#include <stdio.h>

/*
 * The bounds of buckets. Each power of two has two of them, from 1 us to 34 s. They are ends of
 * buckets of the process, so that each count is exact.
 */
#define FIRST_BOUND 32u	 /* the bucket whose end is 1023 ns */
#define LAST_BOUND  232u /* the bucket whose end is 2^35 - 1 ns */
#define BOUND_STEP  4u

static const struct family durations = {
	.name = "weir_rpc_duration_seconds",
	.unit = "seconds",
	.help = "Times of calls until they ended, or of requests until their reply was posted.",
	.type = FAMILY_HISTOGRAM,
};

/* Writes a sample of a procedure up to its value, or to a further label. */
static void begin_sample(const struct family_out *out, const struct family *family,
			 const char *suffix, const struct process *process,
			 const struct watch_procedure *procedure)
{
	family_name(out, family, suffix);
	family_label(out, '{', "process", process->name);
	family_label(out, ',', "side", procedure->is_requester ? "requester" : "responder");
	family_label_number(out, ',', "program", procedure->prog);
	family_label(out, ',', "version", procedure->versions);
	family_label_number(out, ',', "procedure", procedure->proc);
}

static void print_histogram(const struct family_out *out, const struct process *process,
			    const struct watch_procedure *procedure)
{
	const struct watch_times *times = &procedure->times;
	uint64_t below = 0;

	for (uint32_t i = 0; i <= LAST_BOUND; i++) {
		char bound[32];

		below += times->buckets[i];
		if (i < FIRST_BOUND || (i - FIRST_BOUND) % BOUND_STEP != 0)
			continue;
		snprintf(bound, sizeof(bound), "%.12g", (double)watch_bucket_high(i) / 1e9);
		begin_sample(out, &durations, "_bucket", process, procedure);
		family_label(out, ',', "le", bound);
		family_value(out, below);
	}
	begin_sample(out, &durations, "_bucket", process, procedure);
	family_label(out, ',', "le", "+Inf");
	family_value(out, times->count);
	begin_sample(out, &durations, "_count", process, procedure);
	family_value(out, times->count);
	begin_sample(out, &durations, "_sum", process, procedure);
	family_seconds(out, times->sum_ns);
}

static void print_stages(const struct family_out *out, const struct family *family,
			 const struct process *process, const struct watch_procedure *procedure)
{
	for (uint32_t s = 0; s < procedure->nstages; s++) {
		const struct watch_stage *stage = &procedure->stages[s];

		begin_sample(out, family, "_count", process, procedure);
		family_label(out, ',', "stage", stage->name);
		family_value(out, stage->count);
		begin_sample(out, family, "_sum", process, procedure);
		family_label(out, ',', "stage", stage->name);
		family_seconds(out, stage->sum_ns);
	}
}

void metrics_times(const struct family_out *out, struct process *const *processes, uint32_t n)
{
	static const struct family stages = {
		.name = "weir_rpc_stage_seconds",
		.unit = "seconds",
		.help = "Times that these calls and requests spent in each stage.",
		.type = FAMILY_SUMMARY,
	};
	static const struct family unlisted = {
		.name = "weir_procedures_unlisted",
		.help = "Procedures whose times were not read.",
		.type = FAMILY_GAUGE,
	};

	family_begin(out, &durations);
	for (uint32_t i = 0; i < n; i++) {
		const struct watch_procedures *all = &processes[i]->state.procedures;

		for (uint32_t p = 0; processes[i]->is_up && p < all->n; p++)
			print_histogram(out, processes[i], &all->procedures[p]);
	}
	family_begin(out, &stages);
	for (uint32_t i = 0; i < n; i++) {
		const struct watch_procedures *all = &processes[i]->state.procedures;

		for (uint32_t p = 0; processes[i]->is_up && p < all->n; p++)
			print_stages(out, &stages, processes[i], &all->procedures[p]);
	}
	family_begin(out, &unlisted);
	for (uint32_t i = 0; i < n; i++) {
		if (!processes[i]->is_up)
			continue;
		family_name(out, &unlisted, NULL);
		family_label(out, '{', "process", processes[i]->name);
		family_value(out, processes[i]->state.procedures.left_out);
	}
}
