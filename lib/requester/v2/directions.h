/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DIRECTIONS_H
#define DIRECTIONS_H

/*
 * The steps of a call that says for each result how it is to come, and of the search for the way to
 * send it. protocol.c calls them, and between them the steps of other files that the chosen way
 * needs.
 */

#include "call_ext.h"
#include "rtr_reduce.h"

struct call_directions {
	struct weir_call *call;
	struct reduce_call_in whole;  /* with thresholds of whole messages */
	struct reduce_call_plan base; /* the plan of the call before */
	struct reduce_call_plan plan;
	struct rtr_layout layout;
	struct rtr_reduce_call reduce;
	struct rtr_split split;
	uint32_t placed; /* pieces that are, bit i for piece i */
	uint32_t bytes;	 /* of the header */
	uint32_t lead;	 /* what header and payload of a reply's transmission may take */
	uint32_t count_max, reply_count_max;
	uint32_t count, reply_count;
	bool is_dear; /* there was a way, and it costs more than the base's */
};

/* Returns whether a part of the call may be placed directly by the extension at all. */
bool call_may_have_directions(const struct weir_call *call, uint32_t reply_count_max);
/* Begins the search for a planned call. */
void call_directions_begin(struct call_directions *direct, struct weir_call *call,
			   const struct reduce_call_in *in);
/* Chooses the best way within so many transmissions. Returns NULL; or, if there is none, the
 * counter of the reason. */
uint64_t *call_directions_choose(struct call_directions *direct, uint32_t count_max,
				 uint32_t reply_count_max);
/* Finds memory for the header, and records the chosen way in the call. Returns NULL; or, if there
 * is no memory, its counter. call_directions_undo() is then needed. */
uint64_t *call_directions_take(const struct call_directions *direct);
/* Gives back what the call has taken for the chosen way. */
void call_directions_undo(const struct call_directions *direct);
/* Writes the header: the call has all that it needs. */
void call_directions_finish(struct call_directions *direct);

#endif
