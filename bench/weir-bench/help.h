/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_HELP_H
#define BENCH_HELP_H

#include <stdbool.h>

/* --help, on standard output. */
void bench_help(void);

/* A driver in virtual time has no load, and no peer in another thread or process. */
bool bench_driver_is_for_load(const char *driver);

#endif
