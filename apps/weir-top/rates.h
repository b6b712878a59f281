/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RATES_H
#define RATES_H

/*
 * weir-top shows what a process that uses weir does.
 *
 * The files of this folder:
 *
 *   main.c         the command line, and the choice of a process
 *   watch.[ch]     reads the process at each interval, and connects again
 *   rates.[ch]     what happened between two readings
 *   sections.[ch]  the tables, as texts
 *   units.[ch]     numbers with units, in few columns
 *   layout.[ch]    which rows of the tables the screen has room for
 *   screen.[ch]    the screen and the keys
 */

#include <stdbool.h>
#include <stdint.h>

#include "watch_state.h"

/* The work of an engine. */
struct engine_rates {
	bool is_known;	       /* false: there is no earlier reading of the engine */
	double busy;	       /* part of the polls that found work, 0 to 1 */
	double rpcs;	       /* calls that ended, and replies that were sent, per s */
	double sent, received; /* bytes of messages and chunks per s */
};

/* The work of a connection. */
struct conn_rates {
	bool is_known;
	double calls, bytes; /* per s */
};

/* The times of a procedure, or of several ones. */
struct rpc_rates {
	char name[40]; /* PROGRAM/VERSION/PROCEDURE, or "all" */
	bool is_requester;
	double calls;		  /* per s; negative: there is no earlier reading */
	struct watch_times times; /* of the interval; since the start if there were none in it */
};

#define RPC_RATES_MAX (WATCH_PROCEDURES + 2u)

/* The changes between two readings. */
struct rates {
	struct engine_rates engines[WATCH_ENGINES]; /* in the order of the engines that were read */
	struct conn_rates conns[WATCH_CONNS];	    /* in the order of the connections */
	uint32_t nrpcs;
	struct rpc_rates rpcs[RPC_RATES_MAX]; /* all of a side first, then the largest rate */
};

/* Computes the rates from a reading to the next one. 'before' is NULL if there is none. */
void rates_compute(const struct watch_state *before, const struct watch_state *now,
		   struct rates *rates);

#endif
