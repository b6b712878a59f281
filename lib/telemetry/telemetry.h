/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TELEMETRY_H
#define TELEMETRY_H

/*
 * The commands of rte_telemetry about engines, which dpdk-telemetry.py sends.
 *
 * rte_telemetry has one thread for each client. It runs the function of a command, such as
 * telemetry_conn(), and sends the reply as JSON. The function asks the threads of the engines by
 * inquiries (lib/engine/inquiry.h), and formats their answers. It never looks at an engine itself.
 *
 * rte_telemetry sends at most 16 KiB, and leaves out the entries that do not fit. Each list
 * therefore has a limit, which is so low that all entries fit.
 *
 * A command that cannot be carried out is answered with one entry, "error".
 *
 * The files of this folder:
 *
 *   commands.c    the table of commands
 *   ask.c         asks all engines, or one
 *   reply.c       parameters, and entries of replies
 *   engines.c     engines with their counters, and profiles
 *   memory.c      buffers and regions
 *   conns.c       connections
 *   captures.c    captures of messages
 *   calls.c       calls and requests of a connection
 *   all_calls.c   calls and requests of all connections
 *   call_answer.c calls and requests in these answers
 *   histograms.c  times of procedures
 */

#include <rte_telemetry.h>

#include "compiler.h"
#include "engine.h"
#include "inquiry.h"

#define TELEMETRY_WAIT_MS      1000u  /* how long a command waits for the threads of engines */
#define TELEMETRY_ANSWER_BYTES 16384u /* of rte_telemetry */

/* The functions of the commands. 'params' is the text after the first comma of the request, or
 * NULL. They return 0. */
int telemetry_engines(const char *command, const char *params, struct rte_tel_data *reply);
int telemetry_profile(const char *command, const char *params, struct rte_tel_data *reply);
int telemetry_memory(const char *command, const char *params, struct rte_tel_data *reply);
int telemetry_conns(const char *command, const char *params, struct rte_tel_data *reply);
int telemetry_conn(const char *command, const char *params, struct rte_tel_data *reply);
int telemetry_calls(const char *command, const char *params, struct rte_tel_data *reply);
int telemetry_histogram(const char *command, const char *params, struct rte_tel_data *reply);
int telemetry_buckets(const char *command, const char *params, struct rte_tel_data *reply);
int telemetry_capture(const char *command, const char *params, struct rte_tel_data *reply);

/* Inquiries to several engines, each another one. */
struct telemetry_ask {
	uint32_t n;
	bool lacks_memory;
	uint64_t ids[MEM_SLOTS_MAX]; /* of the engines, in ascending order */
	struct inquiry_entry entries[MEM_SLOTS_MAX];
};

/* Allocates an inquiry of 'bytes' for the engine with the ID, or for each engine if engine_id is 0.
 * The caller sets the members of each inquiry that are its question. It then calls telemetry_ask()
 * or telemetry_ask_one(), and at last telemetry_ask_end(). */
void telemetry_ask_begin(struct telemetry_ask *ask, uint64_t engine_id, size_t bytes,
			 void (*answer)(struct weir_engine *engine, struct inquiry *inquiry));
void telemetry_ask_end(struct telemetry_ask *ask);

/* Asks. Returns true if engines may have answered, or false with an error in the reply. */
bool telemetry_ask(struct telemetry_ask *ask, struct rte_tel_data *reply);
/* Asks one engine. Returns its answer, or NULL with an error in the reply. */
void *telemetry_ask_one(struct telemetry_ask *ask, struct rte_tel_data *reply);

/* Returns the answer of an engine, or NULL if it has not answered. */
static inline void *telemetry_answer(const struct telemetry_ask *ask, uint32_t i)
{
	return ask->entries[i].result == INQUIRY_ANSWERED ? ask->entries[i].inquiry : NULL;
}

/* Adds an entry for an engine to a list, with its state. Returns the entry, which belongs to the
 * list. Returns NULL if the engine was destroyed meanwhile, or if there is no memory. */
struct rte_tel_data *telemetry_add_engine(const struct telemetry_ask *ask, uint32_t i,
					  struct rte_tel_data *reply);

/* Returns how many engines were not polled in time. */
uint32_t telemetry_silent(const struct telemetry_ask *ask);

/* Makes the reply an error. Returns 0, which the function of the command returns. */
printf_like(2, 3) int telemetry_error(struct rte_tel_data *reply, const char *format, ...);

/* Answers /weir/calls without an ID, and returns 0. */
int telemetry_all_calls(struct rte_tel_data *reply);

/* Makes the reply the error that there is no such connection, and returns 0. */
int telemetry_no_conn(const struct telemetry_ask *ask, uint64_t id, struct rte_tel_data *reply);

/* Parses a parameter that is an ID: decimal digits, and at least 1. Returns whether it is one. */
bool telemetry_id(const char *params, uint64_t *id);
/* Does the same for a connection. Otherwise the reply is an error. */
bool telemetry_conn_id(const char *params, uint64_t *id, struct rte_tel_data *reply);
/* Returns whether a parameter is present. */
static inline bool telemetry_has(const char *params)
{
	return params && *params != '\0';
}

/* Returns "requester" or "responder". */
const char *telemetry_side_name(enum weir_side side);

/* Adds an entry to a dictionary. */
void telemetry_add_text(struct rte_tel_data *dict, const char *name, const char *text);
void telemetry_add_number(struct rte_tel_data *dict, const char *name, uint64_t number);
/* Creates a dictionary for telemetry_add_dict(). Returns NULL if there is no memory. */
struct rte_tel_data *telemetry_dict(void);
/* Adds a dictionary to another one, which then owns it. 'inner' can be NULL: it is left out.
 * Returns 'inner', or NULL if it was not added. */
struct rte_tel_data *telemetry_add_dict(struct rte_tel_data *dict, const char *name,
					struct rte_tel_data *inner);

#endif
