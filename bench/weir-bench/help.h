/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_HELP_H
#define BENCH_HELP_H

#include <stdbool.h>

/* Prints the text of --help on standard output. */
void bench_help(void);

/*
 * Returns false for a driver that runs in virtual time. Such a driver can carry no load, because no
 * other thread or process can be its peer.
 */
bool bench_driver_is_for_load(const char *driver);

#endif
