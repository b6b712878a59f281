/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_HELP_H
#define BENCH_HELP_H

#include <stdbool.h>

/* Prints the text of --help on standard output. */
void bench_help(void);

/*
 * Returns false for a driver in virtual time. It can carry no load, and has no peer in another
 * thread or process.
 */
bool bench_driver_is_for_load(const char *driver);

#endif
