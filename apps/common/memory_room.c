/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the memory that this process can still get, from /proc/meminfo and from the files of memory
 * cgroups.
 */
#include "memory_room.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 640u
/*
 * A limit of at least so many bytes means that there is no limit. Version 1 of cgroups writes its
 * highest number, about 2^63.
 */
#define UNLIMITED  (UINT64_C(1) << 60)
#define LEVELS_MAX 64u

/* The names of the files of one version of cgroups, and of the folders that hold these files. */
struct cgroup_names {
	const char *mounts[2]; /* possible mount points of the cgroup file system */
	const char *limits[2];
	const char *usage;
	const char *reclaimable[2]; /* the scanf() formats of the lines of memory.stat that state
				       the bytes of the page cache, which the kernel can reclaim */
};

static const struct cgroup_names version_1 = {
	.mounts = {"/sys/fs/cgroup/memory", NULL},
	.limits = {"memory.limit_in_bytes", NULL},
	.usage = "memory.usage_in_bytes",
	.reclaimable = {"total_inactive_file %llu", "total_active_file %llu"},
};

static const struct cgroup_names version_2 = {
	.mounts = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"},
	.limits = {"memory.max", "memory.high"},
	.usage = "memory.current",
	.reclaimable = {"inactive_file %llu", "active_file %llu"},
};

/*
 * Reads a file that contains one number. Returns the number. Returns 'otherwise' if the file
 * contains "max" or cannot be read.
 */
static uint64_t cgroup_number(const char *folder, const char *name, uint64_t otherwise)
{
	unsigned long long value;
	char path[PATH_BYTES + 64];
	FILE *file;
	int n;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "re");
	if (!file)
		return otherwise;
	n = fscanf(file, "%llu", &value);
	fclose(file);
	return n == 1 ? value : otherwise;
}

/*
 * Returns the bytes of a cgroup's page cache that the kernel can reclaim, or 0 if they are unknown.
 */
static uint64_t cgroup_reclaimable(const char *folder, const struct cgroup_names *names)
{
	char path[PATH_BYTES + 64], line[128];
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
 * Applies the limits of the cgroup at 'folder'. Its free memory is its limit, less the memory in
 * use, plus the page cache.
 */
static void cgroup_look_at(const char *folder, const struct cgroup_names *names,
			   struct memory_room *room)
{
	for (uint32_t i = 0; i < 2 && names->limits[i]; i++) {
		uint64_t limit = cgroup_number(folder, names->limits[i], UINT64_MAX), used;

		if (limit >= UNLIMITED)
			continue;
		used = cgroup_number(folder, names->usage, 0);
		limit += cgroup_reclaimable(folder, names);
		lower(room, limit > used ? limit - used : 0, folder, names->limits[i]);
	}
}

/*
 * Applies the limits of the cgroup at 'path' and of the cgroups above it, up to the mount point. In
 * a container, 'path' can be the path on the host, of which only the last part, or nothing, is
 * visible. A cgroup that is not visible has no limit here. The limits at the mount point are always
 * read.
 */
static void cgroup_look_up(const char *root, const struct cgroup_names *names, const char *path,
			   struct memory_room *room)
{
	for (uint32_t i = 0; i < 2 && names->mounts[i]; i++) {
		char folder[PATH_BYTES];
		size_t top =
			(size_t)snprintf(folder, sizeof(folder), "%s%s", root, names->mounts[i]);
		bool is_inside = top < sizeof(folder) && !strstr(path, "/..") &&
				 top + strlen(path) < sizeof(folder);

		if (is_inside)
			snprintf(folder + top, sizeof(folder) - top, "%s", path);
		for (uint32_t level = 0; level < LEVELS_MAX; level++) {
			char *slash = strrchr(folder, '/');

			cgroup_look_at(folder, names, room);
			if (strlen(folder) <= top || !slash)
				break;
			*slash = '\0';
		}
	}
}

/*
 * Applies the limits of the cgroups of this process. A line of /proc/self/cgroup is
 * "number:controllers:path". A line without controllers belongs to version 2 of cgroups.
 */
static void cgroup_look_at_all(const char *root, struct memory_room *room)
{
	char path[PATH_BYTES], line[PATH_BYTES];
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	file = fopen(path, "re");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		char *controllers = strchr(line, ':'),
		     *where = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!where)
			continue;
		*where++ = '\0';
		where[strcspn(where, "\n")] = '\0';
		/*
		 * The path of the root cgroup is "/". It is written as "" here, because it is
		 * appended to the mount point.
		 */
		if (strcmp(where, "/") == 0)
			*where = '\0';
		if (controllers[1] == '\0')
			cgroup_look_up(root, &version_2, where, room);
		for (char *rest = controllers + 1, *word; (word = strsep(&rest, ","));)
			if (strcmp(word, "memory") == 0)
				cgroup_look_up(root, &version_1, where, room);
	}
	fclose(file);
}

void memory_room(const char *root, struct memory_room *room)
{
	unsigned long long value, huge = 0, huge_kib = 0;
	char path[PATH_BYTES + 16], folder[PATH_BYTES], line[256];
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
	cgroup_look_at_all(root, room);
	/*
	 * The limits of memory cgroups do not include hugepages, so the free hugepages are added at
	 * the end.
	 */
	if (room->bytes != UINT64_MAX)
		room->bytes += huge * huge_kib << 10;
}
