/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses the command line of weir-bench. */
#include "options.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_options.h"
#include "help.h"
#include "lcores.h"
#include "number.h"
#include "output.h"
#include "overview.h"
#include "program_args.h"
#include "program_options.h"

enum {
	OPT_LISTEN = OPT_OWN,
	OPT_CONNECT,
	OPT_THREADS,
	OPT_OVERVIEW,
	OPT_WORKLOAD,
	OPT_RATIO,
	OPT_SIZE,
	OPT_READ_SIZE,
	OPT_WRITE_SIZE,
	OPT_WORKING_SET,
	OPT_ACCESS,
	OPT_DEPTH,
	OPT_RATE,
	OPT_THINK,
	OPT_STEADY,
	OPT_STEADY_TIME,
	OPT_REPEAT,
	OPT_THRESHOLD,
	OPT_TIME,
	OPT_WARMUP,
	OPT_CALLS,
	OPT_LCORES,
	OPT_CONNECTIONS,
	OPT_ACTIVE,
	OPT_IN_TURN,
	OPT_INLINE,
	OPT_CHUNK,
	OPT_EXPOSURE,
	OPT_PROTOCOL,
	OPT_EXTENSION,
	OPT_VERIFY,
	OPT_JSON,
	OPT_FIO_JSON,
	OPT_CSV,
	OPT_HTML,
	OPT_RECONNECT,
	OPT_QUIET,
	OPT_CAPTURE,
	OPT_CAPTURE_LAST = OPT_CAPTURE + CAPTURE_LONG_OPTIONS_N - 1,
};

static const struct option long_options[] = {
	PROGRAM_LONG_OPTIONS,
	{"listen", required_argument, NULL, OPT_LISTEN},
	{"connect", required_argument, NULL, OPT_CONNECT},
	{"threads", no_argument, NULL, OPT_THREADS},
	{"overview", no_argument, NULL, OPT_OVERVIEW},
	{"workload", required_argument, NULL, OPT_WORKLOAD},
	{"ratio", required_argument, NULL, OPT_RATIO},
	{"size", required_argument, NULL, OPT_SIZE},
	{"read-size", required_argument, NULL, OPT_READ_SIZE},
	{"write-size", required_argument, NULL, OPT_WRITE_SIZE},
	{"working-set", required_argument, NULL, OPT_WORKING_SET},
	{"access", required_argument, NULL, OPT_ACCESS},
	{"depth", required_argument, NULL, OPT_DEPTH},
	{"rate", required_argument, NULL, OPT_RATE},
	{"think", required_argument, NULL, OPT_THINK},
	{"steady", required_argument, NULL, OPT_STEADY},
	{"steady-time", required_argument, NULL, OPT_STEADY_TIME},
	{"repeat", required_argument, NULL, OPT_REPEAT},
	{"threshold", required_argument, NULL, OPT_THRESHOLD},
	{"time", required_argument, NULL, OPT_TIME},
	{"warmup", required_argument, NULL, OPT_WARMUP},
	{"calls", required_argument, NULL, OPT_CALLS},
	{"lcores", required_argument, NULL, OPT_LCORES},
	{"connections", required_argument, NULL, OPT_CONNECTIONS},
	{"active", required_argument, NULL, OPT_ACTIVE},
	{"in-turn", no_argument, NULL, OPT_IN_TURN},
	{"inline", required_argument, NULL, OPT_INLINE},
	{"chunk", required_argument, NULL, OPT_CHUNK},
	{"exposure", required_argument, NULL, OPT_EXPOSURE},
	{"protocol", required_argument, NULL, OPT_PROTOCOL},
	{"extension", required_argument, NULL, OPT_EXTENSION},
	{"verify", no_argument, NULL, OPT_VERIFY},
	{"json", required_argument, NULL, OPT_JSON},
	{"fio-json", required_argument, NULL, OPT_FIO_JSON},
	{"csv", required_argument, NULL, OPT_CSV},
	{"html", required_argument, NULL, OPT_HTML},
	{"reconnect", no_argument, NULL, OPT_RECONNECT},
	{"quiet", no_argument, NULL, OPT_QUIET},
	CAPTURE_LONG_OPTIONS(OPT_CAPTURE),
	{NULL, 0, NULL, 0},
};

static const char *const workloads[] = {
	[WORKLOAD_NULL] = "null",   [WORKLOAD_ECHO] = "echo",	[WORKLOAD_READ] = "read",
	[WORKLOAD_WRITE] = "write", [WORKLOAD_MIXED] = "mixed", [WORKLOAD_LIST] = "list",
};

