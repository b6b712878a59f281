/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LOG_H
#define LOG_H

/* The log of weir: rte_log with the log type "weir". An error is logged once, by the code that
 * decides that it is one. */

#include <rte_log.h>

extern int weir_logtype;

#define LOG(level, ...) rte_log_line(RTE_LOG_##level, __VA_ARGS__)
#define rte_log_line(level, fmt, ...)                                                              \
	rte_log(level, (uint32_t)weir_logtype, "weir: " fmt "\n", ##__VA_ARGS__)

#endif
