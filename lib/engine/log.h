/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LOG_H
#define LOG_H

/* weir's log: rte_log under the type "weir". An error is logged once, where it is decided. */

#include <rte_log.h>

extern int weir_logtype;

#define LOG(level, ...) rte_log_line(RTE_LOG_##level, __VA_ARGS__)
#define rte_log_line(level, fmt, ...)                                                              \
	rte_log(level, (uint32_t)weir_logtype, "weir: " fmt "\n", ##__VA_ARGS__)

#endif