#define NWORKLOADS (sizeof(workloads) / sizeof(workloads[0]))

const char *bench_load_name(const struct bench_options *options)
{
	return options->is_overview ? "overview" : bench_workload_name(options->workload);
}

const char *bench_workload_name(enum bench_workload workload)
{
	return workloads[workload];
}

static int parse_workload(const char *text, enum bench_workload *workload)
{
	for (uint32_t i = 0; i < NWORKLOADS; i++) {
		if (strcmp(workloads[i], text) == 0) {
			*workload = (enum bench_workload)i;
			return 0;
		}
	}
	return option_bad("workload", text, "expected null, echo, read, write, mixed or list");
}

static int parse_exposure(const char *text, enum weir_exposure *exposure)
{
	if (strcmp(text, "window") == 0)
		*exposure = WEIR_EXPOSURE_WINDOW;
	else if (strcmp(text, "pool") == 0)
		*exposure = WEIR_EXPOSURE_POOL;
	else
		return option_bad("exposure", text, "expected window or pool");
	return 0;
}

static const char *const protocols[] = {
	[WEIR_PROTOCOL_V1] = "v1",
	[WEIR_PROTOCOL_V2] = "v2",
	[WEIR_PROTOCOL_AUTO] = "auto",
};

const char *bench_protocol_name(enum weir_protocol protocol)
{
	return protocols[protocol];
}

static int parse_protocol(const char *text, enum weir_protocol *protocol)
{
	for (uint32_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++) {
		if (strcmp(protocols[i], text) == 0) {
			*protocol = (enum weir_protocol)i;
			return 0;
		}
	}
	return option_bad("protocol", text, "expected v1, v2 or auto");
}

static const char *const extensions[] = {
	[WEIR_EXTENSION_OFF] = "off",
	[WEIR_EXTENSION_CONTINUATION] = "continuation",
	[WEIR_EXTENSION_DIRECTION] = "direction",
	[WEIR_EXTENSION_PLACEMENT] = "placement",
	[WEIR_EXTENSION_CONTINUATION | WEIR_EXTENSION_DIRECTION] = "continuation+direction",
	[WEIR_EXTENSION_CONTINUATION | WEIR_EXTENSION_PLACEMENT] = "continuation+placement",
	[WEIR_EXTENSION_DIRECTION | WEIR_EXTENSION_PLACEMENT] = "direction+placement",
	[WEIR_EXTENSION_ALL] = "all",
};

const char *bench_extension_name(enum weir_extension extension)
{
	return extensions[extension];
}

static int parse_extension(const char *text, enum weir_extension *extension)
{
	for (uint32_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
		if (strcmp(extensions[i], text) == 0) {
			*extension = (enum weir_extension)i;
			return 0;
		}
	}
	return option_bad("extension", text,
			  "expected off, continuation, direction, placement or all; two parts are "
			  "joined as in continuation+direction");
}

static int parse_access(const char *text, bool *is_sequential)
{
	*is_sequential = strcmp(text, "sequential") == 0;
	if (!*is_sequential && strcmp(text, "random") != 0)
		return option_bad("access", text, "expected random or sequential");
	return 0;
}

static int parse_percent(const char *text, double *percent)
{
	char *end;

	*percent = strtod(text, &end);
	if (end == text || *end != '\0' || !(*percent > 0 && *percent <= 100))
		return option_bad("steady", text, "expected a percentage above 0 and up to 100");
	return 0;
}

static int parse_lcores(const char *text, struct bench_options *options)
{
	int n = weir_profile_lcores(text, options->lcores, BENCH_LCORES_MAX);

	if (n < 0 || *text == '\0')
		return option_bad("lcores", text,
				  n == -E2BIG	 ? "at most 32 cores"
				  : n == -EEXIST ? "a core is named twice, so two threads would "
						   "share it: name each core once, or give 'any'"
						 : "expected a list such as 0,1 or 0-3, or 'any'");
	options->nlcores = (uint32_t)n;
	return 0;
}

/*
 * Selects the first two cores that this process is allowed to use, one for each side. If there is
 * only one such core, no thread is pinned.
 */
