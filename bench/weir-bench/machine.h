/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stddef.h>

#include "options.h"

/*
 * Describes the machine: the model of its CPU, their number, whether it is a virtual machine, and
 * the kernel. The functions write as much of the text as there is room for.
 */
void bench_machine(char *text, size_t bytes);

/* Lists what would make measurements on this machine faster or steadier, or writes "". */
void bench_machine_advice(const struct bench_options *options, char *text, size_t bytes);

#endif
