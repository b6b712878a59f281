/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EAL_H
#define EAL_H

/*
 * DPDK's environment: borrowed when the process has one, else started small. weir's data memory
 * does not come from EAL; what does is descriptors and rings, a few MiB.
 */

#include <stdint.h>

struct mem_eal_options {
	const char *lcores; /* NULL: one lcore, the calling thread, on the CPUs that it may run on
			     * now. Else as EAL's --lcores, e.g. "0,1": a thread each, pinned; the
			     * caller is the first */
	uint32_t memory_mb; /* 0: enough for weir */
};

/* Start EAL if nobody has; once is enough, later calls return the first one's result. NULL:
 * defaults. Works without root, hugepages or devices, in any number of processes at once. 0, or
 * -errno of EAL. Any thread; the caller becomes EAL's main lcore if it is what starts it. */
int mem_eal_start(const struct mem_eal_options *options);

#endif
