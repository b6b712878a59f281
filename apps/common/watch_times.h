/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WATCH_TIMES_H
#define WATCH_TIMES_H

/* The times of procedures, by buckets, as the command /weir/buckets has them: each power of two
 * from 64 ns to 69 s has 8 buckets, and smaller and larger times have one bucket each. */

#include "watch_socket.h"

#define WATCH_BUCKETS	 242u
#define WATCH_STAGES	 4u
#define WATCH_PROCEDURES 128u

/* Times since the start of the process, in ns. */
struct watch_times {
	uint64_t count, sum_ns, max_ns;
	uint64_t buckets[WATCH_BUCKETS];
};

/* The times that calls spent in a stage (enum weir_stage). */
struct watch_stage {
	char name[16];
	uint64_t count, sum_ns;
};

struct watch_procedure {
	bool is_requester;
	uint32_t prog, proc;
	char name[64];	   /* of the command, such as "responder/100005/1-3/0" */
	char versions[24]; /* such as "1-3" */
	struct watch_times times;
	uint32_t nstages;
	struct watch_stage stages[WATCH_STAGES];
};

/* The procedures that are measured and have times. */
struct watch_procedures {
	uint32_t n;
	uint32_t left_out; /* procedures at which watch_procedures() did not look */
	struct watch_procedure procedures[WATCH_PROCEDURES];
};

/*
 * Reads the times of all procedures, up to the time 'until_ms' of watch_clock_ms(). If
 * 'with_stages', also those of their stages. The result is WATCH_OK, or that of a request which has
 * closed the connection.
 */
enum watch_result watch_procedures(struct watch_socket *sock, bool with_stages, uint64_t until_ms,
				   struct watch_procedures *procedures);

/* Returns the largest time that belongs to a bucket. */
uint64_t watch_bucket_high(uint32_t bucket);

/* Adds times to a sum. */
void watch_times_add(struct watch_times *sum, const struct watch_times *times);

/* Removes the times of an earlier reading. Times that were there before, and are not there now, are
 * ignored. */
void watch_times_subtract(struct watch_times *times, const struct watch_times *before);

/* Returns the time that 'fraction' (0 to 1) of the times do not exceed, as the end of its bucket.
 * Returns 0 if there are no times. */
uint64_t watch_times_quantile(const struct watch_times *times, double fraction);

#endif
