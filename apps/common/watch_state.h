/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WATCH_STATE_H
#define WATCH_STATE_H

/* The state of a process that uses weir, as its telemetry describes it. */

#include "watch_times.h"

#define WATCH_ENGINES  64u
#define WATCH_COUNTERS 256u /* more than a version of weir has */
#define WATCH_CONNS    96u
#define WATCH_WAITING  32u
#define WATCH_CALLS    32u
#define WATCH_BYTES    4u

/* The indexes of numbers of bytes since the creation of an engine or a connection. */
enum watch_bytes {
	WATCH_MESSAGES_SENT,
	WATCH_MESSAGES_RECEIVED,
	WATCH_RDMA_SENT,
	WATCH_RDMA_RECEIVED,
};

struct watch_engine {
	uint64_t id;
	bool is_polled; /* false: the members below are not known */
	char driver[32];
	uint64_t counters[WATCH_COUNTERS]; /* by the index of weir_counter_info() */
	bool has_counter[WATCH_COUNTERS];  /* the process has a counter of this name */
	uint64_t bytes[WATCH_BYTES];
};

struct watch_conn {
	uint64_t id, engine_id;
	char side[16], state[16], peer[128];
	uint32_t version, credits_granted, credits_used, calls_active;
	uint64_t calls, age_ns;
	uint64_t bytes[WATCH_BYTES];
};

/* Calls or requests that wait for the same. */
struct watch_waiting {
	char side[16], state[32], waits_for[64];
	uint32_t calls;
	uint64_t oldest_ns;
};

/* A call or a request. */
struct watch_call {
	char xid[12], side[16], state[32], waits_for[64];
	uint32_t prog, vers, proc;
	uint64_t engine_id, conn_id, age_ns;
	bool is_stuck;
};

struct watch_state {
	uint64_t read_ms; /* the time of watch_clock_ms() at which the engines were read */
	bool is_partial;  /* the time was not sufficient to read everything */
	uint32_t nengines;
	struct watch_engine engines[WATCH_ENGINES];
	uint64_t calls_total, calls_stuck;
	uint32_t nwaiting;
	struct watch_waiting waiting[WATCH_WAITING];
	uint32_t ncalls;
	struct watch_call calls[WATCH_CALLS]; /* the oldest ones first */
	uint64_t conns_total;
	uint32_t nconns;
	struct watch_conn conns[WATCH_CONNS];
	struct watch_procedures procedures;
};

/* The parts of the state that watch_read() reads. */
struct watch_scope {
	uint32_t conns;	   /* connections, at most WATCH_CONNS */
	bool stages;	   /* the times of stages, too */
	uint32_t wait_ms;  /* no request begins later, except for the lists and one engine */
	uint32_t limit_ms; /* the reading fails if it takes longer; 0: no limit */
};

/* Reads the state of a process. The result is WATCH_OK, WATCH_UNKNOWN, or one that has closed the
 * connection. */
enum watch_result watch_read(struct watch_socket *sock, const struct watch_scope *scope,
			     struct watch_state *state);

#endif
