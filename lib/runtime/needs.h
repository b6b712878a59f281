/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NEEDS_H
#define NEEDS_H

/*
 * The needs of an engine with a profile: memory, hugepages, and objects of an RDMA device. The
 * functions that size an engine and its connections are also those that compute these numbers.
 */

#include <weir/profile.h>

#include "pools.h"

#define NEEDS_PAGES_MAX 2u /* sizes of hugepages that are tried for a pool */

/* A buffer pool, which is one region. */
struct needs_pool {
	const char *name;
	uint64_t bytes;
	/* sizes of the hugepages that are tried, the largest first; 0 ends the list */
	uint64_t hugepages[NEEDS_PAGES_MAX + 1];
};

/* The needs of one engine. */
struct needs {
	uint32_t npools;
	struct needs_pool pools[ENGINE_POOLS];
	uint64_t bytes; /* of all pools, with ordinary pages */
	bool shares_receives;
	/* For an RDMA device. Queue lengths are in work requests. */
	uint32_t send_queue;	   /* send queue of a connection that is not shortened */
	uint32_t send_queue_min;   /* a shorter one is refused */
	uint32_t recv_queue;	   /* receive queue of a connection; 0: receives are shared */
	uint32_t shared_queue;	   /* shared receive queue; 0: receives are not shared */
	uint32_t sges;		   /* gather elements up to which messages need not be copied */
	uint32_t connections;	   /* queue pairs */
	uint32_t registrations;	   /* memory regions of the pools, for all protection domains */
	uint64_t registered_bytes; /* memory that they lock, in total */
	uint64_t largest_bytes;	   /* the largest of them */
	bool uses_windows;
	uint32_t windows;     /* memory windows, if this side makes calls */
	uint32_t windows_min; /* with fewer, this side can make no calls */
};

/*
 * Computes the needs of an engine with a valid profile on a device with the attributes 'attr'. NULL
 * stands for a device of the profile's driver that supports as much as any.
 */
void needs_compute(const struct weir_profile *profile, const struct fabric_dev_attr *attr,
		   struct needs *needs);

/*
 * Returns the bytes of the pools of 'n' engines with a valid profile, which are pinned to the CPUs
 * in 'cpus', or are not pinned if it is NULL.
 */
uint64_t needs_bytes(const struct weir_profile *profile, const uint32_t *cpus, uint32_t n);

#endif
