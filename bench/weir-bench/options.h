/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPTIONS_H
#define OPTIONS_H

/* What weir-bench was asked to do. */

#include <weir/engine.h>

#include "metric.h"
#include "range.h"

#define BENCH_LCORES_MAX      32u
#define BENCH_CONNECTIONS_MAX 4096u
#define BENCH_SIZE_MAX	      (64u << 20)
#define BENCH_WORKING_SET_MAX (1u << 30)
#define BENCH_DEPTH_MAX	      1024u
#define BENCH_RATE_MAX	      1000000000u /* calls a second */
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
	SIDE_BOTH,	/* requester and responder here */
	SIDE_RESPONDER, /* --listen */
	SIDE_REQUESTER, /* --connect */
};

/* All combinations are run, sizes outermost, rates innermost. */
struct bench_sweep {
	struct bench_range sizes, depths, connections, rates;
};

/* As they were given; or, by bench_options_point(), those of one combination. */
struct bench_options {
	struct bench_sweep sweep;
	bool has_profile; /* 'profile' is a file's */
	struct weir_profile profile;
	enum bench_side side;
	const char *addr; /* NULL: one of our own */
	bool use_threads; /* both sides in one process */
	enum bench_workload workload;
	uint32_t read_percent; /* of mixed */
	uint32_t size_bytes;
	bool has_read_size, has_write_size;
	uint32_t read_bytes, write_bytes; /* of a READ and of a WRITE */
	uint32_t working_set_bytes;	  /* that READs are spread over */
	uint32_t depth;			  /* calls in flight on each connection */
	uint32_t connections;		  /* in all */
	uint32_t active;		  /* of them with load, the others idle; 0: all */
	bool takes_turns;   /* depth is an lcore's, whose active connections take turns */
	bool is_sequential; /* rather than random offsets in the working set */
	uint64_t rate;	    /* open loop: calls a second in all; 0: closed loop */
	uint64_t think_ns;  /* closed loop: between a call's end and the slot's next */
	uint32_t repeat;
	double steady_percent; /* 0: don't wait for it */
	double steady_seconds; /* the longest wait */
	double seconds;
	double warmup_seconds;
	uint64_t calls_max; /* 0: by time only */
	bool verify;
	bool reconnect;
	const char *json; /* NULL: none; "-": standard output */
	const char *csv;  /* the same */
	const char *html; /* NULL: none */
	bool quiet;
	uint32_t nthresholds;
	struct bench_threshold thresholds[BENCH_THRESHOLDS_MAX];
	uint32_t nlcores; /* 0: not pinned */
	uint32_t lcores[BENCH_LCORES_MAX];
};

/* Parse argv over the profile named there and the defaults. 0: go on; 1: done (help), exit 0; -1:
 * usage error, said on standard error. */
int bench_options_parse(int argc, char **argv, struct bench_options *options);

/* How many combinations there are, and one of them with the buffers that it needs. */
uint32_t bench_options_points(const struct bench_options *options);
void bench_options_point(const struct bench_options *options, uint32_t number,
			 struct bench_options *point);

/* Before anything is taken: 0, or -1, which was said, where there is less memory than the load
 * takes. */
int bench_memory_check(const struct bench_options *options);

/* Raise the profile's buffers to what the load needs, where it leaves them to weir or has fewer. */
void bench_size_buffers(struct bench_options *options);

/* Of one call's data. */
static inline uint32_t bench_largest_bytes(const struct bench_options *options)
{
	uint32_t largest = options->size_bytes;

	if (options->workload == WORKLOAD_MIXED)
		largest = options->read_bytes > options->write_bytes ? options->read_bytes
								     : options->write_bytes;
	return largest;
}

/* Connections with load. */
static inline uint32_t bench_active(const struct bench_options *options)
{
	return options->active ? options->active : options->connections;
}

/* Calls that may be in flight on so many connections with load. */
static inline uint32_t bench_load_slots(const struct bench_options *options, uint32_t active)
{
	return options->takes_turns ? options->depth : options->depth * active;
}

const char *bench_protocol_name(enum weir_protocol protocol);
const char *bench_extension_name(enum weir_extension extension);
const char *bench_workload_name(enum bench_workload workload);

#endif
