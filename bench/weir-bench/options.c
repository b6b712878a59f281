/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "number.h"

enum {
	OPT_DRIVER = 256,
	OPT_DRIVER_OPTIONS,
	OPT_LISTEN,
	OPT_CONNECT,
	OPT_THREADS,
	OPT_WORKLOAD,
	OPT_RATIO,
	OPT_SIZE,
	OPT_WORKING_SET,
	OPT_DEPTH,
	OPT_TIME,
	OPT_WARMUP,
	OPT_CALLS,
	OPT_LCORES,
	OPT_CONNECTIONS,
	OPT_INLINE,
	OPT_EXPOSURE,
	OPT_VERIFY,
	OPT_PROFILE,
	OPT_JSON,
	OPT_RECONNECT,
	OPT_QUIET,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option long_options[] = {
	{"driver", required_argument, NULL, OPT_DRIVER},
	{"driver-options", required_argument, NULL, OPT_DRIVER_OPTIONS},
	{"listen", required_argument, NULL, OPT_LISTEN},
	{"connect", required_argument, NULL, OPT_CONNECT},
	{"threads", no_argument, NULL, OPT_THREADS},
	{"workload", required_argument, NULL, OPT_WORKLOAD},
	{"ratio", required_argument, NULL, OPT_RATIO},
	{"size", required_argument, NULL, OPT_SIZE},
	{"working-set", required_argument, NULL, OPT_WORKING_SET},
	{"depth", required_argument, NULL, OPT_DEPTH},
	{"time", required_argument, NULL, OPT_TIME},
	{"warmup", required_argument, NULL, OPT_WARMUP},
	{"calls", required_argument, NULL, OPT_CALLS},
	{"lcores", required_argument, NULL, OPT_LCORES},
	{"connections", required_argument, NULL, OPT_CONNECTIONS},
	{"inline", required_argument, NULL, OPT_INLINE},
	{"exposure", required_argument, NULL, OPT_EXPOSURE},
	{"verify", no_argument, NULL, OPT_VERIFY},
	{"profile", required_argument, NULL, OPT_PROFILE},
	{"json", required_argument, NULL, OPT_JSON},
	{"reconnect", no_argument, NULL, OPT_RECONNECT},
	{"quiet", no_argument, NULL, OPT_QUIET},
	{"help", no_argument, NULL, OPT_HELP},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

static const char *const workloads[] = {
	[WORKLOAD_NULL] = "null",   [WORKLOAD_ECHO] = "echo",	[WORKLOAD_READ] = "read",
	[WORKLOAD_WRITE] = "write", [WORKLOAD_MIXED] = "mixed",
};

#define NWORKLOADS (sizeof(workloads) / sizeof(workloads[0]))

const char *bench_workload_name(enum bench_workload workload)
{
	return workloads[workload];
}

/* A driver in virtual time has no load, and no peer in another thread or process. */
static bool is_for_load(const char *driver)
{
	return strcmp(driver, "sim") != 0;
}

static void help(void)
{
	puts("Usage: weir-bench [options]\n"
	     "Measure RPCs per second and round-trip times over RPC-over-RDMA version 1. Without --listen "
	     "or\n"
	     "--connect both sides run here, as two processes that share memory.\n"
	     "\n"
	     "Load:\n"
	     "  --workload NAME    null (size bytes of arguments, no results), echo (size bytes there and "
	     "back, in\n"
	     "                     the message), read or write (size bytes placed directly), mixed; default: "
	     "null\n"
	     "  --ratio PERCENT    reads in mixed; default 70\n"
	     "  --size BYTES       k and m may follow; 0 to 64m; default: null 64, others 4096\n"
	     "  --working-set B    what reads are spread over, in blocks of size, at random; default 32k, or "
	     "size\n"
	     "  --depth N          calls in flight on each connection, 1 to 1024; default 1\n"
	     "  --connections N    1 to 4096; default 1\n"
	     "  --time SECONDS     measured time; default 5\n"
	     "  --warmup SECONDS   before it; default 1\n"
	     "  --calls N          make exactly N calls, without warm-up, instead of going by time\n"
	     "  --verify           check each byte of data, on whichever side receives it\n"
	     "  --reconnect        remake connections that are lost, by the profile's limits, and send their "
	     "calls again;\n"
	     "                     else the first one that is lost ends the run\n"
	     "\n"
	     "Where:\n"
	     "  --listen ADDR      be the responder, until interrupted\n"
	     "  --connect ADDR     be the requester of a responder that runs elsewhere\n"
	     "  --threads          both sides as threads of one process\n"
	     "  --lcores LIST      cores to pin to, e.g. 0,1 or 0-3: the first half calls, the second "
	     "answers; 'any'\n"
	     "                     does not pin; default: the profile's, else 0,1 where there are two\n"
	     "  --profile FILE     an INI file, such as those in config/; what follows on the command line "
	     "wins\n"
	     "  --driver NAME      one of those below; default: the profile's, else shm\n"
	     "  --driver-options S key=value,...\n"
	     "  --inline BYTES     inline threshold, 1024 to 65536\n"
	     "  --exposure POLICY  what the responder may reach of the requester's memory: window (what a "
	     "call "
	     "names,\n"
	     "                     until it ends), pool (all of it, while connected); default: the "
	     "profile's, "
	     "else window\n"
	     "                     where the driver can keep a peer out, and pool over shm, which can't\n"
	     "\n"
	     "Output:\n"
	     "  --json FILE|-      all figures as JSON; with '-' on standard output, instead of the table\n"
	     "  --quiet            no progress line\n"
	     "  --help, --version\n"
	     "\n"
	     "Exit status: 0; 1: calls failed, results were wrong, or a side did not start; 2: usage.\n"
	     "\n"
	     "Drivers:");
	for (uint32_t i = 0; fabric_driver_at(i); i++)
		if (is_for_load(fabric_driver_at(i)->name))
			printf("  %-8s %s\n", fabric_driver_at(i)->name, fabric_driver_at(i)->summary);
}

static int parse_workload(const char *text, enum bench_workload *workload)
{
	for (uint32_t i = 0; i < NWORKLOADS; i++) {
		if (strcmp(workloads[i], text) == 0) {
			*workload = (enum bench_workload)i;
			return 0;
		}
	}
	return option_bad("workload", text, "expected null, echo, read, write or mixed");
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

static int parse_lcores(const char *text, struct bench_options *options)
{
	int n = weir_profile_lcores(text, options->lcores, BENCH_LCORES_MAX);

	if (n < 0)
		return option_bad("lcores", text,
				  n == -E2BIG ? "at most 32 cores"
					      : "expected a list such as 0,1 or 0-3, or 'any'");
	options->nlcores = (uint32_t)n;
	return 0;
}

/* Cores that this process may use: the first two, one for each side; or none to pin to when there is one. */
static void default_lcores(struct bench_options *options)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	options->nlcores = 0;
	if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) < 2) {
		fprintf(stderr, "weir-bench: one core only: both sides share it and yield to each other. Two "
				"cores are "
				"many times faster\n");
		return;
	}
	for (uint32_t cpu = 0; cpu < CPU_SETSIZE && options->nlcores < 2; cpu++)
		if (CPU_ISSET(cpu, &set))
			options->lcores[options->nlcores++] = cpu;
	/* A side that stands alone takes the core that it would have here. */
	if (options->side == SIDE_RESPONDER)
		options->lcores[0] = options->lcores[1];
	if (options->side != SIDE_BOTH)
		options->nlcores = 1;
}

