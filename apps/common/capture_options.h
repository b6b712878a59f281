/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CAPTURE_OPTIONS_H
#define CAPTURE_OPTIONS_H

/* The options of a program that can capture its messages: --capture, --capture-bytes,
 * --capture-seconds and --payload-bytes. doc/capture.rst describes them. */

#include <stdbool.h>

#include <weir/capture.h>

/* The entries of these options for a program's table of long options. They have four values of
 * getopt_long() from 'first' on. */
#define CAPTURE_LONG_OPTIONS(first)                                                                \
	{"capture", required_argument, NULL, (first)},                                             \
		{"capture-bytes", required_argument, NULL, (first) + 1},                           \
		{"capture-seconds", required_argument, NULL, (first) + 2},                         \
	{                                                                                          \
		"payload-bytes", required_argument, NULL, (first) + 3                              \
	}
#define CAPTURE_LONG_OPTIONS_N 4

/* Applies option number 'index' of CAPTURE_LONG_OPTIONS, from 0 on, to 'capture'. 'value' must stay
 * valid. Returns 0, or -1 after it has printed the error on standard error. */
int capture_option(int index, const char *value, struct weir_capture_options *capture);

/* Checks that no option is given without --capture. Returns 0, or -1 after it has printed the error
 * on standard error. */
int capture_options_check(const struct weir_capture_options *capture);

/* Starts the capture of the connections of these sides, if --capture was given and no capture was
 * started before. The log says why it fails. Call it when the engines exist, and before they have
 * connections. Returns 0 or -errno. */
int capture_options_start(const struct weir_capture_options *capture, enum weir_capture_side side);

/* Stops the capture if capture_options_start() has started one, and prints what it has done on
 * standard error. Returns 0, or -errno if the file is not complete. */
int capture_options_stop(const char *program, const struct weir_capture_options *capture);

#endif
