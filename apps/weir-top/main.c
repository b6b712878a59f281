/* SPDX-License-Identifier: BSD-3-Clause */
/* weir-top: shows what a process that uses weir does. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "number.h"
#include "screen.h"
#include "std_io.h"
#include "watch_find.h"

#define EXIT_USAGE     2
#define EXIT_ENDED     3 /* the process has ended while it was printed */
#define INTERVAL_MS    1000u
#define INTERVAL_MIN_S 0.1
#define CANDIDATE_MS   1000u /* for a process to say whether it uses weir */

static const char usage[] =
	"usage: weir-top [OPTION]...\n"
	"\n"
	"Shows the engines, times, connections and calls of a process that uses weir and has a "
	"telemetry\n"
	"socket.\n"
	"\n"
	"  -p, --prefix PREFIX    only processes whose DPDK has this file prefix\n"
	"  -s, --socket PATH      the process with this socket\n"
	"  -f, --folder DIR       the folder with a folder for each prefix (default: that of "
	"DPDK)\n"
	"  -i, --interval SECONDS time between readings, at least 0.1 (default: 1)\n"
	"  -o, --sort ORDER       order of connections: id (default), calls, bytes or credits\n"
	"  -1, --once             read twice, print text once, and end\n"
	"  -b, --batch            print text at each interval, instead of using the screen\n"
	"  -n, --count N          with --batch: end after N texts\n"
	"  -h, --help             print this\n"
	"  -V, --version          print the version\n"
	"\n"
	"Keys: q quits, p pauses, s changes the order, Tab or left and right choose a table, up "
	"and "
	"down\n"
	"scroll it, r reads at once.\n"
	"\n"
	"Exit status: 0: ended by the user, or everything was printed; 1: there is no such "
	"process, "
	"several\n"
	"match, or the output can't be written; 2: wrong usage; 3: the process ended while it was "
	"printed.\n";

