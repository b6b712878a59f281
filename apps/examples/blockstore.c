/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A block store in memory: READ, WRITE, FLUSH and DISCARD of blocks of 4 KiB (blockstore.x). Its
 * options are those of the text 'usage'. blockstore_server.c is the responder, and
 * blockstore_client.c is the requester.
 *
 * Each shard has a thread of a runtime, which can be pinned to a core, an engine and a part of the
 * blocks, so that threads share nothing. No data are copied: weir writes the data of a READ from
 * the blocks to the memory of the requester, and pulls the data of a WRITE from there into the
 * blocks.
 */
#include <errno.h>
#include <getopt.h>

#include "blockstore.h"
#include "example.h"

static const char usage[] =
	"Usage: blockstore --listen NAME [--shards N] [--blocks N]\n"
	"       blockstore --listen NAME --lcores LIST [--blocks N]\n"
	"       blockstore --connect NAME [--shards N] [--blocks N] [--rounds N]\n"
	"\n"
	"  -l, --listen NAME    serve blocks, until SIGINT or SIGTERM\n"
	"  -c, --connect NAME   write, read, discard and verify blocks, and end\n"
	"  -s, --shards N       shards, with a thread each (1); equal on both sides\n"
	"  -p, --lcores LIST    a shard for each CPU of the list, such as 0,1 or 2-5; its thread\n"
	"                       is pinned to the CPU\n"
	"  -b, --blocks N       blocks of a shard (16384); equal on both sides\n"
	"  -r, --rounds N       rounds of each slot of the client (1000)\n"
	"  -h, --help           print this text, and end\n";

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
	static const struct option names[] = {
		{"listen", required_argument, NULL, 'l'}, {"connect", required_argument, NULL, 'c'},
		{"shards", required_argument, NULL, 's'}, {"lcores", required_argument, NULL, 'p'},
		{"blocks", required_argument, NULL, 'b'}, {"rounds", required_argument, NULL, 'r'},
		{"help", no_argument, NULL, 'h'},	  {NULL, 0, NULL, 0}};
	struct options options = {.shards = 1, .blocks = 16384, .rounds = 1000};
	const char *lcores = "";
	int c;

	weir_profile_defaults(&options.profile);
	options.profile.idle = WEIR_IDLE_ADAPTIVE;
	while ((c = getopt_long(argc, argv, "l:c:s:p:b:r:h", names, NULL)) != -1) {
		if (c == 'l')
			options.listen = optarg;
		else if (c == 'c')
			options.connect = optarg;
		else if (c == 's')
			options.shards = number(optarg, SHARDS_MAX);
		else if (c == 'p')
			lcores = optarg;
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
	if (*lcores && (options.connect || options.shards > 1)) {
		fputs("blockstore: --lcores is for --listen, and without --shards\n", stderr);
		exit(2);
	}
	example_check(strlen(lcores) < sizeof(options.profile.lcores) ? 0 : -E2BIG, "--lcores");
	snprintf(options.profile.lcores, sizeof(options.profile.lcores), "%s", lcores);
	return options;
}

int main(int argc, char **argv)
{
	struct options options = parse(argc, argv);

	if (options.listen)
		blockstore_serve(&options);
	else
		blockstore_client(&options);
	example_check_output();
	return EXIT_SUCCESS;
}
