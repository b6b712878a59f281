/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weir-sim: parses the options, runs the seeds, and prints the results. doc/weir-sim.rst describes
 * the program.
 */
#include "wsim.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_log.h>

#include "sanitizers.h"
#include "seeded_bugs.h"
#include "std_io.h"

#define STEPS_DEFAULT 2000u
#define STEPS_MAX     10000000u

static const char usage[] =
	"weir-sim: requesters and responders under faults, in virtual time\n"
	"\n"
	"  --seed N          run this seed (default: 1)\n"
	"  --seeds A..B      run these seeds\n"
	"  --fresh N         run N seeds that nobody has run before; the first is printed\n"
	"  --seeds-from FILE run the seeds in a file: a line has a seed, and may have steps, "
	"level,\n"
	"                    protocol and extension behind it\n"
	"  --steps M         steps with faults, before all has to come to its end (default: 2000)\n"
	"  --faults LEVEL    0: none. 1: delays, closes, time-outs. 2: and failures and lost "
	"connections.\n"
	"                    3: and refused posts and resources, killed processes, much more often "
	"(default)\n"
	"  --protocol P      v1 (default), v2, or mixed: requesters that speak either version, "
	"responders that\n"
	"                    do, or speak version 1 alone\n"
	"  --extension E     off (default), continuation, direction, placement or all: what is "
	"used of the\n"
	"                    extension of version 2: with --protocol v2 or mixed\n"
	"  --plant K         with the build option seeded_bugs: the bug to plant, 1 to 13\n"
	"  --verbose         a line for each seed;  --verbose trace: a line for each event\n"
	"  --json            a JSON object for each seed, a line each\n"
	"\n"
	"Ends with status 1 at the first seed for which something did not hold, and says how to "
	"have it again.\n";

static struct wsim_run run;

struct settings {
	struct wsim_options options;
	uint64_t first, last;
	const char *file;
	bool is_fresh, is_verbose, is_json;
	uint64_t nseeds;
	struct wsim_counts counts;
};

static void on_crash(int signal)
{
	char text[96];
	int n = snprintf(text, sizeof(text),
			 "weir-sim: seed %" PRIu64 ", step %u: crashed (signal %d)\n",
			 run.options.seed, run.step, signal);

	if (n > 0 && write(STDERR_FILENO, text, (size_t)n) < 0)
		_exit(2);
	_exit(1);
}

/* Sets handlers for crashes, except under the address sanitizer, which prints a better report. */
static void catch_crashes(void)
{
#ifdef __SANITIZE_ADDRESS__
	(void)on_crash;
#else
	signal(SIGSEGV, on_crash);
	signal(SIGBUS, on_crash);
	signal(SIGABRT, on_crash);
	signal(SIGFPE, on_crash);
#endif
}

static bool parse_number(const char *text, uint64_t *number, char **end)
{
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*number = strtoull(text, end, 0);
	return errno == 0;
}

static bool parse_only(const char *text, uint64_t max, uint64_t *number)
{
	char *end;

	return parse_number(text, number, &end) && *end == '\0' && *number <= max;
}

static bool parse_range(const char *text, uint64_t *first, uint64_t *last)
{
	char *end;

	return parse_number(text, first, &end) && strncmp(end, "..", 2) == 0 &&
	       parse_only(end + 2, UINT64_MAX - 1, last) && *first <= *last;
}

static void print_json(const struct wsim_run *r)
{
	const struct wsim_counts *c = &r->counts;

	printf("{\"seed\": %" PRIu64
	       ", \"steps\": %u, \"faults\": %u, \"ok\": %s, \"hash\": \"%016" PRIx64
	       "\", \"calls\": %" PRIu64 ", \"replies\": %" PRIu64 ", \"refused\": %" PRIu64
	       ", \"timed_out\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"err_chunk\": %" PRIu64
	       ", \"handled\": %" PRIu64 ", \"orphans\": %" PRIu64 ", \"connections\": %" PRIu64
	       ", \"kills\": %" PRIu64 ", \"injected\": %" PRIu64 ", \"reconnected\": %" PRIu64
	       ", \"resent\": %" PRIu64 ", \"given_up\": %" PRIu64 ", \"replays\": %" PRIu64
	       ", \"continued\": %" PRIu64 ", \"directed\": %" PRIu64 ", \"placed\": %" PRIu64
	       ", \"fallbacks\": %" PRIu64 ", \"cancelled\": %" PRIu64 ", \"proven\": %" PRIu64
	       "}\n",
	       r->options.seed, r->options.steps, r->options.level,
	       r->is_violated ? "false" : "true", r->hash, c->calls, c->ok, c->refused,
	       c->timed_out, c->lost, c->err_chunk, c->handled, c->orphans, c->opened, c->kills,
	       c->faults, c->reconnected, c->resent, c->given_up, c->replays, c->continued,
	       c->directed, c->placed, c->fallbacks, c->cancelled, c->proven);
}

