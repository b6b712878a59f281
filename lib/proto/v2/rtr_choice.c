/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the costs by which rtr_choice.h chooses between the extension and explicit RDMA. */
#include "rtr_choice.h"

#define CHUNK_OPERATIONS 3u

/* Returns the cost of the chunks of a message in ns. This and the costs below are products of
 * 32-bit costs and of loads, which are limited by the size of memory. Therefore no sum wraps. */
static uint64_t chunks(const struct rtr_costs *costs, const struct rtr_load *load)
{
	return (uint64_t)CHUNK_OPERATIONS * costs->operation_ns * load->nchunks;
}

uint64_t rtr_cost_explicit(const struct rtr_costs *costs, const struct rtr_load *call,
			   const struct rtr_load *reply)
{
	return chunks(costs, call) + (call->nchunks > 0 ? costs->round_trip_ns : 0) +
	       chunks(costs, reply);
}

static uint64_t continued(const struct rtr_costs *costs, const struct rtr_load *load)
{
	if (load->count <= 1)
		return 0;
	return (uint64_t)(load->count - 1) * costs->message_ns +
	       load->bytes / 1024 * costs->copy_ns;
}

uint64_t rtr_cost_continued(const struct rtr_costs *costs, const struct rtr_load *call,
			    const struct rtr_load *reply)
{
	return continued(costs, call) + continued(costs, reply);
}

uint32_t rtr_place_max(const struct rtr_costs *costs)
{
	uint64_t bytes;

	if (costs->copy_ns == 0)
		return UINT32_MAX;
	bytes = (uint64_t)CHUNK_OPERATIONS * costs->operation_ns * 1024 / costs->copy_ns;
	return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}
