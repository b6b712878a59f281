/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects and reports the times in the stages of calls and requests. */
#include "stages.h"

#include <inttypes.h>
#include <stdio.h>

#include "report.h"

#define NSTAGES (WEIR_STAGE_REPLIED + 1)

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
static const struct weir_histogram *times_of(const struct bench_point *point, uint32_t stage)
{
	return stage < WEIR_STAGE_PULLED ? &point->sum.stages.times[stage]
					 : &point->responder.stages.times[stage];
}

void bench_stages_print(const struct bench_point *point)
{
	for (uint32_t s = 0; s < NSTAGES; s++) {
		const struct weir_histogram *times = times_of(point, s);

		if (histogram_count(times) > 0)
			printf("  stage        %-9s mean %.0f ns, p50 %" PRIu64 " ns, p99 %" PRIu64
			       " ns, max %" PRIu64 " ns\n",
			       weir_stage_name((enum weir_stage)s), histogram_mean(times),
			       histogram_quantile(times, 0.5), histogram_quantile(times, 0.99),
			       times->max);
	}
}

json_t *bench_stages_json(const struct bench_point *point)
{
	json_t *object = json_object();

	for (uint32_t s = 0; s < NSTAGES; s++) {
		const struct weir_histogram *times = times_of(point, s);

		if (histogram_count(times) > 0)
			json_object_set_new(object, weir_stage_name((enum weir_stage)s),
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
