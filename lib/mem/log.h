/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LOG_H
#define LOG_H

/*
 * The log of weir and its drivers. An error is logged once, by the code that decides that it is
 * one. Lines go to the callback of the application (weir/log.h), or to the log of DPDK. There, the
 * lines of drivers have DPDK's type USER1, those about memory the type "weir.mem", and all others
 * the type "weir".
 */

#include <weir/log.h>

#include "compiler.h"

#define LOG_LINE_BYTES 1024u /* the longest line, with its NUL */

/* Logs a line. 'category' and 'level' are the ends of the names of weir/log.h. The format has no
 * newline. */
#define LOG(category, level, ...) log_line(WEIR_LOG_##category, WEIR_LOG_##level, __VA_ARGS__)

printf_like(3, 4) cold_code void log_line(enum weir_log_category category,
					  enum weir_log_level level, const char *format, ...);

#endif