static void add(struct wsim_counts *sum, const struct wsim_counts *counts)
{
	const uint64_t *from = (const uint64_t *)counts;
	uint64_t *to = (uint64_t *)sum;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

static bool set_protocol(struct wsim_options *options, const char *text)
{
	options->mixes = strcmp(text, "mixed") == 0;
	options->protocol = strcmp(text, "v1") == 0 ? WEIR_PROTOCOL_V1 : WEIR_PROTOCOL_V2;
	return options->mixes || options->protocol == WEIR_PROTOCOL_V1 || strcmp(text, "v2") == 0;
}

static const char *protocol_option(const struct wsim_options *options)
{
	if (options->mixes)
		return " --protocol mixed";
	return options->protocol == WEIR_PROTOCOL_V1 ? "" : " --protocol v2";
}

static const char *const extensions[] = {
	[WEIR_EXTENSION_OFF] = "off",
	[WEIR_EXTENSION_CONTINUATION] = "continuation",
	[WEIR_EXTENSION_DIRECTION] = "direction",
	[WEIR_EXTENSION_PLACEMENT] = "placement",
	[WEIR_EXTENSION_ALL] = "all",
};

static bool set_extension(struct wsim_options *options, const char *text)
{
	for (uint32_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
		options->extension = (enum weir_extension)i;
		if (extensions[i] && strcmp(extensions[i], text) == 0)
			return true;
	}
	return false;
}

/*
 * Returns false if the options ask for the extension but not for the version that has it, so that
 * the extension would not be used.
 */
static bool has_its_extension(const struct wsim_options *options)
{
	return options->extension == WEIR_EXTENSION_OFF || options->protocol != WEIR_PROTOCOL_V1;
}

static int run_seed(struct settings *settings, const struct wsim_options *options)
{
	int rc = wsim_run(&run, options);

	settings->nseeds++;
	add(&settings->counts, &run.counts);
	if (settings->is_json)
		print_json(&run);
	else if (settings->is_verbose)
		printf("seed %" PRIu64 ": hash %016" PRIx64 ", %" PRIu64 " calls, %" PRIu64
		       " replies, %" PRIu64 " faults\n",
		       options->seed, run.hash, run.counts.calls, run.counts.ok, run.counts.faults);
	if (rc != 0) {
		char plant[32] = "";

		if (options->plant)
			snprintf(plant, sizeof(plant), " --plant %u", options->plant);
		fflush(stdout);
		fprintf(stderr,
			"weir-sim: seed %" PRIu64 ", step %u: %s\n"
			"again: weir-sim --seed %" PRIu64
			" --steps %u --faults %u%s --extension %s%s --verbose trace\n",
			options->seed, run.step, run.violation, options->seed, options->steps,
			options->level, protocol_option(options), extensions[options->extension],
			plant);
	}
	return rc;
}

static int run_range(struct settings *settings)
{
	struct wsim_options options = settings->options;
	int rc = 0;

	for (options.seed = settings->first; options.seed <= settings->last && rc == 0;
	     options.seed++)
		rc = run_seed(settings, &options);
	return rc;
}

static bool set_fresh(struct settings *settings, uint64_t n)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	settings->is_fresh = true;
	settings->first = (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
	settings->last = settings->first + n - 1;
	return n > 0;
}

static bool set(struct settings *settings, int option, const char *text)
{
	uint64_t number = 0;

	switch (option) {
	case 's':
		if (!parse_only(text, UINT64_MAX - 1, &number))
			return false;
		settings->first = settings->last = number;
		return true;
	case 'r':
		return parse_range(text, &settings->first, &settings->last);
	case 'f':
		return parse_only(text, 1u << 30, &number) && set_fresh(settings, number);
	case 'F':
		settings->file = text;
		return true;
	case 'm':
		if (!parse_only(text, STEPS_MAX, &number))
			return false;
		settings->options.steps = (uint32_t)number;
		return true;
	case 'l':
		if (!parse_only(text, WSIM_LEVEL_MAX, &number))
			return false;
		settings->options.level = (uint32_t)number;
		return true;
	case 'p':
		if (!parse_only(text, SEEDED_BUGS, &number))
			return false;
		settings->options.plant = (uint32_t)number;
		return true;
	case 'P':
		return set_protocol(&settings->options, text);
	case 'e':
		return set_extension(&settings->options, text);
	case 'j':
		settings->is_json = true;
		return true;
	default:
		return false;
	}
}

/*
 * Parses "SEED [STEPS [LEVEL [PROTOCOL [EXTENSION]]]]". Each word has the form of the argument of
 * its option.
 */
static bool set_line(struct settings *settings, char *line)
{
	static const char options[] = "smlPe";
	char *rest = NULL;

	for (const char *option = options; (line = strtok_r(rest ? NULL : line, " \t", &rest));
	     option++)
		if (!*option || !set(settings, *option, line))
			return false;
	settings->options.seed = settings->first;
	return true;
}

/* Runs all lines of a file. Each line is a run. '#' begins a comment. */
static int run_file(struct settings *settings)
{
	FILE *file = fopen(settings->file, "r");
	uint32_t number = 0;
	char line[256];
	int rc = 0;

	if (!file) {
		fprintf(stderr, "weir-sim: %s: %s\n", settings->file, strerror(errno));
		return 2;
	}
	while (rc == 0 && fgets(line, sizeof(line), file)) {
		struct settings one = *settings;

		number++;
		line[strcspn(line, "#\n")] = '\0';
		if (line[strspn(line, " \t")] == '\0')
			continue;
		if (!set_line(&one, line)) {
			fprintf(stderr,
				"weir-sim: %s:%u: not SEED [STEPS [LEVEL [PROTOCOL "
				"[EXTENSION]]]]\n",
				settings->file, number);
			rc = 2;
			break;
		}
		if (!has_its_extension(&one.options)) {
			fprintf(stderr,
				"weir-sim: %s:%u: version 1 has no extension '%s': give the line "
				"v2 or mixed\n",
				settings->file, number, extensions[one.options.extension]);
			rc = 2;
			break;
		}
		rc = run_seed(settings, &one.options);
	}
	fclose(file);
	return rc;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {
		{"seed", required_argument, NULL, 's'},
		{"seeds", required_argument, NULL, 'r'},
		{"fresh", required_argument, NULL, 'f'},
		{"seeds-from", required_argument, NULL, 'F'},
		{"steps", required_argument, NULL, 'm'},
		{"faults", required_argument, NULL, 'l'},
		{"plant", required_argument, NULL, 'p'},
		{"protocol", required_argument, NULL, 'P'},
		{"extension", required_argument, NULL, 'e'},
		{"json", no_argument, NULL, 'j'},
		{"verbose", optional_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct settings settings = {.options = {.steps = STEPS_DEFAULT, .level = WSIM_LEVEL_MAX},
				    .first = 1,
				    .last = 1};
	int option, rc;

	std_io_start();
	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (option == 'h') {
			fputs(usage, stdout);
			return std_io_finish("weir-sim") == 0 ? 0 : 2;
		}
		if (option == 'v') {
			settings.is_verbose = true;
			if (!optarg && optind < argc && strcmp(argv[optind], "trace") == 0)
				optarg = argv[optind++];
			if (optarg && strcmp(optarg, "trace") == 0)
				settings.options.trace = stdout;
			continue;
		}
		if (!set(&settings, option, optarg)) {
			fprintf(stderr, "weir-sim: wrong option or value; see --help\n");
			return 2;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "weir-sim: '%s' is no option; see --help\n", argv[optind]);
		return 2;
	}
	if (!settings.file && !has_its_extension(&settings.options)) {
		fprintf(stderr,
			"weir-sim: version 1 has no extension '%s': add --protocol v2 or "
			"--protocol mixed\n",
			extensions[settings.options.extension]);
		return 2;
	}
	if (!seeded_bug_select(settings.options.plant)) {
		fprintf(stderr, "weir-sim: --plant needs a build with -Dseeded_bugs=true\n");
		return 2;
	}
	catch_crashes();
	if (!settings.options.trace)
		rte_log_set_level_pattern("weir*", RTE_LOG_EMERG);
	wsim_plan_init();
	if (settings.is_fresh && !settings.is_json)
		printf("seeds from %" PRIu64 "\n", settings.first);
	fflush(stdout);
	rc = settings.file ? run_file(&settings) : run_range(&settings);
	if (!settings.is_json && rc == 0)
		printf("%" PRIu64 " seeds, %" PRIu64 " calls, %" PRIu64 " replies, %" PRIu64
		       " connections, %" PRIu64 " faults: 0 violations%s",
		       settings.nseeds, settings.counts.calls, settings.counts.ok,
		       settings.counts.opened, settings.counts.faults,
		       settings.nseeds == 1 ? "" : "\n");
	if (!settings.is_json && rc == 0 && settings.nseeds == 1)
		printf(", hash %016" PRIx64 "\n", run.hash);
	return std_io_finish("weir-sim") == 0 || rc != 0 ? rc : 2;
}
