/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NFSD_REGION_H
#define NFSD_REGION_H

#include <stdint.h>

struct server;
struct weir_region;

/*
 * Makes a region of 'len_bytes' for an export's data, and adds it to the engines of all pollers.
 * Must be called while no poller polls. Returns 0 with the address of the region's memory in *base,
 * or -errno. After an error *region can be set, and then the caller destroys it.
 */
int region_make(struct server *server, uint64_t len_bytes, struct weir_region **region,
		void **base);

/* Removes a region from the engines, so that it can be destroyed. NULL is allowed. Must be called
 * while the engines exist and no poller polls. */
void region_remove(struct server *server, struct weir_region *region);

#endif
