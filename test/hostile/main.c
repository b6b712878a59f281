/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weir-hostile: parses the options, and runs the cases against a responder or a requester.
 * doc/weir-hostile.rst describes the program.
 */
#include "hostile.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eal.h"
#include "handle_text.h"
#include "output.h"
#include "std_io.h"

#define CASES_CHOSEN_MAX 64
/* Exit status for wrong usage and for errors of files. It says nothing about the other side. */
#define EXIT_CANT 2

static const char usage[] =
	"Usage: weir-hostile --connect ADDR | --listen ADDR [options]\n"
	"A peer that sends what no peer should, and says what it got for it.\n"
	"\n"
	"  --connect ADDR       be a requester, of a responder at ADDR\n"
	"  --listen ADDR        be a responder: requesters connect to ADDR\n"
	"  --run COMMAND        with --listen: a shell command that is a requester, started for "
	"each case; it\n"
	"                       may end with status 0 or 1; with v2 its WEIR_HOSTILE_CALL says "
	"what to call\n"
	"  --driver NAME        shm (default) or verbs\n"
	"  --driver-options S   key=value,...\n"
	"  --protocol P         v1 (default), or v2: version 2 and its extension\n"
	"  --program NAME       whose calls: bench (weir-bench's, default) or nfs (NFS version 3)\n"
	"  --handle @FILE       with nfs: the export's root, where a file 'weir-hostile' is made\n"
	"  --case NAME          this case only; may be given several times; all: all (default)\n"
	"  --seed N             the first mutation (default: 1)\n"
	"  --count M            as many mutations; without --case, instead of cases\n"
	"  --timeout MS         what has to come, comes within it (default: 5000)\n"
	"  --settle MS          what has not come by then, is taken not to come (default: 50)\n"
	"  --json FILE|-        the results as JSON\n"
	"  --label TEXT         names the other side in it\n"
	"  --quiet              say only what is not allowed\n"
	"  --list               the cases\n"
	"  --table FILE...      the table of doc/conformance.rst, from results of --json\n"
	"\n"
	"Exit status: 0: all that was got is allowed by RFC 8166; 1: something is not; 2: usage,\n"
	"or a file that can't be read or written; 3: no responder, no listener or no driver.\n";

static struct hostile h;

struct settings {
	const char *connect;
	const char *listen;
	const char *json;
	const char *label;
	const char *cases[CASES_CHOSEN_MAX];
	uint32_t ncases;
	uint64_t seed;
	uint32_t count;
	bool is_quiet, is_list, is_table;
	bool has_failed;
	json_t *results;
	json_t *failed;
	uint32_t outcomes[GOT_OUTCOMES];
};

static bool parse_u64(const char *text, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 0);
	return errno == 0 && end != text && *end == '\0' && text[0] != '-';
}

static bool parse_handle(const char *value, struct handle *handle)
{
	const char *what = handle_text_read(value, handle->data, &handle->len_bytes);

	if (!what && handle->len_bytes % 4 != 0)
		what = "its length has to be a multiple of 4 here";
	if (what)
		fprintf(stderr, "weir-hostile: --handle: %s\n", what);
	return !what;
}

static const struct hostile_case *find_case(const char *name)
{
	const struct hostile_case *const tables[] = {responder_cases, responder_cases_v2,
						     requester_cases, requester_cases_v2};

	for (int i = 0; i < 4; i++)
		for (const struct hostile_case *c = tables[i]; c->name; c++)
			if (strcmp(c->name, name) == 0)
				return c;
	return NULL;
}

static bool parse_number_option(struct settings *s, char option, const char *text)
{
	uint64_t number;

	if (!parse_u64(text, &number) || (option != 's' && number > 1000000000))
		return false;
	if (option == 's')
		s->seed = number;
	else if (option == 'n')
		s->count = (uint32_t)number;
	else if (option == 't')
		h.config.timeout_ms = (uint32_t)number;
	else
		h.config.settle_ms = (uint32_t)number;
	return true;
}

