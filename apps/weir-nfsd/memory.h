/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NFSD_MEMORY_H
#define NFSD_MEMORY_H

struct options;
struct exports;

/*
 * Checks that the machine, and the memory cgroups of this process, have the memory that the exports
 * and the profile need. The caller calls this function before any memory is allocated. Returns 0,
 * or -ENOMEM after it has printed the need and the limit on standard error.
 */
int memory_check(const struct options *options, const struct exports *exports);

#endif
