/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DIRECTIONS_H
#define DIRECTIONS_H

/*
 * The steps of a call that says for each result how it should be returned, and the search for the
 * best layout of the call's items and results. protocol.c calls them, and decides the order in
 * which the forms of a call are tried. Between them it calls the steps of other files that the
 * chosen form needs.
 */

#include "call_ext.h"
#include "rtr_reduce.h"

struct call_directions {
	struct weir_call *call;
	struct reduce_call_in whole;  /* with thresholds of whole messages */
	struct reduce_call_plan base; /* the call's plan for the base protocol */
	struct reduce_call_plan plan;
	struct rtr_layout layout;
	struct rtr_reduce_call reduce;
	struct rtr_split split;
	uint32_t placed; /* pieces that are placed; bit i for piece i */
	uint32_t bytes;	 /* length of the header */
	uint32_t lead;	 /* maximum length of header and payload of a transmission of the reply */
	uint32_t count_max, reply_count_max;
	uint32_t count, reply_count;
	bool is_dear; /* there was a way, but it costs more than the base protocol */
};

/* Returns whether the extension may place a part of the call directly at all. */
bool call_may_have_directions(const struct weir_call *call, uint32_t reply_count_max);
/* Begins the search for a planned call. */
void call_directions_begin(struct call_directions *direct, struct weir_call *call,
			   const struct reduce_call_in *in);
/* Chooses the best way within the given numbers of transmissions. Returns NULL. If there is no way,
 * returns the counter of the reason. */
uint64_t *call_directions_choose(struct call_directions *direct, uint32_t count_max,
				 uint32_t reply_count_max);
/* Finds memory for the header, and records the chosen way in the call. Returns NULL. If there is no
 * memory, returns its counter, and call_directions_undo() must be called. */
uint64_t *call_directions_take(const struct call_directions *direct);
/* Gives back what the call has taken for the chosen way. */
void call_directions_undo(const struct call_directions *direct);
/* Writes the header. The call must have all that it needs. */
void call_directions_finish(struct call_directions *direct);

#endif