static int apply(int opt, const char *value, struct bench_options *o)
{
	switch (opt) {
	case OPT_DRIVER:
		if (!fabric_driver_find(value))
			return option_bad("driver", value, "no such driver in this build");
		if (!is_for_load(value))
			return option_bad("driver", value, "it is for tests, in virtual time");
		snprintf(o->profile.driver, sizeof(o->profile.driver), "%s", value);
		return 0;
	case OPT_DRIVER_OPTIONS:
		if (strlen(value) >= sizeof(o->profile.driver_options))
			return option_bad("driver-options", value, "too long");
		snprintf(o->profile.driver_options, sizeof(o->profile.driver_options), "%s", value);
		return 0;
	case OPT_LISTEN:
	case OPT_CONNECT:
		if (o->side != SIDE_BOTH)
			return option_bad(opt == OPT_LISTEN ? "listen" : "connect", value,
					  "only one of --listen and --connect");
		o->side = opt == OPT_LISTEN ? SIDE_RESPONDER : SIDE_REQUESTER;
		o->addr = value;
		if (value[0] == '\0' || strlen(value) > 100)
			return option_bad(opt == OPT_LISTEN ? "listen" : "connect", value,
					  "expected an address of 1 to 100 characters");
		return 0;
	case OPT_THREADS:
		o->use_threads = true;
		return 0;
	case OPT_WORKLOAD:
		return parse_workload(value, &o->workload);
	case OPT_RATIO:
		return option_u32("ratio", value, 0, 100, &o->read_percent);
	case OPT_SIZE:
		return option_u32("size", value, 0, BENCH_SIZE_MAX, &o->size_bytes);
	case OPT_WORKING_SET:
		return option_u32("working-set", value, 1, BENCH_WORKING_SET_MAX, &o->working_set_bytes);
	case OPT_DEPTH:
		return option_u32("depth", value, 1, BENCH_DEPTH_MAX, &o->depth);
	case OPT_TIME:
		return option_seconds("time", value, 0.001, &o->seconds);
	case OPT_WARMUP:
		return option_seconds("warmup", value, 0, &o->warmup_seconds);
	case OPT_CALLS:
		return option_u64("calls", value, 1, UINT64_MAX, &o->calls_max);
	case OPT_CONNECTIONS:
		return option_u32("connections", value, 1, BENCH_CONNECTIONS_MAX, &o->connections);
	case OPT_INLINE:
		if (option_u32("inline", value, 1024, 65536, &o->profile.inline_bytes) != 0)
			return -1;
		if (o->profile.inline_bytes % 1024 != 0)
			return option_bad("inline", value,
					  "expected a multiple of 1024: the peers tell each other KiB");
		return 0;
	case OPT_EXPOSURE:
		return parse_exposure(value, &o->profile.exposure);
	case OPT_VERIFY:
		o->verify = true;
		return 0;
	case OPT_RECONNECT:
		o->reconnect = true;
		return 0;
	case OPT_JSON:
		o->json = value;
		return 0;
	case OPT_QUIET:
		o->quiet = true;
		return 0;
	default:
		return 0;
	}
}

