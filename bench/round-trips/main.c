/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weir-round-trips: counts how often the two sides of a call wait for each other, with version 1
 * and with each part of version 2's extension. It uses the simulated driver in virtual time, so the
 * counts are the same on every machine.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../measure/range.h"
#include "number.h"
#include "sides.h"
#include "std_io.h"

#define RTT_MIN_NS 1000u
#define RTT_MAX_NS 100000000u

struct way {
	const char *name;
	enum weir_protocol protocol;
	enum weir_extension extension;
};

static const struct way ways[] = {
	{"version-1", WEIR_PROTOCOL_V1, WEIR_EXTENSION_OFF},
	{"version-2", WEIR_PROTOCOL_V2, WEIR_EXTENSION_OFF},
	{"continuation", WEIR_PROTOCOL_V2, WEIR_EXTENSION_CONTINUATION},
	{"direction", WEIR_PROTOCOL_V2, WEIR_EXTENSION_DIRECTION},
	{"placement", WEIR_PROTOCOL_V2, WEIR_EXTENSION_PLACEMENT},
	{"all", WEIR_PROTOCOL_V2, WEIR_EXTENSION_ALL},
};

#define WAYS (sizeof(ways) / sizeof(ways[0]))

static const struct work {
	const char *name;
	enum trips_work work;
} works[] = {
	{"write", TRIPS_WRITE},
	{"read", TRIPS_READ},
	{"long-call", TRIPS_CALL},
	{"long-reply", TRIPS_REPLY},
};

#define WORKS (sizeof(works) / sizeof(works[0]))

struct options {
	struct bench_range sizes;
	uint64_t rtt_ns;
	uint32_t transmissions;
	bool csv;
};

static void help(void)
{
	puts("Usage: weir-round-trips [options]\n"
	     "Count the round trips of single calls with version 1 of RPC-over-RDMA, with version "
	     "2, and with\n"
	     "each part of version 2's extension, over the simulated driver in virtual time.\n"
	     "\n"
	     "  --size BYTES         sizes of the data, as A,B,C, A:B:xFACTOR or A:B:+STEP, with "
	     "suffix k or m;\n"
	     "                       1 to 1m; default 1k,4k,8k,16k,64k\n"
	     "  --rtt TIME           round trip of the simulated wire: 2us, 1ms, ...; default "
	     "10us\n"
	     "  --transmissions N    most parts of a long call or reply, 2 to 16; default 16\n"
	     "  --csv                print a row for each call, with times and all counts\n"
	     "  --help\n"
	     "\n"
	     "write: eligible data in the call; read: in the reply; long-call, long-reply: data "
	     "that are not\n"
	     "eligible.\n"
	     "\n"
	     "Exit status: 0; 1: a call failed or had wrong data; 2: usage.");
}

static int option_rtt(const char *text, uint64_t *ns)
{
	int rc = option_time("rtt", text, ns);

	if (rc == 0 && (*ns < RTT_MIN_NS || *ns > RTT_MAX_NS))
		rc = option_bad("rtt", text, "expected 1us to 100ms");
	return rc;
}

/*
 * Parses the options. Returns 0; 1 if help must be printed; or -1 after it has printed the error.
 */
static int parse(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = {
		{"size", required_argument, NULL, 's'},
		{"rtt", required_argument, NULL, 'r'},
		{"transmissions", required_argument, NULL, 't'},
		{"csv", no_argument, NULL, 'c'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int rc = 0, c;

	*options = (struct options){.sizes = {5, {1024, 4096, 8192, 16384, 65536}},
				    .rtt_ns = 10000,
				    .transmissions = 16};
	while (rc == 0 && (c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 's')
			rc = option_range("size", optarg, 1, TRIPS_BYTES_MAX, 1024,
					  &options->sizes);
		else if (c == 'r')
			rc = option_rtt(optarg, &options->rtt_ns);
		else if (c == 't')
			rc = option_u32("transmissions", optarg, 2, 16, &options->transmissions);
		else if (c == 'c')
			options->csv = true;
		else if (c == 'h')
			return 1;
		else
			return -1;
	}
	if (rc == 0 && optind < argc) {
		fprintf(stderr, "weir-round-trips: '%s' is not an option. See --help\n",
			argv[optind]);
		rc = -1;
	}
	return rc;
}

static struct trips_cost costs[WORKS][BENCH_RANGE_MAX][WAYS];

/* Measures all calls with one way of sending them, on a connection of its own. Returns 0 or -1. */
static int measure(const struct options *options, size_t way)
{
	struct trips_sides *sides = trips_sides_create(ways[way].protocol, ways[way].extension,
						       options->rtt_ns, options->transmissions);
	int rc = sides ? 0 : -1;

	for (size_t w = 0; w < WORKS && rc == 0; w++)
		for (uint32_t i = 0; i < options->sizes.n && rc == 0; i++)
			rc = trips_measure(sides, works[w].work, (uint32_t)options->sizes.values[i],
					   &costs[w][i][way]);
	trips_sides_destroy(sides);
	return rc;
}

static void print_csv(const struct options *options)
{
	puts("call,bytes,way,round_trips,latency_ns,lent,messages,writes,reads,copies,fallbacks");
	for (size_t w = 0; w < WORKS; w++)
		for (uint32_t i = 0; i < options->sizes.n; i++)
			for (size_t way = 0; way < WAYS; way++) {
				const struct trips_cost *cost = &costs[w][i][way];

				printf("%s,%" PRIu64 ",%s,%.2f,%.0f,%" PRIu64 ",%" PRIu64
				       ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
				       works[w].name, options->sizes.values[i], ways[way].name,
				       cost->round_trips,
				       cost->round_trips * (double)options->rtt_ns, cost->lent,
				       cost->messages, cost->writes, cost->reads, cost->copied,
				       cost->fallbacks);
			}
}

static void print_table(const struct options *options)
{
	puts("Round trips of a call, and the number (+n) of exposed segments of the requester's "
	     "memory.\n");
	printf("%-11s%8s", "call", "bytes");
	for (size_t way = 0; way < WAYS; way++)
		printf("%13s", ways[way].name);
	puts("");
	for (size_t w = 0; w < WORKS; w++)
		for (uint32_t i = 0; i < options->sizes.n; i++) {
			printf("%-11s%8" PRIu64, works[w].name, options->sizes.values[i]);
			for (size_t way = 0; way < WAYS; way++)
				printf("%9.1f +%-2" PRIu64, costs[w][i][way].round_trips,
				       costs[w][i][way].lent);
			puts("");
		}
}

int main(int argc, char **argv)
{
	struct options options;
	int rc;

	std_io_start();
	rc = parse(argc, argv, &options);
	if (rc < 0)
		return 2;
	if (rc > 0) {
		help();
		return std_io_finish("weir-round-trips") == 0 ? 0 : 1;
	}
	for (size_t way = 0; way < WAYS; way++)
		if (measure(&options, way) != 0)
			return 1;
	if (options.csv)
		print_csv(&options);
	else
		print_table(&options);
	return std_io_finish("weir-round-trips") == 0 ? 0 : 1;
}
