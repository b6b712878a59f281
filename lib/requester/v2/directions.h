/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DIRECTIONS_H
#define DIRECTIONS_H

/*
 * The steps that prepare a call by the extension with items or directions. A direction says how the
 * responder should return a result. The steps search for the best way to send the items and to
 * request the results. protocol.c calls the steps, and decides the order in which the forms of a
 * call are tried. If the chosen form needs steps of other files, protocol.c calls them between
 * these steps.
 */

#include "call_ext.h"
#include "rtr_reduce.h"

/* The search for the best way, and its result. */
struct call_directions {
	struct weir_call *call;
	struct reduce_call_in whole;  /* input of the reducer, with inline thresholds that include
					 the header of version 2 */
	struct reduce_call_plan base; /* the call's plan for the base protocol */
	struct reduce_call_plan plan; /* the call's plan in the way that is being tried */
	struct rtr_layout layout;     /* if 'placed' is not 0: the layout of the placed items */
	struct rtr_reduce_call reduce;
	struct rtr_split split; /* how the payload of the call is divided into transmissions */
	uint32_t placed;	/* bit i: piece i is placed in targets */
	uint32_t bytes;		/* length of the header of the first transmission */
	uint32_t lead; /* maximum length of header and payload of a transmission of the reply */
	uint32_t count_max, reply_count_max; /* limits on count and reply_count */
	uint32_t count, reply_count; /* numbers of transmissions of the call and of the reply */
	bool is_dear;		     /* a way was possible, but costs more than the base protocol */
};

/* Returns whether the call can be sent with items or directions at all. It must be planned for the
 * base protocol. Its reply may have 'reply_count_max' transmissions. */
bool call_may_have_directions(const struct weir_call *call, uint32_t reply_count_max);
/* Begins the search for a call that is planned for the base protocol. 'in' is the input of that
 * plan. */
void call_directions_begin(struct call_directions *direct, struct weir_call *call,
			   const struct reduce_call_in *in);
/* Chooses the best way within the given maximum numbers of transmissions. Returns NULL on success.
 * If no way is possible or all cost too much, returns the statistics counter of the reason, which
 * the caller increments. */
uint64_t *call_directions_choose(struct call_directions *direct, uint32_t count_max,
				 uint32_t reply_count_max);
/* Finds memory for the header, and records the chosen way in the call. Returns NULL on success. If
 * there is no memory, returns the statistics counter of this reason, and the caller must call
 * call_directions_undo(). */
uint64_t *call_directions_take(const struct call_directions *direct);
/* Gives back what the call has taken for the chosen way, and restores its plan for the base
 * protocol. */
void call_directions_undo(const struct call_directions *direct);
/* Writes the header, and plans the windows. The call must have taken all that it needs. */
void call_directions_finish(struct call_directions *direct);

#endif
