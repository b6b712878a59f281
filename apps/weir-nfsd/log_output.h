/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LOG_OUTPUT_H
#define LOG_OUTPUT_H

/*
 * Prevents threads from waiting for the reader of standard error, such as a log daemon that has
 * stopped or a terminal after Ctrl-S. A message that cannot be written at once is dropped. The next
 * message that can be written is preceded by the number of dropped messages. The caller must call
 * this function once, while there is only one thread.
 */
void log_output_start(void);

#endif
