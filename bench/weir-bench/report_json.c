/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes figures for programs, as doc/weir-bench.schema.json describes them. A key that exists is
 * never removed, and its meaning never changes.
 */
#include "report.h"

#define SCHEMA 2

static void set_u64(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static json_t *spread_json(const struct bench_point *point, enum bench_metric metric)
{
	struct bench_spread spread = bench_figures_spread(point->figures, point->nruns, metric);

	return json_pack("{s:f, s:f, s:f}", "median", spread.median, "min", spread.min, "max",
			 spread.max);
}

static json_t *repeat_json(const struct bench_point *point)
{
	json_t *object = json_object();

	json_object_set_new(object, "runs", json_integer(point->nruns));
	for (uint32_t m = 0; m < METRICS; m++)
		json_object_set_new(object, bench_metric_name((enum bench_metric)m),
				    spread_json(point, (enum bench_metric)m));
	return object;
}

static json_t *cpu_json(const struct bench_cpu *cpu, uint64_t rpcs)
{
	json_t *object = json_object();

	json_object_set_new(object, "cycles_per_rpc",
			    json_real(bench_per_rpc(cpu->busy_ticks, rpcs)));
	json_object_set_new(object, "busy_ratio", json_real(bench_cpu_busy_ratio(cpu)));
	json_object_set_new(object, "instructions_per_rpc",
			    bench_cpu_has_instructions(cpu)
				    ? json_real(bench_per_rpc(cpu->instructions, rpcs))
				    : json_null());
	return object;
}

static json_t *thresholds_json(const struct bench_point *point)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < point->options.nthresholds; i++) {
		const struct bench_threshold *t = &point->options.thresholds[i];
		double value;
		bool meets = bench_point_meets(point, i, &value);

		json_array_append_new(array,
				      json_pack("{s:s, s:s, s:f, s:f, s:b}", "threshold", t->text,
						"metric", bench_metric_name(t->metric), "limit",
						t->limit, "value", value, "met", meets));
	}
	return array;
}

/*
 * Returns an array with an element [smallest time, number of calls] for each bucket that is not
 * empty.
 */
static json_t *histogram_json(const struct weir_histogram *hist)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (hist->buckets[i] > 0)
			json_array_append_new(array,
					      json_pack("[I, I]", (json_int_t)histogram_low(i),
							(json_int_t)hist->buckets[i]));
	return array;
}

/* The figures of threads that yield or sleep are null, because they mean nothing. */
static json_t *disturbance_json(const struct disturbance *d)
{
	char why[128];
	bool is_low = disturbance_is_low(d, why, sizeof(why));
	json_t *object = json_object();

	json_object_set_new(object, "steal_ratio", json_real(d->steal_ratio));
	json_object_set_new(object, "context_switches",
			    d->has_pollers ? json_integer((json_int_t)d->switches) : json_null());
	json_object_set_new(object, "context_switches_per_s",
			    d->has_pollers ? json_real(d->switches_per_s) : json_null());
	json_object_set_new(object, "longest_gap_ns",
			    d->has_pollers ? json_integer((json_int_t)d->gap_ns) : json_null());
	json_object_set_new(object, "reliable", json_boolean(is_low));
	if (!is_low)
		json_object_set_new(object, "why", json_string(why));
	return object;
}

static json_t *run_json(const struct bench_point *point, uint32_t number)
{
	const struct bench_run *run = &point->runs[number];
	double scale = 1e9 / (double)run->series.interval_ns;
	json_t *object = json_object(), *rates = json_array();

	json_object_set_new(object, "seconds", json_real(run->seconds));
	json_object_set_new(object, "interrupted", json_boolean(run->is_cut_short));
	json_object_set_new(object, "disturbance", disturbance_json(&run->disturbance));
	set_u64(object, "calls", run->calls);
	json_object_set_new(object, "rpc_per_s",
			    json_real(point->figures[number].values[METRIC_RATE]));
	json_object_set_new(object, "bytes_per_s",
			    json_real(point->figures[number].values[METRIC_BANDWIDTH]));
	json_object_set_new(object, "rtt_ns", bench_figures_rtt_json(&point->figures[number]));
	if (point->options.steady_percent > 0 && point->options.calls_max == 0)
		json_object_set_new(object, "steady",
				    json_pack("{s:b, s:f, s:f}", "reached", run->is_steady,
					      "spread_percent", 100 * run->rate_spread, "seconds",
					      run->steady_after_seconds));
	for (uint32_t i = 0; i < run->series.n; i++)
		json_array_append_new(rates, json_real((double)run->series.counts[i] * scale));
	json_object_set_new(object, "throughput",
			    json_pack("{s:f, s:o}", "interval_s",
				      (double)run->series.interval_ns / 1e9, "rpc_per_s", rates));
	return object;
}