#define PROFILE_BUFFERS_MAX 65536u /* of long_buffers and bulk_buffers */

#define PROFILE_WINDOWS_MAX (1u << 20)

/* Whether messages may travel other than inline and by a Write chunk. */
static bool may_be_long(const struct bench_options *o)
{
	if (o->workload == WORKLOAD_NULL)
		return (uint64_t)o->size_bytes + 256 > o->profile.inline_bytes; /* headers included */
	return o->workload != WORKLOAD_READ;
}

/* The buffers that this load needs, where the profile leaves them to weir or has fewer. */
static void size_buffers(struct bench_options *o)
{
	struct weir_profile *p = &o->profile;
	uint64_t message = (uint64_t)o->size_bytes + p->inline_bytes + 4096;
	uint64_t in_flight = (uint64_t)o->depth * o->connections;
	uint64_t buffers;
	uint32_t per_connection;

	if (p->credits < o->depth)
		p->credits = o->depth;
	if (p->connections < o->connections + 1)
		p->connections = o->connections + 1;
	per_connection = p->credits + p->credits / 8 + 2; /* as profiles say of recv_buffers */
	if (p->recv_buffers < per_connection * o->connections)
		p->recv_buffers = per_connection * o->connections;
	if (p->send_buffers < 2 * per_connection * o->connections)
		p->send_buffers = 2 * per_connection * o->connections;
	if (p->long_buffer_bytes < message)
		p->long_buffer_bytes = (message + 63) / 64 * 64;
	if (p->bulk_buffer_bytes < message)
		p->bulk_buffer_bytes = (message + 63) / 64 * 64;
	/* A call that travels by chunks holds up to two of each, and one more is held by the call whose callback makes
	 * the next one; at the responder, by replies whose Sends are not done yet. */
	buffers = 2 * in_flight + (in_flight < BENCH_DEPTH_MAX ? in_flight : BENCH_DEPTH_MAX);
	if (may_be_long(o) && buffers <= PROFILE_BUFFERS_MAX) {
		if (p->long_buffers < buffers)
			p->long_buffers = (uint32_t)buffers;
		if (p->bulk_buffers < buffers) {
			p->bulk_buffers = (uint32_t)buffers;
			p->bulk_buffer_bytes = (message + 63) / 64 * 64;
		}
	}
	/* A call names up to three segments: of the message, of its item, and for the reply. */
	if (p->windows < 3 * in_flight)
		p->windows =
			3 * in_flight < PROFILE_WINDOWS_MAX ? (uint32_t)(3 * in_flight) : PROFILE_WINDOWS_MAX;
	if (p->read_bytes < message)
		p->read_bytes = message;
	if (p->write_bytes < message)
		p->write_bytes = message;
}

