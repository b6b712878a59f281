/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NFSD_MEMORY_H
#define NFSD_MEMORY_H

struct options;
struct exports;

/* Whether the machine, and the memory cgroups that this process is in, have the memory that the
 * exports and the profile take. 0; or -ENOMEM, with the need and the limit said on standard error.
 * Before anything is taken. */
int memory_check(const struct options *options, const struct exports *exports);

#endif
