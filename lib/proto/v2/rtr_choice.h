/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_CHOICE_H
#define RTR_CHOICE_H

/*
 * Which way a call takes, by version 2's extension or by explicit RDMA, where both would do: a
 * model of what each costs. The draft leaves the choice to the sender
 * (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 sections 4.3 and 5.1).
 *
 * Explicit RDMA costs three operations for a chunk: memory is exposed, read or written, and the
 * exposure ended; Reads cost a round trip besides. Message continuation costs a message for each
 * further transmission, and a copy of what came apart and is wanted in one piece. An argument that
 * is placed by one Send costs nothing.
 */

#include <stdbool.h>
#include <stdint.h>

/* In ns. Of zeros only, nothing costs anything, and the extension is used wherever it can be. */
struct rtr_costs {
	uint32_t round_trip_ns; /* of the wire */
	uint32_t operation_ns;	/* a work request and its completion */
	uint32_t message_ns;	/* a further message, at both sides */
	uint32_t copy_ns;	/* of 1024 bytes */
};

/* A call, or the longest reply to it. */
struct rtr_load {
	uint64_t bytes; /* that come apart, where there are several transmissions, and are wanted in
			   one piece */
	uint32_t count; /* transmissions, 1 at least */
	uint32_t nchunks; /* that explicit RDMA needs for it, and this way does not */
};

uint64_t rtr_cost_explicit(const struct rtr_costs *costs, const struct rtr_load *call,
			   const struct rtr_load *reply);
uint64_t rtr_cost_continued(const struct rtr_costs *costs, const struct rtr_load *call,
			    const struct rtr_load *reply);

/* Whether both are to go in as many transmissions, as it costs no more. */
static inline bool rtr_choose_continued(const struct rtr_costs *costs, const struct rtr_load *call,
					const struct rtr_load *reply)
{
	return rtr_cost_continued(costs, call, reply) <= rtr_cost_explicit(costs, call, reply);
}

/* A result that is placed by a Send lies in a receive, from where it is copied to where it is
 * wanted; one that is written costs a chunk. Results of up to so many bytes are better placed. */
uint32_t rtr_place_max(const struct rtr_costs *costs);

#endif
