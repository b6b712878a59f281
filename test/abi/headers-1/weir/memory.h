/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_MEMORY_H
#define WEIR_MEMORY_H

#include <weir/common.h>

WEIR_BEGIN_DECLS

struct weir_region;

enum weir_region_flags {
	WEIR_REGION_NO_HUGE = 1,

	WEIR_REGION_PRIVATE = 2,

	WEIR_REGION_UNSHARED = 4,
};
WEIR_FLAG_ENUM(weir_region_flags)

#define WEIR_PAGES_THP 1u

struct weir_region_options {
	size_t struct_bytes;

	size_t len_bytes;

	uint64_t page_bytes;
	uint32_t flags;
	int numa_node;
};

struct weir_region_info {
	size_t struct_bytes;
	void *base;
	size_t len_bytes;
	uint64_t page_bytes;
	int numa_node;
	bool is_adopted;
};

WEIR_API int weir_region_create(const struct weir_region_options *options,
				struct weir_region **region);

WEIR_API int weir_region_adopt(void *base, size_t len_bytes, int fd, uint64_t fd_offset,
			       struct weir_region **region);

WEIR_API void weir_region_destroy(struct weir_region *region);

WEIR_API void weir_region_info(const struct weir_region *region, struct weir_region_info *info);

WEIR_END_DECLS

#endif
