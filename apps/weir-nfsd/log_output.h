/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LOG_OUTPUT_H
#define LOG_OUTPUT_H

/*
 * Let no thread wait for whoever reads standard error, such as a log daemon that has stopped or a
 * terminal after Ctrl-S. A message that cannot be written at once is lost. The next one that can is
 * preceded by the number of those that were lost. Call this once, while there is one thread.
 */
void log_output_start(void);

#endif
