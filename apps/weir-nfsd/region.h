/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NFSD_REGION_H
#define NFSD_REGION_H

#include <stdint.h>

struct server;
struct weir_region;

/*
 * Make a region for an export's data, which the engines of all pollers know. Its memory is at
 * *base. Called while nobody polls. Returns 0 or -errno; *region may be set after an error, too.
 */
int region_make(struct server *server, uint64_t len_bytes, struct weir_region **region,
		void **base);

#endif