static void default_lcores(struct bench_options *options)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	options->nlcores = 0;
	if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) < 2) {
		fprintf(stderr, "weir-bench: this process may use only one core, which both sides "
				"share. Two cores are many times faster\n");
		return;
	}
	for (uint32_t cpu = 0; cpu < CPU_SETSIZE && options->nlcores < 2; cpu++)
		if (CPU_ISSET(cpu, &set))
			options->lcores[options->nlcores++] = cpu;
	/*
	 * If only one side runs in this program, it uses the core that it would use beside the
	 * other side.
	 */
	if (options->side == SIDE_RESPONDER)
		options->lcores[0] = options->lcores[1];
	if (options->side != SIDE_BOTH)
		options->nlcores = 1;
}

static int apply(int opt, const char *value, struct bench_options *o)
{
	switch (opt) {
	case OPT_DRIVER:
		if (option_driver(value, &o->profile) != 0)
			return -1;
		if (!bench_driver_is_for_load(value))
			return option_bad("driver", value, "it is only for tests, in virtual time");
		return 0;
	case OPT_DRIVER_OPTIONS:
		return option_driver_options(value, &o->profile);
	case OPT_LISTEN:
	case OPT_CONNECT:
		if (o->side != SIDE_BOTH)
			return option_bad(opt == OPT_LISTEN ? "listen" : "connect", value,
					  "give only one of --listen and --connect");
		o->side = opt == OPT_LISTEN ? SIDE_RESPONDER : SIDE_REQUESTER;
		o->addr = value;
		return option_address(opt == OPT_LISTEN ? "listen" : "connect", value);
	case OPT_THREADS:
		o->use_threads = true;
		return 0;
	case OPT_OVERVIEW:
		o->is_overview = true;
		return 0;
	case OPT_WORKLOAD:
		o->has_workload = true;
		return parse_workload(value, &o->workload);
	case OPT_RATIO:
		return option_u32("ratio", value, 0, 100, &o->read_percent);
	case OPT_SIZE:
		return option_range("size", value, 0, BENCH_SIZE_MAX, 1024, &o->sweep.sizes);
	case OPT_READ_SIZE:
		o->has_read_size = true;
		return option_u32("read-size", value, 0, BENCH_SIZE_MAX, &o->read_bytes);
	case OPT_WRITE_SIZE:
		o->has_write_size = true;
		return option_u32("write-size", value, 0, BENCH_SIZE_MAX, &o->write_bytes);
	case OPT_WORKING_SET:
		return option_u32("working-set", value, 1, BENCH_WORKING_SET_MAX,
				  &o->working_set_bytes);
	case OPT_ACCESS:
		return parse_access(value, &o->is_sequential);
	case OPT_DEPTH:
		return option_range("depth", value, 1, BENCH_DEPTH_MAX, 1024, &o->sweep.depths);
	case OPT_RATE:
		return option_range("rate", value, 1, BENCH_RATE_MAX, 1000, &o->sweep.rates);
	case OPT_THINK:
		return option_time("think", value, &o->think_ns);
	case OPT_STEADY:
		return parse_percent(value, &o->steady_percent);
	case OPT_STEADY_TIME:
		return option_seconds("steady-time", value, 0.5, &o->steady_seconds);
	case OPT_REPEAT:
		return option_u32("repeat", value, 1, BENCH_REPEAT_MAX, &o->repeat);
	case OPT_THRESHOLD:
		if (o->nthresholds == BENCH_THRESHOLDS_MAX)
			return option_bad("threshold", value, "too many");
		return option_threshold("threshold", value, &o->thresholds[o->nthresholds++]);
	case OPT_TIME:
		return option_seconds("time", value, 0.001, &o->seconds);
	case OPT_WARMUP:
		return option_seconds("warmup", value, 0, &o->warmup_seconds);
	case OPT_CALLS:
		return option_u64("calls", value, 1, UINT64_MAX, &o->calls_max);
	case OPT_CONNECTIONS:
		return option_range("connections", value, 1, BENCH_CONNECTIONS_MAX, 1024,
				    &o->sweep.connections);
	case OPT_ACTIVE:
		return option_u32("active", value, 1, BENCH_CONNECTIONS_MAX, &o->active);
	case OPT_IN_TURN:
		o->takes_turns = true;
		return 0;
	case OPT_INLINE:
		if (option_u32("inline", value, 1024, 65536, &o->profile.inline_bytes) != 0)
			return -1;
		if (o->profile.inline_bytes % 1024 != 0)
			return option_bad("inline", value,
					  "expected a multiple of 1024, because the peers exchange "
					  "it in KiB");
		return 0;
	case OPT_CHUNK:
		if (option_u32("chunk", value, 0, 65536, &o->profile.chunk_bytes) != 0)
			return -1;
		if (o->profile.chunk_bytes % 4 != 0)
			return option_bad("chunk", value, "expected a multiple of 4");
		return 0;
	case OPT_EXPOSURE:
		return parse_exposure(value, &o->profile.exposure);
	case OPT_PROTOCOL:
		return parse_protocol(value, &o->profile.protocol);
	case OPT_EXTENSION:
		return parse_extension(value, &o->profile.extension);
	case OPT_VERIFY:
		o->verify = true;
		return 0;
	case OPT_RECONNECT:
		o->reconnect = true;
		return 0;
	case OPT_JSON:
		o->json = value;
		return 0;
	case OPT_FIO_JSON:
		o->fio_json = value;
		return 0;
	case OPT_CSV:
		o->csv = value;
		return 0;
	case OPT_HTML:
		o->html = value;
		return 0;
	case OPT_QUIET:
		o->quiet = true;
		return 0;
	default:
		if (opt >= OPT_CAPTURE && opt <= OPT_CAPTURE_LAST)
			return capture_option(opt - OPT_CAPTURE, value, &o->capture);
		return 0;
	}
}

