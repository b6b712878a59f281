/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_CHOICE_H
#define RTR_CHOICE_H

/*
 * Chooses between message continuation, by the extension of version 2, and explicit RDMA, for a
 * call for which both are possible. The choice uses a model of their costs. The draft leaves the
 * choice to the sender (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 sections 4.3 and 5.1).
 *
 * Explicit RDMA costs three operations for each chunk: memory is exposed, the memory is read or
 * written, and the exposure ends. Reads also cost a round trip. Message continuation costs a
 * message for each further transmission, and a copy of data that arrives in several parts but is
 * needed in one piece. An argument that is placed by one Send costs nothing.
 */

#include <stdbool.h>
#include <stdint.h>

/* The costs in ns. If all of them are zero, the extension is used wherever possible. */
struct rtr_costs {
	uint32_t round_trip_ns; /* a round trip of the network */
	uint32_t operation_ns;	/* a work request and its completion */
	uint32_t message_ns;	/* a further message, at both sides */
	uint32_t copy_ns;	/* a copy of 1024 bytes */
};

/* The data of a call, or of the longest reply to it. */
struct rtr_load {
	uint64_t bytes;	  /* bytes that are needed in one piece, but that several transmissions
			     deliver in parts */
	uint32_t count;	  /* number of transmissions, at least 1 */
	uint32_t nchunks; /* number of chunks that only explicit RDMA needs */
};

/* Return the cost of a call and its reply in ns, by explicit RDMA or by message continuation. */
uint64_t rtr_cost_explicit(const struct rtr_costs *costs, const struct rtr_load *call,
			   const struct rtr_load *reply);
uint64_t rtr_cost_continued(const struct rtr_costs *costs, const struct rtr_load *call,
			    const struct rtr_load *reply);

/* Returns whether call and reply should be sent in several transmissions, because this costs no
 * more than explicit RDMA. */
static inline bool rtr_choose_continued(const struct rtr_costs *costs, const struct rtr_load *call,
					const struct rtr_load *reply)
{
	return rtr_cost_continued(costs, call, reply) <= rtr_cost_explicit(costs, call, reply);
}

/* Returns the largest size of a result, in bytes, for which placement by a Send costs at most as
 * much as an RDMA Write. A placed result costs a copy from the receive buffer to its destination. A
 * written result costs a chunk. */
uint32_t rtr_place_max(const struct rtr_costs *costs);

#endif
