/* SPDX-License-Identifier: BSD-3-Clause */
/* weir-decode: decodes one RPC-over-RDMA message as the engine does, and prints the result. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "report.h"
#include "std_io.h"

#define MESSAGE_MAX (1u << 20)
#define EXIT_USAGE  2

static const char usage[] = "usage: weir-decode [--direction call|reply] [--json] < message.hex\n"
			    "\n"
			    "Reads one RPC-over-RDMA message as hex digits from standard input, "
			    "decodes it as the engine does,\n"
			    "and prints its transport header, its RPC header and the verdict on "
			    "it. The fields of version 2 and of\n"
			    "extension rtrext-01 have the names of their drafts.\n"
			    "\n"
			    "  -d, --direction call|reply  kind of the message (default: call); "
			    "version 2 messages contain it\n"
			    "  -j, --json                  print JSON\n"
			    "  -h, --help                  print this\n"
			    "  -V, --version               print the version\n"
			    "\n"
			    "Hex digits are in pairs. White space, 0x before a word, and comments "
			    "from '#' to the end of a line\n"
			    "are skipped.\n"
			    "\n"
			    "Exit status: 0: the message was judged, as valid or invalid; 1: the "
			    "output can't be written;\n"
			    "2: wrong usage, or input that is not hex.\n";

static const struct option options[] = {
	{"direction", required_argument, NULL, 'd'},
	{"json", no_argument, NULL, 'j'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static int finish_output(void)
{
	return std_io_finish("weir-decode") == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int decode(enum rdma1_direction direction, bool json)
{
	static uint8_t msg[MESSAGE_MAX];
	char error[128];
	struct emit e;
	size_t len;

	if (hex_read(stdin, msg, sizeof(msg), &len, error, sizeof(error)) != 0) {
		fprintf(stderr, "weir-decode: %s\n", error);
		return EXIT_USAGE;
	}
	emit_begin(&e, stdout, json);
	report_message(&e, msg, (uint32_t)len, direction);
	emit_end(&e);
	return finish_output();
}

int main(int argc, char **argv)
{
	enum rdma1_direction direction = RDMA1_CALL;
	bool json = false;
	int c;

	std_io_start();
	while ((c = getopt_long(argc, argv, "d:jhV", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			if (strcmp(optarg, "call") != 0 && strcmp(optarg, "reply") != 0) {
				fprintf(stderr,
					"weir-decode: --direction is call or reply, not '%s'\n",
					optarg);
				return EXIT_USAGE;
			}
			direction = optarg[0] == 'c' ? RDMA1_CALL : RDMA1_REPLY;
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return finish_output();
		case 'V':
			puts("weir-decode " WEIR_VERSION);
			return finish_output();
		default:
			fputs(usage, stderr);
			return EXIT_USAGE;
		}
	}
	if (optind < argc) {
		fprintf(stderr,
			"weir-decode: unexpected argument '%s': give the message on standard "
			"input\n",
			argv[optind]);
		return EXIT_USAGE;
	}
	return decode(direction, json);
}