/* Checks that no option excludes --overview. Returns 0 or -1. */
static int check_overview(const struct bench_options *o)
{
	const char *option = o->has_workload				? "workload"
			     : o->sweep.sizes.n > 0			? "size"
			     : o->sweep.depths.n > 0			? "depth"
			     : o->sweep.rates.n > 0			? "rate"
			     : o->think_ns > 0				? "think"
			     : o->calls_max > 0				? "calls"
			     : o->read_percent != OVERVIEW_READ_PERCENT ? "ratio"
									: NULL;

	if (option)
		return option_bad(option, NULL,
				  "--overview has loads of its own: leave out one of the two");
	if (o->side == SIDE_RESPONDER)
		return option_bad("overview", NULL,
				  "it is for the requester: start the responder with --listen, "
				  "--size 1m and --depth 32");
	if (o->sweep.connections.n > 1)
		return option_bad("connections", NULL, "--overview takes one number");
	return 0;
}

/* Checks that no options exclude each other. Returns 0 or -1. */
static int check_together(const struct bench_options *o)
{
	if (o->is_overview && check_overview(o) != 0)
		return -1;
	if (o->use_threads && o->side != SIDE_BOTH)
		return option_bad(
			"threads", NULL,
			"it needs both sides in this program: leave out --listen and --connect");
	if (capture_options_check(&o->capture) != 0)
		return -1;
	if (o->think_ns > 0 && o->sweep.rates.n > 0)
		return option_bad("think", NULL,
				  "it contradicts --rate, which sets the times of calls: leave out "
				  "one of them");
	if ((o->has_read_size || o->has_write_size) && o->workload != WORKLOAD_MIXED)
		return option_bad(
			o->has_read_size ? "read-size" : "write-size", NULL,
			"it is only for --workload mixed: use --size for other workloads");
	if (o->fio_json &&
	    (o->is_overview || (o->workload != WORKLOAD_READ && o->workload != WORKLOAD_WRITE &&
				o->workload != WORKLOAD_MIXED)))
		return option_bad("fio-json", o->fio_json,
				  "fio has no such load: use --workload read, write or mixed");
	if (bench_output_is_one(o->fio_json, o->json) || bench_output_is_one(o->fio_json, o->csv) ||
	    bench_output_is_one(o->fio_json, o->html))
		return option_bad("fio-json", o->fio_json,
				  "another report has the same file: give another one");
	if (bench_output_is_one(o->json, o->csv))
		return option_bad("csv", o->csv, "--json has the same file: give another one");
	if (bench_output_is_one(o->html, o->json) || bench_output_is_one(o->html, o->csv))
		return option_bad("html", o->html,
				  "--json or --csv has the same file: give another one");
	if (o->html && strcmp(o->html, "-") == 0)
		return option_bad("html", "-", "expected a file: the table is on standard output");
	if (o->side == SIDE_RESPONDER && bench_options_points(o) > 1)
		return option_bad(
			"listen", o->addr,
			"a responder takes one size and one depth: give the largest ones");
	if (bench_options_points(o) > BENCH_POINTS_MAX)
		return option_bad("size", NULL,
				  "more than 1000 combinations of sizes, depths, rates and "
				  "connections: give fewer values");
	return 0;
}