static const struct option long_options[] = {
	{"prefix", required_argument, NULL, 'p'},
	{"socket", required_argument, NULL, 's'},
	{"folder", required_argument, NULL, 'f'},
	{"interval", required_argument, NULL, 'i'},
	{"sort", required_argument, NULL, 'o'},
	{"once", no_argument, NULL, '1'},
	{"batch", no_argument, NULL, 'b'},
	{"count", required_argument, NULL, 'n'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

/* The command line. */
struct command_line {
	struct show_options show;
	bool is_batch, is_once;
	const char *prefix, *socket, *folder;
};

static int finish_output(void)
{
	return std_io_finish("weir-top") == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Returns whether the process at a socket uses weir. Otherwise 'why' says what it answered. */
static bool uses_weir(const struct watch_place *place, int64_t *pid, char why[WATCH_WHY_BYTES])
{
	struct watch_socket sock;
	enum watch_result result = watch_open(&sock, place->path, CANDIDATE_MS);
	json_t *engines = NULL;

	*pid = sock.pid;
	if (result == WATCH_OK)
		result = watch_ask(&sock, "/weir/engines", &engines);
	json_decref(engines);
	snprintf(why, WATCH_WHY_BYTES, "%s", sock.why);
	watch_close(&sock);
	return result == WATCH_OK;
}

static int list_candidates(const struct watch_places *places, const bool is_candidate[],
			   const int64_t pids[])
{
	fputs("weir-top: several processes use weir: choose one with --socket:\n", stderr);
	for (uint32_t i = 0; i < places->n; i++)
		if (is_candidate[i])
			fprintf(stderr, "  --socket %s  # process %" PRId64 "\n",
				places->places[i].path, pids[i]);
	return -1;
}

/* Finds the only process that uses weir. Returns 0 with the path of its socket, or -1 after it has
 * printed the error. */
static int choose_process(const struct command_line *line, char path[WATCH_PATH_BYTES])
{
	static struct watch_places places;
	bool is_candidate[WATCH_PLACES_MAX] = {false};
	char why[WATCH_WHY_BYTES] = "";
	int64_t pids[WATCH_PLACES_MAX];
	uint32_t n = 0, at = 0;

	if (watch_find(line->folder, line->prefix, &places) != 0) {
		fprintf(stderr, "weir-top: %s\n", places.why);
		return -1;
	}
	for (uint32_t i = 0; i < places.n; i++) {
		is_candidate[i] = uses_weir(&places.places[i], &pids[i], why);
		n += is_candidate[i];
		at = is_candidate[i] ? i : at;
	}
	if (n > 1)
		return list_candidates(&places, is_candidate, pids);
	if (n == 1) {
		memcpy(path, places.places[at].path, WATCH_PATH_BYTES);
		return 0;
	}
	if (places.n == 0)
		fprintf(stderr,
			"weir-top: no process%s%s has a telemetry socket below %s: start one with "
			"telemetry = on, or choose another folder with --folder\n",
			line->prefix ? " with prefix " : "", line->prefix ? line->prefix : "",
			places.folder);
	else
		fprintf(stderr, "weir-top: no process below %s uses weir: %s\n", places.folder,
			why);
	return -1;
}

/* Prints all tables. Returns whether standard output takes them. */
static bool print_tables(const struct watch *watch, const struct show_options *options)
{
	static struct section sections[SECTIONS];
	char title[SECTION_COLUMNS], head[SECTION_COLUMNS];

	screen_title(watch, options, false, title);
	puts(title);
	sections_fill(watch_state(watch), &watch->rates, options->sort, sections);
	for (uint32_t s = 0; s < SECTIONS; s++) {
		section_empty(&sections[s], head);
		printf("\n%s\n", sections[s].total > 0 ? sections[s].head : head);
		for (uint32_t i = 0; i < sections[s].n; i++)
			puts(sections[s].rows[i]);
		if (sections[s].n < sections[s].total)
			printf("(%u of %u)\n", sections[s].n, sections[s].total);
	}
	putchar('\n');
	return fflush(stdout) == 0 && !ferror(stdout);
}

static void sleep_ms(uint64_t ms)
{
	const struct timespec pause = {.tv_sec = (time_t)(ms / 1000),
				       .tv_nsec = (long)(ms % 1000) * 1000000};

	(void)nanosleep(&pause, NULL);
}

/* Prints the process at each interval. Returns the exit status. */
static int run_batch(struct watch *watch, const struct command_line *line)
{
	uint32_t count = line->is_once ? 1 : line->show.count;
	bool has_room = true;

	/* The first reading is not printed, because it has no rates. */
	for (uint32_t i = 0; has_room && (count == 0 || i < count); i++) {
		sleep_ms(line->show.interval_ms);
		if (watch_update(watch) != WATCH_OK) {
			fprintf(stderr, "weir-top: %s\n", watch->sock.why);
			return finish_output() == EXIT_SUCCESS ? EXIT_ENDED : EXIT_FAILURE;
		}
		has_room = print_tables(watch, &line->show);
	}
	return finish_output();
}

static int run(const struct command_line *line)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	int status;

	if (!watch) {
		fputs("weir-top: no memory for the readings\n", stderr);
		return EXIT_FAILURE;
	}
	watch->sock.fd = -1;
	if (line->socket)
		snprintf(watch->path, sizeof(watch->path), "%s", line->socket);
	if (!line->socket && choose_process(line, watch->path) != 0) {
		status = EXIT_FAILURE;
	} else if (watch_update(watch) != WATCH_OK) {
		fprintf(stderr, "weir-top: %s\n", watch->sock.why);
		status = EXIT_FAILURE;
	} else if (line->is_batch || line->is_once) {
		status = run_batch(watch, line);
	} else {
		status = screen_run(watch, &line->show);
	}
	watch_close(&watch->sock);
	free(watch);
	return status;
}

/* Applies an option. Returns 0, or -1 after it has printed the error. */
static int apply(struct command_line *line, int option)
{
	double seconds;
	int order;

	switch (option) {
	case 'p':
		if (optarg[0] == '\0' || optarg[0] == '.' || strchr(optarg, '/'))
			return option_bad("prefix", optarg, "expected a file prefix of DPDK");
		line->prefix = optarg;
		return 0;
	case 's':
		if (strlen(optarg) >= WATCH_PATH_BYTES)
			return option_bad("socket", optarg, "the path is too long for a socket");
		line->socket = optarg;
		return 0;
	case 'f':
		line->folder = optarg;
		return 0;
	case 'i':
		if (option_seconds("interval", optarg, INTERVAL_MIN_S, &seconds) != 0)
			return -1;
		line->show.interval_ms = (uint64_t)(seconds * 1000);
		return 0;
	case 'o':
		order = sort_find(optarg);
		if (order < 0)
			return option_bad("sort", optarg, "expected id, calls, bytes or credits");
		line->show.sort = (enum sort)order;
		return 0;
	case '1':
		line->is_once = true;
		return 0;
	case 'b':
		line->is_batch = true;
		return 0;
	case 'n':
		return option_u32("count", optarg, 1, UINT32_MAX, &line->show.count);
	default:
		fputs("weir-top: --help lists the options\n", stderr);
		return -1;
	}
}

/* Checks that the options fit together. Returns 0, or -1 after it has printed the error. */
static int check(const struct command_line *line, int argc, char **argv)
{
	if (optind < argc) {
		fprintf(stderr, "weir-top: unexpected argument '%s': --help lists the options\n",
			argv[optind]);
		return -1;
	}
	if (line->socket && (line->prefix || line->folder)) {
		fputs("weir-top: --socket excludes --prefix and --folder: leave them out\n",
		      stderr);
		return -1;
	}
	if (line->show.count > 0 && !line->is_batch) {
		fputs("weir-top: --count belongs to --batch: add it\n", stderr);
		return -1;
	}
	if (!line->is_batch && !line->is_once &&
	    (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))) {
		fputs("weir-top: standard input and output are not a terminal: use --once or "
		      "--batch\n",
		      stderr);
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct command_line line = {.show = {.interval_ms = INTERVAL_MS}};
	int c;

	std_io_start();
	while ((c = getopt_long(argc, argv, "p:s:f:i:o:1bn:hV", long_options, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			return finish_output();
		}
		if (c == 'V') {
			puts("weir-top " WEIR_VERSION);
			return finish_output();
		}
		if (apply(&line, c) != 0)
			return EXIT_USAGE;
	}
	return check(&line, argc, argv) == 0 ? run(&line) : EXIT_USAGE;
}
