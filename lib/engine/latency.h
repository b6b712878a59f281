/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATENCY_H
#define LATENCY_H

/*
 * The measurements of an engine for weir/latency.h. engine->latency is NULL if it measures nothing.
 *
 * The memory is reserved with the engine. A page of it is allocated when the first value is added
 * to a bucket in the page, so that procedures that are not called cost nothing.
 */

#include <weir/latency.h>

#include "compiler.h"
#include "engine.h"
#include "histogram.h"

#define LATENCY_STAGES 4u /* the most stages of a side */

/* The histograms of the stages of a requester. Those of a responder are in the order of enum
 * weir_stage. */
enum latency_requester_stage { LATENCY_QUEUED, LATENCY_SENT, LATENCY_CREDIT };

/* A procedure and its times. Those of one program at a responder are contiguous. */
struct latency_procedure {
	uint32_t prog, vers_low, vers_high, proc;
	/* the times in the stages of its side: LATENCY_STAGES histograms, by
	 * engine_stage_index(); NULL: they are not measured */
	struct weir_histogram *stages;
	struct weir_histogram times;
};

struct latency_side {
	uint32_t n;	 /* entries of 'procedures' that are in use */
	bool has_logged; /* the log line about procedures that are not measured was written */
	struct latency_procedure procedures[WEIR_LATENCY_PROCEDURES];
};

/* The number of slots of the hash table. At most half of them are in use. */
#define LATENCY_SLOTS (2u * WEIR_LATENCY_PROCEDURES)

struct latency {
	/* the clock of weir_engine_set_clock(), and the latest time that it returned */
	uint64_t (*clock)(void *arg);
	void *clock_arg;
	uint64_t now_ns;
	/* 2^32 times the length in ns of a cycle of the processor's counter, which is the clock
	 * then; 0: 'clock' is the clock */
	uint64_t cycle_ns;
	/* A hash table of the requester's procedures, with linear probing: the index in
	 * 'procedures' plus 1; 0: the slot is free. */
	uint16_t slots[LATENCY_SLOTS];
	struct latency_side sides[2]; /* by enum weir_side */
	/* by side, procedure and stage; NULL: stages are not measured */
	struct weir_histogram (*stages)[WEIR_LATENCY_PROCEDURES][LATENCY_STAGES];
};

_Static_assert((LATENCY_SLOTS & (LATENCY_SLOTS - 1)) == 0, "a mask selects a slot");

/* Returns whether the engine measures the stages of calls and requests. */
static inline bool engine_measures_stages(const struct weir_engine *engine)
{
	return unlikely(engine->latency != NULL) && engine->latency->stages;
}

/* latency_clock.c. engine_clock_start() sets the default clock. engine_clock_ns() returns the time
 * by the clock with which the engine measures. It never goes back. The engine must measure times.
 */
void engine_clock_start(struct latency *latency);
out_of_line uint64_t engine_clock_ns(const struct weir_engine *engine);

/* Allocates engine->latency if the profile asks for it. Returns 0 or -ENOMEM. */
int engine_latency_create(struct weir_engine *engine);
void engine_latency_destroy(struct weir_engine *engine);

/* Returns the procedure of a call of the requester, and adds it if it is not there yet. Returns
 * NULL if too many procedures were called before. The engine must measure times. */
out_of_line struct latency_procedure *engine_latency_find(struct weir_engine *engine, uint32_t prog,
							  uint32_t vers, uint32_t proc);

/* Returns the index of the histogram of a stage in the stages of a procedure of 'side', or -1 if
 * the side does not have this stage. */
int engine_stage_index(enum weir_side side, enum weir_stage stage);

#define ENGINE_STAGE_TEXT_BYTES 64u

/* Writes the part of a log line that says how long a call or request has been in its present stage.
 * Writes an empty text if stages are not measured. */
void engine_stage_text(const struct weir_engine *engine, char text[ENGINE_STAGE_TEXT_BYTES],
		       enum weir_stage stage, uint64_t age_ns);

/* Returns the procedures of a responder's program, as an array by the number of the procedure.
 * Adds them if they are not there yet. Returns NULL if the engine measures nothing, or there are
 * too many procedures. */
struct latency_procedure *engine_latency_program(struct weir_engine *engine, uint32_t prog,
						 uint32_t vers_low, uint32_t vers_high,
						 uint32_t nprocs);

#endif
