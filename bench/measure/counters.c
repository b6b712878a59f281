/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums the counters of engines, and writes counters and round trip times as text or JSON. */
#include "counters.h"

#include <stdio.h>
#include <stdlib.h>

void bench_counts_read(const struct weir_engine *engine, struct bench_counts *counts)
{
	if (weir_counters() > BENCH_COUNTS_MAX) {
		fprintf(stderr, "the library has more than %u counters\n", BENCH_COUNTS_MAX);
		abort();
	}
	weir_engine_counters(engine, counts->values, BENCH_COUNTS_MAX);
}

uint64_t bench_count(const struct bench_counts *counts, const char *name)
{
	int index = weir_counter_find(name);

	if (index < 0) {
		fprintf(stderr, "the library has no counter %s\n", name);
		abort();
	}
	return counts->values[index];
}

void bench_counts_add_difference(struct bench_counts *a, const struct bench_counts *b,
				 const struct bench_counts *c)
{
	for (uint32_t i = 0; i < weir_counters(); i++)
		a->values[i] += b->values[i] - c->values[i];
}

double bench_idle_ratio(const struct bench_counts *counts)
{
	uint64_t polls = bench_count(counts, "polls");

	return polls ? (double)bench_count(counts, "idle_polls") / (double)polls : 0;
}

void bench_rtt_print(const struct weir_histogram *rtt)
{
	struct bench_figures figures;

	bench_figures_of(0, 0, 0, rtt, &figures);
	bench_figures_print(&figures);
}

void bench_figures_print(const struct bench_figures *figures)
{
	printf("  round trip  ");
	for (uint32_t m = METRIC_MIN; m < METRICS; m++)
		printf(" %s%s %.0f", m == METRIC_MIN ? "" : " ", bench_metric_name(m),
		       figures->values[m]);
	printf(" ns\n");
}

json_t *bench_rtt_json(const struct weir_histogram *rtt)
{
	struct bench_figures figures;

	bench_figures_of(0, 0, 0, rtt, &figures);
	return bench_figures_rtt_json(&figures);
}

json_t *bench_figures_rtt_json(const struct bench_figures *figures)
{
	json_t *object = json_object();

	for (uint32_t m = METRIC_MIN; m < METRICS; m++)
		json_object_set_new(object, bench_metric_name(m),
				    json_integer((json_int_t)figures->values[m]));
	return object;
}

json_t *bench_counts_json(const struct bench_counts *requester,
			  const struct bench_counts *responder)
{
	json_t *object = json_object();

	for (uint32_t i = 0; i < weir_counters(); i++) {
		struct weir_counter_info info = {.struct_bytes = sizeof(info)};
		uint64_t value = (requester ? requester->values[i] : 0) +
				 (responder ? responder->values[i] : 0);

		weir_counter_info(i, &info);
		if (info.kind == WEIR_COUNTER)
			json_object_set_new(object, info.name, json_integer((json_int_t)value));
	}
	return object;
}
