/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EAL_H
#define EAL_H

/*
 * DPDK's environment abstraction layer (EAL). If the process has started EAL, weir uses that.
 * Otherwise weir starts a small one. weir's data memory does not come from EAL. Descriptors and
 * rings do, which are a few MiB.
 */

#include <stdint.h>

struct mem_eal_options {
	/* NULL: one lcore, which is the calling thread, on the CPUs that it may use at the moment
	 * of the call. Otherwise a list as for EAL's --lcores, e.g. "0,1": one pinned thread for
	 * each entry, and the caller is the first of them. */
	const char *lcores;
	uint32_t memory_mb; /* 0: as much as weir needs */
};

/* Starts EAL if the process has not started it. Later calls return the result of the first one. If
 * 'options' is NULL, the defaults apply. EAL works without root, hugepages or devices, and in any
 * number of processes at the same time. Returns 0, or -errno of EAL. Any thread. If this call
 * starts EAL, the calling thread becomes EAL's main lcore. */
int mem_eal_start(const struct mem_eal_options *options);

#endif