int bench_options_parse(int argc, char **argv, struct bench_options *o)
{
	bool has_size = false, has_lcores = false, has_profile = false;
	const char *lcores = NULL;
	char error[256];
	int opt;

	*o = (struct bench_options){
		.workload = WORKLOAD_NULL,
		.read_percent = 70,
		.working_set_bytes = 32768,
		.depth = 1,
		.connections = 1,
		.seconds = 5,
		.warmup_seconds = 1,
	};
	weir_profile_defaults(&o->profile);
	/* The profile first, wherever it stands on the command line. */
	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (opt == '?')
			return -1; /* getopt said why */
		if (opt == OPT_HELP) {
			help();
			return 1;
		}
		if (opt == OPT_VERSION) {
			puts("weir-bench " WEIR_VERSION);
			return 1;
		}
		if (opt == OPT_PROFILE && weir_profile_load(optarg, &o->profile, error, sizeof(error)) != 0) {
			fprintf(stderr, "weir-bench: %s\n", error);
			return -1;
		}
		has_profile |= opt == OPT_PROFILE;
		has_size |= opt == OPT_SIZE;
		if (opt == OPT_LCORES)
			lcores = optarg;
	}
	if (optind < argc)
		return option_bad("", argv[optind], "no arguments are taken beside options");
	optind = 1;
	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		if (apply(opt, optarg, o) != 0)
			return -1;
	if (!lcores && has_profile && o->profile.lcores[0] != '\0')
		lcores = o->profile.lcores;
	has_lcores = lcores != NULL;
	if (has_lcores && parse_lcores(lcores, o) != 0)
		return -1;
	if (!has_lcores)
		default_lcores(o);
	if (!has_size)
		o->size_bytes = o->workload == WORKLOAD_NULL ? 64 : 4096;
	if (o->use_threads && o->side != SIDE_BOTH)
		return option_bad("threads", "", "both sides must be here: leave out --listen and --connect");
	size_buffers(o);
	if (weir_profile_check(&o->profile, error, sizeof(error)) != 0) {
		fprintf(stderr, "weir-bench: %s\n", error);
		return -1;
	}
	return 0;
}
