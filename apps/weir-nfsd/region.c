/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the regions of exports. */
#include "region.h"

#include <weir/memory.h>

#include "server.h"

int region_make(struct server *server, uint64_t len_bytes, struct weir_region **region, void **base)
{
	struct weir_region_options options = {
		.struct_bytes = sizeof(options),
		.len_bytes = len_bytes,
		.page_bytes = server->profile.page_bytes,
		.flags = WEIR_REGION_PRIVATE, /* clients access the region only by the replies and
						 calls of the server */
		.numa_node = -1,
	};
	struct weir_region_info info = {.struct_bytes = sizeof(info)};
	int rc = weir_region_create(&options, region);

	for (uint32_t i = 0; rc == 0 && i < server->npollers; i++)
		rc = weir_engine_add_region(server->pollers[i].engine, *region);
	if (rc != 0)
		return rc;
	weir_region_info(*region, &info);
	*base = info.base;
	return 0;
}

void region_remove(struct server *server, struct weir_region *region)
{
	for (uint32_t i = 0; region && i < server->npollers; i++)
		weir_engine_remove_region(server->pollers[i].engine, region);
}
