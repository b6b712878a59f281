/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The function of doc/statistics.rst, which the page includes, and a program that calls it. The
 * program ends with 0 if each line of the text has the form that Prometheus reads.
 */
#include <weir/engine.h>
#include <weir/metrics.h>

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* [export] */
static void export_counters(const struct weir_engine *engine, FILE *file)
{
	for (uint32_t i = 0; i < weir_counters(); i++) {
		struct weir_counter_info info = {.struct_bytes = sizeof(info)};

		weir_counter_info(i, &info);
		fprintf(file, "# HELP weir_%s %s\n", info.name, info.help);
		fprintf(file, "# TYPE weir_%s %s\n", info.name,
			info.kind == WEIR_COUNTER ? "counter" : "gauge");
		fprintf(file, "weir_%s%s %" PRIu64 "\n", info.name,
			info.kind == WEIR_COUNTER ? "_total" : "", weir_engine_counter(engine, i));
	}
	fprintf(file, "# EOF\n");
}
/* [end] */

static void check(bool is_true, const char *line)
{
	if (is_true)
		return;
	fprintf(stderr, "not a line of OpenMetrics: %s\n", line);
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
	check(*text++ == ' ' && *text != '\n', line);
	if (line[0] != '#')
		check(text[strspn(text, "0123456789")] == '\n', line);
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
	weir_engine_destroy(engine);
	return EXIT_SUCCESS;
}
