/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NFSD_REGION_H
#define NFSD_REGION_H

#include <stdint.h>

struct server;
struct weir_region;

/*
 * Makes a region for an export's data and adds it to the engines of all pollers. Its memory is at
 * *base. It is called while no poller polls. Returns 0 or -errno. After an error *region may be
 * set, too.
 */
int region_make(struct server *server, uint64_t len_bytes, struct weir_region **region,
		void **base);

#endif
