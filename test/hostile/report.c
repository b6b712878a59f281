/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the outcomes of cases as lines of text and as JSON. Prints the table of
 * doc/conformance.rst from several JSON files.
 */
#include "hostile.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "compiler.h"

#define COLUMNS_MAX 12
#define LINE_WIDTH  100

bool result_is_met(const struct result *result)
{
	const struct hostile_case *c = result->c;

	if (!(c->allowed & result->got))
		return false;
	return !c->detail || !(result->got & (GOT_ERROR | GOT_REPORT | GOT_RPC_ERROR)) ||
	       strcmp(c->detail, result->detail) == 0;
}

void report_result(const struct result *result, bool is_quiet)
{
	char allowed[160];

	if (is_quiet && result_is_met(result))
		return;
	outcome_names(result->c->allowed, allowed, sizeof(allowed));
	printf("%s  %-24s %s%s%s%s\n", result_is_met(result) ? "ok    " : "FAILED", result->c->name,
	       outcome_name(result->got), result->detail[0] ? " (" : "", result->detail,
	       result->detail[0] ? ")" : "");
	if (!result_is_met(result))
		printf("        %s %s\n        allowed: %s\n        sent: %s\n", result->c->clause,
		       result->c->what, allowed, result->c->message);
	fflush(stdout);
}

json_t *report_json(const struct result *result)
{
	char allowed[160];

	outcome_names(result->c->allowed, allowed, sizeof(allowed));
	return json_pack("{s:s, s:s, s:s, s:s, s:b}", "name", result->c->name, "got",
			 outcome_name(result->got), "detail", result->detail, "allowed", allowed,
			 "ok", result_is_met(result));
}

/*
 * Returns true if the other side was dead after this case, so that later results of the run have no
 * meaning.
 */
static bool is_dead(const json_t *one)
{
	return strcmp(json_string_value(json_object_get(one, "got")), outcome_name(GOT_DEAD)) == 0;
}

/* Writes the outcome of a case in a run to 'text', as a cell of the table. */
static void cell(const json_t *run, const char *name, char *text, size_t size)
{
	const json_t *cases = json_object_get(run, "cases");
	bool is_over = false;
	json_t *one;
	size_t i;

	snprintf(text, size, "-");
	json_array_foreach(cases, i, one)
	{
		const char *detail = json_string_value(json_object_get(one, "detail"));
		bool is_ok = json_is_true(json_object_get(one, "ok"));

		if (strcmp(json_string_value(json_object_get(one, "name")), name) != 0) {
			is_over = is_dead(one);
			continue;
		}
		if (is_dead(one)) {
			snprintf(text, size, "%s",
				 is_over ? "(it had stopped)" : "**stopped answering**");
			return;
		}
		snprintf(text, size, "%s%s%s%s%s%s", is_ok ? "" : "**",
			 json_string_value(json_object_get(one, "got")), is_ok ? "" : "**",
			 detail[0] ? " (" : "", detail, detail[0] ? ")" : "");
	}
}

static const char *label(const json_t *run)
{
	return json_string_value(json_object_get(run, "label"));
}

static bool is_of(const json_t *run, const char *side, const char *protocol)
{
	const char *spoken = json_string_value(json_object_get(run, "protocol"));

	return strcmp(json_string_value(json_object_get(run, "side")), side) == 0 &&
	       strcmp(spoken ? spoken : "v1", protocol) == 0;
}

/*
 * Prints the text as a list item, in lines of up to LINE_WIDTH. The bullet precedes the first line,
 * and the other lines are indented by its length.
 */
static void item(const char *bullet, const char *text)
{
	size_t indent = strlen(bullet), at = indent;

	printf("%s", bullet);
	for (;;) {
		size_t len = strcspn(text, " ");

		printf("%.*s", (int)len, text);
		at += len;
		text += len + strspn(text + len, " ");
		if (!text[0])
			break;
		if (at + 1 + strcspn(text, " ") > LINE_WIDTH) {
			printf("\n%*s", (int)indent, "");
			at = indent;
		} else {
			putchar(' ');
			at++;
		}
	}
	putchar('\n');
}

static void table(json_t *const *runs, int nruns, const char *side, const char *protocol,
		  const char *title, const struct hostile_case *cases)
{
	char text[160], what[256];
	int n = 0;

	for (int i = 0; i < nruns; i++)
		n += is_of(runs[i], side, protocol);
	if (n == 0)
		return;
	printf("\n%s\n", title);
	for (size_t i = 0; i < strlen(title); i++)
		putchar('=');
	printf("\n\n.. list-table::\n   :header-rows: 1\n\n   * - case\n     - clause\n     - "
	       "allowed\n");
	for (int i = 0; i < nruns; i++)
		if (is_of(runs[i], side, protocol))
			item("     - ", label(runs[i]));
	for (const struct hostile_case *c = cases; c->name; c++) {
		outcome_names(c->allowed, text, sizeof(text));
		snprintf(what, sizeof(what), "%s: %s", c->name, c->what);
		item("   * - ", what);
		item("     - ", c->clause);
		item("     - ", text);
		for (int i = 0; i < nruns; i++) {
			if (!is_of(runs[i], side, protocol))
				continue;
			cell(runs[i], c->name, text, sizeof(text));
			item("     - ", text);
		}
	}
}

