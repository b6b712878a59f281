/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPTIONS_H
#define OPTIONS_H

/* What weir-bench was asked to do. */

#include "weir_engine.h"

#define BENCH_LCORES_MAX      32u
#define BENCH_CONNECTIONS_MAX 4096u
#define BENCH_SIZE_MAX	      (64u << 20)
#define BENCH_WORKING_SET_MAX (1u << 30)
#define BENCH_DEPTH_MAX	      1024u

enum bench_workload { WORKLOAD_NULL, WORKLOAD_ECHO, WORKLOAD_READ, WORKLOAD_WRITE, WORKLOAD_MIXED };

enum bench_side {
	SIDE_BOTH,	/* requester and responder here */
	SIDE_RESPONDER, /* --listen */
	SIDE_REQUESTER, /* --connect */
};

struct bench_options {
	struct weir_profile profile;
	enum bench_side side;
	const char *addr; /* NULL: one of our own */
	bool use_threads; /* both sides in one process */
	enum bench_workload workload;
	uint32_t read_percent; /* of mixed */
	uint32_t size_bytes;
	uint32_t working_set_bytes; /* that READs are spread over */
	uint32_t depth;		    /* calls in flight on each connection */
	uint32_t connections;	    /* in all */
	double seconds;
	double warmup_seconds;
	uint64_t calls_max; /* 0: by time only */
	bool verify;
	bool reconnect;
	const char *json; /* NULL: none; "-": standard output */
	bool quiet;
	uint32_t nlcores; /* 0: not pinned */
	uint32_t lcores[BENCH_LCORES_MAX];
};

/* Parse argv over the profile named there and the defaults. 0: go on; 1: done (help), exit 0; -1: usage
 * error, said on standard error. */
int bench_options_parse(int argc, char **argv, struct bench_options *options);

const char *bench_workload_name(enum bench_workload workload);

#endif
