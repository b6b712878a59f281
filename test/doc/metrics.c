/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of doc/statistics.rst, which the page includes, and a program that calls them. The
 * program ends with 0 if each line of the text has the form that Prometheus reads, and if the
 * buckets of the histograms have the right numbers.
 */
#include <weir/weir.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* [export] */
static void export_counters(const struct weir_engine *engine, FILE *file)
{
	for (uint32_t i = 0; i < weir_counters(); i++) {
		struct weir_counter_info info = {.struct_bytes = sizeof(info)};
		bool is_gauge;
		char name[80];

		weir_counter_info(i, &info);
		is_gauge = info.kind == WEIR_GAUGE;
		snprintf(name, sizeof(name), "weir_%s%s", info.name, is_gauge ? "" : "_total");
		fprintf(file, "# HELP %s %s\n", name, info.help);
		fprintf(file, "# TYPE %s %s\n", name, is_gauge ? "gauge" : "counter");
		fprintf(file, "%s %" PRIu64 "\n", name, weir_engine_counter(engine, i));
	}
}
/* [end] */

/* [histograms] */
#define BOUNDS 10u

/* The upper bounds of the buckets, in ns. */
static const double bounds[BOUNDS] = {5e3, 1e4, 25e3, 5e4, 1e5, 25e4, 1e6, 5e6, 25e6, 1e8};

/* Writes the times of one engine. Each bucket has the number of all values up to its bound. */
static void export_times(const struct weir_histogram *times, uint32_t engine, FILE *file)
{
	struct weir_histogram_bucket bucket = {.struct_bytes = sizeof(bucket)};
	uint32_t index = weir_histogram_next(times, 0);
	uint64_t count = 0;

	for (uint32_t i = 0; i < BOUNDS; i++) {
		while (weir_histogram_bucket(times, index, &bucket) == 0 &&
		       (double)bucket.high <= bounds[i]) {
			count += bucket.count;
			index = weir_histogram_next(times, index + 1);
		}
		fprintf(file, "request_seconds_bucket{engine=\"%u\",le=\"%g\"} %" PRIu64 "\n",
			engine, bounds[i] / 1e9, count);
	}
	count = weir_histogram_count(times);
	fprintf(file, "request_seconds_bucket{engine=\"%u\",le=\"+Inf\"} %" PRIu64 "\n", engine,
		count);
	fprintf(file, "request_seconds_sum{engine=\"%u\"} %.9f\n", engine,
		(double)weir_histogram_sum(times) / 1e9);
	fprintf(file, "request_seconds_count{engine=\"%u\"} %" PRIu64 "\n", engine, count);
}

/* Writes the times of several engines, as one metric. */
static void export_all_times(struct weir_histogram *const *times, uint32_t nengines, FILE *file)
{
	fprintf(file, "# HELP request_seconds time from the arrival of a request to its reply\n");
	fprintf(file, "# TYPE request_seconds histogram\n");
	for (uint32_t i = 0; i < nengines; i++)
		export_times(times[i], i, file);
}
/* [end] */

/* [merge] */
struct copy {
	struct weir_histogram *times; /* the sum over all procedures of a responder */
	atomic_bool is_complete;
};

/* Copies the times of an engine. Thread: that of the engine. */
static void copy_times(struct weir_engine *engine, void *arg)
{
	struct weir_procedure_latency all[2 * WEIR_LATENCY_PROCEDURES] = {
		{.struct_bytes = sizeof(all[0])}};
	uint32_t n = weir_engine_procedures(engine, all, 2 * WEIR_LATENCY_PROCEDURES);
	struct copy *copy = arg;

	for (uint32_t i = 0; i < n; i++)
		if (all[i].side == WEIR_RESPONDER)
			weir_histogram_merge(copy->times, all[i].histogram);
	atomic_store(&copy->is_complete, true);
}
/* [end] */

static void check(bool is_true, const char *line)
{
	if (is_true)
		return;
	fprintf(stderr, "not a line that Prometheus reads: %s\n", line);
	exit(EXIT_FAILURE);
}

static void check_line(char *line)
{
	char *text = line;

	check(line[strcspn(line, "\n")] == '\n' && !strpbrk(line, "\\\""), line);
	if (strncmp(line, "# HELP ", 7) == 0 || strncmp(line, "# TYPE ", 7) == 0)
		text += 7;
	else if (line[0] == '#')
		return;
	check(strncmp(text, "weir_", 5) == 0, line);
	text += strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
	check(!strstr(line, " counter\n") || strncmp(text - 6, "_total", 6) == 0, line);
	check(*text++ == ' ' && *text != '\n', line);
	if (line[0] != '#')
		check(text[strspn(text, "0123456789")] == '\n', line);
}

/* Exports the times of two engines, the second of which has none. Each engine copies its times. */
static void check_times(struct weir_engine *engine)
{
	static char text[8192];
	FILE *file = fmemopen(text, sizeof(text), "w");
	struct weir_histogram *times[2] = {weir_histogram_create(), weir_histogram_create()};
	struct copy copy = {.times = times[1]};

	check(file && times[0] && times[1], "(no memory)");
	check(weir_engine_post(engine, copy_times, &copy) == 0, "(weir_engine_post)");
	weir_engine_poll(engine, 0, 2);
	check(atomic_load(&copy.is_complete), "(no copy)");
	weir_histogram_add(times[0], 4000);
	weir_histogram_add(times[0], 20000);
	weir_histogram_add(times[0], 30000);
	weir_histogram_add(times[0], UINT64_C(2000000000));
	export_all_times(times, 2, file);
	fclose(file);
	check(strstr(text, "{engine=\"0\",le=\"5e-06\"} 1\n") != NULL, text);
	check(strstr(text, "{engine=\"0\",le=\"1e-05\"} 1\n") != NULL, text);
	check(strstr(text, "{engine=\"0\",le=\"2.5e-05\"} 2\n") != NULL, text);
	check(strstr(text, "{engine=\"0\",le=\"0.1\"} 3\n") != NULL, text);
	check(strstr(text, "{engine=\"0\",le=\"+Inf\"} 4\n") != NULL, text);
	check(strstr(text, "_sum{engine=\"0\"} 2.000054000\n") != NULL, text);
	check(strstr(text, "_count{engine=\"1\"} 0\n") != NULL, text);
	weir_histogram_destroy(times[0]);
	weir_histogram_destroy(times[1]);
}

int main(void)
{
	FILE *file = tmpfile();
	struct weir_profile profile;
	struct weir_engine *engine;
	char line[1024];
	uint32_t nlines = 0;

	weir_profile_defaults(&profile);
	if (!file || weir_engine_create(&profile, &engine) != 0)
		return EXIT_FAILURE;
	weir_engine_poll(engine, 0, 1);
	export_counters(engine, file);
	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		check_line(line);
		nlines += line[0] != '#';
	}
	check(nlines == weir_counters(), "(number of lines)");
	check(weir_engine_counter(engine, (uint32_t)weir_counter_find("polls")) == 1, "(polls)");
	check_times(engine);
	weir_engine_destroy(engine);
	return EXIT_SUCCESS;
}