/* Adds the options of a combination. */
static void add_options(json_t *root, const struct bench_options *options)
{
	json_object_set_new(root, "size", json_integer(bench_largest_bytes(options)));
	if (options->workload == WORKLOAD_MIXED) {
		json_object_set_new(root, "read_size", json_integer(options->read_bytes));
		json_object_set_new(root, "write_size", json_integer(options->write_bytes));
		json_object_set_new(root, "read_percent", json_integer(options->read_percent));
	}
	json_object_set_new(root, "depth", json_integer(options->depth));
	json_object_set_new(root, "connections", json_integer(options->connections));
	json_object_set_new(root, "active", json_integer(bench_active(options)));
	json_object_set_new(root, "in_turn", json_boolean(options->takes_turns));
	json_object_set_new(root, "inline_bytes", json_integer(options->profile.inline_bytes));
	json_object_set_new(root, "chunk_bytes", json_integer(options->profile.chunk_bytes));
	json_object_set_new(root, "working_set", json_integer(options->working_set_bytes));
	json_object_set_new(root, "access",
			    json_string(options->is_sequential ? "sequential" : "random"));
	json_object_set_new(root, "loop", json_string(options->rate > 0 ? "open" : "closed"));
	if (options->rate > 0)
		set_u64(root, "offered_rpc_per_s", options->rate);
	set_u64(root, "think_ns", options->think_ns);
}

static void add_counters(json_t *root, const struct bench_point *point)
{
	const struct bench_counts *responder =
		point->responder.valid ? &point->responder.stats : NULL;
	const struct bench_result *sum = &point->sum;
	json_t *cpu = json_object();

	json_object_set_new(root, "idle_poll_ratio", json_real(bench_idle_ratio(&sum->stats)));
	json_object_set_new(root, "counters", bench_counts_json(&sum->stats, responder));
	json_object_set_new(root, "requester_counters", bench_counts_json(&sum->stats, NULL));
	json_object_set_new(cpu, "requester",
			    cpu_json(&sum->cpu, bench_count(&sum->stats, "calls_completed")));
	if (responder) {
		json_object_set_new(root, "responder_idle_poll_ratio",
				    json_real(bench_idle_ratio(responder)));
		json_object_set_new(root, "responder_counters", bench_counts_json(NULL, responder));
		json_object_set_new(
			cpu, "responder",
			cpu_json(&point->responder.cpu, bench_count(responder, "replies_sent")));
	}
	json_object_set_new(root, "cpu", cpu);
}

static void add_point(json_t *root, const struct bench_point *point)
{
	struct bench_figures medians = bench_point_medians(point);
	const struct bench_result *sum = &point->sum;
	json_t *runs = json_array();

	if (point->options.is_overview)
		json_object_set_new(root, "workload",
				    json_string(bench_workload_name(point->options.workload)));
	add_options(root, &point->options);
	json_object_set_new(root, "disturbance", disturbance_json(&point->disturbance));
	json_object_set_new(root, "seconds", json_real(sum->seconds));
	set_u64(root, "calls", sum->calls);
	json_object_set_new(root, "rpc_per_s", json_real(medians.values[METRIC_RATE]));
	json_object_set_new(root, "bytes_per_s", json_real(medians.values[METRIC_BANDWIDTH]));
	json_object_set_new(root, "rtt_ns", bench_figures_rtt_json(&medians));
	json_object_set_new(root, "rtt_histogram", histogram_json(&sum->rtt));
	if (point->options.profile.latency == WEIR_LATENCY_STAGES)
		json_object_set_new(root, "stages", bench_stages_json(point));
	json_object_set_new(root, "calls_of_a_connection",
			    json_pack("{s:I, s:I, s:I}", "least", (json_int_t)sum->least_calls,
				      "most", (json_int_t)sum->most_calls, "idle",
				      (json_int_t)sum->idle_calls));
	set_u64(root, "late", sum->late);
	set_u64(root, "untaken", sum->untaken);
	set_u64(root, "errors", sum->errors);
	set_u64(root, "verify_failures", sum->verify_failures);
	json_object_set_new(root, "repeat", repeat_json(point));
	json_object_set_new(root, "thresholds", thresholds_json(point));
	add_counters(root, point);
	for (uint32_t i = 0; i < point->nruns; i++)
		json_array_append_new(runs, run_json(point, i));
	json_object_set_new(root, "runs", runs);
}

json_t *bench_report_json(const struct bench_results *results)
{
	const struct bench_options *options = results->options;
	json_t *root = json_object(), *points = json_array();

	json_object_set_new(root, "schema", json_integer(SCHEMA));
	json_object_set_new(root, "version", json_string(WEIR_VERSION));
	json_object_set_new(root, "driver", json_string(options->profile.driver));
	json_object_set_new(root, "exposure",
			    json_string(bench_exposure_name(results->points[0].sum.exposure)));
	json_object_set_new(root, "protocol",
			    json_string(bench_protocol_name(options->profile.protocol)));
	json_object_set_new(root, "extension",
			    json_string(bench_extension_name(options->profile.extension)));
	json_object_set_new(root, "workload", json_string(bench_load_name(options)));
	json_object_set_new(root, "mode", json_string(bench_mode_name(options)));
	json_object_set_new(root, "verify", json_boolean(options->verify));
	json_object_set_new(root, "interrupted", json_boolean(bench_results_interrupted(results)));
	set_u64(root, "runs_asked", results->runs_asked);
	set_u64(root, "runs_finished", results->runs_finished);
	set_u64(root, "thresholds_missed", bench_results_missed(results));
	for (uint32_t i = 0; i < results->npoints; i++) {
		json_t *point = json_object();

		add_point(point, &results->points[i]);
		if (results->npoints == 1) {
			json_object_update(root, point);
			json_object_del(root, "rtt_histogram");
			json_object_del(root, "runs");
		}
		json_array_append_new(points, point);
	}
	json_object_set_new(root, "points", points);
	return root;
}