/*
 * Appends to 'text', which has 'size' bytes, at offset 'at'. Returns the offset after the appended
 * text.
 */
static printf_like(4, 5) size_t add(char *text, size_t size, size_t at, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text + at, size - at, format, args);
	va_end(args);
	return n < 0 || at + (size_t)n >= size ? size - 1 : at + (size_t)n;
}

static void mutations(json_t *const *runs, int nruns)
{
	printf("\nMutations\n=========\n\n"
	       "Mutations are made of the cases that are right, by ``--seed`` and ``--count``. A\n"
	       "mutation that was answered after the call that followed counts as 'dropped', too.\n"
	       "With a requester, 'dropped' is a mutation that was followed by a good answer.\n\n");
	for (int i = 0; i < nruns; i++) {
		json_t *mutated = json_object_get(runs[i], "mutations"), *number;
		const char *name, *between = "";
		char text[1024];
		size_t at;

		if (!mutated)
			continue;
		at = add(text, sizeof(text), 0,
			 "%s (%s%s), seed %lld, %lld of them: ", label(runs[i]),
			 json_string_value(json_object_get(runs[i], "side")),
			 is_of(runs[i], "responder", "v2") || is_of(runs[i], "requester", "v2")
				 ? " of version 2"
				 : "",
			 (long long)json_integer_value(json_object_get(mutated, "seed")),
			 (long long)json_integer_value(json_object_get(mutated, "count")));
		json_object_foreach(json_object_get(mutated, "outcomes"), name, number)
		{
			at = add(text, sizeof(text), at, "%s%lld %s", between,
				 (long long)json_integer_value(number), name);
			between = ", ";
		}
		add(text, sizeof(text), at, ".");
		item("* ", text);
	}
}

static const char *const introduction =
	".. SPDX-License-Identifier: BSD-3-Clause\n"
	".. Written by weir-hostile --table.\n"
	"\n"
	"===========\n"
	"Conformance\n"
	"===========\n"
	"\n"
	"``weir-hostile`` saw these answers of implementations to bad input over the wire\n"
	"(:doc:`weir-hostile`). Sections are of RFC 8166, unless they name another text (V2, RTR:\n"
	":doc:`version-2`). 'Allowed' is what the section, or a SHOULD in it, permits; **this** "
	"is\n"
	"not. Other implementations may have reasons: some bound what a message may hold below\n"
	"what the cases use. The page is written by::\n"
	"\n"
	"   test/hostile/results build out\n"
	"   test/guest/run test/guest/scripts/hostile.sh\n"
	"   build/test/hostile/weir-hostile --table out/*.json build/guest-logs/*.json > "
	"doc/conformance.rst\n";

/* Returns true if a file has the members of --json's output that the table needs. */
static bool is_results(const json_t *run)
{
	const json_t *cases = json_object_get(run, "cases");
	json_t *one;
	size_t i;

	if (!label(run) || !json_is_string(json_object_get(run, "side")) || !json_is_array(cases))
		return false;
	json_array_foreach(cases, i, one)
	{
		if (!json_is_string(json_object_get(one, "name")) ||
		    !json_is_string(json_object_get(one, "got")) ||
		    !json_is_string(json_object_get(one, "detail")))
			return false;
	}
	return true;
}

/*
 * Loads the files. Returns the number of files that were loaded. If the number is smaller than
 * 'nfiles', the next file could not be loaded, and an error message was printed.
 */
static int load(json_t **runs, char *const *files, int nfiles)
{
	json_error_t error;

	for (int i = 0; i < nfiles; i++) {
		runs[i] = json_load_file(files[i], 0, &error);
		if (runs[i] && is_results(runs[i]))
			continue;
		fprintf(stderr, "weir-hostile: %s: %s\n", files[i],
			runs[i] ? "no results of weir-hostile --json" : error.text);
		json_decref(runs[i]);
		return i;
	}
	return nfiles;
}

static int write_table(json_t *const *runs, int nfiles)
{
	fputs(introduction, stdout);
	table(runs, nfiles, "responder", "v1", "Responders", responder_cases);
	table(runs, nfiles, "responder", "v2", "Responders of version 2", responder_cases_v2);
	table(runs, nfiles, "requester", "v1", "Requesters", requester_cases);
	table(runs, nfiles, "requester", "v2", "Requesters of version 2", requester_cases_v2);
	mutations(runs, nfiles);
	if (fflush(stdout) == 0)
		return 0;
	fprintf(stderr, "weir-hostile: can't write the table: %s\n", strerror(errno));
	return -1;
}

int report_table(char *const *files, int nfiles)
{
	json_t *runs[COLUMNS_MAX];
	int n, rc = -1;

	if (nfiles < 1 || nfiles > COLUMNS_MAX) {
		fprintf(stderr,
			"weir-hostile: --table takes 1 to %d files with results of --json\n",
			COLUMNS_MAX);
		return -1;
	}
	n = load(runs, files, nfiles);
	if (n == nfiles)
		rc = write_table(runs, nfiles);
	for (int i = 0; i < n; i++)
		json_decref(runs[i]);
	return rc;
}
