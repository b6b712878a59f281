/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the folders of the cgroups of this process, from /proc/self/cgroup. */
#include "cgroup.h"

#include <stdio.h>
#include <string.h>

#define LEVELS_MAX 64u

/* A search for the cgroups of one controller. */
struct search {
	const char *root;
	void (*look)(const char *folder, bool is_v2, void *arg);
	void *arg;
};

uint64_t cgroup_number(const char *folder, const char *name, uint64_t otherwise)
{
	unsigned long long value;
	char path[CGROUP_PATH_BYTES + 64];
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

/* Looks at the cgroup at 'path' and at the cgroups above it, up to the mount point. */
static void look_upwards(const struct search *search, const char *mount, const char *path,
			 bool is_v2)
{
	char folder[CGROUP_PATH_BYTES];
	size_t top = (size_t)snprintf(folder, sizeof(folder), "%s%s", search->root, mount);
	bool is_inside =
		top < sizeof(folder) && !strstr(path, "/..") && top + strlen(path) < sizeof(folder);

	if (is_inside)
		snprintf(folder + top, sizeof(folder) - top, "%s", path);
	for (uint32_t level = 0; level < LEVELS_MAX; level++) {
		char *slash = strrchr(folder, '/');

		search->look(folder, is_v2, search->arg);
		if (strlen(folder) <= top || !slash)
			break;
		*slash = '\0';
	}
}

void cgroup_each(const char *root, const char *controller,
		 void (*look)(const char *folder, bool is_v2, void *arg), void *arg)
{
	const struct search search = {root, look, arg};
	char path[CGROUP_PATH_BYTES], line[CGROUP_PATH_BYTES], mount[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	file = fopen(path, "re");
	if (!file)
		return;
	/* A line is "number:controllers:path". A line without controllers belongs to version 2. */
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
		if (controllers[1] == '\0') {
			look_upwards(&search, "/sys/fs/cgroup", where, true);
			look_upwards(&search, "/sys/fs/cgroup/unified", where, true);
		}
		for (char *rest = controllers + 1, *word; (word = strsep(&rest, ","));) {
			if (strcmp(word, controller) != 0)
				continue;
			snprintf(mount, sizeof(mount), "/sys/fs/cgroup/%s", controller);
			look_upwards(&search, mount, where, false);
		}
	}
	fclose(file);
}
