/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LOAD_H
#define LOAD_H

/* The engines that a program creates with a profile, and what they need in total. */

#include "facts.h"
#include "needs.h"

/* Each of the CPUs in lcores can have a section. */
#define LOAD_PARTS_MAX 129u

/* Engines with the same profile: those of a section [engine:CPUS], or all that have no section. */
struct load_part {
	char section[160];  /* "engine:CPUS" or "engine" */
	struct needs needs; /* of one engine */
	uint32_t nengines;
	uint64_t page_bytes; /* the key 'pages' */
	bool spins;	     /* a thread without work polls again at once */
	cpu_set_t cpus;	     /* of the engines, if they are pinned */
	char device[64];     /* the RDMA device of the profile; "": the first active one */
};

struct load {
	const struct weir_profile *profile;
	uint32_t nparts; /* at least 1 */
	struct load_part parts[LOAD_PARTS_MAX];
	uint32_t nengines;
	bool is_assumed; /* the profile names no CPUs, and the number of engines was not given */
	bool is_pinned;
	uint32_t nspinning; /* engines whose threads spin */
	cpu_set_t pinned;
	bool is_rdma;		   /* the driver uses RDMA devices */
	uint64_t bytes;		   /* of all buffers */
	uint64_t registered_bytes; /* that the registrations of all engines lock */
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

/* Returns the device that the engines use, or NULL if there is none. */
const struct device_facts *load_device(const struct load_part *part, const struct facts *facts);

/* Returns whether some engines have this value of the key 'pages'. */
bool load_has_pages(const struct load *load, uint64_t page_bytes);

/* Returns the hugepages that a region of the engines gets: the index of the size, or PAGE_SIZES if
 * it gets ordinary pages. */
enum page_size load_page_size(const struct load_part *part, const struct facts *facts,
			      const struct needs_pool *pool);

#endif
