/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes figures in the form of fio's output format json+, version 3.33, for tools that read it. A
 * combination is a job. The times of READs and WRITEs of the workload mixed are not known apart.
 * Their job therefore has the object "mixed", as with fio's unified_rw_reporting=mixed.
 */
#include <math.h>
#include <time.h>

#include "counters.h"
#include "report.h"

/* The sums from which the statistics of fio are computed. */
struct moments {
	double n, sum, squares, min, max;
};

static void moments_add(struct moments *m, double value, double n)
{
	m->min = m->n == 0 || value < m->min ? value : m->min;
	m->max = m->n == 0 || value > m->max ? value : m->max;
	m->n += n;
	m->sum += value * n;
	m->squares += value * value * n;
}

static double moments_mean(const struct moments *m)
{
	return m->n > 0 ? m->sum / m->n : 0;
}

static double moments_deviation(const struct moments *m)
{
	double variance = m->n > 1 ? (m->squares - m->sum * m->sum / m->n) / (m->n - 1) : 0;

	return variance > 0 ? sqrt(variance) : 0;
}

static json_t *no_times_json(void)
{
	return json_pack("{s:i, s:i, s:f, s:f, s:i}", "min", 0, "max", 0, "mean", 0.0, "stddev",
			 0.0, "N", 0);
}

static json_t *times_json(const struct weir_histogram *hist)
{
	struct moments m = {0};
	uint64_t n = histogram_count(hist);

	if (n == 0)
		return no_times_json();
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (hist->buckets[i] > 0)
			moments_add(&m, ((double)histogram_low(i) + (double)histogram_high(i)) / 2,
				    (double)hist->buckets[i]);
	return json_pack("{s:I, s:I, s:f, s:f, s:I}", "min", (json_int_t)histogram_min(hist), "max",
			 (json_int_t)hist->max, "mean", histogram_mean(hist), "stddev",
			 moments_deviation(&m), "N", (json_int_t)n);
}

/* Adds the percentiles that fio has by default, and all buckets. */
static void add_distribution(json_t *object, const struct weir_histogram *hist)
{
	static const double percents[] = {1,  5,  10, 20, 30,	40,   50,    60,   70,
					  80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99};
	json_t *percentiles = json_object(), *bins = json_object();
	char key[32];

	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
		snprintf(key, sizeof(key), "%.6f", percents[i]);
		json_object_set_new(
			percentiles, key,
			json_integer((json_int_t)histogram_quantile(hist, percents[i] / 100)));
	}
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (hist->buckets[i] == 0)
			continue;
		snprintf(key, sizeof(key), "%llu", (unsigned long long)histogram_low(i));
		json_object_set_new(bins, key, json_integer((json_int_t)hist->buckets[i]));
	}
	json_object_set_new(object, "percentile", percentiles);
	json_object_set_new(object, "bins", bins);
}

/* Adds the rates in the intervals of all runs. 'bytes' is the number of bytes of a call. */
static void add_samples(json_t *object, const struct bench_point *point, double bytes)
{
	struct moments iops = {0}, kib = {0};

	for (uint32_t r = 0; r < point->nruns; r++) {
		const struct series *series = &point->runs[r].series;

		for (uint32_t i = 0; i < series->n; i++) {
			double rate = (double)series->counts[i] * 1e9 / (double)series->interval_ns;

			moments_add(&iops, rate, 1);
			moments_add(&kib, rate * bytes / 1024, 1);
		}
	}
	json_object_update_new(
		object, json_pack("{s:I, s:I, s:f, s:f, s:f, s:I}", "bw_min", (json_int_t)kib.min,
				  "bw_max", (json_int_t)kib.max, "bw_agg", kib.n > 0 ? 100.0 : 0.0,
				  "bw_mean", moments_mean(&kib), "bw_dev", moments_deviation(&kib),
				  "bw_samples", (json_int_t)kib.n));
	json_object_update_new(
		object,
		json_pack("{s:I, s:I, s:f, s:f, s:I}", "iops_min", (json_int_t)iops.min, "iops_max",
			  (json_int_t)iops.max, "iops_mean", moments_mean(&iops), "iops_stddev",
			  moments_deviation(&iops), "iops_samples", (json_int_t)iops.n));
}

/* Returns the figures of one direction, which are 0 if 'point' is NULL. */
static json_t *direction_json(const struct bench_point *point)
{
	static const struct bench_point none;
	const struct bench_point *p = point ? point : &none;
	const struct bench_result *sum = &p->sum;
	double seconds = sum->seconds > 0 ? sum->seconds : 1;
	double bytes_per_s = (double)sum->bytes / seconds;
	json_t *object = json_object(), *clat = point ? times_json(&sum->rtt) : no_times_json();

	json_object_update_new(
		object,
		json_pack("{s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:i, s:i}", "io_bytes",
			  (json_int_t)sum->bytes, "io_kbytes", (json_int_t)(sum->bytes / 1024),
			  "bw_bytes", (json_int_t)bytes_per_s, "bw",
			  (json_int_t)(bytes_per_s / 1024), "iops", (double)sum->calls / seconds,
			  "runtime", (json_int_t)(sum->seconds * 1000), "total_ios",
			  (json_int_t)sum->calls, "short_ios", 0, "drop_ios", 0));
	json_object_set_new(object, "slat_ns", no_times_json());
	json_object_set_new(object, "lat_ns", point ? times_json(&sum->rtt) : no_times_json());
	if (point && histogram_count(&sum->rtt) > 0)
		add_distribution(clat, &sum->rtt);
	json_object_set_new(object, "clat_ns", clat);
	add_samples(object, p, sum->calls > 0 ? (double)sum->bytes / (double)sum->calls : 0);
	return object;
}