static const char *const repeatable[] = {"threshold", NULL};

static const struct program program = {
	.name = "weir-bench",
	.version = WEIR_VERSION,
	.short_options = "",
	.long_options = long_options,
	.repeatable = repeatable,
	.help = bench_help,
};

/*
 * Loads the profile, and applies the options that override it. Returns the same as
 * bench_options_parse().
 */
static int parse_all(int argc, char **argv, struct bench_options *o, const char **lcores)
{
	int rc = program_args_read(&program, argc, argv, &o->profile, &o->has_profile);
	int opt, nrest;
	char **rest;

	if (rc != 0)
		return rc;
	while ((opt = program_args_next()) != -1) {
		if (opt == OPT_LCORES)
			*lcores = optarg;
		if (apply(opt, optarg, o) != 0)
			return -1;
	}
	rest = program_args_rest(&nrest);
	if (nrest > 0)
		return option_bad(NULL, rest[0], "an argument that is not an option");
	if (!bench_driver_is_for_load(o->profile.driver)) /* the driver can come from the profile,
							     so it is checked here */
		return option_bad("profile", o->profile.driver,
				  "this driver is only for tests, in virtual time");
	if (!*lcores && o->has_profile && o->profile.lcores[0] != '\0')
		*lcores = o->profile.lcores;
	return 0;
}

/* Sets a range to one default value if its option was not given. */
static void default_range(struct bench_range *range, uint64_t value)
{
	if (range->n == 0)
		*range = (struct bench_range){.n = 1, .values = {value}};
}

/* Writes the list of cores that was given to a profile. Returns 0 or -1. */
static int set_lcores(const char *lcores, struct weir_profile *profile)
{
	if (strlen(lcores) >= sizeof(profile->lcores))
		return option_bad("lcores", lcores, "a profile can have up to 127 characters");
	snprintf(profile->lcores, sizeof(profile->lcores), "%s", lcores);
	return 0;
}

/*
 * Prints the profile of the first combination, with the cores of --lcores or of the default.
 * 'lcores' is the list that was given, or NULL. Returns the same as bench_options_parse().
 */
static int show_profile(const struct bench_options *o, const char *lcores)
{
	struct bench_options point;
	struct weir_profile *profile = &point.profile;

	bench_options_point(o, 0, &point);
	if (lcores && set_lcores(lcores, profile) != 0)
		return -1;
	if (!lcores)
		bench_lcores_list(o, profile->lcores, sizeof(profile->lcores));
	return program_args_show(profile);
}

int bench_options_parse(int argc, char **argv, struct bench_options *o)
{
	const char *lcores = NULL;
	int rc;

	*o = (struct bench_options){
		.workload = WORKLOAD_NULL,
		.read_percent = 70,
		.working_set_bytes = 32768,
		.seconds = -1,
		.warmup_seconds = -1,
		.steady_seconds = 10,
		.repeat = 1,
	};
	rc = parse_all(argc, argv, o, &lcores);
	if (rc != 0)
		return rc;
	if (lcores && parse_lcores(lcores, o) != 0)
		return -1;
	if (!lcores)
		default_lcores(o);
	if (check_together(o) != 0)
		return -1;
	if (o->seconds < 0)
		o->seconds = o->is_overview ? OVERVIEW_SECONDS : 5;
	if (o->warmup_seconds < 0)
		o->warmup_seconds = o->is_overview ? OVERVIEW_WARMUP_SECONDS : 1;
	default_range(&o->sweep.sizes, o->workload == WORKLOAD_NULL ? 64 : 4096);
	default_range(&o->sweep.depths, 1);
	default_range(&o->sweep.connections, 1);
	default_range(&o->sweep.rates, 0);
	for (uint32_t i = 0; i < bench_options_points(o); i++) {
		struct bench_options point;
		char active[16];

		bench_options_point(o, i, &point);
		if (o->active > point.connections) {
			snprintf(active, sizeof(active), "%u", o->active);
			return option_bad(
				"active", active,
				"more than --connections: raise --connections, or lower --active");
		}
		/* The sections of engines name some of these cores. */
		if (lcores && point.profile.engines[0] != '\0' &&
		    set_lcores(lcores, &point.profile) != 0)
			return -1;
		if (option_check_profile(&point.profile) != 0)
			return -1;
	}
	return program_args_shows_profile() ? show_profile(o, lcores) : 0;
}
