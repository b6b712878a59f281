/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPTIONS_H
#define OPTIONS_H

/*
 * The options of weir-bench. The files of this folder:
 *
 *   main.c          loops over the repetitions and the combinations of a sweep, and has each
 *                   carried out (run_all()); then has the results reported
 *   options.[ch]    parses the options
 *   help.[ch]       the text of --help
 *   sweep.c         counts the combinations of a sweep, and makes the options of each
 *   overview.[ch]   the combinations of --overview
 *   buffers.c       adapts the profile's numbers and sizes of buffers to a load
 *   memory.c        checks that the memory for a load is available
 *   sides.[ch]      starts the requester's and the responder's side in this program, and has them
 *                   carry out each run
 *   shared.h        the memory in which both sides exchange information beside their RPCs
 *   interrupt.[ch]  signals that end the bench
 *   lcores.[ch]     assigns the cores to the sides, whose threads are those of weir's runtime
 *   requester.[ch]  the requester's side: starts its clients, and sums their results
 *   client.[ch]     one engine of that side: its memory and its connections
 *   load.c          the load of a client: the warm-up, the measured time, and the end of calls in
 *                   flight
 *   load_slot.c     the calls of a slot: their arguments, and the check of their results
 *   pace.[ch]       the times at which calls start
 *   responder.[ch]  the responder's side: engines behind a listener, and the handlers of the
 *                   program
 *   program.[ch]    the bench's RPC program and its upper-layer binding
 *   results.[ch]    the results of all runs, and their medians
 *   report.[ch]     has the reports written that the options ask for
 *   report_text.c   figures for users
 *   report_overview.c  the table of --overview
 *   machine.[ch]    describes the machine, and what would make it faster
 *   log.[ch]        the log lines of both sides, each once
 *   report_json.c   figures for programs
 *   report_fio.c    figures in the form of fio
 *   report_csv.c    figures for a spreadsheet
 *   report_html.c   a page for a browser: report.html with the figures; embed.py converts
 *                   report.html to C
 *   report_names.c  names and ratios that several of these reports use
 */

#include <weir/capture.h>
#include <weir/engine.h>

#include "metric.h"
#include "range.h"

#define BENCH_LCORES_MAX      32u
#define BENCH_CONNECTIONS_MAX 4096u
#define BENCH_SIZE_MAX	      (64u << 20)
#define BENCH_WORKING_SET_MAX (1u << 30)
#define BENCH_DEPTH_MAX	      1024u
#define BENCH_RATE_MAX	      1000000000u /* calls per second */
#define BENCH_REPEAT_MAX      1000u
#define BENCH_POINTS_MAX      1000u
#define BENCH_THRESHOLDS_MAX  16u

enum bench_workload {
	WORKLOAD_NULL,
	WORKLOAD_ECHO,
	WORKLOAD_READ,
	WORKLOAD_WRITE,
	WORKLOAD_MIXED,
	WORKLOAD_LIST
};

enum bench_side {
	SIDE_BOTH,	/* requester and responder run in this program */
	SIDE_RESPONDER, /* --listen: only the responder runs in this program */
	SIDE_REQUESTER, /* --connect: only the requester runs in this program */
};

/*
 * The values of the options that can have several. All combinations are run. The loop over sizes is
 * the outermost, and the loop over rates is the innermost.
 */
struct bench_sweep {
	struct bench_range sizes, depths, connections, rates;
};

/* The options as given, or those of one combination, which bench_options_point() has made. */
struct bench_options {
	bool is_overview; /* --overview: the combinations are those of overview.c */
	struct bench_sweep sweep;
	bool has_profile; /* 'profile' was loaded from a file */
	struct weir_profile profile;
	enum bench_side side;
	const char *addr; /* address of the responder; NULL: weir-bench chooses one */
	bool use_threads; /* both sides are threads of one process */
	bool has_workload;
	enum bench_workload workload;
	uint32_t read_percent; /* for the workload mixed: part of READs */
	uint32_t size_bytes;
	bool has_read_size, has_write_size;
	uint32_t read_bytes, write_bytes; /* bytes of a READ and of a WRITE */
	uint32_t working_set_bytes;	  /* READs are distributed over this many bytes */
	uint32_t depth;	      /* calls in flight on each connection, unless 'takes_turns' is set */
	uint32_t connections; /* total number of connections */
	/* number of connections with load; the others are idle; 0: all have load */
	uint32_t active;
	bool takes_turns;   /* 'depth' is per lcore, and the lcore uses its active connections
			       round-robin */
	bool is_sequential; /* sequential offsets in the working set instead of random ones */
	uint64_t rate;	    /* open loop: calls per second in total; 0: closed loop */
	uint64_t think_ns;  /* closed loop: time from the end of a call to the slot's next one */
	uint32_t repeat;
	double steady_percent; /* a rate is steady within this limit; 0: there is no wait for a
				  steady rate */
	double steady_seconds; /* maximum wait for a steady rate */
	double seconds;
	double warmup_seconds;
	uint64_t calls_max; /* number of calls to make; 0: no limit */
	bool verify;
	bool reconnect;
	const char *json;     /* NULL: no JSON; "-": standard output */
	const char *fio_json; /* like 'json', in the form of fio */
	const char *csv;      /* like 'json', for CSV */
	const char *html;     /* NULL: no HTML */
	bool quiet;
	struct weir_capture_options capture; /* path NULL: there is no capture */
	uint32_t nthresholds;
	struct bench_threshold thresholds[BENCH_THRESHOLDS_MAX];
	uint32_t nlcores; /* 0: threads are not pinned */
	uint32_t lcores[BENCH_LCORES_MAX];
};

/*
 * Parses argv to *options. Options override the profile that --profile names, and the profile
 * overrides the defaults. Returns 0; 1 if help, the version or the profile was printed; or -1 after
 * it has printed the usage error on standard error.
 */
int bench_options_parse(int argc, char **argv, struct bench_options *options);

/*
 * bench_options_points() returns the number of combinations. bench_options_point() sets *point to
 * the options of one combination, with the buffers that this combination needs.
 */
uint32_t bench_options_points(const struct bench_options *options);
void bench_options_point(const struct bench_options *options, uint32_t number,
			 struct bench_options *point);

/*
 * Checks that there is enough memory for the load, The caller does so before any of this memory is
 * allocated. Returns 0, or -1 after it has printed the reason.
 */
int bench_memory_check(const struct bench_options *options);

/*
 * Raises the profile's numbers of buffers to those that the load needs, if the profile has fewer or
 * none.
 */
void bench_size_buffers(struct bench_options *options);

/* Returns the bytes of data of the largest call. */
static inline uint32_t bench_largest_bytes(const struct bench_options *options)
{
	uint32_t largest = options->size_bytes;

	if (options->workload == WORKLOAD_MIXED)
		largest = options->read_bytes > options->write_bytes ? options->read_bytes
								     : options->write_bytes;
	return largest;
}

/* Returns the number of connections with load. */
static inline uint32_t bench_active(const struct bench_options *options)
{
	return options->active ? options->active : options->connections;
}

/* Returns the number of calls that can be in flight if 'active' connections have load. */
static inline uint32_t bench_load_slots(const struct bench_options *options, uint32_t active)
{
	return options->takes_turns ? options->depth : options->depth * active;
}

const char *bench_protocol_name(enum weir_protocol protocol);
const char *bench_extension_name(enum weir_extension extension);
const char *bench_workload_name(enum bench_workload workload);
/* Returns the name of the workload of all combinations, or "overview". */
const char *bench_load_name(const struct bench_options *options);

#endif