/* Parses one option. Returns false if the option or its argument is not valid. */
static bool parse_option(struct settings *s, int option, const char *text)
{
	switch (option) {
	case 'c':
		s->connect = text;
		return true;
	case 'l':
		s->listen = text;
		return true;
	case 'r':
		h.command = text;
		return true;
	case 'd':
		h.config.driver = text;
		return true;
	case 'o':
		h.config.driver_options = text;
		return true;
	case 'p':
		h.parse.program = program_find(text);
		return h.parse.program != NULL;
	case 'P':
		h.is_v2 = strcmp(text, "v2") == 0;
		return h.is_v2 || strcmp(text, "v1") == 0;
	case 'f':
		return parse_handle(text, &h.parse.root);
	case 'k':
		s->cases[s->ncases++] = text;
		return s->ncases < CASES_CHOSEN_MAX &&
		       (strcmp(text, "all") == 0 || find_case(text));
	case 'j':
		s->json = text;
		return true;
	case 'L':
		s->label = text;
		return true;
	case 'q':
		s->is_quiet = true;
		return true;
	case 'i':
		s->is_list = true;
		return true;
	case 'T':
		s->is_table = true;
		return true;
	default:
		return strchr("snte", option) && parse_number_option(s, (char)option, text);
	}
}

static bool parse_options(struct settings *s, int argc, char **argv)
{
	static const struct option options[] = {
		{"connect", 1, NULL, 'c'},
		{"listen", 1, NULL, 'l'},
		{"run", 1, NULL, 'r'},
		{"driver", 1, NULL, 'd'},
		{"driver-options", 1, NULL, 'o'},
		{"program", 1, NULL, 'p'},
		{"protocol", 1, NULL, 'P'},
		{"handle", 1, NULL, 'f'},
		{"case", 1, NULL, 'k'},
		{"seed", 1, NULL, 's'},
		{"count", 1, NULL, 'n'},
		{"timeout", 1, NULL, 't'},
		{"settle", 1, NULL, 'e'},
		{"json", 1, NULL, 'j'},
		{"label", 1, NULL, 'L'},
		{"quiet", 0, NULL, 'q'},
		{"list", 0, NULL, 'i'},
		{"table", 0, NULL, 'T'},
		{"help", 0, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(usage, stdout);
			exit(0);
		}
		if (option == '?')
			return false;
		if (!parse_option(s, option, optarg)) {
			fprintf(stderr, "weir-hostile: not understood: '%s'\n",
				optarg ? optarg : "");
			return false;
		}
	}
	if (s->is_list || s->is_table)
		return true;
	if ((optind < argc) || !s->connect == !s->listen || (h.command && !s->listen))
		return false;
	if (h.parse.program->create && s->connect && h.parse.root.len_bytes == 0) {
		fprintf(stderr, "weir-hostile: --program nfs takes --handle\n");
		return false;
	}
	return true;
}

static void list(void)
{
	static const struct {
		const char *title;
		const struct hostile_case *cases;
	} tables[] = {
		{"Against a responder (--connect):", responder_cases},
		{"Against a responder of version 2 (--connect, --protocol v2):",
		 responder_cases_v2},
		{"Against a requester (--listen):", requester_cases},
		{"Against a requester of version 2 (--listen, --protocol v2):", requester_cases_v2},
	};
	char allowed[160];

	for (int i = 0; i < 4; i++) {
		printf("%s\n", tables[i].title);
		for (const struct hostile_case *c = tables[i].cases; c->name; c++) {
			outcome_names(c->allowed, allowed, sizeof(allowed));
			printf("  %-24s %-13s %s Allowed: %s.\n", c->name, c->clause, c->what,
			       allowed);
		}
	}
}

static bool is_chosen(const struct settings *s, const struct hostile_case *c)
{
	if (s->ncases == 0)
		return s->count == 0;
	for (uint32_t i = 0; i < s->ncases; i++)
		if (strcmp(s->cases[i], "all") == 0 || strcmp(s->cases[i], c->name) == 0)
			return true;
	return false;
}

static const struct hostile_case *cases_of(const struct settings *s)
{
	if (s->connect)
		return responder_cases_of(&h);
	return h.is_v2 ? requester_cases_v2 : requester_cases;
}

static void run_cases(struct settings *s)
{
	struct result result;

	for (const struct hostile_case *c = cases_of(s); c->name; c++) {
		if (!is_chosen(s, c))
			continue;
		if (s->connect)
			to_responder_run(&h, c, &result);
		else if (h.is_v2)
			to_requester_v2_run(&h, c, &result);
		else
			to_requester_run(&h, c, &result);
		report_result(&result, s->is_quiet);
		s->has_failed |= !result_is_met(&result);
		json_array_append_new(s->results, report_json(&result));
	}
}

