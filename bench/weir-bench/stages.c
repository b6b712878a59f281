/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects and reports the times in the stages of calls and requests. */
#include "stages.h"

#include <inttypes.h>
#include <stdio.h>

#include "report.h"

/* all stages, in the order in which a call passes them */
static const enum weir_stage order[] = {WEIR_STAGE_QUEUED, WEIR_STAGE_CREDIT,  WEIR_STAGE_SENT,
					WEIR_STAGE_PULLED, WEIR_STAGE_HANDLED, WEIR_STAGE_PUSHED,
					WEIR_STAGE_REPLIED};

#define NSTAGES (sizeof(order) / sizeof(order[0]))

void bench_stages_add_engine(struct bench_stages *stages, const struct weir_engine *engine)
{
	struct weir_procedure_latency procedures[2 * WEIR_LATENCY_PROCEDURES] = {
		{.struct_bytes = sizeof(procedures[0])}};
	uint32_t n = weir_engine_procedures(engine, procedures, 2 * WEIR_LATENCY_PROCEDURES);

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t s = 0; s < NSTAGES; s++) {
			const struct weir_histogram *times =
				weir_engine_stage(engine, &procedures[i], (enum weir_stage)s);

			if (times)
				histogram_merge(&stages->times[s], times);
		}
}

void bench_stages_merge(struct bench_stages *into, const struct bench_stages *from)
{
	for (uint32_t s = 0; s < NSTAGES; s++)
		histogram_merge(&into->times[s], &from->times[s]);
}

/* Returns the times of a stage on the side to which it belongs. */
static const struct weir_histogram *times_of(const struct bench_point *point, enum weir_stage stage)
{
	return stage < WEIR_STAGE_PULLED || stage == WEIR_STAGE_CREDIT
		       ? &point->sum.stages.times[stage]
		       : &point->responder.stages.times[stage];
}

void bench_stages_print(const struct bench_point *point)
{
	for (uint32_t s = 0; s < NSTAGES; s++) {
		const struct weir_histogram *times = times_of(point, order[s]);

		if (histogram_count(times) > 0)
			printf("  stage        %-9s mean %.0f ns, p50 %" PRIu64 " ns, p99 %" PRIu64
			       " ns, max %" PRIu64 " ns\n",
			       weir_stage_name(order[s]), histogram_mean(times),
			       histogram_quantile(times, 0.5), histogram_quantile(times, 0.99),
			       times->max);
	}
}

json_t *bench_stages_json(const struct bench_point *point)
{
	json_t *object = json_object();

	for (uint32_t s = 0; s < NSTAGES; s++) {
		const struct weir_histogram *times = times_of(point, order[s]);

		if (histogram_count(times) > 0)
			json_object_set_new(object, weir_stage_name(order[s]),
					    json_pack("{s:I, s:f, s:I, s:I, s:I}", "count",
						      (json_int_t)histogram_count(times), "mean",
						      histogram_mean(times), "p50",
						      (json_int_t)histogram_quantile(times, 0.5),
						      "p99",
						      (json_int_t)histogram_quantile(times, 0.99),
						      "max", (json_int_t)times->max));
	}
	return object;
}
