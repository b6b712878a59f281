/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef JUDGE_H
#define JUDGE_H

/* Compares the facts about a machine with the load of a profile, and adds a finding for each
 * difference. */

#include "facts.h"
#include "findings.h"
#include "load.h"

/* All of the comparisons below. Findings that are errors come first. */
void judge(const struct facts *facts, const struct load *load, struct findings *findings);

/* Hugepages, by size and NUMA node, and transparent hugepages. */
void judge_hugepages(const struct facts *facts, const struct load *load, struct findings *findings);
/* Memory, limits of cgroups, locked memory and /dev/shm. */
void judge_memory(const struct facts *facts, const struct load *load, struct findings *findings);
/* The CPUs of 'lcores': whether they exist, and the quota of CPU time. */
void judge_cpus(const struct facts *facts, const struct load *load, struct findings *findings);
/* Other activity on the CPUs of 'lcores': other programs, the tick, interrupts and siblings. */
void judge_isolation(const struct facts *facts, const struct load *load, struct findings *findings);
/* The RDMA devices, their nodes and the IOMMU. */
void judge_device(const struct facts *facts, const struct load *load, struct findings *findings);
/* The limits of an RDMA device. */
void judge_limits(const struct facts *facts, const struct device_facts *device,
		  const struct load *load, struct findings *findings);

#endif