static void run_mutations(struct settings *s)
{
	struct result result;

	for (uint32_t i = 0; i < s->count;) {
		uint64_t seed = s->seed + i;
		uint32_t n = 1;

		if (s->connect)
			to_responder_mutated(&h, seed, &result);
		else if (h.is_v2)
			n = to_requester_v2_mutated(&h, seed, s->count - i, &result);
		else
			n = to_requester_mutated(&h, seed, s->count - i, &result);
		s->outcomes[__builtin_ctz(result.got)] += n;
		if (!(result.got & GOT_SURVIVED)) {
			printf("FAILED  mutation %llu, of %s: %s%s%s\n        again: --seed %llu "
			       "--count %u\n",
			       (unsigned long long)seed, result.c->name, outcome_name(result.got),
			       result.detail[0] ? ": " : "", result.detail,
			       (unsigned long long)seed, n ? n : 1);
			s->has_failed = true;
			json_array_append_new(s->failed,
					      json_pack("{s:I, s:s, s:s, s:s}", "seed",
							(json_int_t)seed, "base", result.c->name,
							"got", outcome_name(result.got), "detail",
							result.detail));
		}
		i += n ? n : 1;
	}
	if (s->count > 0 && !s->is_quiet) {
		printf("%u mutations from seed %llu on:", s->count, (unsigned long long)s->seed);
		for (uint32_t i = 0; i < GOT_OUTCOMES; i++)
			if (s->outcomes[i])
				printf(" %u %s", s->outcomes[i],
				       outcome_name((enum outcome)(1u << i)));
		printf("\n");
	}
}

static int dump(FILE *file, const void *all)
{
	int rc = json_dumpf(all, file, JSON_INDENT(1));

	if (file == stdout)
		putchar('\n');
	return rc;
}

static int write_json(const struct settings *s)
{
	json_t *outcomes = json_object(), *all;
	int rc;

	for (uint32_t i = 0; i < GOT_OUTCOMES; i++)
		if (s->outcomes[i])
			json_object_set_new(outcomes, outcome_name((enum outcome)(1u << i)),
					    json_integer(s->outcomes[i]));
	all = json_pack("{s:s, s:s, s:s, s:s, s:s, s:O}", "label", s->label ? s->label : "", "side",
			s->connect ? "responder" : "requester", "protocol", h.is_v2 ? "v2" : "v1",
			"driver", h.config.driver, "program", h.parse.program->name, "cases",
			s->results);
	if (all && s->count > 0)
		json_object_set_new(all, "mutations",
				    json_pack("{s:I, s:i, s:O, s:O}", "seed", (json_int_t)s->seed,
					      "count", (int)s->count, "outcomes", outcomes,
					      "failed", s->failed));
	json_decref(outcomes);
	rc = bench_output_write(s->json, dump, all);
	json_decref(all);
	return rc;
}

static int start(const struct settings *s)
{
	int rc = mem_eal_start(NULL);

	h.addr = s->connect ? s->connect : s->listen;
	if (rc == 0)
		rc = peer_open(&h.peer, &h.config);
	if (rc == 0 && s->connect)
		rc = to_responder_prepare(&h);
	if (rc == 0 && s->listen) {
		rc = peer_listen(&h.peer, s->listen);
		if (rc != 0)
			fprintf(stderr, "weir-hostile: can't listen at %s: %s\n", s->listen,
				strerror(-rc));
	}
	return rc;
}

int main(int argc, char **argv)
{
	struct settings s = {.seed = 1};
	int rc;

	std_io_start();
	h.config = (struct peer_config){
		.driver = "shm", .driver_options = "", .timeout_ms = 5000, .settle_ms = 50};
	h.parse.program = programs;
	if (!parse_options(&s, argc, argv)) {
		fputs(usage, stderr);
		return EXIT_CANT;
	}
	if (s.is_list) {
		list();
		return std_io_finish("weir-hostile") == 0 ? 0 : EXIT_CANT;
	}
	if (s.is_table)
		return report_table(argv + optind, argc - optind) == 0 &&
				       std_io_finish("weir-hostile") == 0
			       ? 0
			       : EXIT_CANT;
	if (s.json && bench_output_check(s.json) != 0)
		return EXIT_CANT;
	if (start(&s) != 0) {
		peer_close(&h.peer);
		return 3;
	}
	s.results = json_array();
	s.failed = json_array();
	run_cases(&s);
	run_mutations(&s);
	rc = s.has_failed;
	if (((s.json && write_json(&s) != 0) || std_io_finish("weir-hostile") != 0) && rc == 0)
		rc = EXIT_CANT;
	json_decref(s.results);
	json_decref(s.failed);
	peer_close(&h.peer);
	return rc;
}
