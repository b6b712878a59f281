/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LOAD_H
#define LOAD_H

/* The engines that a program creates with a profile, and what they need in total. */

#include "facts.h"
#include "needs.h"

struct load {
	const struct weir_profile *profile;
	struct needs needs; /* of one engine */
	uint32_t nengines;
	bool is_assumed; /* the profile names no CPUs, and the number of engines was not given */
	bool is_pinned;
	bool spins;		 /* a thread without work polls again at once */
	uint32_t cpus[CPUS_MAX]; /* of the engines, if they are pinned */
	cpu_set_t pinned;
	bool is_verbs;
	char device[64]; /* the RDMA device of the profile; "": the first active one */
	uint64_t bytes;	 /* of all buffers */
	/* Hugepages that are wanted, of the whole machine and of each NUMA node. Engines whose node
	 * is not known are only in 'pages'. */
	uint64_t pages[PAGE_SIZES];
	uint64_t node_pages[FACTS_NODES_MAX][PAGE_SIZES];
};

/*
 * Computes the load of a valid profile on a machine. 'nengines' is the number of engines if the
 * profile names no CPUs. 0 stands for one engine.
 */
void load_compute(const struct weir_profile *profile, uint32_t nengines, const struct facts *facts,
		  struct load *load);

/* Returns the device that the profile uses, or NULL if there is none. */
const struct device_facts *load_device(const struct load *load, const struct facts *facts);

/* Returns the hugepages that a region of the load gets: the index of the size, or PAGE_SIZES if it
 * gets ordinary pages. */
enum page_size load_page_size(const struct load *load, const struct facts *facts,
			      const struct needs_pool *pool);

#endif