/*
 * Adds the object 'name' with the percentage of calls that took longer than 'from_ns', or than the
 * key before, and at most as long as the key says, in units of 'unit_ns'. The last key of
 * milliseconds is for all that took longer.
 */
static void add_latencies(json_t *job, const char *name, const struct weir_histogram *hist,
			  uint64_t from_ns, uint64_t unit_ns)
{
	static const uint32_t limits[] = {2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000};
	bool is_ms = unit_ns == 1000000;
	uint32_t nlimits = is_ms ? 11 : 10;
	uint64_t counts[12] = {0};
	double n = (double)histogram_count(hist);
	json_t *object = json_object();
	char key[16];

	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t low = histogram_low(i);
		uint32_t k = 0;

		while (k < nlimits && low > limits[k] * unit_ns)
			k++;
		if (hist->buckets[i] > 0 && (low > from_ns || from_ns == 0))
			counts[k] += hist->buckets[i];
	}
	for (uint32_t k = 0; k < nlimits; k++) {
		snprintf(key, sizeof(key), "%u", limits[k]);
		json_object_set_new(object, key,
				    json_real(n > 0 ? 100 * (double)counts[k] / n : 0));
	}
	if (is_ms)
		json_object_set_new(object, ">=2000",
				    json_real(n > 0 ? 100 * (double)counts[nlimits] / n : 0));
	json_object_set_new(job, name, object);
}

static json_t *job_options_json(const struct bench_options *options, const char *name,
				const char *rw)
{
	json_t *object =
		json_pack("{s:s, s:s, s:s}", "name", name, "ioengine", "weir-bench", "rw", rw);
	char text[32];

	snprintf(text, sizeof(text), "%u", bench_largest_bytes(options));
	json_object_set_new(object, "bs", json_string(text));
	snprintf(text, sizeof(text), "%u", options->depth);
	json_object_set_new(object, "iodepth", json_string(text));
	snprintf(text, sizeof(text), "%u", bench_active(options));
	json_object_set_new(object, "numjobs", json_string(text));
	return object;
}

static json_t *job_json(const struct bench_point *point)
{
	const struct bench_options *o = &point->options;
	const struct bench_result *sum = &point->sum;
	bool is_mixed = o->workload == WORKLOAD_MIXED, is_read = o->workload == WORKLOAD_READ;
	const char *rw = is_mixed ? "rw" : is_read ? "read" : "write";
	char random[16], name[64];
	json_t *object = json_object();

	snprintf(random, sizeof(random), "%s%s", o->is_sequential ? "" : "rand", rw);
	snprintf(name, sizeof(name), "%s-%u-%u-%u", random, bench_largest_bytes(o), o->depth,
		 bench_active(o));
	json_object_update_new(object, json_pack("{s:s, s:i, s:i, s:I}", "jobname", name, "groupid",
						 0, "error", -sum->first_error, "elapsed",
						 (json_int_t)(sum->seconds + 1)));
	json_object_set_new(object, "job options", job_options_json(o, name, random));
	if (is_mixed) {
		json_object_set_new(object, "mixed", direction_json(point));
	} else {
		json_object_set_new(object, "read", direction_json(is_read ? point : NULL));
		json_object_set_new(object, "write", direction_json(is_read ? NULL : point));
		json_object_set_new(object, "trim", direction_json(NULL));
	}
	json_object_set_new(object, "job_runtime", json_integer((json_int_t)(sum->seconds * 1000)));
	json_object_set_new(object, "usr_cpu", json_real(100 * bench_cpu_busy_ratio(&sum->cpu)));
	json_object_set_new(object, "sys_cpu", json_real(0));
	add_latencies(object, "latency_ns", &sum->rtt, 0, 1);
	add_latencies(object, "latency_us", &sum->rtt, 1000, 1000);
	add_latencies(object, "latency_ms", &sum->rtt, 1000000, 1000000);
	return object;
}

json_t *bench_report_fio(const struct bench_results *results)
{
	json_t *root = json_object(), *jobs = json_array();
	time_t now = time(NULL);
	char text[64] = "";
	struct tm local;

	if (localtime_r(&now, &local))
		strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &local);
	for (uint32_t i = 0; i < results->npoints; i++)
		json_array_append_new(jobs, job_json(&results->points[i]));
	json_object_update_new(root, json_pack("{s:s, s:I, s:I, s:s, s:o}", "fio version",
					       "weir-bench-" WEIR_VERSION, "timestamp",
					       (json_int_t)now, "timestamp_ms",
					       (json_int_t)now * 1000, "time", text, "jobs", jobs));
	return root;
}
