/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef INQUIRY_H
#define INQUIRY_H

/*
 * Inquiries: questions about engines that any thread can ask, and that the threads of the engines
 * answer. lib/telemetry asks them for the commands of rte_telemetry.
 *
 * An inquiry is passed to an engine by weir_engine_post(). The engine's thread therefore answers it
 * between the other work of a poll, and an engine to which nobody asks anything does no work for
 * it. The engine's thread takes no lock. A thread that sleeps is woken.
 *
 * The asker waits for a bounded time, because an engine might not be polled. Each inquiry has one
 * owner at any time:
 *
 * - the asker, before inquiry_ask() and after it, unless the result is INQUIRY_SILENT;
 * - the engine's thread, while it answers. If the asker has given up meanwhile, this thread frees
 *   the inquiry.
 *
 * The mailbox of an engine contains at most one message about inquiries, however many inquiries an
 * engine that is not polled has left unanswered.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_engine;

enum inquiry_result {
	INQUIRY_PENDING,   /* no result yet */
	INQUIRY_ANSWERED,  /* the engine's thread has called 'answer' */
	INQUIRY_NO_ENGINE, /* there is no such engine, or it was destroyed meanwhile */
	INQUIRY_SILENT,	   /* the engine's thread did not answer in time */
};

/* The first member of the structure of a question and its answer. */
struct inquiry {
	uint64_t engine_id;
	/* Runs on the engine's thread. It must not call back to the application, and must take
	 * little time. */
	void (*answer)(struct weir_engine *engine, struct inquiry *inquiry);
	_Atomic(enum inquiry_result) state; /* belongs to inquiry.c */
};

/* An inquiry in the array of inquiry_ask(). */
struct inquiry_entry {
	struct inquiry *inquiry; /* NULL after INQUIRY_SILENT: the asker must not free it */
	enum inquiry_result result;
};

/* Makes an engine known to askers, with an ID that no other engine of this process ever has.
 * inquiry_leave() makes it unknown, before the engine runs the last functions of its mailbox. Both
 * do nothing if the profile's 'telemetry' is 'off'. inquiry_end() ends an inquiry that is left
 * after that. Thread: the owner of the engine. */
void inquiry_join(struct weir_engine *engine);
void inquiry_leave(struct weir_engine *engine);
void inquiry_end(struct weir_engine *engine);

/* Writes the IDs of all engines that are known to askers to 'ids', which has MEM_SLOTS_MAX entries,
 * in ascending order. Returns their number. Thread: any. */
uint32_t inquiry_engines(uint64_t *ids);

/* Returns a zeroed structure of 'bytes', which begins with an inquiry to the engine, or NULL if
 * there is no memory. free(3) frees it. */
void *inquiry_new(size_t bytes, uint64_t engine_id,
		  void (*answer)(struct weir_engine *engine, struct inquiry *inquiry));

/*
 * Asks the engines of 'n' inquiries, each another engine, and waits until all have answered, or
 * until wait_ms have passed. Sets the result of each entry. If another thread asks at the same
 * time, this function first waits until that is done. Thread: any that does not own an engine.
 */
void inquiry_ask(struct inquiry_entry *entries, uint32_t n, uint32_t wait_ms);

/* Registers the commands of rte_telemetry, at the first call in a process. lib/telemetry implements
 * this function, which is declared here because the creation of an engine calls it. */
void telemetry_register(void);

#endif
