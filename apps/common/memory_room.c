/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the memory that this process can still get, from /proc/meminfo and from the files of memory
 * cgroups.
 */
#include "memory_room.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cgroup.h"

/*
 * A limit of at least so many bytes means that there is no limit. Version 1 of cgroups writes its
 * highest number, about 2^63.
 */
#define UNLIMITED (UINT64_C(1) << 60)

/* The names of the files of one version of cgroups. */
struct cgroup_names {
	const char *limits[2];
	const char *usage;
	const char *reclaimable[2]; /* the scanf() formats of the lines of memory.stat that state
				       the bytes of the page cache, which the kernel can reclaim */
};

static const struct cgroup_names version_1 = {
	.limits = {"memory.limit_in_bytes", NULL},
	.usage = "memory.usage_in_bytes",
	.reclaimable = {"total_inactive_file %llu", "total_active_file %llu"},
};

static const struct cgroup_names version_2 = {
	.limits = {"memory.max", "memory.high"},
	.usage = "memory.current",
	.reclaimable = {"inactive_file %llu", "active_file %llu"},
};

/*
 * Returns the bytes of a cgroup's page cache that the kernel can reclaim, or 0 if they are unknown.
 */
static uint64_t cgroup_reclaimable(const char *folder, const struct cgroup_names *names)
{
	char path[CGROUP_PATH_BYTES + 64], line[128];
	unsigned long long value;
	uint64_t sum = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/memory.stat", folder);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		for (uint32_t i = 0; i < 2; i++)
			if (sscanf(line, names->reclaimable[i], &value) == 1)
				sum += value;
	fclose(file);
	return sum;
}

/*
 * Lowers *room to 'bytes', a limit that the file folder/name states, unless *room is already as
 * low.
 */
static void lower(struct memory_room *room, uint64_t bytes, const char *folder, const char *name)
{
	if (bytes >= room->bytes)
		return;
	room->bytes = bytes;
	snprintf(room->limited_by, sizeof(room->limited_by), "%s/%s", folder, name);
}

/*
 * Applies the limits of the cgroup at 'folder' to the struct memory_room 'arg'. The free memory of
 * a cgroup is its limit, less the memory in use, plus the page cache.
 */
static void look_at_memory(const char *folder, bool is_v2, void *arg)
{
	const struct cgroup_names *names = is_v2 ? &version_2 : &version_1;
	struct memory_room *room = arg;

	for (uint32_t i = 0; i < 2 && names->limits[i]; i++) {
		uint64_t limit = cgroup_number(folder, names->limits[i], UINT64_MAX), used;

		if (limit >= UNLIMITED)
			continue;
		used = cgroup_number(folder, names->usage, 0);
		limit += cgroup_reclaimable(folder, names);
		lower(room, limit > used ? limit - used : 0, folder, names->limits[i]);
	}
}

void memory_room(const char *root, struct memory_room *room)
{
	unsigned long long value, huge = 0, huge_kib = 0;
	char path[CGROUP_PATH_BYTES + 16], folder[CGROUP_PATH_BYTES], line[256];
	FILE *file;

	*room = (struct memory_room){.bytes = UINT64_MAX};
	snprintf(folder, sizeof(folder), "%s/proc", root);
	snprintf(path, sizeof(path), "%s/meminfo", folder);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemAvailable: %llu", &value) == 1)
			lower(room, value << 10, folder, "meminfo");
		else if (sscanf(line, "HugePages_Free: %llu", &value) == 1)
			huge = value;
		else if (sscanf(line, "Hugepagesize: %llu", &value) == 1)
			huge_kib = value;
	}
	if (file)
		fclose(file);
	cgroup_each(root, "memory", look_at_memory, room);
	/*
	 * The limits of memory cgroups do not include hugepages, so the free hugepages are added at
	 * the end.
	 */
	if (room->bytes != UINT64_MAX)
		room->bytes += huge * huge_kib << 10;
}
