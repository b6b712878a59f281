/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A block store in memory: READ, WRITE, FLUSH and DISCARD of blocks of 4 KiB (blockstore.x). Its
 * options are those of the text 'usage'. blockstore_server.c is a shard of the responder, and
 * blockstore_client.c is the requester.
 *
 * Each shard has a thread on a core of its own, an engine and a part of the blocks, so that threads
 * share nothing. No data are copied: weir writes the data of a READ from the blocks to the memory
 * of the requester, and pulls the data of a WRITE from there into the blocks.
 */
#include <getopt.h>
#include <pthread.h>
#include <sched.h>

#include "blockstore.h"
#include "example.h"

static const char usage[] =
	"Usage: blockstore --listen NAME [--shards N] [--blocks N]\n"
	"       blockstore --connect NAME [--shards N] [--blocks N] [--rounds N]\n"
	"\n"
	"  -l, --listen NAME    serve blocks, until SIGINT or SIGTERM\n"
	"  -c, --connect NAME   write, read, discard and verify blocks, and end\n"
	"  -s, --shards N       shards, with a thread each (1); equal on both sides\n"
	"  -b, --blocks N       blocks of a shard (16384); equal on both sides\n"
	"  -r, --rounds N       rounds of each slot of the client (1000)\n"
	"  -h, --help           print this text, and end\n";

struct shard_thread {
	pthread_t thread;
	const struct options *options;
	uint32_t index;
};

static uint32_t number(const char *text, uint32_t max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end != '\0' || value < 1 || value > max) {
		fprintf(stderr, "blockstore: '%s' is not a number from 1 to %u\n", text, max);
		exit(2);
	}
	return (uint32_t)value;
}

static struct options parse(int argc, char **argv)
{
	static const struct option names[] = {{"listen", required_argument, NULL, 'l'},
					      {"connect", required_argument, NULL, 'c'},
					      {"shards", required_argument, NULL, 's'},
					      {"blocks", required_argument, NULL, 'b'},
					      {"rounds", required_argument, NULL, 'r'},
					      {"help", no_argument, NULL, 'h'},
					      {NULL, 0, NULL, 0}};
	struct options options = {.shards = 1, .blocks = 16384, .rounds = 1000};
	int c;

	weir_profile_defaults(&options.profile);
	options.profile.idle = WEIR_IDLE_ADAPTIVE;
	while ((c = getopt_long(argc, argv, "l:c:s:b:r:h", names, NULL)) != -1) {
		if (c == 'l')
			options.listen = optarg;
		else if (c == 'c')
			options.connect = optarg;
		else if (c == 's')
			options.shards = number(optarg, SHARDS_MAX);
		else if (c == 'b')
			options.blocks = number(optarg, BLOCKS_MAX);
		else if (c == 'r')
			options.rounds = number(optarg, UINT32_MAX);
		else {
			fputs(usage, c == 'h' ? stdout : stderr);
			exit(c == 'h' ? EXIT_SUCCESS : 2);
		}
	}
	if (optind < argc || !options.listen == !options.connect) {
		fputs("blockstore: give either --listen or --connect; see --help\n", stderr);
		exit(2);
	}
	return options;
}

/* Pins the calling thread to one of the CPUs that the process may use. */
static void pin(uint32_t index)
{
	cpu_set_t allowed, own;
	uint32_t skip;
	size_t cpu = 0;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	skip = index % (uint32_t)CPU_COUNT(&allowed);
	while (!CPU_ISSET(cpu, &allowed) || skip-- > 0)
		cpu++;
	CPU_ZERO(&own);
	CPU_SET(cpu, &own);
	pthread_setaffinity_np(pthread_self(), sizeof(own), &own);
}

static void *run_shard(void *arg)
{
	const struct shard_thread *shard = arg;

	pin(shard->index);
	blockstore_serve(shard->options, shard->index);
	return NULL;
}

static void serve(const struct options *options)
{
	static struct shard_thread shards[SHARDS_MAX];

	for (uint32_t i = 0; i < options->shards; i++) {
		shards[i].options = options;
		shards[i].index = i;
		example_check(-pthread_create(&shards[i].thread, NULL, run_shard, &shards[i]),
			      "pthread_create");
	}
	for (uint32_t i = 0; i < options->shards; i++)
		pthread_join(shards[i].thread, NULL);
}

int main(int argc, char **argv)
{
	struct options options = parse(argc, argv);

	example_catch_signals();
	if (options.listen)
		serve(&options);
	else
		blockstore_client(&options);
	return EXIT_SUCCESS;
}
