/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MEM_LOG_H
#define MEM_LOG_H

/* The log of lib/mem. It has the log type "weir.mem", so that --log-level=weir.mem:debug sets its
 * level alone. */

#include <rte_log.h>

extern int mem_logtype;

#define MEM_LOG(level, fmt, ...)                                                                   \
	rte_log(RTE_LOG_##level, (uint32_t)mem_logtype, "weir.mem: " fmt "\n", ##__VA_ARGS__)

#endif
